"""The machine of a run, and the flavour of this installation."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Final

import psutil

from ostler.client.mqi import put_get as mqi

IN_MEMORY: Final = ("tmpfs", "ramfs")
"""File systems that keep nothing: a force costs nothing there."""


def is_compiled() -> bool:
    return not mqi.__file__.endswith(".py")


def flavour() -> str:
    return "compiled" if is_compiled() else "interpreted"


def describe(directory: Path) -> dict[str, object]:
    """Describe the machine as far as it affects results; `directory` is where queue managers are made."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_megabytes": psutil.virtual_memory().total >> 20,
        "file_system": file_system(directory),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def file_system(directory: Path) -> str:
    """Return the type of a directory's file system: a force means nothing on tmpfs."""
    best, kind = "", "unknown"
    path = str(directory.resolve())
    for partition in psutil.disk_partitions(all=True):
        mount = partition.mountpoint
        inside = path == mount or path.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, partition.fstype
    return kind
