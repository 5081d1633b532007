"""Loads of the load families from their scenarios: every scenario, every step, full and quick."""

from __future__ import annotations

import pytest

from ostler.lab.families.load_points import LoadPoint, load_point, session_point
from ostler.lab.families.publish_points import one_way_point, publish_point
from ostler.lab.families.set_up.queue_manager_plans import LOGS_BYTES_MAX, fitted_log
from ostler.lab.load import spec
from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Binding, Scenario
from ostler.lab.scenarios.steps import steps
from ostler.server.config.qm_ini import LogManagement, LogType

ONE_WAY = ("point-to-point", "pass-through")
LOADS = [
    "request-reply",
    "large",
    "rated",
    "trusted",
    "capacity",
    "queue-sets",
    "tls",
    "jms-messages",
    "logging",
    "implicit-syncpoint",
    "file-systems",
    "private-queues",
    "appliance",
    "short-session",
    "point-to-point",
    "pass-through",
    "publish-subscribe",
]
ALL = catalogue().scenarios.values()
SCENARIOS = [each for each in ALL if each.family in LOADS and catalogue().readiness(each).can_run]


def points(scenario: Scenario, is_quick: bool = False) -> list[LoadPoint]:
    read = one_way_point if scenario.family in ONE_WAY else load_point
    if scenario.family == "short-session":
        read = session_point
    elif scenario.family == "publish-subscribe":
        read = publish_point
    readiness = catalogue().readiness(scenario)
    return [read(scenario, step) for step in steps(scenario, readiness, is_quick)]


def of(name: str, is_quick: bool = False) -> list[LoadPoint]:
    return points(catalogue().find(name), is_quick)


def test_there_are_scenarios_of_every_load_family() -> None:
    assert {each.family for each in SCENARIOS} == set(LOADS)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.id)
@pytest.mark.parametrize("is_quick", [False, True], ids=["full", "quick"])
def test_every_step_is_a_load_that_can_be(scenario: Scenario, is_quick: bool) -> None:
    for point in points(scenario, is_quick):
        assert point.requesters >= 1
        assert point.responders >= point.pairs * point.managers
        assert point.body_bytes >= 1
        assert point.managers in (1, 10)
        assert point.manager.log.primary_files >= 2
        fitted = fitted_log(point.manager.log, point.managers, LOGS_BYTES_MAX)
        assert fitted.primary_files * fitted.file_bytes() * point.managers <= LOGS_BYTES_MAX


def test_request_reply_as_the_report_has_it() -> None:
    found = of("client-rr-pm")
    assert [each.requesters for each in found][-1] == 120
    assert {(each.pairs, each.body_bytes, each.persistent, each.units) for each in found} == {
        (1, 2048, True, spec.EVERYBODY)
    }
    assert found[0].requester_binding is Binding.CLIENT
    assert found[0].responder_binding is Binding.LOCAL
    assert found[0].manager.log.buffer_pages == 512


def test_sizes_are_swept_and_large_messages_have_a_large_log() -> None:
    small, large = (
        next(each for each in of("local-large-pm") if each.body_bytes == size) for size in (20_480, 204_800)
    )
    assert (small.manager.log.primary_files, large.manager.log.primary_files) == (4, 12)


def test_rated_load() -> None:
    assert {each.rate_per_second for each in of("client-rated-np")} == {1.0}
    assert [round(each.rate_per_second * 3600) for each in of("client-capacity-c6000")] == [60, 100, 150, 200, 300]
    assert {each.requesters for each in of("client-capacity-c6000")} == {6000}


def test_private_queues_have_one_application_for_each_pair() -> None:
    found = of("zos-pq-np-out-scal")
    assert [(each.requesters, each.responders) for each in found] == [(each.pairs, each.pairs) for each in found]
    assert not found[0].goes_round
    single = of("zos-pq-np-in-single")[0]
    assert (single.requesters, single.responders, single.pairs, single.units) == (5, 4, 1, spec.RESPONDERS)


def test_queue_managers_of_the_appliance() -> None:
    found = of("appl-c4")[0]
    assert (found.managers, found.pairs, found.responders) == (10, 10, 300)


def test_options_that_are_compared() -> None:
    assert [each.responder_binding for each in of("local-trusted-np", True)] == [
        Binding.LOCAL,
        Binding.LOCAL,
        Binding.TRUSTED,
        Binding.TRUSTED,
    ]
    assert {each.manager.cipher_spec for each in of("rr-cc-tls-np", True)} == {"", "ECDHE_RSA_AES_256_GCM_SHA384"}
    systems = {(each.persistent, each.on_tmpfs) for each in of("rr-bb-filesystem")}
    assert systems == {(False, False), (True, False), (True, True)}


def test_logs_that_are_compared() -> None:
    logs = {(each.manager.log.type, each.manager.log.management) for each in of("linear-vs-circular-logging")}
    assert logs == {
        (LogType.CIRCULAR, LogManagement.MANUAL),
        (LogType.LINEAR, LogManagement.AUTOMATIC),
        (LogType.LINEAR, LogManagement.MANUAL),
    }


def test_sessions_keep_the_rate_of_their_round_trips() -> None:
    found = of("client-short-session")[0]
    assert (found.session_round_trips, found.rate_per_second) == (5, 0.2)
    assert found.rate_of_all == pytest.approx(found.requesters), "round trips a second, and not sessions"
