"""One run from the command line: with a view, ended by control-C or by what goes wrong, its directory found again."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from ostler.lab.runner.contract import Settings, SittingOver, View
from ostler.lab.runner.live_view import view_for
from ostler.lab.runner.run_parameters import settings_from
from ostler.lab.sampling.observer import ObservingFailed
from ostler.lab.scenarios.loader import UnknownScenario, catalogue
from ostler.lab.scenarios.model import Scenario
from ostler.lab.store.manifest import RunUnreadable, read_manifest
from ostler.lab.store.segments import RunNotWritten

FAILED: Final = 1
INTERRUPTED: Final = 130
TERMINATED: Final = 143
_WIDTH_WITHOUT_TERMINAL: Final = 200


class Terminated(KeyboardInterrupt):
    """The process was told to end: as if control-C had been pressed, but for its exit status."""


@dataclass(frozen=True)
class Account:
    """How a run ended. `directory` is None when none was made; `status` is 0 when nothing came in between."""

    directory: Path | None
    status: int = 0
    why: str = ""
    is_over_for_all: bool = False
    """Whether another scenario would end in the same way."""


def consoles(is_json: bool) -> tuple[Console, Console | None]:
    """Where people look, and where programs read: with JSON on standard output, people look at the other one."""
    console = Console(highlight=False, emoji=False, stderr=is_json)
    if not console.is_terminal:
        console.width = _WIDTH_WITHOUT_TERMINAL
    return console, Console(highlight=False, emoji=False, file=sys.stdout) if is_json else None


def sit(
    scenario: Scenario,
    settings: Settings,
    chosen: Mapping[str, Sequence[str]],
    output: Path,
    console: Console,
    command: tuple[str, ...],
) -> Account:
    """Run a scenario."""
    from ostler.lab.runner.runner import run_scenario

    # Others may run in the same place, so what is new there need not be ours.
    found: list[Path] = []

    def run(view: View) -> Path:
        return run_scenario(scenario, settings, chosen, output, view, command, made=found.append)

    return _account(run, lambda: found[-1] if found else None, scenario, settings.repetitions, console)


def sit_again(directory: Path, console: Console) -> Account:
    """Resume a run. RunUnreadable when it cannot be gone on with."""
    from ostler.lab.runner.runner import resume_run

    manifest = read_manifest(directory)
    try:
        scenario = catalogue().find(manifest.scenario)
    except UnknownScenario as unknown:
        raise RunUnreadable(f"{directory.name} is of a scenario {unknown.name!r} that is not known here.") from None
    repetitions = settings_from(manifest.parameters).repetitions

    def resume(view: View) -> Path:
        return resume_run(directory, view)

    return _account(resume, lambda: directory, scenario, repetitions, console)


def _account(
    run: Callable[[View], Path],
    made: Callable[[], Path | None],
    scenario: Scenario,
    repetitions: int,
    console: Console,
) -> Account:
    try:
        with _ended_in_order(), view_for(console, scenario, repetitions) as view:
            return Account(run(view))
    except KeyboardInterrupt as interruption:
        status = TERMINATED if isinstance(interruption, Terminated) else INTERRUPTED
        return Account(made(), status, "interrupted.", is_over_for_all=True)
    except SittingOver as over:
        return Account(made(), FAILED, str(over))
    except RunNotWritten as failure:
        return Account(made(), FAILED, str(failure), is_over_for_all=True)
    except ObservingFailed as failure:
        return Account(made(), FAILED, f"{failure}.")
    except OSError as failure:
        # The directory of the runs cannot be made or written.
        return Account(made(), FAILED, f"{failure}.", is_over_for_all=True)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Let a run that is told to end, or whose terminal is closed, end as by control-C."""

    def end(_number: int, _frame: object) -> None:
        raise Terminated

    # Who has it ignored, as nohup has, goes on ignoring it.
    heard = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
