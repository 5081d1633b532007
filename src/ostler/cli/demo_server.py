"""The part of the demonstration with a queue manager as a server: how long until a first message has passed through."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NAME: Final = "SERVED"
_QUEUE: Final = "DEMO.SERVED"
_SECONDS_MAX: Final = 60


class ServerFailed(Exception):
    """A command or a message did not do what it should; the words say what came instead."""


@dataclass(frozen=True)
class FirstMessage:
    """Seconds that crtmqm took, that strmqm took, and from its call until a message was put and got."""

    create: float
    start: float
    first: float


def first_message(root: Path) -> FirstMessage:
    """Create a queue manager, start it, exchange a message with it, end it and delete it. Raises ServerFailed."""
    began = time.perf_counter()
    _command(root, "crtmqm", "-z", NAME)
    create = time.perf_counter() - began
    try:
        began = time.perf_counter()
        _command(root, "strmqm", "-z", NAME)
        start = time.perf_counter() - began
        try:
            _exchange(root)
            first = time.perf_counter() - began
        finally:
            _command(root, "endmqm", "-z", "-i", NAME)
    finally:
        _command(root, "dltmqm", "-z", NAME)
    return FirstMessage(create, start, first)


def _exchange(root: Path) -> None:
    import ostler

    try:
        with ostler.connect(NAME, data=root, binding="local", application="ostler demo") as connection:
            connection.define("QLOCAL", _QUEUE, replace=True)
            with connection.open(_QUEUE) as queue:
                queue.put("hello")
                found = queue.get()
    except ostler.MQError as error:
        raise ServerFailed(f"the first message did not pass: {error}") from error
    if found is None or found.text != "hello":
        raise ServerFailed(f"the first message came back as {found!r}")


def _command(root: Path, *arguments: str) -> None:
    environment = {**os.environ, "OSTLER_DATA": str(root)}
    command = [sys.executable, "-m", "ostler.cli.main", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS_MAX, check=False)
    if done.returncode:
        raise ServerFailed(f"ostler {' '.join(arguments)} exited with {done.returncode}: {done.stderr.strip()}")
