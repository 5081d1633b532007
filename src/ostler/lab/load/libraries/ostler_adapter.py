"""Ostler through its Python API, over TCP, with a connection for each thread."""

from __future__ import annotations

from typing import Any, Final

from ostler.client.api.connection import connect
from ostler.client.api.message import Message
from ostler.client.api.queue import Queue
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
from ostler.lab.load.libraries.adapter import PRODUCER, REQUESTER, RESPONDER, LibraryAdapter
from ostler.lab.load.libraries.patterns import threaded_driver
from ostler.lab.load.mq.client import own_reply_queue, reply_queue, request_queue
from ostler.lab.load.mq.factory import mq_terms
from ostler.lab.load.mq.jms import FORMAT, UTF_8, JmsHeader
from ostler.lab.load.spec import ONE_WAY, REQUEST_REPLY, SESSIONS, LoadSpec
from ostler.model import constants as mq

_SERVE_SECONDS: Final = 0.2
_REPLY_SECONDS_MAX: Final = 30.0
_FORMAT: Final = FORMAT.decode().rstrip()


class OstlerAdapter(LibraryAdapter[None]):
    """Replies are got by correlation id, or from a queue of each requester; in units of work where the load has any."""

    kinds = (REQUEST_REPLY, SESSIONS, ONE_WAY)

    def __init__(self, spec: LoadSpec, number: int, role: str) -> None:
        super().__init__(spec, number, role)
        terms = mq_terms(spec)
        self._is_jms = terms.is_jms
        self._in_units = terms.requester_units if role in (REQUESTER, PRODUCER) else terms.responder_units
        self._own = self.own_queue
        self._replies = reply_queue(self.pair)
        self._headers: dict[str, JmsHeader] = {}
        self._queues: dict[str, Queue] = {}

    def queue(self, purpose: str, number: int) -> str:
        return own_reply_queue(number) if purpose == "reply" else request_queue(number)

    def connect(self) -> None:
        spec = self.spec
        address = spec.address_of(self.number)
        if isinstance(address, str):
            raise LoadFailed("the Python API is driven over TCP only")
        host, port = address
        tls = None
        if spec.tls is not None:
            tls = TlsSettings(spec.tls.cipher_spec, ca_file=spec.tls.authority_file)
        self._connection = connect("", f"{host}({port})", channel=spec.channel, tls=tls, application="ostler-lab")
        self._queues = {name: self._connection.open(name, mode) for name, mode in self._modes().items()}

    def _modes(self) -> dict[str, str]:
        """Return the queues that it keeps open, with their modes."""
        if self.role == REQUESTER:
            pairs = range(self.spec.pairs) if self.spec.goes_round else [self.pair]
            requests = {request_queue(pair): "w" for pair in pairs}
            return requests | {self._reply_queue(pair): "s" for pair in pairs}
        if self.role == RESPONDER and not self.spec.own_replies:
            return {self._own: "s", self._replies: "w"}
        return {self._own: "w" if self.role == PRODUCER else "s"}

    def _reply_queue(self, pair: int) -> str:
        return self._own if self.spec.own_replies else reply_queue(pair)

    def _message(self, body: bytes, queue: str, reply_to: str = "", correlation_id: bytes = b"") -> Message:
        """Return a message for a queue; in JMS format with the header that a JMS program would send."""
        message = Message(body, persistent=self.spec.persistent, reply_to=reply_to, correlation_id=correlation_id)
        if self._is_jms:
            header = self._headers.get(queue)
            if header is None:
                header = JmsHeader(queue, reply_to, self.spec.persistent, bool(correlation_id))
                self._headers[queue] = header
            message.body = header.before(body, correlation_id)
            message.format, message.ccsid = _FORMAT, UTF_8
            message.message_type = mq.MQMT_REQUEST if reply_to else mq.MQMT_DATAGRAM
        return message

    def _commit(self) -> None:
        if self._in_units:
            self._connection.commit()

    def request(self, pair: int, sequence: int, body: bytes) -> None:
        name, reply_to = request_queue(pair), self._reply_queue(pair)
        put = self._queues[name].put(self._message(body, name, reply_to), syncpoint=self._in_units)
        self._commit()
        wanted = None if self.spec.own_replies else put.message_id
        reply = self._queues[reply_to].get(wait=_REPLY_SECONDS_MAX, correlation_id=wanted, syncpoint=self._in_units)
        if reply is None or reply.data != body or reply.correlation_id != put.message_id:
            raise LoadFailed("a reply did not come, or to another request")
        self._commit()

    def reply(self, body: bytes, message: Any) -> None:
        name = message.reply_to if self.spec.own_replies else self._replies
        reply = self._message(body, name, correlation_id=message.message_id)
        if self.spec.own_replies:
            self._connection.put(name, reply, syncpoint=self._in_units)
        else:
            self._queues[name].put(reply, syncpoint=self._in_units)
        self._commit()

    def send(self, body: bytes) -> None:
        self._queues[self._own].put(self._message(body, self._own), syncpoint=self._in_units)
        self._commit()

    def serve(self) -> None:
        message = self._queues[self._own].get(wait=_SERVE_SECONDS, syncpoint=self._in_units)
        if message is None:
            return
        # A one-way message counts as got when its unit of work is committed.
        if self.spec.kind == ONE_WAY:
            self._commit()
        self.received(message.data, message)

    def acknowledge(self, message: Any) -> None:
        """Do nothing: `serve` has committed."""

    def close(self) -> None:
        for queue in self._queues.values():
            queue.close()
        self._connection.close()


def ostler_driver(spec: LoadSpec) -> ThreadedDriver:
    if spec.async_put or spec.read_ahead:
        raise LoadFailed("the Python API has neither asynchronous put nor read-ahead")
    return threaded_driver(OstlerAdapter, spec)
