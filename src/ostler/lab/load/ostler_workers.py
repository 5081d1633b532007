"""Ostler through its Python API, over TCP, with a connection for each thread."""

from __future__ import annotations

from functools import partial

from ostler.client.api import Connection, connect
from ostler.lab.load.client import LoadFailed, reply_for
from ostler.lab.load.mq_client import reply_queue, request_queue
from ostler.lab.load.plan import Plan, host_and_port
from ostler.lab.load.threaded_driver import ThreadedDriver, Worker

_SERVE_SECONDS = 1.0
_REPLY_SECONDS_MAX = 30.0


class _OstlerWorker(Worker):
    def __init__(self, plan: Plan, number: int) -> None:
        self._plan = plan
        self._number = number

    def open(self) -> None:
        self._connection = self._connected()

    def _connected(self) -> Connection:
        host, port = host_and_port(self._plan)
        return connect("", f"{host}({port})", channel=self._plan.channel, application="ostler-lab")

    def close(self) -> None:
        self._connection.close()


class OstlerRequester(_OstlerWorker):
    """Puts to the request queues in turn, and gets the reply by its correlation id."""

    def open(self) -> None:
        super().open()
        pairs = range(self._plan.pairs)
        self._requests = [self._connection.open(request_queue(pair), "w") for pair in pairs]
        self._replies = [self._connection.open(reply_queue(pair), "r") for pair in pairs]
        self._sequence = 0

    def step(self) -> None:
        self._sequence += 1
        pair = (self._number + self._sequence) % self._plan.pairs
        body = reply_for(self._sequence, self._plan.body_bytes)
        put = self._requests[pair].put(body, persistent=self._plan.persistent, reply_to=reply_queue(pair))
        reply = self._replies[pair].get(wait=_REPLY_SECONDS_MAX, correlation_id=put.message_id)
        if reply is None or reply.body != body:
            raise LoadFailed("a reply did not come, or to another request")


class OstlerResponder(_OstlerWorker):
    """Gets from one request queue and replies; persistent messages in one unit of work."""

    def open(self) -> None:
        super().open()
        pair = self._number % self._plan.pairs
        self._requests = self._connection.open(request_queue(pair), "r")
        self._replies = self._connection.open(reply_queue(pair), "w")

    def step(self) -> None:
        persistent = self._plan.persistent
        request = self._requests.get(wait=_SERVE_SECONDS, syncpoint=persistent)
        if request is None:
            return
        self._replies.put(request.body, persistent=persistent, correlation_id=request.message_id, syncpoint=persistent)
        if persistent:
            self._connection.commit()


def ostler_driver(plan: Plan) -> ThreadedDriver:
    return ThreadedDriver(
        [partial(OstlerRequester, plan, number) for number in plan.requesters],
        [partial(OstlerResponder, plan, number) for number in plan.responders],
    )
