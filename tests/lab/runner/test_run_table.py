"""The output at the end of a run: steps put together, the table, doubts, and the place of the data."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tests.lab.store.run_samples import BEGAN, OSTLER, PING_PONG, RABBITMQ, Made, usual_steps, write_run

from ostler.lab.runner import formatting
from ostler.lab.runner.contract import NEEDED_PARAMETER, ContestantKind
from ostler.lab.runner.run_table import as_json, constants, run_table, show_run
from ostler.lab.runner.step_results import Series, StepResult, step_metrics, step_results
from ostler.lab.runner.text_table import TextColumn, TextTable
from ostler.lab.store.manifest import PlannedPoint
from ostler.lab.store.rows import PhaseRow, StatisticRow
from ostler.lab.store.run_reader import read_run
from ostler.lab.store.run_writer import RunWriter
from ostler.lab.store.segments import MEASURED


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run, to be read only."""
    return write_run(tmp_path_factory.mktemp("runs"), usual_steps())


def results_of(tmp_path: Path, *step: Made) -> list[StepResult]:
    return step_results(read_run(write_run(tmp_path, {1: step})))


def shown(directory: Path, width: int = 0) -> str:
    """As on a terminal of that width, without colours; in a pipe without one."""
    console = Console(file=io.StringIO(), force_terminal=bool(width), width=width or 300, highlight=False)
    show_run(read_run(directory), console)
    assert isinstance(console.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())


class TestStepResults:
    def test_repetitions_are_put_together(self, tmp_path: Path) -> None:
        (found,) = results_of(tmp_path, replace(OSTLER, rates=(100, 300, 120), flags=("steal", "steal: again")))
        assert (found.contestant, found.kind, found.step) == ("Ostler, TCP", ContestantKind.OSTLER, 0)
        assert found.points == {"requesters": "1", "cipher_spec": "none"}
        assert found.rate.values == (100.0, 300.0, 120.0)
        assert found.rate_per_second == 120.0
        assert found.rate.spread_percent == pytest.approx(100 * 100 / 120)
        assert found.mean_ns.median == 480_000
        assert found.broker_us.median == 20.0
        assert found.driver_us.median == 10.0
        # One repetition was flagged, though twice.
        assert found.flags == {"steal": 1}

    def test_two_that_are_joined_are_told_apart(self, tmp_path: Path) -> None:
        two = replace(OSTLER, broker_us=30, far_us=12, log_us=5)
        alone = Made("Ostler, one queue manager", "ostler", (200, 200), log_us=3)
        joined, one = results_of(tmp_path, two, alone)
        costs = joined.costs
        assert [each.median for each in (costs.broker_us, costs.near_us, costs.far_us)] == [42.0, 30.0, 12.0]
        assert [each.median for each in (costs.log_us, costs.near_log_us, costs.far_log_us)] == [10.0, 5.0, 5.0]
        assert joined.kind is ContestantKind.OSTLER
        assert (one.costs.near_us, one.costs.far_us, one.costs.log_us.median) == (Series(), Series(), 3.0)
        assert joined.as_json()["far_us_per_operation"] == 12.0

    def test_who_a_contestant_is_can_be_seen_from_joined_processes_too(self, tmp_path: Path) -> None:
        directory = write_run(tmp_path, {1: [replace(RABBITMQ, far_us=9)]}, environment={"entrants": []})
        (found,) = step_results(read_run(directory))
        assert found.kind is ContestantKind.PEER

    def test_what_an_experiment_found_out_takes_the_place_of_what_was_planned(self, tmp_path: Path) -> None:
        (found,) = results_of(tmp_path, replace(OSTLER, parameters={"requesters": "6566"}))
        assert found.points == {"requesters": "6566", "cipher_spec": "none"}

    def test_the_limit_is_the_slowest_probe(self, tmp_path: Path) -> None:
        slow = Made("forcing", "limit", (50, 50))
        ostler, *limits = results_of(tmp_path, replace(OSTLER, rates=(25, 25)), PING_PONG, slow)
        assert (ostler.limit, ostler.of_limit) == ("forcing", 0.5)
        assert [each.of_limit for each in limits] == [None, None]

    def test_who_has_no_copies_has_not_the_limit_of_two_logs(self, tmp_path: Path) -> None:
        both = Made("replicated force", "limit", (40, 40))
        once = Made("group commit", "limit", (80, 80))
        alone = Made("Ostler without copies", "ostler", (20, 20))
        copied, found, *_ = results_of(tmp_path, replace(OSTLER, rates=(20, 20)), alone, both, once)
        assert (copied.limit, copied.of_limit) == ("replicated force", 0.5)
        assert (found.limit, found.of_limit) == ("group commit", 0.25)

    def test_in_one_process_nobody_needs_a_socket(self, tmp_path: Path) -> None:
        socket = Made("bare exchanges over a Unix socket", "limit", (40, 40))
        table = Made("bare table and queue", "limit", (400, 400))
        embedded = Made("Ostler, in one process", "ostler", (100, 100))
        found, ostler, *_ = results_of(tmp_path, embedded, replace(OSTLER, rates=(20, 20)), socket, table)
        assert (found.limit, found.of_limit) == ("bare table and queue", 0.25)
        assert (ostler.limit, ostler.of_limit) == ("bare exchanges over a Unix socket", 0.5)

    def test_an_operation_may_need_several_of_a_limit(self, tmp_path: Path) -> None:
        forcing = Made("forcing", "limit", (100, 100), parameters={NEEDED_PARAMETER: "4"})
        slower = Made("ping-pong", "limit", (50, 50))
        ostler, *_ = results_of(tmp_path, replace(OSTLER, rates=(10, 10)), slower, forcing)
        assert (ostler.limit, ostler.of_limit) == ("forcing", 0.4)

    def test_a_fixed_rate_is_no_share_of_a_limit(self, tmp_path: Path) -> None:
        ostler, _ = results_of(tmp_path, replace(OSTLER, rates=(25, 25), asked=25.0), PING_PONG)
        assert (ostler.asked_rate, ostler.limit, ostler.of_limit) == (25.0, "", None)

    def test_connections_that_are_held_are_no_share_of_bare_ones(self, tmp_path: Path) -> None:
        made = [replace(each, operation="connect") for each in (OSTLER, PING_PONG)]
        directory = write_run(tmp_path, {1: made}, scenario="zos-svrconn-footprint")
        assert [each.of_limit for each in step_results(read_run(directory))] == [None, None]

    def test_times_are_compared_where_rates_say_nothing(self, tmp_path: Path) -> None:
        limit = Made("reading", "limit", (1, 1), latency_us=120)
        directory = write_run(
            tmp_path, {1: [replace(OSTLER, rates=(1, 1))], 2: [OSTLER, limit]}, scenario="chlauth-restart"
        )
        found = [each for each in step_results(read_run(directory)) if each.contestant == OSTLER.contestant]
        assert [each.of_limit for each in found] == [None, 0.25]

    def test_each_operation_has_its_own_and_the_main_one_is_first(self, tmp_path: Path) -> None:
        made = replace(OSTLER, operation="get", rates=(50, 50), others={"put": 60, "browse": 70})
        main, *others = results_of(tmp_path, made)
        assert (main.operation, main.is_main, main.rate_per_second) == ("get", True, 50.0)
        assert {each.operation: each.rate_per_second for each in others} == {"put": 60.0, "browse": 70.0}
        assert not any(each.is_main or each.broker_us.values or each.flags for each in others)

    def test_a_series_of_one_has_no_spread(self) -> None:
        assert Series((5.0,)).spread_percent is None
        assert Series().median is None
        assert Series.of([None, 2.0]).values == (2.0,)

    def test_figures_that_are_no_rates(self, tmp_path: Path) -> None:
        directory = write_run(tmp_path, {1: [replace(OSTLER, rates=())]}, is_finished=False)
        with RunWriter.resume(directory) as run:
            for repetition, value in enumerate((1000.0, 1200.0)):
                segment = run.begin(PlannedPoint(OSTLER.contestant, 0, repetition), MEASURED)
                segment.add([StatisticRow(0, "experiment", 0, "", "bytes per connection", 0, value)])
                segment.add([StatisticRow(0, "queue-manager", 0, "", "puts", 0, 5.0)])
                segment.add([StatisticRow(0, "channels", 0, "LAB0", "messages", 0, 500.0)])
                segment.add([StatisticRow(0, "channels", 0, "LAB0", "messages per batch", 0, 12.0)])
                row = PhaseRow("client-rr-np", BEGAN, 1.0, 1, 2048, False)
                segment.commit(row)
            run.finish()
        figure, batches = step_metrics(read_run(directory))
        assert (batches.name, batches.values.median) == ("LAB0 messages per batch", 12.0)
        assert (figure.name, figure.values.median, figure.points["requesters"]) == ("bytes per connection", 1100.0, "1")
        lines = shown(directory).splitlines()
        assert re.fullmatch(r" +1 +none +Ostler, TCP +bytes per connection +1,100 +9.1 %", lines[1])
        assert "All 2 points were measured." in lines


class TestTable:
    def test_a_row_for_each_step_and_contestant(self, usual: Path) -> None:
        heading, *lines = shown(usual).splitlines()
        assert heading.split("  ")[0] == "requesters"
        cells = [re.split(r" {2,}", line.strip()) for line in lines[:6]]
        assert [row[:2] for row in cells] == [
            [requesters, name]
            for requesters in ("1", "20")
            for name in ("Ostler, TCP", "RabbitMQ, lean", "bare ping-pong")
        ]
        metrics = ["205", "2.4 %", "480 us", "480 us", "480 us", "480 us", "20.0", "10.0", "50 %", "steal 1/2"]
        assert cells[0][2:] == metrics
        assert cells[1][2:] == ["95.0", "5.3 %", "1.10 ms", "1.10 ms", "1.10 ms", "1.10 ms", "55.0", "10.0", "23 %"]

    def test_sweeps_with_one_value_are_said_once(self, usual: Path) -> None:
        results = step_results(read_run(usual))
        assert constants(results) == {"cipher_spec": "none"}
        assert [column.heading for column in run_table("s", results).columns][:2] == ["requesters", "contestant"]

    def test_what_was_fixed_and_what_failed_has_a_column_only_where_there_is_something(self, usual: Path) -> None:
        results = step_results(read_run(usual))
        headings = [column.heading for column in run_table("s", results).without_empty().columns]
        assert {"asked/s", "failed", "operation"} & set(headings) == set()
        odd = [replace(results[0], failed=3, asked_rate=5000.0), *results[1:]]
        headings = [column.heading for column in run_table("s", odd).without_empty().columns]
        assert {"asked/s", "failed"} <= set(headings)

    def test_where_a_scenario_aims_at_something_it_says_whether_that_is_met(self, tmp_path: Path) -> None:
        fast, slow = OSTLER, replace(OSTLER, contestant="Ostler, slow", latency_us=300_000)
        directory = write_run(tmp_path, {1: [fast, slow]}, scenario="hostile-neighbour")
        text = shown(directory)
        heading, *rows = (re.split(r" {2,}", line.strip()) for line in text.splitlines()[:3])
        told = [dict(zip(heading, row, strict=False)) for row in rows]
        assert [(each["p99.9"], each["highest"], each["aim"]) for each in told] == [
            ("480 us", "480 us", "met"),
            ("300 ms", "300 ms", "missed"),
        ]
        assert "aim: p99 at most 50 ms and the highest at most 250 ms, each time" in text
        results = step_results(read_run(directory))
        assert [each.as_json()["aim_met"] for each in results] == [True, False]
        assert results[0].as_json()["aim"] == {"p99_ms": 50.0, "highest_ms": 250.0}

    def test_an_aim_is_missed_by_one_repetition_by_a_failure_and_by_nothing(self, tmp_path: Path) -> None:
        directory = write_run(tmp_path, {1: [OSTLER]}, scenario="hostile-neighbour")
        (met,) = step_results(read_run(directory))
        assert met.is_aim_met
        one = met.highest_ns.values[0]
        once = replace(met, highest_ns=Series((one, 250_000_001.0)))
        assert not once.is_aim_met
        assert "missed 1/2" in run_table("s", [once]).rows[0]
        assert replace(met, highest_ns=Series((one, 250_000_000.0))).is_aim_met
        assert not replace(met, p99_ns=Series((50_000_001.0, one))).is_aim_met
        assert not replace(met, failed=1).is_aim_met
        assert not replace(met, highest_ns=Series((one,))).is_aim_met

    def test_other_scenarios_aim_at_nothing(self, usual: Path) -> None:
        assert {each.is_aim_met for each in step_results(read_run(usual))} == {None}
        assert not {"p99.9", "highest", "aim"} & set(re.split(r" {2,}", shown(usual).splitlines()[0].strip()))

    def test_both_ends_of_channels_and_the_log_have_columns_where_they_are_told_apart(self, tmp_path: Path) -> None:
        text = shown(write_run(tmp_path, {1: [replace(OSTLER, broker_us=30, far_us=12, log_us=5)]}))
        heading, row = (re.split(r" {2,}", line.strip()) for line in text.splitlines()[:2])
        told = dict(zip(heading, row, strict=False))
        assert [told[name] for name in ("broker us", "near us", "far us", "log us")] == ["42.0", "30.0", "12.0", "10.0"]
        assert "near us: the part of broker us" in text
        assert "log us: the part of broker us" in text

    def test_one_broker_has_no_ends(self, usual: Path) -> None:
        assert not {"near", "far", "log"} & set(re.findall(r"(\w+) us\b", shown(usual)))

    def test_on_a_terminal_a_step_is_named_once(self, usual: Path) -> None:
        lines = shown(usual, 140).splitlines()
        first, *rows = [line.split()[0] for line in lines if " us  " in line or " ms  " in line]
        assert first == "requesters"
        assert rows == ["1", "RabbitMQ,", "bare", "20", "RabbitMQ,", "bare"]

    def test_doubts_of_all_points_are_said_once(self, tmp_path: Path) -> None:
        always = [replace(each, rates=(10,), flags=("noise", *each.flags)) for each in (OSTLER, PING_PONG)]
        directory = write_run(tmp_path, {1: always}, repetitions=1)
        lines = shown(directory).splitlines()
        assert lines[1].endswith("  steal")
        assert "noise" not in lines[2]
        assert "Doubts of all points: noise." in lines

    @pytest.mark.parametrize("width", [70, 80, 100])
    def test_where_there_is_no_room_columns_are_left_out_and_named(self, usual: Path, width: int) -> None:
        text = shown(usual, width)
        table, told = text.split("Not shown for want of room: ")
        assert max(len(line) for line in table.splitlines()) <= width
        assert "mean" in told.splitlines()[0]
        assert "205" in table
        assert "…" not in table

    def test_columns_go_by_their_worth(self) -> None:
        columns = (TextColumn("a"), TextColumn("second", keep=2), TextColumn("first", keep=1))
        table = TextTable("t", columns, (("1", "2", "3"),))
        assert table.within(80) == (table, ())
        kept, left_out = table.within(14)
        assert ([each.heading for each in kept.columns], left_out) == (["a", "second"], ("first",))
        kept, left_out = table.within(1)
        assert ([each.heading for each in kept.columns], left_out) == (["a"], ("second", "first"))


class TestAccount:
    def test_a_whole_run(self, usual: Path) -> None:
        text = shown(usual)
        assert "All 12 points were measured.\n" in text
        assert "Noise of the machine: 4.0 %; smaller differences mean nothing.\n" in text
        assert f"Data: {usual}, as manifest.json and segments/*/*.parquet.\n" in text
        assert f"ostler lab compare {usual}\n" in text

    def test_what_acknowledgements_mean_and_what_stands_in(self, tmp_path: Path) -> None:
        facts: dict[str, object] = {
            "stand_ins": {"fastpath": "It changes nothing."},
            "left_out": {"shared": ["shared-queues", "more"]},
        }
        facts["deviations"] = [{"what": "a smaller log", "why": "The disk is small."}]
        text = shown(write_run(tmp_path, {1: [replace(OSTLER, rates=(5, 5))]}, environment=facts))
        assert "Ostler, TCP 1.2: kept by the ostler.\n" in text
        assert "Stands in for fastpath: It changes nothing.\n" in text
        assert "Left out: shared, which needs shared-queues, more.\n" in text
        assert "Differs from the report: a smaller log: The disk is small.\n" in text

    def test_a_run_that_was_cut(self, tmp_path: Path) -> None:
        steps = {1: [OSTLER], 20: [replace(OSTLER, rates=(100,))]}
        directory = write_run(tmp_path, steps, is_finished=False)
        text = shown(directory)
        assert "3 of 4 points were measured.\n" in text
        assert "partial: The run ended early: it was left before it was finished.\n" in text
        assert "Contestants against Ostler" not in text

    def test_steps_that_were_not_needed(self, tmp_path: Path) -> None:
        directory = write_run(tmp_path, {1: [OSTLER], 20: [replace(OSTLER, rates=())]}, is_finished=False)
        with RunWriter.resume(directory) as run:
            for point in run.remaining():
                run.skip(point, "the rate no longer rises")
            run.finish()
        text = shown(directory)
        assert re.search(r"^Resumed: 20.*; figures are from several parts of the run.$", text, re.MULTILINE)
        assert "2 of 4 points were measured; the others were not needed.\n" in text
        assert "Ostler, TCP skipped 1 step: the rate no longer rises.\n" in text

    def test_nothing_measured(self, tmp_path: Path) -> None:
        text = shown(write_run(tmp_path, {1: [replace(OSTLER, rates=())]}))
        assert "0 of 2 points were measured.\n" in text

    def test_for_programs(self, usual: Path) -> None:
        told = json.loads(json.dumps(as_json(read_run(usual))))
        assert (told["condition"], told["points"], told["remaining"], told["noise_percent"]) == ("complete", 12, 0, 4.0)
        first = told["results"][0]
        assert (first["contestant"], first["rate_per_second"], first["p99_us"]) == ("Ostler, TCP", 205.0, 480.0)
        assert (first["limit"], first["of_limit"], first["flags"]) == ("bare ping-pong", 0.5, {"steal": 1})


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (None, ""),
        (0, "0 ns"),
        (850, "850 ns"),
        (999.6, "1.00 us"),
        (12_345, "12.3 us"),
        (99_960, "100 us"),
        (999_499, "999 us"),
        (999_600, "1.00 ms"),
        (1_204_000, "1.20 ms"),
        (61_000_000_000, "61.0 s"),
        (4_000_000_000_000, "4,000 s"),
    ],
)
def test_times_in_three_digits(nanoseconds: float | None, text: str) -> None:
    assert formatting.response_time(nanoseconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (0.2, "1 s"), (45.4, "45 s"), (119.4, "119 s"), (120, "2 min"), (3569, "59 min"),
     (3580, "1 h 00 min"), (7500, "2 h 05 min")],
)  # fmt: skip
def test_time_that_is_left(seconds: float, text: str) -> None:
    assert formatting.duration(seconds) == text


@pytest.mark.parametrize(
    ("rate", "text"), [(0, "0"), (0.123, "0.12"), (9.996, "10.0"), (99.96, "100"), (950, "950"), (12_345.6, "12,346")]
)
def test_rates_in_three_digits(rate: float, text: str) -> None:
    assert formatting.rate(rate) == text


def test_ordinals() -> None:
    found = [formatting.ordinal(number) for number in (1, 2, 3, 4, 11, 12, 21, 102, 111)]
    assert found == ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "102nd", "111th"]
