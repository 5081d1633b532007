"""A coupling facility as dumb as can be: one list of messages, searched and sorted for every program.

It is written from the docstrings of `ostler.model.coupling`, and knows neither blocks nor indexes nor counters kept
beside the messages. `run` returns the fields of the answer that the real one must give.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ostler.model.coupling import events as cf_event
from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.entries import Entry, id_member, id_start, usable_bytes

Fields = dict[str, Any]
NULL = bytes(24)


@dataclass
class NaiveMessage:
    structure: str
    queue: str
    key: int
    place: int
    unit: bytes
    id: bytes
    priority: int
    md: bytes
    properties: bytes
    body: bytes
    body_length: int
    reference: bytes
    owner: int
    flags: int
    expiry_ms: int
    backout_count: int = 0
    lock: tuple[int, int] | None = None
    """The member and the handle that have it locked."""

    def space(self) -> int:
        return 256 + -(-(391 + len(self.properties) + len(self.body)) // 256) * 256

    def shown(self, body_bytes_max: int = 1 << 40) -> Fields:
        names = ("id", "priority", "md", "properties", "body_length", "reference", "owner", "flags", "expiry_ms")
        shown = {name: getattr(self, name) for name in names}
        return shown | {"body": self.body[:body_bytes_max], "backout_count": self.backout_count, "key": self.key}

    def matches(self, match: int, id: bytes, key: int) -> bool:
        message_id, correlation_id, group_id = self.md[48:72], self.md[72:96], self.md[324:348]
        return {
            cf.FIRST: True,
            cf.MSG_ID: message_id == id and self.key > key,
            cf.CORREL_ID: correlation_id == id and self.key > key,
            cf.MSG_AND_CORREL_ID: message_id + correlation_id == id and self.key > key,
            cf.GROUP_ID: group_id == id and self.key > key,
            cf.ENTRY_ID: self.id == id,
            cf.FIRST_AFTER_KEY: self.key > key,
            cf.AT_KEY: self.key == key,
        }[match]


def message_of(program: p.QueueProgram, entry: Entry, key: int, place: int, unit: bytes) -> NaiveMessage:
    return NaiveMessage(
        program.structure,
        program.queue,
        key,
        place,
        unit,
        entry.id,
        entry.priority,
        entry.md,
        entry.properties,
        entry.body,
        entry.body_length,
        entry.reference,
        entry.owner,
        entry.flags,
        entry.expiry_ms,
    )


@dataclass
class NaiveUnit:
    id: bytes
    fence: int
    state: int = cf.UNIT_INFLIGHT
    xid: bytes = b""


@dataclass
class NaiveMember:
    number: int
    name: str
    start: int = 0
    state: int = cf.MEMBER_LEFT
    link: int = 0
    fence: int = 0
    count: int = 0
    logged: int = 0
    refused: list[int] = field(default_factory=list)
    recoverer: int = 0


@dataclass
class NaiveStructure:
    name: str
    size: int
    level: int
    state: int = cf.STRUCTURE_ACTIVE
    state_member: int = 0
    sequence: int = 0
    told_percent: int = 0
    members: set[int] = field(default_factory=set)
    freed: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)
    freed_number: dict[int, int] = field(default_factory=dict)
    freed_told: dict[int, bool] = field(default_factory=dict)


@dataclass
class NaiveFacility:
    fence: int = 0
    messages: list[NaiveMessage] = field(default_factory=list)
    members: dict[int, NaiveMember] = field(default_factory=dict)
    structures: dict[str, NaiveStructure] = field(default_factory=dict)
    units: dict[bytes, NaiveUnit] = field(default_factory=dict)
    locks: dict[str, tuple[int, int, bytes]] = field(default_factory=dict)
    opens: list[tuple[str, str, int, int]] = field(default_factory=list)
    id_watches: list[tuple[str, str, int, bytes, int]] = field(default_factory=list)
    waiters: set[tuple[str, str, int]] = field(default_factory=set)
    events: list[tuple[int, Fields]] = field(default_factory=list)
    """Member numbers and events, without those for waiting gets, whose turns the facility chooses."""

    # Looking.

    def by_link(self, link: int) -> NaiveMember | None:
        return next((each for each in self.members.values() if link and each.link == link), None)

    def of(self, structure: str, queue: str = "", place: int = 0) -> list[NaiveMessage]:
        found = [each for each in self.messages if each.structure == structure]
        found = [each for each in found if queue in ("", each.queue) and place in (0, each.place)]
        return sorted(found, key=lambda each: (each.queue, each.key))

    def used(self, structure: str) -> int:
        return sum(each.space() for each in self.of(structure))

    def depth(self, structure: str, queue: str) -> int:
        return len(self.of(structure, queue)) - len(self.of(structure, queue, cf.GOT))

    def inputs(self, structure: str, queue: str, member: int = 0) -> list[int]:
        wanted = (structure, queue)
        found = [each for each in self.opens if each[:2] == wanted and member in (0, each[2])]
        return [each[3] & 3 for each in found if each[3] & 3]

    def outputs(self, structure: str, queue: str, member: int = 0) -> int:
        return sum(
            1 for a, b, c, d in self.opens if (a, b) == (structure, queue) and member in (0, c) and d & cf.OUTPUT
        )

    def in_flight(self, member: int, not_fence: int = -1) -> list[NaiveUnit]:
        found = [each for each in self.units.values() if id_member(each.id) == member]
        return [each for each in found if each.state == cf.UNIT_INFLIGHT and each.fence != not_fence]

    def unit_messages(self, unit: bytes) -> list[NaiveMessage]:
        return [each for each in self.messages if each.unit == unit]

    # Telling.

    def tell(self, member: int, kind: int, /, **values: object) -> None:
        found = self.members.get(member)
        if found is not None and found.link:
            self.events.append((found.link, {"kind": kind, **values}))

    def member_changed(self, member: NaiveMember) -> None:
        for other in self.members.values():
            if other is not member:
                values = {"member": member.number, "name": member.name, "state": member.state}
                self.tell(other.number, cf_event.MEMBER_CHANGED, **values)

    def structure_changed(self, structure: NaiveStructure) -> None:
        for number in structure.members:
            self.tell(number, cf_event.STRUCTURE_CHANGED, structure=structure.name, state=structure.state)

    def space_changed(self, structure: NaiveStructure) -> None:
        used, limit = self.used(structure.name), usable_bytes(structure.size)
        percent = used * 100 // limit
        if abs(percent - structure.told_percent) >= 5:
            structure.told_percent = percent
            for number in structure.members:
                values = {"percent": percent, "used_bytes": used, "limit_bytes": limit}
                self.tell(number, cf_event.THRESHOLD, structure=structure.name, **values)

    def available(self, message: NaiveMessage) -> None:
        for watch in [each for each in self.id_watches if each[:2] == (message.structure, message.queue)]:
            structure, queue, match, id, member = watch
            if message.matches(match, id, 0):
                self.id_watches.remove(watch)
                values = {"queue": queue, "match": match, "id": id, "triggers": False}
                self.tell(member, cf_event.QUEUE_NOT_EMPTY, structure=structure, **values)

    def remove(self, message: NaiveMessage) -> None:
        self.messages.remove(message)
        if not message.reference:
            return
        structure, owner = self.structures[message.structure], message.owner
        number = structure.freed_number[owner] = structure.freed_number.get(owner, 0) + 1
        structure.freed.setdefault(owner, []).append((number, message.reference))
        self.tell_freed(structure, owner)

    def tell_freed(self, structure: NaiveStructure, owner: int) -> None:
        if structure.freed.get(owner) and not structure.freed_told.get(owner) and owner in structure.members:
            structure.freed_told[owner] = True
            self.tell(owner, cf_event.FREED, structure=structure.name)

    # Programs.

    def run(self, link: int, program: p.Program) -> Fields:
        member = self.by_link(link)
        if isinstance(program, p.JoinProgram) and member is None:
            return self.run_join(link, program)
        if member is None:
            return {"status": (cf.NOT_CONNECTED, cf.FENCED)}
        if program.fence != member.fence:
            return {"status": cf.FENCED}
        name = p.PROGRAM_NAMES[program.kind].lower()
        if isinstance(program, p.StructureProgram) and not isinstance(program, p.ConnectProgram | p.StatusProgram):
            refusal = self.structure_refusal(member, program.structure)
            if refusal:
                if isinstance(program, p.PutProgram):
                    refusal = self.refuse_put(member, program, refusal)
                return {"status": refusal, "count": member.count}
        answer: Fields = getattr(self, f"run_{name}")(member, program)
        answer.setdefault("count", member.count)
        if isinstance(program, p.StructureProgram) and program.structure in self.structures:
            structure = self.structures[program.structure]
            answer.setdefault("used_bytes", self.used(structure.name))
            answer.setdefault("limit_bytes", usable_bytes(structure.size))
        return answer

    def structure_refusal(self, member: NaiveMember, name: str) -> int:
        if name not in self.structures:
            return cf.UNKNOWN_STRUCTURE
        return cf.OK if member.number in self.structures[name].members else cf.NOT_CONNECTED

    def usable(self, name: str) -> int:
        state = self.structures[name].state
        if state == cf.STRUCTURE_STATE_FAILED:
            return cf.STRUCTURE_FAILED
        return cf.STRUCTURE_IN_USE if state == cf.STRUCTURE_INRECOVER else cf.OK

    def run_join(self, link: int, program: p.JoinProgram) -> Fields:
        member = self.members.get(program.member)
        if member is not None:
            if member.state == cf.MEMBER_ACTIVE_STATE:
                return {"status": cf.MEMBER_ACTIVE}
            if member.state == cf.MEMBER_RECOVERING:
                return {"status": cf.IN_RECOVERY}
            if program.start < member.start or (member.name and member.name != program.name):
                return {"status": cf.STALE_START}
        else:
            member = self.members[program.member] = NaiveMember(program.member, program.name)
        self.free_opens(member)
        self.fence += 1
        member.name, member.start, member.state = program.name, program.start, cf.MEMBER_ACTIVE_STATE
        member.link, member.fence, member.recoverer = link, self.fence, 0
        member.count += 1
        self.member_changed(member)
        units = [each for each in self.units.values() if id_member(each.id) == member.number]
        in_flight = len(self.in_flight(member.number))
        told = {"fence": self.fence, "logged": member.logged, "refused": list(member.refused)}
        return {"status": cf.OK, "units": len(units), "in_flight": in_flight, "count": member.count, **told}

    def free_opens(self, member: NaiveMember) -> None:
        self.opens = [each for each in self.opens if each[2] != member.number]
        self.drop_watches(member.number)
        self.release_all(member.number)
        for structure in self.structures.values():
            structure.members.discard(member.number)

    def drop_watches(self, member: int, structure: str = "") -> None:
        self.id_watches = [each for each in self.id_watches if each[4] != member or structure not in ("", each[0])]
        self.waiters = {each for each in self.waiters if each[2] != member or structure not in ("", each[0])}

    def lose(self, link: int) -> None:
        member = self.by_link(link)
        if member is not None:
            self.fail(member)

    def fail(self, member: NaiveMember) -> None:
        member.link, member.state = 0, cf.MEMBER_FAILED
        self.drop_watches(member.number)
        self.release_all(member.number)
        self.abandon(member)
        self.member_changed(member)
        for other in self.members.values():
            if other.state == cf.MEMBER_RECOVERING and other.recoverer == member.number:
                other.state, other.recoverer = cf.MEMBER_FAILED, 0
                self.member_changed(other)

    def abandon(self, member: NaiveMember) -> None:
        for structure in self.structures.values():
            if structure.state_member == member.number:
                structure.state_member = 0
                if structure.state == cf.STRUCTURE_INBACKUP:
                    structure.state = cf.STRUCTURE_ACTIVE
                else:
                    structure.state = cf.STRUCTURE_STATE_FAILED
                    self.empty(structure)
                self.structure_changed(structure)

    def empty(self, structure: NaiveStructure) -> None:
        touched = {each.unit for each in self.of(structure.name)}
        self.messages = [each for each in self.messages if each.structure != structure.name]
        structure.freed, structure.freed_number, structure.freed_told = {}, {}, {}
        for unit in list(self.units.values()):
            if unit.id in touched and unit.fence == 0 and not self.unit_messages(unit.id):
                del self.units[unit.id]

    def settle(self, member: NaiveMember) -> None:
        self.free_opens(member)
        self.abandon(member)
        self.locks = {name: lock for name, lock in self.locks.items() if lock[0] != member.number}
        member.state, member.recoverer = cf.MEMBER_LEFT, 0
        self.member_changed(member)

    def run_leave(self, member: NaiveMember, program: p.LeaveProgram) -> Fields:
        if self.in_flight(member.number):
            return {"status": cf.UNITS_LEFT}
        member.link = 0
        self.settle(member)
        member.count += 1
        return {"status": cf.OK}

    def run_connect(self, member: NaiveMember, program: p.ConnectProgram) -> Fields:
        is_new = program.structure not in self.structures
        if is_new:
            self.structures[program.structure] = NaiveStructure(program.structure, program.size_bytes, program.level)
            if program.fails_if_new:
                self.structures[program.structure].state = cf.STRUCTURE_STATE_FAILED
        structure = self.structures[program.structure]
        structure.members.add(member.number)
        structure.level = max(structure.level, program.level)
        member.count += 1
        structure.freed_told[member.number] = False
        self.tell_freed(structure, member.number)
        shown = {"state": structure.state, "level": structure.level, "size_bytes": structure.size}
        return {"status": cf.OK, "is_new": is_new, **shown}

    def run_disconnect(self, member: NaiveMember, program: p.DisconnectProgram) -> Fields:
        self.opens = [each for each in self.opens if (each[0], each[2]) != (program.structure, member.number)]
        self.drop_watches(member.number, program.structure)
        self.release_all(member.number, program.structure)
        self.structures[program.structure].members.discard(member.number)
        member.count += 1
        return {"status": cf.OK}

    def run_delete_structure(self, member: NaiveMember, program: p.DeleteStructureProgram) -> Fields:
        structure = self.structures[program.structure]
        if (self.of(structure.name) and not program.forced) or structure.members != {member.number}:
            return {"status": cf.NOT_EMPTY}
        self.empty(structure)
        self.opens = [each for each in self.opens if each[0] != structure.name]
        self.drop_watches(member.number, structure.name)
        del self.structures[structure.name]
        member.count += 1
        return {"status": cf.OK}

    def described(self, member: NaiveMember, program: p.QueueProgram) -> Fields:
        where = (program.structure, program.queue)
        committed = len(self.of(*where, cf.COMMITTED))
        return {
            "status": cf.OK,
            "depth": self.depth(*where),
            "uncommitted": len(self.of(*where)) - committed,
            "input_count": len(self.inputs(*where)),
            "output_count": self.outputs(*where),
            "member_input_count": len(self.inputs(*where, member.number)),
            "member_output_count": self.outputs(*where, member.number),
            "is_exclusive": cf.INPUT_EXCLUSIVE in self.inputs(*where),
        }

    def run_open(self, member: NaiveMember, program: p.OpenProgram) -> Fields:
        refusal = self.usable(program.structure)
        if refusal:
            return {"status": refusal}
        inputs = self.inputs(program.structure, program.queue)
        if program.options & 3 and cf.INPUT_EXCLUSIVE in inputs:
            return {"status": cf.IN_USE}
        if program.options & cf.INPUT_EXCLUSIVE and inputs:
            return {"status": cf.IN_USE}
        self.opens.append((program.structure, program.queue, member.number, program.options))
        member.count += 1
        return self.described(member, program)

    def run_close(self, member: NaiveMember, program: p.CloseProgram) -> Fields:
        # Opens with the same options are alike, and so are an open for input and output and two opens for one each.
        where = (program.structure, program.queue, member.number)
        kinds = [kind for kind in (cf.INPUT_SHARED, cf.INPUT_EXCLUSIVE, cf.OUTPUT) if program.options & kind]
        for kind in kinds:
            if not any(each[:3] == where and each[3] & kind for each in self.opens):
                return {"status": cf.WRONG_STATE}
        for kind in kinds:
            found = next(each for each in self.opens if each[:3] == where and each[3] & kind)
            self.opens.remove(found)
            if found[3] & ~kind:
                self.opens.append((*where, found[3] & ~kind))
        member.count += 1
        return self.described(member, program)

    def run_inquire(self, member: NaiveMember, program: p.InquireProgram) -> Fields:
        return self.described(member, program)

    def unit_refusal(self, member: NaiveMember, id: bytes) -> int:
        unit = self.units.get(id)
        if id_member(id) != member.number or (unit is None and id_start(id) != member.start):
            return cf.BAD_PROGRAM
        if unit is not None and (unit.state != cf.UNIT_INFLIGHT or unit.fence != member.fence):
            return cf.UNIT_DECIDED
        return cf.OK

    def refuse_put(self, member: NaiveMember, program: p.PutProgram, refusal: int) -> int:
        if program.logged > member.logged:
            member.refused.append(program.logged)
            member.logged = program.logged
            member.count += 1
        return refusal

    def put_refusal(self, member: NaiveMember, program: p.PutProgram) -> int:
        entry, name = program.entry, program.structure
        if (id_member(entry.id), id_start(entry.id)) != (member.number, member.start):
            return cf.BAD_PROGRAM
        if self.usable(name):
            return self.usable(name)
        if any(each.id == entry.id for each in self.of(name)):
            return cf.DUPLICATE_ID
        if program.unit and self.unit_refusal(member, program.unit):
            return self.unit_refusal(member, program.unit)
        if program.depth_max and self.depth(name, program.queue) >= program.depth_max:
            return cf.Q_FULL
        space = message_of(program, entry, 0, 0, b"").space()
        if self.used(name) + space > usable_bytes(self.structures[name].size):
            return cf.STRUCTURE_FULL
        return cf.OK

    def run_put(self, member: NaiveMember, program: p.PutProgram) -> Fields:
        if program.logged and program.unit:
            return {"status": cf.BAD_PROGRAM}
        if program.logged and program.logged <= member.logged:
            return {"status": cf.ALREADY_DONE}
        refusal = self.put_refusal(member, program)
        if refusal:
            return {"status": self.refuse_put(member, program, refusal)}
        structure = self.structures[program.structure]
        structure.sequence += 1
        key = (9 - program.entry.priority) * 2**56 + structure.sequence
        place = cf.UNCOMMITTED if program.unit else cf.COMMITTED
        message = message_of(program, program.entry, key, place, program.unit)
        self.messages.append(message)
        if program.unit:
            self.units.setdefault(program.unit, NaiveUnit(program.unit, member.fence))
        else:
            self.available(message)
        self.space_changed(structure)
        member.count += 1
        member.logged = max(member.logged, program.logged)
        inputs = len(self.inputs(program.structure, program.queue))
        depth = self.depth(program.structure, program.queue)
        return {"status": cf.OK, "key": key, "depth": depth, "input_count": inputs}

    def run_get(self, member: NaiveMember, program: p.GetProgram) -> Fields:
        refusal = self.usable(program.structure)
        if not refusal and program.unit:
            refusal = self.unit_refusal(member, program.unit)
        if refusal:
            return {"status": refusal}
        found = self.of(program.structure, program.queue, cf.COMMITTED)
        found = [each for each in found if each.matches(program.match, program.id, program.key)]
        asker = (member.number, program.handle)
        found = [each for each in found if each.lock in (None, asker)]
        expired = [each for each in found if 0 < each.expiry_ms <= program.now_ms]
        found = [each for each in found if each not in expired]
        passed = bool(expired and (not found or expired[0].key < found[0].key))
        answer = {"expired_seen": passed, "is_claimed": False, "is_watched": False, "through_key": 0}
        others = []
        for id in program.others if found else []:
            of_id = [each for each in self.of(program.structure, program.queue, cf.COMMITTED) if each.id == id]
            others += [each for each in of_id if each.lock in (None, asker)]
            if others and others[-1].id == id and 0 < others[-1].expiry_ms <= program.now_ms:
                answer["expired_seen"] = True
                others.pop()
            if not others or others[-1].id != id:
                found = []
                break
        if not found:
            if program.watch:
                answer["is_watched"] = True
                self.watch(member, program.structure, program.queue, program.match, program.id)
            depth = self.depth(program.structure, program.queue)
            return {"status": cf.NO_MESSAGE, "entry": None, "depth": depth, **answer}
        message = found[0]
        answer["entry"] = message.shown(program.body_bytes_max)
        status = cf.OK
        if message.body_length > program.body_bytes_max and not program.truncation_accepted:
            status = cf.TOO_LONG
        elif program.mode != cf.BROWSE:
            member.count += 1
            answer["is_claimed"] = self.take(member, program, message)
            for other in others:
                self.take(member, program, other)
        elif program.locks:
            message.lock = asker
            member.count += 1
        return {"status": status, "depth": self.depth(program.structure, program.queue), **answer}

    def take(self, member: NaiveMember, program: p.GetProgram, message: NaiveMessage) -> bool:
        needed = bool(message.flags & cf.PERSISTENT or message.reference)
        if program.mode == cf.CLAIM or (program.mode == cf.CLAIM_IF_NEEDED and needed):
            message.place, message.unit, message.lock = cf.GOT, program.unit, None
            self.units.setdefault(program.unit, NaiveUnit(program.unit, member.fence))
            return True
        self.remove(message)
        self.space_changed(self.structures[program.structure])
        return False

    def run_release(self, member: NaiveMember, program: p.ReleaseProgram) -> Fields:
        for message in self.of(program.structure, program.queue):
            if message.id == program.entry and message.lock is not None and message.lock[0] == member.number:
                message.lock = None
                self.available(message)
                member.count += 1
                return {"status": cf.OK}
        return {"status": cf.NOT_LOCKED}

    def release_all(self, member: int, structure: str = "") -> None:
        for message in self.messages:
            if message.lock is not None and message.lock[0] == member and structure in ("", message.structure):
                message.lock = None
                self.available(message)

    def watch(self, member: NaiveMember, structure: str, queue: str, match: int, id: bytes) -> None:
        if match in (cf.FIRST, cf.FIRST_AFTER_KEY):
            self.waiters.add((structure, queue, member.number))
        elif (structure, queue, match, id, member.number) not in self.id_watches:
            self.id_watches.append((structure, queue, match, id, member.number))

    def run_watch(self, member: NaiveMember, program: p.WatchProgram) -> Fields:
        watch = (program.structure, program.queue, program.match, program.id, member.number)
        if program.mode == cf.WATCH_OFF:
            if program.match == cf.FIRST:
                self.waiters.discard((program.structure, program.queue, member.number))
            elif watch in self.id_watches:
                self.id_watches.remove(watch)
            return {"status": cf.OK}
        there = self.of(program.structure, program.queue, cf.COMMITTED)
        if program.match != cf.FIRST and any(each.matches(program.match, program.id, 0) for each in there):
            values = {"queue": program.queue, "match": program.match, "id": program.id, "triggers": False}
            self.tell(member.number, cf_event.QUEUE_NOT_EMPTY, structure=program.structure, **values)
        else:
            self.watch(member, program.structure, program.queue, program.match, program.id)
        return {"status": cf.OK}

    def run_list(self, member: NaiveMember, program: p.ListProgram) -> Fields:
        if self.usable(program.structure):
            return {"status": self.usable(program.structure)}
        found = self.of(program.structure, program.queue, cf.COMMITTED)
        found = [each for each in found if each.key > program.after_key]
        if program.expired_ms:
            found = [each for each in found if 0 < each.expiry_ms <= program.expired_ms]
        if program.group_id:
            found = [each for each in found if each.matches(cf.GROUP_ID, program.group_id, 0)]
        body_bytes_max = 1 << 40 if program.with_bodies else 0
        listed = found[: program.count_max]
        shown = [each.shown(body_bytes_max) for each in listed]
        return {"status": cf.OK, "entries": shown, "is_end": len(listed) == len(found)}

    def run_prepare(self, member: NaiveMember, program: p.PrepareProgram) -> Fields:
        unit = self.units.get(program.unit)
        if unit is None:
            return {"status": cf.UNKNOWN_UNIT}
        recovers = any(each.state == cf.STRUCTURE_INRECOVER for each in self.held_by(member))
        if id_member(unit.id) != member.number and not (unit.fence == 0 and recovers):
            return {"status": cf.WRONG_STATE}
        if unit.state == cf.UNIT_INDOUBT and unit.xid == program.xid:
            return {"status": cf.OK}
        if unit.state != cf.UNIT_INFLIGHT:
            return {"status": cf.UNIT_DECIDED}
        unit.state, unit.xid = cf.UNIT_INDOUBT, program.xid
        member.count += 1
        return {"status": cf.OK}

    def held_by(self, member: NaiveMember) -> list[NaiveStructure]:
        return [each for each in self.structures.values() if each.state_member == member.number]

    def run_decide(self, member: NaiveMember, program: p.DecideProgram) -> Fields:
        unit = self.units.get(program.unit)
        if unit is None:
            if not program.keep or not any(each.state == cf.STRUCTURE_INRECOVER for each in self.held_by(member)):
                return {"status": cf.UNKNOWN_UNIT}
            outcome = cf.UNIT_COMMITTED if program.commit else cf.UNIT_BACKED_OUT
            self.units[program.unit] = NaiveUnit(program.unit, 0, outcome)
            owner = self.members.setdefault(id_member(program.unit), NaiveMember(id_member(program.unit), ""))
            owner.start = owner.start or id_start(program.unit)
            member.count += 1
            return {"status": cf.OK, "outcome": outcome}
        if unit.state in (cf.UNIT_COMMITTED, cf.UNIT_BACKED_OUT):
            return {"status": cf.OK, "outcome": unit.state}
        owner = self.members[id_member(unit.id)]
        if owner is not member:
            if owner.state == cf.MEMBER_ACTIVE_STATE:
                return {"status": cf.MEMBER_ACTIVE}
            if unit.state == cf.UNIT_INFLIGHT and owner.state != cf.MEMBER_RECOVERING:
                return {"status": cf.WRONG_STATE}
        unit.state, unit.xid = (cf.UNIT_COMMITTED if program.commit else cf.UNIT_BACKED_OUT), b""
        touched = self.unit_messages(unit.id)
        for message in touched:
            if (message.place == cf.GOT) == program.commit:
                self.remove(message)
                continue
            message.backout_count += 1 if message.place == cf.GOT else 0
            message.place, message.unit = cf.COMMITTED, b""
            self.available(message)
        for name in {each.structure for each in touched}:
            self.space_changed(self.structures[name])
        if owner is member and not program.keep:
            del self.units[unit.id]
        member.count += 1
        return {"status": cf.OK, "outcome": unit.state}

    def run_forget(self, member: NaiveMember, program: p.ForgetProgram) -> Fields:
        before = (len(self.units), len(member.refused))
        for id in program.units:
            unit = self.units.get(id)
            if unit is not None and id_member(id) == member.number and unit.state >= cf.UNIT_COMMITTED:
                del self.units[id]
        member.refused = [each for each in member.refused if each > program.refused_through]
        if (len(self.units), len(member.refused)) != before:
            member.count += 1
        return {"status": cf.OK}

    def run_units(self, member: NaiveMember, program: p.UnitsProgram) -> Fields:
        found = [each for each in self.units.values() if program.member in (0, id_member(each.id))]
        shown = []
        for unit in sorted(found, key=lambda each: each.id):
            places = [each.place for each in self.unit_messages(unit.id)]
            counts = {"puts": places.count(cf.UNCOMMITTED), "gets": places.count(cf.GOT)}
            shown.append({"unit": unit.id, "state": unit.state, "xid": unit.xid, **counts})
        shown = [each for each in shown if each["unit"] > program.after]
        return {"status": cf.OK, "units": shown[: program.count_max], "is_end": len(shown) <= program.count_max}

    def run_begin_recovery(self, member: NaiveMember, program: p.BeginRecoveryProgram) -> Fields:
        target = self.members.get(program.member)
        if target is None:
            return {"status": cf.UNKNOWN_MEMBER}
        if target.state == cf.MEMBER_ACTIVE_STATE:
            if target is member or not program.forced:
                return {"status": cf.MEMBER_ACTIVE}
            self.tell(target.number, cf_event.FENCED_OUT)
            self.fail(target)
        if target.state == cf.MEMBER_LEFT:
            return {"status": cf.WRONG_STATE}
        if target.state == cf.MEMBER_RECOVERING and target.recoverer != member.number:
            return {"status": cf.IN_RECOVERY}
        if target.state == cf.MEMBER_FAILED:
            target.state, target.recoverer = cf.MEMBER_RECOVERING, member.number
            member.count += 1
            self.member_changed(target)
        units = len([each for each in self.units.values() if id_member(each.id) == target.number])
        told = {"units": units, "in_flight": len(self.in_flight(target.number))}
        return {"status": cf.OK, "name": target.name, "start": target.start, **told}

    def run_end_recovery(self, member: NaiveMember, program: p.EndRecoveryProgram) -> Fields:
        target = self.members.get(program.member)
        if target is None:
            return {"status": cf.UNKNOWN_MEMBER}
        if target is member:
            if self.in_flight(member.number, not_fence=member.fence):
                return {"status": cf.UNITS_LEFT}
            old = {name for name, lock in self.locks.items() if lock[0] == member.number and lock[1] != member.fence}
            self.locks = {name: lock for name, lock in self.locks.items() if name not in old}
            member.count += 1 if old else 0
            return {"status": cf.OK}
        if target.state != cf.MEMBER_RECOVERING or target.recoverer != member.number:
            return {"status": cf.WRONG_STATE}
        if self.in_flight(target.number):
            return {"status": cf.UNITS_LEFT}
        self.settle(target)
        member.count += 1
        return {"status": cf.OK}

    def shown_lock(self, name: str) -> Fields:
        member, fence, value = self.locks[name]
        return {"name": name, "member": member, "fence": fence, "value": value}

    def run_lock(self, member: NaiveMember, program: p.LockProgram) -> Fields:
        lock = self.locks.get(program.name)
        status = cf.OK
        if lock is None or lock[:2] == (member.number, member.fence):
            self.locks[program.name] = (member.number, member.fence, program.value)
            member.count += 1
        else:
            status = cf.LOCKED
        return {"status": status, "locks": [self.shown_lock(program.name)]}

    def run_unlock(self, member: NaiveMember, program: p.UnlockProgram) -> Fields:
        if self.locks.get(program.name, (0, 0, b""))[:2] != (member.number, member.fence):
            return {"status": cf.NOT_LOCKED}
        del self.locks[program.name]
        member.count += 1
        return {"status": cf.OK}

    def run_take_freed(self, member: NaiveMember, program: p.TakeFreedProgram) -> Fields:
        structure = self.structures[program.structure]
        freed = structure.freed.get(member.number, [])
        left = [each for each in freed if each[0] > program.taken_through]
        if len(left) != len(freed):
            member.count += 1
        structure.freed[member.number] = left
        taken = left[: program.count_max]
        structure.freed_told[member.number] = len(taken) < len(left)
        return {"status": cf.OK, "references": [each[1] for each in taken], "is_end": len(taken) == len(left)}

    def run_dump(self, member: NaiveMember, program: p.DumpProgram) -> Fields:
        found = self.of(program.structure)
        shown = [{"queue": m.queue, "place": m.place, "unit": m.unit, "entry": m.shown()} for m in found]
        return {"status": cf.OK, "entries": shown, "is_end": True}

    def run_load(self, member: NaiveMember, program: p.LoadProgram) -> Fields:
        structure = self.structures[program.structure]
        if structure.state != cf.STRUCTURE_INRECOVER or structure.state_member != member.number:
            return {"status": cf.WRONG_STATE}
        unit = self.units.get(program.unit)
        if unit is not None and (unit.fence or unit.state != cf.UNIT_INFLIGHT):
            return {"status": cf.UNIT_DECIDED}
        new = [each for each in program.entries if not any(each.id == old.id for old in self.of(structure.name))]
        space = sum(message_of(program, each, 0, 0, b"").space() for each in new)
        if self.used(structure.name) + space > usable_bytes(structure.size):
            return {"status": cf.STRUCTURE_FULL}
        place = (cf.GOT if program.got else cf.UNCOMMITTED) if program.unit else cf.COMMITTED
        for entry in new:
            structure.sequence += 1
            key = (9 - entry.priority) * 2**56 + structure.sequence
            self.messages.append(message_of(program, entry, key, place, program.unit))
            self.messages[-1].backout_count = entry.backout_count
        if program.unit:
            self.units.setdefault(program.unit, NaiveUnit(program.unit, 0))
            owner = self.members.setdefault(id_member(program.unit), NaiveMember(id_member(program.unit), ""))
            owner.start = owner.start or id_start(program.unit)
        self.space_changed(structure)
        member.count += 1
        return {"status": cf.OK}

    def run_set_state(self, member: NaiveMember, program: p.SetStateProgram) -> Fields:
        structure = self.structures[program.structure]
        change = (structure.state, program.state)
        if program.expected and structure.state != program.expected:
            return {"status": cf.WRONG_STATE}
        if program.state == cf.STRUCTURE_STATE_FAILED:
            if structure.state == cf.STRUCTURE_STATE_FAILED:
                return {"status": cf.WRONG_STATE}
            self.empty(structure)
        elif structure.state_member not in (0, member.number):
            return {"status": cf.STRUCTURE_IN_USE}
        elif change not in CHANGES:
            return {"status": cf.WRONG_STATE}
        structure.state = program.state
        held = program.state in (cf.STRUCTURE_INBACKUP, cf.STRUCTURE_INRECOVER)
        structure.state_member = member.number if held else 0
        self.structure_changed(structure)
        self.space_changed(structure)
        member.count += 1
        return {"status": cf.OK}

    def run_announce(self, member: NaiveMember, program: p.AnnounceProgram) -> Fields:
        for other in self.members.values():
            if other is not member:
                self.tell(other.number, cf_event.ANNOUNCED, member=member.number, text=program.text)
        return {"status": cf.OK}

    def run_purge(self, member: NaiveMember, program: p.PurgeProgram) -> Fields:
        where = (program.structure, program.queue)
        if self.usable(program.structure):
            return {"status": self.usable(program.structure)}
        there = self.of(*where, cf.COMMITTED)
        if not program.forced and (self.inputs(*where) or len(self.of(*where)) != len(there)):
            return {"status": cf.IN_USE}
        for message in there[: program.count_max]:
            self.remove(message)
        if there:
            member.count += 1
            self.space_changed(self.structures[program.structure])
        return self.described(member, program)


CHANGES = {
    (cf.STRUCTURE_ACTIVE, cf.STRUCTURE_INBACKUP),
    (cf.STRUCTURE_INBACKUP, cf.STRUCTURE_ACTIVE),
    (cf.STRUCTURE_STATE_FAILED, cf.STRUCTURE_INRECOVER),
    (cf.STRUCTURE_INRECOVER, cf.STRUCTURE_ACTIVE),
}
