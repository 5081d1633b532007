"""Actions: commands that a running queue manager carries out for callers on its local socket.

An action takes JSON arguments and yields dictionaries, each of which is sent to the caller as it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ostler.model import constants as mq
from ostler.model.errors import MQError

Arguments = dict[str, object]
Answers = Iterator[dict[str, object]]


@dataclass(frozen=True)
class Caller:
    """The user at the other end of the local socket, as the kernel reports it."""

    user: str
    uid: int
    is_owner: bool


Action = Callable[[Arguments, Caller], Answers]


def text_argument(arguments: Arguments, name: str, default: str) -> str:
    """Return an argument that must be text. Raises MQError."""
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise MQError(mq.MQRC_OPTIONS_ERROR, f"{name} has to be text.")
    return value


def texts_argument(arguments: Arguments, name: str) -> list[str]:
    """Return an argument that must be a list of texts; empty when it is missing. Raises MQError."""
    value = arguments.get(name, [])
    if not isinstance(value, list):
        raise MQError(mq.MQRC_OPTIONS_ERROR, f"{name} has to be a list.")
    texts = [each for each in value if isinstance(each, str)]
    if len(texts) != len(value):
        raise MQError(mq.MQRC_OPTIONS_ERROR, f"{name} has to be a list of texts.")
    return texts
