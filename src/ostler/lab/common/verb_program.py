"""A single-threaded program that calls the verbs of a queue manager and times each call.

The queue manager may be in its process, or in another one on this machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

from ostler import mqi
from ostler.lab.common.embedded import NAME, QUEUE, descriptor, get_options, put_options
from ostler.lab.common.put_and_get import named
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQBO, MQSTS
from ostler.model.structures.consuming import MQCBD

P = ParamSpec("P")
R = TypeVar("R", bound=tuple[object, ...])

NON_PERSISTENT: Final = "non-persistent"
PERSISTENT: Final = "persistent"
COMMIT: Final = "MQCMIT of a put"
BACKOUT: Final = "MQBACK of a get"

Note = Callable[[str, int, int], None]
"""Called for each verb with its name, its begin and its end, in nanoseconds."""


class VerbProgram:
    """The program: its structures, its connection, and one queue."""

    def __init__(self, body_bytes: int, note: Note) -> None:
        self.note = note
        self._body = bytes(body_bytes)
        self._hconn = 0
        self._hobj = 0

    def timed(self, name: str, verb: Callable[P, R], *given: P.args, **more: P.kwargs) -> R:
        """Call a verb, note its time, and check that it did not fail."""
        began = time.perf_counter_ns()
        returned = verb(*given, **more)
        self.note(name, began, time.perf_counter_ns())
        code, reason = returned[-2:]
        if code == mq.MQCC_FAILED:
            raise MQError(reason if isinstance(reason, int) else 0, f"{name} failed.")
        return returned

    def connect(self) -> None:
        self._hconn = self.timed("MQCONN", mqi.MQCONN, NAME)[0]

    def disconnect(self) -> None:
        self.timed("MQDISC", mqi.MQDISC, self._hconn)

    def open(self) -> None:
        options = mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED | mq.MQOO_INQUIRE | mq.MQOO_SET
        self._hobj = self.timed("MQOPEN", mqi.MQOPEN, self._hconn, named(QUEUE), options)[0]

    def close(self) -> None:
        self.timed("MQCLOSE", mqi.MQCLOSE, self._hconn, self._hobj, mq.MQCO_NONE)

    def put_and_get(self, kind: str, persistent: bool) -> None:
        hconn, hobj, body = self._hconn, self._hobj, self._body
        md, pmo, gmo = _descriptor(persistent), bytearray(put_options()), bytearray(get_options())
        self.timed(f"MQPUT, {kind}", mqi.MQPUT, hconn, hobj, md, pmo, body)
        self.timed(f"MQGET, {kind}", mqi.MQGET, hconn, hobj, md, gmo, len(body))
        self.timed(f"MQPUT1, {kind}", mqi.MQPUT1, hconn, named(QUEUE), md, pmo, body)
        mqi.MQGET(hconn, hobj, md, gmo, len(body))

    def units_of_work(self) -> None:
        hconn, hobj, body = self._hconn, self._hobj, self._body
        md, pmo = _descriptor(True), bytearray(put_options(syncpoint=True))
        gmo = bytearray(get_options(syncpoint=True))
        self.timed("MQBEGIN", mqi.MQBEGIN, hconn, MQBO.default(mq.MQBO_CURRENT_VERSION))
        self.timed("MQPUT, persistent, in syncpoint", mqi.MQPUT, hconn, hobj, md, pmo, body)
        self.timed(COMMIT, mqi.MQCMIT, hconn)
        self.timed("MQGET, persistent, in syncpoint", mqi.MQGET, hconn, hobj, md, gmo, len(body))
        self.timed(BACKOUT, mqi.MQBACK, hconn)
        mqi.MQGET(hconn, hobj, md, gmo, len(body))
        self.timed("MQCMIT of a get", mqi.MQCMIT, hconn)
        self.timed("MQCMIT of nothing", mqi.MQCMIT, hconn)
        self.timed("MQSTAT", mqi.MQSTAT, hconn, mq.MQSTAT_TYPE_ASYNC_ERROR, MQSTS.default())

    def inquire_and_set(self) -> None:
        hconn, hobj = self._hconn, self._hobj
        self.timed("MQINQ", mqi.MQINQ, hconn, hobj, [mq.MQIA_CURRENT_Q_DEPTH, mq.MQCA_Q_DESC], 1, 64)
        self.timed("MQSET", mqi.MQSET, hconn, hobj, [mq.MQIA_INHIBIT_GET], [0], b"")

    def message_properties(self) -> None:
        hconn, timed = self._hconn, self.timed
        hmsg = timed("MQCRTMH", mqi.MQCRTMH, hconn, None)[0]
        timed("MQSETMP", mqi.MQSETMP, hconn, hmsg, None, "colour", None, mq.MQTYPE_STRING, b"green")
        timed("MQINQMP", mqi.MQINQMP, hconn, hmsg, None, "colour", None, mq.MQTYPE_STRING, 64)
        md = _descriptor(False)
        header = timed("MQMHBUF", mqi.MQMHBUF, hconn, hmsg, None, "%", md, 4096)[0]
        mqi.MQDLTMP(hconn, hmsg, None, "colour")
        timed("MQBUFMH", mqi.MQBUFMH, hconn, hmsg, None, md, bytearray(header + self._body))
        timed("MQDLTMP", mqi.MQDLTMP, hconn, hmsg, None, "colour")
        timed("MQDLTMH", mqi.MQDLTMH, hconn, hmsg, None)

    def callbacks(self) -> None:
        hconn, hobj, timed = self._hconn, self._hobj, self.timed
        md, gmo = _descriptor(False), bytearray(get_options())
        timed("MQCB, register", mqi.MQCB, hconn, mq.MQOP_REGISTER, MQCBD.default(), hobj, md, gmo, _ignore)
        timed("MQCTL, start", mqi.MQCTL, hconn, mq.MQOP_START, None)
        timed("MQCTL, stop", mqi.MQCTL, hconn, mq.MQOP_STOP, None)
        timed("MQCB, deregister", mqi.MQCB, hconn, mq.MQOP_DEREGISTER, None, hobj, None, None)


def _ignore(hconn: int, md: bytearray, gmo: bytearray, data: bytes, context: bytearray) -> None:
    """A callback that is never called: the queue is empty."""


def _descriptor(persistent: bool) -> bytearray:
    return bytearray(descriptor(persistent))
