"""A queue manager as a member of a queue-sharing group: joining, the loss of the link, events of the facility.

    member = GroupMember(engine, port, number, "QSG1")     in a turn, after the restart
    member.begin()                                         the journal has the number of this start; then the port joins

The port calls `on_joined`, `on_event` and `on_link_lost`, the owner `on_tick`, all in turns of the engine.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.journal_records import append_member_joined, append_member_start
from ostler.engine.queue.queue import Queue
from ostler.engine.recovery.backup_records import JoinedRecord
from ostler.engine.shared.browse_locks import forget_locks
from ostler.engine.shared.connection_tags import look_at_tags, lose_tags
from ostler.engine.shared.expiry import SharedExpiry
from ostler.engine.shared.membership import ConnectionBreaker, Membership, Terminator
from ostler.engine.shared.opens import submit_open
from ostler.engine.shared.peers import PeerRecovery
from ostler.engine.shared.puts import OwnSharedMessages
from ostler.engine.shared.restart import UnitSettlement, end_own_recovery, settle_logged
from ostler.engine.shared.structures import connect_structure, disconnect_all, why_loss_terminates
from ostler.engine.shared.triggering import SharedTriggers
from ostler.engine.shared.units import SharedUnit, flush_forgets
from ostler.engine.shared.waiting import WaitingGets
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, JoinAnswer
from ostler.model.coupling.events import Event, MemberChanged, QueueNotEmpty, StructureChanged, Threshold
from ostler.model.coupling.port import Continuation, CouplingPort, EventListener
from ostler.model.coupling.programs import MembersProgram
from ostler.model.errors import InvariantFailed


@final
class GroupMember(EventListener):
    def __init__(self, engine: Engine, port: CouplingPort, number: i64, group: str) -> None:
        """Be a member with a number that no other queue manager of the group ever had."""
        member = engine.member
        if member.number != 0 and member.number != number:
            raise InvariantFailed(f"The journal is that of member {member.number}, and this is member {number}")
        self.engine = engine
        sharing = Membership(port, number, member.start + 1, group)
        self.sharing = sharing
        self.waits = WaitingGets(engine, sharing)
        self.peers = PeerRecovery(engine, sharing)
        self.expiry = SharedExpiry(engine, sharing)
        self.triggers = SharedTriggers(engine, sharing)
        self.breaker: ConnectionBreaker | None = None
        self.terminator: Terminator | None = None
        self.observers: list[EventListener] = []  # of events for other parts: announcements, freed bodies
        sharing.waits = self.waits
        sharing.own_messages = OwnSharedMessages(engine, sharing)
        engine.sharing = sharing
        port.listen(self)

    def begin(self) -> i64:
        """Record the number of this start. The port may join when the journal is durable up to the LSN returned."""
        member = self.engine.member
        member.number = self.sharing.number
        member.start = self.sharing.start
        return append_member_start(self.engine)

    # -- the link ------------------------------------------------------------------------------------------------------

    def on_joined(self, answer: JoinAnswer) -> None:
        engine = self.engine
        sharing = self.sharing
        member = engine.member
        is_same: bool = not member.facility or member.facility == answer.facility
        if not member.facility:
            member.facility = answer.facility
            append_member_start(engine)
        logged: i64 = answer.logged if is_same else sharing.logged_done(member.logged)
        append_member_joined(engine, JoinedRecord(sharing.start, answer.fence, logged, answer.facility))
        sharing.facility = answer.facility
        sharing.is_joined = True
        sharing.is_elsewhere = not is_same
        sharing.refused = set(answer.refused)
        for queue in self._shared_queues():
            connect_structure(engine, sharing, queue.structure)
        if not is_same:
            for definition in list(engine.of_type(ObjectType.CFSTRUCT).values()):
                if definition.attributes.get("RECOVER") == mq.MQCFR_YES:
                    connect_structure(engine, sharing, definition.name)
            # Until the structures are known to have failed, the journal names the facility before.
            sharing.submit(MembersProgram(), 0, ConnectedElsewhere(self, answer.facility))
        settle_logged(engine, sharing, answer, is_same)
        self._resume_held(is_same)
        if not is_same:
            sharing.decided = []
            sharing.forgetting = []
        UnitSettlement(engine, sharing, True).begin()
        self._open_again()
        self.triggers.watch()
        self.peers.look()
        for observer in self.observers:
            observer.on_joined(answer)

    def _shared_queues(self) -> list[Queue]:
        return [queue for queue in self.engine.queues_by_id.values() if queue.is_shared]

    def _resume_held(self, is_same: bool) -> None:
        held = self.sharing.held
        self.sharing.held = []
        for work in held:
            if is_same:
                work.resume()
            else:
                work.on_facility_lost()

    def _open_again(self) -> None:
        """Have the handles counted that were open before the link broke."""
        self.sharing.uncounted = []
        for queue in self._shared_queues():
            for handle in list(queue.handles):
                if handle.shared_options != 0:
                    submit_open(self.engine, self.sharing, queue, handle, True)

    def on_link_lost(self) -> None:
        engine = self.engine
        sharing = self.sharing
        sharing.is_joined = False
        sharing.is_unsettled = True
        terminator = self.terminator
        if terminator is not None:
            why = why_loss_terminates(engine, sharing)
            if why:
                terminator.terminate(why)
        disconnect_all(sharing)
        for connection in lose_tags(engine):
            self._break(connection)
        self.peers.forget_all()
        self.triggers.forget_watches()
        for unit in list(engine.units_of_work.values()):
            part = unit.shared
            if isinstance(part, SharedUnit) and not part.has_nothing():
                part.doom()
        self.waits.fail_all(mq.MQRC_CF_NOT_AVAILABLE)
        for queue in self._shared_queues():
            forget_locks(queue)
        for observer in self.observers:
            observer.on_link_lost()

    def _break(self, connection: Connection) -> None:
        """End a connection whose tag others may use from now on."""
        breaker = self.breaker
        if breaker is not None:
            breaker.break_connection(connection.number)
        else:
            connection.broken = mq.MQRC_CONNECTION_BROKEN

    # -- events --------------------------------------------------------------------------------------------------------

    def on_event(self, event: Event) -> None:
        if isinstance(event, QueueNotEmpty):
            if event.triggers:
                self.triggers.on_not_empty(event)
            else:
                self.waits.on_not_empty(event)
            return
        if isinstance(event, MemberChanged):
            if event.state == cf.MEMBER_FAILED:
                self.peers.begin(event.member)
            if event.member != self.sharing.number:
                self.sharing.manager_names.add(event.name)
        elif isinstance(event, StructureChanged):
            self._on_structure(event)
        elif isinstance(event, Threshold):
            structure = self.sharing.structures.get(event.structure)
            if structure is not None:
                structure.used_bytes = event.used_bytes
                structure.limit_bytes = event.limit_bytes
        for observer in self.observers:
            observer.on_event(event)

    def _on_structure(self, event: StructureChanged) -> None:
        structure = self.sharing.structures.get(event.structure)
        if structure is None:
            return
        if event.state == cf.STRUCTURE_ACTIVE and structure.state != cf.STRUCTURE_INBACKUP:
            self._on_recovered(event.structure)
        structure.state = event.state
        reason: i64 = structure.reason()
        if reason != 0:
            self.waits.fail_structure(event.structure, reason)
            if event.state == cf.STRUCTURE_STATE_FAILED:
                self._doom_units(event.structure)
                self.engine.notice(
                    f"AMQ7492E: The structure {event.structure} of the coupling facility has failed. Its queues cannot "
                    "be used until it is recovered (RECOVER CFSTRUCT)."
                )

    def _doom_units(self, structure: str) -> None:
        """Back out units with operations on a structure that has failed: a recovery would bring them back undone."""
        for unit in list(self.engine.units_of_work.values()):
            part = unit.shared
            if isinstance(part, SharedUnit) and structure in part.structures and not part.has_nothing():
                part.doom()

    def _on_recovered(self, structure: str) -> None:
        """Count handles that outlived the failure of a structure, and settle units that waited for its recovery."""
        uncounted = self.sharing.uncounted
        self.sharing.uncounted = []
        for handle in uncounted:
            queue = handle.queue
            if queue is None or not handle.valid or handle.shared_options == 0:
                continue
            if queue.structure == structure:
                submit_open(self.engine, self.sharing, queue, handle, True)
            else:
                self.sharing.uncounted.append(handle)
        UnitSettlement(self.engine, self.sharing, False).begin()
        self.triggers.forget_watches()
        self.triggers.watch()

    def on_tick(self) -> None:
        """Do what is due, about once a second."""
        if self.sharing.is_joined:
            flush_forgets(self.engine, self.sharing)
            if self.sharing.is_unsettled:
                end_own_recovery(self.engine, self.sharing)
            look_at_tags(self.engine)
            self.waits.on_tick()
            self.expiry.on_tick()
            self.triggers.watch()


@final
class ConnectedElsewhere(Continuation):
    """All structures are connected to another facility than before, in which those with messages have failed."""

    def __init__(self, member: GroupMember, facility: bytes) -> None:
        self.member = member
        self.facility = facility

    def answered(self, answer: Answer) -> None:
        if answer.status == cf.OK and self.member.sharing.facility == self.facility:
            self.member.engine.member.facility = self.facility
            self.member.sharing.is_elsewhere = False
            append_member_start(self.member.engine)
