"""How much longer a queue manager with many channel authentication rules takes to start: from its log, and from files.

Each start is in a process of its own, as a real one is; queue managers with and without rules take turns.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from ostler.client.locate.embedded import start
from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.channel_rules import channel_rules, create
from ostler.lab.common.own_process import MeasurementFailed, Report, in_own_process
from ostler.lab.common.samples import Measurement
from ostler.lab.peers.broker_process import LOOPBACK
from ostler.model import constants as mq
from ostler.server.config.qm_ini import LogSection

TITLE = "Restart with many channel authentication rules"
NAME = "LAB"
CHANNEL = "LAB.SVRCONN"
FROM_LOG = "from the log"
FROM_FILES = "from its files"
RESTART = "restart"
LONGER_SECONDS_MAX = 1.0
# A log that takes all rules without a checkpoint.
_LOG = LogSection(primary_files=4, file_pages=32_768)
_SECONDS_MAX = 300.0


@dataclass(frozen=True)
class Parameters:
    rules: int = 20_000
    rounds: int = 5


FULL = Parameters()
QUICK = Parameters(20_000, 2)


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("chlauth-restart", TITLE, asdict(parameters))
    counts = (0, parameters.rules)
    seconds: dict[tuple[str, int], list[float]] = {}
    for step, way in enumerate((FROM_LOG, FROM_FILES)):
        for count in counts:
            root = scratch / f"{step}-{count}"
            report(step / 2, f"defining {count:,} rules")
            end = "preemptive" if way == FROM_LOG else "immediate"
            in_own_process(partial(make, root, count, end), _SECONDS_MAX)
            seconds[way, count] = []
        for turn in range(parameters.rounds):
            for count in counts:
                report((step + turn / parameters.rounds) / 2, f"starting with {count:,} rules {way}")
                # Ended as in a crash, so that the next start finds the same.
                taken = in_own_process(partial(start_again, scratch / f"{step}-{count}", count), _SECONDS_MAX)
                seconds[way, count].append(taken)
        for count in counts:
            shutil.rmtree(scratch / f"{step}-{count}")
    _note(result, parameters, seconds)
    return result


def make(root: Path, count: int, end: str, report: Report, log: LogSection = _LOG) -> None:
    """A queue manager with so many rules besides its own, ended in the given way."""
    create(root, NAME, log, iter(list(channel_rules(CHANNEL, count)) if count else [])).end(end)


def start_again(root: Path, count: int, report: Report) -> float:
    """Start, see that the rules are there and used, and end as in a crash; the seconds that the start took."""
    began = time.perf_counter()
    manager = start(NAME, root, progress=False)
    seconds = time.perf_counter() - began
    rules = manager.guard.rules
    source = rules.decide(CHANNEL, LOOPBACK, "", "somebody", None, None).source
    if len(rules) < count or (source == mq.MQUSRC_CHANNEL) != (count > 0):
        raise MeasurementFailed(f"a restart found {len(rules)} rules, and {count} were set")
    manager.end("preemptive")
    return seconds


def _note(result: Result, parameters: Parameters, seconds: dict[tuple[str, int], list[float]]) -> None:
    result.table.append(["restart", "without rules, s", f"with {parameters.rules:,} rules, s", "longer by, s"])
    for way in (FROM_LOG, FROM_FILES):
        taken = {
            count: Measurement(RESTART, "s", tuple(seconds[way, count]), {"way": way, "rules": count})
            for count in (0, parameters.rules)
        }
        result.limits.append(taken[0])
        result.measurements.append(taken[parameters.rules])
        without, with_rules = taken[0].median, taken[parameters.rules].median
        longer = with_rules - without
        result.table.append([way, f"{without:.3f}", f"{with_rules:.3f}", f"{longer:.3f}"])
        result.aims.append(Aim(f"seconds longer {way}", LONGER_SECONDS_MAX, longer, True))
    result.notes.append(
        f"A queue manager without these rules is the limit. Each rule adds "
        f"{1e6 * result.aims[0].measured / parameters.rules:.0f} us to a start from the log."
    )
