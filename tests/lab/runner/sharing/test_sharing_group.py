"""The plan of a group as commands, and the limit on the processors of its facility."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ostler.lab.runner.sharing.plan import Offload, SharingPlan, StructurePlan, shared_pairs
from ostler.lab.runner.sharing.processor_limit import ProcessorLimit


def test_a_plan_is_commands() -> None:
    structures = (StructurePlan("LAB1", 4), StructurePlan("LAB2", 5, Offload.SMDS, block_bytes=1 << 20))
    plan = SharingPlan(structures=structures, queues=shared_pairs(2, structures))
    commands = list(plan.commands())
    assert commands[:2] == [
        "DEFINE CFSTRUCT(LAB1) CFLEVEL(4) RECOVER(NO)",
        "DEFINE CFSTRUCT(LAB2) CFLEVEL(5) RECOVER(NO) OFFLOAD(SMDS) DSGROUP('LAB.*.LAB2') DSBLOCK(1M)",
    ]
    assert "QLOCAL(LAB.REQUEST.0) QSGDISP(SHARED) CFSTRUCT(LAB1) INDXTYPE(NONE)" in commands[2]
    assert "QLOCAL(LAB.REPLY.1) QSGDISP(SHARED) CFSTRUCT(LAB2) INDXTYPE(CORRELID)" in commands[5]


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])


def test_a_control_group_has_the_quota(tmp_path: Path) -> None:
    """A directory stands for the file system of control groups, whose files take what is written."""
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cgroup.procs").touch()
    process = sleeper()
    try:
        limit = ProcessorLimit(process.pid, 0.25, tmp_path)
        (group,) = [each for each in (tmp_path / "cpu").iterdir() if each.is_dir()]
        assert (group / "cpu.cfs_quota_us").read_text() == "2500"
        assert (group / "cgroup.procs").read_text() == str(process.pid)
        assert "0.25" in limit.note
        for file in group.iterdir():
            file.unlink()
        limit.remove()
        assert not group.exists()
        limit.remove()
    finally:
        process.kill()
        process.wait()


def test_without_control_groups_cores_are_given(tmp_path: Path) -> None:
    process = sleeper()
    try:
        limit = ProcessorLimit(process.pid, 0.5, tmp_path)
        assert len(os.sched_getaffinity(process.pid)) == 1
        assert "not permitted" in limit.note
        whole = ProcessorLimit(process.pid, 1, tmp_path)
        assert "not permitted" not in whole.note
    finally:
        process.kill()
        process.wait()
