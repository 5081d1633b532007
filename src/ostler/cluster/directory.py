"""The entries of one repository, with indexes by owner and by name, and digests for comparing two full repositories."""

from __future__ import annotations

from hashlib import blake2b
from typing import final

from ostler.cluster.messages import BUCKETS
from ostler.cluster.record_codec import Entry, encode_record
from ostler.cluster.records import INTEREST, MANAGER, QUEUE, TOPIC, Key, Record


@final
class Directory:
    """All entries by key. Indexes are dictionaries in place of sets, so that their order is that of arrival."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self.direct_topics: int = 0
        """Live topics with CLROUTE(DIRECT): every member then hears of every other."""
        self._by_owner: dict[str, dict[Key, None]] = {}
        self._queues: dict[str, dict[Key, None]] = {}
        self._interests: dict[str, dict[Key, None]] = {}
        self._managers: dict[str, dict[Key, None]] = {}
        """MANAGER records by the name of the queue manager."""
        self._hashes: dict[Key, int] = {}
        self._buckets: list[int] = [0] * BUCKETS

    def get(self, key: Key) -> Entry | None:
        return self.entries.get(key)

    def put(self, entry: Entry) -> None:
        """Add an entry in place of the one with its key."""
        record = entry.record
        key = record.key()
        if key in self.entries:
            self.drop(key)
        self.entries[key] = entry
        _add(self._by_owner, record.owner, key)
        if record.kind == QUEUE:
            _add(self._queues, record.name, key)
        elif record.kind == INTEREST:
            _add(self._interests, record.name, key)
            return
        elif record.kind == MANAGER:
            _add(self._managers, record.manager, key)
        if record.is_direct_topic():
            self.direct_topics += 1
        self._hashes[key] = int.from_bytes(blake2b(encode_record(record), digest_size=8).digest(), "little")
        self._buckets[bucket_of(key)] ^= self._hashes[key]

    def drop(self, key: Key) -> None:
        record = self.entries.pop(key).record
        _remove(self._by_owner, record.owner, key)
        if record.kind == QUEUE:
            _remove(self._queues, record.name, key)
        elif record.kind == INTEREST:
            _remove(self._interests, record.name, key)
            return
        elif record.kind == MANAGER:
            _remove(self._managers, record.manager, key)
        if record.is_direct_topic():
            self.direct_topics -= 1
        self._buckets[bucket_of(key)] ^= self._hashes.pop(key)

    def owned(self, owner: str, kind: int = 0) -> list[Entry]:
        """Return the entries of an owner, of one kind if it is given."""
        keys = self._by_owner.get(owner)
        if keys is None:
            return []
        return [self.entries[key] for key in keys if kind in (0, key[0])]

    def queues(self, name: str) -> list[Entry]:
        """Return the QUEUE entries of a name, removed ones too."""
        return self._all(self._queues.get(name))

    def managers_named(self, name: str) -> list[Entry]:
        """Return the MANAGER entries of queue managers of a name."""
        return self._all(self._managers.get(name))

    def asking(self, name: str) -> list[str]:
        """Return the QMIDs that asked for a name."""
        return [each.record.owner for each in self._all(self._interests.get(name))]

    def managers(self) -> list[Entry]:
        """Return all MANAGER entries, removed ones too."""
        return [each for keys in self._managers.values() for each in self._all(keys)]

    def topics(self) -> list[Entry]:
        return [each for each in self.entries.values() if each.record.kind == TOPIC]

    def full_repositories(self) -> list[str]:
        """Return the QMIDs of all full repositories, sorted."""
        return sorted({each.record.owner for each in self.managers() if each.record.is_full()})

    def is_full(self, qmid: str) -> bool:
        return any(each.record.is_full() for each in self.owned(qmid, MANAGER))

    def members(self) -> list[str]:
        """Return the QMIDs of all that are in the cluster, sorted."""
        return sorted({each.record.owner for each in self.managers() if not each.record.is_removed})

    def channel_to(self, qmid: str) -> str:
        """Return the channel for messages to a queue manager: the one with the highest NETPRTY; empty: none."""
        best: Record | None = None
        for each in self.owned(qmid, MANAGER):
            record = each.record
            if record.is_removed:
                continue
            if best is None or (-record.number("NETPRTY", 0), record.name) < (-best.number("NETPRTY", 0), best.name):
                best = record
        return best.name if best is not None else ""

    def digests(self) -> tuple[bytes, ...]:
        """Return a hash for each bucket. Equal records have equal hashes; ages and questions do not count."""
        return tuple([each.to_bytes(8, "little") for each in self._buckets])

    def owner_digest(self, owner: str) -> bytes:
        """Return a hash of the records of one owner that are not removed."""
        digest = 0
        for entry in self.owned(owner):
            if entry.record.kind != INTEREST and not entry.record.is_removed:
                digest ^= self._hashes[entry.record.key()]
        return digest.to_bytes(8, "little")

    def bucket(self, number: int) -> list[Entry]:
        return [each for key, each in self.entries.items() if key[0] != INTEREST and bucket_of(key) == number]

    def _all(self, keys: dict[Key, None] | None) -> list[Entry]:
        return [] if keys is None else [self.entries[key] for key in keys]


def bucket_of(key: Key) -> int:
    """Return the bucket of a key, the same at every repository."""
    return blake2b(f"{key[0]}/{key[1]}/{key[2]}".encode("utf-8", "replace"), digest_size=1).digest()[0] % BUCKETS


def _add(index: dict[str, dict[Key, None]], name: str, key: Key) -> None:
    index.setdefault(name, {})[key] = None


def _remove(index: dict[str, dict[Key, None]], name: str, key: Key) -> None:
    keys = index[name]
    del keys[key]
    if not keys:
        del index[name]
