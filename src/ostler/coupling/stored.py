"""Entries as a structure stores them: in the order of their keys, and found by identifiers.

An ordered list is a row of blocks of pointers, so that a put behind all others, a get of the first one and a look-up by
key cost the same for ten entries and for a million: two binary searches, and a move of at most a block.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from ostler.engine.message.message import CORRELATION_ID_AT, GROUP_ID_AT, MESSAGE_ID_AT, NULL_ID
from ostler.model.coupling.entries import Entry
from ostler.model.errors import InvariantFailed

BLOCK_ENTRIES: Final = 512
_ID_BYTES: Final = 24


@final
@mypyc_attr(acyclic=True)  # there may be a million: the garbage collector need not visit them
class StoredEntry:
    """An entry in its place. `unit` is the identifier of the unit that has put or got it; empty: none."""

    def __init__(self, entry: Entry, queue: str, key: i64, place: i64, unit: bytes) -> None:
        self.entry = entry
        self.queue = queue
        self.key: i64 = key
        self.place: i64 = place
        self.unit = unit
        self.space: i64 = entry.space()
        self.lock_member: i64 = 0
        """The member whose handle has locked it; 0: none."""
        self.lock_handle: i64 = 0

    def message_id(self) -> bytes:
        return self.entry.md[MESSAGE_ID_AT : MESSAGE_ID_AT + _ID_BYTES]

    def correlation_id(self) -> bytes:
        return self.entry.md[CORRELATION_ID_AT : CORRELATION_ID_AT + _ID_BYTES]

    def group_id(self) -> bytes:
        return self.entry.md[GROUP_ID_AT : GROUP_ID_AT + _ID_BYTES]

    def has_expired(self, now_ms: i64) -> bool:
        """Return True if its time is over; never for 0."""
        expiry_ms: i64 = self.entry.expiry_ms
        return expiry_ms != 0 and expiry_ms <= now_ms

    def is_locked_for(self, member: i64, handle: i64) -> bool:
        """Return True if another handle than this one has locked it."""
        return self.lock_member != 0 and (self.lock_member != member or self.lock_handle != handle)


@final
class OrderedEntries:
    """Entries in the order of their keys. No key is there twice."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self._blocks: list[list[StoredEntry]] = []  # none is empty

    def add(self, stored: StoredEntry) -> None:
        blocks = self._blocks
        self.count += 1
        if not blocks:
            blocks.append([stored])
            return
        last = blocks[-1]
        if last[-1].key < stored.key:
            if len(last) < BLOCK_ENTRIES:
                last.append(stored)
            else:
                blocks.append([stored])
            return
        number: i64 = self._block_with(stored.key)
        block = blocks[number]
        position: i64 = _position(block, stored.key)
        if block[position].key == stored.key:
            raise InvariantFailed(f"Two entries have the key {stored.key}")
        if position == 0 and number > 0 and len(blocks[number - 1]) < BLOCK_ENTRIES:
            blocks[number - 1].append(stored)
            return
        block.insert(position, stored)
        if len(block) > BLOCK_ENTRIES:
            blocks.insert(number + 1, block[BLOCK_ENTRIES // 2 :])
            del block[BLOCK_ENTRIES // 2 :]

    def remove(self, stored: StoredEntry) -> None:
        blocks = self._blocks
        number: i64 = 0
        position: i64 = 0
        if not blocks or blocks[0][0] is not stored:
            number = self._block_with(stored.key)
            if number < len(blocks):
                position = _position(blocks[number], stored.key)
            if number == len(blocks) or blocks[number][position] is not stored:
                raise InvariantFailed(f"The entry with key {stored.key} is not in its list")
        block = blocks[number]
        if len(block) == 1:
            blocks.pop(number)
        else:
            block.pop(position)
        self.count -= 1

    def first(self) -> StoredEntry | None:
        return self._blocks[0][0] if self._blocks else None

    def after(self, key: i64) -> StoredEntry | None:
        """Return the first entry behind a key."""
        return self._from(key + 1)

    def at(self, key: i64) -> StoredEntry | None:
        """Return the entry with a key."""
        found = self._from(key)
        return found if found is not None and found.key == key else None

    def all(self) -> list[StoredEntry]:
        return [stored for block in self._blocks for stored in block]

    def clear(self) -> None:
        self._blocks = []
        self.count = 0

    def _from(self, key: i64) -> StoredEntry | None:
        number: i64 = self._block_with(key)
        if number == len(self._blocks):
            return None
        block = self._blocks[number]
        return block[_position(block, key)]

    def _block_with(self, key: i64) -> i64:
        """Return the number of the first block whose last key is this or a later one."""
        blocks = self._blocks
        low: i64 = 0
        high: i64 = len(blocks)
        while low < high:
            middle: i64 = (low + high) >> 1
            if blocks[middle][-1].key < key:
                low = middle + 1
            else:
                high = middle
        return low


def _position(block: list[StoredEntry], key: i64) -> i64:
    """Return the position of the first entry with this key or a later one; the block has one."""
    low: i64 = 0
    high: i64 = len(block)
    while low < high:
        middle: i64 = (low + high) >> 1
        if block[middle].key < key:
            low = middle + 1
        else:
            high = middle
    return low


@final
class IdIndex:
    """Committed entries by one kind of identifier. Null identifiers are not in it, because no get asks for them."""

    def __init__(self) -> None:
        self._single: dict[bytes, StoredEntry] = {}
        self._several: dict[bytes, OrderedEntries] = {}

    def add(self, id: bytes, stored: StoredEntry) -> None:
        if id == NULL_ID:
            return
        several = self._several.get(id) if self._several else None
        if several is not None:
            several.add(stored)
            return
        before = self._single.get(id)
        if before is None:
            self._single[id] = stored
            return
        several = OrderedEntries()
        several.add(before)
        several.add(stored)
        self._several[id] = several
        del self._single[id]

    def remove(self, id: bytes, stored: StoredEntry) -> None:
        if id == NULL_ID:
            return
        several = self._several.get(id) if self._several else None
        if several is None:
            if self._single.pop(id, None) is not stored:
                raise InvariantFailed(f"The entry with key {stored.key} is not in an index of its queue")
            return
        several.remove(stored)
        if several.count == 0:
            del self._several[id]

    def first(self, id: bytes) -> StoredEntry | None:
        several = self._several.get(id) if self._several else None
        return self._single.get(id) if several is None else several.first()

    def after(self, id: bytes, key: i64) -> StoredEntry | None:
        """Return the first entry with the identifier behind a key."""
        several = self._several.get(id) if self._several else None
        return None if several is None else several.after(key)

    def count(self) -> int:
        """Return the number of entries, for checks."""
        return len(self._single) + sum(several.count for several in self._several.values())
