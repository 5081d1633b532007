"""What the laboratory reads from commands about copies, and from inside a queue manager that leads."""

from __future__ import annotations

import json
from pathlib import Path

from ostler.lab.runner.queue_managers.plan import QueueManagerPlan
from ostler.lab.runner.queue_managers.process import LabQueueManager
from ostler.lab.runner.replication import leader_metrics


def test_counters_are_those_that_the_queue_manager_has(tmp_path: Path) -> None:
    """Read by a function inside it, as of one that strmqm has started."""
    with LabQueueManager(tmp_path / "data", QueueManagerPlan(commands=("DEFINE QLOCAL(LAB.REQUEST.0)",))) as manager:
        path = tmp_path / "metrics.json"
        manager.call_trusted(leader_metrics.TARGET, manager.name, str(path))
        found = {(source, name) for source, name, _ in json.loads(path.read_text())}
        assert found == {(each.source, each.name) for each in manager.metrics()}
        assert ("queues", "puts") in found
        assert not path.with_name("metrics.json.new").exists()
