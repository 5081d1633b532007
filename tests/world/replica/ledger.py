"""What clients of a replicated queue manager were told, and what must be there in the end."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Operation:
    """One unit of work of a client: what it puts and gets, and how it ended."""

    number: int
    leader: str
    term: int
    epoch: int
    puts: list[bytes] = field(default_factory=list)
    gets: list[bytes] = field(default_factory=list)
    is_acknowledged: bool = False
    lsn: int = 0
    """Acknowledged: all up to here was durable then."""
    is_backed_out: bool = False
    """It was never committed: it must leave nothing."""
    prepared: bytes = b""
    """The XID of a unit that was prepared; its end is told with the next operation on it."""


class Ledger:
    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.acknowledged = 0
        self.lives_told: dict[int, int] = {}
        """Of each life with a reply: the LSN at which it began."""

    def begin(self, leader: str, term: int, epoch: int) -> Operation:
        operation = Operation(len(self.operations), leader, term, epoch)
        self.operations.append(operation)
        return operation

    def acknowledge(self, operation: Operation, lsn: int, life_start_lsn: int) -> None:
        """A client gets its reply. A later leader must have it in its history, if there is one that answers already."""
        operation.is_acknowledged = True
        operation.lsn = lsn
        self.acknowledged += 1
        for epoch, start in self.lives_told.items():
            assert epoch <= operation.epoch or lsn <= start, (
                f"a reply in life {operation.epoch} about LSN {lsn}, after the leader of life {epoch} answered, which "
                f"began at {start}"
            )
        self.lives_told.setdefault(operation.epoch, life_start_lsn)

    def check(self, bodies: list[bytes], prepared: set[bytes]) -> None:
        """Compare what is there in the end, and which units are in doubt, with what clients were told."""
        present: dict[bytes, int] = {}
        for body in bodies:
            present[body] = present.get(body, 0) + 1
        got: dict[bytes, Operation] = {}
        may_be_got: set[bytes] = set()
        for operation in self.operations:
            for body in operation.gets:
                if operation.is_acknowledged and not operation.prepared:
                    assert body not in got, f"{body[:20]!r} was got twice: {got[body]} and {operation}"
                    got[body] = operation
                elif not operation.is_backed_out:
                    may_be_got.add(body)
        for operation in self.operations:
            if operation.prepared:
                if operation.is_acknowledged:
                    assert operation.prepared in prepared, f"the prepared unit of {operation} is gone"
                continue
            for body in operation.puts:
                count = present.pop(body, 0)
                assert count <= 1, f"{body[:20]!r} is there {count} times"
                if operation.is_backed_out:
                    assert count == 0, f"{body[:20]!r} was backed out and is there"
                elif body in got:
                    assert count == 0, f"{body[:20]!r} was got, {got[body]}, and came back"
                elif operation.is_acknowledged and body not in may_be_got:
                    assert count == 1, f"{body[:20]!r} was acknowledged, {operation}, and is lost"
        assert not present, f"nobody has put {list(present)[:3]}"
