"""Restarts that are closed while they run: nothing is started any more."""

from __future__ import annotations

import time

import pytest

from ostler.lab.families.restart import Restarts, RestartTimes
from ostler.lab.load.timeline import Timeline
from ostler.lab.runner.contract import PointFailed, PointSpec, ProgressSample


class Unheard:
    def on_progress(self, moment: ProgressSample) -> None:
        return


class Closed(Restarts):
    """Somebody closes it in the middle of a restart."""

    def __init__(self, at: int) -> None:
        super().__init__(PointSpec(1, 0, True))
        self.done = 0
        self._at = at

    def restart(self) -> RestartTimes:
        self.done += 1
        if self.done == self._at:
            self.close()
        return RestartTimes(0.001, 0.001)


def test_no_restart_follows_the_one_in_which_it_was_closed() -> None:
    restarts = Closed(3)
    with pytest.raises(PointFailed, match="closed while it ran"):
        restarts.run(Timeline.starting(time.perf_counter_ns(), 0, 0.2, 0), Unheard())
    assert restarts.done == 3
