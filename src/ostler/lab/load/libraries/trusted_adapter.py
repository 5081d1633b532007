"""Applications inside the process of the queue manager: raw MQI verbs, a thread for each application.

They run as `ostler run-trusted` runs any application, and get their orders as every driver does.
"""

from __future__ import annotations

import contextlib
import socket
from multiprocessing.connection import Connection
from typing import Any, Final

from ostler.client.mqi.connect import MQCONNX, MQDISC
from ostler.client.mqi.objects import MQOPEN
from ostler.client.mqi.put_get import MQBACK, MQCMIT, get_message, put_message
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.drivers.driver_process import DriverHost
from ostler.lab.load.drivers.threaded_driver import ThreadedDriver
from ostler.lab.load.libraries.adapter import REQUESTER, LibraryAdapter
from ostler.lab.load.libraries.patterns import threaded_driver
from ostler.lab.load.mq.client import INPUT, OUTPUT, own_reply_queue, reply_manager_alias, reply_queue, request_queue
from ostler.lab.load.mq.factory import mq_terms, requesters_in_units, responders_in_units
from ostler.lab.load.spec import PLAIN, REQUEST_REPLY, SESSIONS, LoadSpec
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


class TrustedAdapter(LibraryAdapter[None]):
    """One connection, and its verbs. A requester keeps the message id of its request, and gets the reply with that
    correlation id; a responder replies to the queue that the request names."""

    kinds = (REQUEST_REPLY, SESSIONS)

    def __init__(self, spec: LoadSpec, number: int, role: str) -> None:
        super().__init__(spec, number, role)
        self._hconn = 0
        self._in_units = requesters_in_units(spec) if role == REQUESTER else responders_in_units(spec)
        descriptor = MQMD.default(2)
        MQMD.patch(descriptor, "Persistence", 1 if spec.persistent else 0)
        self._descriptor = bytes(descriptor)
        options = MQPMO.default(mq.MQPMO_VERSION_1)
        unit = mq.MQPMO_SYNCPOINT if self._in_units else mq.MQPMO_NO_SYNCPOINT
        MQPMO.patch(options, "Options", unit | mq.MQPMO_NEW_MSG_ID)
        self._put_options = bytes(options)
        if role == REQUESTER:
            self._get_options = _get_options(self._in_units, _REPLY_MILLISECONDS_MAX, mq.MQMO_MATCH_CORREL_ID)
        else:
            self._get_options = _get_options(self._in_units, _SERVE_MILLISECONDS, mq.MQMO_NONE)
        # A requester's, by pair: handle of the request queue, descriptor of requests, and handle of the reply queue.
        self._pairs: dict[int, tuple[int, bytes, int]] = {}
        # A responder's: the handle of its request queue, and those of reply queues by name.
        self._requests = 0
        self._replies: dict[bytes, int] = {}

    def queue(self, purpose: str, number: int) -> str:
        return own_reply_queue(number) if purpose == "reply" else request_queue(number)

    def connect(self) -> None:
        options = MQCNO.default(mq.MQCNO_VERSION_7)
        MQCNO.patch(options, "Options", mq.MQCNO_FASTPATH_BINDING)
        MQCNO.patch(options, "ApplName", _APPLICATION)
        self._hconn, code, reason = MQCONNX("", options)
        _check("MQCONNX", code, reason)
        if self.role == REQUESTER:
            self._open_pairs()
        else:
            self._requests = self._open(self.own_queue, INPUT)

    def _open_pairs(self) -> None:
        terms = mq_terms(self.spec)
        for pair in range(self.spec.pairs) if self.spec.goes_round else [self.pair]:
            replies = self.own_queue if self.spec.own_replies else reply_queue(pair)
            descriptor = bytearray(self._descriptor)
            MQMD.patch(descriptor, "ReplyToQ", replies)
            if terms.routes:
                MQMD.patch(descriptor, "ReplyToQMgr", reply_manager_alias(terms.route(self.number, pair)))
            request = self._open(terms.request_queue(self.number, pair), OUTPUT)
            self._pairs[pair] = (request, bytes(descriptor), self._open(replies, INPUT))

    def _open(self, name: str, options: int, manager: str = "") -> int:
        descriptor = MQOD.default()
        MQOD.patch(descriptor, "ObjectName", name)
        MQOD.patch(descriptor, "ObjectQMgrName", manager)
        hobj, code, reason = MQOPEN(self._hconn, descriptor, options)
        _check("MQOPEN", code, reason)
        return hobj

    def _put(self, hobj: int, descriptor: bytes, body: bytes) -> bytes:
        """Put a message, and return the descriptor as it was put."""
        stored, _, code, reason = put_message(self._hconn, hobj, descriptor, self._put_options, body)
        _check("MQPUT", code, reason)
        return stored

    def _get(self, hobj: int, descriptor: bytes) -> tuple[bytes, bytes] | None:
        """Return data and descriptor; None when no message came in time."""
        options, body_bytes = self._get_options, self.spec.body_bytes
        data, found, _, _, code, reason = get_message(self._hconn, hobj, descriptor, options, body_bytes)
        if reason == mq.MQRC_NO_MSG_AVAILABLE:
            return None
        _check("MQGET", code, reason)
        assert found is not None
        return data, found

    def _commit(self) -> None:
        if self._in_units:
            code, reason = MQCMIT(self._hconn)
            _check("MQCMIT", code, reason)

    def request(self, pair: int, sequence: int, body: bytes) -> None:
        request, descriptor, reply = self._pairs[pair]
        stored = self._put(request, descriptor, body)
        self._commit()
        found = self._get(reply, _correlated(descriptor, stored))
        if found is None or found[0] != body:
            raise LoadFailed("a reply did not come, or to another request")
        self._commit()

    def reply(self, body: bytes, message: Any) -> None:
        # The reply-to queue and its queue manager are adjacent fields.
        name = message[_REPLY_TO : _REPLY_TO + 2 * _NAME_BYTES]
        hobj = self._replies.get(name)
        if hobj is None:
            queue, manager = (each.decode().rstrip(" \0") for each in (name[:_NAME_BYTES], name[_NAME_BYTES:]))
            hobj = self._replies[name] = self._open(queue, OUTPUT, manager)
        self._put(hobj, _correlated(self._descriptor, message), body)
        self._commit()

    def serve(self) -> None:
        found = self._get(self._requests, self._descriptor)
        if found is not None:
            self.received(*found)

    def close(self) -> None:
        _, code, reason = MQDISC(self._hconn)
        _check("MQDISC", code, reason)

    def abandon(self) -> None:
        """Back out and disconnect, since no process ends that would do it."""
        MQBACK(self._hconn)
        MQDISC(self._hconn)


def _check(verb: str, code: int, reason: int) -> None:
    if code != mq.MQCC_OK:
        raise LoadFailed(f"Ostler answered {verb} with {describe(reason).name} ({reason})")


def _correlated(descriptor: bytes, to: bytes) -> bytes:
    """Return a descriptor with the message id of another as its correlation id."""
    message_id = to[_MESSAGE_ID : _MESSAGE_ID + _ID_BYTES]
    return descriptor[:_CORRELATION_ID] + message_id + descriptor[_CORRELATION_ID + _ID_BYTES :]


def _get_options(in_units: bool, wait_milliseconds: int, match: int) -> bytes:
    options = MQGMO.default(mq.MQGMO_VERSION_2)
    unit = mq.MQGMO_SYNCPOINT if in_units else mq.MQGMO_NO_SYNCPOINT
    MQGMO.patch(options, "Options", unit | mq.MQGMO_WAIT | mq.MQGMO_FAIL_IF_QUIESCING)
    MQGMO.patch(options, "WaitInterval", wait_milliseconds)
    MQGMO.patch(options, "MatchOptions", match)
    return bytes(options)


def trusted_driver(spec: LoadSpec) -> ThreadedDriver:
    if spec.messages != PLAIN:
        raise LoadFailed(f"applications inside the queue manager have no {spec.messages} messages")
    return threaded_driver(TrustedAdapter, spec)
