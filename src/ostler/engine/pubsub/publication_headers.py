"""MQRFH and MQRFH2 headers in front of publications, for subscriptions with PSPROP(COMPAT) or PSPROP(RFH2)."""

from __future__ import annotations

import struct
from typing import Final

from ostler.engine.message.descriptor_fields import with_content
from ostler.engine.properties.rfh2 import UTF_8, Content, Rfh2, content_of, is_big_endian
from ostler.engine.pubsub.publication_properties import topic_in
from ostler.engine.pubsub.subscription import Subscription
from ostler.model import constants as mq

_FIXED_BYTES: Final = 32  # of an MQRFH


def with_header(
    md: bytes, body: bytes, block: bytes, subscription: Subscription, is_retained: bool
) -> tuple[bytes, bytes]:
    """Return descriptor and data of a copy that begins with an MQRFH2, or with an MQRFH for PSPROP(COMPAT)."""
    topic = topic_in(block)
    follows = content_of(md)
    encoding = follows.encoding
    if encoding & mq.MQENC_INTEGER_MASK not in (mq.MQENC_INTEGER_NORMAL, mq.MQENC_INTEGER_REVERSED):
        encoding = mq.MQENC_NATIVE
    if subscription.property_style == mq.MQPSPROP_RFH2:
        header = Rfh2(Content(encoding, UTF_8, mq.MQFMT_RF_HEADER_2), follows, is_big_endian(encoding))
        header.folders = [header.data(_folder(topic, subscription.user_data, is_retained))]
        return with_content(md, encoding, UTF_8, mq.MQFMT_RF_HEADER_2), header.pack() + body
    text = _name_values(topic, subscription.user_data, is_retained).encode()
    text += b" " * (-len(text) % 4)
    order = ">" if is_big_endian(encoding) else "<"
    head = mq.MQRFH_STRUC_ID + struct.pack(
        order + "iiii", mq.MQRFH_VERSION_1, _FIXED_BYTES + len(text), follows.encoding, follows.ccsid
    )
    head += follows.format + struct.pack(order + "i", mq.MQRFH_NO_FLAGS) + text
    return with_content(md, encoding, UTF_8, mq.MQFMT_RF_HEADER_1), head + body


def _folder(topic: str, user_data: str, is_retained: bool) -> str:
    parts = ["<psc><Command>Publish</Command>"]
    if is_retained:
        parts.append("<PubOpt>IsRetainedPub</PubOpt>")
    parts.append(f"<Topic>{_escape(topic)}</Topic>")
    if user_data:
        parts.append(f"<SubUserData>{_escape(user_data)}</SubUserData>")
    parts.append("</psc>")
    return "".join(parts)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _name_values(topic: str, user_data: str, is_retained: bool) -> str:
    parts = ["MQPSCommand Publish"]
    if is_retained:
        parts.append("MQPSPubOpts IsRetainedPub")
    parts.append(f"MQPSTopic {_quote(topic)}")
    if user_data:
        parts.append(f"MQPSSubUserData {_quote(user_data)}")
    return " ".join(parts)


def _quote(text: str) -> str:
    """Quote a value that has blanks or quotation marks; quotation marks inside are doubled."""
    if text and " " not in text and '"' not in text:
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
