"""Offload of shared messages: which bodies go outside their structure, by the structure's definition."""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.shared.membership import Membership, Structure
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.coupling.entries import Entry
from ostler.model.coupling.offload import (
    ENTRY_MESSAGE_BYTES_MAX,
    IN_DATA_SET,
    IN_DATABASE,
    IN_STRUCTURE,
    NOWHERE,
    OffloadRules,
)
from ostler.model.definitions import Definition

_MD_BYTES: Final = 364
_LEVEL_DEFAULT: Final = 3
_RULES: Final = 3
_THRESHOLDS: Final = (70, 80, 90)
_SIZES: Final = ("32K", "4K", "0K")
_KILO: Final = 1024


def rules_of(definition: Definition) -> OffloadRules:
    """Return the offload rules of a structure as it is defined."""
    attributes = definition.attributes
    level = attributes.get("CFLEVEL")
    offload = attributes.get("OFFLOAD")
    place: i64 = IN_STRUCTURE
    if offload == mq.MQCFOFFLD_DB2:
        place = IN_DATABASE
    elif attributes.get("DSGROUP"):
        place = IN_DATA_SET
    rules = OffloadRules(level if isinstance(level, int) else _LEVEL_DEFAULT, place)
    for number in range(_RULES):
        threshold = attributes.get(f"OFFLD{number + 1}TH")
        size = attributes.get(f"OFFLD{number + 1}SZ")
        rules.add(
            threshold if isinstance(threshold, int) else _THRESHOLDS[number],
            size_bytes(size if isinstance(size, str) else _SIZES[number]),
        )
    return rules


def size_bytes(size: str) -> i64:
    """Return the bytes of OFFLDnSZ, such as 32K."""
    digits = size.strip().upper().removesuffix("K")
    return int(digits) * _KILO if digits.isdigit() else 64 * _KILO


def choose_place(
    engine: Engine, sharing: Membership, structure: Structure, properties_bytes: i64, body_bytes: i64
) -> i64:
    """Return the place of a message's body now, or the negative reason why there is none for it."""
    definition = engine.of_type(ObjectType.CFSTRUCT).get(structure.name)
    rules = structure.rules
    if definition is not None and (rules is None or structure.rules_of is not definition):
        rules = rules_of(definition)
        structure.rules = rules
        structure.rules_of = definition  # ALTER makes another one
    offload = sharing.offload
    is_long: bool = _MD_BYTES + properties_bytes + body_bytes > ENTRY_MESSAGE_BYTES_MAX
    if rules is None or offload is None:
        return -mq.MQRC_WRONG_CF_LEVEL if is_long else IN_STRUCTURE
    place: i64 = rules.choose(properties_bytes, body_bytes, structure.used_bytes, structure.limit_bytes)
    if place == NOWHERE:
        return -mq.MQRC_WRONG_CF_LEVEL
    if place == IN_STRUCTURE:
        return IN_STRUCTURE
    reason: i64 = offload.reason(structure.name, place)
    if reason == 0:
        return place
    return -reason if is_long else IN_STRUCTURE


def with_reference(entry: Entry, reference: bytes, owner: i64) -> Entry:
    """Return an entry as it goes to the facility when its body is elsewhere."""
    sent = Entry(entry.id, entry.priority, entry.md, entry.properties, b"")
    sent.body_length = len(entry.body)
    sent.reference = reference
    sent.owner = owner
    sent.flags = entry.flags
    sent.expiry_ms = entry.expiry_ms
    return sent


def with_body(entry: Entry, body: bytes, bytes_max: i64) -> Entry:
    """Return an entry with at most so many bytes of the body that was fetched for it."""
    whole = Entry(entry.id, entry.priority, entry.md, entry.properties, body[:bytes_max])
    whole.body_length = entry.body_length
    whole.reference = entry.reference
    whole.owner = entry.owner
    whole.flags = entry.flags
    whole.expiry_ms = entry.expiry_ms
    whole.backout_count = entry.backout_count
    whole.key = entry.key
    return whole
