"""The view of a run that goes on: on a terminal, and in a pipe."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from ostler.lab.runner.contract import Contestant, ContestantKind, LiveStatus, PointResult
from ostler.lab.runner.live_view import LiveView, PlainView, TimeEstimate, curve, view_for
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.steps import Step

SCENARIO = catalogue().find("client-rr-np")
OSTLER = Contestant("Ostler, TCP", ContestantKind.OSTLER, "forced before it is acknowledged")
PEER = Contestant("RabbitMQ, lean", ContestantKind.PEER, "kept in memory")
FIRST = Step(0, 0, {"requesters": 1})
SECOND = Step(1, 0, {"requesters": 200})
NOW = LiveStatus("measured", 41_234.5, 412_000, 1_204_000, {"queue-manager": 97.0, "driver": 61.4}, 0.4, 754.0)


def done(contestant: Contestant, step: Step, repetition: int, flags: tuple[str, ...] = ()) -> PointResult:
    return PointResult(contestant.name, step, repetition, "round trip", 12_345.6, 482_123.4, 412_000, 1_204_000, flags)


def on_terminal(width: int = 100, height: int = 40) -> tuple[LiveView, Console]:
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=height, legacy_windows=False)
    seconds = iter(range(0, 100_000, 10))
    return LiveView(console, SCENARIO, 2, clock=lambda: float(next(seconds))), console


def text_of(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", console.file.getvalue())


def last_picture(console: Console) -> str:
    """From the last time that the head of the picture was drawn."""
    text = text_of(console)
    return text[text.rindex(SCENARIO.id) :]


class TestTerminal:
    def test_a_point_that_is_measured(self) -> None:
        view, console = on_terminal()
        with view:
            view.on_planned(8, 2, 900.0)
            view.on_point_begun(OSTLER, SECOND, 1)
            view.on_status(NOW)
            picture = last_picture(console)
        assert SCENARIO.title in picture
        assert "2/8 points, " in picture
        assert "about 13 min left" in picture
        assert "Ostler, TCP  forced before it is acknowledged" in picture
        assert "requesters 200; 2nd of 2 times: measured" in picture
        assert "41,234/s  p50 412 us  p99 1.20 ms" in picture
        assert "queue manager 97 %  driver 61 %  steal 0.4 %" in picture

    def test_two_queue_managers_are_told_apart(self) -> None:
        view, console = on_terminal()
        with view:
            view.on_planned(8, 2, 900.0)
            view.on_point_begun(OSTLER, SECOND, 1)
            view.on_status(replace(NOW, core_percent={"driver": 40.0, "queue-manager/near": 97.0, "peer/far": 61.4}))
            picture = last_picture(console)
        assert "driver 40 %  near queue manager 97 %  far peer 61 %" in picture

    def test_nothing_is_known_of_a_point_that_has_just_begun(self) -> None:
        view, console = on_terminal()
        with view:
            view.on_planned(8, 0, 900.0)
            view.on_point_begun(OSTLER, FIRST, 0)
            view.on_status(NOW)
            view.on_point_begun(PEER, FIRST, 0)
            picture = last_picture(console)
        assert "1st of 2 times: starting" in picture
        assert "/s" not in picture

    def test_nothing_is_shown_of_a_load_that_has_not_told_anything(self) -> None:
        view, console = on_terminal()
        with view:
            view.on_point_begun(OSTLER, FIRST, 0)
            view.on_status(LiveStatus("warm-up", 0.0, 0, 0, {}, 0.0, 10.0))
            picture = last_picture(console)
        assert "1st of 2 times: warm-up" in picture
        assert "p50" not in picture
        assert "steal" not in picture

    def test_points_that_were_finished_stay_as_a_table(self) -> None:
        view, console = on_terminal()
        with view:
            view.on_planned(40, 0, 900.0)
            for repetition in range(9):
                view.on_point_begun(OSTLER, SECOND, repetition)
                view.on_point_done(done(OSTLER, SECOND, repetition, ("steal",)))
            picture = last_picture(console)
        rows = [line.split() for line in picture.splitlines() if "Ostler, TCP" in line]
        assert [row[3] for row in rows] == [str(number) for number in range(2, 10)]
        assert rows[-1] == ["Ostler,", "TCP", "200", "9", "12,346", "412", "us", "1.20", "ms", "steal"]

    @pytest.mark.parametrize(("width", "height"), [(60, 18), (80, 24), (200, 60)])
    def test_it_fits(self, width: int, height: int) -> None:
        view, console = on_terminal(width, height)
        with view:
            view.on_planned(40, 0, 900.0)
            for repetition in range(20):
                view.on_point_done(done(PEER, SECOND, repetition, ("driver-saturated", "steal", "others-busy")))
            view.on_point_begun(OSTLER, SECOND, 1)
            view.on_status(NOW)
            picture = last_picture(console)
        lines = picture.rstrip("\n").splitlines()
        assert max(len(line.rstrip()) for line in lines) <= width
        assert len(lines) < height
        assert "..." not in picture
        assert "12,346" in picture

    def test_what_should_be_read_later_is_kept_above(self) -> None:
        view, console = on_terminal()
        with view:
            view.on_planned(8, 0, 900.0)
            view.note("Without NATS: it is not installed")
            view.on_point_failed(PEER, FIRST, "it went away")
            view.on_steps_skipped(PEER, 1, "the mean response time passed 1 s")
            view.on_point_begun(OSTLER, FIRST, 0)
        text = text_of(console)
        assert "Without NATS: it is not installed\n" in text
        assert "RabbitMQ, lean, requesters 1: not measured: it went away\n" in text
        assert "RabbitMQ, lean skips 1 step: the mean response time passed 1 s.\n" in text

    def test_the_picture_is_gone_at_the_end_and_the_cursor_is_back(self) -> None:
        view, console = on_terminal()
        with view:
            view.on_point_begun(OSTLER, FIRST, 0)
        assert isinstance(console.file, io.StringIO)
        raw = console.file.getvalue()
        assert raw.rindex("\x1b[?25h") > raw.rindex("\x1b[?25l")
        # Line by line, from the last one up.
        assert raw[raw.rindex(SCENARIO.id) :].count("\x1b[1A\x1b[2K") >= 5

    def test_names_are_not_markup(self) -> None:
        view, console = on_terminal()
        odd = Contestant("[red]odd[/red]", ContestantKind.PEER, "[/]")
        with view:
            view.on_point_begun(odd, FIRST, 0)
            view.note("[bold]")
            view.on_point_done(done(odd, FIRST, 0))
        assert "[red]odd[/red]" in text_of(console)


class TestPace:
    def test_as_planned_until_something_is_known(self) -> None:
        pace = TimeEstimate(0.0)
        pace.begin(10, 100.0, 5.0)
        assert pace.left(50.0) == 100.0

    def test_longer_when_points_took_longer(self) -> None:
        pace = TimeEstimate(0.0)
        pace.begin(10, 100.0, 5.0)
        pace.add_point()
        pace.add_point()
        pace.seconds_left = 80.0
        assert pace.left(65.0) == 240.0
        assert pace.left(10.0) == 80.0

    def test_nothing_was_left(self) -> None:
        pace = TimeEstimate(0.0)
        pace.begin(0, 0.0, 5.0)
        pace.add_point()
        assert pace.left(50.0) == 0.0


class TestPlain:
    def said(self) -> list[str]:
        console = Console(file=io.StringIO(), width=80)
        view = PlainView(console, 2)
        with view:
            view.on_planned(10, 1, 126.0)
            view.on_point_begun(OSTLER, FIRST, 0)
            view.on_status(NOW)
            view.on_status(NOW)
            view.on_point_done(done(OSTLER, FIRST, 0))
            view.on_point_done(done(PEER, FIRST, 0, ("steal", "noise")))
            view.on_point_failed(PEER, FIRST, "it went away")
            view.on_steps_skipped(PEER, 2, "the rate no longer rises")
            view.on_point_done(done(OSTLER, SECOND, 1))
        return text_of(console).splitlines()

    def test_a_line_for_each_point_and_none_for_a_second(self) -> None:
        first, *lines = self.said()
        assert first == "10 points, 1 of them measured before; about 2 min."
        assert len(lines) == 5

    def test_lines_are_whole_and_aligned(self) -> None:
        ostler, peer, *_ = self.said()[1:]
        assert ostler.startswith(" 2/10  Ostler, TCP  requesters 1  1/2     12,346/s  mean  482 us  p50  412 us")
        assert peer.startswith(" 3/10  RabbitMQ, lean  requesters 1  1/2     12,346/s  mean  482 us  p50  412 us")
        assert peer.endswith("  p99 1.20 ms  steal, noise")

    def test_columns_grow_with_what_was_seen(self) -> None:
        assert self.said()[-1].startswith(" 9/10  Ostler, TCP     requesters 200  2/2  ")

    def test_failures_and_skips_are_said_and_counted(self) -> None:
        _, _, _, failed, skipped, last = self.said()
        assert failed == " 4/10  RabbitMQ, lean  requesters 1  failed: it went away"
        assert skipped == "RabbitMQ, lean skips 2 steps: the rate no longer rises."
        assert last.startswith(" 9/10")

    def test_a_point_in_which_nothing_completed(self) -> None:
        console = Console(file=io.StringIO())
        view = PlainView(console, 1)
        view.on_planned(1, 0, 1.0)
        view.on_point_done(PointResult("Ostler", FIRST, 0, "connect", 0.0, None, None, None, ()))
        assert "        0/s  mean          p50          p99" in text_of(console)


@pytest.mark.parametrize(("is_terminal", "kind"), [(True, LiveView), (False, PlainView)])
def test_which_view_is_taken(is_terminal: bool, kind: type) -> None:
    console = Console(file=io.StringIO(), force_terminal=is_terminal, _environ={"TERM": "xterm"})
    assert type(view_for(console, SCENARIO, 1)) is kind


def test_a_dumb_terminal_gets_plain_lines() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, _environ={"TERM": "dumb"})
    assert type(view_for(console, SCENARIO, 1)) is PlainView


def test_a_curve_goes_from_nothing_to_the_highest() -> None:
    assert curve([0.0, 50.0, 100.0]) == "▁▅█"
    assert curve([0.0, 0.0]) == ""
    assert curve([]) == ""
