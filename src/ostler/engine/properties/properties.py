"""The properties of one message handle, with the rules of MQSETMP, MQINQMP and MQDLTMP.

Covers names, types, order and the cursor. Handles, option structures and buffers are handled by the caller.
"""

from __future__ import annotations

from typing import Final, final

from ostler.engine.message.descriptor_fields import DEFAULT_DESCRIPTOR, field_named, field_value, with_field
from ostler.engine.properties.jms_fields import jms_value
from ostler.engine.properties.property_names import (
    DESCRIPTOR_PREFIX,
    JMS_SETTABLE,
    JMS_TYPES,
    NameCounts,
    PropertyNamePattern,
    check_length,
    check_name,
    check_storable,
    folder_of,
    groups_of,
    stored_name,
)
from ostler.engine.properties.property_values import PropertySource, Value, check_value, convert_value, pack_value
from ostler.model import constants as mq
from ostler.model.errors import MQError

_COPY_MASK: Final = mq.MQCOPY_ALL | mq.MQCOPY_FORWARD | mq.MQCOPY_PUBLISH | mq.MQCOPY_REPLY | mq.MQCOPY_REPORT
_SET_OPTIONS: Final = frozenset(
    {
        mq.MQSMPO_SET_FIRST,
        mq.MQSMPO_SET_PROP_UNDER_CURSOR,
        mq.MQSMPO_SET_PROP_AFTER_CURSOR,
        mq.MQSMPO_SET_PROP_BEFORE_CURSOR,
        mq.MQSMPO_APPEND_PROPERTY,
    },
)
_CURSOR_OPTIONS: Final = mq.MQIMPO_INQ_NEXT | mq.MQIMPO_INQ_PROP_UNDER_CURSOR
_INQUIRE_OPTIONS: Final = _CURSOR_OPTIONS | mq.MQIMPO_CONVERT_TYPE | mq.MQIMPO_CONVERT_VALUE | mq.MQIMPO_QUERY_LENGTH


@final
class Property:
    """One property with its descriptor. `type_text` holds an unknown data type (dt) of an MQRFH2 element."""

    def __init__(
        self,
        name: str,
        type: int,
        value: Value,
        support: int = mq.MQPD_SUPPORT_OPTIONAL,
        context: int = mq.MQPD_NO_CONTEXT,
        copy_options: int = mq.MQCOPY_DEFAULT,
        type_text: str = "",
    ) -> None:
        self.name = name
        self.type = type
        self.value = value
        self.support = support
        self.context = context
        self.copy_options = copy_options
        self.type_text = type_text

    def is_copied_to(self, copy_option: int) -> bool:
        """Return whether the property is copied into a message of that kind (MQCOPY_FORWARD, MQCOPY_REPLY ...)."""
        return self.copy_options & (mq.MQCOPY_ALL | copy_option) != 0


@final
class PropertyInquiry:
    """The result of MQINQMP. `reason` is MQRC_NONE or the warning MQRC_PROP_TYPE_NOT_SUPPORTED."""

    def __init__(self, found: Property, type: int, value: Value, reason: int) -> None:
        self.name = found.name
        self.type = type
        self.value = value
        self.support = found.support
        self.context = found.context
        self.copy_options = found.copy_options
        self.type_text = found.type_text
        self.reason = reason
        self.length = len(pack_value(type, value, False))


@final
class PropertySet(PropertySource):
    """Ordered properties with a cursor, and the message descriptor that belongs to them.

    With `validate`, names obey MQ's rules (MQCMHO_VALIDATE); without it they only need to be storable. `descriptor_set`
    lists the fields set by Root.MQMD names, for MQPMO_MD_FOR_OUTPUT_ONLY.
    """

    def __init__(self, validate: bool = True, descriptor: bytes = DEFAULT_DESCRIPTOR) -> None:
        self.validate = validate
        self.descriptor = descriptor
        self.descriptor_set: list[str] = []
        self.properties: list[Property] = []
        # Built on the first change; most sets are only read.
        self._counts: NameCounts | None = None
        # None before the first inquiry, and after the property under the cursor was deleted.
        self._cursor: Property | None = None
        # Index at which MQIMPO_INQ_NEXT continues.
        self._next = 0

    def __len__(self) -> int:
        return len(self.properties)

    # Lookup.

    def find(self, name: str) -> Property | None:
        """Return the first property with that canonical name."""
        for candidate in self.properties:
            if candidate.name == name:
                return candidate
        return None

    def value(self, name: str) -> Value:
        """Return a value by name as a selector refers to it: also descriptor fields and JMS names."""
        if name.startswith(DESCRIPTOR_PREFIX):
            return field_value(self.descriptor, field_named(name))
        if name in JMS_TYPES:
            return jms_value(name, self.descriptor, self)
        found = self.find(stored_name(name))
        return None if found is None else found.value

    def reset_cursor(self) -> None:
        self._cursor = None
        self._next = 0

    def clear(self) -> None:
        self.properties = []
        self._counts = None
        self.reset_cursor()

    # MQSETMP.

    def set(
        self,
        name: str,
        type: int,
        value: Value,
        options: int = mq.MQSMPO_SET_FIRST,
        support: int = mq.MQPD_SUPPORT_OPTIONAL,
        context: int = mq.MQPD_NO_CONTEXT,
        copy_options: int = mq.MQCOPY_DEFAULT,
    ) -> None:
        """MQSETMP: set or add a property at the position of `options`. Nothing changes if it raises.

        MQSMPO_SET_PROP_UNDER_CURSOR changes the value of the property under the cursor, not its name.
        """
        if options not in _SET_OPTIONS:
            raise MQError(mq.MQRC_OPTIONS_ERROR, "MQSETMP needs exactly one option for the position of the property.")
        if copy_options & ~_COPY_MASK or context not in (mq.MQPD_NO_CONTEXT, mq.MQPD_USER_CONTEXT):
            raise MQError(mq.MQRC_PD_ERROR, "The property descriptor has a context or copy option that does not exist.")
        if self.validate:
            check_name(name)
        else:
            check_storable(name)
        value = check_value(type, value)
        if name.startswith(DESCRIPTOR_PREFIX):
            self._set_field(name, type, value)
            return
        name = self._settable_name(name, type)
        if self.validate or folder_of(name) != "mq":
            # Only properties defined by MQ can require support (MQPD.Support).
            support = mq.MQPD_SUPPORT_OPTIONAL
        added = Property(name, type, value, support, context, copy_options)
        if options == mq.MQSMPO_SET_PROP_UNDER_CURSOR:
            self._replace(self._changeable_under_cursor(), added)
            return
        counts = self._name_counts()
        existing = self.find(name) if options == mq.MQSMPO_SET_FIRST and name in counts.names else None
        if existing is not None:
            self._replace(existing, added)
            return
        if counts.would_mix(name):
            raise MQError(
                mq.MQRC_MIXED_CONTENT_NOT_ALLOWED, f"Part of {name[:80]!r} would be a property and a group; rename it."
            )
        self._insert(self._insertion_index(name, options), added)

    def _set_field(self, name: str, type: int, value: Value) -> None:
        self.descriptor = with_field(self.descriptor, field_named(name), type, value)
        short = name[len(DESCRIPTOR_PREFIX) :]
        if short not in self.descriptor_set:
            self.descriptor_set.append(short)

    def _settable_name(self, name: str, type: int) -> str:
        """Return the canonical name; JMS names that may be set are mapped to their property."""
        if name not in JMS_TYPES:
            return stored_name(name)
        if name not in JMS_SETTABLE:
            raise MQError(
                mq.MQRC_PROPERTY_NAME_ERROR, f"{name} can be inquired but not set; set the descriptor instead."
            )
        if type not in (JMS_TYPES[name], mq.MQTYPE_NULL):
            raise MQError(mq.MQRC_PROPERTY_TYPE_ERROR, f"{name} must have the type that JMS defines.")
        return JMS_SETTABLE[name]

    def _name_counts(self) -> NameCounts:
        counts = self._counts
        if counts is None:
            counts = NameCounts()
            for each in self.properties:
                counts.change(each.name, 1)
            self._counts = counts
        return counts

    def _under_cursor(self) -> Property:
        if self._cursor is None:
            raise MQError(mq.MQRC_PROPERTY_NOT_AVAILABLE, "No property is under the cursor; inquire one first.")
        return self._cursor

    def _changeable_under_cursor(self) -> Property:
        """Return the property under the cursor if it can be changed. Descriptor fields and JMS names are computed."""
        found = self._under_cursor()
        if found not in self.properties:
            raise MQError(mq.MQRC_PROPERTY_NOT_AVAILABLE, f"{found.name} is computed and cannot be changed or deleted.")
        return found

    def _insertion_index(self, name: str, options: int) -> int:
        """Return the index of a new property: at the cursor, or behind its closest relatives in the hierarchy."""
        if options in (mq.MQSMPO_SET_PROP_BEFORE_CURSOR, mq.MQSMPO_SET_PROP_AFTER_CURSOR):
            at = self.properties.index(self._changeable_under_cursor())
            return at if options == mq.MQSMPO_SET_PROP_BEFORE_CURSOR else at + 1
        counts = self._name_counts()
        if name in counts.names:
            return self._index_after(name, False)
        for group in reversed(groups_of(name)):
            if group in counts.groups:
                return self._index_after(group, True)
        return len(self.properties)

    def _index_after(self, name: str, group: bool) -> int:
        index = len(self.properties)
        for at, existing in enumerate(self.properties):
            if (name in groups_of(existing.name)) if group else existing.name == name:
                index = at + 1
        return index

    def _insert(self, at: int, added: Property) -> None:
        self.properties.insert(at, added)
        if at < self._next:
            self._next += 1
        if self._counts is not None:
            self._counts.change(added.name, 1)

    def _replace(self, existing: Property, added: Property) -> None:
        """Change value and descriptor of an existing property; its name and position stay."""
        existing.type = added.type
        existing.value = added.value
        existing.support = added.support
        existing.context = added.context
        existing.copy_options = added.copy_options
        existing.type_text = ""

    def add(self, added: Property) -> None:
        """Append a property as it was stored or sent, unchecked."""
        self._insert(len(self.properties), added)

    # MQINQMP.

    def inquire(self, name: str, options: int = 0, wanted_type: int = mq.MQTYPE_AS_SET) -> PropertyInquiry:
        """MQINQMP: return a property by name, or the first or next one that a name ending in % matches.

        With MQIMPO_CONVERT_TYPE the value is converted to `wanted_type`. If it raises, the cursor does not move.
        """
        if options & ~_INQUIRE_OPTIONS or options & _CURSOR_OPTIONS == _CURSOR_OPTIONS:
            raise MQError(mq.MQRC_OPTIONS_ERROR, "MQINQMP has options that do not exist or do not go together.")
        next_at = self._next
        if options & mq.MQIMPO_INQ_PROP_UNDER_CURSOR:
            found: Property | None = self._under_cursor()
        else:
            found = self._computed(name)
            if found is None:
                next_at = self._search(name, self._next if options & mq.MQIMPO_INQ_NEXT else 0)
                found = self.properties[next_at - 1]
        assert found is not None
        answer = _make_inquiry(found, options, wanted_type)
        if options & mq.MQIMPO_INQ_PROP_UNDER_CURSOR == 0:
            self._next = next_at
            self._cursor = found
        return answer

    def _computed(self, name: str) -> Property | None:
        """Return a property that is not in the list: a descriptor field or a JMS name."""
        if name.startswith(DESCRIPTOR_PREFIX) and not name.endswith("%"):
            field = field_named(name)
            return Property(name, field.type, field_value(self.descriptor, field))
        if name not in JMS_TYPES:
            return None
        value = jms_value(name, self.descriptor, self)
        if value is None:
            raise _not_available(name)
        stored = self.find(JMS_SETTABLE.get(name, ""))
        if stored is not None and stored.value == value:
            return Property(name, stored.type, value, stored.support, stored.context, stored.copy_options)
        return Property(name, JMS_TYPES[name], value)

    def _search(self, name: str, start: int) -> int:
        """Return the index behind the first match at or after `start`."""
        pattern = PropertyNamePattern(name)
        for at in range(start, len(self.properties)):
            if pattern.matches(self.properties[at].name):
                return at + 1
        raise _not_available(name)

    def matching(self, name: str) -> list[Property]:
        """Return all properties that match a name, or a name ending in %."""
        pattern = PropertyNamePattern(name)
        return [each for each in self.properties if pattern.matches(each.name)]

    # MQDLTMP.

    def delete(self, name: str, options: int = 0) -> None:
        """MQDLTMP: delete the first property of that name; with MQDMPO_DEL_PROP_UNDER_CURSOR the one at the cursor."""
        if options & ~mq.MQDMPO_DEL_PROP_UNDER_CURSOR:
            raise MQError(mq.MQRC_OPTIONS_ERROR, "MQDLTMP has options that do not exist.")
        if options & mq.MQDMPO_DEL_PROP_UNDER_CURSOR:
            found: Property | None = self._changeable_under_cursor()
        else:
            check_length(name)
            if "%" in name:
                raise MQError(mq.MQRC_PROPERTY_NAME_ERROR, "MQDLTMP takes a whole name, without wildcard.")
            found = self.find(stored_name(JMS_SETTABLE.get(name, name)))
        if found is None:
            raise _not_available(name)
        self.remove(found)

    def remove(self, found: Property) -> None:
        """Remove a property of this set."""
        at = self.properties.index(found)
        del self.properties[at]
        if at < self._next:
            self._next -= 1
        if found is self._cursor:
            self._cursor = None
        if self._counts is not None:
            self._counts.change(found.name, -1)


def _make_inquiry(found: Property, options: int, wanted_type: int) -> PropertyInquiry:
    if found.type_text:
        return PropertyInquiry(found, found.type, found.value, mq.MQRC_PROP_TYPE_NOT_SUPPORTED)
    if options & mq.MQIMPO_CONVERT_TYPE and wanted_type != mq.MQTYPE_AS_SET:
        return PropertyInquiry(found, wanted_type, convert_value(found.type, found.value, wanted_type), mq.MQRC_NONE)
    return PropertyInquiry(found, found.type, found.value, mq.MQRC_NONE)


def _not_available(name: str) -> MQError:
    return MQError(mq.MQRC_PROPERTY_NOT_AVAILABLE, f"The message has no (further) property {name[:80]!r}.")
