"""Effective attributes at a node of the topic tree: those of its topic object, with ASPARENT resolved."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.model import constants as mq
from ostler.model.definitions import Definition

DURABLE_MODEL: Final = "SYSTEM.DURABLE.MODEL.QUEUE"
NON_DURABLE_MODEL: Final = "SYSTEM.NDURABLE.MODEL.QUEUE"
_NO_LIMIT: Final = -1


@final
class TopicSettings:
    """The attributes of a topic object with ASPARENT resolved."""

    def __init__(self, definition: Definition | None, above: TopicSettings | None) -> None:
        self.object_name: str = definition.name if definition is not None else ""
        attributes: dict[str, int | str | tuple[str, ...]] = definition.attributes if definition is not None else {}
        self.publish: i64 = _number(
            attributes, "PUB", mq.MQTA_PUB_AS_PARENT, above.publish if above is not None else mq.MQTA_PUB_ALLOWED
        )
        self.subscribe: i64 = _number(
            attributes, "SUB", mq.MQTA_SUB_AS_PARENT, above.subscribe if above is not None else mq.MQTA_SUB_ALLOWED
        )
        self.durable: i64 = _number(
            attributes,
            "DURSUB",
            mq.MQSUB_DURABLE_AS_PARENT,
            above.durable if above is not None else mq.MQSUB_DURABLE_ALLOWED,
        )
        self.persistence: i64 = _number(
            attributes,
            "DEFPSIST",
            mq.MQPER_PERSISTENCE_AS_PARENT,
            above.persistence if above is not None else mq.MQPER_NOT_PERSISTENT,
        )
        self.priority: i64 = _number(
            attributes, "DEFPRTY", mq.MQPRI_PRIORITY_AS_PARENT, above.priority if above is not None else 0
        )
        self.response: i64 = _number(
            attributes,
            "DEFPRESP",
            mq.MQPRT_RESPONSE_AS_PARENT,
            above.response if above is not None else mq.MQPRT_SYNC_RESPONSE,
        )
        self.delivery_nonpersistent: i64 = _number(
            attributes,
            "NPMSGDLV",
            mq.MQDLV_AS_PARENT,
            above.delivery_nonpersistent if above is not None else mq.MQDLV_ALL_AVAIL,
        )
        self.delivery_persistent: i64 = _number(
            attributes,
            "PMSGDLV",
            mq.MQDLV_AS_PARENT,
            above.delivery_persistent if above is not None else mq.MQDLV_ALL_DUR,
        )
        self.dead_letters: i64 = _number(
            attributes, "USEDLQ", mq.MQUSEDLQ_AS_PARENT, above.dead_letters if above is not None else mq.MQUSEDLQ_YES
        )
        self.publish_scope: i64 = _number(
            attributes, "PUBSCOPE", mq.MQSCOPE_AS_PARENT, above.publish_scope if above is not None else mq.MQSCOPE_ALL
        )
        self.subscribe_scope: i64 = _number(
            attributes, "SUBSCOPE", mq.MQSCOPE_AS_PARENT, above.subscribe_scope if above is not None else mq.MQSCOPE_ALL
        )
        # Tenths of a second; -1: unlimited. ASPARENT is stored as -2.
        self.expiry_max: i64 = _number(attributes, "CAPEXPRY", -2, above.expiry_max if above is not None else _NO_LIMIT)
        self.durable_model: str = _name(
            attributes, "MDURMDL", above.durable_model if above is not None else DURABLE_MODEL
        )
        self.non_durable_model: str = _name(
            attributes, "MNDURMDL", above.non_durable_model if above is not None else NON_DURABLE_MODEL
        )
        self.blocks_wildcards: bool = attributes.get("WILDCARD") == mq.MQTA_BLOCK

    @property
    def may_publish(self) -> bool:
        return self.publish != mq.MQTA_PUB_INHIBITED

    @property
    def may_subscribe(self) -> bool:
        return self.subscribe != mq.MQTA_SUB_INHIBITED

    @property
    def may_be_durable(self) -> bool:
        return self.durable != mq.MQSUB_DURABLE_INHIBITED

    @property
    def uses_dead_letters(self) -> bool:
        return self.dead_letters != mq.MQUSEDLQ_NO

    def requires_delivery(self, is_persistent: bool, is_durable: bool) -> bool:
        """Return whether a publish fails if a subscription of this kind cannot get its copy (NPMSGDLV, PMSGDLV)."""
        wanted: i64 = self.delivery_persistent if is_persistent else self.delivery_nonpersistent
        return wanted == mq.MQDLV_ALL or (wanted == mq.MQDLV_ALL_DUR and is_durable)


def administrative_settings(definition: Definition | None) -> TopicSettings:
    """Return the settings at $SYS/MQ: nothing comes from above, and no wildcard from above passes, whatever is set.

    Copies that a subscription cannot take are dropped: the next ones replace them, so the dead-letter queue is not for
    them.
    """
    settings = TopicSettings(definition, None)
    settings.blocks_wildcards = True
    settings.dead_letters = mq.MQUSEDLQ_NO
    return settings


def _number(attributes: dict[str, int | str | tuple[str, ...]], name: str, as_parent: int, otherwise: i64) -> i64:
    value = attributes.get(name, as_parent)
    return value if isinstance(value, int) and value != as_parent else otherwise


def _name(attributes: dict[str, int | str | tuple[str, ...]], name: str, otherwise: str) -> str:
    value = attributes.get(name, "")
    return value if isinstance(value, str) and value else otherwise
