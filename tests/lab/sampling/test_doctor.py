"""The doctor: every verdict of every check from facts made up, and real facts from this machine."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.lab.sampling.clock import SystemClock
from ostler.lab.sampling.control_group import ControlGroup, control_group
from ostler.lab.sampling.doctor import CHECKS, Finding, Fitness, examine, worst
from ostler.lab.sampling.facts import Busy, Facts, gather
from ostler.lab.sampling.kernel_text import MemoryUse
from ostler.lab.sampling.noise import Noise
from ostler.lab.sampling.samples import Interval, MachineSample

GIB = 1 << 30
QUIET = Noise("doctor", 100, 1_000_000, 1e6, 1_100_000, 1.0, 0.0)
MACHINE = MachineSample(
    Interval("doctor", 0, 0, 2_000_000_000), cores=8, user_us=80_000, nice_us=0, system_us=0, idle_us=15_920_000,
    iowait_us=0, irq_us=0, softirq_us=0, steal_us=0, busiest_core_percent=1.0, load=0.1, running=1, context_switches=0,
    loopback_bytes=0, loopback_packets=0, network_received_bytes=0, network_sent_bytes=0, dropped_packets=0, disk="vda",
    disk_reads=0, disk_read_bytes=0, disk_writes=0, disk_written_bytes=0, disk_flushes=0, disk_busy_us=0,
    disk_free_bytes=100 * GIB, memory_available_bytes=30 * GIB, dirty_bytes=0, swapped_pages=0,
)  # fmt: skip
FIT = Facts(
    cores=8,
    cores_usable=8,
    group=ControlGroup(None, None, None),
    descriptors_soft=1024,
    descriptors_hard=1_048_576,
    files_open=1000,
    files_max=10_000_000,
    processes_max=32_768,
    ports=28_232,
    ports_waiting=0,
    loopback_error="",
    backlog_max=4096,
    scratch=Path("scratch"),
    scratch_error="",
    file_system="ext4",
    disk_free_bytes=100 * GIB,
    files_free=1_000_000,
    force_ns=(130_000,) * 200,
    governors=frozenset({"performance"}),
    clock_source="tsc",
    clock_ns=50,
    machine=MACHINE,
    busiest=(),
    memory=MemoryUse(32 * GIB, 30 * GIB, 0, 0, 0),
    noise=QUIET,
    is_compiled=True,
    packages_missing=(),
)


def findings(**changes: object) -> dict[str, Finding]:
    facts: Facts = dataclasses.replace(FIT, **changes)  # type: ignore[arg-type]
    return {each.name: each for each in examine(facts)}


def test_a_machine_that_is_fit_has_only_good_findings() -> None:
    found = list(findings().values())
    assert {each.verdict for each in found} == {Fitness.GOOD}
    assert worst(found) == Fitness.GOOD
    assert len({each.name for each in found}) == len(CHECKS)


def stolen(percent: float) -> MachineSample:
    return dataclasses.replace(
        MACHINE, steal_us=round(160_000 * percent), idle_us=15_920_000 - round(160_000 * percent)
    )


def busy(percent: float) -> MachineSample:
    return dataclasses.replace(MACHINE, user_us=round(160_000 * percent), idle_us=16_000_000 - round(160_000 * percent))


LIMITED, BAD, UNKNOWN, GOOD = Fitness.LIMITED, Fitness.BAD, Fitness.UNKNOWN, Fitness.GOOD


@pytest.mark.parametrize(
    ("name", "changes", "verdict", "words"),
    [
        ("cores", {"cores_usable": 2}, LIMITED, "2 of 8 usable"),
        ("cores", {"cores_usable": 1}, BAD, "1 of 8 usable"),
        ("cores", {"group": ControlGroup(1.5, None, None)}, BAD, "control group allows 1.5"),
        ("descriptors", {"descriptors_hard": 20_000}, LIMITED, "at most 19,800 sockets"),
        ("descriptors", {"files_max": 31_000}, LIMITED, "at most 29,800 sockets"),
        ("descriptors", {"descriptors_hard": 256}, BAD, "at most 56 sockets"),
        ("processes", {"processes_max": 1000}, LIMITED, "1,000 processes"),
        ("processes", {"processes_max": 100}, BAD, "100 processes"),
        ("ports", {"ports_waiting": 20_000}, LIMITED, "about 8,232 new connections"),
        ("ports", {"ports": 500}, BAD, "about 500 new connections"),
        ("ports", {"loopback_error": "no route"}, BAD, "no route"),
        ("backlog", {"backlog_max": 128}, LIMITED, "128 connections"),
        ("disk space", {"disk_free_bytes": 5 * GIB}, LIMITED, "5.0 GiB free in scratch (ext4)"),
        ("disk space", {"disk_free_bytes": 100 << 20}, BAD, "100 MiB free"),
        ("disk space", {"files_free": 12}, BAD, "room for 12 files only"),
        ("disk space", {"scratch_error": "Permission denied"}, BAD, "Permission denied"),
        ("forced writes", {"force_ns": ()}, UNKNOWN, "not measured"),
        ("forced writes", {"file_system": "tmpfs"}, LIMITED, "tmpfs keeps nothing"),
        ("forced writes", {"force_ns": (8_000_000,) * 50}, LIMITED, "at most 125 times a second"),
        ("forced writes", {"force_ns": (80_000_000,) * 5}, BAD, "80.0 ms"),
        ("forced writes", {"force_ns": (5_000,) * 200}, LIMITED, "quicker than a disk"),
        ("forced writes", {"force_ns": (130_000,) * 190 + (9_000_000,) * 10}, LIMITED, "takes 9.0 ms"),
        ("governor", {"governors": frozenset()}, UNKNOWN, "unknown: a virtual"),
        ("governor", {"governors": frozenset({"performance", "powersave"})}, LIMITED, "performance, powersave"),
        ("clock", {"clock_source": "hpet", "clock_ns": 1500}, LIMITED, "hpet, 1,500 ns"),
        ("steal", {"machine": stolen(5.0)}, LIMITED, "5.0% of the processors over 2 s"),
        ("steal", {"machine": stolen(20.0)}, BAD, "20.0%"),
        ("other work", {"machine": busy(30.0)}, LIMITED, "30% of the processors"),
        ("other work", {"machine": busy(80.0), "busiest": (Busy(7, "make", 99.0),)}, BAD, "make (7) 99%"),
        ("memory", {"memory": MemoryUse(8 * GIB, 2 * GIB, 0, 0, 0)}, LIMITED, "2.0 GiB of 8.0 GiB"),
        ("memory", {"group": ControlGroup(None, GIB, GIB // 2)}, BAD, "control group leaves 512 MiB"),
        ("swap", {"memory": MemoryUse(8 * GIB, 8 * GIB, 0, GIB, GIB)}, GOOD, "0 MiB of 1.0 GiB in use"),
        ("swap", {"memory": MemoryUse(8 * GIB, 8 * GIB, 0, 2 * GIB, GIB)}, LIMITED, "1.0 GiB of 2.0 GiB in use"),
        ("noise", {"noise": dataclasses.replace(QUIET, spread_percent=30.0)}, LIMITED, "below 30%"),
        ("noise", {"noise": dataclasses.replace(QUIET, waited_percent=60.0)}, BAD, "below 60%"),
        ("installation", {"is_compiled": False}, LIMITED, "interpreted"),
        ("installation", {"packages_missing": ("pyarrow",)}, BAD, "without pyarrow"),
    ],
)
def test_each_verdict_says_what_was_found(name: str, changes: dict[str, object], verdict: Fitness, words: str) -> None:
    found = findings(**changes)
    finding = found.pop(name)
    assert finding.verdict == verdict
    assert words in f"{finding.found} {finding.limits}"
    if verdict in (LIMITED, BAD):
        assert finding.limits
        assert finding.advice
    assert {each.verdict for each in found.values()} <= {GOOD, UNKNOWN}, "the others do not mind"


_verdicts = st.sampled_from(list(Fitness))


@given(st.lists(_verdicts), _verdicts)
def test_one_bad_finding_outweighs_all_others(verdicts: list[Fitness], extra: Fitness) -> None:
    made = [Finding(str(at), each, "") for at, each in enumerate(verdicts)]
    assert worst([*made, Finding("bad", Fitness.BAD, "")]) == Fitness.BAD
    if worst(made) != Fitness.BAD and extra != Fitness.BAD:
        assert worst([*made, Finding("extra", extra, "")]) != Fitness.BAD


def test_facts_of_this_machine(tmp_path: Path) -> None:
    facts = gather(tmp_path, 0.01, SystemClock())
    assert 1 <= facts.cores_usable <= facts.cores
    assert facts.loopback_error == ""
    assert facts.scratch_error == ""
    assert facts.force_ns
    assert min(facts.force_ns) > 0
    assert facts.disk_free_bytes > 0
    assert 0 < facts.memory.available_bytes <= facts.memory.total_bytes
    assert facts.clock_ns > 0
    assert 0 < facts.ports < 65_536
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"
    assert len(examine(facts)) == len(CHECKS)


def test_a_directory_that_is_not_there_is_a_fact_and_no_failure(tmp_path: Path) -> None:
    facts = gather(tmp_path / "nowhere", 0.01, SystemClock())
    assert facts.scratch_error
    assert facts.force_ns == ()
    assert {each.name: each.verdict for each in examine(facts)}["disk space"] == BAD
    assert list(tmp_path.iterdir()) == []


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_second_version_of_control_groups(tmp_path: Path) -> None:
    proc = write(tmp_path / "proc", {"self/cgroup": "0::/box/lab\n"})
    mount = write(
        tmp_path / "mount",
        {
            "box/cpu.max": "150000 100000\n",
            "box/lab/cpu.max": "max 100000\n",
            "box/memory.max": "max\n",
            "box/lab/memory.max": "4096\n",
            "box/lab/memory.current": "1024\n",
        },
    )
    assert control_group(proc, mount) == ControlGroup(1.5, 4096, 1024)


def test_the_first_version_of_control_groups(tmp_path: Path) -> None:
    proc = write(tmp_path / "proc", {"self/cgroup": "3:cpu,cpuacct:/\n2:memory:/box\n1:cpuset:/x\n"})
    mount = write(
        tmp_path / "mount",
        {
            "cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
            "memory/box/memory.limit_in_bytes": "8192\n",
        },
    )
    assert control_group(proc, mount) == ControlGroup(0.5, 8192, 0)


def test_no_control_groups_are_no_limit(tmp_path: Path) -> None:
    assert control_group(tmp_path, tmp_path) == ControlGroup(None, None, None)
    quota = write(
        tmp_path, {"self/cgroup": "1:cpu:/\n", "cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "5\n"}
    )
    assert control_group(quota, quota) == ControlGroup(None, None, None)


def test_the_first_version_writes_no_limit_as_a_large_number(tmp_path: Path) -> None:
    root = write(tmp_path, {"self/cgroup": "1:memory:/\n", "memory/memory.limit_in_bytes": "9223372036854771712\n"})
    assert control_group(root, root) == ControlGroup(None, None, None)
