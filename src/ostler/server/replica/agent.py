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
    NameTaken,
)
from ostler.model.connection_names import Address
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
from ostler.replica.follower_side import FollowerSide, LinkRefused
from ostler.replica.leader_side import LeaderSide
from ostler.replica.membership import CopiesPolicy, LeaderMembership
from ostler.replica.relay_side import RelaySide
from ostler.replica.standby import Standby
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.replication_ini import ReplicationSection
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.following import Following, replication_listener
from ostler.server.replica.group_tls import GroupTls
from ostler.server.replica.guardian import Guardian
from ostler.server.replica.leading import Leading
from ostler.server.replica.messages import replication_message
from ostler.server.replica.pair.arbiter import PairArbiter
from ostler.server.replica.side.files import SideFiles
from ostler.server.replica.site.keeper import SiteKeeper
from ostler.server.replica.site.relaying import Relaying
from ostler.server.storage.journal_writer import JournalWriter
from ostler.server.supervised_thread import SupervisedThread
from ostler.server.turn import EngineTurn
from ostler.wire.replica_frames import ReplicaHello

_STEP_SECONDS: Final = 0.5
# Of equal claims one comes first; the others wait so long for it.
_PATIENCE_SECONDS: Final = 1.0
_MAKE_WAY_SECONDS: Final = 10.0
# An earlier process of an instance has lost its lease by then. Whoever holds or wants its name still is another one.
_RIVAL_LEASES: Final = 2
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
        side_files: SideFiles,
        sites: SiteKeeper | None = None,
        guardian: Guardian | None = None,
    ) -> None:
        """`turn` is that of the engine; bases for others are read in it. `files` are those of this copy.

        `side_files` are those beside its log. `sites` is the disaster recovery of the instance, if it has a recovery
        group. `guardian` gives the leader key back when this process dies.
        """
        self._side_files = side_files
        self._guardian = guardian
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
        self._on_change: Callable[[], None] | None = None
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
        self._owed_resignation = 0  # a term in which this instance leads no more, and the arbiter does not know it
        self._name_taken_since = 0.0
        self._rival_since = 0.0
        self._short_since = 0.0
        self._stopping = threading.Event()
        self.turn = threading.Lock()  # one step, or one request of a command, at a time
        self._writer: JournalWriter | None = None
        self.leading: Leading | None = None
        self.relay: Relaying | None = None
        """Of the instance that takes the log for a recovery group: the links to the others."""
        self._is_news = False  # the arbiter reported a change since the last step
        self._listener = replication_listener(section)
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
            side_files.store,
            self._check_given_up if sites is not None else None,
        )
        self.following.side.acknowledges_received = section.acknowledgement is Acknowledgement.MEMORY
        if sites is not None:
            sites.start(self)
        # A leader may connect at once, and wake this agent.
        self.following.start()
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

    def resign(self, why: str) -> None:
        """Let another instance lead at once: this process ends, and has told nobody of what it could not store."""
        leading = self.leading
        if leading is not None:
            leading.say_farewell(why)
            with suppress(ArbiterUnavailable):
                self.arbiter.resign(leading.side.membership.term)

    @property
    def is_active(self) -> bool:
        """The instance leads, and its queue manager works or is about to."""
        return self._writer is not None and not self.deposed

    def stop(self, why: str) -> None:
        """End the agent, after the queue manager has ended or while it follows. Others may lead at once."""
        self._stopping.set()
        self.wake()
        with self.turn:  # no step is under way, and none follows
            leading = self.leading or self.relay
            if leading is not None:
                leading.say_farewell(why)
                try:
                    self.arbiter.resign(leading.side.membership.term)
                except ArbiterUnavailable as error:
                    self._report_arbiter(error)
        if leading is not None:
            leading.join()
            if self._guardian is not None:
                self._guardian.close()
        if self.leading is None:
            self.following.stop()
        if self.sites is not None:
            self.sites.stop()
        self.arbiter.close()
        self._thread.join(_MAKE_WAY_SECONDS)

    def end_session(self) -> None:
        """Free the name of this instance at the arbiter, for the next process of it. Nothing is decided any more."""
        self._stopping.set()
        self.wake()
        self.arbiter.close()

    def on_change(self, call: Callable[[], None]) -> None:
        """Call this from now on when `changed` is set: on any thread, and now if it is set already."""
        self._on_change = call
        if self.changed.is_set():
            call()

    def tell_change(self) -> None:
        """Let the main thread see what has happened."""
        self.changed.set()
        if self._on_change is not None:
            self._on_change()

    def wake(self) -> None:
        """Take the next step at once. For any thread."""
        self.arbiter.wake()

    def _copy_failed(self, why: str) -> None:
        self.failure = why
        self.tell_change()

    def _want_base(self, why: str) -> None:
        self.base_wanted = why
        self.tell_change()

    def _run(self) -> None:
        while not self._stopping.is_set():
            pause = 0.0
            with self.turn:
                if self._stopping.is_set():
                    return
                try:
                    self.sentence, pause = self._step()
                except NameTaken as taken:
                    self.sentence, pause = str(taken), _STEP_SECONDS
                except ArbiterUnavailable as error:
                    self._report_arbiter(error)
                    pause = _STEP_SECONDS
            if pause > 0 and not self._stopping.is_set():
                self._wait(pause)

    def _wait(self, seconds: float) -> None:
        """Wait for a change, of the arbiter or here."""
        try:
            self._is_news = self.arbiter.wait_change(seconds) or self._is_news
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
        if self.relay is not None:
            return self._lead(self.relay)
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

    def _check_given_up(self) -> None:
        """Read the arbiter before this copy drops what a leader does not have: people may have given it up.

        Raises LinkRefused when they have, so that it is set aside first, and when the arbiter does not say.
        """
        assert self.sites is not None
        with self.turn:
            try:
                if self.sites.is_given_up(self.arbiter.read()):
                    raise LinkRefused("the data of this copy are given up, and are set aside first")
            except ArbiterUnavailable as error:
                raise LinkRefused(f"the arbiter does not say whether this copy is given up: {error}") from None
            except ConfigurationError as error:
                raise LinkRefused(f"it cannot be noted whether this copy is given up: {error}") from None

    def _follow(self) -> tuple[str, float]:
        if self._owed_resignation:
            self.arbiter.resign(self._owed_resignation)
            self._owed_resignation = 0
        self._keep_alive()
        view = self.view = self.arbiter.read()
        if self.sites is not None and self.sites.is_given_up(view):
            return "its data are given up: the process begins anew", _STEP_SECONDS
        if view.in_sync is None and self._may_found(view):
            promised = self._position()[3]
            self.arbiter.found((self.name,), 1, promised)
            return f"{self.name} founds the group at the arbiter", 0.0
        self._look_for_rival(view)
        epoch, position, mark, promised = self._position()
        fitness = Fitness(False, False, True, epoch, position, mark)
        if self._holds_key(view):
            return "has the key of an election whose answer was lost, and gives it back", 0.0
        own = self._own
        is_changed = own is not None and (own.epoch, own.promised_term) != (epoch, promised)
        if own is None or (own.state == FOLLOWING and (is_changed or self._owes_mark(own, position))):
            own = self._register(Member(self.name, self._address, epoch, position, FOLLOWING, promised))
        if self.sites is not None:
            self.sites.follow_arbiter(view)
            reason = self.sites.reason_not_to_claim()
            if reason and view.leader is None:
                return reason, self._pause()
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

    def _holds_key(self, view: ArbiterView) -> bool:
        """Return True after giving a key back that this instance was given without knowing it. Nobody leads with it."""
        leader = view.leader
        if self.relay is not None or leader is None or leader.session != self.arbiter.session():
            return False
        self.arbiter.resign(leader.term)
        return True

    def _pause(self) -> float:
        return min(_STEP_SECONDS, self.section.arbiter.lease_seconds / 3)

    def _may_found(self, view: ArbiterView) -> bool:
        """Return True for a copy that nobody else can have more of.

        It was never replicated; or the live site, which has everything, continues it.
        """
        if not self.section.instances:
            return True  # nobody else is there
        if self.sites is not None and self.sites.receives:
            return self.sites.may_found()
        return view.last_term == 0 and self._was_never_replicated()

    def _was_never_replicated(self) -> bool:
        with self.following.turn:
            return all(not life.instance for life in self.standby.log.lives)

    def _register(self, member: Member) -> Member:
        try:
            self.arbiter.register(member)
        except NameTaken as taken:
            self._report_rival(taken)
            raise
        self._name_taken_since = 0.0
        self._own = member
        self._registered_at = monotonic()
        self._kept_alive_at = 0.0
        return member

    def _report_rival(self, taken: NameTaken) -> None:
        """Tell of another process with the name of this instance, once it cannot be an earlier one any more."""
        now = monotonic()
        self._name_taken_since = self._name_taken_since or now
        if now - self._name_taken_since > _RIVAL_LEASES * self.section.arbiter.lease_seconds:
            self._notes.write(
                "name", replication_message("AMQ3296E", instance=self.name, name=self.queue_manager, other=taken.holder)
            )

    def _look_for_rival(self, view: ArbiterView) -> None:
        """Tell of another process that has asked for the name of this instance, and waits for it."""
        other = view.rivals.get(self.name)
        now = monotonic()
        self._rival_since = 0.0 if other is None else self._rival_since or now
        if other is not None and now - self._rival_since > _RIVAL_LEASES * self.section.arbiter.lease_seconds:
            self._notes.write(
                "rival", replication_message("AMQ3297W", instance=self.name, name=self.queue_manager, other=other)
            )

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
        self._held_since = 0.0
        if self.sites is not None and self.sites.receives:
            return self._begin_to_relay(self.sites, term, view), 0.0
        self._promote(term, view)
        return f"leads in term {term}: {decision.reason}", 0.0

    # -- a recovery group ----------------------------------------------------------------------------------------------

    def _begin_to_relay(self, sites: SiteKeeper, term: int, view: ArbiterView) -> str:
        """Lead a recovery group: take the log of the live site, and pass it on to the others. Nobody works here."""
        assert view.in_sync is not None
        with self.following.turn:
            log = self.standby.log
            if not log.lives:
                self._owed_resignation = term
                return "it has no log of the live site"
            position = int(log.position())
            membership = LeaderMembership(self.name, term, view.in_sync, position, self._policy)
            side = RelaySide(self._hello(list(log.lives)), membership, log.catch_up_reader(), position)
            side.counts_received = self.section.acknowledgement is Acknowledgement.MEMORY
            relay = Relaying(
                side,
                self._other_addresses(),
                self._tls,
                self.section.heartbeat_ms / 1000,
                self._timeout_seconds,
                self.section.retry_ms / 1000,
                self._note,
                self.wake,
                self.following.still,
                log.control_state().settings,
                self.following.relay_advanced,
            )
            self.following.side.relay = relay.port
        self.relay = relay
        relay.start(None)
        sites.set_receiver(True)
        self._register_leader()
        self._note(replication_message("AMQ3294I", instance=self.name, name=self.queue_manager, term=term))
        return f"{self.name} takes the log for its site"

    def _judge_relay(self, relay: Relaying, sites: SiteKeeper, view: ArbiterView | None) -> str:
        """Do what follows from the role of the site, and from the live one. Return what was done; empty: nothing."""
        if self.following.side.relay is None:
            return self._stop_relaying("another instance leads the group")
        if view is None:
            return ""
        sites.follow_arbiter(view)
        if not sites.receives:
            return self._work(relay, sites, view)
        if self.following.site_log_gone:
            return self._want_site_base(relay, view)
        return ""

    def _work(self, relay: Relaying, sites: SiteKeeper, view: ArbiterView) -> str:
        """This site works from now on: lead it with the term of the recovery group, if nothing is uncertain."""
        membership = relay.side.membership
        reason = sites.reason_not_to_claim()
        is_sure = view.leader is not None and view.leader.term == membership.term and membership.asked is None
        if reason or not is_sure or view.in_sync is None or view.in_sync.version != membership.version:
            return self._stop_relaying(reason or "the site has another role")
        self._end_relay(relay, sites, "this site works now")
        self._promote(membership.term, view)
        return f"leads in term {membership.term}: its site works now"

    def _want_site_base(self, relay: Relaying, view: ArbiterView) -> str:
        """The live site's log does not reach back to any copy here: this one takes a base, the others then from it.

        It is alone in the set before it gives its copy up, so that none of the others can lead with less.
        """
        why, self.following.site_log_gone = self.following.site_log_gone, ""
        membership = relay.side.membership
        if membership.asked is not None or view.in_sync is None or view.in_sync.version != membership.version:
            return ""  # it is told again
        if self.arbiter.set_in_sync(membership.term, membership.version, (self.name,), 1) is None:
            return ""
        self._want_base(why)
        return f"takes a base: {why}"

    def _stop_relaying(self, why: str) -> str:
        """Lead the recovery group no more, and follow like the others."""
        relay, sites = self.relay, self.sites
        assert relay is not None
        assert sites is not None
        self._end_relay(relay, sites, why)
        self._owed_resignation = relay.side.membership.term
        self._own = None
        return f"takes the log no more: {why}"

    def _end_relay(self, relay: Relaying, sites: SiteKeeper, why: str) -> None:
        sites.set_receiver(False)
        with self.following.turn:
            self.following.side.relay = None
        self.relay = None
        relay.say_farewell(why)
        relay.join()

    def _hello(self, lives: list[Life]) -> ReplicaHello:
        """Return what this copy says of itself to those who follow it."""
        log = self.standby.log
        hello = ReplicaHello()
        hello.group = self.group
        hello.queue_manager = self.queue_manager
        hello.instance = self.name
        hello.identity = log.identity()
        hello.file_pages = log.file_pages()
        hello.log_format = FORMAT_VERSION
        hello.lives = lives
        return hello

    def _other_addresses(self) -> dict[str, Address]:
        return {each.name: each.address for each in self.section.instances if each.name != self.name}

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
        why = ""
        try:
            if not self.arbiter.add_life(term, epoch, described):
                why = f"the life {epoch} of the log is another's, or term {term} is over"
        except ArbiterUnavailable as error:
            why = f"the arbiter does not answer: {error}"
        if why:
            self._depose(why, term)
            return
        hello = self._hello([*log.lives, life])
        membership = LeaderMembership(self.name, term, view.in_sync, position, self._policy)
        side = LeaderSide(hello, membership, log.catch_up_reader(), position, position)
        side.counts_received = self.section.acknowledgement is Acknowledgement.MEMORY
        if self.sites is not None:
            self.sites.prepare_to_lead(side)
        leading = Leading(
            side,
            self._other_addresses(),
            self._tls,
            self.section.heartbeat_ms / 1000,
            self._timeout_seconds,
            self.section.retry_ms / 1000,
            self._note,
            self.wake,
            lambda: self._engine_turn,
            log.control_state().settings,
            self.sites.other if self.sites is not None else None,
            self._side_files.source,
        )
        self.leading = leading
        if self._tls is None and self._other_addresses():
            self._note(replication_message("AMQ3298W", name=self.queue_manager))
        if self.sites is not None:
            self.sites.open_door()
        self.promotion = Promotion(self.standby, life, leading)
        self._note(replication_message("AMQ3215I", instance=self.name, name=self.queue_manager, term=term))
        self.tell_change()
        self._register_leader()
        self._guard(term)

    def _guard(self, term: int) -> None:
        """Have the key of a term given back when this process dies."""
        if self._guardian is None:
            return
        why = self._guardian.watch(term)
        if why:
            self._notes.write(why, replication_message("AMQ3269W", name=self.queue_manager, why=why))

    def _register_leader(self) -> None:
        if self.promotion is None:
            epoch, position, _, promised = self._position()
            self._register(Member(self.name, self._address, epoch, position, LEADING, promised))
            return
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
                with suppress(NameTaken):  # it is told
                    self._register_leader()
            view = self.arbiter.read()
        except ArbiterUnavailable as error:
            self._report_arbiter(error)
        self.view = view
        if view is not None:
            self._look_for_rival(view)
        if view is not None and self._is_news:
            self._is_news = False
            # An instance that has just started registers, and listens already.
            leading.retry(set(view.members))
        now = monotonic()
        if self.sites is not None:
            done = self._judge_sites(leading, self.sites, view)
            if done:
                return done, 0.0
        with leading.turn:
            answering = leading.side.answering(now, self._timeout_seconds)
            can_acknowledge = membership.can_acknowledge(answering)
            highest_term = int(leading.side.highest_term)
            term = membership.term
            if view is not None and view.in_sync is not None and view.last_term == term:
                membership.set_seen(view.in_sync)
        if highest_term > term:
            return self._give_way(leading, f"a follower has heard term {highest_term}, after {term}"), _STEP_SECONDS
        self._held_since = 0.0 if can_acknowledge else self._held_since or now
        held_seconds = now - self._held_since if self._held_since else 0.0
        if self.relay is not None:
            self.relay.is_held = held_seconds > self._timeout_seconds
        lease_seconds_left = self._lease_ends_at - now
        situation = LeaderSituation(
            self.name, term, view, lease_seconds_left, can_acknowledge, held_seconds, self._timeout_seconds
        )
        decision = decide_leader(situation)
        if decision.kind == GIVE_UP:
            return self._give_way(leading, decision.reason), _STEP_SECONDS
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
            self._guard(term)
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
        """Hand over to the preferred instance, or because this one is suspended or full. Return what was done."""
        now = monotonic()
        # The operator was told of a full disk: applications are refused.
        self._short_since = (self._short_since or now) if self.standby.engine.reserve.is_reported else 0.0
        is_short = self._short_since > 0 and now - self._short_since > self._timeout_seconds
        with leading.turn:
            caught_up = {
                each.name
                for each in leading.side.followers.values()
                if each.is_linked() and each.forced >= leading.side.position() and not (is_short and each.flags)
            }
        to = hand_over_to(self.name, view, caught_up, is_short)
        if not to:
            return ""
        why = "has space on its disk" if is_short else "is preferred or not suspended"
        return self._give_way(leading, f"{to} takes over, which {why}")

    def _judge_sites(self, leading: Leading, sites: SiteKeeper, view: ArbiterView | None) -> str:
        """Look at both sites. Return what was done; empty: nothing."""
        if view is not None and sites.is_given_up(view):
            return "its data are given up: the process begins anew"
        if self.relay is not None:
            return self._judge_relay(self.relay, sites, view)
        sites.watch_lag(leading)
        return ""

    def _give_way(self, leading: Leading, why: str) -> str:
        """Lead no more. Who leads a recovery group goes on as a follower, others have to begin anew."""
        return self._stop_relaying(why) if leading is self.relay else self._depose(why)

    def give_up(self, why: str) -> None:
        """Lead no more, because a person has decided so. The process begins anew."""
        with self.turn:
            self._depose(why)

    def _depose(self, why: str, term: int = 0) -> str:
        """Stop acknowledging, for ever. The process begins anew as a follower. `term` is of an election just won."""
        self.deposed = why
        if self._writer is not None:
            self._writer.depose(f"Another instance leads, or may: {why}")
        if self.leading is not None:
            term = self.leading.side.membership.term
        if term:
            try:
                self.arbiter.resign(term)
            except ArbiterUnavailable as error:
                self._report_arbiter(error)
        self.tell_change()
        return f"gives up: {why}"
