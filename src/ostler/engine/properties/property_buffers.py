"""MQBUFMH and MQMHBUF: properties out of a buffer that holds MQRFH2 headers, and into one."""

from __future__ import annotations

from ostler.engine.properties.message_properties import read_sent_properties
from ostler.engine.properties.properties import PropertySet
from ostler.engine.properties.property_control import GetView, new_header, without_properties
from ostler.engine.properties.rfh2 import Chain, content_of, read_chain, replace_headers
from ostler.model.constants import (
    MQBMHO_DELETE_PROPERTIES,
    MQMHBO_DELETE_PROPERTIES,
    MQMHBO_PROPERTIES_IN_MQRFH2,
    MQRC_OPTIONS_ERROR,
    MQRC_PROPERTY_NOT_AVAILABLE,
)
from ostler.model.errors import MQError


def buffer_to_properties(properties: PropertySet, md: bytes, buffer: bytes, options: int) -> GetView:
    """MQBUFMH: the properties in the buffer replace those of the handle; with MQBMHO_DELETE_PROPERTIES they leave it.

    Returns the descriptor and the buffer as they are afterwards.
    """
    if options & ~MQBMHO_DELETE_PROPERTIES:
        raise MQError(MQRC_OPTIONS_ERROR, "MQBUFMH has options that do not exist.")
    chain = read_chain(md, buffer)
    if chain.fault is not None:
        raise chain.fault
    properties.clear()
    for header in chain.headers:
        for folder in header.folders:
            for each in read_sent_properties(header, folder) or []:
                properties.add(each)
    view = GetView(md, buffer, properties)
    if options & MQBMHO_DELETE_PROPERTIES:
        stripped = without_properties(md, buffer, chain)
        view.md = stripped.md
        view.body = stripped.body
    properties.descriptor = view.md
    return view


def properties_to_buffer(properties: PropertySet, name: str, md: bytes, options: int) -> GetView:
    """MQMHBUF: the properties a name (or % pattern) means, as one MQRFH2 in a buffer.

    What the descriptor described is what follows the header; the descriptor returned describes the header. With
    MQMHBO_DELETE_PROPERTIES the properties leave the handle.
    """
    if options & ~(MQMHBO_PROPERTIES_IN_MQRFH2 | MQMHBO_DELETE_PROPERTIES) or not options & MQMHBO_PROPERTIES_IN_MQRFH2:
        raise MQError(MQRC_OPTIONS_ERROR, "MQMHBUF needs MQMHBO_PROPERTIES_IN_MQRFH2 and knows one option beside it.")
    found = properties.matching(name)
    if not found:
        raise MQError(MQRC_PROPERTY_NOT_AVAILABLE, f"The message handle has no property {name[:80]!r}.")
    md, buffer = replace_headers(md, b"", Chain(content_of(md)), [new_header(md, found)])
    if options & MQMHBO_DELETE_PROPERTIES:
        for each in found:
            properties.remove(each)
    return GetView(md, buffer, properties)
