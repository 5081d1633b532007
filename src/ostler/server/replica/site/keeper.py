"""Disaster recovery of an instance: the role of its site, the other site, planned and unplanned switches.

The agent asks it at each step whether this instance may stand for election, and tells it when it leads. A thread asks
the other site what it does while no link for the log connects the two.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Final, Protocol

from ostler.log.stream_format import FORMAT_VERSION
from ostler.model import constants as mq
from ostler.model.arbiter import Arbiter, ArbiterUnavailable, ArbiterView
from ostler.model.errors import MQError
from ostler.model.replication import (
    UNKNOWN_BACKLOG,
    ChangeRole,
    GroupConnection,
    GroupRole,
    HaStatus,
    RecoveryGroupStatus,
    ReplicaState,
)
from ostler.replica.follower_side import NO_LINK
from ostler.replica.lag import NO_LIMIT, LagLimits
from ostler.replica.leader_side import LIVE_BYTES_MAX, NEEDS_BASE, OFFLINE, REBASING, STREAMING, LeaderSide
from ostler.replica.pedigree import Pedigree
from ostler.replica.site_side import MAY, MUST_NOT, MUST_WAIT, SiteAnswer, receives, sends
from ostler.replica.standby import Standby
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.replication_ini import LagAction, ReplicationSection, ReplicationType
from ostler.server.replica.following import Following, replication_listener
from ostler.server.replica.group_tls import GroupTls
from ostler.server.replica.leading import Leading
from ostler.server.replica.messages import replication_message
from ostler.server.replica.site.given_up import decode_given_up
from ostler.server.replica.site.links import SiteDoor, ask_site
from ostler.server.replica.site.state import WORDS, Site
from ostler.server.supervised_thread import SupervisedThread
from ostler.wire.replica_frames import PURPOSE_DR, REFUSED_STATE, ReplicaHello

_ASK_SECONDS: Final = 2.0
_ASK_SOON_SECONDS: Final = 0.3
_POLL_SECONDS: Final = 0.05
# A site that is to work waits so long for the other one's first answer.
_FIRST_ANSWER_SECONDS: Final = 3.0
# The process of the other site may begin anew just now, or send the rest of its log.
_SILENCE_SECONDS: Final = 5.0
_REST_SECONDS: Final = 30.0
_HAND_OVER_SECONDS: Final = 20.0
_ANSWERED_SECONDS: Final = 0.3
_MEGABYTE: Final = 1 << 20


class SiteAgent(Protocol):
    """The agent of the instance, as far as disaster recovery uses it."""

    queue_manager: str
    name: str
    arbiter: Arbiter
    standby: Standby
    following: Following
    leading: Leading | None
    view: ArbiterView | None
    turn: threading.Lock
    deposed: str

    def wake(self) -> None: ...

    def tell_change(self) -> None: ...

    def give_up(self, why: str) -> None: ...


class SiteKeeper:
    """The disaster recovery of one instance."""

    def __init__(
        self,
        directory: Path,
        section: ReplicationSection,
        tls: GroupTls | None,
        note: Callable[[str], None],
    ) -> None:
        """Raises ConfigurationError."""
        self.section = section
        self.other = section.recovery_groups[0]
        self.site = Site(directory, section, self._partitioned)
        self.is_sole = not section.instances
        self.site.is_receiver = self.is_sole
        self.is_handing_over = False
        """The queue manager is to end here, and the rest of its log goes to the other site."""
        self.is_beginning_anew = False
        self.begins_anew = ""
        """The reason for which the process has to begin anew: its site has another role now."""
        self.answered_at = 0.0
        """The time of the other site's last answer; 0: there was none."""
        self.is_first_asked = False
        self._is_leader_heard = False
        self.told_lag = False
        self._tls = tls
        self._note = note
        self._agent: SiteAgent | None = None
        self._door: SiteDoor | None = None
        self._began_at = monotonic()
        self._stopping = threading.Event()
        self._asks_now = threading.Event()
        self._thread = SupervisedThread(
            "ostler-sites",
            "thread that asks the other site",
            self._watch,
            self._stopping.is_set,
            note,
            stopping=self._stopping,
        )

    def start(self, agent: SiteAgent) -> None:
        self._agent = agent
        agent.following.side.site = self.site
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._asks_now.set()
        self._thread.join()
        if self._door is not None:
            self._door.close()

    def _partitioned(self, lsn: int, why: str) -> None:
        assert self._agent is not None
        name = self._agent.queue_manager
        self._note(f"{replication_message('AMQ3271W', name=name, other=self.other.name, lsn=lsn)} Reason: {why}.")
        self._agent.wake()

    # -- the agent's steps ---------------------------------------------------------------------------------------------

    def follow_arbiter(self, view: ArbiterView) -> None:
        """Bring the role here and at the arbiter together. Raises ArbiterUnavailable and ConfigurationError.

        Of several instances the arbiter decides; a sole one has its arbiter in its own directory, beside the file.
        """
        site, agent = self.site, self._agent
        assert agent is not None
        role = str(site.group_role)
        if not view.role or (self.is_sole and view.role != role):
            agent.arbiter.set_role(view.role, role)
        elif view.role != role and view.role in tuple(GroupRole):
            site.set_state(replace(site.state, role=GroupRole(view.role)))
        site.set_working(view.leader is not None)

    def is_given_up(self, view: ArbiterView) -> bool:
        """Carry out what a person has decided about the data of this group. True: the process begins anew.

        Raises ConfigurationError.
        """
        site, agent = self.site, self._agent
        assert agent is not None
        if self.is_beginning_anew:
            return True
        decided = decode_given_up(view.given_up)
        if decided.number <= site.state.given_up:
            return False
        own, _ = self._pedigree()
        fork_lsn = decided.fork_of(own)
        role = GroupRole(view.role) if view.role in tuple(GroupRole) else GroupRole.RECOVERY
        state = replace(site.state.without_partition(), role=role, given_up=decided.number)
        site.set_state(replace(state, set_aside_lsn=fork_lsn))
        if fork_lsn < 0:
            return False
        self.set_receiver(False)  # nothing more comes to what is set aside
        self._begin_anew(f"{site.group} was given up in favour of {self.other.name}")
        return True

    def may_found(self) -> bool:
        """Return True when this copy can be the first of a recovery group: the live site works, and continues it."""
        agent, site = self._agent, self.site
        assert agent is not None
        with agent.following.turn:
            has_log = bool(agent.standby.log.lives)
        is_continued = sends(site.other_role) and not site.is_partitioned()
        return has_log and is_continued and self.is_other_there() and not agent.following.is_linked()

    def reason_not_to_claim(self) -> str:
        """Return why no instance of this site may lead now; empty: one may."""
        site = self.site
        role = site.group_role
        if self.receives and self.is_sole:
            return f"{site.group} is a recovery site ({role}) and takes the log of {self.other.name}"
        if self.receives:
            return ""  # one of several leads the group: it receives, and does not work
        held = site.reason_to_hold()
        if held:
            return f"{site.group} does not work: {held}"
        if role is GroupRole.PENDING_RECOVERY and not self.is_other_there():
            return f"{site.group} has to send the rest of its log to {self.other.name}, which does not answer"
        if not self.is_first_asked and monotonic() - self._began_at < _FIRST_ANSWER_SECONDS:
            return f"{self.other.name} is asked first whether it works"
        return ""

    @property
    def receives(self) -> bool:
        """The site takes the log of the other one."""
        return self.site.group_role in (GroupRole.RECOVERY, GroupRole.PENDING_LIVE)

    def set_receiver(self, is_receiver: bool) -> None:
        """Of several instances this one takes the log for its site, or does not any more."""
        agent = self._agent
        assert agent is not None
        with agent.following.turn:
            self.site.is_receiver = is_receiver
            if not is_receiver and agent.following.side.purpose == PURPOSE_DR:
                agent.following.side.leave()

    def is_other_there(self) -> bool:
        """Return True when the other site has answered lately, or a link for the log connects the sites."""
        return self._is_linked() or (self.answered_at > 0 and monotonic() - self.answered_at < 3 * _ASK_SECONDS)

    def prepare_to_lead(self, side: LeaderSide) -> None:
        """The instance was elected: `side` sends its log to the other site as well."""
        section = self.section
        self.site.set_working(True)
        side.site = self.site
        side.is_synchronous = self.other.type is ReplicationType.SYNCHRONOUS
        megabytes, seconds = section.lag_megabytes, section.lag_seconds
        side.lag_limits = LagLimits(
            NO_LIMIT if megabytes is None else megabytes * _MEGABYTE,
            NO_LIMIT if seconds is None else seconds,
            section.lag_action is LagAction.SLOW,
        )

    def open_door(self) -> None:
        """Answer other sites while this instance leads."""
        self._door = SiteDoor(replication_listener(self.section), self._tls, self._answer, self._note)

    def watch_lag(self, leading: Leading) -> None:
        """Tell people when the other site is further behind than it may be, and when it is not any more."""
        with leading.turn:
            found = leading.side.recovery()
            lag_bytes = leading.side.recovery_backlog_bytes()
            seconds = leading.side.lag.seconds(monotonic())
            is_exceeded = found is not None and leading.side.lag_limits.is_exceeded(lag_bytes, seconds)
        if is_exceeded != self.told_lag:
            self.told_lag = is_exceeded
            number = "AMQ3282W" if is_exceeded else "AMQ3299I"
            megabytes = f"{lag_bytes / _MEGABYTE:.1f}"
            self._note(
                replication_message(number, group=self.other.name, megabytes=megabytes, seconds=f"{seconds:.0f}")
            )

    # -- asking and answering ------------------------------------------------------------------------------------------

    def _hello(self) -> ReplicaHello:
        """Return what this site says of itself."""
        agent = self._agent
        assert agent is not None
        leading = agent.leading
        hello = ReplicaHello()
        hello.purpose = PURPOSE_DR
        hello.group = self.site.group
        hello.queue_manager = agent.queue_manager
        hello.instance = agent.name
        hello.log_format = FORMAT_VERSION
        hello.site_role = self.site.role
        log = agent.standby.log
        hello.identity = log.identity()
        hello.file_pages = log.file_pages()
        own, group_lsn = self._pedigree()
        hello.lives = own.lives
        hello.end_lsn = own.end_lsn
        hello.group_lsn = self.site.acknowledged(own, group_lsn)
        hello.term = leading.side.membership.term if leading is not None else 0
        return hello

    def _pedigree(self) -> tuple[Pedigree, int]:
        agent = self._agent
        assert agent is not None
        leading = agent.leading
        if leading is not None:
            with leading.turn:
                side = leading.side
                return Pedigree(list(side.lives), int(side.position())), int(side.group_lsn())
        with agent.following.turn:
            log = agent.standby.log
            return Pedigree(list(log.lives), int(log.position())), int(log.group_lsn())

    def _answer(self, hello: ReplicaHello) -> ReplicaHello:
        """Return the reply to another site's hello, while this instance leads."""
        reply = self._hello()
        reply.is_reply = True
        reply.refused = REFUSED_STATE
        reply.detail = f"{self.site.group} is the live site."
        if hello.identity == reply.identity and hello.purpose == PURPOSE_DR:
            refused, detail = self._hear(hello, *self._pedigree())
            reply.refused, reply.detail = refused or REFUSED_STATE, detail or reply.detail
        return reply

    def _hear(self, hello: ReplicaHello, own: Pedigree, group_lsn: int) -> tuple[int, str]:
        agent = self._agent
        assert agent is not None
        leading = agent.leading
        with leading.turn if leading is not None else agent.following.turn:
            return self.site.hear(hello, own, group_lsn)

    def ask(self) -> bool:
        """Ask the other site what it does. Return True when it answered."""
        hello = self._hello()
        # As of before the question: the log may flow meanwhile, and then this copy is ahead of an older answer.
        own, group_lsn = self._pedigree()
        found = ask_site(self.other.addresses, self._tls, hello)
        if found is None or found.identity != hello.identity:
            return False
        self._hear(found, own, group_lsn)
        self._is_leader_heard = found.term > 0
        self.answered_at = monotonic()
        return True

    def _is_linked(self) -> bool:
        """Return True when the log flows between the sites."""
        agent = self._agent
        assert agent is not None
        if agent.leading is not None:
            with agent.leading.turn:
                found = agent.leading.side.recovery()
                return found is not None and found.state == STREAMING
        side = agent.following.side
        return side.link != NO_LINK and side.purpose == PURPOSE_DR

    def _watch(self) -> None:
        while not self._stopping.is_set():
            agent = self._agent
            assert agent is not None
            # An instance that leads connects by itself, with its log.
            if agent.leading is None and not self._is_linked():
                self.ask()
                if not self.is_first_asked:
                    self.is_first_asked = True
                    agent.wake()
            if self.site.group_role is GroupRole.PENDING_LIVE:
                self._begin_to_work()
            self._asks_now.wait(_ASK_SECONDS if self.is_first_asked else _ASK_SOON_SECONDS)
            self._asks_now.clear()

    # -- displays ------------------------------------------------------------------------------------------------------

    def dr_status(self) -> HaStatus:
        """Return the status of disaster recovery, in the words of the appliance."""
        site, agent = self.site, self._agent
        assert agent is not None
        if site.is_partitioned():
            return HaStatus.PARTITIONED
        if self._is_linked():
            return HaStatus.NORMAL if self._is_caught_up() else HaStatus.SYNCHRONIZING
        if self._sends_base():
            return HaStatus.SYNCHRONIZING
        if not self.is_other_there():
            return HaStatus.REMOTE_SITE_UNAVAILABLE
        if receives(site.role) and receives(site.other_role):
            return HaStatus.INACTIVE
        if agent.leading is None and not site.is_receiver and agent.following.is_linked():
            # It gets the log from another instance here, which takes it from the other site.
            return HaStatus.NORMAL if self._is_caught_up() else HaStatus.SYNCHRONIZING
        return HaStatus.REMOTE_SITE_UNAVAILABLE

    def _sends_base(self) -> bool:
        """Return True when this instance leads, and sends a base to the other site."""
        agent = self._agent
        assert agent is not None
        if agent.leading is None:
            return False
        with agent.leading.turn:
            found = agent.leading.side.recovery()
            return found is not None and found.state == REBASING

    def _is_caught_up(self) -> bool:
        """Return True when the copy that receives has what was acknowledged, or nearly so."""
        agent = self._agent
        assert agent is not None
        leading = agent.leading
        if leading is not None:
            with leading.turn:
                found = leading.side.recovery()
                assert found is not None
                is_here = found.epoch == leading.side.lives[-1].epoch
                return is_here and leading.side.recovery_backlog_bytes() <= LIVE_BYTES_MAX
        side = agent.following.side
        return side.leader_position - agent.standby.log.position() <= LIVE_BYTES_MAX

    def other_status(self) -> RecoveryGroupStatus:
        """Return the other site's group as it is known here."""
        site, agent = self.site, self._agent
        assert agent is not None
        leading = agent.leading
        is_linked = self._is_linked()
        backlog, recovered, percent = UNKNOWN_BACKLOG, 0, 0
        state = ReplicaState.NORMAL if is_linked else ReplicaState.DISCONNECTED
        is_in_sync = False
        if leading is not None:
            with leading.turn:
                found = leading.side.recovery()
                if found is not None and found.state in (STREAMING, OFFLINE):
                    backlog = leading.side.recovery_backlog_bytes()
                    recovered = int(found.forced)
                is_in_sync = leading.side.is_recovery_in_sync()
                if found is not None and found.state == NEEDS_BASE:
                    state = ReplicaState.SYNC_FAILED
                if found is not None and found.state == REBASING:
                    state, percent = ReplicaState.REBASING, int(found.base_percent)
        if is_linked and not self._is_caught_up():
            state = ReplicaState.SYNCHRONIZING
        if site.is_partitioned():
            state = ReplicaState.PARTITIONED
        now_ms = int(time.time() * 1000)
        return RecoveryGroupStatus(
            self.other.name,
            WORDS.get(int(site.other_role), GroupRole.UNKNOWN),
            ",".join(str(each) for each in self.other.addresses),
            "",
            state,
            GroupConnection.YES if is_linked else GroupConnection.NO,
            is_in_sync,
            backlog,
            recovered,
            altered_ms=now_ms if is_linked or self.is_other_there() else 0,
            is_synchronous=self.other.type is ReplicationType.SYNCHRONOUS,
            base_percent=percent,
        )

    def refusal(self) -> str:
        """Return the text for applications at a site that does not work; empty: it does."""
        site, agent = self.site, self._agent
        assert agent is not None
        name = agent.queue_manager
        if site.group_role is not GroupRole.LIVE:
            return (
                f"{site.group} is the recovery site of queue manager {name} ({site.group_role}). The other site is "
                f"{self.other.name}, {', '.join(str(each) for each in self.other.addresses)}."
            )
        held = site.reason_to_hold()
        return f"Queue manager {name} does not work at {site.group}: {held}." if held else ""

    # -- changes of role -----------------------------------------------------------------------------------------------

    def change_role(self, request: ChangeRole) -> str:
        """Carry out makedrprimary or makedrsecondary. Raises MQError, with nothing changed."""
        try:
            if request.role is GroupRole.LIVE:
                return self._make_primary(request.forces)
            return self._make_secondary()
        except ConfigurationError as error:
            raise MQError(mq.MQRC_RESOURCE_PROBLEM, f"The role cannot be noted: {error}") from None
        except ArbiterUnavailable as error:
            raise MQError(
                mq.MQRC_RESOURCE_PROBLEM, f"The arbiter does not answer: {error}. Look at the role, then repeat it."
            ) from None

    def _set_role(self, role: GroupRole, forces: bool = False) -> None:
        """Change the role at the arbiter, then here. Raises ArbiterUnavailable, ConfigurationError and MQError."""
        agent = self._agent
        assert agent is not None
        with agent.turn:
            site = self.site
            before = str(site.group_role)
            view = agent.arbiter.read()
            if view.role != str(role) and not agent.arbiter.set_role(view.role, str(role)):
                raise MQError(mq.MQRC_RESOURCE_PROBLEM, f"The role of {site.group} is not {before} any more.")
            site.set_state(replace(site.state, role=role, forces=forces))
            if agent.leading is None and role is GroupRole.LIVE:
                with agent.following.turn:
                    agent.following.side.leave()
        agent.wake()

    def _changed(self, role: GroupRole) -> str:
        agent = self._agent
        assert agent is not None
        return replication_message("AMQ3278I", group=self.site.group, name=agent.queue_manager, role=role)

    def _refuse(self, why: str) -> MQError:
        return MQError(mq.MQRC_STANDBY_Q_MGR, why)

    def _make_secondary(self) -> str:
        site, agent = self.site, self._agent
        assert agent is not None
        role = site.group_role
        if role is GroupRole.PENDING_RECOVERY:
            raise self._refuse(f"{site.group} sends the rest of its log to {self.other.name} already.")
        if site.is_partitioned():
            return self._give_up()
        if role in (GroupRole.RECOVERY, GroupRole.PENDING_LIVE):
            raise self._refuse(f"{site.group} is the secondary already. makedrprimary makes it the primary.")
        leading = agent.leading
        if leading is None:
            active = agent.view.leader.instance if agent.view is not None and agent.view.leader is not None else "none"
            raise self._refuse(f"This instance does not work ({active} does): run makedrsecondary at the active one.")
        if not self._is_linked():
            raise self._refuse(
                f"There is no link to {self.other.name}: the rest of the log cannot be sent. Repeat it when there is "
                f"one. If this site has to be given up, run endmqm here, and makedrprimary at {self.other.name}."
            )
        self._set_role(GroupRole.PENDING_RECOVERY)
        self.is_handing_over = True
        return self._changed(GroupRole.PENDING_RECOVERY)

    def _give_up(self) -> str:
        """Resolve a partition: this side's data are set aside, as far as the other one does not have them.

        The arbiter tells the other instances of this group. Nobody can lead with the old data from then on.
        """
        site, agent = self.site, self._agent
        assert agent is not None
        leader = agent.view.leader.instance if agent.view is not None and agent.view.leader is not None else ""
        if leader and leader != agent.name:
            raise self._refuse(f"{leader} leads {site.group}: run makedrsecondary there.")
        own, _ = self._pedigree()
        fork_lsn = int(site.fork_lsn)
        self.set_receiver(False)  # nothing more comes to what is set aside
        with agent.turn:
            view = agent.arbiter.read()
            decided = decode_given_up(view.given_up).and_also(fork_lsn, own)
            if not agent.arbiter.abandon(view.role, str(GroupRole.RECOVERY), decided.encode()):
                raise self._refuse(f"The role of {site.group} has changed just now. Look at it, then repeat this.")
            state = replace(site.state.without_partition(), role=GroupRole.RECOVERY, given_up=decided.number)
            site.set_state(replace(state, set_aside_lsn=fork_lsn if own.end_lsn > fork_lsn else -1))
        self._begin_anew(f"{site.group} was given up in favour of {self.other.name}")
        return self._changed(GroupRole.RECOVERY)

    def _begin_anew(self, why: str) -> None:
        agent = self._agent
        assert agent is not None
        self.is_beginning_anew = True  # nothing more is decided here

        def begin() -> None:
            self.begins_anew = why
            if agent.leading is not None:
                agent.give_up(why)
            agent.tell_change()

        # Who asked for it gets an answer first.
        threading.Timer(_ANSWERED_SECONDS, begin).start()

    def _make_primary(self, forces: bool) -> str:
        site = self.site
        role = site.group_role
        if role is GroupRole.LIVE and not site.is_held:
            raise self._refuse(f"{site.group} is the primary already. makedrsecondary makes it the secondary.")
        if role is GroupRole.LIVE:
            if not forces:
                raise self._refuse(f"{site.group} does not work: {site.reason_to_hold()}.")
            site.set_state(replace(site.state, is_held=False))
            return self._changed(GroupRole.LIVE)
        if role is GroupRole.PENDING_RECOVERY:
            self.is_handing_over = False
            self._set_role(GroupRole.LIVE)
            return self._changed(GroupRole.LIVE)
        if not site.is_receiver:
            raise self._refuse(self._who_receives())
        answer = self._wait_to_work(forces)
        if answer.kind != MAY:
            raise self._refuse(f"{site.group} cannot work: {answer.reason}.")
        self._set_role(GroupRole.LIVE)
        return f"{self._changed(GroupRole.LIVE)} Reason: {answer.reason}."

    def _who_receives(self) -> str:
        """Return where makedrprimary has to be run, as a sentence."""
        agent = self._agent
        assert agent is not None
        view = agent.view
        if view is None or view.leader is None:
            return f"No instance of {self.site.group} takes the log now. Repeat this when one does."
        return f"Another instance takes the log for this site: run makedrprimary at {view.leader.instance}."

    def _begin_to_work(self) -> None:
        """Carry out a makedrprimary that was given while this instance did not run."""
        try:
            self._note(self._make_primary(self.site.state.forces))
        except MQError as refused:
            agent = self._agent
            assert agent is not None
            self._set_role(GroupRole.RECOVERY)
            self._note(replication_message("AMQ3279E", name=agent.queue_manager, why=refused.detail or refused))

    def _wait_to_work(self, forces: bool) -> SiteAnswer:
        """Return whether this site may work, once the other one has sent the rest of its log, if it does."""
        site = self.site
        began = monotonic()
        silent_since = 0.0
        while True:
            now = monotonic()
            is_linked = self._is_linked()
            is_there = self.ask() if not forces or not is_linked else True
            own, _ = self._pedigree()
            answer = site.may_work(own, is_there, forces)
            is_sure = is_there and (self._is_leader_heard or is_linked or answer.kind != MUST_NOT)
            if not is_sure and not forces:
                # It may just begin anew, or an instance there that does not lead knows no better yet.
                silent_since = silent_since or now
                if now - silent_since < _SILENCE_SECONDS:
                    time.sleep(_ASK_SOON_SECONDS)
                    continue
            if answer.kind != MUST_WAIT or now - began > _REST_SECONDS:
                return answer
            time.sleep(_POLL_SECONDS)

    # -- the rest of the log -------------------------------------------------------------------------------------------

    def hand_over(self) -> bool:
        """Send the rest of the log of a queue manager that has ended, and note where it ended. True: it is done.

        Called when nothing is appended any more, and no other process can start the queue manager.
        """
        agent = self._agent
        assert agent is not None
        leading = agent.leading
        if leading is None:
            return False
        deadline = monotonic() + _HAND_OVER_SECONDS
        while not agent.deposed and self.site.group_role is GroupRole.PENDING_RECOVERY:
            with leading.turn:
                side = leading.side
                position = int(side.position())
                is_done = side.has_recovery_all() and side.membership.group_lsn() >= position
                epoch = side.lives[-1].epoch
            if is_done:
                self.site.set_state(replace(self.site.state, end_epoch=epoch, end_lsn=position))
                self._set_role(GroupRole.RECOVERY)
                self._note(self._changed(GroupRole.RECOVERY))
                return True
            if monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return False
