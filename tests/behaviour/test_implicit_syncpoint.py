"""ImplSyncOpenOutput: persistent puts outside syncpoint are units of work when several applications put to a queue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.behaviour.conftest import HERE, Site, new_site

from ostler.model import constants as mq

OUTPUT = mq.MQOO_OUTPUT
BOTH = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT


class Units:
    """Units of work begun since the last look. None of them counts as an MQCMIT."""

    def __init__(self, site: Any) -> None:
        self._engine = site.manager.engine
        self._seen = self._now()

        self._commits = self._engine.counters.commits

    def _now(self) -> int:
        return int(self._engine.next_unit_of_work)

    def since(self) -> int:
        assert self._engine.counters.commits == self._commits, "statistics count the commits of applications"
        before, self._seen = self._seen, self._now()
        return self._seen - before


@pytest.fixture
def two(site: Any) -> tuple[str, Any, Any]:
    """A queue, and two applications that have it open for output."""
    name = site.local()
    one, other = site.program(), site.program()
    one.queue = one.open(name, BOTH)
    other.queue = other.open(name, OUTPUT)
    return name, one, other


def test_a_persistent_put_of_one_of_two_applications_is_a_unit_of_work(site: Any, two: Any) -> None:
    name, one, other = two
    units = Units(site)
    for program in (one, other):
        assert program.put(program.queue, b"in a unit", Persistence=1).reason == 0
        assert units.since() == 1
    assert not site.manager.engine.units_of_work
    assert (site.depth(name), site.queue(name).uncommitted) == (2, 0)
    assert one.drain(one.queue) == [b"in a unit"] * 2


def test_the_commit_is_neither_in_the_statistics_nor_in_the_application_s_account(site: Any, two: Any) -> None:
    _, one, _ = two
    units = Units(site)
    one.put(one.queue, b"in a unit", Persistence=1)
    assert units.since() == 1
    assert one.connection.counters.commits == 0


def test_nonpersistent_puts_and_puts_under_syncpoint_get_none(site: Any, two: Any) -> None:
    name, one, _ = two
    units = Units(site)
    one.put(one.queue, b"quick", Persistence=0)
    assert units.since() == 0
    one.put(one.queue, b"by hand", mq.MQPMO_SYNCPOINT, Persistence=1)
    assert units.since() == 1  # the application's own
    assert site.queue(name).uncommitted == 1
    # A put outside syncpoint does not commit the unit of work that the application has under way.
    one.put(one.queue, b"at once", Persistence=1)
    assert units.since() == 1
    assert one.drain(one.queue) == [b"quick", b"at once"]
    one.back_out()
    assert site.depth(name) == 0


def test_applications_count_and_not_their_handles(site: Any, program: Any) -> None:
    name = site.local()
    first, second = program.open(name, OUTPUT), program.open(name, OUTPUT)
    units = Units(site)
    program.put(first, b"alone", Persistence=1)
    assert units.since() == 0
    other = site.program()
    theirs = other.open(name, OUTPUT)
    program.close(first)
    program.put(second, b"two of them", Persistence=1)
    assert units.since() == 1
    other.close(theirs)
    program.put(second, b"alone again", Persistence=1)
    assert units.since() == 0
    other.open(name, mq.MQOO_INPUT_SHARED)
    program.put(second, b"a getter does not count", Persistence=1)
    assert units.since() == 0
    program.vanish()
    assert site.queue(name).output_applications == 0


def test_mqput1_counts_as_an_application_that_has_the_queue_open(site: Any, program: Any) -> None:
    name = site.local()
    other = site.program()
    units = Units(site)
    program.put1(name, b"alone", Persistence=1)
    assert units.since() == 0
    program.open(name, OUTPUT)
    program.put1(name, b"the same application", Persistence=1)
    assert units.since() == 0
    other.put1(name, b"another one", Persistence=1)
    assert units.since() == 1
    assert site.queue(name).output_applications == 1


def test_a_waiting_get_is_answered(site: Any, two: Any) -> None:
    name, one, other = two
    waiting = site.start(one.get, one.queue, mq.MQGMO_WAIT | mq.MQGMO_NO_SYNCPOINT, wait=60_000)
    site.until_waiting(name)
    other.put(other.queue, b"for you", Persistence=1)
    assert waiting.result().body == b"for you"


def test_reports_of_arrival_belong_to_the_unit(site: Any, two: Any) -> None:
    _, one, _ = two
    reports = site.local()
    units = Units(site)
    one.put(one.queue, b"tell me", Persistence=1, Report=mq.MQRO_COA, ReplyToQ=reports)
    assert units.since() == 1
    assert site.depth(reports) == 1
    assert one.get(one.open(reports, BOTH)).md["Feedback"] == mq.MQFB_COA


def test_a_put_that_is_refused_begins_none(site: Any) -> None:
    name = site.local(MAXDEPTH=1)
    one, other = site.program(), site.program()
    other.open(name, OUTPUT)
    queue = one.open(name, OUTPUT)
    one.put(queue, b"fits", Persistence=1)
    units = Units(site)
    assert one.put(queue, b"does not", Persistence=1).reason == mq.MQRC_Q_FULL
    assert units.since() == 0


def test_groups_take_no_notice(site: Any, two: Any) -> None:
    name, one, _ = two
    units = Units(site)
    in_order = mq.MQPMO_NO_SYNCPOINT | mq.MQPMO_LOGICAL_ORDER
    assert one.put(one.queue, b"1", in_order, Persistence=1, MsgFlags=mq.MQMF_MSG_IN_GROUP).reason == 0
    assert one.put(one.queue, b"2", in_order, Persistence=1, MsgFlags=mq.MQMF_LAST_MSG_IN_GROUP).reason == 0
    assert units.since() == 2
    assert site.depth(name) == 2


@pytest.mark.within_process
def test_the_messages_survive_a_crash(own_site: Any) -> None:
    name = own_site.local()
    one, other = own_site.program(), own_site.program()
    other.open(name, OUTPUT)
    queue = one.open(name, OUTPUT)
    for number in range(3):
        one.put(queue, b"%d" % number, Persistence=1)
    own_site.crash()
    after = own_site.program()
    assert after.drain(after.open(name, BOTH)) == [b"0", b"1", b"2"]


def site_with(directory: Path, value: str) -> Iterator[Site]:
    made = new_site(directory, tuning=f"\nTuningParameters:\n   ImplSyncOpenOutput={value}\n")
    made.bind(HERE)
    yield made
    made.close()


@pytest.mark.parametrize(("value", "applications", "expected"), [("1", 1, 1), ("3", 2, 0), ("3", 3, 1), ("OFF", 4, 0)])
def test_the_value_in_qm_ini_decides(tmp_path: Path, value: str, applications: int, expected: int) -> None:
    for site in site_with(tmp_path, value):
        name = site.local()
        programs = [site.program() for _ in range(applications)]
        queues = [program.open(name, OUTPUT) for program in programs]
        units = Units(site)
        programs[0].put(queues[0], b"x", Persistence=1)
        assert units.since() == expected
