"""One simulated queue manager in a cluster: its repository, its disk, its clock and its channels."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ostler.cluster import effects as fx
from ostler.cluster import lives
from ostler.cluster import records as rc
from ostler.cluster.effects import Effect
from ostler.cluster.messages import encode_message
from ostler.cluster.record_codec import decode_entry, encode_entry
from ostler.cluster.records import Key, Record
from ostler.cluster.repository import Repository

CLUSTER = "DEMO"
START_MS = 1_800_000_000_000


class Resurrected(AssertionError):
    """A record became older at one place."""


class Site:
    """What is on the disk outlives a crash; every input of the repository is one unit of work."""

    def __init__(self, number: int, qmid: str, make: Callable[..., Repository] = Repository) -> None:
        self.number = number
        self.name = f"QM{number}"
        self.qmid = qmid
        self.address = f"host{number}(1414)"
        self.make = make
        self.is_up = True
        self.is_gone = False
        self.offset_ms = 0
        self.disk: dict[Key, bytes] = {}
        self.mark = (0, 0)
        self.senders: dict[str, str] = {}
        self.channels: dict[str, str] = {}
        """Addresses of automatic channels."""
        self.outgoing: dict[str, deque[tuple[int, bytes]]] = {}
        """Transmission queues, by channel, with the local time of each put."""
        self.reports: list[fx.Report] = []
        self.answered: set[str] = set()
        self.removed: dict[Key, int] = {}
        """The versions of removed records that were here, ever since this is a full repository."""
        self.repository = make(qmid, self.name, CLUSTER)
        self.is_watched = True

    @property
    def receiver(self) -> str:
        return f"TO.{self.name}"

    def now(self, world_ms: int) -> int:
        return START_MS + world_ms + self.offset_ms

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, fx.Send):
                self.outgoing.setdefault(effect.channel, deque()).append(
                    (self.repository.now_ms, encode_message(effect.message))
                )
            elif isinstance(effect, fx.Store):
                self.check(effect.entry.record)
                self.disk[effect.key] = encode_entry(effect.entry)
            elif isinstance(effect, fx.Discard):
                del self.disk[effect.key]
                if not self.repository.is_full:
                    self.removed.pop(effect.key, None)  # a partial repository forgets what it did not ask for
            elif isinstance(effect, fx.KeepMark):
                assert effect.last_version >= self.mark[0], "the version of a queue manager went back"
                self.mark = (effect.last_version, effect.ticked_ms)
            elif isinstance(effect, fx.DefineChannel):
                self.channels[effect.channel] = str(effect.attributes["CONNAME"])
            elif isinstance(effect, fx.RemoveChannel):
                if not self.outgoing.get(effect.channel):
                    self.channels.pop(effect.channel, None)
            elif isinstance(effect, fx.Answered):
                self.answered |= set(effect.names)
            else:
                self.reports.append(effect)

    def check(self, record: Record) -> None:
        """A record never becomes older at a place, and a removed one does not come back."""
        if not self.is_watched:
            return
        key = record.key()
        if key in self.disk:
            known = decode_entry(self.disk[key]).record
            if record.version < known.version:
                raise Resurrected(f"{self.name}: {key} from version {known.version} to {record.version}")
        if record.is_removed:
            self.removed[key] = max(record.version, self.removed.get(key, 0))
        elif record.version <= self.removed.get(key, 0):
            raise Resurrected(f"{self.name}: {key} of version {record.version} came back")

    def address_of(self, channel: str) -> str:
        return self.channels.get(channel) or self.senders.get(channel, "")

    def crash(self) -> None:
        self.is_up = False

    def restart(self, world_ms: int) -> None:
        self.is_up = True
        now = self.now(world_ms)
        self.repository = self.make(self.qmid, self.name, CLUSTER, self.mark[0], self.mark[1])
        entries = [decode_entry(data) for data in self.disk.values()]
        self.carry_out(self.repository.restore(now, entries, list(self.senders)))
        self.carry_out(lives.tick(self.repository, now))

    def own_live(self) -> dict[Key, Record]:
        return {
            each.record.key(): each.record
            for each in self.repository.directory.owned(self.qmid)
            if each.record.kind != rc.INTEREST and not each.record.is_removed
        }

    def live(self, qmids: set[str] | None = None) -> dict[Key, Record]:
        """Everything that is there and known here, of some owners if they are given."""
        return {
            key: each.record
            for key, each in self.repository.directory.entries.items()
            if key[0] != rc.INTEREST and not each.record.is_removed and (qmids is None or key[1] in qmids)
        }

    def questions(self) -> list[str]:
        return [each.record.name for each in self.repository.directory.owned(self.qmid, rc.INTEREST)]
