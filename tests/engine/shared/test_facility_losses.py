"""Random days on which the facility is lost: all acknowledged persistent messages are back exactly once (invariant 8).

Each rule that this rests on is broken once, and the day notices it.
"""

from __future__ import annotations

import pytest
from tests.world.group.group_day import GroupDay

from ostler.engine.recovery.shared_records import CANCEL, SHARED_PREPARE
from ostler.engine.structure_recovery.merge import BackupPlace, LogScan, StructureMerge
from ostler.log import LogSettings, LogType, LogVisitor
from ostler.log.foreign_log import ForeignLog
from ostler.model.errors import InvariantFailed, MQError
from ostler.server.coupling.structure_logs import MemberLog

LINEAR = LogSettings(primary_files=3, secondary_files=3, file_pages=64, log_type=LogType.LINEAR)


def run_day(day: GroupDay, runs: int = 4) -> None:
    for _ in range(runs):
        day.run(1500)
        day.check_numbers()
        day.check_account()


@pytest.mark.parametrize("seed", range(12))
def test_every_acknowledged_message_is_back_exactly_once(seed: int) -> None:
    day = GroupDay(seed, faults=1.0 if seed % 2 else 0.2, losses=0.4, log=LINEAR)
    run_day(day)
    assert day.backups > 0
    assert day.moved > 0
    assert day.account.put
    assert not day.left_units()


class _Without(LogVisitor):
    """Passes records on, but for those of one kind."""

    def __init__(self, scan: LogScan, dropped: int) -> None:
        self._scan = scan
        self._dropped = dropped

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        if kind != self._dropped:
            self._scan.record(kind, lsn, payload)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        pass


def merge_without(dropped: int, logs: list[MemberLog], places: dict[str, BackupPlace | None]) -> StructureMerge:
    """Merge whole logs, without backups, as if records of a kind had not been written."""
    merge = StructureMerge(dict.fromkeys(places))
    for log in logs:
        visitor = _Without(merge.begin_log(log.number, 0), dropped)
        ForeignLog(log.disk, log.directory).read(0, log.until_lsn, visitor)
    merge.finish()
    return merge


def caught(day: GroupDay) -> bool:
    try:
        run_day(day)
        return bool(day.left_units())
    except (AssertionError, InvariantFailed, MQError):
        return True


@pytest.mark.parametrize("rule", ["none", "cancel", "prepare", "force", "fence"])
def test_broken_rules_are_caught(rule: str) -> None:
    """Leave CANCEL out, presume back-out, DECIDE before the force, no fence. `none` proves the harness."""
    found = 0
    for seed in range(4 if rule == "none" else 16):
        day = GroupDay(seed, faults=1.0, losses=0.5, log=LINEAR)
        if rule in ("none", "cancel", "prepare"):
            dropped = {"none": -1, "cancel": CANCEL, "prepare": SHARED_PREPARE}[rule]
            day.group.merge_logs = lambda logs, places, dropped=dropped: merge_without(dropped, logs, places)
        elif rule == "force":
            day.group.facility.decides_early = True
        else:
            day.group.facility.late = []
        found += caught(day)
        if found and rule != "none":
            break
    assert (found > 0) == (rule != "none")
