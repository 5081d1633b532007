"""The page on the pipeline says what the code does: numbers, and the picture of the law."""

from __future__ import annotations

import pytest
from tests.docs.scaling_picture import PICTURE, fitted, measured, picture

PAGE = PICTURE.parents[1] / "explanation" / "pipeline.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def test_the_picture_is_that_of_the_figures() -> None:
    assert PICTURE.read_text() == picture(), "python -m tests.docs.scaling_picture draws it again"


def test_the_figures_of_the_law_are_those_of_the_page() -> None:
    points = measured()
    law, early = fitted(points), fitted(points[:-1])
    text = " ".join(PAGE.read_text().split())
    assert all(abs(law.rate(number) / rate - 1) < 0.01 for number, rate in points)
    assert f"lambda is {law.single:,.0f}, sigma {law.sigma:.3f}, kappa {law.kappa:.5f}" in text
    assert f"at most {law.rate(law.peak):,.0f} messages a second, with {law.peak:.0f} subscribers" in text
    number, rate = points[-1]
    assert f"{early.rate(number):,.0f} for {number} subscribers; {rate:,} were measured" in text


def test_the_numbers_are_those_of_the_code() -> None:
    pytest.importorskip("pyspark")
    from ostler.pipeline.steps.peaks import KNEE_PERCENT_LEAST
    from ostler.pipeline.steps.universal_scalability import STEPS_LEAST
    from ostler.pipeline.steps.verdicts import TOLERANCE_PERCENT, UNKNOWN_NOISE_PERCENT

    text = " ".join(PAGE.read_text().split())
    assert f"{TOLERANCE_PERCENT:g} %" in text
    assert f"{UNKNOWN_NOISE_PERCENT:g} % are assumed" in text
    assert f"at least {KNEE_PERCENT_LEAST:g} % of the peak" in text
    assert f"at least {STEPS_LEAST} different numbers of clients" in text
