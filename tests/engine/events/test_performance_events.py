"""Performance and queue manager events: conditions, switches and contents."""

from __future__ import annotations

import struct

import pytest

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.events import performance_events as events
from ostler.engine.events.reports import Outgoing
from ostler.engine.queue.queue import Queue
from ostler.engine.recovery.records import DEFINE
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import Definition, new_definition
from ostler.model.journal import Journal
from ostler.model.pcf import Header, Integer, PcfMessage, String, decode
from ostler.testing.simulation.crashing_disk import SimulatedDisk

ON, OFF = mq.MQEVR_ENABLED, mq.MQEVR_DISABLED
HIGH, LOW, FULL = mq.MQRC_Q_DEPTH_HIGH, mq.MQRC_Q_DEPTH_LOW, mq.MQRC_Q_FULL
SLOW, IN_TIME = mq.MQRC_Q_SERVICE_INTERVAL_HIGH, mq.MQRC_Q_SERVICE_INTERVAL_OK


class MemoryJournal(Journal):
    def __init__(self) -> None:
        self.records: list[tuple[int, bytes]] = []

    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        self.records.append((kind, head + descriptor + body))
        return len(self.records)

    def end_lsn(self) -> int:
        return len(self.records)

    def durable_lsn(self) -> int:
        return len(self.records)

    def room_bytes(self) -> int:
        return 1 << 30


class World:
    """A queue manager with all events on, and a queue of depth 10 with limits at 80 and 20 percent."""

    def __init__(self, manager: dict[str, Value] | None = None, /, **attributes: Value) -> None:
        wanted: dict[str, Value] = {"PERFMEV": ON, "INHIBTEV": ON, "LOCALEV": ON, "REMOTEEV": ON, "STRSTPEV": ON}
        wanted.update(manager or {})
        self.journal = MemoryJournal()
        self.engine = Engine("QM1", SimulatedDisk(), self.journal, new_definition(ObjectType.QMGR, "QM1", wanted))
        self.engine.now_ms = 1_700_000_000_000
        self.add(events.PERFORMANCE_QUEUE, DEFPRTY=4, DEFPSIST=1)
        self.add(events.MANAGER_QUEUE)
        limits: dict[str, Value] = {"MAXDEPTH": 10, "QDEPTHHI": 80, "QDEPTHLO": 20, "QDPMAXEV": OFF}
        limits.update(attributes)
        self.queue = self.add("APP.QUEUE", **limits)
        events.after_restart(self.engine)

    def add(self, name: str, **attributes: Value) -> Queue:
        definition = new_definition(ObjectType.QLOCAL, name, attributes)
        return self.engine.add_queue(definition, self.engine.next_queue_id)

    def connection(self) -> Connection:
        return Connection(1, "alice", "payroll", mq.MQAT_UNIX)

    def put(self, count: int = 1) -> list[Outgoing]:
        made: list[Outgoing] = []
        for _ in range(count):
            if self.queue.depth >= self.queue.depth_max:
                made.extend(events.on_queue_full(self.engine, self.queue))
                continue
            self.queue.depth += 1
            self.queue.counters.puts += 1
            made.extend(events.after_arrival(self.engine, self.queue))
        return made

    def get(self, count: int = 1) -> list[Outgoing]:
        made: list[Outgoing] = []
        for _ in range(count):
            self.queue.depth -= 1
            self.queue.counters.gets += 1
            made.extend(events.after_removal(self.engine, self.queue))
        return made

    def pass_ms(self, milliseconds: int) -> None:
        self.engine.now_ms += milliseconds

    def switches(self) -> str:
        """Return the enabled events of high, low and full: H, L, F."""
        attributes = self.queue.definition.attributes
        names = (("QDPHIEV", "H"), ("QDPLOEV", "L"), ("QDPMAXEV", "F"))
        return "".join(letter for name, letter in names if attributes[name] == ON)


def told(item: Outgoing) -> PcfMessage:
    return decode(item.body)


def reasons(made: list[Outgoing]) -> list[int]:
    return [told(item).header.reason for item in made]


def test_depth_events_follow_each_other_as_the_manual_shows() -> None:
    world = World(QDPHIEV=ON)
    assert world.switches() == "H"
    assert reasons(world.put(4) + world.get(3) + world.put(6)) == []
    assert reasons(world.put()) == [HIGH]
    assert world.switches() == "LF"
    assert reasons(world.get(1) + world.put(1) + world.get(5)) == []
    assert reasons(world.get()) == [LOW]
    assert world.switches() == "HF"
    assert reasons(world.get(1) + world.put(1)) == []
    assert reasons(world.put(8)) == [HIGH]
    assert reasons(world.put()) == [FULL]
    assert world.switches() == "L"
    assert reasons(world.put(3) + world.get(1) + world.put(2)) == []
    assert reasons(world.get(8)) == [LOW]
    assert world.switches() == "HF"


@pytest.mark.parametrize(
    ("switch", "depth", "expected"),
    [("QDPHIEV", 7, []), ("QDPHIEV", 8, [HIGH]), ("QDPLOEV", 10, []), ("QDPMAXEV", 10, []), ("QDPMAXEV", 11, [FULL])],
)
def test_puts_report_what_is_switched_on(switch: str, depth: int, expected: list[int]) -> None:
    assert reasons(World(**{"QDPMAXEV": OFF, switch: ON}).put(depth)) == expected
    assert reasons(World().put(depth)) == []


@pytest.mark.parametrize(
    ("switch", "left", "expected"), [("QDPLOEV", 3, []), ("QDPLOEV", 2, [LOW]), ("QDPHIEV", 0, [])]
)
def test_gets_report_what_is_switched_on(switch: str, left: int, expected: list[int]) -> None:
    world = World(**{switch: ON})
    world.queue.depth = 5
    assert reasons(world.get(5 - left)) == expected
    world = World()
    world.queue.depth = 5
    assert reasons(world.get(5 - left)) == []


def test_without_performance_events_nothing_is_reported_or_switched() -> None:
    world = World({"PERFMEV": OFF}, QDPHIEV=ON, QDPLOEV=ON, QDPMAXEV=ON, QSVCIEV=mq.MQQSIE_HIGH, QSVCINT=10)
    world.put(5)
    world.pass_ms(1000)
    assert reasons(world.put(20) + world.get(10)) == []
    assert world.switches() == "HLF"
    assert world.journal.records == []


def test_the_performance_event_queue_does_not_report_on_itself() -> None:
    world = World()
    world.queue = world.add(events.PERFORMANCE_QUEUE, MAXDEPTH=1, QDPHIEV=ON, QDPLOEV=ON, QDPMAXEV=ON)
    assert reasons(world.put(2) + world.get()) == []


def test_a_switch_is_journalled_and_in_the_catalogue() -> None:
    world = World(QDPHIEV=ON)
    world.put(8)
    kind, payload = world.journal.records[-1]
    assert kind == DEFINE
    assert struct.unpack_from("<q", payload)[0] == world.queue.queue_id
    stored = Definition.decode(payload[8:]).attributes
    assert (stored["QDPHIEV"], stored["QDPLOEV"], stored["QDPMAXEV"]) == (OFF, ON, ON)
    assert world.engine.of_type(ObjectType.QLOCAL)["APP.QUEUE"] is world.queue.definition


def test_the_switch_of_a_temporary_queue_is_not_journalled() -> None:
    world = World(QDPHIEV=ON)
    attributes = {**world.queue.definition.attributes, "DEFTYPE": mq.MQQDT_TEMPORARY_DYNAMIC}
    world.queue.configure(Definition(ObjectType.QLOCAL, "APP.QUEUE", attributes))
    world.put(8)
    assert world.switches() == "LF"
    assert world.journal.records == []


SERVICE: dict[str, Value] = {"QSVCINT": 1000}


def test_a_slow_get_is_reported_and_then_a_fast_one() -> None:
    world = World(QSVCIEV=mq.MQQSIE_HIGH, **SERVICE)
    world.put()
    world.pass_ms(1001)
    assert reasons(world.get()) == [SLOW]
    world.pass_ms(5000)
    world.put()
    world.pass_ms(1000)
    assert reasons(world.get()) == [IN_TIME]
    assert world.queue.definition.attributes["QSVCIEV"] == mq.MQQSIE_HIGH


def test_only_a_get_is_in_time() -> None:
    world = World(QSVCIEV=mq.MQQSIE_OK, **SERVICE)
    world.put()
    world.pass_ms(500)
    assert reasons(world.put()) == []
    world.pass_ms(501)
    assert reasons(world.get()) == []
    world.pass_ms(1000)
    assert reasons(world.get()) == [IN_TIME]


def test_a_put_reports_that_nobody_gets() -> None:
    world = World(QSVCIEV=mq.MQQSIE_HIGH, **SERVICE)
    world.put()
    world.pass_ms(600)
    assert reasons(world.put()) == []
    world.pass_ms(600)
    assert reasons(world.put()) == [SLOW]
    assert reasons(world.get()) == []  # too late for in time, and high is off
    world.pass_ms(1001)
    assert reasons(world.get()) == []
    world.pass_ms(1000)
    assert reasons(world.get()) == [IN_TIME]


def test_an_empty_queue_waits_for_nobody() -> None:
    world = World(QSVCIEV=mq.MQQSIE_HIGH, **SERVICE)
    world.put()
    world.get()
    world.pass_ms(10_000)
    assert reasons(world.put()) == []
    world.pass_ms(1000)
    assert reasons(world.get()) == []


def test_a_message_that_expired_leaves_an_empty_queue_behind() -> None:
    world = World(QSVCIEV=mq.MQQSIE_HIGH, **SERVICE)
    world.put()
    world.queue.depth -= 1
    world.pass_ms(10_000)
    assert reasons(world.put()) == []
    assert reasons(world.get()) == []


def test_a_message_handed_straight_to_a_getter_is_in_time() -> None:
    world = World(QSVCIEV=mq.MQQSIE_HIGH, **SERVICE)
    for _ in range(2):
        world.pass_ms(5000)  # the queue is empty since its beginning, and then since the last get
        world.queue.depth += 1
        assert reasons(world.get()) == []
    world = World(QSVCIEV=mq.MQQSIE_OK, **SERVICE)
    world.queue.depth += 1
    assert reasons(world.get()) == [IN_TIME]


def test_service_is_waited_for_from_the_restart_on() -> None:
    world = World(QSVCIEV=mq.MQQSIE_HIGH, **SERVICE)
    world.queue.depth = 2
    events.after_restart(world.engine)
    world.pass_ms(1001)
    assert reasons(world.get()) == [SLOW]


def test_no_service_events_with_none() -> None:
    world = World(QSVCIEV=mq.MQQSIE_NONE, **SERVICE)
    world.put()
    world.pass_ms(5000)
    assert reasons(world.put() + world.get(2)) == []


def test_performance_event_tells_the_figures_since_the_one_before() -> None:
    world = World(QDPHIEV=ON)
    world.put(4)
    world.get(3)
    world.pass_ms(12_345)
    (high,) = world.put(7)
    message = told(high)
    assert message.header == Header(
        mq.MQCFT_EVENT, mq.MQCMD_PERFM_EVENT, mq.MQCC_WARNING, HIGH, version=mq.MQCFH_VERSION_1
    )
    assert message.parameters == (
        String(mq.MQCA_Q_MGR_NAME, "QM1"),
        String(mq.MQCA_BASE_Q_NAME, "APP.QUEUE"),
        Integer(mq.MQIA_TIME_SINCE_RESET, 12),
        Integer(mq.MQIA_HIGH_Q_DEPTH, 8),
        Integer(mq.MQIA_MSG_ENQ_COUNT, 11),
        Integer(mq.MQIA_MSG_DEQ_COUNT, 3),
    )
    world.put(1)
    world.pass_ms(1000)
    (low,) = world.get(7)
    assert [item.value for item in told(low).parameters if isinstance(item, Integer)] == [1, 9, 1, 7]


def test_figures_are_taken_once() -> None:
    world = World(QDPHIEV=ON)
    world.put(5)
    world.get(2)
    world.pass_ms(3000)
    assert events.reset_statistics(world.engine, world.queue) == (3, 5, 5, 2)
    assert events.reset_statistics(world.engine, world.queue) == (0, 3, 0, 0)


def test_event_message_is_a_datagram_with_the_defaults_of_the_event_queue() -> None:
    world = World(QDPHIEV=ON)
    (made,) = world.put(8)
    assert (made.queue_name, made.manager_name, made.may_be_dead_lettered) == (events.PERFORMANCE_QUEUE, "", False)
    assert made.md[32:40] == mq.MQFMT_EVENT
    numbers = {8: 0, 12: mq.MQMT_DATAGRAM, 16: -1, 20: 0, 24: mq.MQENC_NATIVE, 40: 4, 44: 1, 272: mq.MQAT_QMGR}
    assert {at: struct.unpack_from("<i", made.md, at)[0] for at in numbers} == numbers
    assert len(made.md) == mq.MQMD_LENGTH_2


def test_an_event_queue_may_be_remote_or_missing() -> None:
    world = World(QDPHIEV=ON)
    world.engine.remove_queue(world.engine.queues[events.PERFORMANCE_QUEUE])
    remote = new_definition(
        ObjectType.QREMOTE, events.PERFORMANCE_QUEUE, {"RNAME": "X", "RQMNAME": "QM2", "DEFPRTY": 7}
    )
    world.engine.of_type(ObjectType.QREMOTE)[events.PERFORMANCE_QUEUE] = remote
    (made,) = world.put(8)
    assert struct.unpack_from("<i", made.md, 40)[0] == 7
    del world.engine.of_type(ObjectType.QREMOTE)[events.PERFORMANCE_QUEUE]
    (made,) = world.get(6)
    assert struct.unpack_from("<i", made.md, 40)[0] == 0


REFUSALS = [
    (mq.MQRC_GET_INHIBITED, "INHIBTEV"),
    (mq.MQRC_PUT_INHIBITED, "INHIBTEV"),
    (mq.MQRC_UNKNOWN_OBJECT_NAME, "LOCALEV"),
    (mq.MQRC_UNKNOWN_ALIAS_BASE_Q, "LOCALEV"),
    (mq.MQRC_ALIAS_BASE_Q_TYPE_ERROR, "LOCALEV"),
    (mq.MQRC_UNKNOWN_REMOTE_Q_MGR, "REMOTEEV"),
    (mq.MQRC_UNKNOWN_XMIT_Q, "REMOTEEV"),
    (mq.MQRC_XMIT_Q_TYPE_ERROR, "REMOTEEV"),
    (mq.MQRC_XMIT_Q_USAGE_ERROR, "REMOTEEV"),
    (mq.MQRC_UNKNOWN_DEF_XMIT_Q, "REMOTEEV"),
    (mq.MQRC_DEF_XMIT_Q_TYPE_ERROR, "REMOTEEV"),
    (mq.MQRC_DEF_XMIT_Q_USAGE_ERROR, "REMOTEEV"),
    (mq.MQRC_REMOTE_Q_NAME_ERROR, "REMOTEEV"),
]


@pytest.mark.parametrize(("reason", "switch"), REFUSALS)
def test_a_refusal_is_reported_when_its_switch_is_on(reason: int, switch: str) -> None:
    world = World()
    (made,) = events.on_refused(world.engine, world.connection(), reason, "SOME.QUEUE")
    assert made.queue_name == events.MANAGER_QUEUE
    assert not made.may_be_dead_lettered
    message = told(made)
    assert (message.header.command, message.header.reason) == (mq.MQCMD_Q_MGR_EVENT, reason)
    assert message.parameters == (
        String(mq.MQCA_Q_MGR_NAME, "QM1"),
        String(mq.MQCA_Q_NAME, "SOME.QUEUE"),
        Integer(mq.MQIA_APPL_TYPE, mq.MQAT_UNIX),
        String(mq.MQCACF_APPL_NAME, "payroll"),
    )
    silent = World({switch: OFF})
    assert events.on_refused(silent.engine, silent.connection(), reason, "SOME.QUEUE") == []


def test_other_reasons_are_no_events() -> None:
    world = World()
    assert events.on_refused(world.engine, world.connection(), mq.MQRC_Q_FULL, "SOME.QUEUE") == []


def test_a_refusal_tells_the_names_that_it_is_about() -> None:
    world = World()
    (made,) = events.on_refused(
        world.engine,
        world.connection(),
        mq.MQRC_DEF_XMIT_Q_TYPE_ERROR,
        "SOME.QUEUE",
        object_manager="QM2",
        base_name="BASE",
        transmission_queue="XMITQ",
        queue_type=mq.MQQT_ALIAS,
    )
    assert told(made).parameters[2:5] == (
        String(mq.MQCA_BASE_OBJECT_NAME, "BASE"),
        String(mq.MQCA_XMIT_Q_NAME, "XMITQ"),
        Integer(mq.MQIA_Q_TYPE, mq.MQQT_ALIAS),
    )
    assert told(made).parameters[-1] == String(mq.MQCACF_OBJECT_Q_MGR_NAME, "QM2")


def test_the_own_queue_manager_is_not_told_twice() -> None:
    world = World()
    (made,) = events.on_refused(world.engine, world.connection(), mq.MQRC_PUT_INHIBITED, "Q", object_manager="QM1")
    assert len(told(made).parameters) == 4


@pytest.mark.parametrize(("at_once", "qualifier"), [(False, mq.MQRQ_Q_MGR_QUIESCING), (True, mq.MQRQ_Q_MGR_STOPPING)])
def test_start_and_stop_are_events(at_once: bool, qualifier: int) -> None:
    world = World()
    (started,) = events.on_start(world.engine)
    (stopped,) = events.on_stop(world.engine, at_once)
    assert reasons([started, stopped]) == [mq.MQRC_Q_MGR_ACTIVE, mq.MQRC_Q_MGR_NOT_ACTIVE]
    assert told(stopped).parameters == (
        String(mq.MQCA_Q_MGR_NAME, "QM1"),
        Integer(mq.MQIACF_REASON_QUALIFIER, qualifier),
    )
    (taken_over,) = events.on_start(world.engine, mq.MQRQ_STANDBY_ACTIVATED, "host2")
    assert told(taken_over).parameters == (
        String(mq.MQCA_Q_MGR_NAME, "QM1"),
        Integer(mq.MQIACF_REASON_QUALIFIER, mq.MQRQ_STANDBY_ACTIVATED),
        String(mq.MQCACF_HOST_NAME, "host2"),
    )
    silent = World({"STRSTPEV": OFF})
    assert events.on_start(silent.engine) + events.on_stop(silent.engine, at_once) == []
