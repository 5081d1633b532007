"""A list header: one shared queue of a structure, with its entries in three places, its indexes, opens and watchers."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.coupling.stored import IdIndex, OrderedEntries, StoredEntry
from ostler.coupling.watchers import Watchers
from ostler.model.coupling import terms as cf


@final
class Opens:
    """The opens of one member."""

    def __init__(self) -> None:
        self.shared: i64 = 0
        self.exclusive: i64 = 0
        self.output: i64 = 0

    def input_count(self) -> i64:
        return self.shared + self.exclusive


@final
class Header:
    def __init__(self, name: str) -> None:
        self.name = name
        self.committed = OrderedEntries()
        self.uncommitted = OrderedEntries()
        self.got = OrderedEntries()
        self.message_ids: IdIndex | None = None
        self.correlation_ids: IdIndex | None = None
        self.group_ids: IdIndex | None = None
        self.opens: dict[int, Opens] = {}
        self.input_count: i64 = 0
        self.exclusive_count: i64 = 0
        self.watchers = Watchers()

    def depth(self) -> i64:
        """Return CURDEPTH: uncommitted puts count, uncommitted gets do not."""
        return self.committed.count + self.uncommitted.count

    def is_idle(self) -> bool:
        """Return True if nothing is lost when the header goes."""
        return (
            self.committed.count == 0
            and self.uncommitted.count == 0
            and self.got.count == 0
            and not self.opens
            and self.watchers.is_idle()
        )

    def place(self, place: i64) -> OrderedEntries:
        if place == cf.COMMITTED:
            return self.committed
        return self.uncommitted if place == cf.UNCOMMITTED else self.got

    def add(self, stored: StoredEntry) -> None:
        """Add an entry to its place, and to the indexes if it is committed."""
        if stored.place != cf.COMMITTED:
            self.place(stored.place).add(stored)
            return
        self.committed.add(stored)
        if self.message_ids is not None:
            self.message_ids.add(stored.message_id(), stored)
        if self.correlation_ids is not None:
            self.correlation_ids.add(stored.correlation_id(), stored)
        if self.group_ids is not None:
            self.group_ids.add(stored.group_id(), stored)

    def remove(self, stored: StoredEntry) -> None:
        """Remove an entry from its place."""
        if stored.place != cf.COMMITTED:
            self.place(stored.place).remove(stored)
            return
        self.committed.remove(stored)
        if self.message_ids is not None:
            self.message_ids.remove(stored.message_id(), stored)
        if self.correlation_ids is not None:
            self.correlation_ids.remove(stored.correlation_id(), stored)
        if self.group_ids is not None:
            self.group_ids.remove(stored.group_id(), stored)
        if self.committed.count == 0:
            self.watchers.due_ms = 0

    def index(self, kind: i64) -> IdIndex:
        """Return the index of a kind of identifier: INDEX_MSG_ID, INDEX_CORREL_ID, INDEX_GROUP_ID. Made if needed."""
        if kind == cf.INDEX_MSG_ID:
            if self.message_ids is None:
                self.message_ids = self._new_index(kind)
            return self.message_ids
        if kind == cf.INDEX_CORREL_ID:
            if self.correlation_ids is None:
                self.correlation_ids = self._new_index(kind)
            return self.correlation_ids
        if self.group_ids is None:
            self.group_ids = self._new_index(kind)
        return self.group_ids

    def _new_index(self, kind: i64) -> IdIndex:
        index = IdIndex()
        for stored in self.committed.all():
            if kind == cf.INDEX_MSG_ID:
                index.add(stored.message_id(), stored)
            elif kind == cf.INDEX_CORREL_ID:
                index.add(stored.correlation_id(), stored)
            else:
                index.add(stored.group_id(), stored)
        return index

    def open(self, member: int, options: i64) -> None:
        opens = self.opens.get(member)
        if opens is None:
            opens = self.opens[member] = Opens()
        if options & cf.INPUT_SHARED:
            opens.shared += 1
            self.input_count += 1
        if options & cf.INPUT_EXCLUSIVE:
            opens.exclusive += 1
            self.input_count += 1
            self.exclusive_count += 1
        if options & cf.OUTPUT:
            opens.output += 1

    def has_open(self, member: int, options: i64) -> bool:
        """Return True if the member has an open with each of the options."""
        opens = self.opens.get(member)
        if opens is None:
            return False
        if options & cf.INPUT_SHARED and opens.shared == 0:
            return False
        if options & cf.INPUT_EXCLUSIVE and opens.exclusive == 0:
            return False
        return not (options & cf.OUTPUT and opens.output == 0)

    def close(self, member: int, options: i64) -> None:
        opens = self.opens[member]
        if options & cf.INPUT_SHARED:
            opens.shared -= 1
            self.input_count -= 1
        if options & cf.INPUT_EXCLUSIVE:
            opens.exclusive -= 1
            self.input_count -= 1
            self.exclusive_count -= 1
        if options & cf.OUTPUT:
            opens.output -= 1
        if opens.input_count() == 0 and opens.output == 0:
            del self.opens[member]

    def close_all(self, member: int) -> None:
        """Take back all opens of a member."""
        opens = self.opens.pop(member, None)
        if opens is not None:
            self.input_count -= opens.input_count()
            self.exclusive_count -= opens.exclusive

    def output_count(self) -> i64:
        total: i64 = 0
        for opens in self.opens.values():
            total += opens.output
        return total
