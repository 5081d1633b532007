"""Connections of applications (MQCONN)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.handle import Handle
from ostler.engine.selectors.selector import SelectorUse
from ostler.engine.task import EngineTask
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.accounts import ConnectionAccount
from ostler.model.counters import VerbCounters
from ostler.model.errors import MQError

if TYPE_CHECKING:
    from ostler.engine.properties.properties import PropertySet

PUBLISH_LEVEL_HIGHEST: Final = 9


@final
class AsyncStatus:
    """The outcome of asynchronous puts since the last MQSTAT."""

    def __init__(self) -> None:
        self.succeeded: i64 = 0
        self.warned: i64 = 0
        self.failed: i64 = 0
        self.first_completion: i64 = 0
        self.first_reason: i64 = 0
        self.object_type: i64 = 0
        self.object_name: str = ""
        self.object_string: str = ""  # of a topic

    def count(self, warning: i64, object_name: str, object_type: i64 = mq.MQOT_Q, object_string: str = "") -> None:
        """Count an asynchronous put that succeeded, perhaps with a warning."""
        if warning == 0:
            self.succeeded += 1
            return
        self.warned += 1
        if self.first_reason == 0:
            self.first_completion = mq.MQCC_WARNING
            self.first_reason = warning
            self.object_type = object_type
            self.object_name = object_name
            self.object_string = object_string

    def fail(
        self, completion: i64, reason: i64, object_name: str, object_type: i64 = mq.MQOT_Q, object_string: str = ""
    ) -> None:
        """Count an asynchronous put that was refused."""
        self.failed += 1
        if self.first_reason == 0 or self.first_completion < completion:
            self.first_completion = completion
            self.first_reason = reason
            self.object_type = object_type
            self.object_name = object_name
            self.object_string = object_string


@final
class TagUse:
    """The use of a connection tag (ConnTag of MQCNO) by connections of this queue manager: `shared.connection_tags`."""

    def __init__(self, tag: bytes, is_exclusive: bool, is_group: bool, process: i64) -> None:
        self.tag = tag
        self.is_exclusive = is_exclusive
        self.is_group = is_group  # it is a lock in the coupling facility, too
        self.process: i64 = process  # that of all its holders; 0: on another machine
        self.holders: dict[int, Connection] = {}
        self.locking: i64 = 0  # requests for the lock without an answer
        self.is_ending = False  # nobody holds it any more
        self.is_dropped = False  # the lock is freed, or the business of the next use
        self.tasks: list[EngineTask] = []  # that were under way when the last holder ended
        self.units: list[UnitOfWork] = []  # that its holders have left in doubt


def generated_tag(connection_id: bytes, padded_name: bytes) -> bytes:
    """Return the tag of a connection that has given none: MQCNO_GENERATE_CONN_TAG, and CONNTAG of DISPLAY CONN."""
    return (b"MQCT" + connection_id + padded_name).ljust(mq.MQ_CONN_TAG_LENGTH, b"\0")


@final
class Connection:
    """One application's connection. Handles are numbered from 2, as 1 has long meant the connection itself."""

    def __init__(self, number: i64, user: str, application: str, application_type: i64) -> None:
        self.number: i64 = number
        self.user = user
        self.application = application
        self.application_type: i64 = application_type
        self.identity_context: bytes = b""  # user id, accounting token, application identity data
        self.origin_prefix: bytes = b""  # put application type and name
        self.context_stamp: bytes = b""  # of the cached default context
        self.default_context: bytes = b""
        self.handles: dict[int, Handle] = {}
        self.next_handle: i64 = 2
        self.unit_of_work: UnitOfWork | None = None
        self.counters = VerbCounters()
        self.account: ConnectionAccount | None = None
        self.async_status = AsyncStatus()
        self.selector_use = SelectorUse()
        self.message_handles: dict[int, PropertySet] = {}
        self.next_message_handle: i64 = 1
        self.connected_ms: i64 = 0
        self.connection_id: bytes = bytes(24)
        self.broken: i64 = 0  # reason every further verb gets, such as MQRC_CONNECTION_BROKEN
        self.consuming = False
        self.has_disconnected = False  # with MQDISC, so that its end is an orderly one
        self.tag: TagUse | None = None
        self.is_of_group = False  # made to the name of the queue-sharing group, with GROUPUR(ENABLED)
        self.owner: object = None  # of the server, which keeps it with the connection
        # Passes all authority checks: a program in the queue manager's own process, or an administrator.
        self.is_privileged = True

    def check_working(self) -> None:
        """Raise MQError when the connection is broken."""
        if self.broken:
            raise MQError(self.broken)
