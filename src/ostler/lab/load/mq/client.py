"""A lean client of Ostler: the common parts of requesters, responders, producers and consumers.

Verb by verb, each call waits for its answer, as MQI programs do. Pipelined, a client sends calls together where it does
not need the answer for the next one. Its puts are not answered where a commit is, or where nothing is promised: a
failed one shows as a missing reply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.lab.load.client import LoadClient, LoadFailed, Pace
from ostler.lab.load.mq.frames import CONNECT_REQUEST, MqReader, failure
from ostler.lab.load.mq.jms import FORMAT, UTF_8
from ostler.model import constants as mq
from ostler.model.structures.md import MQMD
from ostler.wire import connect_frames, frames, object_frames, replies

OUTPUT: Final = mq.MQOO_FAIL_IF_QUIESCING | mq.MQOO_OUTPUT
INPUT: Final = mq.MQOO_FAIL_IF_QUIESCING | mq.MQOO_INPUT_SHARED
_APPLICATION: Final = "ostler-lab"
_HELLO_REPLY: Final = frames.HELLO | frames.REPLY
_CONNECT_REPLY: Final = frames.CONNECT | frames.REPLY
_OPEN_REPLY: Final = frames.OPEN | frames.REPLY


def request_queue(pair: int) -> str:
    return f"LAB.REQUEST.{pair}"


def reply_queue(pair: int) -> str:
    return f"LAB.REPLY.{pair}"


def routed_queue(pair: int, route: int) -> str:
    """Return the request queue of another queue manager, by the channel that leads there."""
    return f"LAB.REQUEST.{pair}.{route}"


def way_back(route: int) -> str:
    """Return the alias of the requesters' queue manager at the responders', by the channel that leads there."""
    return f"LAB.BACK.{route}"


def own_reply_queue(number: int) -> str:
    return f"LAB.REPLY.OWN.{number}"


@dataclass(frozen=True)
class MqTerms:
    """The MQ settings of all clients of a load. `LoadSpec` describes each."""

    pairs: int
    body_bytes: int
    persistent: bool
    channel: str = ""
    pipelined: bool = False
    requester_units: bool = False
    responder_units: bool = False
    goes_round: bool = True
    own_replies: bool = False
    is_jms: bool = False
    async_put: bool = False
    read_ahead: bool = False
    session_round_trips: int = 0
    subscribers: int = 0
    """The number of subscribers of each topic."""
    managers: int = 1
    """The number of queue managers that share the clients: a client belongs to its number modulo this one."""
    consumer_unit: int = 1
    """Messages in a consumer's unit of work."""
    producer_unit: int = 1
    """Messages in a producer's unit of work."""
    requester_ccsid: int = 0
    responder_ccsid: int = 0
    routes: int = 0
    """Channels in each direction to the responders' queue manager; 0: there is only one queue manager."""

    def pair(self, number: int) -> int:
        """Return the pair of queues of a client that has only one, and the first of a client that uses all in turn."""
        return number // self.managers % self.pairs

    def route(self, number: int, pair: int) -> int:
        """Return the channel by which a client reaches the request queue of a pair."""
        return (number + pair if self.goes_round else number) % self.routes

    def request_queue(self, number: int, pair: int) -> str:
        """Return the name that a requester or a producer opens."""
        return routed_queue(pair, self.route(number, pair)) if self.routes else request_queue(pair)


class MqClient(LoadClient):
    """One conversation: on a connection of its own, or on that of its carrier."""

    def __init__(self, pace: Pace, is_requester: bool, number: int, terms: MqTerms, conversation: int = 1) -> None:
        super().__init__(pace, is_requester)
        self.number = number
        self.terms = terms
        self.conversation = conversation
        self.handles: list[int] = []
        self._reader = MqReader()
        self._opened = 0

    # -- what each kind of client says for itself ----------------------------------------------------------------------

    def opens(self) -> list[tuple[str, int]]:
        """Return the queues it uses, with MQOPEN options."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Make frames. `handles` are complete, in the order of the queues."""
        raise NotImplementedError

    def first(self, now_ns: int) -> bytes:
        """Return the bytes to send as soon as the queues are open."""
        return b""

    def work(self, reader: MqReader, now_ns: int) -> bytes:
        """Return the bytes to send in response to a successful answer."""
        raise NotImplementedError

    # -- the conversation ----------------------------------------------------------------------------------------------

    def opening(self) -> bytes:
        return hello_frame(self.terms.channel, 1)

    def receive(self, data: bytes, now_ns: int) -> bytes:
        reader = self._reader
        reader.feed(data)
        answers: list[bytes] = []
        while reader.next():
            if reader.conversation == self.conversation:
                answers.append(self.handle(reader, now_ns))
            else:
                answers.append(link_answer(reader) or self.connect())
        return answers[0] if len(answers) == 1 else b"".join(answers)

    def connect(self) -> bytes:
        """MQCONN: the link is negotiated."""
        connect = connect_frames.ConnectArguments()
        connect.application = _APPLICATION
        return frames.frame(frames.CONNECT, self.conversation, CONNECT_REQUEST, connect.encode())

    def handle(self, reader: MqReader, now_ns: int) -> bytes:
        """Handle a frame of this conversation."""
        if reader.size == 0 or reader.buffer[reader.start] != mq.MQCC_OK:
            raise failure(reader.type, reader.buffer, reader.start, reader.end)
        return self.work(reader, now_ns) if self.is_ready else self._set_up(reader, now_ns)

    def closing(self) -> bytes:
        """MQDISC without an answer, so that the queue manager sees an orderly end."""
        return frames.frame(frames.DISCONNECT, self.conversation, 0, bytes(4)) if self.is_ready else b""

    def _set_up(self, reader: MqReader, now_ns: int) -> bytes:
        queues = self.opens()
        if reader.type == _CONNECT_REPLY:
            self.handles = [0] * len(queues)
            self._opened = 0
            if self.is_session and not self.terms.pipelined:
                return self._open(0, queues[0])
            return b"".join([self._open(at, queue) for at, queue in enumerate(queues)])
        if reader.type != _OPEN_REPLY:
            raise failure(reader.type, reader.buffer, reader.start, reader.end)
        replied = replies.decode_reply(reader.buffer, reader.start, reader.end)
        self.handles[reader.request - 1] = object_frames.decode_open_reply(replied.reader).hobj
        self._opened += 1
        if self._opened < len(queues):
            in_turn = self.is_session and not self.terms.pipelined
            return self._open(self._opened, queues[self._opened]) if in_turn else b""
        self.prepare()
        self.is_ready = True
        return self.first(now_ns)

    def _open(self, at: int, queue: tuple[str, int]) -> bytes:
        name, options = queue
        return frames.frame(frames.OPEN, self.conversation, at + 1, self.open_target(name, options).encode())

    def open_target(self, name: str, options: int) -> object_frames.OpenArguments:
        """Return the object of MQOPEN."""
        return object_frames.OpenArguments(mq.MQOT_Q, name, options)

    def start_anew(self) -> None:
        """Forget the previous connection."""
        self._reader = MqReader()
        self.is_ready = False
        self.is_over = False


class MqCarrier(LoadClient):
    """A connection that several clients share, with a conversation for each of them."""

    def __init__(self, pace: Pace, channel: str, members: list[MqClient]) -> None:
        super().__init__(pace, False)
        self.members.extend(members)
        self._channel = channel
        self._reader = MqReader()
        self._by_conversation = {member.conversation: member for member in members}

    def opening(self) -> bytes:
        return hello_frame(self._channel, len(self.members))

    def receive(self, data: bytes, now_ns: int) -> bytes:
        reader = self._reader
        reader.feed(data)
        answers: list[bytes] = []
        while reader.next():
            member = self._by_conversation.get(reader.conversation)
            if member is not None:
                answers.append(member.handle(reader, now_ns))
                if not self.is_ready:
                    self.is_ready = all(each.is_ready for each in self.members)
            else:
                answers.append(link_answer(reader) or self._agreed())
        return answers[0] if len(answers) == 1 else b"".join(answers)

    def closing(self) -> bytes:
        return b"".join([member.closing() for member in self.members])

    def _agreed(self) -> bytes:
        reader = self._reader
        payload = reader.buffer[reader.start : reader.end]
        shared = connect_frames.decode_hello(payload[replies.REPLY_FIXED_BYTES :]).conversations_max
        if shared < len(self.members):
            raise LoadFailed(f"{len(self.members)} clients were to share a connection, and the channel lets {shared}")
        return b"".join([member.connect() for member in self._by_conversation.values()])


def hello_frame(channel: str, conversations: int) -> bytes:
    """Return the first frame of a link. The queue manager's local socket has no channel."""
    hello = connect_frames.Hello(channel)
    hello.message_bytes_max = frames.MESSAGE_BYTES_MAX
    hello.conversations_max = conversations
    return frames.frame(frames.HELLO, 0, 1, hello.encode())


def link_answer(reader: MqReader) -> bytes:
    """Return the answer to a frame of the link itself; empty when it is the acceptance of the first frame."""
    if reader.type == frames.HEARTBEAT:
        return replies.reply_frame(frames.HEARTBEAT, 0, reader.request, mq.MQCC_OK, 0)
    if reader.type == _HELLO_REPLY and reader.buffer[reader.start] == mq.MQCC_OK:
        return b""
    raise failure(reader.type, reader.buffer, reader.start, reader.end)


def descriptor(terms: MqTerms, reply_to: str, reply_to_manager: str = "", ccsid: int = 0) -> bytes:
    """Return the message descriptor of all messages of a client. With a CCSID their data is text."""
    md = MQMD.default(2)
    MQMD.patch(md, "Persistence", mq.MQPER_PERSISTENT if terms.persistent else mq.MQPER_NOT_PERSISTENT)
    if reply_to:
        MQMD.patch(md, "ReplyToQ", reply_to)
        MQMD.patch(md, "ReplyToQMgr", reply_to_manager)
    if ccsid:
        MQMD.patch(md, "Format", mq.MQFMT_STRING)
        MQMD.patch(md, "CodedCharSetId", ccsid)
    if terms.is_jms:
        MQMD.patch(md, "Format", FORMAT)
        MQMD.patch(md, "CodedCharSetId", UTF_8)
        if reply_to:
            MQMD.patch(md, "MsgType", mq.MQMT_REQUEST)
    return bytes(md)
