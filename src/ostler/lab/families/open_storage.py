"""The memory that a queue manager keeps for connections with open queues, and for units of work that are not committed.

An application that holds a unit of work puts messages in it, stays, and backs out at the end.
"""

from __future__ import annotations

import os
import time
from typing import Final

from ostler import mqi
from ostler.lab.common.embedded import descriptor, put_options
from ostler.lab.common.put_and_get import opened
from ostler.lab.families.footprint import QUEUE
from ostler.lab.families.held_connections import (
    MEMORY_AT_START,
    MEMORY_PER_CONNECTION,
    HoldSpec,
    HoldTask,
    resident_bytes,
)
from ostler.lab.families.task import RESULT, Task, wait_until
from ostler.lab.families.task_process import Agreement
from ostler.lab.load.client import LoadClient, Pace
from ostler.lab.load.mq.client import MqCarrier, MqClient
from ostler.lab.load.mq.opening import OpeningClient
from ostler.lab.load.progress import ProgressReporter, ReportProgress
from ostler.lab.load.timeline import PhaseRecorder
from ostler.lab.runner.contract import CONNECT, PUT, Metric
from ostler.lab.runner.queue_managers.plan import CHANNEL, NAME
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQCNO

MEMORY_PER_MESSAGE: Final = "memory per uncommitted message, bytes"
UNIT_AGREEMENTS: Final = (Agreement((CONNECT,), "connections"), Agreement((PUT,), "puts"))


class OpeningTask(HoldTask):
    """Makes connections that open this many queues each, and keeps them until the window is over."""

    def __init__(self, plan: HoldSpec, queues: int) -> None:
        super().__init__(plan)
        self._queues = queues

    def _clients(self, count: int) -> list[LoadClient]:
        if not self._queues:
            return super()._clients(count)
        return [self._client() for _ in range(count)]

    def _client(self) -> LoadClient:
        plan = self._plan
        if plan.conversations == 1:
            return OpeningClient(plan.channel, self._queues)
        members: list[MqClient] = [
            OpeningClient(plan.channel, self._queues, 1 + number) for number in range(plan.conversations)
        ]
        return MqCarrier(Pace(), plan.channel, members)


class UnitTask(Task):
    """Connects clients that put this many messages each in a unit of work, and keeps the units until the window is
    over."""

    def __init__(
        self, address: tuple[str, int], server_pid: int, connections: int, messages: int, message_bytes: int
    ) -> None:
        # This process contains the clients only: nothing else reads its environment.
        os.environ["MQSERVER"] = f"{CHANNEL}/TCP/{address[0]}({address[1]})"
        self._server_pid = server_pid
        self._connections = connections
        self._messages = messages
        self._body = os.urandom(message_bytes)
        self._md, self._pmo = bytearray(descriptor(False)), bytearray(put_options(syncpoint=True))
        self._hconns: list[int] = []

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        progress = ProgressReporter(recorder, CONNECT, 0, report)
        at_start = resident_bytes(self._server_pid)
        wait_until(recorder.timeline.begin_ns)
        # The first connection makes the queue manager allocate what it needs only once.
        self._hold(recorder, 1)
        wait_until(recorder.timeline.measured_ns)
        memory = resident_bytes(self._server_pid)
        for number in range(self._connections):
            now = self._hold(recorder, self._messages)
            if now >= progress.next_ns:
                progress.report(now, number)
        grown = resident_bytes(self._server_pid) - memory
        wait_until(recorder.timeline.cool_ns)
        self._leave()
        return [
            Metric(RESULT, MEMORY_AT_START, at_start),
            Metric(RESULT, MEMORY_PER_CONNECTION, grown / self._connections),
            Metric(RESULT, MEMORY_PER_MESSAGE, grown / self._connections / self._messages),
        ]

    def _hold(self, recorder: PhaseRecorder, messages: int) -> int:
        """Connect one more application and put its messages. Returns the time at which it was done."""
        cno = MQCNO.default(mq.MQCNO_VERSION_1)
        options = mq.MQCNO_CLIENT_BINDING | mq.MQCNO_HANDLE_SHARE_NO_BLOCK | mq.MQCNO_NO_CONV_SHARING
        MQCNO.patch(cno, "Options", options)
        began = time.perf_counter_ns()
        hconn, code, reason = mqi.MQCONNX(NAME, cno)
        if code == mq.MQCC_FAILED:
            raise MQError(reason, "MQCONNX failed.")
        recorder.operation(CONNECT).record(began, time.perf_counter_ns())
        self._hconns.append(hconn)
        hobj = opened(hconn, QUEUE, mq.MQOO_OUTPUT)
        now = time.perf_counter_ns()
        for _ in range(messages):
            began = now
            code, reason = mqi.MQPUT(hconn, hobj, self._md, self._pmo, self._body)
            if code != mq.MQCC_OK:
                raise MQError(reason, "MQPUT failed.")
            now = time.perf_counter_ns()
            recorder.operation(PUT).record(began, now)
        return now

    def _leave(self) -> None:
        for hconn in self._hconns:
            mqi.MQBACK(hconn)
            mqi.MQDISC(hconn)
        self._hconns.clear()

    def close(self) -> None:
        self._leave()
