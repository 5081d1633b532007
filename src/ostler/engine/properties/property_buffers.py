"""MQBUFMH and MQMHBUF: properties from and into a buffer of MQRFH2 headers."""

from __future__ import annotations

from ostler.engine.properties.message_properties import read_sent_properties
from ostler.engine.properties.properties import PropertySet
from ostler.engine.properties.property_control import GetView, new_header, without_properties
from ostler.engine.properties.rfh2 import Chain, content_of, read_chain, replace_headers
from ostler.model import constants as mq
from ostler.model.errors import MQError


def buffer_to_properties(properties: PropertySet, md: bytes, buffer: bytes, options: int) -> GetView:
    """MQBUFMH: replace the properties of the handle by those in the buffer.

    MQBMHO_DELETE_PROPERTIES removes them from the buffer. Returns descriptor and buffer as they are afterwards.
    """
    if options & ~mq.MQBMHO_DELETE_PROPERTIES:
        raise MQError(mq.MQRC_OPTIONS_ERROR, "MQBUFMH has options that do not exist.")
    chain = read_chain(md, buffer)
    if chain.fault is not None:
        raise chain.fault
    properties.clear()
    for header in chain.headers:
        for folder in header.folders:
            for each in read_sent_properties(header, folder) or []:
                properties.add(each)
    view = GetView(md, buffer, properties)
    if options & mq.MQBMHO_DELETE_PROPERTIES:
        stripped = without_properties(md, buffer, chain)
        view.md = stripped.md
        view.body = stripped.body
    properties.descriptor = view.md
    return view


def properties_to_buffer(properties: PropertySet, name: str, md: bytes, options: int) -> GetView:
    """MQMHBUF: return the properties that match a name (or % pattern) as one MQRFH2 in a buffer.

    The header describes what the descriptor described; the returned descriptor describes the header.
    MQMHBO_DELETE_PROPERTIES removes the properties from the handle.
    """
    if (
        options & ~(mq.MQMHBO_PROPERTIES_IN_MQRFH2 | mq.MQMHBO_DELETE_PROPERTIES)
        or not options & mq.MQMHBO_PROPERTIES_IN_MQRFH2
    ):
        raise MQError(
            mq.MQRC_OPTIONS_ERROR,
            "MQMHBUF needs MQMHBO_PROPERTIES_IN_MQRFH2; only MQMHBO_DELETE_PROPERTIES can be added.",
        )
    found = properties.matching(name)
    if not found:
        raise MQError(mq.MQRC_PROPERTY_NOT_AVAILABLE, f"The message handle has no property {name[:80]!r}.")
    md, buffer = replace_headers(md, b"", Chain(content_of(md)), [new_header(md, found)])
    if options & mq.MQMHBO_DELETE_PROPERTIES:
        for each in found:
            properties.remove(each)
    return GetView(md, buffer, properties)
