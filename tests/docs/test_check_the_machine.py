"""The page about checking the machine tells of every flag and its limit, and of every finding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ostler.lab.sampling import doctor, flags
from ostler.lab.sampling.doctor import Fitness

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "check-the-machine.md"
SOURCE = Path(flags.__file__)

pytestmark = pytest.mark.skipif(
    not PAGE.exists() or SOURCE.suffix != ".py", reason="the documentation or the sources are not beside the tests"
)


def test_every_flag_is_on_the_page_and_no_other() -> None:
    raised = set(re.findall(r'Flag\(\s*"([a-z-]+)"', SOURCE.read_text()))
    _, _, table = PAGE.read_text().partition("| flag | when |")
    assert raised == set(re.findall(r"`([a-z]+-?[a-z]*)`", table))
    assert len(raised) == 12


def test_limits_on_the_page_are_those_of_the_code() -> None:
    text = PAGE.read_text()
    limits = flags.LIMITS
    assert f"more than {limits.driver_core_percent:.0f} % of a core" in text
    assert f"for more than {limits.core_wait_percent:.0f} % of the time: response" in text
    assert f"took more than {limits.steal_percent:.0f} % of all" in text
    assert f"used more than {limits.others_percent:.0f} % of the machine" in text
    assert f"differed by more than {limits.noise_percent:.0f} %" in text
    assert f"busy for more than {limits.busy_percent:.0f} % of the time" in text
    assert f"more than {limits.sample_seconds:.0f} seconds after" in text
    assert f"less than {limits.memory_available_bytes >> 20} MiB" in text
    assert f"{limits.disk_free_bytes >> 30} GiB of disk" in text
    assert limits.seconds_fraction == 0.1
    assert text.count("a tenth of it") == 2


def test_every_finding_and_verdict_is_on_the_page() -> None:
    before, _, _ = PAGE.read_text().partition("## The same")
    for check in doctor.CHECKS:
        name = {"forces": "forced writes", "others": "other work"}.get(check.__name__, check.__name__.replace("_", " "))
        assert name in before
    for verdict in Fitness:
        assert f"| {verdict} |" in before
