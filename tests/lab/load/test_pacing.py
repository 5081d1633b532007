"""The schedule of rated load, and the proof that it sees a stall of a broker: without sockets, in made-up time."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ostler.lab.load.client import LoadClient, Pace
from ostler.lab.load.pacing import NEVER_NS, NOT_DUE, SINCE_DUE, SINCE_PUT, Pacing, Schedule
from ostler.lab.load.spec import BARE, ONE_WAY, LoadSpec
from ostler.lab.load.timeline import MEASURED, Timeline
from ostler.lab.store.histogram import percentile_ns
from ostler.lab.store.rows import LatencyRow, OperationRow

SECOND_NS = 1_000_000_000
MILLISECOND_NS = 1_000_000
rates = st.floats(0.1, 50_000)
counts = st.integers(1, 60)


@given(st.integers(0, 1 << 60), rates, counts, st.floats(0, 0.99), st.integers(0, 100_000))
def test_requesters_are_due_evenly(begin_ns: int, rate: float, count: int, offset: float, turn: int) -> None:
    schedule = Schedule(begin_ns, NEVER_NS, rate, count, offset)
    due = [schedule.due_ns(each, turn) for each in range(count)] + [schedule.due_ns(0, turn + 1)]
    step_ns = SECOND_NS / rate / count
    assert due[0] >= begin_ns
    assert due == sorted(due)
    for early, late in pairwise(due):
        assert abs(late - early - step_ns) <= 2, "nobody is nearer to one neighbour than to the other"
    exact = begin_ns + SECOND_NS / rate * (turn + offset / count)
    assert abs(due[0] - exact) <= 1 + exact / 2**51, "errors do not add up"


@given(
    st.floats(0.1, 500), st.integers(1, 10), st.integers(1, 400), st.lists(st.integers(0, 50), min_size=1, max_size=50)
)
def test_every_turn_comes_once_and_in_order(rate: float, count: int, milliseconds: int, steps: list[int]) -> None:
    """Whatever the driver does meanwhile: who is begun was due, in the order of the times."""
    end_ns = milliseconds * MILLISECOND_NS
    schedule = Schedule(0, end_ns, rate, count)
    turns = [0] * count
    now_ns = 0
    for step in steps:
        now_ns += step * MILLISECOND_NS
        before = -1
        while (who := schedule.take_due(now_ns)) != NOT_DUE:
            due_ns = schedule.was_due_ns(who)
            assert due_ns == schedule.due_ns(who, turns[who])
            assert before <= due_ns <= now_ns
            assert due_ns < end_ns
            before = due_ns
            turns[who] += 1
            while (again_ns := schedule.finish(who, now_ns)) != NOT_DUE:
                assert again_ns == schedule.due_ns(who, turns[who]) == schedule.was_due_ns(who)
                assert again_ns <= now_ns
                assert again_ns < end_ns
                turns[who] += 1
        assert schedule.next_ns() > min(now_ns, end_ns - 1)
    for who, turn in enumerate(turns):
        assert schedule.due_ns(who, turn) > now_ns or schedule.due_ns(who, turn) >= end_ns, "nobody was left out"


@given(st.integers(1, 100), st.integers(1, 4), rates)
def test_drivers_that_share_a_load_are_due_between_one_another(count: int, parts: int, rate: float) -> None:
    whole = LoadSpec(BARE, ("", 1), range(count * parts), range(0), 1, 64, False, rate_per_second=rate)
    paces = [whole.part(number, parts).pacing() for number in range(parts)]
    assert [each.is_shared for each in paces] == [parts > 1] * parts
    schedules = [Schedule(0, NEVER_NS, each.rate_per_second, count, each.offset) for each in paces]
    due = sorted(schedule.due_ns(number, 0) for schedule in schedules for number in range(count))
    step_ns = SECOND_NS / rate / (count * parts)
    assert all(abs(ns - number * step_ns) <= 1 for number, ns in enumerate(due))


def test_a_plan_says_what_the_main_operation_is() -> None:
    plan = LoadSpec(BARE, ("", 1), range(1), range(1), 1, 64, False, kind=ONE_WAY)
    assert plan.pacing() == Pacing("put")


class Simulated(LoadClient):
    """A requester of a broker that is a function of time."""

    def begin(self, now_ns: int) -> bytes:
        self.began_ns = now_ns
        return b"x"


@given(st.floats(1, 500), st.integers(1, 10), st.integers(1, 400), st.integers(0, 300))
def test_what_has_not_finished_is_all_that_is_due_without_what_has(
    rate: float, count: int, milliseconds: int, finished: int
) -> None:
    end_ns = milliseconds * MILLISECOND_NS
    schedule = Schedule(0, end_ns, rate, count)
    every = schedule.unfinished_ns()
    assert all(0 <= due < end_ns for due in every)
    done = []
    while len(done) < finished and (slot := schedule.take_due(end_ns)) != NOT_DUE:
        due_ns = schedule.was_due_ns(slot)
        while due_ns != NOT_DUE and len(done) < finished:
            done.append(due_ns)
            due_ns = schedule.finish(slot, end_ns)
    assert sorted(done + schedule.unfinished_ns()) == sorted(every)


def simulated(rate_per_second: float, stall_ns: int) -> tuple[OperationRow, dict[int, int]]:
    """One requester for a second. The broker answers within 0.1 ms, but for a stall in the middle of the second."""
    pace = Pace(Pacing(rate_per_second=rate_per_second))
    timeline = Timeline(0, 0, SECOND_NS, SECOND_NS)
    recorder = pace.begin_timeline(timeline, 1)
    client = Simulated(pace, True)
    now_ns = 0
    while now_ns < SECOND_NS:
        schedule = pace.schedule
        if schedule is None:
            asked = client.begin(now_ns)
        else:
            now_ns = max(now_ns, schedule.next_ns())
            if schedule.take_due(now_ns) == NOT_DUE:
                break
            asked = client.begin(schedule.was_due_ns(0))
        pace.active = 1
        client.is_late = False
        while asked:
            if SECOND_NS // 2 <= now_ns < SECOND_NS // 2 + stall_ns:
                now_ns = SECOND_NS // 2 + stall_ns
            now_ns += MILLISECOND_NS // 10
            pace.goes_on = now_ns < SECOND_NS
            asked = client.replied(now_ns)
    rows = [row for row in recorder.phases[MEASURED].rows(0) if row.operation == pace.pacing.main_operation]
    operations = [row for row in rows if isinstance(row, OperationRow)]
    return operations[0], {row.bucket: row.count for row in rows if isinstance(row, LatencyRow)}


def test_a_stall_shows_in_the_percentiles_of_rated_load_and_hides_in_those_of_a_closed_loop() -> None:
    stall_ns = 300 * MILLISECOND_NS
    rated, rated_counts = simulated(1000, stall_ns)
    closed, closed_counts = simulated(0, stall_ns)
    assert rated.highest_ns is not None
    assert closed.highest_ns is not None
    assert rated.count == 1000
    assert 290 <= rated.late <= 340, "all that fell due during the stall, and while the rest was made up for"
    # Of a thousand, 300 waited for 300 ms down to nothing: a fifth for more than 100 ms, a twentieth for 250 ms.
    assert percentile_ns(rated_counts, 80, rated.highest_ns) > 100 * MILLISECOND_NS
    assert percentile_ns(rated_counts, 95, rated.highest_ns) > 240 * MILLISECOND_NS
    # The closed loop has one bad sample in some seven thousand.
    assert closed.highest_ns > stall_ns
    assert percentile_ns(closed_counts, 99.9, closed.highest_ns) < MILLISECOND_NS // 5
    assert closed.late == 0


def test_without_a_stall_nothing_is_late() -> None:
    rated, counts = simulated(1000, 0)
    assert (rated.count, rated.late) == (1000, 0)
    assert rated.highest_ns == rated.lowest_ns == MILLISECOND_NS // 10
    assert sum(counts.values()) == 1000


class TestSinceThePut:
    """A requester sends when it has its reply and a period has passed since its last put."""

    def test_a_quick_reply_is_followed_by_a_wait_of_the_rest_of_the_period(self) -> None:
        schedule = Schedule(0, NEVER_NS, 1.0, 1, since_put=True)
        assert schedule.take_due(0) == 0
        schedule.begun(0, 5 * MILLISECOND_NS)
        assert schedule.finish(0, 7 * MILLISECOND_NS) == NOT_DUE
        assert schedule.next_ns() == SECOND_NS + 5 * MILLISECOND_NS, "and not a period after the time it was due"

    def test_after_a_late_reply_the_next_request_is_due_at_once_and_only_one(self) -> None:
        schedule = Schedule(0, NEVER_NS, 1.0, 1, since_put=True)
        schedule.take_due(0)
        schedule.begun(0, 0)
        assert schedule.finish(0, 5 * SECOND_NS) == SECOND_NS
        schedule.begun(0, 5 * SECOND_NS)
        assert schedule.finish(0, 5 * SECOND_NS + 1) == NOT_DUE, "a fixed schedule would have four more to catch up"
        assert schedule.next_ns() == 6 * SECOND_NS

    def test_times_are_recorded_from_the_put_and_from_the_due_time(self) -> None:
        for since_put, beside in ((True, SINCE_DUE), (False, SINCE_PUT)):
            pace = Pace(Pacing(rate_per_second=1.0, since_put=since_put))
            assert pace.pacing.beside == beside
            recorder = pace.begin_timeline(Timeline(0, 0, NEVER_NS, NEVER_NS), 1)
            pace.record(10, 30, 100, False)
            totals = {
                name: sum(each.total_ns for each in recorder.phases[MEASURED].operation(name).seconds.values())
                for name in ("round trip", beside)
            }
            assert totals == ({"round trip": 70, SINCE_DUE: 90} if since_put else {"round trip": 90, SINCE_PUT: 70})

    def test_only_rated_operations_have_two_times(self) -> None:
        assert Pacing().beside == ""
        assert Pacing().beside_of("get") == ""
        assert Pacing(rate_per_second=1.0, is_timed_once=True).beside == ""

    def test_each_operation_has_a_name_of_its_own_for_the_other_time(self) -> None:
        rated = Pacing(main_operation="put", rate_per_second=1.0)
        assert (rated.beside, rated.beside_of("get")) == ("put since call", "get since put")
        paced = Pacing(main_operation="put", rate_per_second=1.0, since_put=True)
        assert (paced.beside, paced.beside_of("get")) == ("put since due", "get since due")
