"""Object handles: what an application has open (MQOPEN, MQSUB)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.groups.state import GroupState
from ostler.engine.queue.slots import NONE
from ostler.engine.selectors.selector import Selector
from ostler.engine.task import EngineTask
from ostler.model.accounts import QueueAccount

if TYPE_CHECKING:
    from ostler.engine.pubsub.subscription import Subscription
    from ostler.engine.pubsub.topic_settings import TopicSettings
    from ostler.engine.pubsub.topic_tree import TopicNode
    from ostler.engine.queue.queue import Queue
    from ostler.model.definitions import Definition

QUEUE: Final = 1
OTHER_OBJECT: Final = 2  # queue manager, process, namelist: open for inquiry
TOPIC: Final = 3
SUBSCRIPTION: Final = 4


@final
class OpenTopic:
    """A topic that is open for publishing. Settings and subscriptions are cached as of a version of the topic tree."""

    def __init__(self, node: TopicNode, topic: str, added: bytes) -> None:
        self.node = node
        self.topic = topic
        self.added = added  # the properties that the queue manager adds
        self.version: i64 = -1
        self.settings: TopicSettings | None = None
        self.subscriptions: list[Subscription] = []
        self.published: i64 = 0  # publications, for DISPLAY TPSTATUS TYPE(PUB)
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
        self.is_managed = False  # opened by MQSO_MANAGED: the queue manager made the queue
        # Overridden by an alias.
        self.put_allowed_by_alias = True
        self.get_allowed_by_alias = True
        self.default_persistence: i64 = NONE
        self.default_priority: i64 = NONE
        self.default_response: i64 = NONE
        self.property_control: i64 = NONE
        self.definitions_on_path: list[Definition] = []
        # Address in the transmission header, when the queue belongs to another queue manager.
        self.remote_queue: str = ""
        self.remote_manager: str = ""
        self.resolved_names: bytes = b""  # ResolvedQName and ResolvedQMgrName for MQPMO
        self.alternate_user: str = ""
        self.selector: Selector | None = None
        self.waits: i64 = 0  # its requests that wait on the queue
        # Browsing.
        self.cursor: i64 = NONE
        self.cursor_seq: i64 = 0
        self.cursor_message_gone = False
        self.cursor_set = False
        # On a shared queue the cursor is an entry of the coupling facility.
        self.cursor_key: i64 = -1
        self.cursor_entry: bytes = b""
        self.locked_entry: bytes = b""  # that the handle has locked there
        self.shared_options: i64 = 0  # with which the facility counts it as open; 0: it does not
        self.opening: EngineTask | None = None  # MQOPEN of a shared queue, until the facility has answered
        self.locked_slot: i64 = NONE
        self.locked_seq: i64 = 0
        self.put_options_checked: i64 = -1
        self.get_options_checked: i64 = -1
        # Last option structures given and returned: most programs give the same again.
        self.put_options_given: bytes = b""
        self.put_options_returned: bytes = b""
        self.get_options_given: bytes = b""
        self.get_options_returned: bytes = b""
        # Last reply address given and stored: most programs give the same again.
        self.reply_given: bytes = b""
        self.reply_stored: bytes = b""
        self.reply_version: i64 = -1
        self.put_group = GroupState()
        self.get_group = GroupState()
        self.browse_group = GroupState()
        # Identity and origin of the last message got with MQOO_SAVE_ALL_CONTEXT.
        self.saves_context = False
        self.saved_context: bytes = b""
        self.account: QueueAccount | None = None  # of its connection and queue
        self.is_put1 = False
        self.sends_reports = True  # on delivery (COD); MOVE QLOCAL delivers to nobody
        self.valid = True  # False: the object was changed since it was opened (MQRC_OBJECT_CHANGED)
