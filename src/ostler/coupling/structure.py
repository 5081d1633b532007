"""An application structure: its queues, its entries by identifier, its space, and references whose entries are gone."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.coupling.header import Header
from ostler.coupling.stored import StoredEntry
from ostler.model.coupling import terms as cf
from ostler.model.coupling.entries import make_key, usable_bytes
from ostler.model.errors import InvariantFailed

FREED_KEPT_MAX: Final = 1_000_000
"""References kept for one owner. If it does not take them, it must make its space map anew."""
THRESHOLD_STEP_PERCENT: Final = 5


@final
class FreedReferences:
    """References of one owner, numbered from 1 in the order in which their entries went."""

    def __init__(self) -> None:
        self.references: list[bytes] = []
        self.dropped: i64 = 0
        """The number of the last reference that is not kept any more."""
        self.is_told = False
        self.is_lost = False

    def add(self, reference: bytes) -> None:
        if len(self.references) >= FREED_KEPT_MAX:
            self.drop_through(self.dropped + FREED_KEPT_MAX // 2)
            self.is_lost = True
        self.references.append(reference)

    def drop_through(self, number: i64) -> None:
        count: i64 = min(number - self.dropped, len(self.references))
        if count > 0:
            del self.references[:count]
            self.dropped += count


@final
class Structure:
    def __init__(self, name: str, incarnation: bytes, size_bytes: i64, level: i64) -> None:
        self.name = name
        self.incarnation = incarnation
        self.size_bytes: i64 = size_bytes
        self.level: i64 = level
        self.state: i64 = cf.STRUCTURE_ACTIVE
        self.state_member: i64 = 0
        self.limit_bytes: i64 = usable_bytes(size_bytes)
        self.used_bytes: i64 = 0
        self.told_percent: i64 = 0
        self.sequence: i64 = 0
        self.offloaded: i64 = 0
        self.id_watches: i64 = 0
        self.headers: dict[str, Header] = {}
        self.entries: dict[bytes, StoredEntry] = {}
        self.members: dict[int, bool] = {}
        """Numbers of the members that are connected."""
        self.freed: dict[int, FreedReferences] = {}
        self.locked: dict[bytes, StoredEntry] = {}
        """Entries that handles have locked, by identifier."""

    def refusal(self) -> i64:
        """Return the status of programs on entries while the structure is not usable, else OK."""
        if self.state == cf.STRUCTURE_ACTIVE or self.state == cf.STRUCTURE_INBACKUP:
            return cf.OK
        return cf.STRUCTURE_FAILED if self.state == cf.STRUCTURE_STATE_FAILED else cf.STRUCTURE_IN_USE

    def can_have(self, queue: str) -> bool:
        """Return True if there is a header of the name, or room for one. Makes room by dropping idle ones."""
        if queue in self.headers or len(self.headers) < cf.HEADERS_MAX:
            return True
        for name in [name for name, header in self.headers.items() if header.is_idle()]:
            del self.headers[name]
        return len(self.headers) < cf.HEADERS_MAX

    def header(self, queue: str) -> Header:
        """Return the header of a queue. Made if needed, after `can_have`."""
        found = self.headers.get(queue)
        if found is None:
            found = self.headers[queue] = Header(queue)
        return found

    def next_key(self, priority: i64) -> i64:
        self.sequence += 1
        return make_key(priority, self.sequence)

    def add(self, header: Header, stored: StoredEntry) -> None:
        """Add a new entry to its place, and count its space."""
        self.entries[stored.entry.id] = stored
        self.used_bytes += stored.space
        if stored.entry.reference:
            self.offloaded += 1
        header.add(stored)

    def remove(self, header: Header, stored: StoredEntry) -> int:
        """Remove an entry for good. Returns the owner of a reference that was freed, or 0."""
        header.remove(stored)
        self.unlock(stored)
        entry = stored.entry
        if self.entries.pop(entry.id, None) is not stored:
            raise InvariantFailed(f"The entry with key {stored.key} is not in structure {self.name}")
        self.used_bytes -= stored.space
        if not entry.reference:
            return 0
        self.offloaded -= 1
        freed = self.freed.get(entry.owner)
        if freed is None:
            freed = self.freed[entry.owner] = FreedReferences()
        freed.add(entry.reference)
        return entry.owner

    def lock(self, stored: StoredEntry, member: i64, handle: i64) -> None:
        stored.lock_member = member
        stored.lock_handle = handle
        self.locked[stored.entry.id] = stored

    def unlock(self, stored: StoredEntry) -> None:
        if stored.lock_member != 0:
            stored.lock_member = 0
            stored.lock_handle = 0
            del self.locked[stored.entry.id]

    def empty(self) -> None:
        """Drop all entries. Opens and watches stay; references go, because owners make their space maps anew."""
        for header in self.headers.values():
            for place in (header.committed, header.uncommitted, header.got):
                place.clear()
            header.message_ids = None
            header.correlation_ids = None
            header.group_ids = None
            header.watchers.due_ms = 0
        self.entries = {}
        self.locked = {}
        self.freed = {}
        self.used_bytes = 0
        self.offloaded = 0

    def percent_to_tell(self) -> i64:
        """Return how full it is if that is worth an event, else -1."""
        percent: i64 = self.used_bytes * 100 // self.limit_bytes if self.limit_bytes else 100
        step: i64 = percent - self.told_percent
        if -THRESHOLD_STEP_PERCENT < step < THRESHOLD_STEP_PERCENT:
            return -1
        self.told_percent = percent
        return percent

    def drop_member(self, member: int) -> None:
        """Free the opens and watches of a member."""
        for header in self.headers.values():
            header.close_all(member)
        self.drop_watches(member)

    def drop_watches(self, member: int) -> None:
        for header in self.headers.values():
            self.id_watches -= header.watchers.remove_member(member)
