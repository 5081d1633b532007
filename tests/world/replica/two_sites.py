"""A live site and a recovery group of several instances, each with an arbiter of its own, all from one number.

    world = TwoSites(seed=7)
    world.run(300)          steps with troubles at both sites
    world.settle()          troubles end: the recovery group has everything, on all its copies
    world.lose_live_site()  the recovery group works, and has what the live site was told

Of the recovery group one instance takes the log and passes it on (`replica.relay_side`).
"""

from __future__ import annotations

from tests.world.follower import durable_state
from tests.world.replica.instance import DOWN, FOLLOWS, GONE, LEADS, RELAYS, TIMEOUT_SECONDS, Instance
from tests.world.replica.mutations import ACKNOWLEDGE_FOR_ONE, APPLY_FOR_THE_SITE
from tests.world.replica.world import QUEUE, STEP_SECONDS, ReplicaWorld

from ostler.engine.recovery.snapshot import replace_file
from ostler.engine.unit_of_work import PREPARED
from ostler.log.log_writer import BlockImage
from ostler.model.arbiter import ArbiterUnavailable, ArbiterView
from ostler.model.log_life import Life
from ostler.replica import election
from ostler.replica.base_files import WANTED_PATH
from ostler.replica.base_side import BaseSide
from ostler.replica.follower_side import FollowerSide
from ostler.replica.leader_side import REFUSED, STREAMING, LeaderSide
from ostler.replica.log_relay import LogRelay
from ostler.replica.membership import LeaderMembership, default_policy
from ostler.replica.pedigree import Pedigree
from ostler.replica.relay_side import RelaySide
from ostler.replica.site_side import SiteSide
from ostler.testing.simulation.crashing_disk import SimulatedDisk
from ostler.wire.replica_frames import PURPOSE_DR, SITE_ACTIVE, SITE_RECOVERY, ReplicaHello

LIVE, RECOVERY = "GROUP", "SOUTH"


class LiveInstance(Instance):
    """An instance of the live site. When it leads it has a link to the recovery group as well."""

    tries = 0

    def _promote(self, view: ArbiterView, term: int, life: Life) -> None:
        super()._promote(view, term, life)
        assert self.side is not None
        names = frozenset(each.name for each in self.world.instances)
        self.side.site = SiteSide(LIVE, RECOVERY, names, SITE_ACTIVE)

    def _send_as_leader(self, side: LeaderSide) -> None:
        world = self.world
        assert isinstance(world, LiveWorld)
        nodes = world.sites.nodes()
        if nodes and RECOVERY not in self.links and world.now >= self.dial_at:
            self.tries += 1
            node = nodes[self.tries % len(nodes)]
            link = world.connect(self, node)
            if link is not None:
                self.links[RECOVERY] = link
                hello = side.connected(RECOVERY, link.number, world.now, PURPOSE_DR)
                world.network.send(link, self.name, hello)
        super()._send_as_leader(side)

    def _receive_as_leader(self, side: LeaderSide) -> None:
        super()._receive_as_leader(side)
        link = self.links.get(RECOVERY)
        if link is not None and side.followers[RECOVERY].state == REFUSED:
            # Another instance takes the log.
            self.world.network.close(link, self.name)
            side.disconnected(RECOVERY, link.number)
            del self.links[RECOVERY]
        assert side.site is not None
        assert not side.site.is_partitioned(), "a partition that is none"
        side.judge_recovery(self.world.now, TIMEOUT_SECONDS)
        self._note_recovered(side)

    def _note_recovered(self, side: LeaderSide) -> None:
        """What the recovery group has acknowledged in this life, whoever leads it later must have."""
        found = side.recovery()
        world = self.world
        assert isinstance(world, LiveWorld)
        if found is not None and found.state == STREAMING and found.epoch == side.lives[-1].epoch:
            world.sites.recovered = Pedigree(list(side.lives), int(min(found.forced, side.position())))


class LiveWorld(ReplicaWorld):
    group = LIVE

    def __init__(self, sites: TwoSites, seed: int, instances: int, trouble_percent: int | None) -> None:
        self.sites = sites
        super().__init__(seed, instances, trouble_percent=trouble_percent)

    def _create(self, name: str, is_creator: bool) -> Instance:
        made = super()._create(name, is_creator)
        return LiveInstance(self, name, made.disk, is_creator)

    def peers(self, instance: Instance) -> list[Instance]:
        return super().peers(instance) + self.sites.nodes()


class Relay(LogRelay):
    """Passes on what the follower's side receives."""

    def __init__(self, instance: RecoveryInstance, side: RelaySide) -> None:
        self._instance = instance
        self._side = side

    def received(self, images: list[BlockImage], position: int) -> None:
        self._side.received(images, position)

    def life_begins(self, lives: list[Life], position: int) -> None:
        self._side.life_begins(lives, position)

    def site_group_is_at(self, lsn: int) -> None:
        self._side.site_group_is_at(lsn)

    def group_lsn(self) -> int:
        lsn = int(self._side.group_lsn())
        self._instance.world.group_is_at(lsn)
        return lsn

    def acknowledged_position(self) -> int:
        return int(self._side.acknowledged_position())

    def is_held(self) -> bool:
        return False


class RelayForOne(RelaySide):
    """Tells the live site what this copy alone has."""

    def acknowledged_position(self) -> int:
        return int(self.forced_position())


class RelayForSite(RelaySide):
    """Takes for sure what the live site has acknowledged, whatever the copies here have."""

    def group_lsn(self) -> int:
        return int(min(self._site_lsn, self.forced_position()))


class RecoveryInstance(Instance):
    def start(self) -> None:
        super().start()
        if self.follower is not None:
            names = frozenset(each.name for each in self._recovery.instances) | {self.name}
            self.follower.site = SiteSide(RECOVERY, LIVE, names, SITE_RECOVERY)
            self.follower.site.is_receiver = False

        if self.base is not None:
            self.base.other_group = LIVE

    def _rebase(self) -> None:
        in_sync = self.world.store.in_sync
        assert self.base is not None
        self.base.takes_site_base = in_sync is None or set(in_sync.members) <= {self.name}
        super()._rebase()

    def _install(self, side: BaseSide) -> None:
        if side.purpose == PURPOSE_DR:
            # The only copy of its group has what enough copies of the live site have.
            self.world.group_is_at(self._recovery.sites.live.group_lsn)
        super()._install(side)

    def want_base(self, why: str) -> None:
        """Give the copy up. When the live site's log does not reach back, no other copy here is worth more."""
        side = self.side
        if isinstance(side, RelaySide) and why == GONE:
            membership = side.membership
            try:
                version = self.arbiter.set_in_sync(membership.term, membership.version, (self.name,), 1)
            except ArbiterUnavailable:
                version = None
            if version is None:
                return  # it is told again
        super().want_base(why)

    @property
    def _recovery(self) -> RecoveryWorld:
        assert isinstance(self.world, RecoveryWorld)
        return self.world

    @property
    def _sides(self) -> tuple[FollowerSide, RelaySide]:
        assert self.follower is not None
        assert isinstance(self.side, RelaySide)
        return self.follower, self.side

    def _try_to_lead(self, view: ArbiterView, judged: election.Decision) -> None:
        if self._recovery.works_alone:
            super()._try_to_lead(view, judged)
            return
        term = self.arbiter.try_lead(self.name, judged.version, judged.term)
        if term is None:
            return
        follower, standby = self.follower, self.standby
        assert follower is not None
        assert follower.site is not None
        assert standby is not None
        assert view.in_sync is not None
        log = standby.log
        self.lease_until = self.world.now + self.arbiter.lease_seconds
        self.world.note(f"{self.name} takes the log in term {term}, life {log.epoch()}, end {log.position()}")
        self._recovery.check_relay(Pedigree(list(log.lives), int(log.position())), self.name)
        hello = ReplicaHello()
        hello.group, hello.queue_manager, hello.instance = RECOVERY, "QM", self.name
        hello.identity, hello.file_pages, hello.log_format = log.identity(), log.file_pages(), 1
        hello.lives = list(log.lives)
        policy = default_policy(len(self.world.instances))
        membership = LeaderMembership(self.name, term, view.in_sync, int(log.position()), policy)
        self.side = self._recovery.make_relay_side(hello, membership, log.catch_up_reader(), int(log.position()))
        self.side.live_bytes_max = self.world.live_bytes_max
        follower.relay = Relay(self, self.side)
        follower.site.is_receiver = True
        self.own = None
        self.held_since = -1.0
        self.state = RELAYS
        self.world.terms += 1

    def depose(self) -> None:
        if self.state != RELAYS:
            super().depose()
            return
        follower, side = self._sides
        assert follower.site is not None
        try:
            self.arbiter.resign(side.membership.term)
        except ArbiterUnavailable:
            super().depose()  # its lease ends
            return
        for name, link in self.links.items():
            self.world.network.close(link, self.name)
            self._end_base(name)
        self.links = {}
        self.side = None
        follower.relay = None
        follower.site.is_receiver = False
        if follower.purpose == PURPOSE_DR:
            follower.leave()
        self.state = FOLLOWS

    def relay(self) -> None:
        follower, side = self._sides
        self._follow_steps(follower)
        if self.state != RELAYS:
            return
        if follower.relay is None:
            self.depose()  # another one leads the group
            return
        for name, link in list(self.links.items()):
            if side.followers[name].link != link.number:
                self.world.network.close(link, self.name)  # another life has begun
                self._end_base(name)
                del self.links[name]
        self._receive_as_leader(side)
        self._acknowledge(follower)
        self._send_as_leader(side)
        if self.world.random.random() < 0.5:
            self._decide_as_leader()

    def _follow_steps(self, side: FollowerSide) -> None:
        """Receive, force, acknowledge, apply and keep house, as every follower does."""
        self.state = FOLLOWS
        decide, self._decide_as_follower = self._decide_as_follower, lambda: None  # type: ignore[method-assign]
        try:
            self._follow()
        finally:
            self._decide_as_follower = decide  # type: ignore[method-assign]
        if self.state == FOLLOWS and self.follower is side:
            self.state = RELAYS

    def _acknowledge(self, follower: FollowerSide) -> None:
        current = [link for link in self.incoming if link.number == follower.link]
        for frame in follower.relay_advanced():
            self.world.network.send(current[0], self.name, frame)


class RecoveryWorld(ReplicaWorld):
    group = RECOVERY
    first = "X"

    def __init__(
        self, sites: TwoSites, seed: int, instances: int, mutations: frozenset[str], trouble_percent: int | None
    ) -> None:
        self.sites = sites
        self.works_alone = False
        """The live site is lost: whoever leads this group works."""
        live = sites.live
        leader = next(each for each in live.instances if each.state == LEADS)
        self._copied = leader.disk.copy().crash_losing_all()
        super().__init__(seed, instances, mutations, trouble_percent)
        self.group_lsn = live.group_lsn

    def _founding_term(self) -> int:
        return 1000  # what the copy has promised to the live site's leaders is below

    def _create(self, name: str, is_creator: bool) -> Instance:
        self.network = self.sites.live.network
        self.identity = self.sites.live.identity
        self.settings = self.sites.live.settings
        self.now = self.sites.live.now
        self.group_lsn = self.sites.live.group_lsn
        if is_creator:
            return RecoveryInstance(self, name, self._copied, True)
        disk = SimulatedDisk()
        replace_file(disk, WANTED_PATH, [b"it is new"])
        return RecoveryInstance(self, name, disk, False)

    def peers(self, instance: Instance) -> list[Instance]:
        return super().peers(instance) + self.sites.live.instances

    def make_relay_side(
        self, hello: ReplicaHello, membership: LeaderMembership, reader: object, position: int
    ) -> RelaySide:
        kind = RelaySide
        if ACKNOWLEDGE_FOR_ONE in self.mutations:
            kind = RelayForOne
        elif APPLY_FOR_THE_SITE in self.mutations:
            kind = RelayForSite
        return kind(hello, membership, reader, position)  # type: ignore[arg-type]

    def check_relay(self, own: Pedigree, name: str) -> None:
        """Who takes the log has what the live site was told, unless another life has made that void."""
        told = self.sites.recovered
        if told is None:
            return
        shared = told.relation(own).lsn
        assert shared >= told.end_lsn or own.epoch() > told.epoch(), (
            f"{name} takes the log and has it up to {shared} only; the live site was told {told.end_lsn}"
        )


class TwoSites:
    def __init__(
        self,
        seed: int,
        live: int = 2,
        recovery: int = 3,
        mutations: frozenset[str] = frozenset(),
        trouble_percent: int | None = None,
    ) -> None:
        self.recovered: Pedigree | None = None
        """How far the live site was told that the recovery group has the log."""
        self._recovery: RecoveryWorld | None = None
        self.is_live_lost = False
        self.live = LiveWorld(self, seed, live, 0)
        for _ in range(200):
            self.live.step()
            if self.live.ledger.acknowledged > 3:
                break
        else:
            raise AssertionError("the live site does not begin to work")
        self.live.trouble_percent = self.live.random.choice([1, 3, 6]) if trouble_percent is None else trouble_percent
        self._recovery = RecoveryWorld(self, seed, recovery, mutations, self.live.trouble_percent)

    @property
    def recovery(self) -> RecoveryWorld:
        assert self._recovery is not None
        return self._recovery

    def nodes(self) -> list[Instance]:
        """Return the instances of the recovery group, once there is one."""
        return [] if self._recovery is None else self._recovery.instances

    def step(self) -> None:
        if not self.is_live_lost:
            self.live.step()
        else:
            self.live.now += STEP_SECONDS
            self.live.network.now = self.live.now
        recovery = self.recovery
        recovery.now = self.live.now - STEP_SECONDS
        recovery.step()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()
            for world in (self.live, self.recovery):
                if world.random.randrange(100) < world.trouble_percent:
                    world._trouble()
                if world.random.randrange(100) < 8:
                    world._relief()

    @property
    def notes(self) -> list[str]:
        return sorted(self.live.notes + self.recovery.notes, key=lambda each: float(each.split()[0]))

    # -- the end

    def _end_troubles(self, *worlds: ReplicaWorld) -> None:
        for world in worlds:
            world.network.cut.clear()
            world.store.is_down = False
            for instance in world.instances:
                instance.paused_until = 0.0
                instance.arbiter.is_cut = False
                instance.arbiter.deliver_delayed()
                instance.disk.fill(1 << 40)
                instance.disk.fail_force(0)

    def settle(self) -> None:
        """Troubles end. The recovery group has everything, and each of its copies is equal to the leader."""
        self._end_troubles(self.live, self.recovery)
        for _ in range(900):
            for world in (self.live, self.recovery):
                for instance in world.instances:
                    if instance.state == DOWN:
                        instance.start()
            self.step()
            if self._is_settled():
                self._check_equal()
                return
        states = [f"{each.name} {each.state}" for world in (self.live, self.recovery) for each in world.instances]
        raise AssertionError(f"the recovery group does not get everything: {states}")

    def _is_settled(self) -> bool:
        leaders = [each for each in self.live.instances if each.state == LEADS]
        relays = [each for each in self.recovery.instances if each.state == RELAYS]
        if len(leaders) != 1 or len(relays) != 1:
            return False
        self.live.works = False
        leader = leaders[0]
        assert leader.leading is not None
        assert leader.side is not None
        self.live._units.pop(leader.name, None)
        self.live._clients.pop(leader.name, None)
        for connection in list(leader.leading.engine.connections.values()):
            leader.leading.disconnect(connection)
        end = leader.leading.log.end_lsn()
        if leader.leading.log.durable_lsn() < end or not leader.side.is_recovery_in_sync():
            return False
        nodes = [each for each in self.recovery.instances if each.state in (FOLLOWS, RELAYS)]
        if len(nodes) != len(self.recovery.instances):
            return False
        return all(each.standby is not None and each.standby.applied_lsn() >= end for each in nodes)

    def _check_equal(self) -> None:
        leader = next(each for each in self.live.instances if each.state == LEADS)
        assert leader.leading is not None
        expected = durable_state(leader.leading.engine)
        for node in self.recovery.instances:
            assert node.standby is not None
            found = durable_state(node.standby.engine)
            for part in expected:
                assert found[part] == expected[part], f"{part} of {node.name} differs from {leader.name}'s"

    def lose_live_site(self) -> None:
        """The live site burns down. The recovery group works, with all that the live site was told it has."""
        told = self.recovered
        self.is_live_lost = True
        for each in self.live.instances:
            each.stop()
        self._end_troubles(self.recovery)
        recovery = self.recovery
        recovery.works_alone = True
        recovery.works = False
        for each in recovery.instances:
            if each.state == RELAYS:
                each.stop()
            if each.why == GONE and each.disk.exists(WANTED_PATH):
                # A person goes back to the copy that was given up for a base: it stays until the base is whole.
                each.stop()
                each.disk.remove(WANTED_PATH)
        for _ in range(300):
            for each in recovery.instances:
                if each.state == DOWN:
                    each.start()
            self.step()
            leaders = [each for each in recovery.instances if each.state == LEADS]
            if len(leaders) == 1 and leaders[0].side is not None and leaders[0].side.group_lsn() > 0:
                self._check_ledger(leaders[0], told)
                return
        raise AssertionError(f"nobody works: {[each.state for each in recovery.instances]}")

    def _check_ledger(self, leader: Instance, told: Pedigree | None) -> None:
        assert leader.leading is not None
        ledger = self.live.ledger
        for operation in ledger.operations:
            is_told = told is not None and operation.lsn <= told.end_lsn
            operation.is_acknowledged = operation.is_acknowledged and is_told
        engine = leader.leading.engine
        prepared = {each.xid for each in engine.units_of_work.values() if each.state == PREPARED}
        ledger.check(leader.leading.bodies(QUEUE) if QUEUE in engine.queues else [], prepared)
