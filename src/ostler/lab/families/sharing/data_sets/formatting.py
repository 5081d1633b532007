"""Formatting a data set before anybody uses it, as CSQJUFMT does: how many records a second, and what it costs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ostler.coupling.data_sets.space_map import PAGE_BYTES
from ostler.lab.families.sharing.data_sets.groups import OSTLER, format_beforehand
from ostler.lab.families.sharing.data_sets.repeated import RepeatedOperation
from ostler.lab.runner.contract import Contestant, Experiment, PointFailed, PointSpec, ReadyLoad, RunContext
from ostler.lab.runner.sharing.plan import StructurePlan
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.courses import FORMATTED

FORMAT: Final = "formatting"
PROCESSOR_SECONDS: Final = "processor seconds"
_STRUCTURE: Final = StructurePlan("LAB1", block_bytes=256 << 10)


class FormattingExperiment(Experiment):
    def __init__(self, context: RunContext) -> None:
        self._context = context

    def contestants(self) -> Sequence[Contestant]:
        return [OSTLER]

    @property
    def configuration(self) -> Mapping[str, str]:
        return {"data set": f"DSBLOCK(256K), records of {PAGE_BYTES} bytes"}

    def prepare(self, contestant: Contestant, step: Step) -> ReadyLoad:
        records = int(str(step.points["records"]))
        free = shutil.disk_usage(self._context.scratch).free
        if free < 2 * records * PAGE_BYTES:
            raise PointFailed(f"it needs {records * PAGE_BYTES >> 19:,} MB on disk, and {free >> 20:,} MB are free")
        return _Formatting(self._context.scratch / "formatted", records)

    def close(self) -> None:
        shutil.rmtree(self._context.scratch / "formatted", ignore_errors=True)


class _Formatting(RepeatedOperation):
    def __init__(self, directory: Path, records: int) -> None:
        super().__init__(PointSpec(1, PAGE_BYTES, False, main_operation=FORMAT))
        self._directory = directory
        self._records = records
        program = f"from {__name__} import format_records; format_records({str(directory)!r}, {records})"
        self._command = [sys.executable, "-c", program]

    def operate(self) -> tuple[float, dict[str, float]]:
        shutil.rmtree(self._directory, ignore_errors=True)
        done = subprocess.run(self._command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PointFailed(f"formatting ended with status {done.returncode}: {done.stderr[-300:]}")
        found = json.loads(done.stdout)
        seconds = float(found["seconds"])
        return seconds, {FORMATTED: self._records / seconds, PROCESSOR_SECONDS: float(found["processor"])}


def format_records(directory: str, records: int) -> None:
    """Format a data set of so many records, and print the seconds and the processor seconds that it took."""
    began, worked = time.perf_counter(), time.process_time()
    format_beforehand(Path(directory) / "LAB.FORMAT.LAB1", _STRUCTURE, "FORMAT", 1, records * PAGE_BYTES >> 20)
    print(json.dumps({"seconds": time.perf_counter() - began, "processor": time.process_time() - worked}))
