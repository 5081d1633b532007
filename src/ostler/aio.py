"""The Python API for tasks of an event loop: the names of `ostler`, with coroutines for methods.

    async with await ostler.aio.connect("QM1", create=True) as qm:
        async with await qm.open("Q1", "rw") as q:
            await q.put("Hello", persistent=True)
            message = await q.get(wait=5)

Verbs on a queue manager of this process run at once, in the loop's thread, without other threads. Only waiting suspends
a task: for a message, or for the disk. Over a socket a verb suspends its task until the reply arrives. A connection
belongs to one loop and has one unit of work; several units of work in flight need several connections.

A task may be cancelled while it waits, and no message is lost by that. A message that was got at that moment goes back
to its position on the queue, with its backout count increased. If the get was part of a transaction with other verbs,
the transaction is backed out and ends with MQRC_BACKED_OUT. A put or a commit that was waiting for the disk takes
effect all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ostler.client.aio.async_connection import AsyncConnection, AsyncTransaction
from ostler.client.aio.async_queue import AsyncBrowser, AsyncQueue
from ostler.client.aio.async_topic import AsyncSubscription, AsyncTopic
from ostler.client.link.loop_dialler import LoopDialler
from ostler.client.locate.connect_parameters import Binding, Reconnect
from ostler.client.locate.connecting import Tls, connect_parameters, open_session
from ostler.client.mqi.put_get import Bound
from ostler.engine import syncpoint
from ostler.server.queue_manager import QueueManager

Connection = AsyncConnection
Queue = AsyncQueue
Browser = AsyncBrowser
Subscription = AsyncSubscription
Topic = AsyncTopic
Transaction = AsyncTransaction

__all__ = ["Browser", "Connection", "Queue", "Subscription", "Topic", "Transaction", "commit_then", "connect"]


async def connect(
    queue_manager: str | QueueManager = "QM1",
    connection_name: str | None = None,
    *,
    channel: str = "",
    user: str | None = None,
    password: str | None = None,
    tls: Tls = None,
    reconnect: bool | Reconnect | None = None,
    application: str | None = None,
    ccdt: str | Path | None = None,
    data: str | Path | None = None,
    create: bool = False,
    binding: Binding = "auto",
) -> AsyncConnection:
    """Connect to a queue manager, as `ostler.connect` does.

    A queue manager that has to be started in this process is started in the loop's thread, which blocks the loop;
    where that matters, start it with `ostler.start` before. Connections of a loop over the network share sockets, as
    many as the channel's SHARECNV allows.
    """
    name = queue_manager.name if isinstance(queue_manager, QueueManager) else queue_manager
    parameters = connect_parameters(
        name, connection_name, binding, channel, user, password, tls, reconnect, application, ccdt, data
    )
    return AsyncConnection(await open_session(LoopDialler(), queue_manager, parameters, create))


def commit_then(bound: Bound, callback: Callable[[], None]) -> int:
    """Commit, and call back when the commit is durable: the raw asynchronous commit, for measurements.

    Returns the reason code. The callback is called only when that is 0: by the thread that forced the log, or at once
    when there is nothing to wait for. It must be short and must not raise.
    """
    with bound.turn as engine:
        bound.connection.check_working()
        outcome = syncpoint.commit(engine, bound.connection)
        waits = outcome.reason == 0 and outcome.after_lsn > bound.writer.log.durable_lsn()
        if waits:
            bound.writer.call_when_durable(outcome.after_lsn, callback)
    if outcome.reason == 0 and not waits:
        callback()
    return outcome.reason
