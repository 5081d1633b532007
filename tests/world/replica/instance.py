"""One simulated instance of a replicated queue manager: what its agent does with its disk, its links and the arbiter.

The decisions are the product's (`replica.election`, `replica.membership`, the two sides, the standby); the order in
which they are carried out is that of `docs/explanation/replication.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.world.replica.leader_frames import next_frame
from tests.world.replica.ledger import Operation
from tests.world.replica.mutations import BASE_WITH_ONE_LSN
from tests.world.replica.network import Link
from tests.world.replica.simulated_arbiter import SimulatedArbiter
from tests.world.replica.watched_disk import WatchedDisk
from tests.world.world import World
from tests.world.world_lives import LOG_DIRECTORY, START_MS

from ostler.engine.core import Engine
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.recovery.checkpoint import Checkpoint
from ostler.engine.recovery.replay import JournalInconsistent
from ostler.engine.recovery.snapshot import FilesUnrelated, Snapshot, SnapshotDamaged, replace_file
from ostler.log import LogError, LogSettings, LogSpace
from ostler.log.shipping import LogShipper
from ostler.model.arbiter import (
    FOLLOWING,
    LEADING,
    STANDING,
    ArbiterUnavailable,
    ArbiterView,
    Mark,
    Member,
)
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.disk import DiskFailed, DiskFull
from ostler.model.journal import Journal
from ostler.model.log_life import Life
from ostler.replica import election
from ostler.replica.base_files import WANTED_PATH, BaseFiles
from ostler.replica.base_side import BaseSide
from ostler.replica.base_source import BaseSource
from ostler.replica.follower_side import NO_LINK, BaseWanted, FollowerSide, LinkRefused
from ostler.replica.leader_side import NEEDS_BASE, REBASING, LeaderSide
from ostler.replica.membership import LeaderMembership, default_policy
from ostler.replica.repair import answer_fetch
from ostler.replica.standby import Standby, open_standby
from ostler.testing.simulation.crashing_disk import SimulatedDisk
from ostler.wire.replica_frames import BaseQueue, Fetch, ReplicaFrame, ReplicaHello

if TYPE_CHECKING:
    from tests.world.replica.world import ReplicaWorld

TIMEOUT_SECONDS = 1.0
HEARTBEAT_SECONDS = 0.3
HOLD_SECONDS_MAX = 3.0
PATIENCE_SECONDS = 0.4
FRAMES_PER_STEP = 4
# A base that has all waits so long for enough copies to have it.
WHOLE_SECONDS = 2.0

DOWN, BROKEN, FOLLOWS, LEADS, REBASES, RELAYS = "down", "broken", "follows", "leads", "rebases", "relays"
GONE = "the leader's log does not reach back"
RUNNING = (FOLLOWS, LEADS, REBASES, RELAYS)


class _NoJournal(Journal):
    def append(self, kind: int, head: bytes, descriptor: bytes, body: bytes) -> int:
        raise AssertionError("appended before the log was opened")

    def end_lsn(self) -> int:
        return 0

    def durable_lsn(self) -> int:
        return 0

    def room_bytes(self) -> int:
        return 0


class _Shipper(LogShipper):
    """Hands the blocks of the log to the leader's side, once there is one."""

    def __init__(self) -> None:
        self.side: LeaderSide | None = None

    def offer(self, position: int, images: list[bytes]) -> None:
        assert self.side is not None
        self.side.offer(position, images)

    def forced(self, end_lsn: int) -> None:
        assert self.side is not None
        self.side.forced_here(end_lsn)


class LeadingWorld(World):
    """The queue manager of a leader. Nobody waits for copies here: a checkpoint takes as many steps as it needs."""

    shipper: _Shipper

    def force(self) -> int:
        self.write_log()
        batch = self._batch
        if batch is not None:
            self.log.batch_durable(batch)
            self._batch = None
            self.shipper.forced(batch.end_lsn)
        return self.log.durable_lsn()

    def make_room(self) -> None:
        """The checkpoint under way makes some, in its own time; who needs it now is refused."""

    def _until_durable(self, lsn: int) -> Generator[str, None, None]:
        while self.log.durable_lsn() < lsn:
            self.force()
            yield "waits for copies"

    def _write_snapshot(self, snapshot: Snapshot) -> Generator[str, None, None]:
        while not snapshot.step():
            yield "filtered some"
            snapshot.copy()
        yield from self._until_durable(snapshot.lsn)
        snapshot.queue.file.force()
        self._write(lambda: snapshot.write(self.engine.disk), snapshot.size_bytes())
        yield "wrote the slots"

    def _finish(self, taken: Checkpoint) -> Generator[str, None, None]:
        catalogue = taken.begin_catalogue()
        yield from self._until_durable(self.log.end_lsn())
        if catalogue:
            self._write(lambda: taken.write_catalogue(self.engine.disk, catalogue), len(catalogue))
        yield "wrote the catalogue"
        manifest = taken.begin_manifest()
        self._write(lambda: taken.write_manifest(self.engine.disk, manifest), manifest.size_bytes())
        yield "wrote the manifest"
        restart_lsn = max(taken.end(), self.log.writer.restart_lsn)
        checkpoint_lsn = self.log.durable_lsn()
        self.log.writer.note_checkpoint(min(restart_lsn, checkpoint_lsn), checkpoint_lsn, taken.number)


class Instance:
    def __init__(self, world: ReplicaWorld, name: str, disk: SimulatedDisk, is_creator: bool) -> None:
        self.world = world
        self.name = name
        self.disk = disk
        self.is_creator = is_creator
        self.arbiter = SimulatedArbiter(world.store, 2.0)
        self.state = DOWN
        self.paused_until = 0.0
        self.cut_until = 0.0
        """The arbiter is not reached before that."""
        self.why = ""
        self.starts = 0
        self.standby: Standby | None = None
        self.follower: FollowerSide | None = None
        self.base: BaseSide | None = None
        self.leading: LeadingWorld | None = None
        self.side: LeaderSide | None = None
        self.unsure_lsn = 0
        self.bases = 0
        """How often it has taken a base."""
        self.pending: list[tuple[int, Operation]] = []
        self.reset()

    def reset(self) -> None:
        """Forget what a process has in memory."""
        self.standby = self.follower = self.leading = self.side = self.base = None
        self.sources: dict[str, tuple[BaseSource, Iterator[ReplicaFrame]]] = {}
        self.base_began: dict[str, int] = {}
        self.has_all_since = -1.0
        self.pending = []
        self.links: dict[str, Link] = {}
        self.incoming: list[Link] = []
        self.heard_at = -100.0
        self.claimed_at = 0.0
        self.own: Member | None = None
        self.lease_until = -1.0
        self.held_since = -1.0
        self.beat_at = -100.0
        self.dial_at = 0.0

    # -- lives of the process

    def start(self) -> None:
        self.reset()
        self.arbiter.forget()
        self.starts += 1
        watched = WatchedDisk(self.disk, self._allowed_lsn, self.world.identity)
        files = BaseFiles(watched, watched, LOG_DIRECTORY)
        self.unsure_lsn = 0
        try:
            if files.is_whole():
                files.exchange()
            self.unsure_lsn = files.unsure_lsn()
            if watched.exists(WANTED_PATH):
                self._begin_rebasing(watched)
                return
        except DiskFailed:
            self.disk = self.disk.crash(self.world.random.randrange(1 << 30))
            return
        engine = Engine("QM", watched, _NoJournal(), new_definition(ObjectType.QMGR, "QM", {}))
        engine.capture_slots = 2
        engine.buffer_bytes_nonpersistent = engine.buffer_bytes_persistent = self.world.buffer_bytes
        engine.now_ms = START_MS
        engine.unique = (self.starts << 44) + (ord(self.name[0]) << 36)
        try:
            opened = open_standby(engine, watched, LOG_DIRECTORY, None, self.world.keep_extents)
        except DiskFailed:
            self.disk = self.disk.crash(self.world.random.randrange(1 << 30))
            return
        except LogSpace:
            return
        except (LogError, SnapshotDamaged, FilesUnrelated, JournalInconsistent) as error:
            self.break_down(str(error))
            return
        self.standby = self.world.make_standby(opened)
        self.follower = self.world.make_follower_side(self.name, self.standby, files)
        self.state = FOLLOWS

    def _allowed_lsn(self) -> int:
        return max(self.world.allowed_lsn(), self.unsure_lsn)

    def break_down(self, why: str) -> None:
        """The copy cannot be used any more: it takes a base."""
        self.world.note(f"{self.name} is broken: {why}")
        assert self.world.may_break(self, why), why
        self.want_base(why)

    def want_base(self, why: str) -> None:
        """Give the copy up, durably, and begin anew."""
        self.world.note(f"{self.name} wants a base: {why}")
        self.stop()
        try:
            replace_file(self.disk, WANTED_PATH, [why.encode()])
        except (DiskFull, DiskFailed):
            return
        self.why = why

    def _begin_rebasing(self, watched: WatchedDisk) -> None:
        self.base = self.world.make_base_side(self.name, watched)
        self.state = REBASES

    def stop(self) -> None:
        """The process ends at once."""
        self.world.network.close_all(self.name)
        self.reset()
        self.state = DOWN

    def lose_power(self, seed: int) -> None:
        self.stop()
        self.disk = self.disk.crash(seed)

    # -- one step

    def step(self) -> None:
        try:
            if self.state == FOLLOWS:
                self._follow()
            elif self.state == LEADS:
                self._lead()
            elif self.state == REBASES:
                self._rebase()
            elif self.state == RELAYS:
                self.relay()
        except DiskFailed:
            self.world.note(f"{self.name}: a force failed")
            self.lose_power(self.world.random.randrange(1 << 30))
        except LogSpace as space:
            self.world.note(f"{self.name} ends: {space}")
            self.stop()
        except (LogError, JournalInconsistent) as error:
            self.break_down(str(error))

    def relay(self) -> None:
        """Take the log for a recovery group (`two_sites`)."""
        raise AssertionError("only a recovery group has such an instance")

    def _ask(self, call: Callable[[], None]) -> None:
        try:
            call()
        except ArbiterUnavailable:
            return

    # -- following

    def _follow(self) -> None:
        side, standby = self.follower, self.standby
        assert side is not None
        assert standby is not None
        self._receive_as_follower(side)
        if self.state != FOLLOWS:
            return
        for frame in side.force():
            current = [link for link in self.incoming if link.number == side.link]
            if current:
                self.world.network.send(current[0], self.name, frame)
        random = self.world.random
        current = [link for link in self.incoming if link.number == side.link]
        asked = side.scrub.step(20_000) if current and random.random() < 0.3 else None
        if asked is not None:
            self.world.note(f"{self.name} asks for what it has lost")
            self.world.network.send(current[0], self.name, asked)
        if random.random() < 0.8:
            standby.apply(random.choice([1, 10_000, 1 << 20]))
        self._housekeep(standby)
        if random.random() < 0.5:
            self._ask(self._decide_as_follower)

    def _receive_as_follower(self, side: FollowerSide) -> None:
        network = self.world.network
        for link in list(self.incoming):
            for frame in network.received(link, self.name, FRAMES_PER_STEP):
                try:
                    replies = side.receive(link.number, frame)
                    self.heard_at = self.world.now
                    for reply in replies:
                        network.send(link, self.name, reply)
                except LinkRefused as refused:
                    self.world.note(f"{self.name} refuses {link.leader}: {refused}")
                    for reply in refused.frames:
                        network.send(link, self.name, reply)
                    side.disconnected(link.number)
                    network.close(link, self.name)
                    if isinstance(refused, BaseWanted):
                        self.want_base(str(refused))
                        return
                    break
            if network.is_closed_for(link, self.name):
                network.close(link, self.name)
                side.disconnected(link.number)
                self.incoming.remove(link)
                if link.is_base_needed:
                    self.want_base(GONE)
                    return

    # -- taking a base

    def _rebase(self) -> None:
        side = self.base
        assert side is not None
        network = self.world.network
        for link in list(self.incoming):
            try:
                for frame in network.received(link, self.name, FRAMES_PER_STEP):
                    for reply in side.receive(link.number, frame):
                        network.send(link, self.name, reply)
                if link.number == side.link:
                    for reply in side.force():
                        network.send(link, self.name, reply)
            except LinkRefused as refused:
                self.world.note(f"{self.name} takes no base of {link.leader}: {refused}")
                for reply in refused.frames:
                    network.send(link, self.name, reply)
                side.disconnected(link.number)
                network.close(link, self.name)
            if network.is_closed_for(link, self.name):
                network.close(link, self.name)
                side.disconnected(link.number)
                self.incoming.remove(link)
        if not side.has_all():
            self.has_all_since = -1.0
        elif self.has_all_since < 0:
            self.has_all_since = self.world.now
        if side.is_ready(self.has_all_since >= 0 and self.world.now - self.has_all_since > WHOLE_SECONDS):
            self._ask(lambda: self._install(side))

    def _install(self, side: BaseSide) -> None:
        last_term = self.arbiter.read().last_term
        try:
            side.install(last_term)
        except LinkRefused as refused:
            self.world.note(f"{self.name}: {refused}")
            self.stop()
            return
        self.bases += 1
        self.world.note(f"{self.name} has a base")
        self.world.repaired(self)
        self.stop()
        self.start()

    def _housekeep(self, standby: Standby) -> None:
        random = self.world.random
        try:
            if random.random() < 0.15:
                standby.log.note()
            while standby.log.writer.allocate_ahead() and random.random() < 0.7:
                pass
            if standby.needs_checkpoint() or random.random() < 0.02 or self.world.is_checkpointing(self):
                self.world.set_checkpointing(self, standby.step_checkpoint())
        except (DiskFull, LogSpace):
            self.world.set_checkpointing(self, False)

    def fitness(self) -> election.Fitness:
        assert self.standby is not None
        log = self.standby.log
        mark = Mark(int(log.mark.epoch), int(log.mark.acknowledged_lsn))
        is_new = log.epoch() == 0 and not self.is_creator
        return election.Fitness(is_new, False, True, log.epoch(), int(log.position()), mark)

    def member(self, state: str) -> Member:
        assert self.standby is not None
        log = self.standby.log
        return Member(self.name, self.name, log.epoch(), int(log.position()), state, int(log.mark.promised_term))

    def _decide_as_follower(self) -> None:
        world, side, standby = self.world, self.follower, self.standby
        assert side is not None
        assert standby is not None
        self.arbiter.keep_alive()
        view = world.view_for(self, self.arbiter.read())
        own = self.own if self.own is not None else self.member(FOLLOWING)
        link_is_well = (
            side.link != NO_LINK and side.term == view.last_term and world.now - self.heard_at < TIMEOUT_SECONDS
        )
        decision = election.decide_follower(own, self.fitness(), view, link_is_well)
        if decision.kind == election.CLAIM:
            side.promise(view.last_term)
            self.own = election.claim_of(self.member(STANDING), view)
            self.claimed_at = world.now
            self.arbiter.register(self.own)
        elif decision.kind == election.WAIT:
            self.arbiter.register(own)  # the session may have ended
            waited = world.now - self.claimed_at
            judged = election.judge_election(own, view, waited, PATIENCE_SECONDS)
            if judged.kind == election.LEAD:
                self._try_to_lead(view, judged)
        else:
            self.own = None
            self.arbiter.register(self.member(FOLLOWING))

    def _try_to_lead(self, view: ArbiterView, judged: election.Decision) -> None:
        term = self.arbiter.try_lead(self.name, judged.version, judged.term)
        if term is None:
            return
        standby = self.standby
        assert standby is not None
        self.lease_until = self.world.now + self.arbiter.lease_seconds
        epoch = max(view.last_epoch, int(standby.log.mark.highest_epoch)) + 1
        life = Life(epoch, int(standby.log.position()), self.name, term, 0)
        try:
            if not self.arbiter.add_life(term, epoch, str(life)):
                self.arbiter.resign(term)
                return
        except ArbiterUnavailable:
            if self.arbiter.life(epoch) != str(life):
                self.arbiter.resign(term)
                return
        self._promote(view, term, life)

    def _promote(self, view: ArbiterView, term: int, life: Life) -> None:
        standby = self.standby
        assert standby is not None
        assert view.in_sync is not None
        log = standby.log
        self.world.note(f"{self.name} leads in term {term}, life {life.epoch} from {life.start_lsn}")
        for link in self.incoming:
            self.world.network.close(link, self.name)
        shipper = _Shipper()
        leading = LeadingWorld(self.disk, self.world.settings, self.world.buffer_bytes)
        leading.shipper = shipper
        leading.log = standby.promote(life, shipper)
        leading.engine = standby.engine
        leading.replay = standby.replay
        policy = default_policy(len(self.world.instances))
        membership = LeaderMembership(self.name, term, view.in_sync, life.start_lsn, policy)
        hello = ReplicaHello()
        hello.group, hello.queue_manager, hello.instance = self.world.group, "QM", self.name
        hello.identity, hello.file_pages, hello.log_format = log.identity(), log.file_pages(), 1
        hello.lives = log.lives
        self.side = self.world.make_leader_side(
            self, hello, membership, log.catch_up_reader(), life.start_lsn, life.start_lsn
        )
        self.side.live_bytes_max = self.world.live_bytes_max
        shipper.side = self.side
        self.leading = leading
        self.standby = self.follower = None
        self.incoming = []
        self.own = None
        self.state = LEADS
        self.world.began_to_lead(self)

    # -- leading

    def _lead(self) -> None:
        world, side, leading = self.world, self.side, self.leading
        assert side is not None
        assert leading is not None
        self._receive_as_leader(side)
        world.group_is_at(int(side.group_lsn()))
        world.work(self, leading)
        random = world.random
        try:
            if random.random() < 0.9:
                leading.force()
            if random.random() < 0.3:
                leading.keep_extents()
            if leading.log.needs_checkpoint() or random.random() < 0.05 or world.is_checkpointing(self):
                world.set_checkpointing(self, leading.step_checkpoint() != "")
        except (LogSpace, DiskFull):
            world.set_checkpointing(self, False)
        world.group_is_at(int(side.group_lsn()))
        self._send_as_leader(side)
        self._release_replies()
        if random.random() < 0.5 and self.state == LEADS:
            self._decide_as_leader()

    def _release_replies(self) -> None:
        side, leading = self.side, self.leading
        assert side is not None
        assert leading is not None
        leading.log.group_durable(side.group_lsn())
        durable = leading.log.durable_lsn()
        start = side.lives[-1].start_lsn
        for lsn, operation in self.pending:
            if lsn <= durable:
                self.world.ledger.acknowledge(operation, lsn, start)
        self.pending = [each for each in self.pending if each[0] > durable]

    def _receive_as_leader(self, side: LeaderSide) -> None:
        network = self.world.network
        for name, link in list(self.links.items()):
            for frame in network.received(link, self.name, 20):
                if isinstance(frame, Fetch):
                    for part in answer_fetch(frame, self._still, side.new_reader(), side.forced_position()):
                        network.send(link, self.name, part)
                side.receive(name, link.number, frame, self.world.now)
            progress = side.followers[name]
            is_silent = self.world.now - progress.heard_seconds > TIMEOUT_SECONDS
            if network.is_closed_for(link, self.name) or is_silent:
                network.close(link, self.name)
                side.disconnected(name, link.number)
                del self.links[name]
                self._end_base(name)

    def _send_as_leader(self, side: LeaderSide) -> None:
        world = self.world
        if world.now >= self.dial_at:
            self.dial_at = world.now + 0.4
            for other in world.instances:
                if other.name != self.name and other.name not in self.links:
                    link = world.connect(self, other)
                    if link is not None:
                        self.links[other.name] = link
                        world.network.send(link, self.name, side.connected(other.name, link.number, world.now))
        is_beat = world.now - self.beat_at >= HEARTBEAT_SECONDS
        for name, link in self.links.items():
            for _ in range(FRAMES_PER_STEP):
                frame = next_frame(side, name, world.now)
                if frame is None:
                    break
                world.network.send(link, self.name, frame)
            self._send_base(side, name, link)
            sign = side.sign_of_life(name) if is_beat else None
            if sign is not None:
                world.network.send(link, self.name, sign)
        if is_beat:
            self.beat_at = world.now

    @contextmanager
    def _still(self) -> Iterator[Engine]:
        if self.leading is not None:
            yield self.leading.engine
            return
        assert self.standby is not None
        yield self.standby.engine

    def _send_base(self, side: LeaderSide, name: str, link: Link) -> None:
        """Tell a follower that it needs a base, or send parts of one."""
        world = self.world
        follower = side.followers[name]
        if side.should_set_aside(name, world.now, 3 * TIMEOUT_SECONDS):
            link.is_base_needed = True
            world.network.close(link, self.name)
            return
        if follower.state == NEEDS_BASE and follower.awaits_base:
            self._end_base(name)
            world.base_number += 1
            source = BaseSource(self._still, side.membership.term, world.base_number, world.settings)
            begin = source.begin()
            if not side.begin_base(name, link.number, begin):
                return
            world.note(f"{self.name} sends a base to {name} from LSN {begin.restart_lsn}")
            world.network.send(link, self.name, begin)
            self.sources[name] = source, source.frames()
            self.base_began[name] = begin.restart_lsn
        if follower.state != REBASING or name not in self.sources:
            return
        source, frames = self.sources[name]
        try:
            for _ in range(world.random.choice([0, 1, 1, 3])):
                frame = next(frames, None)
                if frame is None:
                    self._end_base(name)
                    break
                if BASE_WITH_ONE_LSN in world.mutations and isinstance(frame, BaseQueue):
                    # As if all queues were captured when the base began.
                    frame.lsn = min(frame.lsn, self.base_began[name])
                world.network.send(link, self.name, frame)
        except QueueFileDamaged as damage:
            world.note(f"{self.name} cannot send a base: {damage}")
            self._end_base(name)
            world.network.close(link, self.name)

    def _end_base(self, name: str) -> None:
        found = self.sources.pop(name, None)
        if found is not None:
            found[0].close()

    def _decide_as_leader(self) -> None:
        world, side = self.world, self.side
        assert side is not None
        membership = side.membership
        answering = side.answering(world.now, TIMEOUT_SECONDS)
        view: ArbiterView | None = None
        try:
            sent = world.now
            left = self.arbiter.keep_alive()
            if left is not None:
                self.lease_until = sent + left
            view = self.arbiter.read()
        except ArbiterUnavailable:
            view = None
        can_acknowledge = membership.can_acknowledge(answering)
        if can_acknowledge:
            self.held_since = -1.0
        elif self.held_since < 0:
            self.held_since = world.now
        held = world.now - self.held_since if self.held_since >= 0 else 0.0
        decision = election.decide_leader(
            election.LeaderSituation(
                self.name, membership.term, view, self.lease_until - world.now, can_acknowledge, held, HOLD_SECONDS_MAX
            )
        )
        if decision.kind == election.GIVE_UP or side.highest_term > membership.term:
            world.note(f"{self.name} gives up term {membership.term}: {decision.reason}")
            self.depose()
        elif decision.kind == election.RETAKE:
            self._ask(lambda: self._retake(decision))
        elif decision.kind in (election.GO_ON, election.HOLD) and view is not None:
            if view.in_sync is not None and view.leader is not None and view.leader.term == membership.term:
                membership.set_seen(view.in_sync)
                membership.wait_for(side.nearly_in_sync(answering, world.now, TIMEOUT_SECONDS))
                self._change_set(membership, answering)
            self._ask(lambda: self.arbiter.register(self._leading_member()))

    def depose(self) -> None:
        """Lead no more: the process begins anew."""
        self.stop()
        self.start()

    def _leading_member(self) -> Member:
        assert self.side is not None
        return Member(self.name, self.name, self.side.lives[-1].epoch, int(self.side.group_lsn()), LEADING)

    def _retake(self, decision: election.Decision) -> None:
        assert self.side is not None
        view = self.arbiter.read()
        self.arbiter.register(self._leading_member())
        term = self.arbiter.try_lead(self.name, decision.version, decision.term)
        if term is not None and view.in_sync is not None:
            self.side.membership.term_renewed(term, view.in_sync)
            self.world.note(f"{self.name} leads again in term {term}")

    def _change_set(self, membership: LeaderMembership, answering: set[str]) -> None:
        plan = membership.plan(answering)
        if plan.rule is None:
            return
        membership.change_sent(plan.rule)
        try:
            version = self.arbiter.set_in_sync(membership.term, membership.version, plan.rule.members, plan.rule.copies)
        except ArbiterUnavailable:
            return
        if version is not None:
            self.world.note(f"{self.name}: {plan.reason}")
            membership.change_confirmed(version)


def new_settings() -> LogSettings:
    return LogSettings(primary_files=2, secondary_files=4, file_pages=16)
