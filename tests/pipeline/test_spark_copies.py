"""Runs with copies through the whole pipeline: ratios beside published ones, round trips of the link, the processor
time of leader and followers, and a failover as a picture. Runs are small and made up, so that each figure is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.lab_run_samples import BEGAN, SECOND_NS, manifest

from ostler.lab.store.courses import MOMENT, TENTH
from ostler.lab.store.manifest import PlannedPoint
from ostler.lab.store.recorder import LatencyRecorder
from ostler.lab.store.roles import FOLLOWER, LEADER, QUEUE_MANAGER, RECOVERY, role_at
from ostler.lab.store.rows import PhaseRow, ProcessRow, Row, StatisticRow
from ostler.lab.store.run_writer import RunWriter
from ostler.lab.store.segments import MEASURED, WARM_UP
from ostler.pipeline.report.build import render
from ostler.pipeline.report.charts.charts import LineChart
from ostler.pipeline.report.charts.svg import chart_svg
from ostler.pipeline.report.context import Context, make_context
from ostler.pipeline.report.html.document import Block, ReportTable
from ostler.pipeline.report.reading import read_lake
from ostler.pipeline.report.rows import Tables
from ostler.pipeline.report.sections.copies import copies_table
from ostler.pipeline.report.sections.failovers import failover_table
from ostler.pipeline.report.time_figures import story_figure, time_figure
from ostler.pipeline.run import run_pipeline
from ostler.pipeline.steps.link_trips import SUBJECT

SECONDS = 10
HA, HADR, LATENCY, FAILOVER = "appl-ha2", "appl-hadr2", "appl-ha2-latency", "ha-failover"
GAP = (4, 5, 6)
"""The seconds in which nobody led."""

Sweeps = dict[str, int | str]
StepSample = tuple[Sweeps, int, Sequence[int], int, Mapping[str, int]]


def timed(operation: str, each_second: Sequence[int], latency_ns: int) -> list[Row]:
    """So many operations in each second, all of one length."""
    recorder = LatencyRecorder(0)
    for second, count in enumerate(each_second):
        for number in range(count):
            ended = second * SECOND_NS + (number + 1) * SECOND_NS // (count + 1)
            recorder.record(operation, ended - latency_ns, ended)
    return list(recorder.rows(0))


def processes(cpu_us: Mapping[str, int]) -> list[Row]:
    """The processor time of each role, the same in each second."""
    return [
        ProcessRow(second, role, 70 + place, "p", 1_000_000, used, 0, 1, 1, 2, 1 << 20, 4, 0, 1, 1, 2)
        for second in range(SECONDS)
        for place, (role, used) in enumerate(cpu_us.items())
    ]


def course(operation: str, each_second: Sequence[int]) -> list[Row]:
    """The same operations in tenths of a second, and the moments that went with them."""
    rates = [count / 10 for count in each_second for _ in range(10)]
    moments = {"leader killed": 4.0, "another leads": 6.9, "in sync": 99.0}
    gap = sum(not count for count in each_second) or 0.3
    return [
        StatisticRow(SECONDS, "experiment", 0, "", "time without service, seconds", 0, gap),
        *(StatisticRow(0, TENTH, 0, "", operation, number, value) for number, value in enumerate(rates)),
        *(StatisticRow(0, MOMENT, 0, "", name, 0, value) for name, value in moments.items()),
    ]


def write(
    runs: Path,
    scenario: str,
    operation: str,
    steps: Sequence[tuple[Sweeps, int, Sequence[int], int, Mapping[str, int]]],
) -> None:
    """A run of Ostler, a step for each: sweeps, clients, operations in each second, their length, processor time."""
    planned = tuple(PlannedPoint("Ostler", number, 0, dict(step[0])) for number, step in enumerate(steps))
    promises = [{"name": "Ostler", "kind": "ostler", "promise": "forced by two", "version": "0.1.0"}]
    made = replace(manifest(f"{scenario}-1", scenario=scenario), points=planned)
    made = replace(made, environment={**made.environment, "entrants": promises})
    with RunWriter.create(runs, made) as run:
        for point in run.remaining():
            sweeps, clients, counts, latency_ns, cpu_us = steps[point.step]
            told = {**{name: str(value) for name, value in sweeps.items()}, "operation": operation}
            for phase in (WARM_UP, MEASURED):
                segment = run.begin(point, phase)
                lost = StatisticRow(SECONDS, "experiment", 0, "", "acknowledged messages lost", 0, 0.0)
                segment.add([*timed(operation, counts, latency_ns), *processes(cpu_us), lost])
                segment.add(course(operation, counts) if "event" in sweeps else ())
                size = int(str(sweeps.get("message_bytes", 2048)))
                segment.commit(PhaseRow(scenario, BEGAN, float(SECONDS), clients, size, True, None, told))
        run.finish()


def instances(leader: int, follower: int = 0, recovery: int = 0) -> dict[str, int]:
    """Processor time of each second, in microseconds."""
    if not follower and not recovery:
        return {QUEUE_MANAGER: leader}
    found = {role_at(QUEUE_MANAGER, LEADER): leader, role_at(QUEUE_MANAGER, FOLLOWER): follower}
    return {**found, role_at(QUEUE_MANAGER, RECOVERY): recovery} if recovery else found


def sweeps(requesters: int, **others: int | str) -> Sweeps:
    return {"requesters": requesters, "message_bytes": 2048, **others}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    root = tmp_path_factory.mktemp("copies")
    write(
        root / "runs", HA, "round trip",
        [
            (sweeps(1, replication="none"), 1, [50] * SECONDS, 1_000_000, instances(5_000)),
            (sweeps(50, replication="none"), 50, [200] * SECONDS, 5_000_000, instances(20_000)),
            (sweeps(1, replication="synchronous"), 1, [40] * SECONDS, 1_500_000, instances(8_000, 2_000)),
            (sweeps(50, replication="synchronous"), 50, [160] * SECONDS, 6_000_000, instances(16_000, 4_800)),
        ],
    )  # fmt: skip
    write(
        root / "runs", HADR, "round trip",
        [
            (sweeps(50, replication="none"), 50, [200] * SECONDS, 5_000_000, instances(20_000)),
            (sweeps(50, replication="both"), 50, [150] * SECONDS, 6_000_000, instances(15_000, 3_000, 1_500)),
        ],
    )  # fmt: skip
    write(
        root / "runs", LATENCY, "round trip",
        [
            (sweeps(1, added_latency_ms=0), 1, [40] * SECONDS, 2_000_000, instances(8_000, 2_000)),
            (sweeps(1, added_latency_ms=5), 1, [20] * SECONDS, 17_000_000, instances(8_000, 2_000)),
            (sweeps(1, added_latency_ms=10), 1, [8] * SECONDS, 32_000_000, instances(8_000, 2_000)),
            (sweeps(50, added_latency_ms=10), 50, [12] * SECONDS, 90_000_000, instances(8_000, 2_000)),
        ],
    )  # fmt: skip
    counts = [0 if second in GAP else 30 for second in range(SECONDS)]
    story: Sweeps = {"clients": 4, "event": "killed", "instances": 3, "arbiter": "file"}
    other: Sweeps = {**story, "event": "ended in good order"}
    write(
        root / "runs", FAILOVER, "put",
        [
            (story, 8, counts, 1_000_000, instances(9_000, 3_000)),
            (other, 8, [30] * SECONDS, 1_000_000, instances(9_000, 3_000)),
        ],
    )  # fmt: skip
    run_pipeline(lambda rows: spark, root / "lake", [root / "runs"])
    return read_lake(root / "lake")


@pytest.fixture(scope="module")
def context(tables: Tables) -> Context:
    return make_context(tables)


def rows_of(block: Block | None) -> list[dict[str, float | str]]:
    """Rows by heading: the value that cells are sorted by."""
    assert isinstance(block, ReportTable)
    names = [heading.text for heading in block.headings]
    return [
        {name: each.sort for name, each in zip(names, cells, strict=True) if each.sort is not None}
        for cells in block.rows
    ]


def test_leader_and_followers_are_columns_of_points(tables: Tables) -> None:
    found = {
        (point.scenario, point.series): (point.leader_cpu_us, point.follower_cpu_us, point.recovery_cpu_us)
        for point in tables.points
        if point.clients == 50
    }
    assert found[HA, "message_bytes=2048, replication=none"] == (None, None, None)
    assert found[HA, "message_bytes=2048, replication=synchronous"] == (100.0, 30.0, None)
    assert found[HADR, "message_bytes=2048, replication=both"] == (100.0, 20.0, 10.0)
    alone = next(point for point in tables.points if point.clients == 50 and "none" in point.series)
    assert alone.broker_cpu_us == 100.0


def test_ratios_to_standalone_stand_beside_the_published_ones(tables: Tables) -> None:
    ratios = {
        (row.subject, row.metric): (row.our_ratio, row.published_ratio)
        for row in tables.comparisons
        if row.kind == "ratio" and row.our_ratio is not None and row.scenario in (HA, HADR) and row.clients is None
    }
    assert ratios["replicated at once to standalone", "rate"] == pytest.approx((0.8, 147_873 / 166_391))
    assert ratios["replicated both ways to standalone", "rate"] == pytest.approx((0.75, 137_960 / 166_391))


def test_followers_are_compared_with_their_leader(tables: Tables) -> None:
    shares = {
        (row.scenario, row.series, row.clients): (row.our_ratio, row.verdict)
        for row in tables.comparisons
        if row.subject == "followers to leader"
    }
    copied = "Ostler, message_bytes=2048, replication=synchronous"
    assert shares[HA, copied, 50] == (pytest.approx(0.3), "not comparable"), "it is a share, neither good nor bad"
    assert shares[HA, copied, None] == shares[HA, copied, 50]


def test_distance_is_compared_in_round_trips_of_the_link(tables: Tables) -> None:
    found, further = sorted(
        (row for row in tables.comparisons if row.subject == SUBJECT), key=lambda row: row.left_value
    )
    assert (further.left_value, further.right_value) == (10_000.0, 30_000.0)
    assert (found.left_value, found.right_value) == (5_000.0, 15_000.0)
    assert (found.our_ratio, found.published_ratio) == pytest.approx((3.0, (25.0 - 0.6) / 5))
    assert found.verdict == "better", "fewer"
    assert "Table" in (found.published_source or "")


def test_times_of_failovers_are_compared(tables: Tables) -> None:
    (found,) = (row for row in tables.comparisons if row.metric == "time without service, seconds")
    assert found.subject == "ended in good order to killed"
    assert (found.left_value, found.right_value, found.verdict) == (3.0, 0.3, "better")


def test_the_table_of_copies(context: Context) -> None:
    none, copied = rows_of(copies_table(context, HA, f"{HA}-1"))
    assert (none["Copies"], copied["Copies"]) == ("none", "synchronous")
    assert (copied["Rate, 1/s"], copied["Clients"]) == (160.0, 50)
    assert copied["Of no copies"] == pytest.approx(0.8)
    assert copied["Published"] == pytest.approx(0.889, abs=0.001)
    assert copied["One client, ms"] == 1_500_000
    assert (copied["Leader, µs"], copied["Followers, µs"]) == (100.0, 30.0)
    assert copied["Followers to leader"] == pytest.approx(0.3)
    assert "Of no copies" not in none
    assert "Published" not in none
    both = rows_of(copies_table(context, HADR, f"{HADR}-1"))[1]
    assert both["Other site, µs"] == 10.0


def test_distance_is_told_in_round_trips_of_the_link(context: Context) -> None:
    direct, far, further = rows_of(copies_table(context, LATENCY, f"{LATENCY}-1"))
    assert (direct["Added round trip"], far["Added round trip"]) == (0.0, 5.0)
    assert far["Link round trips"] == pytest.approx(3.0)
    assert far["Published round trips"] == pytest.approx((25.0 - 0.6) / 5)
    assert far["Of no distance"] == pytest.approx(0.5)
    assert "Published" not in far, "it is the rate of many clients"
    assert further["Published"] == pytest.approx(3331 / 147_873, abs=1e-4)
    assert "Link round trips" not in direct


def test_a_scenario_without_copies_has_no_such_table(context: Context) -> None:
    assert copies_table(context, FAILOVER, f"{FAILOVER}-1") is None


def test_a_failover_is_a_picture_with_the_time_in_which_nobody_led(context: Context, tables: Tables) -> None:
    seconds = {row.second: row.rate for row in tables.seconds if row.run == f"{FAILOVER}-1" and row.step == 0}
    assert seconds == {second: 0.0 if second in GAP else 30.0 for second in range(SECONDS)}
    figure = story_figure(context, FAILOVER, f"{FAILOVER}-1")
    assert figure is not None
    assert time_figure(context, FAILOVER, f"{FAILOVER}-1") is None, "every step has a chart there"
    killed, ended = figure.charts
    assert isinstance(killed, LineChart)
    assert isinstance(ended, LineChart)
    assert "event killed" in killed.title
    assert "event ended in good order" in ended.title
    (line,) = killed.lines
    assert [dot.y for dot in line.dots] == [0.0 if tenth // 10 in GAP else 30.0 for tenth in range(10 * SECONDS)]
    assert [(each.at, each.name) for each in killed.moments] == [(4.0, "leader killed"), (6.9, "another leads")]
    assert killed.sentence == "Median 30.0 puts/s; none ended for 3 s, from second 4 on."
    assert ended.sentence == "Median 30.0 puts/s; some ended in every tenth of a second."
    assert killed.up.domain == ended.up.domain, "charts side by side have one axis"
    drawn = chart_svg(killed, "a")
    assert "leader killed" in drawn
    assert drawn.count('class="moment"') == 2
    assert story_figure(context, HA, f"{HA}-1") is None


def test_losses_and_switches_are_a_table(context: Context) -> None:
    killed, ended = rows_of(failover_table(context, FAILOVER, f"{FAILOVER}-1"))
    assert (killed["Without service, s"], ended["Without service, s"]) == (3.0, 0.3)
    assert (killed["Lost"], killed["Clients"]) == (0.0, 8)
    assert "Twice" not in killed, "nobody told it"
    assert failover_table(context, HA, f"{HA}-1") is None


def test_all_of_it_is_in_the_report(tables: Tables) -> None:
    text = render(tables)
    for words in (
        *("Copies in HA2", "Link round trips", "Followers to leader", "every step over time"),
        *("Losses and switches in", "leader killed"),
    ):
        assert words in text, words
    assert "acknowledged messages lost" in text
