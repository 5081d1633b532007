"""Facts of a queue manager for the checks of tuning: qm.ini, its file systems, and MQSC displays while it runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import psutil

from ostler.lab.sampling.facts import local_ports
from ostler.lab.sizing.tuning import QueueFacts, TuningFacts, attributes_of
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import QueueManagerIni

RunMqsc = Callable[[str], list[str]]
"""Runs MQSC and returns its lines. None is given while the queue manager does not run."""


def gather_tuning(directory: QueueManagerDirectory, mqsc: RunMqsc | None) -> TuningFacts:
    """Return the facts of a queue manager. Raises ConfigurationError when its qm.ini is wrong."""
    settings = QueueManagerIni.read(directory.ini).settings
    log_path = Path(settings.log.path) if settings.log.path else directory.log
    status: dict[str, str] = {}
    queues: tuple[QueueFacts, ...] = ()
    if mqsc is not None:
        status = next(iter(attributes_of(mqsc("DISPLAY QMSTATUS ALL"))), {})
        queues = tuple(
            QueueFacts(each["QUEUE"], _whole(each, "CURDEPTH"), _whole(each, "IPPROCS"), _whole(each, "OPPROCS"))
            for each in attributes_of(mqsc("DISPLAY QSTATUS(*) CURDEPTH IPPROCS OPPROCS"))
            if not each.get("QUEUE", "SYSTEM.").startswith("SYSTEM.")
        )
    return TuningFacts(
        data_device=_device(directory.path),
        log_device=_device(log_path),
        log_primary_files=settings.log.primary_files,
        log_secondary_files=settings.log.secondary_files,
        log_file_pages=settings.log.file_pages,
        log_buffer_pages=settings.log.buffer_pages,
        queue_buffer_bytes=settings.tuning.queue_buffer_bytes,
        memory_bytes=psutil.virtual_memory().total,
        ports=local_ports(),
        log_used_percent=_whole(status, "LOGUTIL") if status else None,
        log_write_us=_whole(status, "LOGWRLAT") if status else None,
        queues=queues,
    )


def _whole(attributes: dict[str, str], name: str) -> int:
    text = attributes.get(name, "")
    return int(text) if text.isdigit() else 0


def _device(path: Path) -> int:
    """Return the device of a directory, or of the nearest one above it that exists."""
    return os.stat(next(each for each in (path, *path.parents) if each.exists())).st_dev
