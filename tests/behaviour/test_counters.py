"""Counters agree exactly with what was done: for each queue, each connection and the queue manager."""

from __future__ import annotations

import random
from typing import Any

from ostler.model import constants as mq
from ostler.observe.statistics import between

BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE
VERBS = (
    "puts",
    "put_bytes",
    "puts_persistent",
    "gets",
    "get_bytes",
    "gets_persistent",
    "browses",
    "browse_bytes",
    "gets_empty",
)


def some(counts: dict[str, int], names: tuple[str, ...] = VERBS) -> dict[str, int]:
    return {name: counts[name] for name in names}


def test_a_random_day_adds_up(site: Any) -> None:
    chance = random.Random(20240506)
    programs = [site.program() for _ in range(3)]
    names = [site.local(MAXDEPTH=100000) for _ in range(4)]
    handles = {(program, name): program.open(name, BOTH) for program in programs for name in names}
    before = site.manager.statistics()
    expected = {key: dict.fromkeys(VERBS, 0) for key in [*names, *[program.hconn for program in programs]]}

    def count(program: Any, name: str, kind: str, size: int, persistent: bool) -> None:
        for key in (name, program.hconn):
            expected[key][kind] += 1
            if kind != "gets_empty":
                expected[key][f"{kind[:-1]}_bytes"] += size
                if persistent and kind != "browses":
                    expected[key][f"{kind}_persistent"] += 1

    commits = dict.fromkeys([program.hconn for program in programs], 0)
    for _ in range(2000):
        program, name = chance.choice(programs), chance.choice(names)
        handle = handles[program, name]
        action = chance.random()
        if action < 0.4:
            size, persistence = chance.randrange(200), chance.randrange(10) // 9
            options = chance.choice([mq.MQPMO_SYNCPOINT, mq.MQPMO_NO_SYNCPOINT])
            assert program.put(handle, bytes(size), options, Persistence=persistence).reason == 0
            count(program, name, "puts", size, bool(persistence))
        elif action < 0.8:
            options = chance.choice([mq.MQGMO_SYNCPOINT, mq.MQGMO_NO_SYNCPOINT])
            answer = program.get(handle, options)
            kind = "gets" if answer.reason == 0 else "gets_empty"
            count(program, name, kind, len(answer.body), answer.md["Persistence"] == 1)
        elif action < 0.95:
            answer = program.get(handle, mq.MQGMO_BROWSE_FIRST)
            kind = "browses" if answer.reason == 0 else "gets_empty"
            count(program, name, kind, len(answer.body), False)
        else:
            program.commit()
            commits[program.hconn] += 1
    for program in programs:
        program.commit()
        commits[program.hconn] += 1
    done = between(before, site.manager.statistics())
    for name in names:
        assert some(done.queues[name]) == expected[name]
        depth = expected[name]["puts"] - expected[name]["gets"]
        assert done.queues[name]["depth"] == depth == site.depth(name)
    for program in programs:
        own = done.connections[program.connection.number]
        assert some(own) == expected[program.hconn]
        assert own["commits"] == commits[program.hconn]
    total = {verb: sum(expected[program.hconn][verb] for program in programs) for verb in VERBS}
    assert some(done.queue_manager) == total
    assert done.queue_manager["commits"] == sum(commits.values())


def test_backing_out(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    before = site.manager.statistics()
    for _ in range(3):
        program.put(queue, b"x")
    for _ in range(2):
        program.get(queue, mq.MQGMO_SYNCPOINT)
    program.put(queue, b"x", mq.MQPMO_SYNCPOINT)
    program.back_out()
    done = between(before, site.manager.statistics())
    assert done.queues[name]["backed_out"] == 2
    assert (done.queue_manager["backouts"], done.queue_manager["backed_out_messages"]) == (1, 2)
    own = done.connections[program.connection.number]
    assert (own["puts"], own["gets"], own["backouts"], own["commits"]) == (4, 2, 1, 0)
    assert site.depth(name) == 3


def test_opens_closes_inquiries_and_waits(site: Any, program: Any) -> None:
    name = site.local()
    before = site.manager.statistics()
    handles = [program.open(name, BOTH) for _ in range(3)]
    program.reason_of_open("NO.SUCH.QUEUE", BOTH)
    program.close(handles.pop())
    program.get(handles[0], mq.MQGMO_WAIT, wait=1)
    program.put1(name)
    done = between(before, site.manager.statistics())
    own = done.connections[program.connection.number]
    # MQPUT1 opens and closes too.
    assert (own["opens"], own["closes"], own["waits"], own["gets_empty"]) == (4, 2, 1, 1)
    assert done.queues[name]["waits"] == 1


def test_failures_are_counted_apart(site: Any, program: Any) -> None:
    name = site.local(MAXDEPTH=1, MAXMSGL=10)
    queue = program.open(name, BOTH)
    before = site.manager.statistics()
    program.put(queue, b"x" * 11)
    program.put(queue, b"x" * 5)
    program.put(queue, b"x")
    done = between(before, site.manager.statistics())
    own = done.connections[program.connection.number]
    assert (own["puts"], own["put_bytes"], own["puts_failed"]) == (1, 5, 2)
    assert (done.queues[name]["puts"], done.queues[name]["put_bytes"]) == (1, 5)


def test_refusals_of_every_kind_are_failures(site: Any, program: Any) -> None:
    name = site.local(MAXDEPTH=5)
    queue = program.open(name, BOTH)
    before = site.manager.statistics()
    order = mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_LOGICAL_ORDER
    program.put(queue, b"1", order, MsgFlags=mq.MQMF_MSG_IN_GROUP)
    assert program.put(queue, b"alone", order).reason == mq.MQRC_INCOMPLETE_GROUP
    assert program.put1(name, b"", order).reason == mq.MQRC_OPTIONS_ERROR
    assert program.put1("NO.SUCH.QUEUE").reason == mq.MQRC_UNKNOWN_OBJECT_NAME
    done = between(before, site.manager.statistics())
    own = done.connections[program.connection.number]
    assert (own["puts"], own["puts_failed"], own["put1s"], own["put1s_failed"]) == (1, 3, 0, 2)
    assert (done.queues[name]["puts"], done.queues[name]["puts_failed"]) == (1, 1)


def test_failures_of_many_threads_are_all_counted(site: Any) -> None:
    name = site.local(MAXDEPTH=0)
    programs = [site.program() for _ in range(4)]
    before = site.manager.statistics()

    def fail(program: Any) -> None:
        queue = program.open(name, BOTH)
        for _ in range(100):
            assert program.put(queue, b"x").reason == mq.MQRC_Q_FULL
            assert program.put1(name).reason == mq.MQRC_Q_FULL

    for each in [site.pool.submit(fail, program) for program in programs]:
        each.result(60)
    done = between(before, site.manager.statistics())
    assert (done.queue_manager["puts_failed"], done.queue_manager["put1s_failed"]) == (800, 400)
    assert done.queues[name]["puts_failed"] == 400


def test_a_message_put_and_got_in_segments_is_one_call_each(site: Any, program: Any) -> None:
    name = site.local(MAXMSGL=1000)
    queue = program.open(name, BOTH)
    before = site.manager.statistics()
    program.put(queue, b"x" * 2500, MsgFlags=mq.MQMF_SEGMENTATION_ALLOWED)
    assert program.get(queue, mq.MQGMO_COMPLETE_MSG).length == 2500
    done = between(before, site.manager.statistics())
    calls = ("puts", "put_bytes", "gets", "get_bytes")
    assert some(done.connections[program.connection.number], calls) == dict(zip(calls, (1, 2500, 1, 2500), strict=True))
    assert some(done.queues[name], calls) == dict(zip(calls, (3, 2500, 3, 2500), strict=True))


def test_a_truncated_get_counts_the_message_and_a_refused_one_does_not(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    program.put(queue, b"x" * 100)
    before = site.manager.statistics()
    program.get(queue, size=10)
    assert between(before, site.manager.statistics()).queues[name]["gets"] == 0
    program.get(queue, mq.MQGMO_ACCEPT_TRUNCATED_MSG, 10)
    done = between(before, site.manager.statistics())
    assert (done.queues[name]["gets"], done.queues[name]["get_bytes"]) == (1, 100)


def test_extremes(site: Any, program: Any) -> None:
    name = site.local()
    queue = program.open(name, BOTH)
    for _ in range(7):
        program.put(queue, b"x")
    for _ in range(5):
        program.get(queue)
    counts = site.manager.statistics().queues[name]
    assert (counts["depth_high"], counts["depth"]) == (7, 2)
    assert counts["last_put_ms"] <= counts["last_get_ms"]
    assert counts["age_max_ms"] <= counts["age_total_ms"] or counts["age_max_ms"] == 0


def test_ages_make_sense_whatever_the_descriptor_says(own_site: Any) -> None:
    """After a restart only the descriptor knows when a message was put, and programs may set that."""
    program = own_site.program()
    name = own_site.local()
    queue = program.open(name, mq.MQOO_OUTPUT | mq.MQOO_SET_ALL_CONTEXT)
    program.put(queue, b"", mq.MQPMO_NO_CONTEXT, Persistence=1)
    for date, clock in (("abcdefgh", "????????"), ("99991231", "23595999"), ("20249999", "99999999")):
        program.put(queue, b"", mq.MQPMO_SET_ALL_CONTEXT, Persistence=1, PutDate=date, PutTime=clock)
    own_site.crash()
    program = own_site.program()
    assert len(program.drain(program.open(name, mq.MQOO_INPUT_SHARED))) == 4
    counts = own_site.manager.statistics().queues[name]
    assert 0 <= counts["age_max_ms"] <= counts["age_total_ms"]
    assert counts["age_max_ms"] < 10 * 366 * 86_400_000


def test_log_counters_grow_with_persistent_work_only(site: Any, program: Any) -> None:
    queue = program.open(site.local(), BOTH)
    before = site.manager.statistics()
    for _ in range(5):
        program.put(queue, b"x" * 100)
    assert between(before, site.manager.statistics()).log["records"] == 0
    for _ in range(5):
        program.put(queue, b"x" * 100, Persistence=1)
    done = between(before, site.manager.statistics())
    assert done.log["records"] == 5
    assert done.log["logical_bytes"] > 5 * 464
    assert done.log["forces"] == 5
