"""Ostler through its Python API, over TCP, with a connection for each thread."""

from __future__ import annotations

import time
from functools import partial

from ostler.client.api.connection import Connection, connect
from ostler.client.api.message import Message
from ostler.client.api.queue import Queue
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.lab.load.client import LoadFailed, reply_for
from ostler.lab.load.drivers.threaded_driver import LoadWorker, ThreadedDriver
from ostler.lab.load.mq.client import MqTerms, own_reply_queue, reply_queue, request_queue
from ostler.lab.load.mq.factory import mq_terms
from ostler.lab.load.mq.jms import FORMAT, UTF_8, JmsHeader
from ostler.lab.load.one_way import DUE_BYTES
from ostler.lab.load.spec import ONE_WAY, SESSIONS, LoadSpec
from ostler.lab.runner.contract import CONNECT, ROUND_TRIP
from ostler.model import constants as mq

_SERVE_SECONDS = 0.2
_REPLY_SECONDS_MAX = 30.0
_FORMAT = FORMAT.decode().rstrip()


class _OstlerWorker(LoadWorker):
    def __init__(self, spec: LoadSpec, number: int) -> None:
        self._plan = spec
        self._number = number
        self._terms: MqTerms = mq_terms(spec)
        self._headers: dict[str, JmsHeader] = {}

    def open(self) -> None:
        self._connection = self._connected()

    def _connected(self) -> Connection:
        spec = self._plan
        address = spec.address_of(self._number)
        if isinstance(address, str):
            raise LoadFailed("the Python API is driven over TCP only")
        host, port = address
        tls = None
        if spec.tls is not None:
            tls = TlsSettings(spec.tls.cipher_spec, ca_file=spec.tls.authority_file)
        return connect("", f"{host}({port})", channel=spec.channel, tls=tls, application="ostler-lab")

    def _message(self, body: bytes, queue: str, reply_to: str = "", correlation_id: bytes = b"") -> Message:
        """Return a message for a queue; in JMS format with the header that a JMS program would send."""
        message = Message(body, persistent=self._plan.persistent, reply_to=reply_to, correlation_id=correlation_id)
        if self._terms.is_jms:
            header = self._headers.get(queue)
            if header is None:
                header = JmsHeader(queue, reply_to, self._plan.persistent, bool(correlation_id))
                self._headers[queue] = header
            message.body = header.before(body, correlation_id)
            message.format, message.ccsid = _FORMAT, UTF_8
            message.message_type = mq.MQMT_REQUEST if reply_to else mq.MQMT_DATAGRAM
        return message

    def close(self) -> None:
        self._connection.close()


class OstlerRequester(_OstlerWorker):
    """Puts to the request queues in turn, and gets the reply by its correlation id, or from a queue of its own."""

    def __init__(self, spec: LoadSpec, number: int) -> None:
        super().__init__(spec, number)
        self._sequence = 0
        own = self._terms.pair(number)
        self._pairs = list(range(spec.pairs)) if spec.goes_round else [own]
        self._turn = own if spec.goes_round else 0

    def open(self) -> None:
        super().open()
        self._open_queues()

    def _open_queues(self) -> None:
        self._requests = {pair: self._connection.open(request_queue(pair), "w") for pair in self._pairs}
        names = {self._reply_to(pair) for pair in self._pairs}
        self._replies = {name: self._connection.open(name, "s") for name in names}

    def _reply_to(self, pair: int) -> str:
        return own_reply_queue(self._number) if self._plan.own_replies else reply_queue(pair)

    def step(self) -> None:
        in_units = self._terms.requester_units
        self._sequence += 1
        self._turn = (self._turn + 1) % len(self._pairs)
        pair = self._pairs[self._turn]
        reply_to = self._reply_to(pair)
        body = reply_for(self._sequence, self._plan.body_bytes)
        put = self._requests[pair].put(self._message(body, request_queue(pair), reply_to), syncpoint=in_units)
        if in_units:
            self._connection.commit()
        wanted = None if self._plan.own_replies else put.message_id
        reply = self._replies[reply_to].get(wait=_REPLY_SECONDS_MAX, correlation_id=wanted, syncpoint=in_units)
        if reply is None or reply.data != body or reply.correlation_id != put.message_id:
            raise LoadFailed("a reply did not come, or to another request")
        if in_units:
            self._connection.commit()


class OstlerResponder(_OstlerWorker):
    """Gets from one request queue and replies, on the queue of its pair or to the reply-to queue."""

    def open(self) -> None:
        super().open()
        pair = self._terms.pair(self._number)
        self._requests = self._connection.open(request_queue(pair), "s")
        self._reply_name = reply_queue(pair)
        self._replies: Queue | None = None
        if not self._plan.own_replies:
            self._replies = self._connection.open(self._reply_name, "w")

    def step(self) -> None:
        in_units = self._terms.responder_units
        request = self._requests.get(wait=_SERVE_SECONDS, syncpoint=in_units)
        if request is None:
            return
        if self._replies is not None:
            reply = self._message(request.data, self._reply_name, correlation_id=request.message_id)
            self._replies.put(reply, syncpoint=in_units)
        else:
            reply = self._message(request.data, request.reply_to, correlation_id=request.message_id)
            self._connection.put(request.reply_to, reply, syncpoint=in_units)
        if in_units:
            self._connection.commit()


class OstlerSession(OstlerRequester):
    """Connects, opens the queues, makes a few round trips and disconnects, at each step."""

    def open(self) -> None:
        """Do nothing: there is no connection between sessions."""

    def step(self) -> None:
        self._connection = self._connected()
        self._open_queues()
        began_ns = time.perf_counter_ns()
        self.tally.count(CONNECT, self.due_ns, began_ns)
        for _ in range(self._plan.session_round_trips):
            super().step()
            now_ns = time.perf_counter_ns()
            self.tally.count(ROUND_TRIP, began_ns, now_ns)
            began_ns = now_ns
        for queue in (*self._requests.values(), *self._replies.values()):
            queue.close()
        self._connection.close()

    def close(self) -> None:
        """Do nothing: the last session has closed its connection."""


class OstlerProducer(_OstlerWorker):
    """Puts one-way messages, in units of work of one message where the load has those."""

    def open(self) -> None:
        super().open()
        self._queue_name = request_queue(self._terms.pair(self._number))
        self._queue = self._connection.open(self._queue_name, "w")
        self._rest = bytes(self._plan.body_bytes - DUE_BYTES)

    def step(self) -> None:
        in_units = self._terms.requester_units
        body = self.due_ns.to_bytes(DUE_BYTES, "big") + self._rest
        self.tally.put()
        self._queue.put(self._message(body, self._queue_name), syncpoint=in_units)
        if in_units:
            self._connection.commit()


class OstlerConsumer(_OstlerWorker):
    """Gets them. Messages due before it opened are left over from a failed load, and do not count."""

    def open(self) -> None:
        super().open()
        self._queue = self._connection.open(request_queue(self._terms.pair(self._number)), "s")
        self._opened_ns = time.perf_counter_ns()

    def step(self) -> None:
        in_units = self._terms.responder_units
        message = self._queue.get(wait=_SERVE_SECONDS, syncpoint=in_units)
        if message is None:
            return
        if in_units:
            self._connection.commit()
        body = message.data
        due_ns = int.from_bytes(body[:DUE_BYTES], "big")
        if len(body) != self._plan.body_bytes:
            raise LoadFailed(f"a message of {len(body)} bytes arrived, and {self._plan.body_bytes} were due")
        if due_ns >= self._opened_ns:
            self.tally.got(due_ns, time.perf_counter_ns())


def ostler_driver(spec: LoadSpec) -> ThreadedDriver:
    if spec.async_put or spec.read_ahead:
        raise LoadFailed("the Python API has neither asynchronous put nor read-ahead")
    requester: type[_OstlerWorker] = OstlerRequester
    responder: type[_OstlerWorker] = OstlerResponder
    if spec.kind == ONE_WAY:
        if spec.body_bytes < DUE_BYTES:
            raise LoadFailed(f"a body of {spec.body_bytes} bytes has no room for the time at which it was due")
        requester, responder = OstlerProducer, OstlerConsumer
    elif spec.kind == SESSIONS:
        requester = OstlerSession
    return ThreadedDriver(
        [partial(requester, spec, number) for number in spec.requesters],
        [partial(responder, spec, number) for number in spec.responders],
    )
