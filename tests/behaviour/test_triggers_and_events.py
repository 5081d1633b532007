"""Triggering with an initiation queue, and performance events, as programs cause and see them."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.pcf_reader import decode
from ostler.model.structures.headers import MQTM

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT


class Monitor:
    """A trigger monitor: a program that has an initiation queue open."""

    def __init__(self, site: Any) -> None:
        self.program = site.program()
        self.name = site.local()
        self.process = site.define(ObjectType.PROCESS, APPLICID="start me", USERDATA="with this", ENVRDATA="there")
        self.queue = self.program.open(self.name, mq.MQOO_INPUT_SHARED)

    def triggered(self, site: Any, **attributes: Any) -> str:
        """A queue that this monitor serves."""
        return str(site.local(TRIGGER="TRIGGER", PROCESS=self.process, INITQ=self.name, **attributes))

    def count(self) -> int:
        return len(self.program.drain(self.queue))


@pytest.fixture
def monitor(site: Any) -> Monitor:
    return Monitor(site)


def test_first_triggers_once_until_the_queue_was_empty(site: Any, program: Any, monitor: Monitor) -> None:
    name = monitor.triggered(site, TRIGTYPE="FIRST")
    for _ in range(3):
        program.put1(name)
    assert monitor.count() == 1
    queue = program.open(name, BOTH)
    program.drain(queue)
    program.close(queue)
    assert monitor.count() == 0
    program.put1(name)
    assert monitor.count() == 1


def test_first_triggers_again_when_the_last_getter_leaves_messages(site: Any, program: Any, monitor: Monitor) -> None:
    name = monitor.triggered(site, TRIGTYPE="FIRST")
    queue = program.open(name, BOTH)
    program.put(queue)
    assert monitor.count() == 0  # somebody has it open
    program.close(queue)
    assert monitor.count() == 1


def test_every_triggers_with_every_message(site: Any, program: Any, monitor: Monitor) -> None:
    name = monitor.triggered(site, TRIGTYPE="EVERY")
    for _ in range(3):
        program.put1(name)
    assert monitor.count() == 3


def test_depth_triggers_at_the_depth_and_switches_itself_off(site: Any, program: Any, monitor: Monitor) -> None:
    name = monitor.triggered(site, TRIGTYPE="DEPTH", TRIGDPTH=3)
    program.put1(name)
    program.put1(name)
    assert monitor.count() == 0
    program.put1(name)
    assert monitor.count() == 1
    assert site.queue(name).definition.attributes["TRIGGER"] == mq.MQTC_OFF
    program.put1(name)
    assert monitor.count() == 0
    site.alter(name, TRIGGER="TRIGGER")
    assert monitor.count() == 1


def test_only_messages_important_enough_count(site: Any, program: Any, monitor: Monitor) -> None:
    name = monitor.triggered(site, TRIGTYPE="EVERY", TRIGMPRI=5)
    program.put1(name, Priority=4)
    assert monitor.count() == 0
    program.put1(name, Priority=5)
    assert monitor.count() == 1


@pytest.mark.parametrize("change", [{"TRIGGER": "NOTRIGGER"}, {"TRIGTYPE": "NONE"}, {"GET": "DISABLED"}])
def test_no_trigger_message_when(site: Any, program: Any, monitor: Monitor, change: dict[str, str]) -> None:
    name = monitor.triggered(site, TRIGTYPE="EVERY")
    site.alter(name, **change)
    program.put1(name)
    assert monitor.count() == 0


def test_messages_under_syncpoint_count_when_they_are_committed(site: Any, program: Any, monitor: Monitor) -> None:
    name = monitor.triggered(site, TRIGTYPE="EVERY")
    for finish in (program.back_out, program.commit):
        program.put1(name, options=mq.MQPMO_SYNCPOINT)
        assert monitor.count() == 0
        finish()
    assert monitor.count() == 1


def test_opening_the_initiation_queue_sends_pending_triggers(site: Any, program: Any, monitor: Monitor) -> None:
    name = monitor.triggered(site, TRIGTYPE="FIRST")
    monitor.program.close(monitor.queue)
    program.put1(name)
    monitor.queue = monitor.program.open(monitor.name, mq.MQOO_INPUT_SHARED)
    assert monitor.count() == 1


def test_a_waiting_monitor_is_woken(site: Any, program: Any, monitor: Monitor) -> None:
    name = monitor.triggered(site, TRIGTYPE="FIRST")
    waiting = site.start(monitor.program.get, monitor.queue, mq.MQGMO_WAIT, wait=mq.MQWI_UNLIMITED)
    site.until_waiting(monitor.name)
    program.put1(name)
    assert waiting.result(60).md["Format"] == mq.MQFMT_TRIGGER.rstrip()


def test_the_trigger_message(site: Any, program: Any, monitor: Monitor) -> None:
    name = monitor.triggered(site, TRIGTYPE="FIRST", TRIGDATA="some data")
    program.put1(name)
    answer = monitor.program.get(monitor.queue)
    assert (answer.md["Format"], answer.md["Persistence"]) == (mq.MQFMT_TRIGGER.rstrip(), 0)
    assert MQTM.validate_header(answer.body) == 1
    expected = {
        "QName": name,
        "ProcessName": monitor.process,
        "TriggerData": "some data",
        "ApplId": "start me",
        "EnvData": "there",
        "UserData": "with this",
    }
    found = {field: MQTM.read_bytes(answer.body, field).rstrip().decode() for field in expected}
    assert found == expected


# -- performance events


def performance_events(program: Any) -> list[tuple[int, str]]:
    """Reason and queue of each event so far, taken off the event queue."""
    queue = program.open("SYSTEM.ADMIN.PERFM.EVENT", mq.MQOO_INPUT_SHARED)
    found = []
    while True:
        answer = program.get(queue)
        if answer.reason == mq.MQRC_NO_MSG_AVAILABLE:
            program.close(queue)
            return found
        assert answer.md["Format"] == mq.MQFMT_EVENT.rstrip()
        assert struct.unpack_from("<i", answer.body)[0] == mq.MQCFT_EVENT
        event = decode(answer.body)
        names = [each.value.rstrip() for each in event.parameters if each.parameter == mq.MQCA_BASE_Q_NAME]
        found.append((event.header.reason, names[0]))


def test_a_queue_that_fills_and_empties_sends_events(own_site: Any) -> None:
    own_site.alter_manager(PERFMEV="ENABLED")
    program = own_site.program()
    name = own_site.local(MAXDEPTH=10, QDEPTHHI=80, QDEPTHLO=20, QDPHIEV="ENABLED", QDPMAXEV="ENABLED")
    queue = program.open(name, BOTH)
    for _ in range(7):
        program.put(queue)
    assert performance_events(program) == []
    program.put(queue)
    assert performance_events(program) == [(mq.MQRC_Q_DEPTH_HIGH, name)]
    program.put(queue)
    program.put(queue)
    assert performance_events(program) == []
    assert program.put(queue).reason == mq.MQRC_Q_FULL
    assert performance_events(program) == [(mq.MQRC_Q_FULL, name)]
    assert program.put(queue).reason == mq.MQRC_Q_FULL
    for _ in range(7):
        program.get(queue)
    assert performance_events(program) == []
    program.get(queue)
    assert performance_events(program) == [(mq.MQRC_Q_DEPTH_LOW, name)]
    program.get(queue)
    for _ in range(7):
        program.put(queue)
    assert performance_events(program) == [(mq.MQRC_Q_DEPTH_HIGH, name)]


def test_without_perfmev_there_are_no_events(own_site: Any) -> None:
    program = own_site.program()
    queue = program.open(own_site.local(MAXDEPTH=2, QDPHIEV="ENABLED"), BOTH)
    assert [program.put(queue).reason for _ in range(3)] == [0, 0, mq.MQRC_Q_FULL]
    assert performance_events(program) == []


def test_refusals_send_events_when_they_are_enabled(own_site: Any) -> None:
    own_site.alter_manager(INHIBTEV="ENABLED", LOCALEV="ENABLED", REMOTEEV="ENABLED")
    program = own_site.program()
    program.put1(own_site.local(PUT="DISABLED"))
    program.get(program.open(own_site.local(GET="DISABLED"), BOTH))
    program.put1("NO.SUCH.QUEUE")
    program.put1("THERE", at="NO.SUCH.MANAGER")
    program.put1(own_site.alias("NO.SUCH.QUEUE"))
    reasons = [
        decode(each.body).header.reason
        for each in program.browse("SYSTEM.ADMIN.QMGR.EVENT")
        if decode(each.body).header.reason != mq.MQRC_Q_MGR_ACTIVE
    ]
    assert reasons == [
        mq.MQRC_PUT_INHIBITED,
        mq.MQRC_GET_INHIBITED,
        mq.MQRC_UNKNOWN_OBJECT_NAME,
        mq.MQRC_UNKNOWN_REMOTE_Q_MGR,
        mq.MQRC_UNKNOWN_ALIAS_BASE_Q,
    ]
