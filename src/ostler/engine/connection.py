"""Connections and the handles they have open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.groups.state import GroupState
from ostler.engine.queue.slots import NONE
from ostler.engine.selectors.selector import Selector, SelectorUse
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model.accounts import ConnectionAccount, QueueAccount
from ostler.model.constants import MQCC_WARNING, MQOT_Q
from ostler.model.counters import VerbCounters

if TYPE_CHECKING:
    from ostler.engine.core import Engine
    from ostler.engine.properties.properties import PropertySet
    from ostler.engine.pubsub.subscription import Subscription
    from ostler.engine.pubsub.topic_settings import TopicSettings
    from ostler.engine.pubsub.topic_tree import TopicNode
    from ostler.engine.queue.queue import Queue
    from ostler.model.definitions import Definition

QUEUE: Final = 1
OTHER_OBJECT: Final = 2  # queue manager, process, namelist: open for inquiry
TOPIC: Final = 3
SUBSCRIPTION: Final = 4

PUBLISH_LEVEL_HIGHEST: Final = 9


@final
class OpenTopic:
    """A topic that is open for publishing, and what was found out about it as of a version of the topic tree."""

    def __init__(self, node: TopicNode, topic: str, added: bytes) -> None:
        self.node = node
        self.topic = topic
        self.added = added  # the properties that the queue manager adds
        self.version: i64 = -1
        self.settings: TopicSettings | None = None
        self.subscriptions: list[Subscription] = []
        self.published: i64 = 0  # for those who look at publishers
        self.published_ms: i64 = 0


@final
class Handle:
    """An open object."""

    def __init__(self, number: i64, kind: i64, name: str, options: i64) -> None:
        self.number: i64 = number
        self.kind: i64 = kind
        self.name = name  # as resolved
        self.options: i64 = options
        self.queue: Queue | None = None
        self.definition: Definition | None = None
        self.topic: OpenTopic | None = None
        self.subscription: Subscription | None = None
        self.object_name: str = name  # as the application gave it
        self.for_input = False
        self.for_output = False
        self.for_browse = False
        self.for_inquire = False
        self.for_set = False
        self.is_exclusive = False
        self.created_dynamic = False
        self.is_managed = False  # of a queue that the queue manager made for a subscription
        # What an alias overrides.
        self.put_allowed_by_alias = True
        self.get_allowed_by_alias = True
        self.default_persistence: i64 = NONE
        self.default_priority: i64 = NONE
        self.default_response: i64 = NONE
        self.property_control: i64 = NONE
        self.definitions_on_path: list[Definition] = []
        # A message for another queue manager is put on a transmission queue with this address.
        self.remote_queue: str = ""
        self.remote_manager: str = ""
        self.resolved_names: bytes = b""  # ResolvedQName and ResolvedQMgrName as MQPMO wants them
        self.alternate_user: str = ""
        self.selector: Selector | None = None
        self.waits: i64 = 0  # requests that wait on its queue
        # Browsing.
        self.cursor: i64 = NONE
        self.cursor_seq: i64 = 0
        self.cursor_message_gone = False
        self.cursor_set = False
        self.locked_slot: i64 = NONE
        self.locked_seq: i64 = 0
        self.put_options_checked: i64 = -1
        self.get_options_checked: i64 = -1
        # The last option structures a binding was given, and what they came back as: most programs give the same again.
        self.put_options_given: bytes = b""
        self.put_options_returned: bytes = b""
        self.get_options_given: bytes = b""
        self.get_options_returned: bytes = b""
        # The last reply address a put gave, and what it was stored as: most programs give the same again.
        self.reply_given: bytes = b""
        self.reply_stored: bytes = b""
        self.reply_version: i64 = -1
        self.put_group = GroupState()
        self.get_group = GroupState()
        self.browse_group = GroupState()
        # Identity and origin of the last message got with MQOO_SAVE_ALL_CONTEXT.
        self.saves_context = False
        self.saved_context: bytes = b""
        self.account: QueueAccount | None = None  # what is written on the account of its connection and queue
        self.is_put1 = False
        self.valid = True  # false when the object was changed so that the handle no longer fits (2041)


@final
class AsyncStatus:
    """What asynchronous puts came to since the last MQSTAT."""

    def __init__(self) -> None:
        self.succeeded: i64 = 0
        self.warned: i64 = 0
        self.failed: i64 = 0
        self.first_completion: i64 = 0
        self.first_reason: i64 = 0
        self.object_type: i64 = 0
        self.object_name: str = ""
        self.object_string: str = ""  # of a topic

    def count(self, warning: i64, object_name: str, object_type: i64 = MQOT_Q, object_string: str = "") -> None:
        """A put that was not waited for is done. One refused within the process says so at once and is not counted."""
        if warning == 0:
            self.succeeded += 1
            return
        self.warned += 1
        if self.first_reason == 0:
            self.first_completion = MQCC_WARNING
            self.first_reason = warning
            self.object_type = object_type
            self.object_name = object_name
            self.object_string = object_string

    def fail(
        self, completion: i64, reason: i64, object_name: str, object_type: i64 = MQOT_Q, object_string: str = ""
    ) -> None:
        """A put was refused, and whoever sent it did not wait to hear so."""
        self.failed += 1
        if self.first_reason == 0 or self.first_completion < completion:
            self.first_completion = completion
            self.first_reason = reason
            self.object_type = object_type
            self.object_name = object_name
            self.object_string = object_string


@final
class Connection:
    """One application's connection. Handles are numbered from 2: 1 has meant the connection itself for too long."""

    def __init__(self, number: i64, engine: Engine, user: str, application: str, application_type: i64) -> None:
        self.number: i64 = number
        self.engine = engine
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
        self.has_said_goodbye = False  # it ends because it said so
        # Answer of the last put or commit.
        self.put_md: bytes = b""
        self.put_resolved_names: bytes = b""
        self.after_lsn: i64 = 0
        self.publish_level: i64 = PUBLISH_LEVEL_HIGHEST  # of the put under way
        self.owner: object = None  # what the server keeps with the connection
        # May do everything: a program in the queue manager's own process, or an administrator.
        self.is_privileged = True
