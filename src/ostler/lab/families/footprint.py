"""The memory that a queue manager keeps for client channels that have carried a message and stay connected."""

from __future__ import annotations

import os
import time
from typing import Final

from ostler import mqi
from ostler.lab.common.embedded import descriptor, get_options, put_options
from ostler.lab.common.put_and_get import opened
from ostler.lab.families.held_connections import (
    MEMORY_AT_START,
    MEMORY_PER_CHANNEL,
    MEMORY_PER_CONNECTION,
    resident_bytes,
)
from ostler.lab.families.task import RESULT, Task, wait_until
from ostler.lab.families.task_process import Agreement
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import CONNECT, GET, PUT, Metric
from ostler.lab.runner.queue_managers.plan import CHANNEL, NAME
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQCNO

QUEUE: Final = "LAB.QUEUE"
CHANNELS: Final = "channels"
AGREEMENTS: Final = (Agreement((CONNECT,), "connections"), Agreement((PUT,), "puts"), Agreement((GET,), "gets"))


class FootprintTask(Task):
    """Connects, puts and gets one message, and stays, once for each conversation.

    The client library shares connections as the channel allows. The number of channels is taken from the queue
    manager's open sockets.
    """

    def __init__(
        self, address: tuple[str, int], server_pid: int, channels: int, conversations: int, message_bytes: int
    ) -> None:
        # This process contains the clients only: nothing else reads its environment.
        os.environ["MQSERVER"] = f"{CHANNEL}/TCP/{address[0]}({address[1]})"
        self._server_pid = server_pid
        self._per_channel = max(conversations, 1)
        self._clients = channels * self._per_channel
        self._body = os.urandom(message_bytes)
        self._md = bytearray(descriptor(False))
        self._pmo, self._gmo = bytearray(put_options()), bytearray(get_options())
        self._hconns: list[int] = []

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        progress = ProgressReporter(recorder, CONNECT, 0, report)
        at_start = resident_bytes(self._server_pid)
        wait_until(recorder.timeline.begin_ns)
        # The first channel makes the queue manager allocate what it needs only once.
        for _ in range(self._per_channel):
            self._client(recorder)
        wait_until(recorder.timeline.measured_ns)
        memory, sockets = resident_bytes(self._server_pid), _descriptors(self._server_pid)
        for number in range(self._clients):
            now = self._client(recorder)
            if now >= progress.next_ns:
                progress.report(now, number)
        grown = resident_bytes(self._server_pid) - memory
        channels = _descriptors(self._server_pid) - sockets
        wait_until(recorder.timeline.cool_ns)
        self._leave()
        return [
            Metric(RESULT, MEMORY_AT_START, at_start),
            Metric(RESULT, MEMORY_PER_CONNECTION, grown / self._clients),
            Metric(RESULT, MEMORY_PER_CHANNEL, grown / max(channels, 1)),
            Metric(RESULT, CHANNELS, channels),
        ]

    def _client(self, recorder: PhaseRecorder) -> int:
        """Connect one more application, put and get. Returns the time at which it was done."""
        began = time.perf_counter_ns()
        hconn, code, reason = mqi.MQCONNX(NAME, self._options())
        connected = time.perf_counter_ns()
        if code == mq.MQCC_FAILED:
            raise MQError(reason, "MQCONNX failed.")
        self._hconns.append(hconn)
        hobj = opened(hconn, QUEUE, mq.MQOO_OUTPUT | mq.MQOO_INPUT_SHARED)
        ready = time.perf_counter_ns()
        code, reason = mqi.MQPUT(hconn, hobj, self._md, self._pmo, self._body)
        put = time.perf_counter_ns()
        data, _, code_got, reason_got = mqi.MQGET(hconn, hobj, self._md, self._gmo, len(self._body))
        got = time.perf_counter_ns()
        if code != mq.MQCC_OK or code_got != mq.MQCC_OK:
            raise MQError(reason or reason_got)
        if data != self._body:
            raise AssertionError("the message that was got is not the one that was put")
        recorder.operation(CONNECT).record(began, connected)
        recorder.operation(PUT).record(ready, put)
        recorder.operation(GET).record(put, got)
        return got

    def _options(self) -> bytearray:
        cno = MQCNO.default(mq.MQCNO_VERSION_1)
        sharing = mq.MQCNO_NO_CONV_SHARING if self._per_channel == 1 else 0
        MQCNO.patch(cno, "Options", mq.MQCNO_CLIENT_BINDING | mq.MQCNO_HANDLE_SHARE_NO_BLOCK | sharing)
        return cno

    def _leave(self) -> None:
        for hconn in self._hconns:
            mqi.MQDISC(hconn)
        self._hconns.clear()

    def close(self) -> None:
        self._leave()


def _descriptors(pid: int) -> int:
    """Return the number of files and sockets that a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))
