"""The workload of a scenario in words."""

from __future__ import annotations

from typing import Any

import pytest

from ostler.lab.scenarios.as_json import whole
from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report.workload import join_words, workload_sentences


def sentences(name: str, **measured: Any) -> str:
    scenario = catalogue().scenarios[name]
    return " ".join(workload_sentences(whole(scenario, catalogue().readiness(scenario)), measured))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("client-rr-pm", "Requesters, connected as clients over TCP: put a request"),
        ("client-rr-pm", "20 or 40 responders, bound locally to the queue manager: get with unlimited wait"),
        ("client-rr-pm", "Messages of 2 KB are persistent, inside units of work for all applications."),
        ("client-rr-pm", "Each sends the next message as soon as it has the reply to the last one."),
        ("client-rr-pm", "the report prints 64, 100 and 120"),
        ("local-rr-np", "Requesters, inside the process of the queue manager (trusted): "),
        ("pubsub-1n-np", "1 publisher, connected as a client over TCP: publish to one topic"),
        ("pubsub-multi-np", "1 subscriber for each triplet, connected as a client over TCP: "),
        ("pubsub-multi-np", "Each sends 1,600 a second, on a fixed schedule; one that is late sends at once"),
        ("dq-capacity-qmax", "Each sends one every 60 seconds: when it has its reply, and that time has passed"),
        ("client-rated-np", "Each sends one every second: when it has its reply, and that time has passed"),
        ("dq-rr-np", "There are 2 queue managers, 1 pair of queues for requests and replies and 4 pairs of message"),
        ("client-short-session", "A sweep ends when the mean response time passes 1 s at 3 successive points."),
        ("local-large-pm", "passes 1 s at 3 successive points, with messages of 200 KB only."),
        ("mqi-response-time", "Swept: the size of messages 50 bytes, 256 bytes, 1 KB"),
        ("mqi-response-time", "The report takes 5,000 measurements of each point."),
        ("linear-vs-circular-logging", "circular | circular, oversized | linear, extents reused"),
        ("topic-scavenger-idle-100k", "No messages are sent while it is measured."),
    ],
)
def test_the_workload_is_told_in_sentences(name: str, told: str) -> None:
    assert told in sentences(name)


def test_measured_points_stand_beside_those_of_the_report() -> None:
    assert "7, 9 and 20; measured here: 1 and 4." in sentences("client-rr-np", requesters=[1, 4])
    assert "measured here" not in sentences("client-rr-np")


def test_a_sweep_without_printed_points_says_nothing_of_the_report() -> None:
    told = sentences("triggered-sessions", disconnect_interval_ms=[0, 2000])
    assert "disconnect interval ms 0, 500, 2,000 and 10,000 ms; measured here: 0 and 2,000 ms." in told


def test_every_scenario_has_sentences_that_end() -> None:
    for name, scenario in catalogue().scenarios.items():
        if scenario.is_measured:
            made = workload_sentences(whole(scenario, catalogue().readiness(scenario)))
            assert made, name
            assert [each for each in made if not each.endswith(".") or "None" in each or ".." in each] == [], name


def test_a_damaged_workload_is_told_as_far_as_it_goes() -> None:
    assert workload_sentences({}) == []
    assert workload_sentences({"roles": None, "load": "closed", "stop": 3, "sweeps": [1], "message_bytes": "x"}) == []
    assert workload_sentences({"load": {"kind": "rated"}}) == []


def test_words_are_joined_as_people_do() -> None:
    assert [join_words(each) for each in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
