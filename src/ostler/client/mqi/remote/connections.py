"""Connections over links, as this process holds them, and their object handles.

A connection behind a link is a conversation. Its handles are numbered here, so that a program keeps its numbers when
the connection is made anew.
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
from ostler.model.constants import (
    MQRC_CALL_IN_PROGRESS,
    MQRC_CONNECTION_BROKEN,
    MQRC_HCONN_ASYNC_ACTIVE,
    MQRC_HCONN_ERROR,
)
from ostler.model.errors import MQError
from ostler.wire.object_frames import OpenArguments
from ostler.wire.subscribe_frames import SubscribeArguments

FIRST_REMOTE: Final = 1 << 24
"""Connection handles from here on are those of links; smaller ones are of queue managers in this process."""

Got = tuple[bytes, bytes | None, bytes, int, int, int]
"""Data, descriptor (None: no message), options, the message's whole length, completion and reason."""

_FIRST_HANDLE: Final = 2


@mypyc_attr(allow_interpreted_subclasses=True)
class Recovery(metaclass=ABCMeta):
    """What a connection does when its link has broken."""

    @abstractmethod
    def recover(self, remote: RemoteConnection, generation: int, broken: LinkBroken) -> None:
        """Have the connection work again, unless somebody else has done it since that generation. Raises MQError."""

    @abstractmethod
    def stop(self) -> None:
        """The program leaves: do not try any longer."""

    @abstractmethod
    def only_same_manager(self) -> bool:
        """Whether the connection is made anew to the same queue manager only."""

    @abstractmethod
    def status(self, type: int) -> tuple[int, int, str]:
        """For MQSTAT: completion and reason of the last reconnection, and the object that it failed on."""


@mypyc_attr(allow_interpreted_subclasses=True)
class ReadAhead(metaclass=ABCMeta):
    """Messages of one handle that are here before they are asked for."""

    @abstractmethod
    def get(self, remote: RemoteConnection, md: bytes, gmo: bytes, length: int) -> Got:
        """MQGET: from what is here, or from the queue manager."""

    @abstractmethod
    def count(self) -> int:
        """How many messages are here."""

    @abstractmethod
    def discard(self, remote: RemoteConnection) -> None:
        """The handle is closed: what was sent ahead is gone. Raises LinkBroken."""


@final
class RemoteHandle:
    """An open object of a connection over a link."""

    def __init__(self, number: i64, asked: OpenArguments, hobj: i64) -> None:
        self.number: i64 = number  # as the program knows it
        self.hobj: i64 = hobj  # as the queue manager knows it
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
        # Of a subscription: what it was made of, whether it outlives its connection, and its managed queue's handle.
        self.subscribed: SubscribeArguments | None = None
        self.is_durable = False
        self.destination: i64 = 0
        self.subscription: i64 = 0  # of a managed queue: the handle that it came with


@final
class RemoteConnection:
    """A connection over a link, as this process holds it."""

    def __init__(self, hconn: int, conversation: ClientConversation) -> None:
        self.hconn = hconn
        self.conversation = conversation
        self.generation: i64 = 0  # how often it has been made anew
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
        self.in_unit = False  # something may have been put or got under syncpoint
        self.unit_lost = False  # a link broke, and the unit of work with it
        self.recovery: Recovery | None = None
        self.identifier_prefix: bytes = b"AMQ@" + os.urandom(16)
        self.identifiers: i64 = 0

    def usable_for_verb(self) -> None:
        """MQError when a verb of this thread cannot use it now."""
        if self.broken:
            raise MQError(self.broken, self.broken_text)
        if self.waiting:
            raise MQError(MQRC_CALL_IN_PROGRESS)
        if self.consuming:
            is_inside = self.is_inside_callback
            if is_inside is None or not is_inside():
                raise MQError(MQRC_HCONN_ASYNC_ACTIVE, "Callbacks are started on this connection; stop them first.")

    def lost(self, generation: i64, broken: LinkBroken) -> None:
        """The link broke. Returns when the connection works again; MQError when it never will."""
        recovery = self.recovery
        if recovery is None:
            self.broken_text = broken.text
            self.broken = MQRC_CONNECTION_BROKEN
            raise MQError(MQRC_CONNECTION_BROKEN, broken.text)
        recovery.recover(self, generation, broken)

    def revive(self) -> None:
        """Have the connection made anew if its link broke before: then nothing that follows is in doubt."""
        link = self.conversation.link
        if link.broken and self.recovery is not None:
            self.lost(self.generation, LinkBroken(link.broken, link.broken_text))

    def nonsense(self, text: str) -> LinkBroken:
        """The queue manager's answer makes no sense: the link is of no use any more."""
        link = self.conversation.link
        link.fail_link(MQRC_CONNECTION_BROKEN, f"{link.peer} answered nonsense: {text}.")
        return LinkBroken(MQRC_CONNECTION_BROKEN, link.broken_text)


_remotes: Final[dict[int, RemoteConnection]] = {}
_last_hconn: list[int] = [FIRST_REMOTE - 1]
_registry_lock: Final = threading.Lock()


def register(conversation: ClientConversation) -> RemoteConnection:
    """A connection handle for a conversation."""
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
    """What is behind a connection handle, whoever uses it; MQError when there is nothing."""
    remote = _remotes.get(hconn)
    if remote is None:
        raise MQError(MQRC_HCONN_ERROR)
    return remote


def usable_remote(hconn: int) -> RemoteConnection:
    """The connection for a verb of this thread."""
    remote = _remotes.get(hconn)
    if remote is None:
        raise MQError(MQRC_HCONN_ERROR)
    if remote.broken or remote.waiting or remote.consuming:
        remote.usable_for_verb()
    return remote


def forget_all() -> None:
    """This is a forked child: connections stay with the parent."""
    _remotes.clear()
    _registry_lock.release()


# A lock that another thread holds while this one forks would never be released in the child.
os.register_at_fork(before=_registry_lock.acquire, after_in_parent=_registry_lock.release, after_in_child=forget_all)
