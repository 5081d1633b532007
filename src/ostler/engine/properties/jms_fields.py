"""JMS header fields and JMSX properties, derived from the message descriptor and the folders jms and mcd.

Where both have a value, the folder takes precedence, as in MQ's mapping of incoming messages to JMS.
"""

from __future__ import annotations

from typing import Final

from ostler.engine.message.descriptor_fields import number_at, text_at
from ostler.engine.message.timestamps import milliseconds_of
from ostler.engine.properties.property_values import PropertySource, Value
from ostler.model import constants as mq

DELIVERY_NON_PERSISTENT: Final = 1
DELIVERY_PERSISTENT: Final = 2
# Derived from the descriptor alone.
DESCRIPTOR_ONLY: Final = frozenset(
    {"JMSMessageID", "JMSPriority", "JMSRedelivered", "JMSXAppID", "JMSXDeliveryCount", "JMSXUserID"},
)
_NO_ID: Final = bytes(24)
_IN_GROUP: Final = mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP


def jms_value(name: str, md: bytes, properties: PropertySource) -> Value:
    """Return the value of one of `property_names.JMS_TYPES`; None if the message has none."""
    if name == "JMSPriority":
        return number_at(md, 40)
    if name == "JMSMessageID":
        return _identifier(md, 48)
    if name == "JMSRedelivered":
        return number_at(md, 96) > 0
    if name == "JMSXDeliveryCount":
        return number_at(md, 96) + 1
    if name == "JMSXAppID":
        return text_at(md, 276, 28) or None
    if name == "JMSXUserID":
        return text_at(md, 196, 12) or None
    return _from_folders(name, md, properties)


def _from_folders(name: str, md: bytes, properties: PropertySource) -> Value:
    if name == "JMSType":
        return _type(properties)
    if name == "JMSCorrelationID":
        value = properties.value("jms.Cid")
        return value if value is not None else _identifier(md, 72)
    if name == "JMSReplyTo":
        value = properties.value("jms.Rto")
        return value if value is not None else _reply_queue(md)
    if name == "JMSTimestamp":
        value = properties.value("jms.Tms")
        return value if value is not None else put_milliseconds(md)
    if name == "JMSDeliveryMode":
        value = properties.value("jms.Dlv")
        persistent = number_at(md, 44) == mq.MQPER_PERSISTENT
        return value if value is not None else (DELIVERY_PERSISTENT if persistent else DELIVERY_NON_PERSISTENT)
    if name == "JMSExpiration":
        value = properties.value("jms.Exp")
        return value if value is not None else _expiration(md)
    if name == "JMSDestination":
        return _destination(properties)
    return _group(name, md, properties)


def _group(name: str, md: bytes, properties: PropertySource) -> Value:
    value = properties.value("jms.Gid" if name == "JMSXGroupID" else "jms.Seq")
    if value is not None or number_at(md, 356) & _IN_GROUP == 0:
        return value
    return _identifier(md, 324) if name == "JMSXGroupID" else number_at(md, 348)


def _identifier(md: bytes, at: int) -> Value:
    identifier = md[at : at + 24]
    return None if identifier == _NO_ID else "ID:" + identifier.hex()


def _reply_queue(md: bytes) -> Value:
    queue = text_at(md, 100, 48)
    return f"queue://{text_at(md, 148, 48)}/{queue}" if queue else None


def _destination(properties: PropertySource) -> Value:
    destination = properties.value("jms.Dst")
    if destination is not None:
        return destination
    topic = properties.value("mqps.Top")
    return f"topic://{topic}" if isinstance(topic, str) else None


def _type(properties: PropertySource) -> Value:
    """Return mcd.Type alone, or the mcd: URI that includes the message set and format."""
    plain = properties.value("mcd.Type")
    message_set = properties.value("mcd.Set")
    wire_format = properties.value("mcd.Fmt")
    if message_set is None and wire_format is None:
        return plain
    domain = properties.value("mcd.Msd")
    parts = [part if isinstance(part, str) else "" for part in (domain, message_set, plain)]
    uri = "mcd://" + "/".join(parts)
    return f"{uri}?format={wire_format}" if isinstance(wire_format, str) else uri


def _expiration(md: bytes) -> Value:
    """Return the expiry time in milliseconds since 1970; 0 for none. MQMD.Expiry is in tenths of a second."""
    expiry = number_at(md, 16)
    put = put_milliseconds(md)
    return 0 if expiry == mq.MQEI_UNLIMITED or put is None else put + expiry * 100


def put_milliseconds(md: bytes) -> int | None:
    """Return PutDate and PutTime as milliseconds since 1970; None if they are not set."""
    return milliseconds_of(md[304:320]) or None
