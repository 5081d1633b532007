"""An instance of another release as a process of its own: what it announces and knows is changed before it starts.

    python other_release.py newer --root ... --name ... --pipe -1       the arguments are those of ostler.cli.strmqm

    older   version 2 of the frames: it has never heard of side files
    newer   version 4 of the frames, and format 2 of the log
    strict  version 4 of the frames, which it asks for as a leader although it need not

The log on disk is that of this release in any case. It works with interpreted modules only: compiled ones have their
constants inside.
"""

from __future__ import annotations

import os
import sys
from typing import Final, NoReturn

from ostler.cli import strmqm
from ostler.replica import base_side, follower_side, leader_side
from ostler.server.replica import agent
from ostler.server.replica.site import keeper
from ostler.wire.replica_frames import ReplicaHello

NEWER_FORMAT: Final = 2
NEWER_VERSION: Final = 4
OLDER_VERSION: Final = 2


class _Unknown:
    """Stands for a frame that a release does not know."""


def change(release: str) -> None:
    """Make this process one of another release."""
    if release == "older":
        for module in (follower_side, base_side):
            vars(module).update(REPLICA_VERSION=OLDER_VERSION)
        vars(follower_side).update(SideFile=_Unknown)
        vars(leader_side).update(VERSION_WITH_SIDE_FILES=NEWER_VERSION + 1)
        return
    assert release in ("newer", "strict"), release
    for module in (follower_side, base_side):
        vars(module).update(REPLICA_VERSION=NEWER_VERSION)
    if release == "strict":
        vars(agent).update(ReplicaHello=strict_hello)
        return
    for announcer in (follower_side, base_side, agent, keeper):
        vars(announcer).update(FORMAT_VERSION=NEWER_FORMAT)


def strict_hello() -> ReplicaHello:
    """Return the hello of a leader that only followers of its own release can read."""
    hello = ReplicaHello()
    hello.version = NEWER_VERSION
    return hello


def main() -> int:
    release = sys.argv.pop(1)
    change(release)
    execv = os.execv

    def begin_anew(executable: str, program: list[str]) -> NoReturn:
        arguments = program[program.index("--root") :]
        execv(executable, [executable, __file__, release, *arguments])

    vars(os).update(execv=begin_anew)
    return strmqm.main()


if __name__ == "__main__":
    sys.exit(main())
