"""Commands about what runs, rather than about what is defined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ostler.command.pcf_request import Request
from ostler.command.pcf_table import Command, Reply
from ostler.command.target import Target
from ostler.engine.core import Engine


def _ping(target: Target, request: Request) -> Iterator[Reply]:
    target.look(_nothing)
    yield []


def _nothing(engine: Engine) -> None:
    """The question is only whether there is an answer."""


COMMANDS: Final = (Command("MQCMD_PING_Q_MGR", _ping),)
