"""The header and the eleven kinds of parameters of a PCF message, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, final

from ostler.model import constants as mq

UTF_8: Final = 1208
# The code pages that are written and read here. Messages in others are converted first.
CODECS: Final[dict[int, str]] = {
    37: "cp037",
    437: "cp437",
    500: "cp500",
    819: "latin-1",
    850: "cp850",
    923: "iso8859-15",
    1208: "utf-8",
    1252: "cp1252",
}


class PcfError(ValueError):
    """The bytes are not a valid PCF message. `reason` is an MQRCCF number."""

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(text)
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason, str(self))


@final
@dataclass(frozen=True)
class Header:
    """MQCFH without its length and its count of parameters, which follow from the parameters."""

    type: int
    command: int
    completion: int = 0
    reason: int = 0
    version: int = mq.MQCFH_VERSION_3
    sequence_number: int = 1
    control: int = mq.MQCFC_LAST


@final
@dataclass(frozen=True)
class Integer:
    parameter: int
    value: int


@final
@dataclass(frozen=True)
class Integer64:
    parameter: int
    value: int


@final
@dataclass(frozen=True)
class IntegerList:
    parameter: int
    values: tuple[int, ...]


@final
@dataclass(frozen=True)
class Integer64List:
    parameter: int
    values: tuple[int, ...]


@final
@dataclass(frozen=True)
class String:
    """`ccsid` 0 means that of the message descriptor."""

    parameter: int
    value: str
    ccsid: int = 0


@final
@dataclass(frozen=True)
class StringList:
    parameter: int
    values: tuple[str, ...]
    ccsid: int = 0


@final
@dataclass(frozen=True)
class ByteString:
    parameter: int
    value: bytes


@final
@dataclass(frozen=True)
class IntegerFilter:
    parameter: int
    operator: int
    value: int


@final
@dataclass(frozen=True)
class StringFilter:
    parameter: int
    operator: int
    value: str
    ccsid: int = 0


@final
@dataclass(frozen=True)
class ByteStringFilter:
    parameter: int
    operator: int
    value: bytes


@final
@dataclass(frozen=True)
class Group:
    parameter: int
    members: tuple[Parameter, ...]


Parameter: TypeAlias = (
    Integer
    | Integer64
    | IntegerList
    | Integer64List
    | String
    | StringList
    | ByteString
    | IntegerFilter
    | StringFilter
    | ByteStringFilter
    | Group
)


@final
@dataclass(frozen=True)
class PcfMessage:
    header: Header
    parameters: tuple[Parameter, ...]
