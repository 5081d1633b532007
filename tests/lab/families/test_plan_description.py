"""The configuration of a queue manager in words of an administrator."""

from __future__ import annotations

from ostler.lab.families.plan_description import ACCOUNTING, describe_plan
from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.server.config.qm_ini import LogSection, LogType


def test_a_plan_is_described_as_it_would_be_typed() -> None:
    log = LogSection(primary_files=16, secondary_files=2, file_pages=16_348, type=LogType.LINEAR)
    commands = tuple(f"DEFINE QLOCAL(Q{number})" for number in range(25))
    stanzas = {"TuningParameters": {"DefaultQBufferSize": "1048576"}}
    plan = QueueManagerPlan(log=log, commands=commands, stanzas=stanzas, conversations=10, is_accounting=True)
    lines = describe_plan(plan).splitlines()
    assert lines[:3] == [
        "crtmqm -ll -lp 16 -ls 2 -lf 16348 LAB",
        "TuningParameters:",
        "   DefaultQBufferSize=1048576",
    ]
    assert "SHARECNV(10)" in lines[3]
    assert lines[4:6] == [ACCOUNTING, "DEFINE QLOCAL(Q0)"]
    assert lines[-1] == "* ... and 15 more"
