"""Triggering: each of MQ's conditions for a trigger event, true and false."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from ostler.engine.core import Engine
from ostler.engine.events import triggers
from ostler.engine.events.reports import Outgoing, own_descriptor
from ostler.engine.message.message import Message
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.slots import AVAILABLE
from ostler.engine.recovery.records import DEFINE
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import Definition, new_definition
from ostler.model.journal import Journal
from ostler.testing.simulation.crashing_disk import SimulatedDisk

APPLICATION = "APP.QUEUE"
INITIATION = "APP.INITQ"
PROCESS = "APP.PROCESS"


class MemoryJournal(Journal):
    def __init__(self) -> None:
        self.records: list[tuple[int, bytes]] = []
        self.room = 1 << 30

    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        self.records.append((kind, head + descriptor + body))
        return len(self.records)

    def end_lsn(self) -> int:
        return len(self.records)

    def durable_lsn(self) -> int:
        return len(self.records)

    def room_bytes(self) -> int:
        return self.room


class World:
    """A queue manager with a triggered queue whose conditions all hold, and a trigger monitor that listens."""

    def __init__(self, **attributes: Value) -> None:
        self.journal = MemoryJournal()
        manager = new_definition(ObjectType.QMGR, "QM1", {"TRIGINT": 60_000})
        self.engine = Engine("QM1", SimulatedDisk(), self.journal, manager)
        self.engine.now_ms = 1_700_000_000_000
        self.process: dict[str, Value] = {
            "APPLTYPE": mq.MQAT_UNIX,
            "APPLICID": "/bin/app",
            "ENVRDATA": "&",
            "USERDATA": "hello",
        }
        self.define_process()
        self.initiation = self.queue(INITIATION)
        self.initiation.inputs = 1
        wanted: dict[str, Value] = {
            "TRIGGER": mq.MQTC_ON,
            "TRIGTYPE": mq.MQTT_FIRST,
            "INITQ": INITIATION,
            "PROCESS": PROCESS,
            "TRIGDATA": "trigger data",
        }
        wanted.update(attributes)
        self.application = self.queue(APPLICATION, **wanted)

    def define_process(self) -> None:
        self.engine.of_type(ObjectType.PROCESS)[PROCESS] = new_definition(ObjectType.PROCESS, PROCESS, self.process)

    def queue(self, name: str, **attributes: Value) -> Queue:
        definition = new_definition(ObjectType.QLOCAL, name, attributes)
        return self.engine.add_queue(definition, self.engine.next_queue_id)

    def alter(self, queue: Queue, **attributes: Value) -> list[Outgoing]:
        before = queue.definition
        changed = dict(before.attributes)
        changed.update(attributes)
        queue.configure(Definition(ObjectType.QLOCAL, queue.name, changed))
        return triggers.on_definition_change(self.engine, queue, before)

    def store(self, priority: int = 0) -> None:
        """Put a message on the application queue without triggering."""
        queue = self.application
        md = own_descriptor(self.engine, mq.MQFMT_STRING, priority, 0)
        slot = queue.store(Message(md, b"", b"data", queue.next_seq), queue.order_flags(priority) | AVAILABLE, 0)
        queue.next_seq += 1
        queue.link_new(slot)
        queue.depth += 1

    def put(self, priority: int = 0) -> list[Outgoing]:
        self.store(priority)
        return triggers.after_arrival(self.engine, self.application, priority)

    def get(self) -> None:
        queue = self.application
        slot = queue.slots.first()
        queue.unlink(slot)
        queue.release(slot)
        queue.depth -= 1
        triggers.after_removal(self.engine, queue)

    def close(self) -> list[Outgoing]:
        self.application.inputs -= 1
        return triggers.on_input_close(self.engine, self.application)


def fired(world: World, times: int, priority: int = 0) -> list[bool]:
    return [len(world.put(priority)) == 1 for _ in range(times)]


def test_first_triggers_when_the_queue_was_empty() -> None:
    world = World(TRIGTYPE=mq.MQTT_FIRST)
    assert fired(world, 3) == [True, False, False]
    world.get()
    world.get()
    assert fired(world, 1) == [False]
    world.get()
    world.get()
    assert fired(world, 2) == [True, False]


def test_every_triggers_for_each_message() -> None:
    world = World(TRIGTYPE=mq.MQTT_EVERY)
    world.application.inputs = 1
    assert fired(world, 3) == [True, True, True]


def test_depth_triggers_at_its_depth_and_then_is_off() -> None:
    world = World(TRIGTYPE=mq.MQTT_DEPTH, TRIGDPTH=3)
    assert fired(world, 5) == [False, False, True, False, False]
    assert not world.application.trigger_on
    stored = world.engine.of_type(ObjectType.QLOCAL)[APPLICATION]
    assert stored.attributes["TRIGGER"] == mq.MQTC_OFF
    assert stored is world.application.definition
    assert world.engine.catalogue_changed


def test_switching_off_is_journalled() -> None:
    world = World(TRIGTYPE=mq.MQTT_DEPTH, TRIGDPTH=1)
    world.put()
    kind, payload = world.journal.records[-1]
    assert kind == DEFINE
    assert struct.unpack_from("<q", payload)[0] == world.application.queue_id
    assert Definition.decode(payload[8:]).attributes["TRIGGER"] == mq.MQTC_OFF


def test_switching_off_happens_with_a_full_journal_too() -> None:
    world = World(TRIGTYPE=mq.MQTT_DEPTH, TRIGDPTH=1)
    world.journal.room = 100
    assert fired(world, 1) == [True]
    assert not world.application.trigger_on
    assert world.journal.records == []
    assert world.engine.catalogue_changed


def test_none_never_triggers() -> None:
    assert fired(World(TRIGTYPE=mq.MQTT_NONE), 2) == [False, False]


@pytest.mark.parametrize("kind", [mq.MQTT_FIRST, mq.MQTT_EVERY, mq.MQTT_DEPTH])
def test_nothing_triggers_with_trigger_off(kind: int) -> None:
    assert fired(World(TRIGTYPE=kind, TRIGGER=mq.MQTC_OFF), 2) == [False, False]


@pytest.mark.parametrize("kind", [mq.MQTT_FIRST, mq.MQTT_EVERY, mq.MQTT_DEPTH])
def test_messages_of_low_priority_do_not_count(kind: int) -> None:
    world = World(TRIGTYPE=kind, TRIGMPRI=5, TRIGDPTH=1)
    assert fired(world, 2, priority=4) == [False, False]
    assert fired(world, 1, priority=5) == [True]


def test_first_looks_only_at_messages_that_count() -> None:
    world = World(TRIGMPRI=5)
    assert fired(world, 1, priority=9) == [True]
    world.put(1)
    world.get()
    assert world.application.depth == 1
    assert fired(world, 2, priority=7) == [True, False]


def test_depth_counts_messages_of_all_sufficient_priorities() -> None:
    world = World(TRIGTYPE=mq.MQTT_DEPTH, TRIGDPTH=3, TRIGMPRI=5)
    assert [len(world.put(priority)) for priority in (9, 1, 5, 4, 0, 7)] == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(("default", "expected"), [(4, [False, False]), (5, [True, False])])
def test_a_fifo_queue_gives_messages_its_default_priority(default: int, expected: list[bool]) -> None:
    world = World(MSGDLVSQ=mq.MQMDS_FIFO, TRIGMPRI=5, DEFPRTY=default)
    assert fired(world, 2, priority=9 if default == 4 else 0) == expected


def test_several_messages_of_one_commit_are_a_first_one() -> None:
    world = World()
    world.store()
    world.store()
    made = [triggers.after_arrival(world.engine, world.application, 0) for _ in range(2)]
    assert [len(each) for each in made] == [1, 0]
    world.get()
    assert fired(world, 1) == [False]
    world.get()
    world.get()
    world.store()
    world.store()
    made = [triggers.after_arrival(world.engine, world.application, 0) for _ in range(2)]
    assert [len(each) for each in made] == [1, 0]


def test_a_get_that_is_backed_out_does_not_make_the_next_message_first() -> None:
    world = World()
    assert fired(world, 1) == [True]
    queue = world.application
    slot = queue.slots.first()
    queue.unlink(slot)
    queue.depth -= 1
    queue.uncommitted += 1
    triggers.after_removal(world.engine, queue)
    queue.link_in_order(slot, True)
    queue.depth += 1
    queue.uncommitted -= 1
    assert fired(world, 1) == [False]


def test_an_expired_message_makes_room_for_a_first_one_without_being_told() -> None:
    world = World()
    world.put()
    slot = world.application.slots.first()
    world.application.unlink(slot)
    world.application.release(slot)
    world.application.depth -= 1
    assert fired(world, 1) == [True]


@pytest.mark.parametrize("kind", [mq.MQTT_FIRST, mq.MQTT_DEPTH])
def test_somebody_who_has_the_queue_open_for_input_needs_no_trigger(kind: int) -> None:
    world = World(TRIGTYPE=kind, TRIGDPTH=1)
    world.application.inputs = 1
    assert fired(world, 2) == [False, False]


def with_initiation_queue_gone(world: World) -> None:
    world.engine.remove_queue(world.initiation)


def with_alias_as_initiation_queue(world: World) -> None:
    world.engine.remove_queue(world.initiation)
    alias = new_definition(ObjectType.QALIAS, INITIATION, {"TARGET": "ANOTHER"})
    world.engine.of_type(ObjectType.QALIAS)[INITIATION] = alias


def with_initiation_queue_not_open(world: World) -> None:
    world.initiation.inputs = 0


def with_initiation_queue_inhibited_for_gets(world: World) -> None:
    world.alter(world.initiation, GET=mq.MQQA_GET_INHIBITED)


def with_initiation_queue_inhibited_for_puts(world: World) -> None:
    world.alter(world.initiation, PUT=mq.MQQA_PUT_INHIBITED)


def with_transmission_queue_as_initiation_queue(world: World) -> None:
    world.alter(world.initiation, USAGE=mq.MQUS_TRANSMISSION)


def with_initiation_queue_being_deleted(world: World) -> None:
    world.initiation.pending_delete = True


def with_no_initiation_queue_named(world: World) -> None:
    world.alter(world.application, INITQ="")


def with_process_gone(world: World) -> None:
    del world.engine.of_type(ObjectType.PROCESS)[PROCESS]


def with_no_process_named(world: World) -> None:
    world.alter(world.application, PROCESS="")


def with_gets_inhibited(world: World) -> None:
    world.alter(world.application, GET=mq.MQQA_GET_INHIBITED)


@pytest.mark.parametrize("kind", [mq.MQTT_FIRST, mq.MQTT_EVERY, mq.MQTT_DEPTH])
@pytest.mark.parametrize(
    "change",
    [
        with_initiation_queue_gone,
        with_alias_as_initiation_queue,
        with_initiation_queue_not_open,
        with_initiation_queue_inhibited_for_gets,
        with_initiation_queue_inhibited_for_puts,
        with_transmission_queue_as_initiation_queue,
        with_initiation_queue_being_deleted,
        with_no_initiation_queue_named,
        with_process_gone,
        with_no_process_named,
        with_gets_inhibited,
    ],
)
def test_each_condition_is_needed(change: Callable[[World], None], kind: int) -> None:
    world = World(TRIGTYPE=kind, TRIGDPTH=1)
    change(world)
    assert fired(world, 2) == [False, False]
    assert world.application.trigger_on
    assert fired(World(TRIGTYPE=kind, TRIGDPTH=1), 1) == [True]


def test_a_transmission_queue_needs_no_process() -> None:
    world = World(USAGE=mq.MQUS_TRANSMISSION, PROCESS="", TRIGDATA="TO.QM2")
    (made,) = world.put()
    assert made.body[8:56].rstrip() == APPLICATION.encode()
    assert made.body[56:104] == b" " * 48
    assert made.body[104:168].rstrip() == b"TO.QM2"
    assert struct.unpack_from("<i", made.body, 168)[0] == mq.MQAT_UNKNOWN
    assert made.body[172:] == b" " * 512


def test_a_transmission_queue_that_names_a_process_needs_it() -> None:
    assert fired(World(USAGE=mq.MQUS_TRANSMISSION, PROCESS="NO.SUCH"), 1) == [False]
    assert fired(World(USAGE=mq.MQUS_TRANSMISSION), 1) == [True]


def test_first_triggers_again_when_the_interval_is_over() -> None:
    world = World()
    assert fired(world, 2) == [True, False]
    world.engine.now_ms += 59_999
    assert fired(world, 1) == [False]
    world.engine.now_ms += 1
    assert fired(world, 2) == [True, False]


def test_first_without_a_trigger_so_far_does_not_wait_for_the_interval() -> None:
    world = World()
    world.initiation.inputs = 0
    assert fired(world, 1) == [False]
    world.initiation.inputs = 1
    assert fired(world, 2) == [True, False]


@pytest.mark.parametrize(
    ("kind", "messages", "expected"),
    [
        (mq.MQTT_FIRST, 0, 0),
        (mq.MQTT_FIRST, 1, 1),
        (mq.MQTT_DEPTH, 2, 0),
        (mq.MQTT_DEPTH, 3, 1),
        (mq.MQTT_EVERY, 3, 0),
        (mq.MQTT_NONE, 3, 0),
    ],
)
def test_closing_triggers_for_what_was_left(kind: int, messages: int, expected: int) -> None:
    world = World(TRIGTYPE=kind, TRIGDPTH=3)
    world.application.inputs = 2
    for _ in range(messages):
        world.put()
    assert world.close() == []
    assert len(world.close()) == expected


def test_closing_does_not_trigger_for_low_priorities() -> None:
    world = World(TRIGMPRI=5)
    world.application.inputs = 1
    world.put(4)
    assert world.close() == []


@pytest.mark.parametrize(
    ("kind", "expected"), [(mq.MQTT_FIRST, 1), (mq.MQTT_DEPTH, 1), (mq.MQTT_EVERY, 0), (mq.MQTT_NONE, 0)]
)
def test_the_first_opening_of_the_initiation_queue_triggers(kind: int, expected: int) -> None:
    world = World(TRIGTYPE=kind, TRIGDPTH=1)
    world.initiation.inputs = 0
    world.put()
    served = world.application
    world.application = world.queue("OTHER", **{**served.definition.attributes, "INITQ": "ELSEWHERE"})
    world.put()
    world.queue("ELSEWHERE").inputs = 1
    world.initiation.inputs = 1
    made = triggers.on_initiation_queue_open(world.engine, world.initiation)
    assert [item.queue_name for item in made] == [INITIATION] * expected


def test_a_second_trigger_monitor_changes_nothing() -> None:
    world = World()
    world.initiation.inputs = 0
    world.put()
    world.initiation.inputs = 2
    assert triggers.on_initiation_queue_open(world.engine, world.initiation) == []


def test_opening_the_initiation_queue_of_an_empty_queue_triggers_nothing() -> None:
    world = World()
    assert triggers.on_initiation_queue_open(world.engine, world.initiation) == []


@pytest.mark.parametrize(
    ("before", "change", "expected"),
    [
        ({"TRIGGER": mq.MQTC_OFF}, {"TRIGGER": mq.MQTC_ON}, 1),
        ({"TRIGTYPE": mq.MQTT_NONE}, {"TRIGTYPE": mq.MQTT_FIRST}, 1),
        ({"TRIGTYPE": mq.MQTT_DEPTH, "TRIGDPTH": 9}, {"TRIGDPTH": 2}, 1),
        ({"TRIGTYPE": mq.MQTT_DEPTH, "TRIGDPTH": 9}, {"TRIGDPTH": 3}, 0),
        ({"TRIGMPRI": 5}, {"TRIGMPRI": 0}, 1),
        ({"TRIGMPRI": 5}, {"TRIGMPRI": 4}, 0),
        ({"GET": mq.MQQA_GET_INHIBITED}, {"GET": mq.MQQA_GET_ALLOWED}, 1),
        ({"TRIGGER": mq.MQTC_OFF, "TRIGTYPE": mq.MQTT_EVERY}, {"TRIGGER": mq.MQTC_ON}, 0),
        ({"INITQ": "NO.SUCH"}, {"DESCR": "another", "INITQ": INITIATION}, 0),
        ({}, {"DESCR": "another"}, 0),
        ({}, {"TRIGGER": mq.MQTC_OFF}, 0),
    ],
)
def test_changed_attributes_trigger_when_they_let_it_be(
    before: dict[str, Value], change: dict[str, Value], expected: int
) -> None:
    world = World(**before)
    world.put()
    world.put()
    assert len(world.alter(world.application, **change)) == expected


def test_turning_the_trigger_on_for_a_queue_with_messages_does_not_make_the_next_one_first() -> None:
    world = World(TRIGGER=mq.MQTC_OFF)
    world.put()
    assert len(world.alter(world.application, TRIGGER=mq.MQTC_ON)) == 1
    assert fired(world, 1) == [False]


def test_allowing_puts_on_the_initiation_queue_triggers_those_it_serves() -> None:
    world = World()
    world.alter(world.initiation, PUT=mq.MQQA_PUT_INHIBITED)
    world.put()
    assert len(world.alter(world.initiation, PUT=mq.MQQA_PUT_ALLOWED)) == 1
    assert world.alter(world.initiation, DESCR="another") == []


def test_after_a_restart_every_queue_begins_anew() -> None:
    world = World()
    assert fired(world, 1) == [True]
    assert len(triggers.after_restart(world.engine)) == 1
    world.get()
    assert triggers.after_restart(world.engine) == []
    assert fired(world, 1) == [True]
    assert len(triggers.after_restart(world.engine)) == 1
    assert fired(world, 1) == [False]


def test_uncommitted_messages_do_not_count() -> None:
    world = World(TRIGTYPE=mq.MQTT_DEPTH, TRIGDPTH=2)
    world.store()
    world.application.uncommitted += 1  # as if that one were not committed
    assert fired(world, 1) == [False]
    world.application.uncommitted -= 1
    assert len(triggers.after_arrival(world.engine, world.application, 0)) == 1


def test_initiation_queues_that_trigger_each_other_do_not_run_forever() -> None:
    world = World(TRIGTYPE=mq.MQTT_EVERY)
    chain: dict[str, Value] = {"TRIGGER": mq.MQTC_ON, "TRIGTYPE": mq.MQTT_EVERY, "PROCESS": PROCESS}
    world.alter(world.initiation, INITQ="NEXT.INITQ", **chain)
    following = world.queue("NEXT.INITQ", **chain)
    following.inputs = 1
    assert fired(world, 1) == [True]
    world.alter(following, INITQ=INITIATION)
    assert fired(world, 1) == [False]


def test_a_queue_that_is_its_own_initiation_queue_does_not_run_forever() -> None:
    world = World(TRIGTYPE=mq.MQTT_EVERY, INITQ=APPLICATION)
    world.application.inputs = 1
    assert fired(world, 1) == [False]


def test_trigger_message_tells_what_to_start() -> None:
    world = World()
    world.alter(world.initiation, DEFPRTY=3, DEFPSIST=mq.MQPER_PERSISTENT)
    (made,) = world.put()
    assert made.queue_name == INITIATION
    assert made.manager_name == ""
    assert made.may_be_dead_lettered
    assert len(made.body) == mq.MQTM_CURRENT_LENGTH
    assert made.body[:8] == b"TM  " + struct.pack("<i", mq.MQTM_VERSION_1)
    fields = {
        8: (48, b"APP.QUEUE"),
        56: (48, b"APP.PROCESS"),
        104: (64, b"trigger data"),
        172: (256, b"/bin/app"),
        428: (128, b"&"),
        556: (128, b"hello"),
    }
    for at, (length, text) in fields.items():
        assert made.body[at : at + length] == text.ljust(length)
    assert struct.unpack_from("<i", made.body, 168)[0] == mq.MQAT_UNIX


def test_trigger_message_is_a_nonpersistent_datagram_of_the_queue_manager() -> None:
    world = World()
    world.alter(world.initiation, DEFPRTY=3, DEFPSIST=mq.MQPER_PERSISTENT)
    (made,) = world.put()
    md = made.md
    assert len(md) == mq.MQMD_LENGTH_2
    assert md[32:40] == mq.MQFMT_TRIGGER
    numbers = {
        8: mq.MQRO_NONE,
        12: mq.MQMT_DATAGRAM,
        16: mq.MQEI_UNLIMITED,
        20: mq.MQFB_NONE,
        24: mq.MQENC_NATIVE,
        28: 1208,
        40: 3,
        44: mq.MQPER_NOT_PERSISTENT,
        272: mq.MQAT_QMGR,
        348: 1,
        360: mq.MQOL_UNDEFINED,
    }
    assert {at: struct.unpack_from("<i", md, at)[0] for at in numbers} == numbers
    assert md[48:72] != bytes(24)
    assert md[72:96] == bytes(24)
    assert md[100:148] == b" " * 48
    assert md[148:196] == b"QM1".ljust(48)
    assert md[276:304] == b"QM1".ljust(28)
    assert md[304:320] == b"2023111422132000"
