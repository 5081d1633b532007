"""Deviations from the reports of publish/subscribe and of z/OS: declared for every scenario, in sentences."""

from __future__ import annotations

import pytest

from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Scenario

REPORTS = ("pubsub-v701", "zos-v71")
MEASURED = [each for each in catalogue().scenarios.values() if each.report.name in REPORTS and each.is_measured]


@pytest.mark.parametrize("scenario", MEASURED, ids=lambda each: each.id)
def test_deviations_are_sentences_with_a_reason(scenario: Scenario) -> None:
    assert len(scenario.deviations) >= 4, "those of the whole report"
    assert len({each.what for each in scenario.deviations}) == len(scenario.deviations)
    for each in scenario.deviations:
        assert each.what[0].isupper()
        assert not each.what.endswith(".")
        assert each.why[0].isupper()
        assert each.why.endswith(".")


@pytest.mark.parametrize("scenario", MEASURED, ids=lambda each: each.id)
def test_every_printed_point_is_swept(scenario: Scenario) -> None:
    for sweep in scenario.sweeps:
        assert set(sweep.printed) <= set(sweep.values), sweep.name


def test_sizes_of_a_scenario_are_those_of_its_sweep() -> None:
    for scenario in MEASURED:
        swept = [set(sweep.values) for sweep in scenario.sweeps if sweep.name == "message_bytes"]
        if scenario.message_bytes and swept:
            assert set(scenario.message_bytes) == swept[0], scenario.id


def test_the_report_of_zos_had_accounting_switched_on() -> None:
    assert {each.name: each.accounting for each in catalogue().reports.values() if each.name in REPORTS} == {
        "pubsub-v701": False,
        "zos-v71": True,
    }


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("zos-chl-1-4-ssl", "ECDHE_RSA_AES_256_GCM_SHA384"),
        ("zos-chl-10-50-ssl", "ECDHE_RSA_AES_256_GCM_SHA384"),
        ("zos-csa-usage", "resident memory"),
        ("zos-connection-storage", "three queues open"),
        ("zos-object-sizes", "files of the queue manager"),
        ("zos-channel-footprint", "both queue managers"),
        ("topic-tree-multi-pass", "whole unused branch"),
        ("display-tpstatus-1m", "dead-letter queue"),
        ("pubsub-1n-np", "no Java programs"),
        ("pubsub-1n-pm", "fewer than five messages"),
        ("appl-ha1", "processes of this machine"),
        ("appl-hadr2", "circular log"),
        ("appl-ha2-latency", "relay that delays every byte"),
        ("appl-generation-comparison", "processes of this machine"),
        ("ha-failover", "processes of this machine"),
    ],
)
def test_what_cannot_be_as_in_the_report_is_declared(name: str, words: str) -> None:
    assert any(words in each.what for each in catalogue().find(name).deviations)
