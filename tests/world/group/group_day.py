"""A random day of a queue-sharing group: verbs on shared and private queues, crashes, lost links, and what must hold.

Each unit of work moves one message between a private queue of its member and the shared queue, or between shared
queues, always exactly one put and one get with the same number. So whatever happens, every number is there exactly
once: in the private queue of its member, or in one of the shared queues.
"""

from __future__ import annotations

from random import Random

from tests.world.group.group_world import GroupWorld, MemberWorld
from tests.world.group.simulated_port import Facility
from tests.world.world import World
from tests.world.world_lives import SMALL_LOG

from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.engine.outcomes import PutOutcome, UnitOutcome
from ostler.engine.queue.get_request import GetRequest
from ostler.engine.syncpoint import back_out
from ostler.engine.unit_of_work import UnitOfWork
from ostler.log import LogSettings
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.errors import MQError

INPUT_OUTPUT = mq.MQOO_INPUT_SHARED | mq.MQOO_OUTPUT | mq.MQOO_BROWSE
SHARED = ("Q1", "Q2")
MESSAGES = 6
"""Numbers that go around, for each member."""


class Mover:
    """An application that moves messages, one at a time, each in a unit of work."""

    def __init__(self, day: GroupDay, member: MemberWorld) -> None:
        self.day = day
        self.member = member
        self.application: Connection = member.connect()
        self.handles: dict[str, Handle] = {}
        self.request: GetRequest | None = None
        self.outcome: UnitOutcome | None = None
        self.to = ""
        self.is_putting = False
        self.put_outcome: PutOutcome | None = None

    def step(self) -> None:
        """Go on, if what was asked for last is answered."""
        member = self.member
        if self.outcome is not None:
            task = self.outcome.task
            if task is None or task.is_done:
                self.day.moved += self.outcome.reason == 0
                self.outcome = None
            return
        if self.request is None:
            self._begin()
            return
        if not self.request.done:
            return
        if self.is_putting:
            self._end()
        elif self.request.reason != 0:
            self.give_up()
        else:
            self._put(member, self.request.body)

    def _begin(self) -> None:
        random = self.day.random
        names = [*SHARED, "PRIVATE"]
        source = random.choice(names)
        self.to = random.choice([name for name in names if name != source])
        handle = self._open(source)
        if handle is not None:
            self.request = self.day.get(self.member, self.application, handle)

    def _open(self, name: str) -> Handle | None:
        handle = self.handles.get(name)
        if handle is None or not handle.valid:
            handle = self.day.open(self.member, self.application, name)
            if handle is not None:
                self.handles[name] = handle
        return handle

    def _put(self, member: MemberWorld, body: bytes) -> None:
        handle = self._open(self.to)
        if handle is None:
            self.give_up()
            return
        outcome = member.put_later(self.application, handle, body, syncpoint=True, persistence=1)
        if outcome.task is None and outcome.has_failed():
            self.give_up()
            return
        self.is_putting = True
        self.put_outcome = outcome

    def _end(self) -> None:
        outcome = self.put_outcome
        assert outcome is not None
        if outcome.task is not None and not outcome.task.is_done:
            return
        if outcome.has_failed():
            self.give_up()
            return
        self.is_putting = False
        self.request = None
        if self.day.random.random() < 0.2:
            self.give_up()
        else:
            self.outcome = self.member.commit_later(self.application)

    def give_up(self) -> None:
        self.request = None
        self.is_putting = False
        self.member.tick(0)
        back_out(self.member.engine, self.application, True)


class Account:
    """What tellers know of their messages."""

    def __init__(self) -> None:
        self.last = 0
        self.put: set[bytes] = set()
        self.refused: set[bytes] = set()
        self.got: set[bytes] = set()
        self.unknown_gets = 0


class Teller:
    """An application that puts and gets outside units of work, on a queue that is often full."""

    def __init__(self, day: GroupDay, member: MemberWorld) -> None:
        self.day = day
        self.member = member
        self.application: Connection = member.connect()
        self.handle: Handle | None = None
        self.request: GetRequest | None = None
        self.outcome: PutOutcome | None = None
        self.body = b""

    def step(self) -> None:
        if self.outcome is not None:
            self._end_put(self.outcome)
        elif self.request is not None:
            if self.request.done:
                self._end_get(self.request)
        elif self.handle is None or not self.handle.valid:
            self.handle = self.day.open(self.member, self.application, "Q3")
        elif self.day.random.random() < 0.6:
            self.day.account.last += 1
            self.body = b"t%d" % self.day.account.last
            self.outcome = self.member.put_later(self.application, self.handle, self.body)
        else:
            self.request = World.get(self.member, self.application, self.handle)

    def _end_put(self, outcome: PutOutcome) -> None:
        if outcome.task is not None and not outcome.task.is_done:
            return
        if outcome.after_lsn > self.member.log.durable_lsn():
            return
        account = self.day.account
        if not outcome.has_failed():
            account.put.add(self.body)
        elif outcome.reason in (mq.MQRC_Q_FULL, mq.MQRC_CF_STRUC_FAILED):
            account.refused.add(self.body)
        self.outcome = None

    def _end_get(self, request: GetRequest) -> None:
        if request.reason == 0:
            self.day.account.got.add(request.body)
        elif request.reason != mq.MQRC_NO_MSG_AVAILABLE:
            self.day.account.unknown_gets += 1
        self.request = None

    def give_up(self) -> None:
        """The member has died: nobody knows the outcome of what was asked for last."""
        if self.request is not None:
            self.day.account.unknown_gets += 1


class GroupDay:
    def __init__(
        self,
        seed: int,
        members: int = 3,
        faults: float = 1.0,
        facility: Facility | None = None,
        losses: float = 0.0,
        log: LogSettings = SMALL_LOG,
    ) -> None:
        """`faults` is how often members die and links break, `losses` how often the facility is lost."""
        self.random = Random(seed)
        self.faults = faults
        self.losses = losses
        self.moved = 0
        self.deaths = 0
        self.lost = 0
        self.backups = 0
        self.group = GroupWorld(*[f"QM{number}" for number in range(1, members + 1)], facility=facility, log=log)
        self.group.is_automatic = losses > 0
        for member in self.group.members:
            member.recoveries.is_automatic = losses > 0
        self.group.define_structure("APP1")
        self.group.define_structure("APP2")
        self.group.define_queue("Q1", "APP1")
        self.group.define_queue("Q2", "APP2")
        self.group.define_queue("Q3", "APP1", {"MAXDEPTH": 3})
        self.numbers: set[bytes] = set()
        for member in self.group.members:
            member.define_queue("PRIVATE", {"SHARE": 1, "DEFSOPT": 2})
            application = member.connect()
            handle = member.open(application, "PRIVATE", INPUT_OUTPUT)
            for _ in range(MESSAGES):
                number = b"%d" % len(self.numbers)
                self.numbers.add(number)
                member.put(application, handle, number)
        self.movers = [Mover(self, member) for member in self.group.members for _ in range(2)]
        self.account = Account()
        self.tellers = [Teller(self, member) for member in self.group.members] if losses > 0 else []

    # -- verbs that do not wait for the network

    def open(self, member: MemberWorld, application: Connection, name: str) -> Handle | None:
        try:
            return World.open(member, application, name, INPUT_OUTPUT)
        except MQError:
            return None

    def get(self, member: MemberWorld, application: Connection, handle: Handle) -> GetRequest:
        return World.get(member, application, handle, mq.MQGMO_SYNCPOINT)

    # -- the day

    def run(self, steps: int) -> None:
        with self.group.hold():
            for _ in range(steps):
                self._step()
        self.rest()

    def _step(self) -> None:
        self.group.facility.stir()
        chance = self.random.random()
        member = self.random.choice(self.group.members)
        if self.losses > 0 and self._fault_of_facility(member):
            return
        if not member.is_up:
            if chance < 0.2:
                self._return(member)
            return
        if chance < 0.02 and self.random.random() > self.faults:
            return
        if chance < 0.01:
            self._kill(member)
        elif chance < 0.02:
            member.port.lose()
        elif chance < 0.10 and not member.port.is_joined():
            member.join()
        elif chance < 0.13:
            member.force()
        elif chance < 0.14:
            self.group.now_ms += 1000
            self.group.facility.tick(self.group.now_ms)
            member.member.on_tick()
            member.recoveries.on_tick()
        elif chance < 0.15 and member.log.needs_checkpoint():
            member.checkpoint()
        elif chance < 0.40:
            mover = self.random.choice(self.movers)
            if mover.member.is_up:
                mover.step()
        elif chance < 0.50 and self.tellers:
            teller = self.random.choice(self.tellers)
            if teller.member.is_up:
                teller.step()
        else:
            self._network(member)
        self.check()

    def _network(self, member: MemberWorld) -> None:
        member.engine.woken = []
        member.port.durable_lsn = member.log.durable_lsn()
        if member.recovery_steps:
            member.recovery_steps.popleft()()
        if self.random.random() < 0.2:
            self.group.facility.run_late()
        if self.random.random() < 0.5:
            member.port.send_one()
        else:
            member.port.hear_one()

    def _kill(self, member: MemberWorld) -> None:
        self.deaths += 1
        member.die(self.random.choice([None, self.random.randrange(1000)]))
        self.movers = [mover for mover in self.movers if mover.member is not member]
        for teller in self.tellers:
            if teller.member is member:
                teller.give_up()
        self.tellers = [teller for teller in self.tellers if teller.member is not member]

    def _return(self, member: MemberWorld) -> None:
        member.restart()
        member.begin_membership()
        self.movers += [Mover(self, member) for _ in range(2)]
        if self.losses > 0:
            self.tellers.append(Teller(self, member))

    def _fault_of_facility(self, member: MemberWorld) -> bool:
        """Lose the facility, or begin a backup, once in a while."""
        chance = self.random.random()
        if chance < 0.002 * self.losses:
            self.lost += 1
            self.group.lose_facility(100 + self.lost)
            return True
        if chance < 0.006 and member.is_up and member.port.is_joined():
            try:
                member.recoveries.begin_backup(self.random.choice(["APP1", "APP2"]))
            except MQError:
                return True
            self.backups += 1
            return True
        return False

    def rest(self) -> None:
        """Everybody is there, and everything is answered."""
        for _ in range(3):
            for member in self.group.members:
                if not member.is_up:
                    self._return(member)
                if not member.port.is_joined():
                    member.join()
            self.group.settle()
            self.group.ticks()
        for _ in range(200 if self.losses > 0 else 0):
            self.group.ticks()
            states = [int(each.state) for each in self.group.facility.machine.state.structures.values()]
            if states == [cf.STRUCTURE_ACTIVE] * 2:
                break
        for mover in self.movers:
            mover.member.tick(0)
            mover.give_up()
        self.group.settle()
        for teller in self.tellers:
            teller.member.force()
            if teller.outcome is not None or teller.request is not None:
                teller.step()

    # -- what must hold

    def check(self) -> None:
        """At every moment: entries are in one place, and the space of structures is what they take."""
        for structure in self.group.facility.machine.state.structures.values():
            used = sum(stored.entry.space() for stored in structure.entries.values())
            assert used == structure.used_bytes
        # Nobody recovers a member that is there.
        known = self.group.facility.machine.state.members
        for each in self.group.members:
            if each.is_up and each.port.is_joined():
                member = known[each.number]
                assert (member.state, member.link) == (cf.MEMBER_ACTIVE_STATE, each.port.link), each.name

    def check_numbers(self) -> None:
        """At rest: every number is there exactly once."""
        found: list[bytes] = []
        for member in self.group.members:
            found += member.bodies("PRIVATE")
        for name in SHARED:
            found += self.group.members[0].bodies(name)
        assert sorted(found) == sorted(self.numbers)
        for name in ("APP1", "APP2"):
            counts = self.group.entries(name)
            assert (counts["uncommitted"], counts["got"]) == (0, 0)

    def check_account(self) -> None:
        """At rest: what was put outside units is there once if it was acknowledged, and never if it was refused."""
        account = self.account
        found = self.group.members[0].bodies("Q3")
        assert len(set(found)) == len(found), "a message came back twice"
        assert not account.got & set(found), "a message that was got came back"
        assert not account.refused & set(found), "a message that was refused came to life"
        assert len(account.put - account.got - set(found)) <= account.unknown_gets, "an acknowledged message is lost"

    def left_units(self) -> list[UnitOfWork]:
        return [unit for member in self.group.members for unit in member.engine.units_of_work.values()]
