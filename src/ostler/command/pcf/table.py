"""How a PCF command is described: its number, the parameters it takes, and who answers it.

The descriptions check what comes in, and docs/reference/pcf.md is written from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from ostler.command.admin.context import Target
from ostler.model import constants
from ostler.model.attributes import ObjectType
from ostler.model.pcf import Parameter

if TYPE_CHECKING:
    from ostler.command.pcf.request import Request

NAME_LENGTH: Final = 48
CHANNEL_NAME_LENGTH: Final = 20

Reply: TypeAlias = list[Parameter]
"""The parameters of one reply message."""

Handler: TypeAlias = Callable[[Target, "Request"], Iterator[Reply]]
"""Does a command. It gives a reply for each object, or none when there is nothing to say but that it is done."""


class Kind(Enum):
    """The structure in which a parameter comes; the value is its name."""

    INTEGER = "MQCFIN"
    STRING = "MQCFST"
    INTEGERS = "MQCFIL"
    STRINGS = "MQCFSL"
    BYTES = "MQCFBS"


@dataclass(frozen=True)
class Field:
    """A parameter of a command. `values` are the numbers that it may have, by the names of their constants."""

    constant: str
    kind: Kind
    length_max: int = 0
    values: tuple[str, ...] = ()
    required: bool = False

    @property
    def number(self) -> int:
        return constant(self.constant)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(constant(name) for name in self.values)

    @property
    def is_selection(self) -> bool:
        """Whether this is the list of the attributes that an Inquire command asks for."""
        return self.kind == Kind.INTEGERS and self.constant.endswith("_ATTRS")


@dataclass(frozen=True)
class Command:
    """A PCF command.

    `settable` are the object types whose attributes may be given as parameters, too. `filtered` are those whose
    attributes a filter may ask for. `ordered` says that required parameters come first, in the order of `fields`.
    """

    constant: str
    run: Handler
    fields: tuple[Field, ...] = ()
    settable: tuple[ObjectType, ...] = ()
    filtered: tuple[ObjectType, ...] = ()
    ordered: bool = True

    @property
    def number(self) -> int:
        return constant(self.constant)

    @property
    def is_inquiry(self) -> bool:
        """Whether it only asks, and changes nothing."""
        return self.constant.startswith("MQCMD_INQUIRE_")


def constant(name: str) -> int:
    """The number behind the name of a constant, or behind plain digits."""
    if name.isdigit():
        return int(name)
    value = getattr(constants, name)
    assert isinstance(value, int), name
    return value


def text(name: str, length_max: int = NAME_LENGTH, required: bool = False) -> Field:
    return Field(name, Kind.STRING, length_max, required=required)


def number(name: str, *values: str, required: bool = False) -> Field:
    return Field(name, Kind.INTEGER, 0, values, required)


def numbers(name: str, required: bool = False) -> Field:
    return Field(name, Kind.INTEGERS, required=required)


def texts(name: str, length_max: int) -> Field:
    return Field(name, Kind.STRINGS, length_max)


def octets(name: str, length_max: int, required: bool = False) -> Field:
    return Field(name, Kind.BYTES, length_max, required=required)
