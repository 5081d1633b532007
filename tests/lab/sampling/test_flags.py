"""Noise by a clock that is told what happens, and flags from samples of windows good and bad."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.lab.sampling.clock import ManualClock, SystemClock
from ostler.lab.sampling.flags import DOUBT, DRIVER, LIMITS, NOTE, Flag, find_flags
from ostler.lab.sampling.noise import PIECE_NS, Noise, NoiseMeter
from ostler.lab.sampling.process_sampler import ENDED
from ostler.lab.sampling.samples import Event, Interval, MachineSample, ProcessSample
from ostler.lab.sampling.window import SampleWindow

SECOND_US = 1_000_000


class Core:
    """Work that takes two nanoseconds a round, and more where it is disturbed."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.slower = 1
        self.taken_ns = [0]
        self.pieces = 0

    def work(self, rounds: int) -> None:
        used = 2 * rounds * self.slower
        self.clock.advance(used + self.taken_ns[self.pieces % len(self.taken_ns)], used)
        self.pieces += 1


def test_work_is_calibrated_to_a_millisecond_whatever_the_core() -> None:
    core = Core()
    meter = NoiseMeter.calibrated(core.clock, core.work)
    assert meter.rounds == PIECE_NS // 2
    quiet = meter.measure("before")
    assert (quiet.median_ns, quiet.spread_percent, quiet.waited_percent) == (PIECE_NS, 0.0, 0.0)
    assert meter.percent == 0.0


def test_a_disturbed_calibration_takes_the_quickest() -> None:
    core = Core()
    core.taken_ns = [0, 700_000, 90_000_000]
    assert NoiseMeter.calibrated(core.clock, core.work).rounds == PIECE_NS // 2


def test_a_core_that_is_taken_away_shows_as_waiting() -> None:
    core = Core()
    meter = NoiseMeter.calibrated(core.clock, core.work)
    core.taken_ns = [0, 0, 0, 4 * PIECE_NS]
    found = meter.measure("between", 100)
    assert found.waited_percent == pytest.approx(50.0)
    assert (found.median_ns, found.slowest_ns) == (PIECE_NS, 5 * PIECE_NS)


def test_a_core_that_grows_slower_shows_as_drift_and_not_as_waiting() -> None:
    core = Core()
    meter = NoiseMeter.calibrated(core.clock, core.work)
    meter.measure("before")
    core.slower = 2
    assert meter.measure("after").waited_percent == 0.0
    assert meter.drift_percent == pytest.approx(100.0)
    assert meter.percent == pytest.approx(100.0)
    shown = meter.as_json()
    assert (shown["percent"], shown["rounds"]) == (100.0, PIECE_NS // 2)


@given(st.lists(st.integers(0, 10 * PIECE_NS), min_size=1, max_size=20))
def test_percentages_are_sound_whatever_disturbs(taken_ns: list[int]) -> None:
    core = Core()
    meter = NoiseMeter.calibrated(core.clock, core.work)
    core.taken_ns = taken_ns
    found = meter.measure("now", len(taken_ns))
    assert 0 <= found.waited_percent < 100
    assert found.fastest_ns <= found.median_ns <= found.slowest_ns
    assert found.spread_percent >= 0


def test_the_real_clock_can_be_calibrated() -> None:
    meter = NoiseMeter.calibrated(SystemClock(), piece_ns=20_000)
    found = meter.measure("now", 5)
    assert meter.rounds > 1
    assert 0 < found.fastest_ns <= found.slowest_ns


def process(second: int, cpu_us: int, role: str = DRIVER, pid: int = 10, waited_us: int = 0) -> ProcessSample:
    interval = Interval("measured", 0, second * 10**9, (second + 1) * 10**9)
    return ProcessSample(interval, role, pid, "python", cpu_us, 0, waited_us, 0, 0, 1 << 20, 1, 0, 0, 0, 0)


def machine(second: int, busy_us: int = 0, steal_us: int = 0) -> MachineSample:
    interval = Interval("measured", 0, second * 10**9, (second + 1) * 10**9)
    return MachineSample(
        interval, cores=2, user_us=busy_us, nice_us=0, system_us=0, idle_us=2 * SECOND_US - busy_us - steal_us,
        iowait_us=0, irq_us=0, softirq_us=0, steal_us=steal_us, busiest_core_percent=0.0, load=0.0, running=1,
        context_switches=0, loopback_bytes=0, loopback_packets=0, network_received_bytes=0, network_sent_bytes=0,
        dropped_packets=0, disk="vda", disk_reads=0, disk_read_bytes=0, disk_writes=0, disk_written_bytes=0,
        disk_flushes=0, disk_busy_us=0, disk_free_bytes=50 << 30, memory_available_bytes=8 << 30, dirty_bytes=0,
        swapped_pages=0,
    )  # fmt: skip


def names(flags: list[Flag]) -> list[str]:
    return [each.name for each in flags]


def test_a_window_as_it_should_be_has_no_flags() -> None:
    processes = [process(at, 800_000) for at in range(10)] + [process(at, 700_000, "broker", 20) for at in range(10)]
    machines = [machine(at, 1_550_000, 20_000) for at in range(10)]
    assert find_flags(processes, machines) == []


def test_nothing_sampled_is_nothing_to_say() -> None:
    assert find_flags([], []) == []


@pytest.mark.parametrize(("full_seconds", "flagged"), [(0, False), (1, False), (2, True), (10, True)])
def test_a_driver_at_its_limit_is_flagged(full_seconds: int, flagged: bool) -> None:
    used = [980_000] * full_seconds + [400_000] * (10 - full_seconds)
    found = find_flags([process(at, each) for at, each in enumerate(used)], [])
    assert names(found) == (["driver-saturated"] if flagged else [])
    if flagged:
        assert (found[0].severity, found[0].role, found[0].pid) == (DOUBT, DRIVER, 10)
        assert found[0].value == pytest.approx(sum(used) / 100_000)


def test_each_driver_is_judged_by_itself() -> None:
    processes = [process(at, 950_000, pid=11) for at in range(5)] + [process(at, 100_000, pid=12) for at in range(5)]
    assert [each.pid for each in find_flags(processes, [])] == [11]


def test_a_broker_at_its_limit_is_what_is_wanted() -> None:
    assert find_flags([process(at, 1_990_000, "broker") for at in range(5)], []) == []


def test_a_driver_without_a_core_is_flagged() -> None:
    found = find_flags([process(at, 500_000, waited_us=300_000) for at in range(5)], [])
    assert names(found) == ["driver-waited"]
    assert found[0].value == pytest.approx(30.0)


@pytest.mark.parametrize(("steal_us", "flagged"), [([0] * 10, False), ([39_000] * 10, False), ([41_000] * 10, True)])
def test_steal_beyond_the_limit_is_flagged(steal_us: list[int], flagged: bool) -> None:
    found = find_flags([], [machine(at, 0, each) for at, each in enumerate(steal_us)])
    assert names(found) == (["steal"] if flagged else [])


def test_steal_in_a_few_seconds_is_flagged_though_the_whole_is_within_limits() -> None:
    found = find_flags([], [machine(at, 0, 60_000 if at < 2 else 0) for at in range(10)])
    assert names(found) == ["steal"]
    assert found[0].value < LIMITS.steal_percent


def test_others_are_what_the_machine_did_beyond_the_run() -> None:
    processes = [process(0, 500_000), process(0, 400_000, "broker", 20)]
    assert names(find_flags(processes, [machine(0, 1_190_000)])) == []
    assert names(find_flags(processes, [machine(0, 1_210_000)])) == ["others-busy"]


def test_a_full_machine_is_worth_a_note() -> None:
    processes = [process(0, 800_000), process(0, 1_150_000, "broker", 20)]
    (found,) = find_flags(processes, [machine(0, 1_950_000)])
    assert (found.name, found.severity) == ("machine-full", NOTE)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"swapped_pages": 1}, "swapping"),
        ({"memory_available_bytes": 1 << 20}, "memory-low"),
        ({"disk_free_bytes": 1 << 20}, "disk-low"),
        ({"dropped_packets": 1}, "packets-dropped"),
        ({"interval": Interval("measured", 0, 0, 3 * 10**9)}, "observer-late"),
    ],
)
def test_what_runs_short_is_flagged(change: dict[str, object], name: str) -> None:
    changed: MachineSample = replace(machine(1), **change)  # type: ignore[arg-type]
    assert names(find_flags([], [machine(0), changed, machine(2)])) == [name]


def test_a_process_that_ended_is_flagged() -> None:
    event = Event(5, "measured", 0, ENDED, "broker", 20, "ostler")
    (found,) = find_flags([], [], [event, replace(event, name="process began")])
    assert (found.name, found.role, found.pid) == ("process-ended", "broker", 20)
    assert found.as_json()["text"] == "the broker process 20 (ostler) ended"


def noise(moment: str, median_ns: float, spread: float = 1.0) -> Noise:
    return Noise(moment, 100, int(median_ns), median_ns, int(median_ns), spread, 0.0)


def test_noise_is_flagged_by_drift_and_by_spread() -> None:
    steady = [noise("before", 1e6), noise("after", 1.1e6)]
    assert find_flags([], [], noises=steady) == []
    assert names(find_flags([], [], noises=[*steady, noise("last", 1.2e6)])) == ["noise"]
    assert names(find_flags([], [], noises=[noise("before", 1e6, 20.0)])) == ["noise"]


def test_a_window_sums_up_by_role() -> None:
    window = SampleWindow()
    assert (window.by_role(), window.core_percent_now(), window.flags()) == ({}, {}, [])
    assert (window.seconds, window.steal_percent, window.busy_percent) == (0.0, 0.0, 0.0)
    for at in range(3):
        window.process(process(at, 300_000, pid=10))
        window.process(process(at, 400_000 + at, pid=11))
        window.process(process(at, 900_000, "broker", 20))
        window.machine(machine(at, 1_600_000, 20_000))
    found = window.by_role()
    assert list(found) == ["broker", "driver"]
    assert (found["driver"].processes, found["driver"].cpu_us) == (2, 2_100_003)
    assert found["driver"].resident_bytes_most == 2 << 20, "of both at once"
    assert window.core_percent_now() == pytest.approx({"driver": 70.0002, "broker": 90.0})
    assert (window.seconds, window.steal_percent, window.busy_percent) == pytest.approx((3.0, 1.0, 80.0))
    assert window.flags() == []
    window.event(Event(5, "measured", 0, ENDED, "broker", 20, "ostler"))
    assert names(window.flags()) == ["process-ended"]
