"""All properties of a message: from its property block, MQRFH2 headers and descriptor."""

from __future__ import annotations

from typing import final

from ostler.engine.message.descriptor_fields import field_named, field_value
from ostler.engine.properties.jms_fields import jms_value
from ostler.engine.properties.properties import Property, PropertySet
from ostler.engine.properties.property_block import decode_block
from ostler.engine.properties.property_names import DESCRIPTOR_PREFIX, JMS_TYPES, stored_name
from ostler.engine.properties.property_values import PropertySource, Value
from ostler.engine.properties.rfh2 import Chain, Rfh2, folder_properties, read_chain
from ostler.model.errors import MQError


def read_sent_properties(header: Rfh2, folder: bytes) -> list[Property] | None:
    """Return the properties of a folder in message data; None for a folder without properties or a faulty one."""
    try:
        return folder_properties(header, folder)
    except MQError:
        return None


def collect_properties(md: bytes, block: bytes, chain: Chain) -> PropertySet:
    """Return the properties of a message as MQGET puts them into a message handle.

    A property set by MQSETMP hides one of the same name in the message data.
    """
    properties = PropertySet(True, md)
    for each in decode_block(block):
        properties.add(each)
    set_by_call = {each.name for each in properties.properties}
    for header in chain.headers:
        for folder in header.folders:
            for each in read_sent_properties(header, folder) or []:
                if each.name not in set_by_call:
                    properties.add(each)
    return properties


@final
class MessageProperties(PropertySource):
    """Property source of a selector for one stored message. Properties outside the MQMD are decoded on first use."""

    def __init__(self, md: bytes, body: bytes = b"", block: bytes = b"", properties: PropertySet | None = None) -> None:
        self._md = md
        self._body = body
        self._block = block
        self._properties = properties
        # Values by name, built on the second access, since messages and selectors may have very many. Not built for a
        # set owned by the caller, which may change.
        self._values: dict[str, Value] | None = None
        self._is_given: bool = properties is not None

    def value(self, name: str) -> Value:
        if name.startswith(DESCRIPTOR_PREFIX):
            return field_value(self._md, field_named(name))
        if name in JMS_TYPES:
            return jms_value(name, self._md, self)
        properties = self._properties
        if properties is None:
            properties = collect_properties(self._md, self._block, read_chain(self._md, self._body))
            self._properties = properties
        elif not self._is_given:
            values = self._values
            if values is None:
                values = {}
                for each in properties.properties:
                    values.setdefault(each.name, each.value)
                self._values = values
            return values.get(stored_name(name))
        found = properties.find(stored_name(name))
        return None if found is None else found.value
