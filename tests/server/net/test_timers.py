"""The timer wheel beside a list that is looked through from end to end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ostler.server.net.timers import Timer, TimerWheel

GRAIN_MS = 16
HOUR_MS = 3_600_000
# As far as the wheel can see, and beyond.
FAR_MS = 6 * HOUR_MS


class Note(Timer):
    def __init__(self, name: int) -> None:
        super().__init__()
        self.name = name


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 7), st.one_of(st.integers(-50, 6000), st.integers(0, FAR_MS))),
        st.tuples(st.just("remove"), st.integers(0, 7), st.just(0)),
        st.tuples(st.just("pass"), st.integers(1, 8), st.one_of(st.integers(0, 5000), st.integers(0, HOUR_MS))),
    ),
    max_size=60,
)


@given(st.integers(0, 1 << 40), STEPS)
def test_the_wheel_and_a_list_agree(began_ms: int, steps: list[tuple[str, int, int]]) -> None:
    wheel = TimerWheel(began_ms)
    timers = [Note(name) for name in range(8)]
    due: dict[int, int] = {}
    now_ms = began_ms
    for what, which, amount in steps:
        if what == "add":
            wheel.add(timers[which], now_ms + amount)
            due[which] = now_ms + max(amount, 0)  # one that is late already is served with the next
        elif what == "remove":
            wheel.remove(timers[which])
            due.pop(which, None)
        else:
            now_ms += amount
            for timer in wheel.due(now_ms, which):
                assert isinstance(timer, Note)
                assert due.pop(timer.name) <= now_ms, "before its time"
            late = [at for at in due.values() if at <= now_ms - GRAIN_MS]
            if late:
                assert len(wheel.due(now_ms, 0)) == 0
                for timer in wheel.due(now_ms, 100):
                    assert isinstance(timer, Note)
                    del due[timer.name]
            assert all(at > now_ms - GRAIN_MS for at in due.values()), "too late"
        assert wheel.count() == len(due)
        asleep = int(wheel.sleep_ms(now_ms, HOUR_MS))
        assert 0 <= asleep <= HOUR_MS
        if due:
            # Whoever sleeps this long wakes in time for the first.
            assert now_ms + asleep <= max(min(due.values()), now_ms) + GRAIN_MS


@given(st.lists(st.integers(0, 20_000), min_size=1, max_size=40))
def test_sleeping_as_told_serves_all_in_time(delays: list[int]) -> None:
    wheel = TimerWheel(1_000)
    for name, delay in enumerate(delays):
        wheel.add(Note(name), 1_000 + delay)
    now_ms = 1_000
    fired: dict[int, int] = {}
    for _ in range(2_000):
        if wheel.count() == 0:
            break
        now_ms += int(wheel.sleep_ms(now_ms, 1_000))
        for timer in wheel.due(now_ms, 100):
            assert isinstance(timer, Note)
            fired[timer.name] = now_ms - 1_000
    assert sorted(fired) == list(range(len(delays)))
    assert all(delays[name] <= at <= delays[name] + GRAIN_MS for name, at in fired.items())


def test_nothing_to_do_is_slept_through() -> None:
    wheel = TimerWheel(0)
    assert wheel.sleep_ms(0, 1_000) == 1_000
    timer = Note(1)
    wheel.add(timer, 100)
    assert 100 <= wheel.sleep_ms(0, 1_000) <= 100 + GRAIN_MS
    wheel.remove(timer)
    wheel.remove(timer)
    assert wheel.sleep_ms(0, 1_000) == 1_000
    assert wheel.count() == 0


def test_a_timer_that_was_far_away_comes_before_one_that_is_near() -> None:
    wheel = TimerWheel(0)
    wheel.add(Note(1), 4_300)
    assert wheel.due(3_000, 10) == []
    wheel.add(Note(2), 6_500)
    now_ms = 3_000
    for _ in range(10):
        now_ms += int(wheel.sleep_ms(now_ms, HOUR_MS))
        if wheel.due(now_ms, 10):
            break
    assert 4_300 <= now_ms <= 4_300 + GRAIN_MS


def test_a_timer_that_adds_itself_again_while_others_are_due() -> None:
    wheel = TimerWheel(0)
    timers = [Note(name) for name in range(3)]
    for timer in timers:
        wheel.add(timer, 10)
    now_ms = 32
    first = wheel.due(now_ms, 1)
    wheel.add(first[0], now_ms)
    rest = wheel.due(now_ms, 10)
    assert len(rest) == 2
    assert first[0] not in rest
    assert wheel.due(now_ms + GRAIN_MS, 10) == first
