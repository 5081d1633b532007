"""Every benchmark once, as small as can be: its result has the right shape, and its counts add up. Nothing is timed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hdrh", reason="the laboratory's packages are not installed")

from ostler.lab.bench import (
    depth,
    driver_overhead,
    group_commit,
    memory,
    mqi_response_time,
    mqi_verb_timing,
    put_get_cost,
    restart,
    topic_matching,
)
from ostler.lab.bench.catalogue import all_benchmarks
from ostler.lab.bench.result import Conditions, Result, write_result
from ostler.lab.common.own_process import ignore_report


def written(result: Result, directory: Path) -> dict[str, Any]:
    """The result file's content; what every one of them must have is checked here."""
    cpu = {"others_percent": 0.0, "steal_percent": 0.0}
    conditions = Conditions("interpreted", {}, datetime(2026, 1, 2, tzinfo=UTC), 1.0, cpu, 1.0, 1.0)
    read: dict[str, Any] = json.loads(write_result(directory / "results", result, conditions).read_text())
    assert read["name"] == result.name
    assert read["measurements"]
    assert read["limits"], "no figure without its limit beside it"
    for each in read["measurements"] + read["limits"]:
        assert each["unit"]
        assert each["count"] == len(each.get("samples", [])) or each["count"] == sum(
            count for _, count in each["histogram"]
        )
        assert each["median"] > 0 or "memory" in each["name"]
    assert len({len(row) for row in result.table}) == 1, "every row of the table has all columns"
    assert len(result.table) > 1
    return read


def test_put_get_cost(tmp_path: Path) -> None:
    result = put_get_cost.run(put_get_cost.Parameters(64, 3, 5), tmp_path, ignore_report)
    read = written(result, tmp_path)
    names = [each["name"] for each in read["measurements"]]
    assert names == ["put_message and get_message", "MQPUT and MQGET", "Queue.put and Queue.get"]
    assert all(each["count"] == 3 for each in read["measurements"] + read["limits"])
    assert [aim["limit"] for aim in read["aims"]] == [12.0, 12.0], "the raw verbs, not the Python API"
    bare = read["limits"][0]["median"]
    assert read["ratios"]["MQPUT and MQGET / bare"] == pytest.approx(read["measurements"][1]["median"] / bare)


@pytest.mark.slow
def test_depth(tmp_path: Path) -> None:
    result = depth.run(depth.Parameters((3, 40), 64, 2, 7), tmp_path, ignore_report)
    read = written(result, tmp_path)
    labels = [(each["name"], each["labels"]["depth"]) for each in read["measurements"]]
    assert set(labels) == {
        (name, deep) for name in ("memory for each message", depth.FIFO, depth.BY_ID) for deep in (3, 40)
    }
    assert result.chart is not None
    assert {name: [x for x, _ in line] for name, line in result.chart.lines.items()} == {
        name: [3, 40] for name in (depth.FIFO, depth.BY_ID, depth.BARE)
    }


def test_group_commit(tmp_path: Path) -> None:
    parameters = group_commit.Parameters((1, 3), 64, 2, 0.02, 256)
    read = written(group_commit.run(parameters, tmp_path, ignore_report), tmp_path)
    for work in (group_commit.GROWING, group_commit.STEADY):
        for in_flight in (1, 3):
            labels = {"work": work, "in_flight": in_flight}
            found = {each["name"]: each for each in read["measurements"] if each["labels"] == labels}
            assert found["durable commits"]["count"] == 2
            assert 1 <= found["commits for each force"]["median"] <= in_flight
            assert found["log bytes for each commit"]["median"] > 64
    limits = {each["name"] for each in read["limits"]}
    assert limits >= {group_commit.PROBE, group_commit.GREEDY, group_commit.FORCES}
    assert "get and put: ours / raw group commit, 3 in flight" in read["ratios"]


def test_response_time(tmp_path: Path) -> None:
    parameters = mqi_response_time.Parameters((10, 5000), 6, 30.0)
    result = mqi_response_time.run(parameters, tmp_path, ignore_report)
    read = written(result, tmp_path)
    points = {(each["name"], each["labels"]["bytes"], each["labels"]["persistence"]) for each in read["measurements"]}
    assert len(points) == 3 * 2 * 2
    assert all(each["count"] == 6 for each in read["measurements"])
    for each in read["measurements"]:
        shares = each["percentiles"]
        assert shares["50"] <= shares["90"] <= shares["99"]
    assert result.chart is not None
    assert set(result.chart.lines) == {"non-persistent", "persistent", "limit, non-persistent", "limit, persistent"}


@pytest.mark.slow
def test_verb_timing(tmp_path: Path) -> None:
    read = written(mqi_verb_timing.run(mqi_verb_timing.Parameters(3, 64, 60.0), tmp_path, ignore_report), tmp_path)
    assert read["parameters"]["turns_done"] == 3
    counts = {each["name"]: each["count"] for each in read["measurements"]}
    assert set(counts.values()) == {3}
    verbs = {name.split(",")[0].split()[0] for name in counts}
    assert verbs == {
        "MQCONN", "MQDISC", "MQOPEN", "MQCLOSE", "MQPUT", "MQPUT1", "MQGET", "MQCMIT", "MQBACK", "MQBEGIN",
        "MQINQ", "MQSET", "MQSTAT", "MQCRTMH", "MQDLTMH", "MQSETMP", "MQINQMP", "MQDLTMP", "MQBUFMH", "MQMHBUF",
        "MQCB", "MQCTL",
    }  # fmt: skip


@pytest.mark.slow
def test_memory(tmp_path: Path) -> None:
    read = written(memory.run(memory.Parameters(3000, 64), tmp_path, ignore_report), tmp_path)
    kinds = {each["labels"]["messages"] for each in read["measurements"]}
    assert kinds == {"non-persistent", "persistent"}
    assert read["aims"] == [], "the aim is for a million messages"


@pytest.mark.slow
def test_restart(tmp_path: Path) -> None:
    read = written(restart.run(restart.Parameters(2500, 64, 1), tmp_path, ignore_report), tmp_path)
    rates = {each["labels"]["messages"]: each for each in read["measurements"] if each["name"] == "rate"}
    assert set(rates) == {restart.FROM_LOG, restart.FROM_FILE}
    assert read["aims"][0]["measured"] == rates[restart.FROM_LOG]["median"]


def test_driver_overhead(tmp_path: Path) -> None:
    result = driver_overhead.run(driver_overhead.Parameters((1, 3), 2048, 2, 0.02), tmp_path, ignore_report)
    read = written(result, tmp_path)
    who = [(each["labels"]["who"], each["labels"]["connections"]) for each in read["measurements"]]
    assert set(who) == {(name, count) for name in (driver_overhead.DRIVER, driver_overhead.RATED) for count in (1, 3)}
    for count in (1, 3):
        driver = result.find(driver_overhead.TIME, who=driver_overhead.DRIVER, connections=count).median
        bare = result.find(driver_overhead.TIME, who=driver_overhead.BARE, connections=count).median
        assert read["ratios"][f"driver / bare socket loop, {count} connections"] == pytest.approx(driver / bare)


def test_a_log_for_a_million_messages_holds_them_without_a_checkpoint() -> None:
    log = restart.log_for(restart.FULL)
    assert log.primary_files * log.file_bytes() // 4 > 1_000_000 * 1500
    assert log.primary_files + log.secondary_files <= 511


def test_every_benchmark_has_a_name_and_an_end() -> None:
    known = all_benchmarks()
    assert set(known) == {
        "put-get-cost", "mqi-verb-timing", "mqi-response-time", "mqsc-define", "mqsc-display", "depth",
        "group-commit", "memory", "chlauth-restart", "chlauth-connect-cost", "connections", "request-reply", "restart",
        "driver-overhead", "topic-matching",
    }  # fmt: skip
    assert all(each.seconds_max > 0 and each.title for each in known.values())


def test_topic_matching(tmp_path: Path) -> None:
    result = topic_matching.run(topic_matching.Parameters(40, 2, 7), tmp_path, ignore_report)
    read = written(result, tmp_path)
    what = {each["labels"]["what"] for each in read["measurements"]}
    assert what == {
        topic_matching.MATCHING,
        topic_matching.NONE,
        topic_matching.SOME,
        topic_matching.SUBSCRIBING,
    }
    assert {each["labels"]["subscriptions"] for each in read["measurements"]} == {10, 40}
    assert [aim["limit"] for aim in read["aims"]] == [1.3]
    few = result.find(topic_matching.TIME, what=topic_matching.SUBSCRIBING, subscriptions=10).median
    many = result.find(topic_matching.TIME, what=topic_matching.SUBSCRIBING, subscriptions=40).median
    assert read["aims"][0]["measured"] == pytest.approx(many / few)


def test_topics_with_wildcards_are_all_different() -> None:
    made = list(islice(topic_matching.patterns(), 1000))
    assert len(set(made)) == 1000
    assert sum(is_character for _, is_character in made) == 200
    assert all(any(sign in topic for sign in ("?*" if is_character else "#+")) for topic, is_character in made)
