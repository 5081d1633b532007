"""Figures of a member's shared message data sets, taken by a function that runs inside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from ostler.client.locate import registry
from ostler.server.coupling.data_sets.offload_service import OffloadService

TARGET: Final = f"{__name__}:write_figures"
"""The function, as `run_trusted` takes it. Its arguments are the name of the queue manager and a file."""


def write_figures(queue_manager: str, path: str) -> int:
    """Write the figures of a member's data sets since the last call to a file, as a list of structures."""
    manager = registry.find(queue_manager)
    sharing = manager.engine.sharing
    found: list[dict[str, object]] = []
    if sharing is not None and isinstance(sharing.offload, OffloadService):
        for name, each in list(sharing.offload.structures.items()):
            figures = each.sets.usage(resets=True).figures
            found.append(
                {
                    "structure": name,
                    "requests": int(figures.requests),
                    "waits": int(figures.waits),
                    "reads": int(figures.reads),
                    "reads_saved": int(figures.reads_saved),
                    "lowest_free": int(figures.lowest_free),
                }
            )
    Path(path).write_text(json.dumps(found), encoding="utf-8")
    return 0
