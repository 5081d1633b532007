"""Several instances of one queue manager, an arbiter, a network and clients, all from one number.

    world = ReplicaWorld(seed=7, instances=3)
    world.run(400)        steps with troubles
    world.settle()        troubles end; somebody leads, and has everything

`mutations` breaks one rule on purpose: the checks must find it.
"""

from __future__ import annotations

from random import Random

from tests.world.follower import durable_state
from tests.world.replica.instance import (
    BROKEN,
    DOWN,
    FOLLOWS,
    LEADS,
    REBASES,
    RELAYS,
    RUNNING,
    TIMEOUT_SECONDS,
    Instance,
    LeadingWorld,
    new_settings,
)
from tests.world.replica.ledger import Ledger, Operation
from tests.world.replica.mutations import (
    ACKNOWLEDGE_BEFORE_FORCE,
    APPLY_BEYOND_GROUP,
    CANDIDATE_OUTSIDE_SET,
    CLOCK_FOR_SAFETY,
    NO_TERM_CHECK,
    SHRINK_AFTER_ACKNOWLEDGING,
    ApplyingBeyondGroup,
    ClockTrusting,
    ForceForgetting,
    ShrinkingLate,
    TermIgnoring,
    with_everybody_in_sync,
)
from tests.world.replica.network import Link, Network
from tests.world.replica.simulated_arbiter import ArbiterStore
from tests.world.replica.watched_disk import WatchedDisk
from tests.world.world_lives import LOG_DIRECTORY

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.recovery.checkpoint import write_instance
from ostler.engine.unit_of_work import PREPARED
from ostler.log.catch_up import CatchUpReader
from ostler.log.restart import create_log_of_any_size
from ostler.model.arbiter import ArbiterView
from ostler.model.constants import MQGMO_NO_SYNCPOINT, MQGMO_SYNCPOINT, MQOO_INPUT_SHARED, MQOO_OUTPUT
from ostler.replica.base_files import BaseFiles
from ostler.replica.base_side import BaseSide
from ostler.replica.follower_side import FollowerSide
from ostler.replica.leader_side import NEEDS_BASE, REBASING, LeaderSide
from ostler.replica.membership import LeaderMembership, default_policy
from ostler.replica.standby import Standby
from ostler.testing.simulation.crashing_disk import SimulatedDisk
from ostler.wire.replica_frames import ReplicaHello

STEP_SECONDS = 0.1
QUEUE = "Q"
_LENGTHS = [30, 30, 30, 30, 30, 30, 300, 300, 300, 3000, 3000, 70_000]  # the longest crosses extents


_TROUBLES = {
    "kill": 10, "power": 12, "pause": 10, "asleep": 10, "cut": 12, "cut_one": 12, "arbiter": 8, "arbiter_call": 12,
    "full": 6, "fail": 2, "spoil": 3, "scrap": 8,
}  # fmt: skip


class ReplicaWorld:
    group = "GROUP"
    first = "A"

    def __init__(
        self, seed: int, instances: int = 3, mutations: frozenset[str] = frozenset(), trouble_percent: int | None = None
    ) -> None:
        self.random = Random(seed)
        self.seed = seed
        self.mutations = mutations
        self.identity = (seed + 1).to_bytes(16, "little")
        self.settings = new_settings()
        self.buffer_bytes = self.random.choice([0, 4096, 100_000])
        self.keep_extents = self.random.choice([1, 50])
        self.live_bytes_max = self.random.choice([20_000, 16 << 20])
        self.base_number = 0
        self.now = 0.0
        self.notes: list[str] = []
        self.store = ArbiterStore()
        self.network = Network(self.random)
        self.network.delay_seconds = self.random.choice([0.0, 0.0, 0.1, 0.3])
        self.ledger = Ledger()
        self.group_lsn = 0
        self.spoiled = ""
        """The instance whose disk was damaged: one at most, and it may break."""
        self.trouble_percent = self.random.choice([1, 3, 6]) if trouble_percent is None else trouble_percent
        self._checkpointing: set[str] = set()
        self._counter = 0
        self._clients: dict[str, tuple[Connection, Handle, Handle]] = {}
        self._units: dict[str, Operation] = {}
        self.terms = 0
        self.works = True
        """Clients do something."""
        self.instances = [self._create(chr(ord(self.first) + number), number == 0) for number in range(instances)]
        assert self.instances[0].arbiter.found((self.first,), 1, self._founding_term())
        for each in self.instances:
            each.start()

    def _founding_term(self) -> int:
        return 0

    def _create(self, name: str, is_creator: bool) -> Instance:
        disk = SimulatedDisk()
        create_log_of_any_size(disk, LOG_DIRECTORY, self.settings, self.identity)
        write_instance(disk, self.identity)
        return Instance(self, name, disk, is_creator)

    def note(self, what: str) -> None:
        self.notes.append(f"{self.now:6.1f} {what}")

    # -- what may be broken on purpose

    def make_standby(self, opened: Standby) -> Standby:
        if APPLY_BEYOND_GROUP in self.mutations:
            return ApplyingBeyondGroup(opened.engine, opened.replay, opened.log, opened.journal)
        return opened

    def make_follower_side(self, name: str, standby: Standby, files: BaseFiles) -> FollowerSide:
        if ACKNOWLEDGE_BEFORE_FORCE in self.mutations:
            return ForceForgetting(name, self.group, "QM", standby, files)
        if NO_TERM_CHECK in self.mutations:
            return TermIgnoring(name, self.group, "QM", standby, files)
        return FollowerSide(name, self.group, "QM", standby, files)

    def make_base_side(self, name: str, disk: WatchedDisk) -> BaseSide:
        def configure(engine: Engine) -> None:
            engine.buffer_bytes_nonpersistent = engine.buffer_bytes_persistent = self.buffer_bytes

        return BaseSide(name, self.group, "QM", disk, disk, LOG_DIRECTORY, self.settings, configure)

    def make_leader_side(
        self,
        instance: Instance,
        hello: ReplicaHello,
        membership: LeaderMembership,
        reader: CatchUpReader,
        forced_lsn: int,
        position: int,
    ) -> LeaderSide:
        if SHRINK_AFTER_ACKNOWLEDGING in self.mutations:
            late = ShrinkingLate(hello, membership, reader, forced_lsn, position)
            late.clock = lambda: self.now
            late.timeout_seconds = TIMEOUT_SECONDS
            return late
        if CLOCK_FOR_SAFETY in self.mutations:
            trusting = ClockTrusting(hello, membership, reader, forced_lsn, position)
            trusting.has_lease = lambda: instance.lease_until > self.now
            return trusting
        return LeaderSide(hello, membership, reader, forced_lsn, position)

    def view_for(self, instance: Instance, view: ArbiterView) -> ArbiterView:
        if CANDIDATE_OUTSIDE_SET in self.mutations:
            return with_everybody_in_sync(view, instance.name)
        return view

    # -- what the instances ask of their world

    def allowed_lsn(self) -> int:
        return self.group_lsn

    def group_is_at(self, lsn: int) -> None:
        self.group_lsn = max(self.group_lsn, lsn)

    def may_break(self, instance: Instance, why: str) -> bool:
        return instance.name == self.spoiled

    def repaired(self, instance: Instance) -> None:
        """An instance has taken a base: another disk may be damaged now."""
        if self.spoiled == instance.name:
            self.spoiled = ""

    def is_checkpointing(self, instance: Instance) -> bool:
        return instance.name in self._checkpointing

    def set_checkpointing(self, instance: Instance, is_under_way: bool) -> None:
        if is_under_way:
            self._checkpointing.add(instance.name)
        else:
            self._checkpointing.discard(instance.name)

    def connect(self, leader: Instance, follower: Instance) -> Link | None:
        if follower.state in (DOWN, BROKEN):
            return None
        link = self.network.connect(leader.name, follower.name)
        if link is not None:
            follower.incoming.append(link)
        return link

    def began_to_lead(self, instance: Instance) -> None:
        self.terms += 1
        self._clients.pop(instance.name, None)
        self._units.pop(instance.name, None)
        self._checkpointing.discard(instance.name)

    # -- clients

    def work(self, instance: Instance, leading: LeadingWorld) -> None:
        """Some verbs of clients at a leader. Their replies are held until enough copies have the records."""
        if not self.works:
            return
        if QUEUE not in leading.engine.queues:
            leading.define_queue_unforced(QUEUE)
            return
        if instance.name not in self._clients:
            connection = leading.connect()
            inputs = leading.open(connection, QUEUE, MQOO_INPUT_SHARED)
            self._clients[instance.name] = connection, inputs, leading.open(connection, QUEUE, MQOO_OUTPUT)
        for _ in range(self.random.choice([0, 1, 1, 3])):
            if leading.log.buffer_is_full() or leading.log.is_filling():
                return
            verb = self.random.choices(["put", "get", "unit", "end", "prepare", "resolve"], [40, 25, 20, 14, 3, 4])[0]
            getattr(self, f"_{verb}")(instance, leading)

    def _begin(self, instance: Instance) -> Operation:
        assert instance.side is not None
        return self.ledger.begin(instance.name, instance.side.membership.term, instance.side.lives[-1].epoch)

    def _body(self) -> bytes:
        self._counter += 1
        return f"{self._counter}:".encode() + b"x" * self.random.choice(_LENGTHS)

    def _put(self, instance: Instance, leading: LeadingWorld) -> None:
        connection, _, outputs = self._clients[instance.name]
        operation = self._begin(instance)
        body = self._body()
        made = leading.put(connection, outputs, body)
        if made.reason:
            operation.is_backed_out = True
            return
        operation.puts.append(body)
        instance.pending.append((made.lsn, operation))

    def _get(self, instance: Instance, leading: LeadingWorld) -> None:
        connection, inputs, _ = self._clients[instance.name]
        operation = self._begin(instance)
        request = leading.get(connection, inputs, MQGMO_NO_SYNCPOINT)
        if request.reason == 0:
            operation.gets.append(request.body)
            instance.pending.append((request.after_lsn, operation))

    def _unit(self, instance: Instance, leading: LeadingWorld) -> None:
        connection, inputs, outputs = self._clients[instance.name]
        operation = self._units.get(instance.name)
        if operation is None:
            operation = self._units[instance.name] = self._begin(instance)
            operation.is_backed_out = True  # until it is committed
        if self.random.random() < 0.6:
            body = self._body()
            if leading.put(connection, outputs, body, syncpoint=True).reason == 0:
                operation.puts.append(body)
        else:
            request = leading.get(connection, inputs, MQGMO_SYNCPOINT)
            if request.reason == 0:
                operation.gets.append(request.body)

    def _end(self, instance: Instance, leading: LeadingWorld) -> None:
        connection = self._clients[instance.name][0]
        operation = self._units.pop(instance.name, None)
        if operation is None:
            return
        if self.random.random() < 0.3:
            leading.back_out(connection)
            return
        operation.is_backed_out = False
        reason, lsn = leading.commit(connection)
        if reason:
            operation.is_backed_out = True
        else:
            instance.pending.append((lsn, operation))

    def _prepare(self, instance: Instance, leading: LeadingWorld) -> None:
        connection = self._clients[instance.name][0]
        operation = self._units.pop(instance.name, None)
        if operation is None or connection.unit_of_work is None:
            if operation is not None:
                self._units[instance.name] = operation
            return
        operation.is_backed_out = False
        operation.prepared = f"xid-{operation.number}".encode()
        _, lsn = leading.prepare(connection, operation.prepared)
        instance.pending.append((lsn, operation))

    def _resolve(self, instance: Instance, leading: LeadingWorld) -> None:
        """The coordinator's word on a unit that was told to be prepared."""
        known = {each.prepared: each for each in self.ledger.operations if each.prepared and each.is_acknowledged}
        units = [each for each in leading.engine.units_of_work.values() if each.state == PREPARED]
        for unit in units[:1]:
            operation = known.get(unit.xid)
            if operation is None:
                continue
            is_committed = self.random.random() < 0.5
            lsn = leading.resolve(unit, is_committed)
            ended = self._begin(instance)
            ended.puts, ended.gets = operation.puts, operation.gets
            operation.puts, operation.gets, operation.prepared = [], [], b""
            operation.is_backed_out = True
            if is_committed:
                instance.pending.append((lsn, ended))

    # -- troubles

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
            if self.random.randrange(100) < self.trouble_percent:
                self._trouble()
            if self.random.randrange(100) < 8:
                self._relief()

    def step(self) -> None:
        self.now += STEP_SECONDS
        self.network.now = self.now
        self.store.advance(STEP_SECONDS)
        for instance in self.random.sample(self.instances, len(self.instances)):
            if instance.paused_until <= self.now:
                instance.step()
        self.network.forget_closed()

    def _trouble(self) -> None:
        instance = self.random.choice(self.instances)
        leaders = [each for each in self.instances if each.state in (LEADS, RELAYS)]
        if leaders and self.random.random() < 0.4:
            instance = self.random.choice(leaders)
        kind = self.random.choices(
            [*_TROUBLES],
            [*_TROUBLES.values()],
        )[0]
        self.note(f"trouble: {kind} {instance.name}")
        getattr(self, f"_trouble_{kind}")(instance)

    def _trouble_kill(self, instance: Instance) -> None:
        if instance.state in RUNNING:
            instance.stop()

    def _trouble_power(self, instance: Instance) -> None:
        if instance.state in RUNNING:
            instance.lose_power(self.random.randrange(1 << 30))
        if self.random.random() < 0.15:
            for each in self.instances:
                if each.state in RUNNING:
                    each.lose_power(self.random.randrange(1 << 30))

    def _trouble_pause(self, instance: Instance) -> None:
        instance.paused_until = self.now + self.random.choice([0.5, 2.0, 5.0, 9.0])

    def _trouble_asleep(self, instance: Instance) -> None:
        """It stands still for longer than its lease, and learns nothing of the arbiter for a while after that."""
        instance.paused_until = self.now + self.random.choice([2.5, 4.0])
        instance.arbiter.is_cut = True
        instance.cut_until = instance.paused_until + self.random.choice([1.0, 3.0])

    def _trouble_cut(self, instance: Instance) -> None:
        for other in self.peers(instance):
            self.network.cut.add((instance.name, other.name))
            self.network.cut.add((other.name, instance.name))
        instance.arbiter.is_cut = self.random.random() < 0.6

    def _trouble_cut_one(self, instance: Instance) -> None:
        other = self.random.choice(self.peers(instance))
        self.network.cut.add((instance.name, other.name))

    def peers(self, instance: Instance) -> list[Instance]:
        """Return those that an instance may have a link to."""
        return [each for each in self.instances if each is not instance]

    def _trouble_arbiter(self, instance: Instance) -> None:
        if self.random.random() < 0.4:
            self.store.is_down = True
        else:
            instance.arbiter.is_cut = True

    def _trouble_arbiter_call(self, instance: Instance) -> None:
        arbiter = instance.arbiter
        self.random.choice([arbiter.lose_next_request, arbiter.lose_next_answer, arbiter.delay_next_request])()

    def _trouble_full(self, instance: Instance) -> None:
        instance.disk.fill(self.random.choice([0, 5000, 100_000]))

    def _trouble_fail(self, instance: Instance) -> None:
        if instance.state in RUNNING:
            instance.disk.fail_force()

    def _trouble_spoil(self, instance: Instance) -> None:
        """Flip bits at one copy, at rest, in what it acknowledged: the others have it."""
        # There must be a copy to spare: what the last one has lost nobody can bring back.
        in_sync = self.store.in_sync
        if self.spoiled not in ("", instance.name) or in_sync is None or len(in_sync.members) < 3:
            return
        if not instance.disk.exists("log/active"):
            return
        self.spoiled = instance.name
        names = [f"log/active/{each}" for each in instance.disk.names("log/active") if each.startswith("S")]
        path = self.random.choice(names)
        size = instance.disk.open(path, False).size_bytes()
        for _ in range(3):
            instance.disk.corrupt(path, self.random.randrange(4096, size), bytes([self.random.randrange(256)]))

    def _trouble_scrap(self, instance: Instance) -> None:
        """A follower gets a new disk. It takes a base, and may be killed while it does."""
        in_sync = self.store.in_sync
        if self.spoiled not in ("", instance.name) or in_sync is None or instance.state in (LEADS, RELAYS):
            return
        if instance.name in in_sync.members and in_sync.copies < 2:
            return
        self.spoiled = instance.name
        instance.stop()
        instance.disk = SimulatedDisk()
        instance.want_base("its disk is new")

    def _relief(self) -> None:
        self.store.is_down = False
        for instance in self.instances:
            if self.random.random() < 0.6 and instance.cut_until <= self.now:
                instance.arbiter.is_cut = False
            if self.random.random() < 0.5:
                instance.arbiter.deliver_delayed()
            if self.random.random() < 0.5:
                instance.disk.fill(1 << 40)
            if instance.state == DOWN and self.random.random() < 0.6:
                instance.start()
        if self.random.random() < 0.6:
            self.network.cut.clear()

    # -- the end

    def settle(self) -> None:
        """Troubles end. Somebody must lead, have all that was acknowledged, and the others must be equal to it."""
        self.network.cut.clear()
        self.store.is_down = False
        for instance in self.instances:
            instance.paused_until = 0.0
            instance.arbiter.is_cut = False
            instance.arbiter.deliver_delayed()
            instance.disk.fill(1 << 40)
            instance.disk.fail_force(0)
        leader = self._wait_for_quiet()
        self.works = False
        for _ in range(20):
            if self._all_get_everything(leader):
                break
            leader = self._wait_for_quiet()  # it had lost its key before all was well
        else:
            raise AssertionError("the followers do not get everything")
        self.works = True
        self._check_end(leader)

    def _wait_for_quiet(self) -> Instance:
        for _ in range(600):
            for instance in self.instances:
                if instance.state == DOWN:
                    instance.start()
            self.step()
            leaders = [each for each in self.instances if each.state == LEADS]
            if len(leaders) == 1 and self._is_quiet(leaders[0]):
                return leaders[0]
        raise AssertionError(f"nobody leads with all others in sync: {[each.state for each in self.instances]}")

    def _is_quiet(self, leader: Instance) -> bool:
        """Whether all that can be in sync is, and enough of it is there to end."""
        side = leader.side
        assert side is not None
        lost: set[str] = set()
        if self.spoiled == leader.name:
            # What a damaged leader cannot read it cannot send.
            lost = {each.name for each in side.followers.values() if each.state in (NEEDS_BASE, REBASING)}
        elif any(each.state == REBASES for each in self.instances):
            return False
        usable = [each.name for each in self.instances if each.state in (FOLLOWS, LEADS) and each.name not in lost]
        policy = default_policy(len(self.instances))
        if set(side.membership.rule.members) != set(usable) or len(usable) < policy.least:
            return False
        return side.answering(self.now, TIMEOUT_SECONDS) | {leader.name} == set(usable)

    def _all_get_everything(self, leader: Instance) -> bool:
        """Let clients go, and wait until all have applied all. False when the leader has changed meanwhile."""
        assert leader.leading is not None
        self._units.pop(leader.name, None)
        self._clients.pop(leader.name, None)
        leading = leader.leading
        for connection in list(leading.engine.connections.values()):
            leading.disconnect(connection)
        for _ in range(100):
            if leader.leading is not leading:
                return False
            leading.force()
            self.step()
            if leader.leading is leading and self._all_applied(leader):
                return True
        return False

    def _check_end(self, leader: Instance) -> None:
        leading = leader.leading
        assert leading is not None
        expected = durable_state(leading.engine)
        for other in self._in_sync_followers(leader):
            assert other.standby is not None
            found = durable_state(other.standby.engine)
            for part in expected:
                assert found[part] == expected[part], f"{part} of {other.name} differs from {leader.name}'s"
        prepared = {each.xid for each in leading.engine.units_of_work.values() if each.state == PREPARED}
        bodies = leading.bodies(QUEUE) if QUEUE in leading.engine.queues else []
        self.ledger.check(bodies, prepared)

    def _in_sync_followers(self, leader: Instance) -> list[Instance]:
        """All followers, but for one that a damaged leader cannot bring up to date: that needs a base."""
        assert leader.side is not None
        members = leader.side.membership.rule.members
        return [each for each in self.instances if each.state == FOLLOWS and each.name in members]

    def _all_applied(self, leader: Instance) -> bool:
        assert leader.leading is not None
        end = leader.leading.log.end_lsn()
        for each in self._in_sync_followers(leader):
            assert each.standby is not None
            if each.standby.applied_lsn() < end:
                return False
        return leader.leading.log.durable_lsn() >= end
