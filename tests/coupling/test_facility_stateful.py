"""Any programs of three members and an observer, against a dumb twin. The same file serves every engine of the port.

After each step the whole contents are dumped and compared, and the invariants of the facility hold:
1. an entry is in exactly one place; 2. programs of fenced members change nothing; 5. after the recovery of a member
nothing of it is left but units in doubt, tombstones and committed entries; 6. keys and fences never come twice;
7. `used` is the sum over the entries.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.coupling.facility_under_test import FacilityUnderTest, MachineUnderTest, fields
from tests.coupling.naive_facility import NaiveFacility
from tests.coupling.redis_under_test import RedisUnderTest
from tests.searching import examples

from ostler.model.coupling import events as ev
from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, DumpAnswer, JoinAnswer
from ostler.model.coupling.entries import Entry, id_member, make_id
from ostler.wire.coupling_answers import decode_answer, encode_answer
from ostler.wire.coupling_frames import decode_event, encode_event
from ostler.wire.coupling_programs import decode_program, encode_program
from ostler.wire.frames import HEADER_BYTES

pytestmark = pytest.mark.timeout(600)

OBSERVER = 9
STRUCTURES = ["APPL1", "APPL2"]
QUEUES = ["A", "A", "A", "B"]
SIZE = 128 << 10
"""About 95 KB for entries, so that some structures are full."""

members = st.integers(1, 3)
structures = st.sampled_from(STRUCTURES)
queues = st.sampled_from(QUEUES)
identifiers = st.sampled_from([bytes([number]) * 24 for number in range(3)])  # the null identifier among them
somewhere = st.integers(0, 999)
rarely = st.sampled_from([False, False, False, False, True])
mostly = st.sampled_from([True, True, True, True, False])
locks = st.sampled_from(["TAG", "CHANNEL"])
options = st.sampled_from([1, 1, 2, 4, 5, 6])

Step = tuple[str, dict[str, Any]]


def step(called: str, /, **arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    return st.tuples(st.just(called), st.fixed_dictionaries(arguments))


def weighted(*kinds: tuple[int, st.SearchStrategy[Step]]) -> st.SearchStrategy[Step]:
    """Return one of the kinds, each as often as its weight says; `one_of` would count what is inside them."""
    choices = [kind for weight, kind in kinds for _ in range(weight)]
    return st.integers(0, len(choices) - 1).flatmap(choices.__getitem__)


on_queue = {"member": members, "structure": structures, "queue": queues}
entries = st.fixed_dictionaries(
    {
        "message_id": identifiers,
        "correlation_id": identifiers,
        "group_id": identifiers,
        "priority": st.sampled_from([0, 4, 4, 9]),
        "length": st.sampled_from([0, 121, 122, 400, 20_000]),
        "is_persistent": st.booleans(),
        "expires_in": st.sampled_from([0, 0, 0, 5, 50]),
        "is_offloaded": rarely,
    }
)
puts = step(
    "put",
    **on_queue,
    drawn=entries,
    kind=st.sampled_from(["plain", "plain", "unit", "unit", "logged"]),
    depth_max=st.sampled_from([0, 0, 0, 3]),
    where=somewhere,
)
gets = step(
    "get",
    **on_queue,
    match=st.sampled_from([cf.FIRST, cf.FIRST, *range(8)]),
    mode=st.integers(0, 3),
    id=identifiers,
    other=identifiers,
    body_bytes_max=st.sampled_from([1 << 40, 1 << 40, 121, 0]),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    where=somewhere,
    others=st.sampled_from([0, 0, 0, 1, 2]),
    handle=st.sampled_from([0, 0, 1, 2]),
)
units = weighted(
    (4, step("decide", member=members, where=somewhere, commit=st.booleans(), keep=mostly)),
    (2, step("prepare", member=members, where=somewhere, xid=st.sampled_from([b"one", b"two"]))),
    (1, step("forget", member=members, where=somewhere, count=st.integers(0, 4))),
)
others = st.one_of(
    step(
        "list_entries",
        **on_queue,
        where=somewhere,
        count=st.integers(1, 4),
        flags=st.tuples(mostly, rarely),
        group_id=st.sampled_from([b"", b"", bytes([1]) * 24]),
    ),
    step("lock_entry", **on_queue, where=somewhere, handle=st.integers(1, 2)),
    step("lock_entry", **on_queue, where=somewhere, handle=st.integers(1, 2)),
    step("release", **on_queue, where=somewhere),
    step(
        "watch", **on_queue, mode=st.sampled_from([0, 1, 1]), match=st.integers(0, 4), id=identifiers, other=identifiers
    ),
    step("open", **on_queue, options=options, indexes=st.integers(0, 7)),
    step("close", **on_queue, options=options, where=somewhere),
    step("close", **on_queue, options=options, where=somewhere),
    step("lock", member=members, name=locks, value=st.sampled_from([b"", b"x"])),
    step("unlock", member=members, name=locks),
    step("take_freed", member=members, structure=structures, count=st.integers(1, 5), is_obeyed=st.booleans()),
    step("put_an_identifier_again", **on_queue, where=somewhere),
    step("purge", **on_queue, count=st.integers(1, 9), forced=st.booleans()),
    step("announce", member=members),
    step("tick", milliseconds=st.sampled_from([1, 2, 10, 100])),
    step("come_with_an_old_fence", member=members, structure=structures, where=st.integers(1, 20)),
    step("connect", member=members, structure=structures),
)
work_steps = weighted((4, puts), (4, gets), (2, units), (2, others))
membership = weighted(
    (3, step("lose", member=members)),
    (4, step("join", member=members, is_new_start=st.booleans())),
    (1, step("join_with_an_older_start", member=members, where=somewhere)),
    (1, step("leave", member=members)),
    (3, step("begin_recovery", member=members, other=st.integers(1, 4), forced=rarely)),
    (2, step("end_recovery", member=members, other=st.integers(1, 4))),
    (2, step("recover_peer", member=members, other=members, commit=st.booleans())),
    (2, step("decide_for_the_lost", member=members, commit=st.booleans())),
    (2, units),
)
trouble = weighted(
    (1, step("disconnect", member=members, structure=structures)),
    (1, step("delete_structure", structure=structures, forced=st.booleans())),
    (2, step("set_state", member=members, structure=structures, expected=st.integers(0, 4), state=st.integers(1, 4))),
    (1, step("fail_and_recover", member=members, structure=structures)),
    (3, step("load", **on_queue, count=st.integers(1, 3), where=somewhere, got=st.booleans(), is_new=st.booleans())),
    (3, step("end_structure_recovery", member=members, structure=structures)),
    (2, units),
)


class FacilityAgainstTwin(RuleBasedStateMachine):
    facility: FacilityUnderTest

    def __init__(self) -> None:
        super().__init__()
        self.facility = self.new_facility()
        self.twin = NaiveFacility()
        self.links: dict[int, int] = {}
        self.fences: dict[int, int] = {}
        self.starts: dict[int, int] = {}
        self.last_link = 0
        self.last_number = 0
        self.last_logged: dict[int, int] = {}
        self.units: list[bytes] = []
        self.now_ms = 1_000
        self.keys: dict[tuple[str, int], bytes] = {}
        self.last_fence = 0

    def new_facility(self) -> FacilityUnderTest:
        return MachineUnderTest()

    def teardown(self) -> None:
        self.facility.close()

    # Steps.

    def run_program(self, member: int, program: p.Program, fence: int | None = None) -> dict[str, Any]:
        """Run a program at both, compare answers and events, and return the fields of the answer."""
        link = self.links.get(member, 0)
        if not link:
            return {"status": -1}
        program.fence = self.fences.get(member, 0) if fence is None else fence
        expected = self.twin.run(link, program)
        answer = fields(self.facility.run(link, program))
        told = {name: answer.get(name) for name in expected}
        if isinstance(expected["status"], tuple):
            assert answer["status"] in expected["status"]
        else:
            wrong = {name: (told[name], value) for name, value in expected.items() if told[name] != value}
            assert not wrong, (wrong, p.PROGRAM_NAMES[program.kind], fields(program))
        self.compare_events()
        return answer

    def compare_events(self) -> None:
        told = []
        for link, event in self.facility.events():
            shown = fields(event)
            if isinstance(event, ev.QueueNotEmpty) and event.match == cf.FIRST:
                member = next(each.number for each in self.twin.members.values() if each.link == link)
                assert (event.structure, event.queue, member) in self.twin.waiters
                assert self.twin.of(event.structure, event.queue, cf.COMMITTED)
            else:
                told.append((link, sorted(shown.items())))
        expected = [(link, sorted(values.items())) for link, values in self.twin.events]
        assert sorted(told, key=repr) == sorted(expected, key=repr)
        self.twin.events.clear()

    def new_id(self, member: int) -> bytes:
        self.last_number += 1
        return make_id(member, self.starts.get(member, 1), self.last_number)

    def unit_of(self, member: int, where: int) -> bytes:
        """Return a unit of the member: one that was used before, or a new one."""
        mine = [unit for unit in self.units if unit[:8] == make_id(member, self.starts.get(member, 1), 0)[:8]]
        if where % 3 and mine:
            return mine[-1 - where % min(len(mine), 3)]
        self.units.append(self.new_id(member))
        return self.units[-1]

    def any_unit(self, where: int) -> bytes:
        return self.units[-1 - where % min(len(self.units), 8)] if self.units else self.unit_of(1, 0)

    def entry(self, member: int, drawn: dict[str, Any]) -> Entry:
        md = bytearray(364)
        md[48:72], md[72:96], md[324:348] = drawn["message_id"], drawn["correlation_id"], drawn["group_id"]
        entry = Entry(self.new_id(member), drawn["priority"], bytes(md), b"", bytes(drawn["length"]))
        entry.flags = cf.PERSISTENT if drawn["is_persistent"] else 0
        entry.expiry_ms = self.now_ms + drawn["expires_in"] if drawn["expires_in"] else 0
        if drawn["is_offloaded"]:
            entry.reference, entry.owner, entry.body = b"at " + entry.id, member, b""
        return entry

    @initialize()
    def begin(self) -> None:
        for member in (OBSERVER, 1, 2, 3):
            self.join(member, False)

    @rule(steps=st.lists(work_steps, min_size=1, max_size=15))
    def work(self, steps: list[Step]) -> None:
        self.take_steps(steps)

    @rule(structure=structures, steps=st.lists(work_steps, min_size=5, max_size=20))
    def come_back_and_work(self, structure: str, steps: list[Step]) -> None:
        """Bring back members and structures that have failed, or nothing would happen any more."""
        for member in (1, 2, 3):
            if self.twin.by_link(self.links.get(member, 0)) is None:
                self.break_link(member)
            self.recover_peer(OBSERVER, member, True)
            self.join(member, False)
            self.connect(member, structure)
        if self.twin.structures[structure].state == cf.STRUCTURE_STATE_FAILED:
            self.set_state(1, structure, 0, cf.STRUCTURE_INRECOVER)
        self.end_structure_recovery(1, structure)
        self.take_steps(steps)

    @rule(steps=st.lists(membership, min_size=1, max_size=4))
    def come_and_go(self, steps: list[Step]) -> None:
        self.take_steps(steps)

    @rule(steps=st.lists(trouble, min_size=1, max_size=4))
    def have_trouble(self, steps: list[Step]) -> None:
        self.take_steps(steps)

    def take_steps(self, steps: list[Step]) -> None:
        for called, arguments in steps:
            getattr(self, called)(**arguments)
            self.check_contents()
            self.check_members()

    # Members.

    def join(self, member: int, is_new_start: bool) -> None:
        if self.links.get(member):
            return
        self.last_link += 1
        self.links[member] = self.last_link
        start = self.starts.get(member, 1) + is_new_start
        answer = self.run_program(member, p.JoinProgram(member, start, f"QM{member}"), 0)
        if answer["status"] == cf.OK:
            self.starts[member] = start
            self.fences[member] = answer["fence"]
            self.last_logged[member] = answer["logged"]
            assert answer["fence"] > self.last_fence
            self.last_fence = answer["fence"]
            for structure in STRUCTURES:
                self.connect(member, structure)
        else:
            self.break_link(member)

    def break_link(self, member: int) -> None:
        link = self.links.pop(member, 0)
        self.fences.pop(member, None)
        self.twin.lose(link)
        self.facility.lose(link)
        self.compare_events()

    def lose(self, member: int) -> None:
        self.break_link(member)

    def join_with_an_older_start(self, member: int, where: int) -> None:
        if not self.links.get(member) and self.starts.get(member, 1) > 1:
            self.last_link += 1
            self.links[member] = self.last_link
            self.run_program(member, p.JoinProgram(member, self.starts[member] - 1, f"QM{member}"), 0)
            self.break_link(member)

    def leave(self, member: int) -> None:
        if self.run_program(member, p.LeaveProgram())["status"] == cf.OK:
            self.break_link(member)

    def begin_recovery(self, member: int, other: int, forced: bool) -> None:
        self.run_program(member, p.BeginRecoveryProgram(other, forced))

    def end_recovery(self, member: int, other: int) -> None:
        status = self.run_program(member, p.EndRecoveryProgram(other))["status"]
        if status == cf.OK and member != other:
            self.check_recovered(other)

    def check_recovered(self, member: int) -> None:
        states = {unit["state"] for unit in self.run_program(OBSERVER, p.UnitsProgram(member))["units"]}
        assert cf.UNIT_INFLIGHT not in states
        assert member not in {each["member"] for each in fields(self.observe(p.LocksProgram()))["locks"]}
        for structure in self.twin.structures:
            status = fields(self.observe(p.StatusProgram(structure)))["structures"][0]
            assert member not in status["members"]
        for name, queue, owner, _ in self.twin.opens:
            assert owner != member, (name, queue)

    # Structures.

    def connect(self, member: int, structure: str) -> None:
        self.run_program(member, p.ConnectProgram(structure, SIZE, 5))

    def disconnect(self, member: int, structure: str) -> None:
        self.run_program(member, p.DisconnectProgram(structure))

    def delete_structure(self, structure: str, forced: bool) -> None:
        self.run_program(OBSERVER, p.DeleteStructureProgram(structure, forced))
        self.connect(OBSERVER, structure)

    def set_state(self, member: int, structure: str, expected: int, state: int) -> None:
        self.run_program(member, p.SetStateProgram(structure, expected, state))

    def fail_and_recover(self, member: int, structure: str) -> None:
        state = self.twin.structures[structure].state
        if state in (cf.STRUCTURE_STATE_FAILED, cf.STRUCTURE_INRECOVER):
            return
        self.run_program(member, p.SetStateProgram(structure, state, cf.STRUCTURE_STATE_FAILED))
        self.run_program(member, p.SetStateProgram(structure, 0, cf.STRUCTURE_INRECOVER))

    def load(self, member: int, structure: str, queue: str, count: int, where: int, got: bool, is_new: bool) -> None:
        drawn = {"priority": where % 10, "length": 100, "is_persistent": True, "expires_in": 0, "is_offloaded": False}
        drawn |= {"message_id": bytes(24), "correlation_id": bytes(24), "group_id": bytes(24)}
        entries = [self.entry(4, drawn) for _ in range(count)]
        unit = b""
        if where % 2:
            if is_new:
                self.units.append(make_id(4, 1, self.last_number + 1))
                self.last_number += 1
            unit = self.any_unit(where)
        program = p.LoadProgram(structure, queue, entries, unit, got and bool(unit))
        if self.run_program(member, program)["status"] == cf.OK:
            self.run_program(member, program)  # those that are there are passed over
            if unit and where % 4 == 1:
                self.run_program(member, p.PrepareProgram(unit, b"xid"))

    def end_structure_recovery(self, member: int, structure: str) -> None:
        self.run_program(member, p.SetStateProgram(structure, cf.STRUCTURE_INRECOVER, cf.STRUCTURE_ACTIVE))

    def take_freed(self, member: int, structure: str, count: int, is_obeyed: bool) -> None:
        answer = self.run_program(member, p.TakeFreedProgram(structure, 0, count))
        if is_obeyed and answer["status"] == cf.OK:
            self.run_program(member, p.TakeFreedProgram(structure, answer["through"], count))

    # Queues.

    def open(self, member: int, structure: str, queue: str, options: int, indexes: int) -> None:
        self.run_program(member, p.OpenProgram(structure, queue, options, indexes))

    def close(self, member: int, structure: str, queue: str, options: int, where: int) -> None:
        if where % 4 and self.twin.opens:
            structure, queue, member, options = self.twin.opens[where % len(self.twin.opens)]
        self.run_program(member, p.CloseProgram(structure, queue, options))

    def put(
        self, member: int, structure: str, queue: str, drawn: dict[str, Any], kind: str, depth_max: int, where: int
    ) -> None:
        entry = self.entry(member, drawn)
        unit = self.unit_of(member, where) if kind == "unit" else b""
        logged = self.last_logged.get(member, 0) + where % 3 if kind == "logged" else 0
        program = p.PutProgram(structure, queue, entry, unit, depth_max, logged)
        answer = self.run_program(member, program)
        if answer["status"] == cf.OK:
            # A key stands for one entry, however long ago that went.
            assert self.keys.setdefault((structure, answer["key"]), entry.id) == entry.id
        if answer["status"] not in (-1, cf.FENCED, cf.NOT_CONNECTED) or logged == 0:
            self.last_logged[member] = max(self.last_logged.get(member, 0), logged)

    def put_an_identifier_again(self, member: int, structure: str, queue: str, where: int) -> None:
        there = [each for each in self.twin.of(structure) if each.id[:8] == make_id(member, self.starts[member], 0)[:8]]
        if there:
            entry = Entry(there[where % len(there)].id, 5, bytes(364), b"", b"other")
            self.run_program(member, p.PutProgram(structure, queue, entry))

    def get(
        self,
        member: int,
        structure: str,
        queue: str,
        match: int,
        mode: int,
        id: bytes,
        other: bytes,
        body_bytes_max: int,
        flags: tuple[bool, bool, bool],
        where: int,
        others: int,
        handle: int,
    ) -> None:
        program = p.GetProgram(structure, queue, mode, match)
        there = self.twin.of(structure, queue)
        if match in (cf.MSG_ID, cf.CORREL_ID, cf.GROUP_ID, cf.MSG_AND_CORREL_ID):
            if bytes(24) in (id, other):
                return
            program.id = id + other if match == cf.MSG_AND_CORREL_ID else id
            program.key = there[where % len(there)].key if there and where % 3 == 0 else 0
        elif match == cf.ENTRY_ID:
            program.id = there[where % len(there)].id if there else make_id(1, 1, 1)
        elif match >= cf.FIRST_AFTER_KEY and there:
            program.key = there[where % len(there)].key
        program.unit = self.unit_of(member, where) if mode >= cf.CLAIM else b""
        program.body_bytes_max = body_bytes_max
        program.now_ms = self.now_ms if flags[0] else 0
        program.truncation_accepted = flags[1]
        program.watch = flags[2] and match not in (cf.ENTRY_ID, cf.AT_KEY)
        program.handle = handle
        if match == cf.ENTRY_ID and mode == cf.CLAIM:
            ids = [each.id for each in there if each.id != program.id]
            program.others = ids[where % 3 : where % 3 + others]
        self.run_program(member, program)

    def lock_entry(self, member: int, structure: str, queue: str, where: int, handle: int) -> None:
        program = p.GetProgram(structure, queue, cf.BROWSE)
        there = self.twin.of(structure, queue, cf.COMMITTED)
        if where % 3 and there:
            program.match, program.id = cf.ENTRY_ID, there[where % len(there)].id
        program.handle, program.locks = handle, True
        self.run_program(member, program)

    def release(self, member: int, structure: str, queue: str, where: int) -> None:
        locked = [each for each in self.twin.of(structure, queue) if each.lock is not None]
        if locked and where % 4:
            chosen = locked[where % len(locked)]
            assert chosen.lock is not None
            member = chosen.lock[0] if where % 3 else member
            self.run_program(member, p.ReleaseProgram(structure, queue, chosen.id))
        else:
            there = self.twin.of(structure, queue)
            unlocked = there[where % len(there)].id if there else make_id(1, 1, 1)
            self.run_program(member, p.ReleaseProgram(structure, queue, unlocked))

    def list_entries(
        self,
        member: int,
        structure: str,
        queue: str,
        where: int,
        count: int,
        flags: tuple[bool, bool],
        group_id: bytes,
    ) -> None:
        there = self.twin.of(structure, queue)
        after = there[where % len(there)].key if there and where % 2 else -1
        program = p.ListProgram(structure, queue, after)
        program.count_max = count
        program.with_bodies = flags[0]
        program.expired_ms = self.now_ms if flags[1] else 0
        program.group_id = group_id
        self.run_program(member, program)

    def watch(self, member: int, structure: str, queue: str, mode: int, match: int, id: bytes, other: bytes) -> None:
        if bytes(24) not in (id, other):
            watched = {cf.FIRST: b"", cf.MSG_AND_CORREL_ID: id + other}.get(match, id)
            self.run_program(member, p.WatchProgram(structure, queue, mode, match, watched))

    def purge(self, member: int, structure: str, queue: str, count: int, forced: bool) -> None:
        self.run_program(member, p.PurgeProgram(structure, queue, count, forced))

    # Units and locks.

    def prepare(self, member: int, where: int, xid: bytes) -> None:
        unit = self.any_unit(where)
        self.run_program(id_member(unit) if where % 3 else member, p.PrepareProgram(unit, xid))

    def decide(self, member: int, where: int, commit: bool, keep: bool) -> None:
        unit = self.any_unit(where)
        self.run_program(id_member(unit) if where % 3 else member, p.DecideProgram(unit, commit, keep))

    def forget(self, member: int, where: int, count: int) -> None:
        refused = self.last_logged.get(member, 0) - where % 3
        self.run_program(member, p.ForgetProgram(self.units[-count:], max(refused, 0)))

    def lock(self, member: int, name: str, value: bytes) -> None:
        self.run_program(member, p.LockProgram(name, value))

    def unlock(self, member: int, name: str) -> None:
        self.run_program(member, p.UnlockProgram(name))

    def announce(self, member: int) -> None:
        self.run_program(member, p.AnnounceProgram("version 7"))

    def tick(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        self.facility.tick(self.now_ms)
        self.compare_events()

    def come_with_an_old_fence(self, member: int, structure: str, where: int) -> None:
        fence = max(self.fences.get(member, 0) - where, 0)
        drawn = {"priority": 9, "length": 10, "is_persistent": False, "expires_in": 0, "is_offloaded": False}
        drawn |= {"message_id": bytes(24), "correlation_id": bytes(24), "group_id": bytes(24)}
        self.run_program(member, p.PutProgram(structure, "A", self.entry(member, drawn)), fence)
        self.run_program(member, p.GetProgram(structure, "A", cf.REMOVE), fence)
        self.run_program(member, p.DecideProgram(self.any_unit(where), False), fence)

    def decide_for_the_lost(self, member: int, commit: bool) -> None:
        """Units in flight of a member that failed are not for others while nobody recovers it; those in doubt are."""
        for unit in list(self.twin.units.values()):
            if self.twin.members[id_member(unit.id)].state == cf.MEMBER_FAILED:
                self.run_program(member, p.DecideProgram(unit.id, commit))

    def recover_peer(self, member: int, other: int, commit: bool) -> None:
        """Recover a member that failed, as peers do."""
        if self.run_program(member, p.BeginRecoveryProgram(other))["status"] == cf.OK:
            if self.twin.in_flight(other):
                self.end_recovery(member, other)  # too early
            for unit in self.run_program(member, p.UnitsProgram(other))["units"]:
                if unit["state"] == cf.UNIT_INFLIGHT:
                    self.run_program(member, p.DecideProgram(unit["unit"], commit))
            self.end_recovery(member, other)

    # After every step.

    def observe(self, program: p.Program) -> Any:
        program.fence = self.fences[OBSERVER]
        return self.facility.run(self.links[OBSERVER], program)

    def check_contents(self) -> None:
        for name in self.twin.structures:
            found: list[dict[str, Any]] = []
            program = p.DumpProgram(name)
            program.count_max = 7
            while True:
                answer = self.observe(program)
                assert isinstance(answer, DumpAnswer), name
                found += fields(answer)["entries"]
                if answer.is_end:
                    break
                program.after_queue, program.after_key = answer.through_queue, answer.through_key
            twin = self.twin.run_dump(self.twin.members[OBSERVER], p.DumpProgram(name))["entries"]
            assert found == twin
            ids = [each["entry"]["id"] for each in found]
            assert len(set(ids)) == len(ids)
            space = sum(256 + -(-(391 + len(each["entry"]["body"])) // 256) * 256 for each in found)
            assert answer.used_bytes == space
            for queue in set(QUEUES):
                self.run_program(OBSERVER, p.InquireProgram(name, queue))
        self.run_program(OBSERVER, p.UnitsProgram(0))

    def check_members(self) -> None:
        found = {each["number"]: each for each in fields(self.observe(p.MembersProgram()))["members"]}
        assert set(found) == set(self.twin.members)
        for number, twin in self.twin.members.items():
            expected = (twin.state, twin.start, twin.name, twin.count, twin.logged, twin.recoverer)
            shown = [found[number][name] for name in ("state", "start", "name", "count", "logged", "recoverer")]
            assert tuple(shown) == expected
            assert found[number]["in_flight"] == len(self.twin.in_flight(number))


TestMachineAgainstTwin = FacilityAgainstTwin.TestCase
TestMachineAgainstTwin.settings = settings(max_examples=examples(40), stateful_step_count=25, deadline=None)


class RedisAgainstTwin(FacilityAgainstTwin):
    def new_facility(self) -> FacilityUnderTest:
        return RedisUnderTest()


TestRedisAgainstTwin = RedisAgainstTwin.TestCase
TestRedisAgainstTwin.settings = settings(max_examples=examples(6), stateful_step_count=25, deadline=None)


def test_the_answer_of_a_join_is_of_its_class(facility: FacilityUnderTest) -> None:
    """The comparison by fields would not see another class with the same fields."""
    assert isinstance(facility.run(1, p.JoinProgram(1, 1, "QM1")), JoinAnswer)


class FramedFacility(MachineUnderTest):
    """The machine behind the frames: programs, answers and events are encoded and decoded on their way."""

    def run(self, link: int, program: p.Program) -> Answer:
        sent = encode_program(program, 1)
        answer = encode_answer(super().run(link, decode_program(sent, HEADER_BYTES, len(sent))), 1)
        return decode_answer(answer, HEADER_BYTES, len(answer))

    def events(self) -> list[tuple[int, ev.Event]]:
        told = [(link, encode_event(event)) for link, event in super().events()]
        return [(link, decode_event(data, HEADER_BYTES, len(data))) for link, data in told]


class FramedFacilityAgainstTwin(FacilityAgainstTwin):
    def new_facility(self) -> FacilityUnderTest:
        return FramedFacility()


TestFramedFacilityAgainstTwin = FramedFacilityAgainstTwin.TestCase
TestFramedFacilityAgainstTwin.settings = settings(max_examples=examples(10), stateful_step_count=25, deadline=None)
