"""The agent of an instance: it follows, stands for election, leads, makes way. One thread decides, step by step.

Each step reads the arbiter, asks the rules (`replica/election.py`, `replica/membership.py`) what to do, does it, and
returns a sentence that says what it did and why. The daemon starts the queue manager when the agent is elected
(`promotion`), and runs the process anew as a follower when the agent has given up (`deposed`).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Final

from ostler.log.stream_format import FORMAT_VERSION
from ostler.model.arbiter import (
    FOLLOWING,
    LEADING,
    Arbiter,
    ArbiterUnavailable,
    ArbiterView,
    Mark,
    Member,
)
from ostler.model.log_life import Life
from ostler.model.replication import Acknowledgement
from ostler.replica.base_files import BaseFiles
from ostler.replica.election import (
    ABSTAIN,
    CLAIM,
    FOLLOW,
    GIVE_UP,
    LEAD,
    RETAKE,
    Decision,
    Fitness,
    LeaderSituation,
    claim_of,
    decide_follower,
    decide_leader,
    hand_over_to,
    judge_election,
)
from ostler.replica.follower_side import FollowerSide
from ostler.replica.leader_side import LeaderSide
from ostler.replica.membership import CopiesPolicy, LeaderMembership
from ostler.replica.standby import Standby
from ostler.server.config.replication_ini import ReplicationSection
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.following import Following, replication_listener
from ostler.server.replica.group_tls import GroupTls
from ostler.server.replica.leading import Leading
from ostler.server.replica.messages import replication_message
from ostler.server.replica.pair.arbiter import PairArbiter
from ostler.server.replica.site.keeper import SiteKeeper
from ostler.server.storage.journal_writer import JournalWriter
from ostler.server.supervised_thread import SupervisedThread
from ostler.server.turn import EngineTurn
from ostler.wire.replica_frames import ReplicaHello

_STEP_SECONDS: Final = 0.5
# Of equal claims one comes first; the others wait so long for it.
_PATIENCE_SECONDS: Final = 1.0
_MAKE_WAY_SECONDS: Final = 10.0
# So often an instance tells the arbiter how far its log goes. An older copy of its files can then be told from them.
_MARK_SECONDS: Final = 5.0


class Promotion:
    """An elected instance: everything that the queue manager needs to take over."""

    def __init__(self, standby: Standby, life: Life, leading: Leading) -> None:
        self.standby = standby
        self.life = life
        self.leading = leading


class InstanceAgent:
    """Runs one instance of a replicated queue manager. Methods may be called on any thread but the reactor's."""

    def __init__(
        self,
        queue_manager: str,
        section: ReplicationSection,
        arbiter: Arbiter,
        tls: GroupTls | None,
        standby: Standby,
        note: Callable[[str], None],
        turn: EngineTurn,
        files: BaseFiles,
        sites: SiteKeeper | None = None,
    ) -> None:
        """`turn` is that of the engine; bases for others are read in it. `files` are those of this copy.

        `sites` is the disaster recovery of the instance, if it has a recovery group.
        """
        self.sites = sites
        self.queue_manager = queue_manager
        self.section = section
        self.name = section.instance
        self.group = section.group_name or queue_manager
        self.standby = standby
        self.arbiter = arbiter
        self.promotion: Promotion | None = None
        """Set when the instance was elected."""
        self.deposed = ""
        """The reason for which the instance leads no more; empty while it leads or follows."""
        self.failure = ""
        """The reason for which this copy cannot follow any more."""
        self.base_wanted = ""
        """The reason for which this copy is of no use: the process begins anew, and takes a base."""
        self._engine_turn = turn
        self.sentence = ""
        """The last step and its reason, in words."""
        self.view: ArbiterView | None = None
        """The arbiter as it was last read; None when it does not answer."""
        self.changed = threading.Event()
        """Set when promotion, deposition or failure has happened."""
        self._tls = tls
        self._note = note
        self._notes = RateLimitedLog(note)
        self._timeout_seconds = section.heartbeat_timeout_ms / 1000
        others = len(section.instances)
        self._policy = CopiesPolicy(section.copies, section.copies if others > 2 else 1)
        self._address = str(section.own_address())
        self._own: Member | None = None  # as registered
        self._claimed_at = 0.0
        self._registered_at = 0.0
        self._lease_ends_at = 0.0
        self._kept_alive_at = 0.0
        self._held_since = 0.0
        self._receiving_term = 0  # of the instance that takes the log for a recovery site with several
        self._stopping = threading.Event()
        self.turn = threading.Lock()  # one step, or one request of a command, at a time
        self._writer: JournalWriter | None = None
        self.leading: Leading | None = None
        self._woken = threading.Event()
        self._listener = replication_listener(section)
        # A leader may connect at once, and wake this agent.
        self.following = Following(
            FollowerSide(self.name, self.group, queue_manager, standby, files),
            frozenset(each.name for each in section.instances),
            self._listener,
            tls,
            self._timeout_seconds,
            note,
            self.wake,
            self._copy_failed,
            self._want_base,
            arbiter if isinstance(arbiter, PairArbiter) else None,
        )
        self.following.side.acknowledges_received = section.acknowledgement is Acknowledgement.MEMORY
        if sites is not None:
            sites.start(self)
        self._thread = SupervisedThread(
            "ostler-agent",
            "thread that decides which instance leads",
            self._run,
            self._stopping.is_set,
            note,
            stopping=self._stopping,
        )
        self._thread.start()

    # -- life ----------------------------------------------------------------------------------------------------------

    def begin_leading(self, writer: JournalWriter) -> None:
        """Ship the log that is written from now on. The queue manager calls it when it takes over."""
        assert self.promotion is not None
        self._writer = writer
        if self.deposed:
            writer.depose(f"Another instance leads, or may: {self.deposed}")  # before it had begun
            return
        self.promotion.leading.start(writer)

    @property
    def is_active(self) -> bool:
        """The instance leads, and its queue manager works or is about to."""
        return self._writer is not None and not self.deposed

    def stop(self, why: str) -> None:
        """End the agent, after the queue manager has ended or while it follows. Others may lead at once."""
        self._stopping.set()
        self._woken.set()
        with self.turn:  # no step is under way, and none follows
            leading = self.leading
            if leading is not None:
                leading.say_farewell(why)
                try:
                    self.arbiter.resign(leading.side.membership.term)
                except ArbiterUnavailable as error:
                    self._report_arbiter(error)
        if leading is not None:
            leading.join()
        else:
            self.following.stop()
            if self._receiving_term:
                with suppress(ArbiterUnavailable):
                    self.arbiter.resign(self._receiving_term)
        if self.sites is not None:
            self.sites.stop()
        self.arbiter.close()
        self._thread.join(_MAKE_WAY_SECONDS)

    def wake(self) -> None:
        self._woken.set()

    def _copy_failed(self, why: str) -> None:
        self.failure = why
        self.changed.set()

    def _want_base(self, why: str) -> None:
        self.base_wanted = why
        self.changed.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            pause = 0.0
            with self.turn:
                if self._stopping.is_set():
                    return
                try:
                    self.sentence, pause = self._step()
                except ArbiterUnavailable as error:
                    self._report_arbiter(error)
                    pause = _STEP_SECONDS
            if pause > 0 and not self._stopping.is_set():
                self._wait(pause)

    def _wait(self, seconds: float) -> None:
        """Wait for a change, of the arbiter or here."""
        if self._woken.is_set():
            self._woken.clear()
            return
        try:
            self.arbiter.wait_change(seconds)
        except ArbiterUnavailable:
            self._stopping.wait(seconds)

    def _report_arbiter(self, error: ArbiterUnavailable) -> None:
        self._notes.write(str(error), replication_message("AMQ3281W", why=str(error)))

    def _step(self) -> tuple[str, float]:
        """Take one step. Return what it did and why, and for how long nothing is to be done."""
        if self.deposed or self.failure or self.base_wanted:
            return self.deposed or self.failure or self.base_wanted, _STEP_SECONDS
        if self.leading is not None:
            return self._lead(self.leading)
        return self._follow()

    def _keep_alive(self) -> None:
        """Renew the lease when a third of it is over. Raises ArbiterUnavailable."""
        now = monotonic()
        if now - self._kept_alive_at < self.section.arbiter.lease_seconds / 3:
            return
        seconds = self.arbiter.keep_alive()
        if seconds is None:
            self._own = None  # its keys are gone
            return
        self._kept_alive_at = now
        self._lease_ends_at = now + seconds

    # -- following -----------------------------------------------------------------------------------------------------

    def _position(self) -> tuple[int, int, Mark, int]:
        """Return the life and the end of the copy, its mark, and the term below which it acknowledges nothing."""
        with self.following.turn:
            log = self.standby.log
            mark = Mark(int(log.mark.epoch), int(log.mark.acknowledged_lsn))
            return log.epoch(), int(log.position()), mark, int(log.mark.promised_term)

    def _follow(self) -> tuple[str, float]:
        self._keep_alive()
        view = self.view = self.arbiter.read()
        if view.in_sync is None and view.last_term == 0 and self._may_found():
            promised = self._position()[3]
            self.arbiter.found((self.name,), 1, promised)
            return f"{self.name} founds the group at the arbiter", 0.0
        epoch, position, mark, promised = self._position()
        fitness = Fitness(False, False, True, epoch, position, mark)
        own = self._own
        is_changed = own is not None and (own.epoch, own.promised_term) != (epoch, promised)
        if own is None or (own.state == FOLLOWING and (is_changed or self._owes_mark(own, position))):
            own = self._register(Member(self.name, self._address, epoch, position, FOLLOWING, promised))
        if self.sites is not None:
            self.sites.follow_arbiter(view)
            reason = self.sites.reason_not_to_claim()
            if reason and view.leader is None:
                return reason, self._pause()
            if self._receiving_term:
                return self._receive(self.sites, view), self._pause()
        decision = decide_follower(own, fitness, view, self.following.is_link_well(view.last_term))
        if decision.kind == FOLLOW and own.state != FOLLOWING:
            self._register(Member(self.name, self._address, epoch, position, FOLLOWING, promised))
        if decision.kind == ABSTAIN and not self.following.is_linked():
            text = f"AMQ3235I: Instance {self.name} takes no part in the election of a leader: {decision.reason}."
            self._notes.write(decision.reason, text)
        if decision.kind in (FOLLOW, ABSTAIN):
            return decision.reason, self._pause()
        if decision.kind == CLAIM:
            self._claim(view)
            return f"{self.name} claims: {decision.reason}", 0.0
        decision = judge_election(own, view, monotonic() - self._claimed_at, _PATIENCE_SECONDS)
        if decision.kind == LEAD:
            return self._stand(decision, view)
        return decision.reason, self._pause()

    def _pause(self) -> float:
        return min(_STEP_SECONDS, self.section.arbiter.lease_seconds / 3)

    def _may_found(self) -> bool:
        """Return True for a copy that was never replicated: nobody else can have what it lacks."""
        if not self.section.instances:
            return True  # nobody else is there
        with self.following.turn:
            return all(not life.instance for life in self.standby.log.lives)

    def _register(self, member: Member) -> Member:
        self.arbiter.register(member)
        self._own = member
        self._registered_at = monotonic()
        self._kept_alive_at = 0.0
        return member

    def _claim(self, view: ArbiterView) -> None:
        with self.following.turn:
            self.following.side.promise(view.last_term)
        epoch, position, _, _ = self._position()
        self._register(claim_of(Member(self.name, self._address, epoch, position, FOLLOWING), view))
        self._claimed_at = monotonic()

    def _stand(self, decision: Decision, view: ArbiterView) -> tuple[str, float]:
        sent = monotonic()
        term = self.arbiter.try_lead(self.name, decision.version, decision.term)
        if term is None:
            return "another instance was quicker", 0.0
        self._lease_ends_at = sent + self.section.arbiter.lease_seconds
        if self.sites is not None and self.sites.receives:
            return self._begin_to_receive(self.sites, term, view), self._pause()
        self._promote(term, view)
        return f"leads in term {term}: {decision.reason}", 0.0

    def _begin_to_receive(self, sites: SiteKeeper, term: int, view: ArbiterView) -> str:
        """Lead a recovery site: take the log of the live one, and work no more than the others here.

        The others do not get the log before this site works. So they leave the set first: none of them could lead with
        what it has.
        """
        assert view.in_sync is not None
        if self.arbiter.set_in_sync(term, view.in_sync.version, (self.name,), 1) is None:
            self.arbiter.resign(term)
            return "the in-sync set was not changed: the arbiter has another one"
        self._receiving_term = term
        sites.set_receiver(True)
        return f"{self.name} takes the log for its site"

    def _receive(self, sites: SiteKeeper, view: ArbiterView) -> str:
        is_mine = view.leader is not None and view.leader.term == self._receiving_term
        if is_mine and sites.receives:
            return f"{self.name} takes the log for its site"
        sites.set_receiver(False)
        self.arbiter.resign(self._receiving_term)
        self._receiving_term = 0
        return "the site has another role, or another instance takes the log"

    def _promote(self, term: int, view: ArbiterView) -> None:
        assert view.in_sync is not None
        self.following.stop()
        if self.following.failure:
            self.arbiter.resign(term)
            return
        log = self.standby.log
        position = int(log.position())
        epoch = max(view.last_epoch, int(log.mark.highest_epoch), log.epoch()) + 1
        life = Life(epoch, position, self.name, term, int(time.time()))
        described = json.dumps({"start_lsn": position, "instance": self.name, "term": term, "time": life.unix_time})
        if not self.arbiter.add_life(term, epoch, described):
            self._depose(f"the life {epoch} of the log is another's, or term {term} is over")
            return
        hello = ReplicaHello()
        hello.group = self.group
        hello.queue_manager = self.queue_manager
        hello.instance = self.name
        hello.identity = log.identity()
        hello.file_pages = log.file_pages()
        hello.log_format = FORMAT_VERSION
        hello.lives = [*log.lives, life]
        membership = LeaderMembership(self.name, term, view.in_sync, position, self._policy)
        side = LeaderSide(hello, membership, log.catch_up_reader(), position, position)
        side.counts_received = self.section.acknowledgement is Acknowledgement.MEMORY
        addresses = {each.name: each.address for each in self.section.instances if each.name != self.name}
        if self.sites is not None:
            self.sites.prepare_to_lead(side)
        leading = Leading(
            side,
            addresses,
            self._tls,
            self.section.heartbeat_ms / 1000,
            self._timeout_seconds,
            self.section.retry_ms / 1000,
            self._note,
            self.wake,
            lambda: self._engine_turn,
            log.control_state().settings,
            self.sites.other if self.sites is not None else None,
        )
        self.leading = leading
        if self.sites is not None:
            self.sites.open_door()
        self.promotion = Promotion(self.standby, life, leading)
        self._register_leader()
        self._note(replication_message("AMQ3215I", instance=self.name, name=self.queue_manager, term=term))
        self.changed.set()

    def _register_leader(self) -> None:
        assert self.promotion is not None
        life = self.promotion.life
        end = max(life.start_lsn, int(self.promotion.leading.side.forced_lsn()))
        self._register(Member(self.name, self._address, life.epoch, end, LEADING))

    def _owes_mark(self, registered: Member, end_lsn: int) -> bool:
        return end_lsn > registered.end_lsn and monotonic() - self._registered_at > _MARK_SECONDS

    # -- leading -------------------------------------------------------------------------------------------------------

    def _lead(self, leading: Leading) -> tuple[str, float]:
        membership = leading.side.membership
        view: ArbiterView | None = None
        try:
            self._keep_alive()
            if self._own is None or self._owes_mark(self._own, int(leading.side.forced_lsn())):
                self._register_leader()
            view = self.arbiter.read()
        except ArbiterUnavailable as error:
            self._report_arbiter(error)
        self.view = view
        now = monotonic()
        if self.sites is not None:
            self.sites.watch_lag(leading)
        with leading.turn:
            answering = leading.side.answering(now, self._timeout_seconds)
            can_acknowledge = membership.can_acknowledge(answering)
            highest_term = int(leading.side.highest_term)
            term = membership.term
            if view is not None and view.in_sync is not None and view.last_term == term:
                membership.set_seen(view.in_sync)
        if highest_term > term:
            return self._depose(f"a follower has heard term {highest_term}, after {term}"), _STEP_SECONDS
        self._held_since = 0.0 if can_acknowledge else self._held_since or now
        held_seconds = now - self._held_since if self._held_since else 0.0
        lease_seconds_left = self._lease_ends_at - now
        situation = LeaderSituation(
            self.name, term, view, lease_seconds_left, can_acknowledge, held_seconds, self._timeout_seconds
        )
        decision = decide_leader(situation)
        if decision.kind == GIVE_UP:
            return self._depose(decision.reason), _STEP_SECONDS
        if decision.kind == RETAKE:
            return self._retake(membership, leading, decision, view)
        if view is not None and view.leader is not None and view.leader.term == term:
            changed = self._change_set(leading, membership, answering)
            if changed:
                return changed, 0.0
            way = self._make_way(leading, view)
            if way:
                return way, _STEP_SECONDS
        return decision.reason, self._pause()

    def _retake(
        self, membership: LeaderMembership, leading: Leading, decision: Decision, view: ArbiterView | None
    ) -> tuple[str, float]:
        assert view is not None
        assert view.in_sync is not None
        if self._own is None or not self.arbiter.session():
            self._register_leader()
        sent = monotonic()
        term = self.arbiter.try_lead(self.name, decision.version, decision.term)
        if term is not None:
            with leading.turn:
                membership.term_renewed(term, view.in_sync)
                leading.side.highest_term = max(leading.side.highest_term, term)
            self._lease_ends_at = sent + self.section.arbiter.lease_seconds
        return decision.reason, 0.0

    def _change_set(self, leading: Leading, membership: LeaderMembership, answering: set[str]) -> str:
        """Ask the arbiter for the in-sync set that follows from who answers. Return what was done."""
        with leading.turn:
            membership.wait_for(leading.side.nearly_in_sync(answering, monotonic(), self._timeout_seconds))
            plan = membership.plan(answering)
            if plan.rule is None:
                return ""
            membership.change_sent(plan.rule)
            version, term = membership.version, membership.term
        stored = self.arbiter.set_in_sync(term, version, plan.rule.members, plan.rule.copies)
        if stored is None:
            return "the in-sync set was not changed: the arbiter has another one"
        with leading.turn:
            membership.change_confirmed(stored)
        leading.advance()
        self._note(f"AMQ3235I: In sync are now {', '.join(plan.rule.members)}: {plan.reason}.")
        return plan.reason

    def _make_way(self, leading: Leading, view: ArbiterView) -> str:
        """Hand over to the preferred instance, or because this one is suspended. Return what was done."""
        with leading.turn:
            caught_up = {
                each.name
                for each in leading.side.followers.values()
                if each.is_linked() and each.forced >= leading.side.position()
            }
        to = hand_over_to(self.name, view, caught_up)
        if not to:
            return ""
        return self._depose(f"{to} takes over, which is preferred or not suspended")

    def give_up(self, why: str) -> None:
        """Lead no more, because a person has decided so. The process begins anew."""
        with self.turn:
            self._depose(why)

    def _depose(self, why: str) -> str:
        """Stop acknowledging, for ever. The process begins anew as a follower."""
        self.deposed = why
        if self._writer is not None:
            self._writer.depose(f"Another instance leads, or may: {why}")
        if self.leading is not None:
            try:
                self.arbiter.resign(self.leading.side.membership.term)
            except ArbiterUnavailable as error:
                self._report_arbiter(error)
        self.changed.set()
        return f"gives up: {why}"
