"""Applications of a queue manager in this process, for measurements: they use the client's raw verbs."""

from __future__ import annotations

from ostler.client.locate.embedded import user_name
from ostler.client.mqi.connect import MQDISC
from ostler.client.mqi.objects import MQOPEN
from ostler.client.mqi.put_get import MQCMIT, bind, bound_connection, completion, get_message, put_message
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.model.structures.gmo import MQGMO
from ostler.model.structures.md import MQMD
from ostler.model.structures.od import MQOD
from ostler.model.structures.pmo import MQPMO
from ostler.server.queue_manager import QueueManager

NAME = "LAB"
QUEUE = "LAB.QUEUE"
DEPTH_MAX = 999_999_999
MESSAGE_BYTES_MAX = 104_857_600
# A unit of work may hold 10,000 messages; a tenth of that costs hardly more for each message.
PUTS_PER_COMMIT = 1000


def define_queue(manager: QueueManager, name: str, **attributes: Value) -> None:
    """Define a local queue with the maximum depth."""
    given: dict[str, Value] = {"MAXDEPTH": DEPTH_MAX, **attributes}
    manager.define(new_definition(ObjectType.QLOCAL, name, given), True)


def descriptor(persistent: bool, correlation_id: bytes = b"") -> bytes:
    """Return a message descriptor for a put."""
    md = MQMD.default(2)
    MQMD.patch(md, "Persistence", 1 if persistent else 0)
    MQMD.patch(md, "CorrelId", correlation_id)
    return bytes(md)


def put_options(syncpoint: bool = False) -> bytes:
    """Return put options with a new message id each time, so that a descriptor can be reused."""
    pmo = MQPMO.default(mq.MQPMO_VERSION_1)
    MQPMO.patch(pmo, "Options", (mq.MQPMO_SYNCPOINT if syncpoint else mq.MQPMO_NO_SYNCPOINT) | mq.MQPMO_NEW_MSG_ID)
    return bytes(pmo)


def get_options(syncpoint: bool = False, match: int = mq.MQMO_NONE) -> bytes:
    """Return get options for a get that does not wait."""
    gmo = MQGMO.default(mq.MQGMO_VERSION_2)
    MQGMO.patch(gmo, "Options", (mq.MQGMO_SYNCPOINT if syncpoint else mq.MQGMO_NO_SYNCPOINT) | mq.MQGMO_NO_WAIT)
    MQGMO.patch(gmo, "MatchOptions", match)
    return bytes(gmo)


class EmbeddedApplication:
    """One connection. Its methods prepare a measurement; the measurement calls the verbs itself."""

    def __init__(self, manager: QueueManager, name: str = "ostler-lab") -> None:
        self.hconn = bind(manager, user_name(), name)
        self.bound = bound_connection(self.hconn)

    def open(self, queue: str, options: int) -> int:
        od = MQOD.default()
        MQOD.patch(od, "ObjectName", queue)
        hobj, code, reason = MQOPEN(self.hconn, od, options)
        _check(code, reason)
        return hobj

    def put(self, hobj: int, body: bytes, md: bytes, pmo: bytes) -> None:
        _, _, code, reason = put_message(self.hconn, hobj, md, pmo, body)
        _check(code, reason)

    def get(self, hobj: int, md: bytes, gmo: bytes) -> bytes | None:
        """Return the data of the next message, or None when there is no more."""
        data, _, _, _, code, reason = get_message(self.hconn, hobj, md, gmo, MESSAGE_BYTES_MAX)
        if reason == mq.MQRC_NO_MSG_AVAILABLE:
            return None
        _check(code, reason)
        return data

    def commit(self) -> None:
        _check(*MQCMIT(self.hconn))

    def load(self, hobj: int, count: int, body: bytes, persistent: bool) -> None:
        """Put many messages: persistent ones in large units of work, so that one force serves a thousand."""
        md = descriptor(persistent)
        pmo = put_options(syncpoint=persistent)
        hconn = self.hconn
        for first in range(0, count, PUTS_PER_COMMIT):
            for _ in range(min(PUTS_PER_COMMIT, count - first)):
                _, _, code, reason = put_message(hconn, hobj, md, pmo, body)
                if code != mq.MQCC_OK:
                    raise MQError(reason)
            if persistent:
                self.commit()

    def drain(self, hobj: int) -> int:
        """Get all messages in large units of work, and return their number."""
        md = descriptor(False)
        gmo = get_options(syncpoint=True)
        count = 0
        while self.get(hobj, md, gmo) is not None:
            count += 1
            if count % PUTS_PER_COMMIT == 0:
                self.commit()
        self.commit()
        return count

    def close(self) -> None:
        MQDISC(self.hconn)


def _check(code: int, reason: int) -> None:
    if code != mq.MQCC_OK or completion(reason) != mq.MQCC_OK:
        raise MQError(reason)
