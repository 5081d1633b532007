"""The agent of an instance in a pair without an arbiter: the same as with one, but `replica/pair.py` decides.

It listens on the replication address while it leads as well: so two leaders hear of each other when the link is back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Final

from ostler.model import constants as mq
from ostler.model.arbiter import ArbiterUnavailable, ArbiterView
from ostler.model.errors import MQError
from ostler.model.replication import GroupStatus, HaStatus, Resolve
from ostler.replica.base_files import BaseFiles
from ostler.replica.pair import LEAD, NO_ARBITER, NORMAL, PARTITIONED, PairDecision
from ostler.replica.pair_side import NO_PARTITION, LogFacts, PairRefused
from ostler.replica.standby import Standby
from ostler.server.config.replication_ini import ReplicationSection
from ostler.server.net.outgoing_sockets import error_text
from ostler.server.replica.agent import InstanceAgent
from ostler.server.replica.agent_control import AgentControl
from ostler.server.replica.following import replication_listener
from ostler.server.replica.group_tls import GroupTls
from ostler.server.replica.leading import Leading
from ostler.server.replica.messages import replication_message
from ostler.server.replica.pair.arbiter import PairArbiter
from ostler.server.replica.pair.notes import read_note
from ostler.server.replica.side.files import SideFiles
from ostler.server.replica.transport import ConnectionLost, ReplicaConnection
from ostler.server.supervised_thread import SupervisedThread
from ostler.server.turn import EngineTurn
from ostler.wire.frames import FAREWELL, MalformedFrame, frame
from ostler.wire.replica_frames import FIRST_REPLICA_FRAME_BYTES_MAX, PairState, decode_replica_frame
from ostler.wire.replies import reason_payload

_STEP_SECONDS: Final = 0.5
_ACCEPT_SECONDS: Final = 0.5
_HELLO_SECONDS: Final = 5.0
_CONNECTIONS_MAX: Final = 8


class PairAgent(InstanceAgent):
    """Runs one instance of a pair."""

    def __init__(
        self,
        queue_manager: str,
        section: ReplicationSection,
        tls: GroupTls | None,
        standby: Standby,
        directory: Path,
        note: Callable[[str], None],
        turn: EngineTurn,
        files: BaseFiles,
        side_files: SideFiles,
    ) -> None:
        """Raises ConfigurationError, ArbiterUnavailable and OSError."""
        partner = next(each for each in section.instances if each.name != section.instance)
        self.pair: Final = PairArbiter(
            queue_manager,
            section.group_name or queue_manager,
            section.instance,
            partner.name,
            partner.address,
            directory,
            read_note(directory, section.instance),
            section.heartbeat_timeout_ms / 1000,
            tls,
            note,
        )
        self._listening: _PairListener | None = None
        self._told = ""
        if self.pair.side.note.is_alone():
            # It was the only copy: what it had forced was acknowledged.
            standby.log.group_is_at(standby.log.position())
        self.pair.prepare(lambda: _facts_of(standby), standby.log.identity())
        super().__init__(queue_manager, section, self.pair, tls, standby, note, turn, files, side_files)
        self._note(replication_message("AMQ3283W", name=queue_manager))
        self.pair.start(self._facts)

    def _facts(self) -> LogFacts:
        leading = self.leading
        promised = int(self.standby.log.mark.promised_term)
        if leading is not None:
            with leading.turn:
                side = leading.side
                lives = list(side.lives)
                return LogFacts(lives, int(side.position()), int(side.group_lsn()), lives[-1].epoch, promised)
        with self.following.turn:
            return _facts_of(self.standby)

    def stop(self, why: str) -> None:
        super().stop(why)
        if self._listening is not None:
            self._listening.close()

    def end_session(self) -> None:
        """There is nobody else who would keep the name of this instance."""

    # -- deciding ------------------------------------------------------------------------------------------------------

    def _decide(self) -> tuple[ArbiterView, PairDecision]:
        view = self.view = self.pair.read()
        decision = self.pair.decision
        assert decision is not None
        if decision.status == PARTITIONED and self._told != PARTITIONED:
            note = self.pair.side.note
            self._note(
                replication_message(
                    "AMQ3271W", name=self.queue_manager, other=self.pair.side.partner, lsn=note.partition_lsn
                )
            )
        elif decision.reason == NO_ARBITER and self._told != NO_ARBITER:
            self._note(f"AMQ3284W: Instance {self.name} goes on without {self.pair.side.partner}: {NO_ARBITER}.")
        self._told = decision.status if decision.status == PARTITIONED else decision.reason
        return view, decision

    def _follow(self) -> tuple[str, float]:
        if self.following.is_link_well(int(self.following.side.term)):
            self.pair.touch()
        if not self.pair.was_noted and self.pair.side.note.in_sync is None and self._was_never_replicated():
            self.pair.found((self.name,), 1)
            return f"{self.name} founds the pair", 0.0
        view, decision = self._decide()
        if self.pair.side.must_set_aside():
            self._want_base(f"makehaprimary has decided for {self.pair.side.partner}")
            return self.base_wanted, _STEP_SECONDS
        if decision.kind != LEAD:
            return decision.reason, self._pause()
        if self.name in view.suspended:
            return f"{self.name} is suspended", self._pause()
        with self.following.turn:
            self.following.side.promise(view.last_term)
        term = self.pair.try_lead(self.name, 0, view.last_term)
        if term is None:
            return "a higher term was heard", 0.0
        self._lease_ends_at = monotonic() + self._timeout_seconds
        self._promote(term, self.pair.read())
        if self.leading is not None:
            self._listening = _PairListener(self.section, self.pair, self._tls, self._note)
        return f"leads in term {term}: {decision.reason}", 0.0

    def _lead(self, leading: Leading) -> tuple[str, float]:
        membership = leading.side.membership
        now = monotonic()
        with leading.turn:
            answering = leading.side.answering(now, self._timeout_seconds)
        if answering:
            self.pair.touch()
        view, decision = self._decide()
        if self._is_news:
            self._is_news = False
            leading.retry(set(view.members))
        if self.pair.side.must_set_aside():
            return self._depose(f"makehaprimary has decided for {self.pair.side.partner}"), _STEP_SECONDS
        if decision.kind != LEAD:
            return self._depose(decision.reason), _STEP_SECONDS
        with leading.turn:
            if view.in_sync is not None:
                membership.set_seen(view.in_sync)
            term = membership.term
            is_refused = int(leading.side.highest_term) > term and membership.asked is None
        if is_refused:
            return self._renew_term(leading, view), 0.0
        changed = self._change_set(leading, membership, answering)
        if changed:
            return changed, 0.0 if membership.asked is None else self._pause()
        way = self._make_way(leading, view)
        if way:
            return way, _STEP_SECONDS
        return decision.reason, self._pause()

    def _renew_term(self, leading: Leading, view: ArbiterView) -> str:
        """Take a higher term: the partner had one of its own, or has promised to hear none so low."""
        assert view.in_sync is not None
        term = self.pair.try_lead(self.name, 0, view.last_term)
        if term is None:
            return "a higher term was heard"
        with leading.turn:
            leading.side.membership.term_renewed(term, view.in_sync)
            leading.side.highest_term = max(leading.side.highest_term, term)
        return f"leads in term {term} now"


def _facts_of(standby: Standby) -> LogFacts:
    log = standby.log
    highest = max(int(log.mark.highest_epoch), log.epoch())
    promised = int(log.mark.promised_term)
    return LogFacts(list(log.lives), int(log.position()), int(log.group_lsn()), highest, promised)


class _PairListener:
    """Answers the partner on the replication address of an instance that leads. Leaders are refused."""

    def __init__(
        self, section: ReplicationSection, pair: PairArbiter, tls: GroupTls | None, note: Callable[[str], None]
    ) -> None:
        self._pair = pair
        self._tls = tls
        self._note = note
        self._open: set[ReplicaConnection] = set()
        self._stopping = threading.Event()
        self._listener = replication_listener(section)
        self._listener.settimeout(_ACCEPT_SECONDS)
        self._thread = SupervisedThread(
            "ostler-pair-in",
            "thread that accepts the partner",
            self._accept,
            self._stopping.is_set,
            note,
            stopping=self._stopping,
        )
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        for connection in list(self._open):
            connection.close("this instance ends")
        self._thread.join(2 * _ACCEPT_SECONDS)
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                accepted, address = self._listener.accept()
            except TimeoutError:
                continue
            except OSError as error:
                if not self._stopping.wait(_ACCEPT_SECONDS):
                    self._note(f"AMQ3208E: A connection cannot be accepted: {error_text(error)}.")
                continue
            if len(self._open) >= _CONNECTIONS_MAX:
                accepted.close()
                continue
            stream = self._tls.stream(True) if self._tls is not None else None
            where = f"{address[0]}({address[1]})"
            connection = ReplicaConnection(accepted, where, stream, FIRST_REPLICA_FRAME_BYTES_MAX)
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), name="ostler-pair-recv", daemon=True).start()

    def _serve(self, connection: ReplicaConnection) -> None:
        try:
            connection.finish_handshake()
            found = connection.receive(_HELLO_SECONDS)
            if found is None:
                return
            first = decode_replica_frame(found.type, found.request, found.buffer, found.start, found.end)
            if isinstance(first, PairState):
                self._pair.answer(connection, first)
                return
            why = self._pair.reason_not_to_follow() or "this instance does not follow now."
            connection.send(frame(FAREWELL, 0, 0, reason_payload(0, why)))
            connection.finish()
        except (ConnectionLost, MalformedFrame, ArbiterUnavailable):
            pass  # the partner tries again, and says why at its side
        finally:
            connection.close("closed")
            self._open.discard(connection)


class PairControl(AgentControl):
    """Commands at an instance of a pair."""

    def __init__(self, agent: PairAgent) -> None:
        super().__init__(agent)
        self._pair_agent = agent

    def status(self) -> GroupStatus:
        status = super().status()
        decision = self._pair_agent.pair.decision
        note = self._pair_agent.pair.side.note
        is_partitioned = note.partition_lsn != NO_PARTITION
        notice = decision.reason if decision is not None and decision.status != NORMAL else ""
        return replace(
            status,
            ha_status=HaStatus.PARTITIONED if is_partitioned else status.ha_status,
            fork_lsn=note.partition_lsn if is_partitioned else -1,
            arbiter="",
            arbiter_notice=notice,
        )

    def resolve(self, request: Resolve) -> str:
        agent = self._pair_agent
        with agent.turn:
            try:
                agent.pair.resolve()
            except PairRefused as refused:
                raise MQError(mq.MQRC_OPTIONS_ERROR, str(refused)) from None
            except ArbiterUnavailable as error:
                raise MQError(mq.MQRC_RESOURCE_PROBLEM, str(error)) from None
        agent.wake()
        return replication_message("AMQ3277I", name=agent.queue_manager, instance=agent.name)
