"""Samplers of processes and the machine over a kernel made of files, and once over the real one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ostler.lab.sampling.clock import ManualClock, SystemClock
from ostler.lab.sampling.machine_sampler import MachineSampler
from ostler.lab.sampling.observer import PHASE_BEGAN, Observer, ObservingFailed, observing
from ostler.lab.sampling.process_sampler import BEGAN, ENDED, ProcessSampler, WatchedProcess
from ostler.lab.sampling.samples import Collected, Event, Interval, MachineSample, Several

TICK_US = 10_000
DEVICE = os.makedev(254, 0)
SECOND_NS = 1_000_000_000


class Kernel:
    """A /proc of files, whose counters are set as a test needs them."""

    def __init__(self, proc: Path) -> None:
        self.proc = proc
        self.clocks: dict[int, int] = {}
        (proc / "net").mkdir(parents=True)
        self.machine()

    def process(
        self,
        pid: int,
        user: int = 0,
        system: int = 0,
        *,
        name: str = "driver",
        start: int = 1000,
        pages: int = 10,
        state: str = "S",
        children: str = "",
        written: int = 0,
        threads: dict[int, tuple[int, int, int]] | None = None,
    ) -> None:
        place = self.proc / str(pid)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        counts = {pid: (0, 0, 0)} if threads is None else threads
        stat = self._stat(pid, name, state, user, system, len(counts), start, pages)
        (place / "stat").write_text(stat)
        (place / "io").write_text(f"syscr: 1\nsyscw: 2\nread_bytes: 0\nwrite_bytes: {written}\n")
        for thread, (voluntary, involuntary, waited) in counts.items():
            own = place / "task" / str(thread)
            own.mkdir(parents=True)
            own_name = name if thread == pid else f"{name}-{thread}"
            (own / "stat").write_text(self._stat(thread, own_name, state, user, system, 1, start, pages))
            (own / "schedstat").write_text(f"{self.clocks.get(thread, 0)} {waited} 0\n")
            (own / "children").write_text(children if thread == pid else "")
            (own / "status").write_text(
                f"voluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
            )

    def _stat(
        self, pid: int, name: str, state: str, user: int, system: int, threads: int, start: int, pages: int
    ) -> str:
        return f"{pid} ({name}) {state} 1 {'0 ' * 9}{user} {system} 0 0 20 0 {threads} 0 {start} 4096 {pages} 0\n"

    def gone(self, pid: int) -> None:
        shutil.rmtree(self.proc / str(pid))

    def machine(self, user: int = 0, idle: int = 0, steal: int = 0, sent: int = 0, writes: int = 0) -> None:
        half, rest = idle // 2, idle - idle // 2
        (self.proc / "stat").write_text(
            f"cpu  {user} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 {user} 0 0 {half} 0 0 0 {steal} 0 0\n"
            f"cpu1 0 0 0 {rest} 0 0 0 0 0 0\nctxt {user}\nprocs_running 2\n"
        )
        (self.proc / "net/dev").write_text(f"\n\n lo: {sent} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0\n")
        (self.proc / "diskstats").write_text(f" 254 0 vda 0 0 0 0 {writes} 0 {writes * 8} 0 0 {writes} 0\n")
        (self.proc / "meminfo").write_text(
            "MemTotal: 9 kB\nMemAvailable: 8 kB\nDirty: 7 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n"
        )
        (self.proc / "vmstat").write_text("pswpin 0\npswpout 0\n")
        (self.proc / "loadavg").write_text("1.50 1.00 0.50 2/100 4242\n")

    def processes(self) -> ProcessSampler:
        """A sampler that sees no processor clocks but those in `clocks`."""

        def clock_ns(pid: int) -> int:
            if pid not in self.clocks:
                raise OSError("no such clock")
            return self.clocks[pid]

        return ProcessSampler(self.proc, TICK_US, 4096, clock_ns)

    def machines(self) -> MachineSampler:
        return MachineSampler(self.proc, self.proc, TICK_US, DEVICE)


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path / "proc")


def second(number: int) -> Interval:
    return Interval("measured", 0, number * SECOND_NS, (number + 1) * SECOND_NS)


def test_only_what_is_used_while_watched_is_counted(kernel: Kernel) -> None:
    kernel.process(10, 500, 300, written=4096)
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("driver", 10))
    kernel.process(10, 550, 340, written=4196, pages=20)
    (sample,) = sampler.sample(second(0)).processes
    assert (sample.role, sample.pid, sample.name) == ("driver", 10, "driver")
    assert (sample.user_us, sample.system_us) == (500_000, 400_000)
    assert sample.core_percent == pytest.approx(90.0)
    assert (sample.written_bytes, sample.resident_bytes) == (100, 81_920)
    (idle,) = sampler.sample(second(1)).processes
    assert (idle.cpu_us, idle.written_bytes) == (0, 0)


def test_processor_clocks_show_less_than_a_tick_and_ticks_divide_it(kernel: Kernel) -> None:
    kernel.process(10, 30, 10)
    kernel.clocks[10] = 400_000_000
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("driver", 10))
    kernel.clocks[10] = 402_000_000
    (sample,) = sampler.sample(second(0)).processes
    assert (sample.user_us, sample.system_us) == (1_500, 500), "as all of its time until now"
    kernel.process(10, 32, 12)
    kernel.clocks[10] = 445_000_000
    (sample,) = sampler.sample(second(1)).processes
    assert (sample.user_us, sample.system_us) == (21_500, 21_500)
    del kernel.clocks[10]
    kernel.process(10, 35, 12)
    (sample,) = sampler.sample(second(2)).processes
    assert (sample.user_us, sample.system_us) == (30_000, 0), "ticks, where there is no clock"


def test_children_have_the_role_of_their_parent_unless_they_have_their_own(kernel: Kernel) -> None:
    kernel.process(10, children="11 12")
    kernel.process(11, 7, children="13")
    kernel.process(12, 7)
    kernel.process(13, 7)
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("lab", 10))
    sampler.watch(WatchedProcess("driver", 12))
    look = sampler.sample(second(0))
    assert {(each.role, each.pid) for each in look.processes} == {
        ("lab", 10), ("lab", 11), ("driver", 12), ("lab", 13),
    }  # fmt: skip
    assert look.events == [], "they were there when watching began"
    assert {each.cpu_us for each in look.processes} == {0}, "nor are they charged with what they did before"


def test_children_are_left_out_when_they_are_not_wanted(kernel: Kernel) -> None:
    kernel.process(10, children="11")
    kernel.process(11)
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("lab", 10, with_children=False))
    assert [each.pid for each in sampler.sample(second(0)).processes] == [10]


def test_a_child_that_comes_later_is_charged_with_all_it_did(kernel: Kernel) -> None:
    kernel.process(10)
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("broker", 10))
    kernel.process(10, children="11")
    kernel.process(11, 3, 2, name="child")
    look = sampler.sample(second(0))
    assert {each.pid: each.cpu_us for each in look.processes} == {10: 0, 11: 50_000}
    assert look.events == [Event(SECOND_NS, "measured", 0, BEGAN, "broker", 11, "child")]


@pytest.mark.parametrize("how", ["vanished", "zombie"])
def test_a_process_that_ends_is_told_once(kernel: Kernel, how: str) -> None:
    kernel.process(10, 5)
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("queue manager", 10))
    sampler.sample(second(0))
    if how == "vanished":
        kernel.gone(10)
    else:
        kernel.process(10, 9, state="Z")
    look = sampler.sample(second(1))
    assert look.events == [Event(2 * SECOND_NS, "measured", 1, ENDED, "queue manager", 10, "driver")]
    # A zombie still tells what it used in the end.
    assert [each.cpu_us for each in look.processes] == ([] if how == "vanished" else [40_000])
    after = sampler.sample(second(2))
    assert (after.events, after.processes) == ([], [])


def test_a_dead_child_that_nobody_waits_for_is_told_once(kernel: Kernel) -> None:
    kernel.process(10, children="11")
    kernel.process(11, 5)
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("lab", 10))
    kernel.process(11, 8, state="Z")
    look = sampler.sample(second(0))
    assert {each.pid: each.cpu_us for each in look.processes} == {10: 0, 11: 30_000}
    assert [(each.name, each.pid) for each in look.events] == [(ENDED, 11)]
    after = sampler.sample(second(1))
    assert [each.pid for each in after.processes] == [10]
    assert after.events == []


def test_a_number_that_another_process_got_is_not_taken_for_the_old_one(kernel: Kernel) -> None:
    kernel.process(10, 900)
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("driver", 10))
    kernel.process(10, 3, start=2000)
    look = sampler.sample(second(0))
    assert look.processes == []
    assert [each.name for each in look.events] == [ENDED]


def test_a_forgotten_process_may_end_in_silence(kernel: Kernel) -> None:
    kernel.process(10, children="11")
    kernel.process(11)
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("broker", 10))
    sampler.forget(10)
    kernel.gone(10)
    kernel.gone(11)
    look = sampler.sample(second(0))
    assert (look.processes, look.events) == ([], [])


def test_switches_and_waits_are_those_of_all_threads(kernel: Kernel) -> None:
    kernel.process(10, threads={10: (5, 1, 1000), 20: (7, 2, 9000)})
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("broker", 10))
    # Thread 20 went on, 30 is new, and 10's number was given to another thread.
    kernel.process(10, threads={10: (2, 1, 500), 20: (10, 2, 12_000), 30: (1, 1, 4000)})
    (sample,) = sampler.sample(second(0)).processes
    assert (sample.voluntary_switches, sample.involuntary_switches) == (2 + 3 + 1, 0 + 0 + 1)
    assert sample.core_wait_us == (500 + 3000 + 4000) // 1000
    assert sample.threads == 3


def test_threads_are_told_apart_when_that_is_asked(kernel: Kernel) -> None:
    kernel.process(10, 5, 1, threads={10: (0, 0, 0), 20: (0, 0, 0)})
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("broker", 10, by_thread=True))
    kernel.process(10, 9, 2, threads={10: (0, 0, 0), 20: (0, 0, 0)})
    found = sampler.sample(second(0)).threads
    assert [(each.thread, each.name, each.user_us, each.system_us) for each in found] == [
        (10, "driver", 40_000, 10_000),
        (20, "driver-20", 40_000, 10_000),
    ]


def test_what_the_kernel_does_not_tell_is_none_and_not_zero(kernel: Kernel) -> None:
    kernel.process(10)
    (kernel.proc / "10/io").unlink()
    (kernel.proc / "10/task/10/schedstat").write_text("")
    sampler = kernel.processes()
    sampler.watch(WatchedProcess("broker", 10))
    (sample,) = sampler.sample(second(0)).processes
    assert (sample.read_bytes, sample.written_bytes) == (None, None)
    assert (sample.core_wait_us, sample.voluntary_switches) == (None, None)


def test_the_machine_is_counted_from_one_look_to_the_next(kernel: Kernel) -> None:
    kernel.machine(user=1000, idle=5000, steal=70, sent=900, writes=3)
    sampler = kernel.machines()
    kernel.machine(user=1080, idle=5100, steal=90, sent=2900, writes=13)
    sample = sampler.sample(second(0))
    assert (sample.cores, sample.user_us, sample.idle_us, sample.steal_us) == (2, 800_000, 1_000_000, 200_000)
    assert sample.steal_percent == pytest.approx(10.0)
    assert sample.busy_percent == pytest.approx(40.0)
    assert sample.busiest_core_percent == pytest.approx(100 * 80 / 150)
    assert (sample.loopback_bytes, sample.disk, sample.disk_writes) == (2000, "vda", 10)
    assert sample.disk_written_bytes == 10 * 8 * 512
    assert (sample.load, sample.running, sample.memory_available_bytes) == (1.5, 2, 8192)
    assert sample.disk_free_bytes > 0
    assert sampler.sample(second(1)).total_us == 0


def test_a_directory_in_memory_has_no_disk(kernel: Kernel) -> None:
    sampler = MachineSampler(kernel.proc, kernel.proc, TICK_US, os.makedev(0, 25))
    assert sampler.sample(second(0)).disk == ""


def observer_of(kernel: Kernel, clock: ManualClock, sink: Collected) -> Observer:
    return Observer(clock, kernel.processes(), kernel.machines(), sink)


class Stopping(ManualClock):
    """Ends the run after so many waits; each wait takes the kernel's counters on, and some come back late."""

    def __init__(self, waits: int, late: dict[int, float]) -> None:
        super().__init__(5 * SECOND_NS)
        self.left = waits
        self.late = late

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        super().wait(stop, seconds + self.late.get(self.left, 0.0))
        self.left -= 1
        return self.left < 0


def test_looks_come_every_second_and_late_ones_are_told_as_they_were(kernel: Kernel) -> None:
    sink = Collected()
    observer = observer_of(kernel, Stopping(4, {2: 2.25}), sink)
    observer.run(threading.Event())
    ends = [each.interval.ended_ns / SECOND_NS for each in sink.machines]
    assert ends == [1.0, 2.0, 5.25, 6.0, 7.0]
    begins = [each.interval.began_ns / SECOND_NS for each in sink.machines]
    assert begins == [0.0, *ends[:-1]], "no time is left out and none counted twice"


def test_every_second_of_a_phase_has_one_row_however_the_phase_before_it_was_waited_for(kernel: Kernel) -> None:
    class Turning(Stopping):
        def wait(self, stop: threading.Event, seconds: float) -> bool:
            if self.left == 2:
                self.advance(SECOND_NS // 4)
                observer.enter("measured")
                seconds -= 0.25
            return super().wait(stop, seconds)

    sink = Collected()
    observer = observer_of(kernel, Turning(4, {}), sink)
    observer.run(threading.Event())
    rows = [(each.interval.phase, each.interval.second) for each in sink.machines]
    assert len(rows) == len(set(rows))
    ends = [each.interval.ended_ns / SECOND_NS for each in sink.machines]
    assert ends == [1.0, 2.0, 2.25, 3.25, 4.25]


def test_no_interval_lies_in_two_phases(kernel: Kernel) -> None:
    clock, sink, later = ManualClock(), Collected(), Collected()
    observer = observer_of(kernel, clock, sink)
    kernel.process(10)
    observer.watch(WatchedProcess("driver", 10))
    clock.advance(SECOND_NS // 2)
    kernel.process(10, 30)
    observer.enter("measured", later)
    assert observer.phase == "measured"
    clock.advance(SECOND_NS * 3 // 2)
    kernel.process(10, 100)
    observer.step()
    assert [(each.interval.phase, each.user_us) for each in sink.processes] == [("setup", 300_000)]
    assert [(each.interval.phase, each.user_us) for each in later.processes] == [("measured", 700_000)]
    assert later.machines[0].interval == Interval("measured", SECOND_NS // 2, SECOND_NS // 2, 2 * SECOND_NS)
    assert later.machines[0].interval.second == 0
    assert [each.name for each in sink.events + later.events] == [PHASE_BEGAN, PHASE_BEGAN]


def test_forgetting_looks_a_last_time(kernel: Kernel) -> None:
    clock, sink = ManualClock(), Collected()
    observer = observer_of(kernel, clock, sink)
    kernel.process(10)
    observer.watch(WatchedProcess("driver", 10))
    kernel.process(10, 4)
    clock.advance(SECOND_NS)
    observer.forget(10)
    assert [each.cpu_us for each in sink.processes] == [40_000]
    kernel.gone(10)
    clock.advance(SECOND_NS)
    observer.step()
    assert [each.name for each in sink.events] == [PHASE_BEGAN]


class Broken(Collected):
    def machine(self, sample: MachineSample) -> None:
        raise OSError("the disk is full")


def test_an_observer_that_fails_says_so(kernel: Kernel) -> None:
    observer = Observer(SystemClock(), kernel.processes(), kernel.machines(), Broken())
    with pytest.raises(ObservingFailed, match="the disk is full"), observing(observer):
        pass


def test_several_sinks_get_the_same() -> None:
    one, two = Collected(), Collected()
    both = Several(one, two)
    event = Event(0, "setup", 0, PHASE_BEGAN, "", 0, "")
    both.event(event)
    assert one.events == two.events == [event]


def test_a_real_process_that_works_is_seen_working(tmp_path: Path) -> None:
    sink = Collected()
    observer = Observer(SystemClock(), ProcessSampler(), MachineSampler(tmp_path), sink, "measured", 0.05)
    # Busy until it has used a fifth of a second of processor time, however long that takes; then it waits for us.
    source = (
        "import time, sys\nwhile time.process_time() < 0.2: pass\n"
        "open(sys.argv[1], 'wb').write(bytes(1 << 20))\nprint('done', flush=True)\nsys.stdin.read()\n"
    )
    words = [sys.executable, "-S", "-c", source, str(tmp_path / "file")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with observing(observer):
            observer.watch(WatchedProcess("driver", process.pid, by_thread=True))
            assert process.stdout.readline() == b"done\n"
        process.communicate()
    samples = [each for each in sink.processes if each.pid == process.pid]
    assert len(samples) >= 2
    used = sum(each.cpu_us for each in samples)
    assert 100_000 <= used <= 1_000_000, "what it used before it was first seen is not counted"
    # It has one thread, which is looked at a moment later, and loses less than a microsecond each time.
    assert sum(each.cpu_us for each in sink.threads) == pytest.approx(used, rel=0.05)
    assert all(each.resident_bytes > 1 << 20 and each.threads == 1 for each in samples)
    assert sum(each.write_calls or 0 for each in samples) >= 2
    assert all(each.core_wait_us is not None for each in samples)
    assert sum(each.busy_us for each in sink.machines) > 0
