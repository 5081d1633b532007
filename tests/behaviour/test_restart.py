"""Messages, counts and objects after an orderly end and after a crash; quiescing."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.engine.syncpoint import back_out
from ostler.model import constants as mq
from ostler.model.errors import MQError

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT
ENDINGS = pytest.mark.parametrize("ending", ["crash", "restart"])


def go_through(site: Any, ending: str) -> Any:
    """End that way, start again; a program there."""
    getattr(site, ending)()
    return site.program()


@ENDINGS
def test_persistent_messages_survive_with_all_they_have(own_site: Any, ending: str) -> None:
    program = own_site.program()
    name = own_site.local()
    queue = program.open(name, BOTH)
    puts = [
        program.put(queue, b"%d" % number * 100, Persistence=1, Priority=number % 3, CorrelId=b"%d" % number * 24)
        for number in range(9)
    ]
    program = go_through(own_site, ending)
    answers = program.browse(name)
    by_id = {each.message_id: each for each in answers}
    assert [each.md["Priority"] for each in answers] == [2, 2, 2, 1, 1, 1, 0, 0, 0]
    for number, put in enumerate(puts):
        answer = by_id[put.message_id]
        assert answer.body == b"%d" % number * 100
        assert answer.md.data == put.md.data
    queue = program.open(name, BOTH)
    assert program.get(queue, CorrelId=b"4" * 24).body == b"4" * 100


@pytest.mark.parametrize(
    ("ending", "npmclass", "left"),
    [("crash", "NORMAL", 0), ("crash", "HIGH", 0), ("restart", "NORMAL", 0), ("restart", "HIGH", 5)],
)
def test_nonpersistent_messages_survive_an_orderly_end_of_high_queues(
    own_site: Any, ending: str, npmclass: str, left: int
) -> None:
    program = own_site.program()
    name = own_site.local(NPMCLASS=npmclass)
    queue = program.open(name, BOTH)
    for number in range(5):
        program.put(queue, b"%d" % number)
    program = go_through(own_site, ending)
    assert [each.body for each in program.browse(name)] == [b"%d" % number for number in range(left)]
    # They do not come back a second time.
    program.drain(program.open(name, BOTH))
    program = go_through(own_site, "crash")
    assert program.browse(name) == []


def test_messages_of_both_kinds_keep_their_order(own_site: Any) -> None:
    program = own_site.program()
    name = own_site.local(NPMCLASS="HIGH")
    queue = program.open(name, BOTH)
    for number in range(6):
        program.put(queue, b"%d" % number, Persistence=number % 2)
    program = go_through(own_site, "restart")
    assert program.drain(program.open(name, BOTH)) == [b"%d" % number for number in range(6)]


@ENDINGS
def test_the_back_out_count_survives(own_site: Any, ending: str) -> None:
    program = own_site.program()
    name = own_site.local(HARDENBO="HARDENBO")
    queue = program.open(name, BOTH)
    program.put(queue, b"poison", Persistence=1)
    for _ in range(2):
        program.get(queue, mq.MQGMO_SYNCPOINT)
        program.back_out()
    program = go_through(own_site, ending)
    assert program.browse(name)[0].md["BackoutCount"] == 2


def test_an_end_that_backs_out_counts(own_site: Any) -> None:
    program = own_site.program()
    name = own_site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"poison", Persistence=1)
    program.get(queue, mq.MQGMO_SYNCPOINT)
    program = go_through(own_site, "restart")
    assert program.browse(name)[0].md["BackoutCount"] == 1


def test_a_count_that_is_not_hardened_survives_an_orderly_end(own_site: Any) -> None:
    program = own_site.program()
    name = own_site.local(HARDENBO="NOHARDENBO")
    queue = program.open(name, BOTH)
    program.put(queue, b"poison", Persistence=1)
    program.get(queue, mq.MQGMO_SYNCPOINT)
    with own_site.manager.turn as engine:
        assert back_out(engine, program.connection).after_lsn == 0, "nothing to wait for"
    program = go_through(own_site, "restart")
    assert program.browse(name)[0].md["BackoutCount"] == 1


@ENDINGS
def test_units_of_work_that_were_not_committed_are_backed_out(own_site: Any, ending: str) -> None:
    program = own_site.program()
    name = own_site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"1", Persistence=1)
    program.put(queue, b"2", Persistence=1)
    program.put(queue, b"3", mq.MQPMO_SYNCPOINT, Persistence=1)
    program.get(queue, mq.MQGMO_SYNCPOINT)
    committed = own_site.program()
    theirs = committed.open(name, BOTH)
    committed.put(theirs, b"4", mq.MQPMO_SYNCPOINT, Persistence=1)
    committed.get(theirs, mq.MQGMO_SYNCPOINT)
    committed.commit()
    program = go_through(own_site, ending)
    assert [each.body for each in program.browse(name)] == [b"1", b"4"]
    assert own_site.queue(name).uncommitted == 0


@ENDINGS
def test_what_was_got_outside_a_unit_stays_gone(own_site: Any, ending: str) -> None:
    program = own_site.program()
    name = own_site.local()
    queue = program.open(name, BOTH)
    for number in range(4):
        program.put(queue, b"%d" % number, Persistence=1)
    program.get(queue)
    program.get(queue, mq.MQGMO_SYNCPOINT_IF_PERSISTENT)
    program.commit()
    program = go_through(own_site, ending)
    assert [each.body for each in program.browse(name)] == [b"2", b"3"]


@ENDINGS
def test_objects_survive_as_they_were_last(own_site: Any, ending: str) -> None:
    name = own_site.local(MAXDEPTH=7)
    own_site.alter(name, MAXDEPTH=3, DEFPRTY=5)
    alias = own_site.alias(name, PUT="DISABLED")
    own_site.alter_manager(MAXHANDS=99)
    deleted = own_site.local()
    own_site.manager.delete(own_site.queue(deleted).definition.object_type, deleted)
    program = go_through(own_site, ending)
    assert (own_site.queue(name).depth_max, own_site.queue(name).default_priority) == (3, 5)
    assert program.put1(alias).reason == mq.MQRC_PUT_INHIBITED
    assert own_site.manager.engine.handles_max == 99
    assert deleted not in own_site.manager.engine.queues


def test_message_ids_are_not_used_twice_over_restarts(own_site: Any) -> None:
    name = own_site.local()
    ids = set()
    for _ in range(3):
        program = own_site.program()
        ids |= {program.put1(name).message_id for _ in range(10)}
        own_site.crash()
    assert len(ids) == 30


# -- quiescing


def quiescing(site: Any) -> Any:
    """Begin to end the queue manager; it is over when the last connection has gone."""
    ending = site.start(site.manager.end, "quiesce", 20)
    site.eventually(lambda: site.manager.engine.state != 0)
    return ending


def test_those_who_asked_for_it_fail_while_quiescing(own_site: Any) -> None:
    program = own_site.program()
    name = own_site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"1")
    program.put(queue, b"2", mq.MQPMO_SYNCPOINT, Persistence=1)
    ending = quiescing(own_site)
    assert program.put(queue, b"", mq.MQPMO_FAIL_IF_QUIESCING).reason == mq.MQRC_Q_MGR_QUIESCING
    assert program.get(queue, mq.MQGMO_FAIL_IF_QUIESCING).reason == mq.MQRC_Q_MGR_QUIESCING
    assert program.put1(name, options=mq.MQPMO_FAIL_IF_QUIESCING).reason == mq.MQRC_Q_MGR_QUIESCING
    asking = mq.MQOO_OUTPUT | mq.MQOO_FAIL_IF_QUIESCING
    assert program.reason_of_open(name, asking) == mq.MQRC_Q_MGR_QUIESCING
    # Others go on, to finish what they are at.
    assert program.put(queue, b"3", mq.MQPMO_SYNCPOINT, Persistence=1).reason == 0
    assert program.get(queue, mq.MQGMO_SYNCPOINT).body == b"1"
    assert program.reason_of_open(name, mq.MQOO_OUTPUT) == 0
    with pytest.raises(MQError) as refused:
        own_site.program()
    assert refused.value.reason == mq.MQRC_CONNECTION_QUIESCING
    assert program.commit() == 0
    assert program.disconnect() == 0
    ending.result(60)
    own_site.crash()
    assert [each.body for each in own_site.program().browse(name)] == [b"2", b"3"]


def test_waits_end_when_quiescing_begins_for_those_who_asked(own_site: Any) -> None:
    asked, patient = own_site.program(), own_site.program()
    name = own_site.local()
    options = mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING
    told = own_site.start(asked.get, asked.open(name, BOTH), options, wait=mq.MQWI_UNLIMITED)
    served = own_site.start(patient.get, patient.open(name, BOTH), mq.MQGMO_WAIT, wait=mq.MQWI_UNLIMITED)
    own_site.until_waiting(name, 2)
    ending = quiescing(own_site)
    assert told.result(60).reason == mq.MQRC_Q_MGR_QUIESCING
    assert asked.put1(name, b"last").reason == 0
    assert served.result(60).body == b"last"
    asked.disconnect()
    patient.disconnect()
    ending.result(60)


def test_an_immediate_end_breaks_connections_and_backs_out(own_site: Any) -> None:
    program = own_site.program()
    name = own_site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"never", mq.MQPMO_SYNCPOINT, Persistence=1)
    other = own_site.program()
    waiting = own_site.start(other.get, other.open(name, BOTH), mq.MQGMO_WAIT, wait=mq.MQWI_UNLIMITED)
    own_site.until_waiting(name)
    own_site.manager.end("immediate")
    assert waiting.result(60).reason in (mq.MQRC_Q_MGR_STOPPING, mq.MQRC_CONNECTION_BROKEN)
    assert program.put(queue).reason == mq.MQRC_CONNECTION_BROKEN
    assert program.commit() == mq.MQRC_CONNECTION_BROKEN
    own_site.crash()
    assert own_site.program().browse(name) == []
