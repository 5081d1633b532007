"""Connections for threads: the verbs of `async_connection`, blocking.

    with ostler.connect("QM1", create=True) as qm:
        qm.define("QLOCAL", "Q1", replace=True)
        with qm.open("Q1", "rw") as q:
            q.put("Hello", persistent=True)
            print(q.get(wait=5).text)

Threads may share a connection. A waiting get blocks no other thread. A connection has one unit of work, so transactions
of several threads run one at a time; the others wait, 30 seconds by default. Threads that use transactions much are
better off with a connection each.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Unpack

from ostler.client.aio.async_connection import MODEL, AsyncConnection
from ostler.client.aio.async_topic import publish_once
from ostler.client.api.keywords import NOT_GIVEN, NotGiven, wait_or_timeout
from ostler.client.api.message import Message, MessageFields
from ostler.client.api.queue import Queue
from ostler.client.api.subscribe_options import SubscribeOptions
from ostler.client.api.topic import Subscription, Topic
from ostler.client.api.transaction import WAIT_SECONDS, Transaction
from ostler.client.link.dialler import BlockingDialler
from ostler.client.locate.connect_parameters import Binding, Reconnect
from ostler.client.locate.connecting import Tls, connect_parameters, open_session
from ostler.client.session.runtime import run
from ostler.client.session.session import Session
from ostler.command.admin.objects import Given
from ostler.model.attributes import Value
from ostler.server.queue_manager import QueueManager
from ostler.wire.subscribe_frames import LEVEL_HIGHEST


def connect(
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
) -> Connection:
    """Connect to a queue manager.

    With a connection name, such as "host(1414),host2(1414)", the connection goes over the network, through the
    server-connection channel `channel`; a queue manager name that is blank or begins with an asterisk accepts any queue
    manager. Without a connection name it goes to the queue manager if that runs in this process; else over its local
    socket if it runs on this machine; else to the address in the environment (MQSERVER, MQCCDTURL, MQCHLLIB and
    MQCHLTAB). `binding` selects one of these: "client", "local", "embedded".

    A queue manager that does not run is started in this process with `binding="embedded"`, and with `create=True`,
    which also creates it if need be; it ends with the process, or when its `end` is called. Otherwise this raises
    MQError: MQRC_Q_MGR_NOT_AVAILABLE (2059), or MQRC_Q_MGR_NAME_ERROR (2058) when there is none of that name.

    `tls` is a TlsSettings, or the name of a CipherSpec. `reconnect=True` reconnects when the link breaks, and so does
    a channel of `ccdt`, the client channel definition table in JSON, that asks for it; False disables that. `data` is
    the directory of the queue managers; see `ostler.start`.
    """
    name = queue_manager.name if isinstance(queue_manager, QueueManager) else queue_manager
    parameters = connect_parameters(
        name, connection_name, binding, channel, user, password, tls, reconnect, application, ccdt, data
    )
    return Connection(AsyncConnection(run(open_session(BlockingDialler(), queue_manager, parameters, create))))


class BlockTransaction:
    """`with connection.transaction():` commits at the end of the block, or backs out if an exception leaves it."""

    def __init__(self, session: Session, wait: float | None) -> None:
        self._transaction = Transaction(session, wait)

    def __enter__(self) -> None:
        run(self._transaction.begin())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run(self._transaction.end(kind is None))


class Connection:
    """A connection. Close it, or use it in a `with` block; an exception that leaves the block backs out."""

    def __init__(self, inner: AsyncConnection) -> None:
        self.inner = inner

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(commit=kind is None)

    def __repr__(self) -> str:
        return f"<connection to {self.name}>"

    @property
    def manager(self) -> QueueManager:
        """The queue manager, for its commands: `end`, `checkpoint` ..."""
        return self.inner.manager

    @property
    def name(self) -> str:
        """The name of the queue manager."""
        return self.inner.name

    @property
    def hconn(self) -> int:
        """The connection handle, for the raw verbs of `ostler.mqi`."""
        return self.inner.hconn

    def clone(self) -> Connection:
        """Return another connection of the same user and application."""
        return Connection(run(self.inner.clone()))

    def close(self, commit: bool = True) -> None:
        """Disconnect. As MQDISC does, it commits the unit of work, unless `commit` is False."""
        run(self.inner.close(commit))

    # -- queues and messages -------------------------------------------------------------------------------------------

    def open(self, queue: str, mode: str = "rw", *, manager: str = "", selector: str = "", options: int = 0) -> Queue:
        """Open a queue: r to get (s shared, x exclusively), b to browse, w to put. `options` are further MQOO options.

        `manager` names another queue manager, `selector` an SQL-92 condition that all messages got must meet.
        """
        return Queue(self, run(self.inner.open(queue, mode, manager=manager, selector=selector, options=options)))

    def open_dynamic(self, model: str = MODEL, name: str = "AMQ.*", mode: str = "rw") -> Queue:
        """Create a dynamic queue from a model and open it. A trailing asterisk in the name is made unique."""
        return Queue(self, run(self.inner.open_dynamic(model, name, mode)))

    def put(
        self,
        queue: str,
        body: Message | bytes | str,
        *,
        manager: str = "",
        syncpoint: bool | None = None,
        options: int = 0,
        **fields: Unpack[MessageFields],
    ) -> Message:
        """Put one message on a queue that is not open, as MQPUT1 does. Returns the message as stored."""
        return run(self.inner.put(queue, body, manager=manager, syncpoint=syncpoint, options=options, **fields))

    def request(
        self,
        queue: str,
        body: Message | bytes | str,
        *,
        wait: float | NotGiven | None = NOT_GIVEN,
        timeout: float | NotGiven | None = NOT_GIVEN,
        manager: str = "",
        **fields: Unpack[MessageFields],
    ) -> Message:
        """Put a request and return its reply. Raises MQRC_NO_MSG_AVAILABLE when none arrives within `wait` seconds.

        `wait` has to be given; None waits for ever. `timeout` is another name of it.

        The request is put outside syncpoint, also inside a transaction: there would be no reply otherwise. Unless
        `reply_to` names a queue, replies arrive on a temporary queue of this connection, which cannot hold persistent
        messages. Without an `expiry` of its own, the request expires when the wait for its reply ends.
        """
        seconds = wait_or_timeout(wait, timeout)
        return run(self.inner.request(queue, body, wait=seconds, manager=manager, **fields))

    def reply(
        self,
        request: Message,
        body: bytes | str,
        *,
        syncpoint: bool | None = None,
        **fields: Unpack[MessageFields],
    ) -> Message:
        """Reply to a request, on its reply-to queue."""
        return run(self.inner.reply(request, body, syncpoint=syncpoint, **fields))

    # -- topics --------------------------------------------------------------------------------------------------------

    def publish(
        self,
        topic: str,
        body: Message | bytes | str,
        *,
        retain: bool = False,
        object_name: str = "",
        level: int = LEVEL_HIGHEST,
        syncpoint: bool | None = None,
        options: int = 0,
        **fields: Unpack[MessageFields],
    ) -> Message:
        """Publish one message to a topic that is not open, as MQPUT1 does. Returns the message as published.

        `retain` makes it the retained publication of the topic. `object_name` is a topic object, whose topic string
        goes before the topic. `level` is the highest level of subscriptions that receive it. `options` are further
        MQPMO options.
        """
        return run(publish_once(self.inner, topic, body, object_name, retain, level, syncpoint, options, fields))

    def topic(self, topic: str = "", *, object_name: str = "", options: int = 0) -> Topic:
        """Open a topic for publishing: by its string, a topic object, or both. `options` are further MQOO options."""
        return Topic(self, run(self.inner.topic(topic, object_name=object_name, options=options)))

    def subscribe(self, topic: str = "", **wanted: Unpack[SubscribeOptions]) -> Subscription:
        """Subscribe to a topic; # matches any levels, + one level. See `SubscribeOptions`."""
        return Subscription(self, run(self.inner.subscribe(topic, **wanted)))

    # -- units of work -------------------------------------------------------------------------------------------------

    def transaction(self, wait: float | None = WAIT_SECONDS) -> BlockTransaction:
        """Return a block that is committed or backed out as a whole.

        `wait`: the seconds to wait for the end of another transaction of this connection.
        """
        return BlockTransaction(self.inner.session, wait)

    def commit(self) -> None:
        """Commit the unit of work. Inside a transaction block this commits what was done so far."""
        run(self.inner.commit())

    def back_out(self) -> None:
        """Back out the unit of work."""
        run(self.inner.back_out())

    # -- objects -------------------------------------------------------------------------------------------------------

    def define(
        self, object_type: str, name: str, *, like: str | None = None, replace: bool = False, **attributes: Given
    ) -> None:
        """Define an object by its MQSC keywords: `define("QLOCAL", "Q1", MAXDEPTH=1000, DEFPSIST="YES")`."""
        run(self.inner.define(object_type, name, like=like, replace=replace, **attributes))

    def alter(self, object_type: str, name: str = "", **attributes: Given) -> None:
        """Change attributes of an object. The queue manager itself needs no name."""
        run(self.inner.alter(object_type, name, **attributes))

    def delete(self, object_type: str, name: str, *, purge: bool = False) -> None:
        """Delete an object that is not open. A queue that is not empty is deleted only with `purge`."""
        run(self.inner.delete(object_type, name, purge=purge))

    def clear(self, queue: str) -> None:
        """Remove all messages of a local queue that is not open."""
        run(self.inner.clear(queue))

    def display(self, object_type: str, name: str = "*", *attributes: str) -> list[dict[str, Value]]:
        """Return objects by name or generic name, each with NAME, TYPE and the named attributes, or all of them."""
        return run(self.inner.display(object_type, name, *attributes))
