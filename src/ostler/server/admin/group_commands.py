"""CMDSCOPE between the members of a queue-sharing group: the thread that runs commands of others, and the sender."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.group_scope import GroupCommands, MemberAnswer
from ostler.command.mqsc.interpreter import run_command
from ostler.command.mqsc.outcome import CommandOutcome
from ostler.command.pcf.dispatch import answer, reply_ccsid
from ostler.engine.shared.membership import Membership
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, MembersAnswer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import MembersProgram
from ostler.model.errors import MQError
from ostler.model.pcf import UTF_8
from ostler.model.structures.md import Md
from ostler.server.admin.group_command_queue import (
    PART_BYTES_MAX,
    USER_BYTES_MAX,
    AnswerHead,
    CommandHead,
    GroupCommandQueue,
    MalformedCommand,
    decode_answer,
    decode_command,
    define_queue,
    encode_body,
    member_id,
)
from ostler.server.queue_manager import QueueManager
from ostler.server.supervised_thread import SupervisedThread

ContextFor = Callable[[str, int], CommandContext]

ANSWER_SECONDS: Final = 5.0
"""A member that says nothing for so long has not answered."""
_RETRY_SECONDS: Final = 0.25
_STOP_SECONDS: Final = 5.0
_MEMBERS_SECONDS: Final = 10.0
_ID_BYTES: Final = 24
# The facility is away, or the structure is: it comes back, and so does the queue.
_AWAY: Final = frozenset(
    (
        mq.MQRC_CF_NOT_AVAILABLE,
        mq.MQRC_CF_STRUC_IN_USE,
        mq.MQRC_CF_STRUC_ERROR,
        mq.MQRC_CF_STRUC_FAILED,
        mq.MQRC_STORAGE_MEDIUM_FULL,
    )
)


class GroupCommandServer:
    """Runs what other members send, each command with the authorities that its user has here."""

    def __init__(self, manager: QueueManager, sharing: Membership, context_for: ContextFor) -> None:
        self._manager = manager
        self.sharing = sharing
        self._context_for = context_for
        self._queue: GroupCommandQueue | None = None
        self._stopping = manager.machine.event()
        self._thread = SupervisedThread(
            "ostler-group-commands",
            "server for commands of other members",
            self._run,
            lambda: self._stopping.is_set() or manager.is_ending(),
            manager.note,
            number="AMQ8506E",
            stopping=self._stopping,
            machine=manager.machine,
        )

    def start(self) -> None:
        define_queue(self._manager)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the current command."""
        self._stopping.set()
        queue = self._queue
        if queue is not None:
            queue.cancel()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._serve()
            except MQError as error:
                if error.reason not in _AWAY:
                    raise
                self._stopping.wait(_RETRY_SECONDS)

    def _serve(self) -> None:
        self._queue = queue = GroupCommandQueue(self._manager)
        try:
            while not self._stopping.is_set():
                request = queue.get(member_id(int(self.sharing.number)), -1)
                if request is not None:
                    self._answer(queue, Md(bytearray(request.md)).user_identifier, request.body)
        finally:
            self._queue = None
            queue.close()

    def _answer(self, queue: GroupCommandQueue, user: str, body: bytes) -> None:
        try:
            head, data = decode_command(body)
            reply_id = bytes.fromhex(head.reply_id)
            if len(reply_id) != _ID_BYTES:
                raise MalformedCommand("the identifier of the answer is wrong")
        except (MalformedCommand, ValueError) as error:
            self._manager.note(f"AMQ8949W: A message for this member cannot be run as a command: {error}.")
            return
        context = self._context_for(user, mq.MQEVO_MSG)
        send = partial(_send, queue, reply_id, self._manager.name)
        try:
            if head.kind == "mqsc":
                _run_mqsc(context, data.decode(), send)
            else:
                _run_pcf(context, data, send)
        except MQError as error:
            if error.reason not in _AWAY:
                raise
            self._manager.note(f"AMQ8949W: A command of queue manager {head.sender} could not be answered: {error}")


Send = Callable[[bytes, int, bool, bool], None]
"""Sends one item of an answer: its bytes, their CCSID, and whether it is the last, and whether all was done."""


def _send(
    queue: GroupCommandQueue, reply_id: bytes, name: str, item: bytes, ccsid: int, is_last: bool, is_done: bool
) -> None:
    chunks = [item[at : at + PART_BYTES_MAX] for at in range(0, len(item), PART_BYTES_MAX)] or [b""]
    for number, chunk in enumerate(chunks, 1):
        is_cut = number < len(chunks)
        head = AnswerHead(name, ccsid, is_cut, is_last and not is_cut, is_done)
        queue.put(reply_id, "", encode_body(head, chunk), ANSWER_SECONDS)


def _run_mqsc(context: CommandContext, text: str, send: Send) -> None:
    running = run_command(context, text)
    lines: list[str] = []
    size = 0
    while True:
        try:
            line = next(running)
        except StopIteration as end:
            send("\n".join(lines).encode(), UTF_8, True, end.value is CommandOutcome.DONE)
            return
        lines.append(line)
        size += len(line)
        if size > PART_BYTES_MAX // 2:
            send("\n".join(lines).encode(), UTF_8, False, False)
            lines, size = [], 0


def _run_pcf(context: CommandContext, message: bytes, send: Send) -> None:
    ccsid = reply_ccsid(context)
    pending: bytes | None = None
    for reply in answer(context, message, UTF_8):
        if pending is not None:
            send(pending, ccsid, False, False)
        pending = reply
    assert pending is not None
    send(pending, ccsid, True, True)


class _Members(Continuation):
    def __init__(self, done: Callable[[], None]) -> None:
        self.answer: Answer | None = None
        self._done = done

    def answered(self, answer: Answer) -> None:
        self.answer = answer
        self._done()


class UserGroupCommands(GroupCommands):
    """The other members, for the commands of one user at this one."""

    def __init__(self, manager: QueueManager, sharing: Membership, user: str) -> None:
        self._manager = manager
        self._sharing = sharing
        self._user = user
        self._numbers: dict[str, int] = {}

    @property
    def group(self) -> str:
        return self._sharing.group

    def active_members(self) -> list[str]:
        done = self._manager.machine.event()
        asked = _Members(done.set)
        with self._manager.turn:
            self._sharing.submit(MembersProgram(), 0, asked)
        found = asked.answer if done.wait(_MEMBERS_SECONDS) else None
        if not isinstance(found, MembersAnswer):
            raise MQError(mq.MQRC_CF_NOT_AVAILABLE, "The coupling facility does not tell which members are active.")
        self._numbers = {
            each.name: int(each.number)
            for each in found.members
            if each.state == cf.MEMBER_ACTIVE_STATE and each.number != self._sharing.number
        }
        return sorted(self._numbers)

    def run_mqsc(self, members: Sequence[str], text: str) -> Iterator[MemberAnswer]:
        return self._run(members, "mqsc", text.encode())

    def run_pcf(self, members: Sequence[str], message: bytes) -> Iterator[MemberAnswer]:
        return self._run(members, "pcf", message)

    def _run(self, members: Sequence[str], kind: str, data: bytes) -> Iterator[MemberAnswer]:
        if not members:
            return
        if len(self._user.encode()) > USER_BYTES_MAX:
            why = f"CMDSCOPE carries names of users of up to {USER_BYTES_MAX} bytes, and {self._user} is longer."
            raise MQError(mq.MQRC_NOT_AUTHORIZED, why)
        if len(data) > PART_BYTES_MAX:
            raise MQError(mq.MQRC_MSG_TOO_BIG_FOR_Q, f"CMDSCOPE carries commands of up to {PART_BYTES_MAX} bytes.")
        queue = GroupCommandQueue(self._manager)
        try:
            reply_ids = {name: secrets.token_bytes(_ID_BYTES) for name in members}
            for name, reply_id in reply_ids.items():
                head = CommandHead(self._manager.name, kind, reply_id.hex())
                queue.put(member_id(self._numbers[name]), self._user, encode_body(head, data), ANSWER_SECONDS)
            for name, reply_id in reply_ids.items():
                yield self._gather(queue, name, reply_id)
        finally:
            queue.close()

    def _gather(self, queue: GroupCommandQueue, name: str, reply_id: bytes) -> MemberAnswer:
        """Return the answer of a member, or why there is none."""
        items: list[bytes] = []
        item = b""
        while True:
            request = queue.get(reply_id, int(ANSWER_SECONDS * 1000))
            if request is None:
                problem = f"Queue manager {name} did not answer within {ANSWER_SECONDS:g} seconds."
                return MemberAnswer(name, problem=problem)
            try:
                head, data = decode_answer(request.body)
            except MalformedCommand as error:
                return MemberAnswer(name, problem=f"Queue manager {name} gave an answer that cannot be read: {error}.")
            item += data
            if not head.is_cut:
                if item:
                    items.append(item)
                item = b""
            if head.is_last:
                return MemberAnswer(name, tuple(items), head.ccsid, head.is_done)
