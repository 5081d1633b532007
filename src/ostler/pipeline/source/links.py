"""Connections and queues for the data source, with errors that name the failed operation in a sentence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

from ostler.client.api.connection import Connection, connect
from ostler.client.api.queue import Queue
from ostler.client.session.runtime import run
from ostler.client.session.session import StoredMessage
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.options import ConnectOptions, StagingOptions

_LOOK_SECONDS: Final = 0.2
_ADVICE: Final = {
    mq.MQRC_MSG_TOO_BIG_FOR_Q: "Raise MAXMSGL of the queue; a staging queue needs 400 bytes more than the messages.",
    mq.MQRC_MSG_TOO_BIG_FOR_Q_MGR: "Raise MAXMSGL of the queue manager; staging needs 400 bytes more than a message.",
    mq.MQRC_SYNCPOINT_LIMIT_REACHED: "Raise MAXUMSGS of the queue manager, or set option unitMessages to half of it; "
    "when publishing to many subscribers, pageMessages to less.",
    mq.MQRC_Q_FULL: "Raise MAXDEPTH of the queue, or read smaller batches.",
}


@contextmanager
def error_context(doing: str) -> Iterator[None]:
    """Turn MQ's reason into a sentence about the operation."""
    try:
        yield
    except MQError as error:
        raise PipelineError(sentence(doing, error)) from error


def sentence(doing: str, error: MQError) -> str:
    advice = _ADVICE.get(error.reason, "")
    return f"{doing} failed. {error}{' ' + advice if advice else ''}"


def connect_with(options: ConnectOptions) -> Connection:
    """Return a connection that is never reconnected: the holder of an exclusive queue must notice that it lost it."""
    where = options.connection_name or options.ccdt or "this machine"
    name = options.queue_manager or "a queue manager"
    binding: Literal["client", "local"] = "local" if options.binding == "local" else "client"
    with error_context(f"Connecting to {name} at {where}"):
        return connect(
            options.queue_manager,
            options.connection_name or None,
            channel=options.channel,
            user=options.user,
            password=options.password,
            tls=options.tls,
            reconnect=False,
            application=options.application,
            ccdt=options.ccdt or None,
            data=options.data or None,
            binding=binding,
        )


def open_queue(connection: Connection, queue: str, mode: str, selector: str = "") -> Queue:
    with error_context(f"Opening queue {queue} of {connection.name}"):
        return connection.open(queue, mode, selector=selector)


def open_staging(connection: Connection, options: StagingOptions, mode: str, wait_seconds: float = 0.0) -> Queue:
    """Open a staging queue, and create it from a model queue when there is none.

    The holder of an exclusive input may have died a moment ago, so the open is retried for a while.
    """
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            return connection.open(options.queue, mode)
        except MQError as error:
            if error.reason == mq.MQRC_UNKNOWN_OBJECT_NAME:
                _make(connection, options, error)
            elif error.reason != mq.MQRC_OBJECT_IN_USE:
                raise PipelineError(sentence(f"Opening staging queue {options.queue}", error)) from error
            elif time.monotonic() >= deadline:
                raise PipelineError(
                    f"Another query uses the staging queue {options.queue} of {connection.name}. Stop that one, or "
                    f"give this one a staging queue of its own with option stagingQueue. {error}"
                ) from error
            else:
                time.sleep(_LOOK_SECONDS)


def _make(connection: Connection, options: StagingOptions, cause: MQError) -> None:
    """Create the staging queue as any program may: from a model for permanent dynamic queues."""
    try:
        connection.open_dynamic(options.model, options.queue, "w").close()
    except MQError as error:
        if error.reason == mq.MQRC_OBJECT_ALREADY_EXISTS:
            return  # another process created it first
        wanted = (
            f"DEFINE QLOCAL({options.queue}) DEFPSIST(YES) MSGDLVSQ(FIFO) SHARE MAXDEPTH(999999999) MAXMSGL(104857600)"
        )
        why = "may not be made by this user" if error.reason == mq.MQRC_NOT_AUTHORIZED else "could not be made"
        raise PipelineError(
            f"There is no staging queue {options.queue}, and it {why} from model queue {options.model}. {error} "
            f"Have it defined: {wanted}"
        ) from cause


def get_stored(queue: Queue, message_id: bytes | None = None, wait_seconds: float = 0.0) -> StoredMessage | None:
    """Get a message as it is stored; in a transaction block, as part of it."""
    return run(queue.inner.get_stored({"message_id": message_id, "wait": wait_seconds}))
