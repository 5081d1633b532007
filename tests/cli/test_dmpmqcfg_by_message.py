"""What dmpmqcfg learns by PCF is what it learns over the socket, whatever is defined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import HealthCheck, given, settings
from tests.command.dump.test_dump_round_trip import RECORDS, RULES, World, worlds
from tests.searching import examples

from ostler.cli.dmpmqcfg import queued_definitions
from ostler.cli.runmqsc.command_queue import CommandQueue
from ostler.command.dump.dump import DumpOptions, ScriptLayout, dump
from ostler.command.pcf.dispatch import answer
from ostler.model.attributes import find
from ostler.model.constants import MQCFT_COMMAND
from ostler.model.definitions import Definition
from ostler.model.pcf import Header, Parameter, PcfMessage, decode, encode


class Answering(CommandQueue):
    """A command queue without messages: the command server's answers to what would be put on it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def request(self, command: int, parameters: Sequence[Parameter]) -> Iterator[PcfMessage]:
        for reply in answer(self._world, encode(Header(MQCFT_COMMAND, command), parameters)):
            yield decode(reply)


def without_zos(definition: Definition) -> Definition:
    kind = definition.object_type
    values = {
        name: value
        for name, value in definition.attributes.items()
        if (attribute := find(kind, name)) is None or not attribute.zos_only
    }
    return Definition(kind, definition.name, values)


@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(world=worlds())
def test_messages_tell_all_there_is(world: World) -> None:
    here = [without_zos(each) for each in world.definitions()]
    asked = DumpOptions(layout=ScriptLayout.ONE_LINE)
    by_messages = list(dump(queued_definitions(Answering(world)), asked, RULES, RECORDS, "QM1"))
    assert by_messages == list(dump(here, asked, RULES, RECORDS, "QM1"))
