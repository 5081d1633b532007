"""The memory of a facility: structures, members, descriptors of units, locks, and events that wait to be pushed."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.coupling.header import Header
from ostler.coupling.stored import StoredEntry
from ostler.coupling.structure import Structure
from ostler.model.coupling import terms as cf
from ostler.model.coupling.entries import id_member, id_start, make_id
from ostler.model.coupling.events import Event, Freed, MemberChanged, QueueNotEmpty, StructureChanged, Threshold

MEMBERS_KNOWN_MAX: Final = 1024
"""Members that have left are remembered, so that their numbers and starts cannot come back."""


@final
class Operation:
    """A put or get of a unit, by the place of the entry: UNCOMMITTED or GOT."""

    def __init__(self, structure: Structure, header: Header, stored: StoredEntry) -> None:
        self.structure = structure
        self.header = header
        self.stored = stored


@final
class Unit:
    """The descriptor of a unit. A tombstone, COMMITTED or BACKED_OUT, has no operations."""

    def __init__(self, id: bytes, fence: i64) -> None:
        self.id = id
        self.fence: i64 = fence
        """That of the link on which it began; 0: it was loaded by a recovery."""
        self.state: i64 = cf.UNIT_INFLIGHT
        self.xid = b""
        self.operations: list[Operation] = []


@final
class Member:
    def __init__(self, number: i64, name: str) -> None:
        self.number: i64 = number
        self.name = name
        self.start: i64 = 0
        self.state: i64 = cf.MEMBER_LEFT
        self.link: i64 = 0
        """0: no link."""
        self.fence: i64 = 0
        self.count: i64 = 0
        self.logged: i64 = 0
        self.refused: list[int] = []
        self.recoverer: i64 = 0
        self.units: dict[bytes, Unit] = {}

    def in_state(self, state: i64) -> i64:
        """Return the number of its units in a state."""
        total: i64 = 0
        for unit in self.units.values():
            if unit.state == state:
                total += 1
        return total


@final
class Lock:
    def __init__(self, name: str, member: i64, fence: i64, value: bytes) -> None:
        self.name = name
        self.member: i64 = member
        self.fence: i64 = fence
        self.value = value


@final
class Push:
    """An event for a link."""

    def __init__(self, link: i64, event: Event) -> None:
        self.link: i64 = link
        self.event = event


@final
class _Wake:
    """A queue that is looked at again, unless it was emptied since."""

    def __init__(self, structure: Structure, header: Header, due_ms: i64) -> None:
        self.structure = structure
        self.header = header
        self.due_ms: i64 = due_ms


@final
class FacilityState:
    """Everything that programs change. Deterministic: the owner gives identity, time and the order of programs."""

    def __init__(self, identity: bytes, first_fence: i64) -> None:
        self.identity = identity
        self.now_ms: i64 = 0
        self.next_fence: i64 = first_fence
        self.incarnations: i64 = 0
        self.structures: dict[str, Structure] = {}
        self.members: dict[int, Member] = {}
        self.by_link: dict[int, Member] = {}
        self.fenced_links: dict[int, bool] = {}
        self.unit_count: i64 = 0
        self.locks: dict[str, Lock] = {}
        self.pushes: list[Push] = []
        self._wakes: list[_Wake] = []  # in the order of their times
        self._wakes_done: i64 = 0

    def new_fence(self) -> i64:
        fence: i64 = self.next_fence
        self.next_fence = fence + 1
        return fence

    def new_incarnation(self) -> bytes:
        """Return an identity for a structure that was never used: it derives from that of the facility."""
        self.incarnations += 1
        return self.identity[:8] + make_id(0, 0, self.incarnations)[8:]

    # Events.

    def push(self, member: i64, event: Event) -> None:
        """Tell a member, if it has a link."""
        found = self.members.get(member)
        if found is not None and found.link != 0:
            self.pushes.append(Push(found.link, event))

    def push_others(self, member: i64, event: Event) -> None:
        """Tell all members but one."""
        for found in self.by_link.values():
            if found.number != member:
                self.pushes.append(Push(found.link, event))

    def member_changed(self, member: Member) -> None:
        self.push_others(member.number, MemberChanged(member.number, member.name, member.state))

    def structure_changed(self, structure: Structure) -> None:
        for number in structure.members:
            self.push(number, StructureChanged(structure.name, structure.state))

    def space_changed(self, structure: Structure) -> None:
        """Tell how full a structure is, if that changed by a step."""
        percent: i64 = structure.percent_to_tell()
        if percent >= 0:
            for number in structure.members:
                event = Threshold(structure.name, percent, structure.used_bytes, structure.limit_bytes)
                self.push(number, event)

    # Entries that come and go.

    def became_available(self, structure: Structure, header: Header, stored: StoredEntry) -> None:
        """Tell watchers of an entry that was committed or put back."""
        watchers = header.watchers
        self.tell_watchers(structure, header, stored)
        if watchers.triggers and header.committed.count == 1:
            for member in watchers.triggers:
                self.push(member, QueueNotEmpty(structure.name, header.name, triggers=True))

    def tell_watchers(self, structure: Structure, header: Header, stored: StoredEntry) -> None:
        """Tell those who wait for an entry that can be got now."""
        watchers = header.watchers
        if watchers.id_count:
            self._tell_id_watchers(structure, header, stored)
        if watchers.waiters:
            watchers.untold = len(watchers.waiters)
            if watchers.due_ms == 0:
                self._wake_next(structure, header)

    def _tell_id_watchers(self, structure: Structure, header: Header, stored: StoredEntry) -> None:
        watchers = header.watchers
        if watchers.correlation_ids.members:
            self._tell_id(structure, header, cf.CORREL_ID, stored.correlation_id())
        if watchers.message_ids.members:
            self._tell_id(structure, header, cf.MSG_ID, stored.message_id())
        if watchers.both_ids.members:
            both = stored.message_id() + stored.correlation_id()
            self._tell_id(structure, header, cf.MSG_AND_CORREL_ID, both)
        if watchers.group_ids.members:
            self._tell_id(structure, header, cf.GROUP_ID, stored.group_id())

    def _tell_id(self, structure: Structure, header: Header, match: i64, id: bytes) -> None:
        told = header.watchers.ids(match).take(id)
        if told is None:
            return
        header.watchers.id_count -= len(told)
        structure.id_watches -= len(told)
        for member in told:
            self.push(member, QueueNotEmpty(structure.name, header.name, match, id))

    def _wake_next(self, structure: Structure, header: Header) -> None:
        member = header.watchers.next_waiter()
        self.push(member, QueueNotEmpty(structure.name, header.name))
        due_ms: i64 = self.now_ms + cf.WAKE_MS
        header.watchers.due_ms = due_ms
        self._wakes.append(_Wake(structure, header, due_ms))

    def wake_due(self) -> None:
        """Tell the next watchers of queues that are still not empty."""
        wakes = self._wakes
        done: i64 = self._wakes_done
        while done < len(wakes) and wakes[done].due_ms <= self.now_ms:
            wake = wakes[done]
            done += 1
            watchers = wake.header.watchers
            if watchers.due_ms != wake.due_ms:
                continue  # emptied since, or told again
            watchers.due_ms = 0
            if wake.header.committed.count > 0 and watchers.untold > 0:
                self._wake_next(wake.structure, wake.header)
        if done == len(wakes):
            self._wakes = []
            done = 0
        elif done >= 1000:
            del wakes[:done]
            done = 0
        self._wakes_done = done

    def next_wake_ms(self) -> i64:
        """Return when `wake_due` has something to do, or 0."""
        wakes = self._wakes
        return wakes[self._wakes_done].due_ms if self._wakes_done < len(wakes) else 0

    def remove_entry(self, structure: Structure, header: Header, stored: StoredEntry) -> None:
        """Remove an entry for good, and tell the owner of its body."""
        owner = structure.remove(header, stored)
        if owner:
            self.tell_freed(structure, owner)

    def tell_freed(self, structure: Structure, owner: int) -> None:
        """Tell an owner that references wait for it, unless it was told and has not taken any since."""
        freed = structure.freed[owner]
        if freed.references and not freed.is_told and owner in structure.members:
            freed.is_told = True
            self.push(owner, Freed(structure.name))

    # Units.

    def unit(self, id: bytes, member: i64) -> Unit | None:
        owner = self.members.get(member)
        return None if owner is None else owner.units.get(id)

    def add_unit(self, owner: Member, unit: Unit) -> None:
        owner.units[unit.id] = unit
        self.unit_count += 1

    def loaded_unit(self, id: bytes) -> Unit:
        """Return the descriptor of a unit that a recovery brings back. Made if needed."""
        owner = self.members.get(id_member(id))
        if owner is None:
            # The facility has lost its memory, and this member has not joined the new one yet.
            owner = self.members[id_member(id)] = Member(id_member(id), "")
            owner.start = id_start(id)
        unit = owner.units.get(id)
        if unit is None:
            unit = Unit(id, 0)
            self.add_unit(owner, unit)
        return unit

    def drop_unit(self, owner: Member, id: bytes) -> None:
        if owner.units.pop(id, None) is not None:
            self.unit_count -= 1
