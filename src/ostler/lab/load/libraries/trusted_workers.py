"""Applications inside the process of the queue manager: raw MQI verbs, a thread for each application.

They run as `ostler run-trusted` runs any application, and get their orders as every driver does.
"""

from __future__ import annotations

import contextlib
import socket
import time
from abc import abstractmethod
from functools import partial
from multiprocessing.connection import Connection
from typing import Final

from ostler.client.mqi.connect import MQCONNX, MQDISC
from ostler.client.mqi.objects import MQOPEN
from ostler.client.mqi.put_get import MQBACK, MQCMIT, get_message, put_message
from ostler.lab.load.client import LoadFailed, reply_for
from ostler.lab.load.drivers.driver_process import DriverHost
from ostler.lab.load.drivers.threaded_driver import LoadWorker, ThreadedDriver
from ostler.lab.load.mq.client import way_back
from ostler.lab.load.mq.factory import mq_terms
from ostler.lab.load.spec import BY_PERSISTENCE, EVERYBODY, PLAIN, REQUEST_REPLY, RESPONDERS, SESSIONS, LoadSpec
from ostler.lab.runner.contract import CONNECT, ROUND_TRIP
from ostler.model import constants as mq
from ostler.model.reasons import describe
from ostler.model.structures.connecting import MQCNO
from ostler.model.structures.gmo import MQGMO
from ostler.model.structures.md import MQMD
from ostler.model.structures.od import MQOD
from ostler.model.structures.pmo import MQPMO

SERVE: Final = f"{__name__}:serve"
"""The function that the queue manager calls."""
_APPLICATION: Final = "ostler-lab"
_SERVE_MILLISECONDS: Final = 500
_REPLY_MILLISECONDS_MAX: Final = 30_000
_MESSAGE_ID: Final = MQMD.offset("MsgId")
_CORRELATION_ID: Final = MQMD.offset("CorrelId")
_ID_BYTES: Final = 24
_REPLY_TO: Final = MQMD.offset("ReplyToQ")
_NAME_BYTES: Final = 48
_OUTPUT: Final = mq.MQOO_OUTPUT | mq.MQOO_FAIL_IF_QUIESCING
_INPUT: Final = mq.MQOO_INPUT_SHARED | mq.MQOO_FAIL_IF_QUIESCING


def serve(address: str) -> int:
    """Run in the process of the queue manager: execute orders from an abstract Unix socket, until that is closed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(f"\0{address}")
        pipe = Connection(link.detach())
    host = DriverHost(pipe)
    try:
        with contextlib.suppress(OSError):
            host.serve()
    finally:
        pipe.close()
        host.close()
    return 0


class TrustedWorker(LoadWorker):
    """One connection, and its verbs. A worker that fails disconnects, since no process ends that would do it."""

    def __init__(self, spec: LoadSpec, number: int, in_units: bool) -> None:
        self.spec = spec
        self.number = number
        self.in_units = in_units
        self.hconn = 0
        descriptor = MQMD.default(2)
        MQMD.patch(descriptor, "Persistence", 1 if spec.persistent else 0)
        self.descriptor = bytes(descriptor)
        options = MQPMO.default(mq.MQPMO_VERSION_1)
        unit = mq.MQPMO_SYNCPOINT if in_units else mq.MQPMO_NO_SYNCPOINT
        MQPMO.patch(options, "Options", unit | mq.MQPMO_NEW_MSG_ID)
        self.put_options = bytes(options)

    @abstractmethod
    def start(self) -> None:
        """Connect and open queues."""

    @abstractmethod
    def work(self) -> None:
        """Do the work of one step."""

    def open(self) -> None:
        try:
            self.start()
        except LoadFailed:
            self._leave()
            raise

    def step(self) -> None:
        try:
            self.work()
        except LoadFailed:
            self._leave()
            raise

    def _leave(self) -> None:
        MQBACK(self.hconn)
        MQDISC(self.hconn)

    def connect(self) -> None:
        options = MQCNO.default(mq.MQCNO_VERSION_7)
        MQCNO.patch(options, "Options", mq.MQCNO_FASTPATH_BINDING)
        MQCNO.patch(options, "ApplName", _APPLICATION)
        self.hconn, code, reason = MQCONNX("", options)
        self._check("MQCONNX", code, reason)

    def open_queue(self, name: str, options: int, manager: str = "") -> int:
        descriptor = MQOD.default()
        MQOD.patch(descriptor, "ObjectName", name)
        MQOD.patch(descriptor, "ObjectQMgrName", manager)
        hobj, code, reason = MQOPEN(self.hconn, descriptor, options)
        self._check("MQOPEN", code, reason)
        return hobj

    def put(self, hobj: int, descriptor: bytes, body: bytes) -> bytes:
        """Put a message, and return the descriptor as it was put."""
        stored, _, code, reason = put_message(self.hconn, hobj, descriptor, self.put_options, body)
        self._check("MQPUT", code, reason)
        return stored

    def get(self, hobj: int, descriptor: bytes, options: bytes) -> tuple[bytes, bytes] | None:
        """Return descriptor and data; None when no message came in time."""
        data, found, _, _, code, reason = get_message(self.hconn, hobj, descriptor, options, self.spec.body_bytes)
        if reason == mq.MQRC_NO_MSG_AVAILABLE:
            return None
        self._check("MQGET", code, reason)
        assert found is not None
        return found, data

    def commit(self) -> None:
        if self.in_units:
            code, reason = MQCMIT(self.hconn)
            self._check("MQCMIT", code, reason)

    def close(self) -> None:
        _, code, reason = MQDISC(self.hconn)
        self._check("MQDISC", code, reason)

    def _check(self, verb: str, code: int, reason: int) -> None:
        if code != mq.MQCC_OK:
            raise LoadFailed(f"Ostler answered {verb} with {describe(reason).name} ({reason})")


class TrustedRequester(TrustedWorker):
    """Puts a request, keeps its message id, and gets the reply with that correlation id."""

    def __init__(self, spec: LoadSpec, number: int) -> None:
        super().__init__(spec, number, spec.units == EVERYBODY)
        self._get_options = _get_options(self.in_units, _REPLY_MILLISECONDS_MAX, mq.MQMO_MATCH_CORREL_ID)
        self._pair = number % spec.pairs
        self._sequence = 0
        self._queues: dict[int, tuple[int, bytes, int]] = {}

    def start(self) -> None:
        self.connect()
        self.open_queues()

    def open_queues(self) -> None:
        pairs = range(self.spec.pairs) if self.spec.goes_round else [self._pair]
        own = f"LAB.REPLY.OWN.{self.number}" if self.spec.own_replies else ""
        terms = mq_terms(self.spec)
        for pair in pairs:
            reply_queue = own or f"LAB.REPLY.{pair}"
            descriptor = bytearray(self.descriptor)
            MQMD.patch(descriptor, "ReplyToQ", reply_queue)
            if terms.routes:
                MQMD.patch(descriptor, "ReplyToQMgr", way_back(terms.route(self.number, pair)))
            request = self.open_queue(terms.request_queue(self.number, pair), _OUTPUT)
            self._queues[pair] = (request, bytes(descriptor), self.open_queue(reply_queue, _INPUT))

    def work(self) -> None:
        if self.spec.goes_round:
            self._pair = (self._pair + 1) % self.spec.pairs
        self._sequence += 1
        request, descriptor, reply = self._queues[self._pair]
        body = reply_for(self._sequence, self.spec.body_bytes)
        stored = self.put(request, descriptor, body)
        self.commit()
        wanted = stored[_MESSAGE_ID : _MESSAGE_ID + _ID_BYTES]
        match = descriptor[:_CORRELATION_ID] + wanted + descriptor[_CORRELATION_ID + _ID_BYTES :]
        found = self.get(reply, match, self._get_options)
        if found is None or found[1] != body:
            raise LoadFailed("a reply did not come, or to another request")
        self.commit()


class TrustedSession(TrustedRequester):
    """Connects, opens its queues, makes a number of round trips and disconnects."""

    def start(self) -> None:
        return

    def work(self) -> None:
        self.connect()
        self.open_queues()
        now = time.perf_counter_ns()
        self.tally.count(CONNECT, self.due_ns, now)
        for _ in range(self.spec.session_round_trips):
            began = now
            super().work()
            now = time.perf_counter_ns()
            self.tally.count(ROUND_TRIP, began, now)
        super().close()

    def close(self) -> None:
        return


class TrustedResponder(TrustedWorker):
    """Gets from one request queue, and replies to the queue that the request names."""

    def __init__(self, spec: LoadSpec, number: int) -> None:
        in_units = spec.persistent if spec.units == BY_PERSISTENCE else spec.units in (RESPONDERS, EVERYBODY)
        super().__init__(spec, number, in_units)
        self._get_options = _get_options(in_units, _SERVE_MILLISECONDS, mq.MQMO_NONE)
        self._requests = 0
        self._replies: dict[bytes, int] = {}

    def start(self) -> None:
        self.connect()
        self._requests = self.open_queue(f"LAB.REQUEST.{self.number % self.spec.pairs}", _INPUT)

    def work(self) -> None:
        found = self.get(self._requests, self.descriptor, self._get_options)
        if found is None:
            return
        request, body = found
        # The reply-to queue and its queue manager are adjacent fields.
        name = request[_REPLY_TO : _REPLY_TO + 2 * _NAME_BYTES]
        hobj = self._replies.get(name)
        if hobj is None:
            queue, manager = (each.decode().rstrip(" \0") for each in (name[:_NAME_BYTES], name[_NAME_BYTES:]))
            hobj = self._replies[name] = self.open_queue(queue, _OUTPUT, manager)
        wanted = request[_MESSAGE_ID : _MESSAGE_ID + _ID_BYTES]
        descriptor = self.descriptor
        self.put(hobj, descriptor[:_CORRELATION_ID] + wanted + descriptor[_CORRELATION_ID + _ID_BYTES :], body)
        self.commit()


def _get_options(in_units: bool, wait_milliseconds: int, match: int) -> bytes:
    options = MQGMO.default(mq.MQGMO_VERSION_2)
    unit = mq.MQGMO_SYNCPOINT if in_units else mq.MQGMO_NO_SYNCPOINT
    MQGMO.patch(options, "Options", unit | mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING)
    MQGMO.patch(options, "WaitInterval", wait_milliseconds)
    MQGMO.patch(options, "MatchOptions", match)
    return bytes(options)


def trusted_driver(spec: LoadSpec) -> ThreadedDriver:
    if spec.kind not in (REQUEST_REPLY, SESSIONS) or spec.messages != PLAIN:
        raise LoadFailed(f"applications inside the queue manager do no {spec.kind} with {spec.messages} messages")
    requester = TrustedSession if spec.kind == SESSIONS else TrustedRequester
    return ThreadedDriver(
        [partial(requester, spec, number) for number in spec.requesters],
        [partial(TrustedResponder, spec, number) for number in spec.responders],
    )
