"""When a sweep ends: at its peak, when responses take too long, when nothing more can be had."""

from __future__ import annotations

import pytest

from ostler.lab.runner.stop_rules import StepOutcome, reason_to_stop
from ostler.lab.scenarios.model import StopKind, StopRule


def outcomes(*rates: float, mean: float = 0.01, asked: float = 0.0) -> list[StepOutcome]:
    return [StepOutcome(f"requesters {number}", rate, mean, asked) for number, rate in enumerate(rates)]


@pytest.mark.parametrize("kind", [StopKind.SWEEP, StopKind.SAMPLES, StopKind.EVENT])
def test_some_sweeps_go_to_their_end(kind: StopKind) -> None:
    assert reason_to_stop(StopRule(kind, 1.0), outcomes(100, 50, 10, 1, mean=5.0)) == ""


def test_without_a_rule_or_a_step_nothing_stops() -> None:
    assert reason_to_stop(None, outcomes(1)) == ""
    assert reason_to_stop(StopRule(StopKind.PEAK), []) == ""


class TestPeak:
    RULE = StopRule(StopKind.PEAK)

    def test_goes_on_while_the_rate_rises(self) -> None:
        assert reason_to_stop(self.RULE, outcomes(10, 20, 30, 40)) == ""

    def test_one_lower_step_may_have_been_disturbed(self) -> None:
        assert reason_to_stop(self.RULE, outcomes(10, 20, 15)) == ""
        assert reason_to_stop(self.RULE, outcomes(10, 20, 15, 25)) == ""

    def test_stops_when_the_rate_rises_no_more(self) -> None:
        reason = reason_to_stop(self.RULE, outcomes(10, 2000, 1990, 1500))
        assert "2,000 a second at requesters 1" in reason

    def test_a_gain_within_the_noise_is_none(self) -> None:
        assert reason_to_stop(self.RULE, outcomes(1000, 1001, 1002)) != ""

    def test_failed_steps_do_not_count(self) -> None:
        failed = StepOutcome("requesters 9", 0.0, None, 0.0, "it broke")
        assert reason_to_stop(self.RULE, [*outcomes(10, 20), failed, failed]) == ""


class TestResponseTime:
    RULE = StopRule(StopKind.RESPONSE_TIME, 1.0)

    def test_stops_behind_the_step_that_passed_it(self) -> None:
        assert reason_to_stop(self.RULE, outcomes(10, mean=0.99)) == ""
        assert "passed 1 s at requesters 0 (1.01 s)" in reason_to_stop(self.RULE, outcomes(10, mean=1.01))

    def test_a_step_in_which_nothing_was_answered_says_nothing(self) -> None:
        assert reason_to_stop(self.RULE, [StepOutcome("requesters 1", 0.0, None)]) == ""


class TestCapacity:
    RULE = StopRule(StopKind.CAPACITY)

    def test_stops_when_clients_do_not_connect(self) -> None:
        failed = StepOutcome("requesters 9", 0.0, None, 0.0, "too many open files")
        assert "too many open files" in reason_to_stop(self.RULE, [failed])

    def test_stops_when_producers_fall_behind(self) -> None:
        assert reason_to_stop(self.RULE, outcomes(1590, asked=1600)) == ""
        assert "1,500 of 1,600" in reason_to_stop(self.RULE, outcomes(1500, asked=1600))


class TestSuccessivePoints:
    RULE = StopRule(StopKind.RESPONSE_TIME, 1.0, after=3, only={"message_bytes": 204_800})

    @staticmethod
    def steps(*means: float | None, size: int = 204_800) -> list[StepOutcome]:
        return [
            StepOutcome(
                f"requesters {at}", 10.0, mean, failure="" if mean else "it broke", points={"message_bytes": size}
            )
            for at, mean in enumerate(means)
        ]

    def test_the_sweep_ends_after_several_points_over_the_limit(self) -> None:
        assert reason_to_stop(self.RULE, self.steps(0.5, 1.5, 2.0)) == ""
        why = reason_to_stop(self.RULE, self.steps(0.5, 1.5, 2.0, 2.5))
        assert why == "the mean response time passed 1 s at 3 successive points, the last of them requesters 3 (2.50 s)"

    def test_a_point_below_the_limit_or_a_failed_one_interrupts_them(self) -> None:
        assert reason_to_stop(self.RULE, self.steps(1.5, 0.9, 1.5, 2.0)) == ""
        assert reason_to_stop(self.RULE, self.steps(1.5, None, 1.5, 2.0)) == ""

    def test_the_rule_is_for_some_points_only(self) -> None:
        assert reason_to_stop(self.RULE, self.steps(2.0, 2.0, 2.0, 2.0, size=20_480)) == ""
