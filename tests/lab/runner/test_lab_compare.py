"""Verdicts of better, worse and the same; and `ostler lab compare` on runs with made-up figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.lab.store.run_samples import OSTLER, PING_PONG, RABBITMQ, usual_steps, write_run

from ostler.cli.lab.compare_text import show_figures
from ostler.cli.main import main
from ostler.lab.common.comparison import (
    LEAST_PERCENT,
    RATE,
    ChangeVerdict,
    NothingToCompare,
    change_of,
    compare_contestants,
    compare_metrics,
    compare_results,
    compare_runs,
    reference,
    summary,
)
from ostler.lab.runner.contract import ContestantKind
from ostler.lab.runner.step_results import Costs, Series, StepMetric, StepResult

METRICS = st.floats(min_value=1e-3, max_value=1e9)


def result(
    contestant: str = "Ostler",
    requesters: int = 1,
    rates: tuple[float, ...] = (100.0, 100.0),
    kind: ContestantKind = ContestantKind.OSTLER,
    p99_ns: tuple[float, ...] = (1000.0, 1000.0),
) -> StepResult:
    return StepResult(
        contestant, kind, requesters, {"requesters": str(requesters)}, "round trip", True, Series(rates),
        Series((500.0,)), Series((400.0,)), Series(p99_ns),
        Costs(Series((20.0,)), driver_us=Series((10.0,))), None, 0, 0, {},
    )  # fmt: skip


class TestVerdicts:
    @given(base=METRICS, other=METRICS, threshold=st.floats(min_value=0, max_value=200))
    def test_exchanging_both_turns_the_verdict_round(self, base: float, other: float, threshold: float) -> None:
        there = change_of(RATE, Series((base,)), Series((other,)), threshold, True).verdict
        back = change_of(RATE, Series((other,)), Series((base,)), threshold, True).verdict
        turned = {
            ChangeVerdict.SAME: ChangeVerdict.SAME,
            ChangeVerdict.BETTER: ChangeVerdict.WORSE,
            ChangeVerdict.WORSE: ChangeVerdict.BETTER,
        }
        assert back is turned[there]

    @given(base=METRICS, percent=st.floats(min_value=-12, max_value=14), spread=st.floats(min_value=0, max_value=30))
    def test_small_differences_are_never_spoken_of(self, base: float, percent: float, spread: float) -> None:
        other = base * (1 + percent / 100)
        found = compare_results(
            result(rates=(base, base)),
            result(rates=(other * (1 - spread / 100), other, other * (1 + spread / 100))),
            0.0,
        )
        change = found.change(RATE)
        assert change is not None
        assert change.verdict is ChangeVerdict.SAME

    @given(base=METRICS, other=METRICS)
    def test_more_is_better_for_rates_and_worse_for_times(self, base: float, other: float) -> None:
        both = Series((base,)), Series((other,))
        rate, time = (change_of("x", *both, LEAST_PERCENT, more).verdict for more in (True, False))
        if max(base, other) > min(base, other) * 1.16:
            assert rate is (ChangeVerdict.BETTER if other > base else ChangeVerdict.WORSE)
            assert time is (ChangeVerdict.WORSE if other > base else ChangeVerdict.BETTER)

    def test_noise_and_spread_hide_what_they_could_have_made(self) -> None:
        quiet, faster = result(), result(rates=(140.0, 140.0))
        assert summary([compare_results(quiet, faster, 10.0)])[ChangeVerdict.BETTER] == 1
        assert summary([compare_results(quiet, faster, 41.0)])[ChangeVerdict.SAME] == 1
        # The best of one was better than the worst of the other: they may have been the same.
        assert (
            summary([compare_results(result(rates=(85.0, 115.0)), result(rates=(110.0, 170.0)), 0.0)])[
                ChangeVerdict.SAME
            ]
            == 1
        )
        assert (
            summary([compare_results(result(rates=(85.0, 105.0)), result(rates=(110.0, 170.0)), 0.0)])[
                ChangeVerdict.BETTER
            ]
            == 1
        )

    def test_one_bad_repetition_of_many_hides_nothing(self) -> None:
        before, after = (100.0, 101.0, 102.0, 103.0, 104.0, 210.0), (200.0, 201.0, 202.0, 203.0, 204.0)
        assert summary([compare_results(result(rates=before), result(rates=after), 0.0)])[ChangeVerdict.BETTER] == 1
        assert summary([compare_results(result(rates=before[2:]), result(rates=after), 0.0)])[ChangeVerdict.SAME] == 1

    def test_each_figure_has_its_own_spread(self) -> None:
        found = compare_results(result(p99_ns=(1000.0, 3000.0)), result(rates=(200.0, 200.0)), 0.0)
        assert {each.figure: each.verdict for each in found.changes} == {
            "rate": ChangeVerdict.BETTER,
            "mean": ChangeVerdict.SAME,
            "p99": ChangeVerdict.SAME,
            "broker us": ChangeVerdict.SAME,
        }

    def test_figures_that_one_does_not_have_are_left_out(self) -> None:
        found = compare_results(replace(result(), mean_ns=Series(), costs=Costs(Series((0.0,)))), result(), 0.0)
        assert [each.figure for each in found.changes] == ["rate", "p99"]

    def test_both_ends_of_channels_are_compared_where_both_runs_told_them_apart(self) -> None:
        apart = Costs(Series((20.0,)), Series((15.0,)), Series((5.0,)))
        before, after = replace(result(), costs=apart), replace(result(), costs=replace(apart, near_us=Series((30.0,))))
        found = compare_results(before, after, 0.0)
        changes = {each.figure: each.verdict for each in found.changes if each.figure.endswith(" us")}
        assert changes == {
            "broker us": ChangeVerdict.SAME,
            "near us": ChangeVerdict.WORSE,
            "far us": ChangeVerdict.SAME,
        }
        assert [each.figure for each in compare_results(before, result(), 0.0).changes][-1] == "broker us"

    def test_nothing_at_all_is_worse_than_anything(self) -> None:
        assert summary([compare_results(result(), result(rates=(0.0, 0.0)), 0.0)])[ChangeVerdict.WORSE] == 1


class TestContestants:
    def test_everybody_against_ostler_at_the_same_step(self) -> None:
        peer = result("Peer", 1, (50.0,), ContestantKind.PEER)
        found = compare_contestants([peer, result(), result("Peer", 2, kind=ContestantKind.PEER)], "Ostler", 0.0)
        (each,) = found
        assert (each.base.contestant, each.other) == ("Ostler", peer)
        assert summary(found) == {ChangeVerdict.SAME: 0, ChangeVerdict.BETTER: 0, ChangeVerdict.WORSE: 1}

    def test_limits_are_not_counted(self) -> None:
        found = compare_contestants([result(), result("limit", 1, (900.0,), ContestantKind.LIMIT)], "Ostler", 0.0)
        assert len(found) == 1
        assert sum(summary(found).values()) == 0

    def test_ostler_is_the_first_of_its_kind(self) -> None:
        both = [result("a limit", kind=ContestantKind.LIMIT), result("Ostler, TCP"), result("Ostler, Unix")]
        assert reference(both) == "Ostler, TCP"
        assert reference(both, "a limit") == "a limit"

    def test_what_cannot_be_is_said(self) -> None:
        with pytest.raises(NothingToCompare, match="no contestant 'Redis' in this run; there are Ostler"):
            reference([result()], "Redis")
        with pytest.raises(NothingToCompare, match="Ostler was not measured"):
            reference([result("Peer", kind=ContestantKind.PEER)])
        with pytest.raises(NothingToCompare, match="alone"):
            compare_contestants([result()], "Ostler", 0.0)
        with pytest.raises(NothingToCompare, match="No step"):
            compare_contestants([result(), result("Peer", 2)], "Ostler", 0.0)


class TestRuns:
    def test_steps_are_the_same_by_their_values_not_by_their_numbers(self) -> None:
        found = compare_runs([result(requesters=20)], [replace(result(requesters=20, rates=(50.0,)), step=7)], 0.0)
        assert [each.other.step for each in found.changes] == [7]
        assert summary(found.changes)[ChangeVerdict.WORSE] == 1

    def test_rows_without_a_counterpart_are_counted(self) -> None:
        found = compare_runs([result(), result("A"), result("B")], [result(), result(requesters=5)], 0.0)
        assert (len(found.changes), found.only_base, found.only_other) == (1, 2, 1)

    def test_what_the_machine_itself_did_is_no_change(self) -> None:
        limit, faster = (result("limit", 1, (rate,), ContestantKind.LIMIT) for rate in (100.0, 150.0))
        before, after = result(), result(rates=(145.0, 145.0))
        assert summary(compare_runs([before], [after], 0.0).changes)[ChangeVerdict.BETTER] == 1
        found = compare_runs([before, limit], [after, faster], 0.0)
        assert found.limits == {"limit": 50.0}
        assert summary(found.changes)[ChangeVerdict.SAME] == 1

    @pytest.mark.parametrize(
        ("ours", "theirs", "said"),
        [
            ([], [result()], "Nothing was measured in the first run"),
            ([result()], [], "Nothing was measured in the second run"),
            ([result()], [result("Peer")], "no contestant in common: Ostler against Peer"),
            ([result()], [result(requesters=2)], "no step"),
        ],
    )
    def test_nothing_in_common(self, ours: list[StepResult], theirs: list[StepResult], said: str) -> None:
        with pytest.raises(NothingToCompare, match=said):
            compare_runs(ours, theirs, 0.0)


def figure(value: float, name: str = "bytes", requesters: int = 1) -> StepMetric:
    return StepMetric("Ostler", requesters, {"requesters": str(requesters)}, name, Series((value,)))


class TestFigures:
    def test_those_that_both_have(self) -> None:
        before = [figure(100.0), figure(100.0, "files"), figure(0.0, "late"), figure(0.0, "lost"), figure(1.0, "gone")]
        after = [
            figure(150.0),
            figure(105.0, "files"),
            figure(0.0, "late"),
            figure(2.0, "lost"),
            figure(5.0, "bytes", 2),
        ]
        found = compare_metrics(before, after)
        assert [(each.base.name, each.percent, each.is_same) for each in found] == [
            ("bytes", 50.0, False),
            ("files", 5.0, True),
            ("late", None, True),
            ("lost", None, False),
        ]

    def test_as_a_table(self, capsys: pytest.CaptureFixture[str]) -> None:
        show_figures(
            compare_metrics([figure(100.0), figure(0.0, "lost")], [figure(150.0), figure(2.0, "lost")]), Console()
        )
        lines = [line.split() for line in capsys.readouterr().out.splitlines() if "Ostler" in line]
        assert lines == [["1", "Ostler", "bytes", "100", "150", "+50", "%"], ["1", "Ostler", "lost", "0", "2", "new"]]


# -- the command -------------------------------------------------------------------------------------------------------

FIRST, SECOND, OTHER, ALONE = (f"client-rr-{name}" for name in ("1", "2", "other", "alone"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs to be read only: one, one in which Ostler was twice as fast at 20, one of another scenario, and so on."""
    directory = tmp_path_factory.mktemp("lab-runs")
    write_run(directory, usual_steps(), FIRST)
    steps = usual_steps()
    steps[20][0] = replace(OSTLER, rates=(400, 420), flags=("driver-saturated",))
    steps[50] = [OSTLER]
    write_run(directory, steps, SECOND, environment={"compiled": True}, is_finished=False)
    write_run(directory, {1: [OSTLER]}, OTHER, "client-rr-pm")
    write_run(directory, {1: [replace(OSTLER, contestant="Ostler, Unix")]}, ALONE)
    write_run(directory, {1: [replace(RABBITMQ, rates=())]}, "empty")
    (directory / "stray").mkdir()
    return directory


def compare(runs: Path, *names: str) -> int:
    try:
        return main(["lab", "compare", "--runs", str(runs), *names])
    except SystemExit as leaving:
        return int(leaving.code or 0)


def test_contestants_of_a_run(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, FIRST) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    peer = next(line for line in lines if "RabbitMQ" in line)
    assert peer.split()[:4] == ["1", "RabbitMQ,", "lean", "95.0"]
    assert "-54 % worse" in peer
    assert "+175 % worse" in peer
    limit = next(line for line in lines if "ping-pong" in line)
    assert "+100 %" in limit
    assert "better" not in limit
    assert "By rate: 0 better, 2 worse, 0 same.\n" in out
    assert f"Noise of {FIRST}: 4.0 %.\n" in out


def test_against_somebody_else(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, FIRST, "--against", RABBITMQ.contestant) == 0
    assert "By rate: 2 better, 0 worse, 0 same.\n" in capsys.readouterr().out


def test_run_against_run(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, str(runs / FIRST), SECOND) == 0
    out = capsys.readouterr().out
    changed = [line for line in out.splitlines() if "% better" in line]
    assert len(changed) == 1
    assert changed[0].split()[:6] == ["20", "Ostler,", "TCP", "205", "410", "+100"]
    assert changed[0].endswith("steal, driver-saturated")
    assert "By rate: 1 better, 0 worse, 3 same.\n" in out
    assert f"The machine itself: {PING_PONG.contestant} changed by +0.0 %.\n" in out
    assert "Without a counterpart: 0 rows of the first run, 1 of the other.\n" in out
    assert "Not alike: compiled was unknown, then True.\n" in out
    assert f"{SECOND} is partial: not all of it was measured.\n" in out


def test_several_runs_for_programs(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, FIRST, SECOND, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["base"], [each["run"] for each in told["runs"]]) == (FIRST, [SECOND])
    changed = [
        (each["other"], each["points"]["requesters"], change["figure"])
        for each in told["runs"][0]["compared"]
        for change in each["changes"]
        if change["verdict"] != "same"
    ]
    assert changed == [("Ostler, TCP", "20", "rate")]


def test_one_run_for_programs(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, FIRST, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["against"], len(told["compared"])) == ("Ostler, TCP", 4)
    assert {each["kind"] for each in told["compared"]} == {"peer", "limit"}


def test_on_a_terminal(runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("TTY_COMPATIBLE", "1"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    assert compare(runs, FIRST) == 0
    out = capsys.readouterr().out
    assert "Not shown for want of room" in out
    assert "\x1b[" in out


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((FIRST, OTHER), f"{OTHER} is of another scenario than {FIRST}: client-rr-pm, not client-rr-np."),
        ((FIRST, ALONE), "no contestant in common"),
        ((FIRST, FIRST), "named twice"),
        ((ALONE,), "Ostler, Unix is alone in this run"),
        (("empty",), "Nothing was measured in empty: partial."),
        (("client-rr",), "4 runs begin with 'client-rr': client-rr-1, client-rr-2, client-rr-alone, client-rr-other."),
        (("client-r-1",), "There is no run 'client-r-1' in "),
        (("client-r-1",), "Did you mean client-rr-1"),
        (("%",), "It holds client-rr-1, "),
        (("no/such",), "no/such is not the directory of a run: it has no manifest.json."),
        ((FIRST, "--against", "Redis"), "no contestant 'Redis'"),
        ((FIRST, SECOND, "--against", "RabbitMQ, lean"), "--against is for the contestants of one run"),
        ((), "required: RUN"),
    ],
)
def test_what_cannot_be_compared(
    runs: Path, names: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(runs, *names) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_no_runs_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path / "none", "some") == 2
    assert "holds none" in capsys.readouterr().err


def test_a_name_may_be_short(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(runs, "client-rr-al", "client-rr-1") == 2
    assert "Ostler, Unix against" in capsys.readouterr().err
