"""Escape: an MQSC command inside a PCF command, answered with the lines of MQSC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ostler.command.admin.command_events import command_number
from ostler.command.admin.context import CommandContext
from ostler.command.mqsc.grammar import OBJECT_NOUNS, STATUS_NOUNS, VERBS
from ostler.command.mqsc.interpreter import CommandOutcome, run_command
from ostler.command.mqsc.statements import parse
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.command.pcf.command import PcfCommand, PcfRequest, Reply, number, text
from ostler.command.pcf.errors import PcfRefused
from ostler.model import constants as mq
from ostler.model.pcf import Integer, String

_LENGTH_MAX: Final = 4 * 1024 * 1024
_MESSAGE: Final = "AMQ"


def _escape(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    """Yields a reply for each MQSC message. If the command fails, the last one has MQRCCF_COMMAND_FAILED."""
    running = run_command(context, request.text(mq.MQCACF_ESCAPE_TEXT))
    lines: list[str] = []
    while True:
        try:
            line = next(running)
        except StopIteration as end:
            if end.value is not CommandOutcome.DONE:
                raise PcfRefused(mq.MQRCCF_COMMAND_FAILED, *_reply(lines)) from None
            break
        if line.startswith(_MESSAGE) and lines:
            yield _reply(lines)
            lines = []
        lines.append(line)
    yield _reply(lines)


def command_of(text: str) -> int:
    """Returns the MQCMD number of the MQSC command, for the headers of replies; MQCMD_ESCAPE if it is wrong."""
    try:
        statement = parse(text)
    except MqscSyntaxError:
        return mq.MQCMD_ESCAPE
    word = statement.noun.text
    noun = OBJECT_NOUNS.get(word) or STATUS_NOUNS.get(word)
    verb = VERBS.get(statement.verb.text, statement.verb.text)
    return command_number(verb, noun.word if noun is not None else word) or mq.MQCMD_ESCAPE


def _reply(lines: list[str]) -> Reply:
    return [Integer(mq.MQIACF_ESCAPE_TYPE, mq.MQET_MQSC), String(mq.MQCACF_ESCAPE_TEXT, "\n".join(lines))]


COMMANDS: Final = (
    PcfCommand(
        "MQCMD_ESCAPE",
        _escape,
        (
            number("MQIACF_ESCAPE_TYPE", "MQET_MQSC", required=True),
            text("MQCACF_ESCAPE_TEXT", _LENGTH_MAX, required=True),
        ),
    ),
)
