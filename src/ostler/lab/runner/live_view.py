"""The view of a run for people: a picture that changes on a terminal, one line for each point elsewhere.

Drawing takes processor time on the machine that is measured. Therefore the picture is drawn about once a second, when
there is something new, by the thread that reports it; no thread redraws it in between.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Final, Protocol

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ostler.lab.runner import formatting
from ostler.lab.runner.contract import Contestant, LiveStatus, PointResult, View
from ostler.lab.scenarios.model import Scenario
from ostler.lab.scenarios.steps import Step
from ostler.lab.store.roles import DRIVER, LABORATORY, PEER, PROBE, QUEUE_MANAGER, role_end, role_kind

_RECENT_MAX: Final = 8
_RATES_MAX: Final = 40
_LINES_BESIDE: Final = 14
"""The lines of the picture without the finished points."""
_TICKS: Final = "▁▂▃▄▅▆▇█"
_ROLES: Final = {
    QUEUE_MANAGER: "queue manager",
    PEER: "peer",
    PROBE: "probe",
    DRIVER: "driver",
    LABORATORY: "laboratory",
}
_BAR_WIDTH: Final = 32
_TABLE_WIDTH_MAX: Final = 120


class PointProgress:
    """The number of finished points, from the events of a view."""

    def __init__(self, repetitions: int) -> None:
        self._repetitions = max(repetitions, 1)
        self.points = 0
        self.behind = 0

    @property
    def fraction(self) -> float:
        return self.behind / self.points if self.points else 0.0

    @property
    def label(self) -> str:
        width = len(str(self.points))
        return f"{self.behind:>{width}}/{self.points}"

    def begin(self, points: int, settled: int) -> None:
        self.points, self.behind = points, settled

    def add_point(self) -> None:
        """Count a point that was measured or has failed."""
        self._add(1)

    def skip(self, steps: int) -> None:
        self._add(steps * self._repetitions)

    def _add(self, points: int) -> None:
        self.behind = min(self.behind + points, self.points)


class TimeEstimate:
    """The remaining time: as planned, multiplied by how much longer than planned the run has taken so far."""

    def __init__(self, began: float) -> None:
        self._began = began
        self._seconds_each = 0.0
        self._settled = 0
        self.seconds_left = 0.0

    def begin(self, points: int, seconds: float, now: float) -> None:
        self._began = now
        self._seconds_each = seconds / points if points else 0.0
        self.seconds_left = seconds

    def add_point(self) -> None:
        self._settled += 1

    def left(self, now: float) -> float:
        planned = self._settled * self._seconds_each
        return self.seconds_left * max((now - self._began) / planned, 1.0) if planned else self.seconds_left


class RunView(View, Protocol):
    """A view that is opened for a run and closed after it."""

    def __enter__(self) -> RunView: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def view_for(console: Console, scenario: Scenario, repetitions: int) -> RunView:
    """Return a live view for a terminal, and plain lines for anything else."""
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveView(console, scenario, repetitions)
    return PlainView(console, repetitions)


# -- plain lines -------------------------------------------------------------------------------------------------------


class PlainView:
    """Prints one aligned line for each finished point, and nothing while a point is measured."""

    def __init__(self, console: Console, repetitions: int) -> None:
        self._console = console
        self._repetitions = repetitions
        self._progress = PointProgress(repetitions)
        self._widths: dict[str, int] = {}

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def on_planned(self, points: int, settled: int, seconds: float) -> None:
        self._progress.begin(points, settled)
        self._say(planned_text(points, settled, seconds))

    def on_point_begun(self, contestant: Contestant, step: Step, repetition: int) -> None:
        return None

    def on_status(self, now: LiveStatus) -> None:
        return None

    def on_point_done(self, done: PointResult) -> None:
        self._progress.add_point()
        times = ((name, formatting.response_time(value)) for name, value in _times(done))
        self._say(
            "  ".join(
                [
                    *self._head(done.contestant, done.step),
                    f"{done.repetition + 1}/{self._repetitions}",
                    f"{formatting.rate(done.rate_per_second):>9}/s",
                    *(f"{name} {text:>7}" for name, text in times),
                    ", ".join(done.flags),
                ]
            )
        )

    def on_point_failed(self, contestant: Contestant, step: Step, why: str) -> None:
        self._progress.add_point()
        self._say("  ".join([*self._head(contestant.name, step), f"failed: {why}"]))

    def on_steps_skipped(self, contestant: Contestant, steps: int, why: str) -> None:
        self._progress.skip(steps)
        self._say(skipped_text(contestant, steps, why))

    def note(self, text: str) -> None:
        self._say(text)

    def _head(self, contestant: str, step: Step) -> list[str]:
        return [
            self._progress.label,
            self._aligned("contestant", contestant),
            *(f"{name} {self._aligned(name, str(value), right=True)}" for name, value in step.points.items()),
        ]

    def _aligned(self, column: str, text: str, right: bool = False) -> str:
        """Pad a text to the widest text of its column so far. Later texts are not known yet."""
        width = self._widths[column] = max(self._widths.get(column, 0), len(text))
        return text.rjust(width) if right else text.ljust(width)

    def _say(self, text: str) -> None:
        self._console.print(text.rstrip(), markup=False, highlight=False, soft_wrap=True)


def planned_text(points: int, settled: int, seconds: float) -> str:
    before = f", {settled} of them measured before" if settled else ""
    return f"{points} point{'' if points == 1 else 's'}{before}; about {formatting.duration(seconds)}."


def skipped_text(contestant: Contestant, steps: int, why: str) -> str:
    return f"{contestant.name} skips {steps} step{'' if steps == 1 else 's'}: {why}."


def _times(done: PointResult) -> tuple[tuple[str, float | None], ...]:
    return (("mean", done.mean_ns), ("p50", done.p50_ns), ("p99", done.p99_ns))


# -- a terminal --------------------------------------------------------------------------------------------------------


class LiveView:
    """Draws the state of a run. Texts that should remain readable are printed above the picture."""

    def __init__(
        self,
        console: Console,
        scenario: Scenario,
        repetitions: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._scenario = scenario
        self._repetitions = repetitions
        self._clock = clock
        self._began = clock()
        self._progress = PointProgress(repetitions)
        self._estimate = TimeEstimate(self._began)
        self._current: tuple[Contestant, Step, int] | None = None
        self._now: LiveStatus | None = None
        self._doing = "Starting."
        self._rates: deque[float] = deque(maxlen=_RATES_MAX)
        self._recent: deque[PointResult] = deque(maxlen=_RECENT_MAX)
        self._live = Live(self._picture(), console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> LiveView:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    # -- what is heard ---------------------------------------------------------------------------------------------

    def on_planned(self, points: int, settled: int, seconds: float) -> None:
        self._progress.begin(points, settled)
        self._estimate.begin(points - settled, seconds, self._clock())
        self._keep(planned_text(points, settled, seconds))

    def on_point_begun(self, contestant: Contestant, step: Step, repetition: int) -> None:
        self._current = (contestant, step, repetition)
        self._now = None
        self._rates.clear()
        self._draw()

    def on_status(self, now: LiveStatus) -> None:
        self._now = now
        self._estimate.seconds_left = now.seconds_left
        self._rates.append(now.rate_per_second)
        self._draw()

    def on_point_done(self, done: PointResult) -> None:
        self._progress.add_point()
        self._estimate.add_point()
        self._recent.append(done)
        self._rest()

    def on_point_failed(self, contestant: Contestant, step: Step, why: str) -> None:
        self._progress.add_point()
        self._estimate.add_point()
        self._keep(f"{contestant.name}, {formatting.points(step.points)}: not measured: {why}", "red")
        self._rest()

    def on_steps_skipped(self, contestant: Contestant, steps: int, why: str) -> None:
        self._progress.skip(steps)
        self._keep(skipped_text(contestant, steps, why))

    def note(self, text: str) -> None:
        self._doing = text
        self._keep(text, "dim")

    def _keep(self, text: str, style: str = "") -> None:
        self._live.console.print(Text(text, style=style))
        self._draw()

    def _rest(self) -> None:
        self._current = self._now = None
        self._doing = "Between two points."
        self._draw()

    # -- what is drawn ---------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        self._live.update(self._picture(), refresh=True)

    def _picture(self) -> RenderableType:
        head = _line((self._scenario.id, "bold"), f"  {self._scenario.title}")
        parts: list[RenderableType] = [Text(), head, self._bar(), *self._point()]
        room = max(self._console.height - _LINES_BESIDE, 0)
        shown = list(self._recent)[-room:] if room else []
        if shown:
            parts.append(self._finished(shown))
        return Group(*parts)

    def _bar(self) -> RenderableType:
        if not self._progress.points:
            return Text()
        now = self._clock()
        passed, left = formatting.duration(now - self._began), formatting.duration(self._estimate.left(now))
        text = f"{self._progress.label} points, {passed} passed"
        if self._progress.fraction < 1.0:
            text += f", about {left} left"
        bar = ProgressBar(total=1.0, completed=self._progress.fraction, width=_BAR_WIDTH)
        grid = Table.grid(padding=(0, 2))
        grid.add_column()
        grid.add_column(no_wrap=True)
        grid.add_row(bar, Text(text))
        return grid

    def _point(self) -> list[RenderableType]:
        """Return the current point, in the same number of lines as without one, so that the picture does not jump."""
        if self._current is None:
            return [Text(), _line((self._doing, "dim")), Text(), Text(), Text()]
        contestant, step, repetition = self._current
        now = self._now
        times = (
            f"{formatting.ordinal(repetition + 1)} of {self._repetitions} times" if self._repetitions > 1 else "once"
        )
        who = _line((contestant.name, "bold cyan"), "  ", (contestant.promise, "dim"))
        what = _line(f"{formatting.points(step.points)}; {times}: ", (now.phase if now else "starting", "bold"))
        if now is None or not now.rate_per_second:
            return [Text(), who, what, Text(), Text()]
        return [Text(), who, what, self._rate_line(now), _core_line(now)]

    def _rate_line(self, now: LiveStatus) -> Text:
        return _line(
            (f"{formatting.rate(now.rate_per_second)}/s", "bold green"),
            "  p50 ",
            (formatting.response_time(now.p50_ns), "bold"),
            "  p99 ",
            (formatting.response_time(now.p99_ns), "bold"),
            "  ",
            (curve(self._rates), "green"),
        )

    def _finished(self, shown: list[PointResult]) -> Table:
        """Return the table of finished points. Names and flags are truncated where there is no room, numbers never
        are."""
        table = Table(
            box=box.SIMPLE_HEAD, pad_edge=False, expand=True, width=min(self._console.width, _TABLE_WIDTH_MAX)
        )
        table.add_column("finished", no_wrap=True, overflow="ellipsis", ratio=3)
        table.add_column("at", no_wrap=True, overflow="ellipsis", ratio=2)
        for heading in ("rep.", "rate/s", "p50", "p99"):
            table.add_column(heading, no_wrap=True, justify="right")
        table.add_column("doubts", style="yellow", overflow="ellipsis", no_wrap=True, ratio=2)
        for done in shown:
            table.add_row(
                done.contestant,
                ", ".join(str(value) for value in done.step.points.values()),
                str(done.repetition + 1),
                formatting.rate(done.rate_per_second),
                formatting.response_time(done.p50_ns),
                formatting.response_time(done.p99_ns),
                ", ".join(done.flags),
            )
        return table


def _line(*parts: str | tuple[str, str]) -> Text:
    """Return one line, truncated at the end of the terminal."""
    return Text.assemble(*parts, no_wrap=True, overflow="ellipsis")


def _core_line(now: LiveStatus) -> Text:
    """Return processor use by role. A driver is one loop: above 90 % of one core it has no reserve."""
    line = Text("of a core: ", style="dim", no_wrap=True, overflow="ellipsis")
    for role, used in now.core_percent.items():
        line.append(f"{_role_words(role)} ", style="none")
        line.append(f"{used:.0f} %", style="bold yellow" if role == DRIVER and used > 90 else "bold")
        line.append("  ")
    line.append("steal ", style="none")
    line.append(f"{now.steal_percent:.1f} %", style="bold yellow" if now.steal_percent > 2 else "bold")
    return line


def _role_words(role: str) -> str:
    """Return a role for people, as in "far queue manager"."""
    kind = role_kind(role)
    return f"{role_end(role)} {_ROLES.get(kind, kind)}".strip()


def curve(values: Collection[float]) -> str:
    """Return a small curve of the last values, from 0 to their maximum."""
    highest = max(values, default=0.0)
    if highest <= 0:
        return ""
    return "".join(_TICKS[min(int(each / highest * len(_TICKS)), len(_TICKS) - 1)] for each in values)
