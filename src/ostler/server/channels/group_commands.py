"""START, STOP, RESET and RESOLVE CHANNEL with CHLDISP(SHARED) and CHLDISP(FIXSHARED).

The coupling facility answers in later turns of the engine, so these commands wait on their own threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.channel.group.group_record import group_sync_queue
from ostler.channel.group.group_sender import LOCK_PREFIX, GroupSenderPosition, StartedBy
from ostler.channel.group.shared_position import LOCK_PREFIX as RECEIVER_LOCK_PREFIX
from ostler.channel.positions import WAITING
from ostler.channel.sync_records import RECEIVING, SENDING, DesiredState, SyncRecord, decode_record
from ostler.command.admin.context import CHANNEL_ACTIVE, CommandRefused
from ostler.engine.shared.membership import reason_of
from ostler.engine.shared.opens import check_open
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, ListAnswer, LocksAnswer
from ostler.model.coupling.programs import ListProgram, LocksProgram, Program
from ostler.model.errors import MQError
from ostler.server.channels.group_channels import LocksListed, holder_in
from ostler.server.channels.service import ChannelService

_SECONDS_MAX: Final = 20.0
_CHECK_SECONDS: Final = 0.02


class RunsElsewhere(Exception):
    """Another member has the channel: the command is for that one."""

    def __init__(self, manager: str) -> None:
        super().__init__(manager)
        self.manager = manager


class GroupChannelCommands:
    """Methods are called on threads of commands."""

    def __init__(self, channels: ChannelService) -> None:
        self._channels = channels
        self._manager = channels.manager

    def _wait(self, is_done: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds, which is looked at under the engine's lock. MQError."""
        machine = self._manager.machine
        deadline = machine.monotonic() + _SECONDS_MAX
        while True:
            with self._manager.turn:
                if is_done():
                    return
            if machine.monotonic() > deadline:
                raise MQError(mq.MQRC_CF_NOT_AVAILABLE, f"The coupling facility does not answer: {what}.")
            machine.sleep(_CHECK_SECONDS)

    def await_start(self, name: str) -> None:
        """Return when the channel has its position here. CommandRefused if it is not to be had."""
        with self._manager.turn:
            instance = self._channels.outbound_instances.get(name)
        if instance is None:
            return
        self._wait(lambda: instance.location is not None, f"channel {name} has no position")
        if instance.location:
            number = CHANNEL_ACTIVE if instance.is_elsewhere else "AMQ9509E"
            raise CommandRefused(number, f"Channel {name} cannot start: {instance.location}.")

    def holder(self, name: str) -> str:
        """Return the queue manager that runs a channel of the group; empty: none does."""
        answer = self._ask(LocksProgram(LOCK_PREFIX), f"it is not known where channel {name} runs")
        return "" if answer is None else holder_in(answer, name)[0]

    def _ask(self, program: Program, what: str) -> Answer | None:
        """Return the answer of the facility, or None in a queue manager that belongs to no group. MQError."""
        answers: list[Answer] = []
        with self._manager.turn as engine:
            sharing = engine.sharing
            if sharing is None:
                return None
            sharing.submit(program, 0, LocksListed(answers.append))
        self._wait(lambda: bool(answers), what)
        return answers[0]

    def _open(self, name: str) -> GroupSenderPosition:
        """Return the position of a channel that runs nowhere. CommandRefused."""
        with self._manager.turn as engine:
            sharing = engine.sharing
            if sharing is None:
                raise CommandRefused("AMQ8101E", "CHLDISP(SHARED) needs a queue-sharing group.")
            position = self._channels.groups.new_position(sharing, name, "SHARED")
            position.open(StartedBy.OPERATOR)
        self._wait(lambda: position.state() != WAITING, f"channel {name} has no position")
        if position.failure:
            self._close(position)
            number = CHANNEL_ACTIVE if position.is_elsewhere else "AMQ9509E"
            raise CommandRefused(number, f"The position of channel {name} cannot be used: {position.failure}.")
        return position

    def _close(self, position: GroupSenderPosition, desired: DesiredState | None = None) -> None:
        with self._manager.turn:
            position.release(desired)
        self._wait(position.is_released, f"channel {position.channel} was not released")

    def set_state(self, name: str, state: DesiredState) -> None:
        """Set the desired state of a channel that runs nowhere."""
        self._close(self._open(name), state)
        with self._manager.turn:
            self._channels.groups.desired[name] = state

    def reset_sender(self, name: str, sequence_number: int) -> None:
        position = self._open(name)
        try:
            with self._manager.turn:
                in_doubt = position.in_doubt()
                if in_doubt:
                    text = f"Channel {name} is in doubt about {len(in_doubt)} batches. START or RESOLVE it first."
                    raise CommandRefused("AMQ8101E", text)
                record = SyncRecord(SENDING, name, "")
                record.sequence = sequence_number - 1
                record.is_reset = True
                position.write(record)
            self._wait(lambda: position.state() != WAITING, f"the position of channel {name} is not written")
            if position.failure:
                raise CommandRefused("AMQ9509E", f"Channel {name} was not reset: {position.failure}.")
        finally:
            self._close(position)

    def reset_receiver(self, name: str, sequence_number: int) -> None:
        """Set the positions of a receiving channel, for all partners that it has received from. CommandRefused."""
        with self._manager.turn as engine:
            if engine.sharing is None:
                raise CommandRefused("AMQ8101E", "CHLDISP(SHARED) needs a queue-sharing group.")
            check_open(engine, group_sync_queue(engine))
        self._check_no_receiver(name)
        for partner in self._partners(name):
            self._reset_partner(name, partner, sequence_number)

    def _check_no_receiver(self, name: str) -> None:
        """CommandRefused if a member receives through the channel, or has to be recovered."""
        locks = self._ask(LocksProgram(f"{RECEIVER_LOCK_PREFIX}{name} "), f"it is not known where channel {name} runs")
        if isinstance(locks, LocksAnswer) and locks.locks:
            holder = locks.locks[0].value.decode("latin-1")
            raise CommandRefused(CHANNEL_ACTIVE, f"Channel {name} is in use at {holder}. Stop it before it is reset.")

    def _partners(self, name: str) -> list[str]:
        """Return the partners with a position of a receiving channel. MQError."""
        with self._manager.turn as engine:
            queue = group_sync_queue(engine)
            program = ListProgram(queue.structure, queue.name)
        program.with_bodies = True
        partners: list[str] = []
        while True:
            listed = self._ask(program, f"the positions of channel {name} are not known")
            if not isinstance(listed, ListAnswer):
                reason = cf.WRONG_STATE if listed is None else listed.status
                raise MQError(reason_of(reason), f"The positions of channel {name} cannot be read.")
            for entry in listed.entries:
                record = decode_record(entry.body)
                if record is not None and record.kind == RECEIVING and record.channel == name:
                    partners.append(record.partner)
            if listed.is_end:
                return partners
            program = ListProgram(program.structure, program.queue, listed.through_key)
            program.with_bodies = True

    def _reset_partner(self, name: str, partner: str, sequence_number: int) -> None:
        with self._manager.turn:
            position = self._channels.inbound.positions.new(name, None)
            position.open(partner)
        try:
            self._wait(lambda: position.state() != WAITING, f"channel {name} has no position for {partner}")
            with self._manager.turn:
                if not position.failure:
                    before = position.find()
                    record = before.successor()
                    record.sequence = sequence_number - 1
                    record.luwid = before.luwid  # the last committed batch stays known
                    position.write(record)
            self._wait(lambda: position.state() != WAITING, f"the position of channel {name} is not written")
            if position.failure:
                raise CommandRefused("AMQ9509E", f"Channel {name} was not reset for {partner}: {position.failure}.")
        finally:
            with self._manager.turn:
                position.close()

    def resolve(self, name: str, action: str, luwid: bytes) -> None:
        position = self._open(name)
        try:
            with self._manager.turn:
                in_doubt = position.in_doubt()
                if not in_doubt:
                    raise CommandRefused("AMQ8101E", f"Channel {name} is not in doubt about any messages.")
                if not position.can_resolve():
                    raise CommandRefused("AMQ9509E", f"Channel {name} cannot be resolved now: the facility is away.")
                if not luwid:
                    position.resolve(len(in_doubt) if action == "COMMIT" else 0)
                elif position.resolve_up_to(luwid) < 0:
                    known = ", ".join(each.luwid.hex().upper() for each in in_doubt)
                    text = f"Channel {name} is not in doubt about batch {luwid.hex().upper()}, but about {known}."
                    raise CommandRefused("AMQ8101E", text)
            self._wait(position.is_resolved, f"the batches of channel {name} are not decided")
            if position.failure:
                raise CommandRefused("AMQ9509E", f"Channel {name} was not resolved: {position.failure}.")
        finally:
            self._close(position)
