"""The page about copies of a queue manager names every frame between them."""

from __future__ import annotations

from pathlib import Path

from ostler.wire import frames

PAGE = Path(__file__).parents[2] / "docs/explanation/replication.md"


def test_every_type_of_frame_between_copies() -> None:
    rows = [line.split("|")[1:3] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    told = {row[0].strip(): int(row[1]) for row in rows if row[1].strip().isdecimal()}
    first, behind = frames.REPLICA_HELLO, frames.CF_HELLO
    assert told == {name: kind for kind, name in frames.TYPE_NAMES.items() if first <= kind < behind}
