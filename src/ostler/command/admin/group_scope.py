"""CMDSCOPE as a port: how a command reaches other members of a queue-sharing group, and how their answers come back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ostler.model.pcf import UTF_8

ALL_MEMBERS: Final = "*"
"""CMDSCOPE(*): all active members."""
FROM_MEMBER: Final = "AMQ8945I"
NO_ANSWER: Final = "AMQ8946E"
FAILED_SOMEWHERE: Final = "AMQ8947E"
NOT_ACTIVE: Final = "AMQ8948E"


@dataclass(frozen=True)
class MemberAnswer:
    """The whole answer of one member."""

    name: str
    parts: tuple[bytes, ...] = ()
    """Lines of MQSC in UTF-8, or PCF replies."""
    ccsid: int = UTF_8
    """Of PCF replies."""
    is_done: bool = False
    """False: the command was wrong or failed there, or it was not answered."""
    problem: str = ""
    """Why there is no answer, as a sentence; empty: there is one."""


class GroupCommands(ABC):
    """The other members of the group, for the commands of one user."""

    @property
    @abstractmethod
    def group(self) -> str:
        """The name of the group."""

    @abstractmethod
    def active_members(self) -> list[str]:
        """Return the names of the other members that are active. Raises MQError if the facility does not tell."""

    @abstractmethod
    def run_mqsc(self, members: Sequence[str], text: str) -> Iterator[MemberAnswer]:
        """Send a command to members; yield the answer of each, in their order. Raises MQError if it cannot be sent."""

    @abstractmethod
    def run_pcf(self, members: Sequence[str], message: bytes) -> Iterator[MemberAnswer]:
        """As `run_mqsc`, for a PCF command in UTF-8 and the native encoding."""
