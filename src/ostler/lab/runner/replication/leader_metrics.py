"""Counters of a queue manager that was started by strmqm, read by a function that runs inside it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ostler.client.locate import registry
from ostler.lab.runner.queue_managers.child import read_metrics

TARGET = f"{__name__}:write_metrics"
"""The function, as `run_trusted` takes it. Its arguments are the name of the queue manager and a file."""


def write_metrics(queue_manager: str, path: str) -> int:
    """Write the counters to a file, which is complete as soon as it is there."""
    found = read_metrics(registry.find(queue_manager))
    made = Path(f"{path}.new")
    made.write_text(json.dumps(found), encoding="utf-8")
    os.replace(made, path)
    return 0
