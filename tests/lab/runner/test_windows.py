"""The length of the measured window."""

from __future__ import annotations

import pytest

from ostler.lab.runner.contract import QUICK, Settings
from ostler.lab.runner.windows import window_seconds
from ostler.lab.scenarios.loader import catalogue


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("client-rr-np", 10.0),
        ("client-rated-np", 10.0),
        ("client-short-session", 10.0),
        ("client-capacity-cmax", 60.0),
        ("client-capacity-c6000", 60.0),
        ("dq-capacity-qmax", 60.0),
        ("appl-connection-scaling", 10.0),
    ],
)
def test_every_client_sends_once(name: str, seconds: float) -> None:
    assert window_seconds(catalogue().find(name), Settings()) == pytest.approx(seconds)


@pytest.mark.parametrize("settings", [QUICK, Settings(measured_seconds=5.0)])
def test_a_shorter_window_that_was_asked_for_is_kept(settings: Settings) -> None:
    assert window_seconds(catalogue().find("client-capacity-cmax"), settings) == settings.measured_seconds


def test_a_longer_one_is_kept() -> None:
    assert window_seconds(catalogue().find("client-capacity-cmax"), Settings(measured_seconds=100.0)) == 100.0
