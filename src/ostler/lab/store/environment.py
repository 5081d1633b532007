"""The environment in a run's manifest: machine, kernel, disk, versions and flavour."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import ssl
import subprocess
from collections.abc import Iterable
from pathlib import Path

import psutil

import ostler
from ostler.lab.common.hardware import describe_device, describe_forces, describe_processors
from ostler.lab.common.machine import describe, is_compiled

_PACKAGES = ("pyarrow", "psutil", "librt", "pika", "nats-py", "paho-mqtt", "redis", "stomp.py")
_GIT_SECONDS_MAX = 10
# Enough for a median, and short enough for every run.
_FORCES = 100
_FORCE_SECONDS_MAX = 1.0


def describe_environment(directory: Path) -> dict[str, object]:
    """Describe all that affects results; `directory` is where queue managers are made."""
    return {
        "machine": describe(directory),
        "kernel": {"release": platform.release(), "version": platform.version(), "architecture": platform.machine()},
        "disk": {**_disk(directory), **describe_device(directory)},
        "force": describe_forces(directory, _FORCES, _FORCE_SECONDS_MAX),
        "processors": describe_processors(),
        "limits": {"descriptors": _descriptors()},
        "versions": {"ostler": ostler.__version__, "python": _python(), **_versions(_PACKAGES), **_libraries()},
        "compiled": is_compiled(),
        "revision": revision(Path(ostler.__file__).resolve().parent),
    }


def _python() -> str:
    return f"{platform.python_implementation()} {platform.python_version()}"


def _libraries() -> dict[str, str]:
    return {"openssl": ssl.OPENSSL_VERSION, "libc": " ".join(platform.libc_ver())}


def _versions(packages: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _descriptors() -> int:
    return psutil.Process().rlimit(psutil.RLIMIT_NOFILE)[1]


def _disk(directory: Path) -> dict[str, object]:
    """Describe the mounted file system of a directory."""
    usage = shutil.disk_usage(directory)
    found: dict[str, object] = {"total_bytes": usage.total, "free_bytes": usage.free}
    device = directory.stat().st_dev
    for partition in psutil.disk_partitions(all=True):
        try:
            same = os.stat(partition.mountpoint).st_dev == device
        except OSError:
            continue
        if same:
            found.update(device=partition.device, file_system=partition.fstype, options=partition.opts)
            break
    return found


def revision(sources: Path) -> str:
    """Return the git revision of the sources, with `+` when they have changes; empty for an installed package."""
    git = shutil.which("git")
    if git is None or not any((parent / ".git").exists() for parent in sources.parents):
        return ""
    try:
        head = _git(git, sources, "rev-parse", "HEAD")
        return head + ("+" if _git(git, sources, "status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(git: str, directory: Path, *words: str) -> str:
    ended = subprocess.run(
        [git, "-C", str(directory), *words], capture_output=True, text=True, check=True, timeout=_GIT_SECONDS_MAX
    )
    return ended.stdout.strip()
