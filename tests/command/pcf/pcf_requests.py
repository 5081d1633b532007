"""Short ways to give PCF commands and to read their replies."""

from __future__ import annotations

from ostler.command.admin.context import CommandContext
from ostler.command.pcf.dispatch import answer
from ostler.model import constants as mq
from ostler.model.pcf import (
    ByteString,
    ByteStringFilter,
    Group,
    Header,
    Integer,
    Integer64,
    Integer64List,
    IntegerFilter,
    IntegerList,
    Parameter,
    PcfMessage,
    String,
    StringFilter,
    StringList,
    decode,
    encode,
)

Given = int | str | bytes | list[int] | list[str]


def parameter(number: int, value: Given) -> Parameter:
    """A parameter from a plain value."""
    if isinstance(value, int):
        return Integer(number, value)
    if isinstance(value, str):
        return String(number, value)
    if isinstance(value, bytes):
        return ByteString(number, value)
    if value and isinstance(value[0], str):
        return StringList(number, tuple(str(item) for item in value))
    return IntegerList(number, tuple(item for item in value if isinstance(item, int)))


def value_of(item: Parameter) -> object:
    """A parameter as a plain value; texts without their blanks."""
    if isinstance(item, Integer | Integer64 | ByteString | String):
        return item.value
    if isinstance(item, IntegerList | Integer64List | StringList):
        return list(item.values)
    raise AssertionError(f"{type(item).__name__} in a reply")


def command_bytes(command: int, *items: Parameter, type: int = mq.MQCFT_COMMAND) -> bytes:
    return encode(Header(type, command), items)


class Administrator:
    """Somebody who gives PCF commands."""

    def __init__(self, target: CommandContext) -> None:
        self.target = target

    def raw(self, message: bytes, **about: object) -> list[PcfMessage]:
        replies = [decode(reply) for reply in answer(self.target, message, **about)]  # type: ignore[arg-type]
        check_sequence(replies)
        return replies

    def ask(self, command: int, given: dict[int, Given] | None = None, *more: Parameter) -> list[PcfMessage]:
        items = [parameter(number, value) for number, value in (given or {}).items()]
        return self.raw(command_bytes(command, *items, *more))

    def does(self, command: int, given: dict[int, Given] | None = None, *more: Parameter) -> list[dict[int, object]]:
        """The replies to a command that works, by parameter."""
        replies = self.ask(command, given, *more)
        assert [(each.header.completion, each.header.reason) for each in replies] == [(0, 0)] * len(replies)
        return [{item.parameter: value_of(item) for item in reply.parameters} for reply in replies]

    def done(self, command: int, given: dict[int, Given] | None = None) -> None:
        """A command that works and has nothing more to say."""
        assert self.does(command, given) == [{}]

    def fails(self, command: int, given: dict[int, Given] | None = None, *more: Parameter) -> tuple[int, ...]:
        """The reason for which a command is refused, and what comes with it."""
        *rest, last = self.ask(command, given, *more)
        assert last.header.completion == mq.MQCC_FAILED
        details = [item for item in last.parameters if isinstance(item, Integer)]
        assert len(details) == len(last.parameters) <= 1
        assert all(each.header.completion == 0 for each in rest)
        return (last.header.reason, *(number for item in details for number in (item.parameter, item.value)))


def check_sequence(replies: list[PcfMessage]) -> None:
    """Replies are numbered from one, and only the last says that it is the last."""
    assert [reply.header.sequence_number for reply in replies] == list(range(1, len(replies) + 1))
    controls = [reply.header.control for reply in replies]
    assert controls == [mq.MQCFC_NOT_LAST] * (len(replies) - 1) + [mq.MQCFC_LAST]
    assert all(reply.header.type == mq.MQCFT_RESPONSE for reply in replies)


__all__ = [
    "Administrator",
    "ByteString",
    "ByteStringFilter",
    "Group",
    "Integer",
    "IntegerFilter",
    "IntegerList",
    "String",
    "StringFilter",
    "StringList",
    "check_sequence",
    "command_bytes",
    "parameter",
    "value_of",
]
