"""The memory limit of this process, and its shares for messages on links and long messages on queues."""

from __future__ import annotations

import ctypes
import resource
from pathlib import Path
from typing import Final

# The most that all links together may hold of messages on their way.
LINK_BYTES_MAX: Final = 1 << 30
# The least, however little memory there is: one message of usual size must pass.
LINK_BYTES_MIN: Final = 16 << 20
# The most for long messages on queues; the others are in the queue files only.
LONG_MESSAGE_BYTES_MAX: Final = 1 << 30
_LONG_MESSAGES_SHARE: Final = 8
# The rest is for the program itself, queue buffers, the log, and copies while a message is put together.
_LINK_SHARE: Final = 4
_UNLIMITED: Final = 1 << 62
_KIBIBYTE: Final = 1024
# For glibc's mallopt. Each arena reserves 64 MB of address space, and may keep memory that its threads have freed.
_M_ARENA_MAX: Final = -8
_ARENAS: Final = 2


def long_message_bytes_max(allowed: int | None = None) -> int:
    """Return the bytes of long messages on queues that may stay in memory."""
    share = (allowed_bytes() if allowed is None else allowed) // _LONG_MESSAGES_SHARE
    return min(LONG_MESSAGE_BYTES_MAX, share)


def link_bytes_max(allowed: int | None = None) -> int:
    """Return the bytes of messages on their way that all links may hold together."""
    share = (allowed_bytes() if allowed is None else allowed) // _LINK_SHARE
    return max(LINK_BYTES_MIN, min(LINK_BYTES_MAX, share))


def allowed_bytes(root: Path = Path("/")) -> int:
    """Return the lowest of RLIMIT_AS, RLIMIT_DATA, the limits of control groups (version 1 and 2) and physical memory.

    `root` is the parent of /proc and /sys. Limits that cannot be read are ignored.
    """
    limits = [_physical_bytes(root), *_group_limits(root)]
    for each in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft, _ = resource.getrlimit(each)
        if soft != resource.RLIM_INFINITY:
            limits.append(soft)
    return min(limits)


def _physical_bytes(root: Path) -> int:
    for line in _lines(root / "proc/meminfo"):
        name, _, rest = line.partition(":")
        words = rest.split()
        if name == "MemTotal" and words and words[0].isdigit():
            return int(words[0]) * _KIBIBYTE
    return _UNLIMITED


def _group_limits(root: Path) -> list[int]:
    """Return the limits of the control groups of this process and of their ancestors."""
    found: list[int] = []
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and controllers == "":
            found += _limits_above(root / "sys/fs/cgroup", path, "memory.max")
        elif "memory" in controllers.split(","):
            found += _limits_above(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes")
    return found


def _limits_above(mounted: Path, path: str, name: str) -> list[int]:
    """Return the limits of a group and its ancestors. In a container only the top group may be visible."""
    found: list[int] = []
    at = mounted
    for part in ["", *(each for each in path.split("/") if each not in ("", "."))]:
        at = at / part
        found += [int(line) for line in _lines(at / name)[:1] if line.isdigit()]  # "max" means no limit
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []


def bound_malloc_arenas() -> None:
    """Limit the C library to two malloc arenas. Call it before threads are started.

    By default glibc gives each thread an arena of its own, which a process with RLIMIT_AS soon cannot afford.
    """
    try:
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)
    except (AttributeError, OSError):
        return


def give_memory_back() -> None:
    """Have the C library return freed memory to the system (malloc_trim), where it can."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        return
