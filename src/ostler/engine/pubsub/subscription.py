"""A subscription at run time: its filters, its destination and the fields of its copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64

from ostler.engine.message.message import NULL_ID
from ostler.engine.selectors.selector import Selector, compile_stored
from ostler.model import constants as mq
from ostler.model.definitions import Definition

if TYPE_CHECKING:
    from ostler.engine.queue.queue import Queue

_TOKEN_BYTES: Final = 32
_APPLICATION_BYTES: Final = 32
_USER_BYTES: Final = 12
# Internal attribute: MQSO_GROUP_SUB was given. MQ has no attribute for it.
GROUPED: Final = "GROUPED"
# Internal attribute: the expiry in milliseconds, counted from the time it was set.
ENDS: Final = "ENDS"


@final
class Subscription:
    """Built from a SUB definition, whether it is stored (durable) or not."""

    def __init__(self, definition: Definition, topic: str, created_ms: i64) -> None:
        self.topic = topic  # full topic string: the topic object's and the subscription's own
        self.name = definition.name
        self.created_ms: i64 = created_ms
        self.resumed_ms: i64 = 0
        self.delivered: i64 = 0
        self.delivered_ms: i64 = 0
        # The connection that has it open, by number and identifier; 0 if it is not open.
        self.connection: i64 = 0
        self.connection_id: bytes = b""
        # Position in the topic tree.
        self.fixed_levels: i64 = -1  # levels before the first level wildcard; -1: none
        self.is_character_wild = False
        self.is_removed = False
        self.is_pending = False  # MQSUB has not ended: retained publications are still delivered
        self.index: i64 = 0  # in `TopicTree.all_subscriptions`
        # The destination as resolved at `resolved_version` of the definitions.
        self.queue: Queue | None = None
        self.remote_queue: str = ""
        self.remote_manager: str = ""
        self.resolved_version: i64 = -1
        self.unresolved: i64 = 0  # the reason why the destination cannot be resolved
        self.configure(definition)

    def configure(self, definition: Definition) -> None:
        """Apply a definition. Raises MQError if the selector is invalid."""
        attributes = definition.attributes
        self.definition = definition
        text = _text(attributes, "SELECTOR")
        self.selector: Selector | None = compile_stored(text) if text else None
        self.identifier: bytes = _bytes(attributes, "SUBID", 24)
        self.destination = _text(attributes, "DEST")
        self.destination_manager = _text(attributes, "DESTQMGR")
        self.is_managed: bool = attributes.get("DESTCLAS") == mq.MQDC_MANAGED
        self.is_durable: bool = attributes.get("DURABLE") != mq.MQSUB_DURABLE_NO
        self.correlation_id: bytes = _bytes(attributes, "DESTCORL", 24)
        # MQCI_NONE given explicitly: copies keep the correlation identifier of the publisher.
        self.passes_correlation: bool = self.correlation_id == NULL_ID and _text(attributes, "DESTCORL") != ""
        if self.correlation_id == NULL_ID and not self.passes_correlation:
            self.correlation_id = self.identifier
        self.user = _text(attributes, "SUBUSER")
        self.user_data = _text(attributes, "USERDATA")
        self.priority: i64 = _integer(attributes, "PUBPRTY", mq.MQPRI_PRIORITY_AS_PUBLISHED)
        self.level: i64 = _integer(attributes, "SUBLEVEL", 1)
        self.property_style: i64 = _integer(attributes, "PSPROP", mq.MQPSPROP_MSGPROP)
        self.is_on_request: bool = attributes.get("REQONLY") == mq.MQRU_PUBLISH_ON_REQUEST
        self.is_for_any_user: bool = _integer(attributes, "VARUSER", mq.MQVU_ANY_USER) == mq.MQVU_ANY_USER
        self.is_character_scheme: bool = attributes.get("WSCHEMA") == mq.MQWS_CHAR
        self.is_grouped: bool = attributes.get(GROUPED) == 1
        self.type: i64 = _integer(attributes, "SUBTYPE", mq.MQSUBTYPE_ADMIN)
        life: i64 = _integer(attributes, "EXPIRY", mq.MQEI_UNLIMITED)
        self.ends_ms: i64 = _integer(attributes, ENDS, 0)
        if life >= 0 and self.ends_ms == 0:
            self.ends_ms = self.created_ms + life * 100
        # Identity context of the copies: user, accounting token and application data, 76 bytes of the descriptor.
        self.identity: bytes = (
            self.user.encode("latin-1", "replace")[:_USER_BYTES].ljust(_USER_BYTES)
            + _bytes(attributes, "PUBACCT", _TOKEN_BYTES)
            + _text(attributes, "PUBAPPID").encode("latin-1", "replace")[:_APPLICATION_BYTES].ljust(_APPLICATION_BYTES)
        )
        self.resolved_version = -1


def _text(attributes: dict[str, int | str | tuple[str, ...]], name: str) -> str:
    value = attributes.get(name, "")
    return value if isinstance(value, str) else ""


def _integer(attributes: dict[str, int | str | tuple[str, ...]], name: str, default: int) -> int:
    value = attributes.get(name, default)
    return value if isinstance(value, int) else default


def _bytes(attributes: dict[str, int | str | tuple[str, ...]], name: str, length: int) -> bytes:
    """Decode hexadecimal digits into bytes of a fixed length."""
    return bytes.fromhex(_text(attributes, name))[:length].ljust(length, b"\0")
