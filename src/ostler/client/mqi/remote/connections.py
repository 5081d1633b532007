"""Connections of the raw verbs over links, and their object handles.

Such a connection is a conversation of a link. Its object handles have numbers of their own, so that they stay the same
after reconnection.
"""

from __future__ import annotations

import os
import threading
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from ostler.client.link.blocking_link import ClientConversation
from ostler.client.link.waiters import LinkBroken
from ostler.engine.properties.properties import PropertySet
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.object_frames import OpenArguments
from ostler.wire.subscribe_frames import SubscribeArguments

FIRST_REMOTE: Final = 1 << 24
"""The first connection handle over a link; smaller ones are of queue managers in this process."""

Got = tuple[bytes, bytes | None, bytes, int, int, int]
"""Data, descriptor (None: no message), options, full message length, completion and reason."""

_FIRST_HANDLE: Final = 2


@mypyc_attr(allow_interpreted_subclasses=True)
class Recovery(metaclass=ABCMeta):
    """The recovery of a connection whose link has broken."""

    @abstractmethod
    def recover(self, remote: RemoteConnection, generation: int, broken: LinkBroken) -> None:
        """Reconnect, unless another thread has done so since that generation. Raises MQError when it fails."""

    @abstractmethod
    def stop(self) -> None:
        """End all attempts: the program disconnects."""

    @abstractmethod
    def only_same_manager(self) -> bool:
        """Return whether reconnection is limited to the same queue manager (MQCNO_RECONNECT_Q_MGR)."""

    @abstractmethod
    def status(self, type: int) -> tuple[int, int, str]:
        """Return completion and reason of the last reconnection for MQSTAT, and the object that it failed on."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ReadAhead(metaclass=ABCMeta):
    """The read-ahead buffer of one handle."""

    @abstractmethod
    def get(self, remote: RemoteConnection, md: bytes, gmo: bytes, length: int) -> Got:
        """MQGET: from the buffer, or from the queue manager."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of buffered messages."""

    @abstractmethod
    def discard(self, remote: RemoteConnection) -> None:
        """End the stream and drop buffered messages: the handle is closed. Raises LinkBroken."""


@final
class RemoteHandle:
    """An open object of a connection over a link."""

    def __init__(self, number: i64, asked: OpenArguments, hobj: i64) -> None:
        self.number: i64 = number  # the program's handle
        self.hobj: i64 = hobj  # the queue manager's handle
        self.asked = asked
        self.options: i64 = asked.options
        self.flags: i64 = 0
        self.name = ""
        self.resolved_names: bytes = b" " * 96
        self.default_persistence: i64 = 0
        self.default_priority: i64 = 0
        self.put_options_given: bytes = b""
        self.put_options_returned: bytes = b""
        self.get_options_given: bytes = b""
        self.get_options_returned: bytes = b""
        self.read_ahead: ReadAhead | None = None
        self.is_topic = False
        # Of a subscription: its arguments, whether it is durable, and the handle of its managed queue.
        self.subscribed: SubscribeArguments | None = None
        self.is_durable = False
        self.destination: i64 = 0
        self.subscription: i64 = 0  # of a managed queue: the handle of its subscription


@final
class RemoteConnection:
    """A connection of the raw verbs over a link."""

    def __init__(self, hconn: int, conversation: ClientConversation) -> None:
        self.hconn = hconn
        self.conversation = conversation
        self.generation: i64 = 0  # the number of reconnections
        self.handles: dict[int, RemoteHandle] = {}
        self.last_handle: i64 = _FIRST_HANDLE - 1
        self.message_handles: dict[int, PropertySet] = {}
        self.handles_max: i64 = 0
        self.queue_manager = ""
        self.connection_id: bytes = bytes(24)
        self.user = ""
        self.broken: i64 = 0
        self.broken_text = ""
        self.consuming = False
        self.is_inside_callback: Callable[[], bool] | None = None
        self.waiting = False  # a get waits: other verbs get MQRC_CALL_IN_PROGRESS
        self.in_unit = False  # a unit of work may be in progress
        self.unit_lost = False  # the link broke, and the unit of work was backed out
        self.recovery: Recovery | None = None
        self.identifier_prefix: bytes = b"AMQ@" + os.urandom(16)
        self.identifiers: i64 = 0

    def check_usable(self) -> None:
        """Raise MQError when a verb of this thread cannot use the connection now."""
        if self.broken:
            raise MQError(self.broken, self.broken_text)
        if self.waiting:
            raise MQError(mq.MQRC_CALL_IN_PROGRESS)
        if self.consuming:
            is_inside = self.is_inside_callback
            if is_inside is None or not is_inside():
                raise MQError(mq.MQRC_HCONN_ASYNC_ACTIVE, "Callbacks are started on this connection; stop them first.")

    def handle_broken_link(self, generation: i64, broken: LinkBroken) -> None:
        """Reconnect after the link broke. Raises MQError when the connection does not reconnect or that fails."""
        recovery = self.recovery
        if recovery is None:
            self.broken_text = broken.text
            self.broken = mq.MQRC_CONNECTION_BROKEN
            raise MQError(mq.MQRC_CONNECTION_BROKEN, broken.text)
        recovery.recover(self, generation, broken)

    def reconnect_if_broken(self) -> None:
        """Reconnect now if the link is broken already: the next request is not in doubt then."""
        link = self.conversation.link
        if link.broken and self.recovery is not None:
            self.handle_broken_link(self.generation, LinkBroken(link.broken, link.broken_text))

    def protocol_error(self, text: str) -> LinkBroken:
        """Break the link because of a malformed reply, and return the exception to raise."""
        link = self.conversation.link
        link.fail_link(mq.MQRC_CONNECTION_BROKEN, f"{link.peer} violated the protocol: {text}.")
        return LinkBroken(mq.MQRC_CONNECTION_BROKEN, link.broken_text)


_remotes: Final[dict[int, RemoteConnection]] = {}
_last_hconn: list[int] = [FIRST_REMOTE - 1]
_registry_lock: Final = threading.Lock()


def register(conversation: ClientConversation) -> RemoteConnection:
    """Assign a connection handle to a conversation."""
    with _registry_lock:
        _last_hconn[0] += 1
        remote = RemoteConnection(_last_hconn[0], conversation)
        _remotes[remote.hconn] = remote
    return remote


def unregister(remote: RemoteConnection) -> None:
    with _registry_lock:
        _remotes.pop(remote.hconn, None)


def all_remotes() -> list[RemoteConnection]:
    with _registry_lock:
        return list(_remotes.values())


def remote_connection(hconn: int) -> RemoteConnection:
    """Return the connection of a handle. Raises MQError when the handle is unknown."""
    remote = _remotes.get(hconn)
    if remote is None:
        raise MQError(mq.MQRC_HCONN_ERROR)
    return remote


def usable_remote(hconn: int) -> RemoteConnection:
    """Return the connection for a verb of this thread. Raises MQError when it cannot be used."""
    remote = _remotes.get(hconn)
    if remote is None:
        raise MQError(mq.MQRC_HCONN_ERROR)
    if remote.broken or remote.waiting or remote.consuming:
        remote.check_usable()
    return remote


def forget_all() -> None:
    """Forget all connections in a forked child: they stay with the parent."""
    _remotes.clear()
    _registry_lock.release()


# A lock that another thread holds while this one forks would never be released in the child.
os.register_at_fork(before=_registry_lock.acquire, after_in_parent=_registry_lock.release, after_in_child=forget_all)
