"""The length of the measured window: as set, and longer where a client of the scenario sends seldom; and its statement
among the deviations of a run."""

from __future__ import annotations

from collections.abc import Sequence

from ostler.lab.runner.contract import Settings
from ostler.lab.scenarios.model import Deviation, LoadKind, Scenario, windows_text

_USUAL_SECONDS = Settings().measured_seconds


def window_seconds(scenario: Scenario, settings: Settings) -> float:
    """Return the seconds of the measured window.

    Every client is due once in it, so that no connection is idle all the time. A quick run keeps its short window, and
    so does a run for which a shorter one than usual was asked for. A scenario in which something happens within the
    window names the time that it takes, in both forms.
    """
    needed = scenario.parameters.get("quick_window_seconds" if settings.is_quick else "window_seconds")
    if isinstance(needed, int):
        return max(settings.measured_seconds, float(needed))
    if settings.is_quick or settings.measured_seconds < _USUAL_SECONDS:
        return settings.measured_seconds
    return max(settings.measured_seconds, period_seconds(scenario))


def stated_windows(deviations: Sequence[Deviation], settings: Settings) -> tuple[Deviation, ...]:
    """Return the deviations of a scenario with the windows of a run in place of the usual ones."""
    usual, here = windows_text(), windows_text(settings.repetitions, settings.measured_seconds)
    return tuple(Deviation(here, each.why) if each.what == usual else each for each in deviations)


def period_seconds(scenario: Scenario) -> float:
    """Return the longest time between two requests of a client; 0 where it sends again at once."""
    load = scenario.load
    # Where clients connect within the window, they send after it.
    if load is None or load.kind is not LoadKind.RATED or scenario.family == "connection-scaling":
        return 0.0
    rates = [load.per_second]
    for sweep in scenario.sweeps:
        if sweep.name == "requests_per_hour":
            rates = [int(each) / 3600 for each in sweep.values]
    trips = scenario.parameters.get("round_trips_per_session")
    return (trips if isinstance(trips, int) else 1) / min(rates)
