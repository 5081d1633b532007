"""An application that puts a message on an empty queue and gets it back, for response times."""

from __future__ import annotations

import os
import time

from ostler import mqi
from ostler.lab.common.embedded import descriptor, get_options, put_options
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.od import MQOD


def connected(queue_manager: str) -> int:
    """Connect to a queue manager, in this process or on this machine."""
    hconn, code, reason = mqi.MQCONN(queue_manager)
    if code == mq.MQCC_FAILED:
        raise MQError(reason, f"MQCONN to {queue_manager} failed.")
    return hconn


def named(queue: str) -> bytearray:
    """Return an object descriptor for a queue."""
    od = MQOD.default()
    MQOD.patch(od, "ObjectName", queue)
    return od


def opened(hconn: int, queue: str, options: int) -> int:
    hobj, code, reason = mqi.MQOPEN(hconn, named(queue), options)
    if code != mq.MQCC_OK:
        raise MQError(reason, f"MQOPEN of {queue} failed.")
    return hobj


class PutAndGet:
    """Reuses its structures, as a program does that cares about time."""

    def __init__(self, hconn: int, queue: str, size: int, persistent: bool) -> None:
        self.body = os.urandom(size)
        self._hconn = hconn
        self._output = opened(hconn, queue, mq.MQOO_OUTPUT)
        self._intake = opened(hconn, queue, mq.MQOO_INPUT_SHARED)
        self._md = bytearray(descriptor(persistent))
        self._pmo = bytearray(put_options())
        self._gmo = bytearray(get_options())

    def sample(self) -> tuple[int, int, int]:
        """Put and get once. Returns when the put began, when it ended and the get began, and when that ended."""
        hconn, output, intake, body = self._hconn, self._output, self._intake, self.body
        md, pmo, gmo, length = self._md, self._pmo, self._gmo, len(self.body)
        began = time.perf_counter_ns()
        code, reason = mqi.MQPUT(hconn, output, md, pmo, body)
        between = time.perf_counter_ns()
        data, _, code_got, reason_got = mqi.MQGET(hconn, intake, md, gmo, length)
        end = time.perf_counter_ns()
        if code != mq.MQCC_OK or code_got != mq.MQCC_OK:
            raise MQError(reason or reason_got)
        if data != body:
            raise AssertionError("the message that was got is not the one that was put")
        return began, between, end
