"""PCF commands: the description of each, and a request checked against it.

The tables of docs/reference/pcf.md are generated from the descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from ostler.command.admin.context import CommandContext
from ostler.command.pcf.errors import PcfRefused, bad_parameter, bad_selector
from ostler.command.pcf.filters import PcfCondition, parse_condition
from ostler.command.pcf.values import PARAMETER_REASONS, value_of
from ostler.model import constants
from ostler.model import constants as mq
from ostler.model.attributes import Attribute, ObjectType, Value, attributes_of, by_pcf, has
from ostler.model.pcf import (
    ByteString,
    ByteStringFilter,
    Group,
    Integer,
    IntegerFilter,
    IntegerList,
    Parameter,
    PcfMessage,
    String,
    StringFilter,
    StringList,
)

NAME_LENGTH: Final = 48
CHANNEL_NAME_LENGTH: Final = 20

Reply: TypeAlias = list[Parameter]
"""The parameters of one reply message."""

Handler: TypeAlias = Callable[[CommandContext, "PcfRequest"], Iterator[Reply]]
"""Runs a command and yields a reply for each object; an empty one reports success."""


class PcfStructure(Enum):
    """The PCF structure of a parameter; the value is its name."""

    INTEGER = "MQCFIN"
    STRING = "MQCFST"
    INTEGERS = "MQCFIL"
    STRINGS = "MQCFSL"
    BYTES = "MQCFBS"


@dataclass(frozen=True)
class PcfField:
    """A parameter of a command. `values` are its valid numbers, by the names of their constants."""

    constant: str
    kind: PcfStructure
    length_max: int = 0
    values: tuple[str, ...] = ()
    required: bool = False

    @property
    def number(self) -> int:
        return constant(self.constant)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(constant(name) for name in self.values)

    @property
    def is_selection(self) -> bool:
        """Returns whether this is the list of attributes of an Inquire command."""
        return self.kind == PcfStructure.INTEGERS and self.constant.endswith("_ATTRS")


@dataclass(frozen=True)
class PcfCommand:
    """The description of a PCF command.

    `settable` are the object types whose attributes are parameters, too. `filtered` are those whose attributes a
    filter may name. With `ordered`, required parameters come first, in the order of `fields`.
    """

    constant: str
    run: Handler
    fields: tuple[PcfField, ...] = ()
    settable: tuple[ObjectType, ...] = ()
    filtered: tuple[ObjectType, ...] = ()
    ordered: bool = True

    @property
    def number(self) -> int:
        return constant(self.constant)

    @property
    def is_inquiry(self) -> bool:
        """Returns whether the command only inquires."""
        return self.constant.startswith("MQCMD_INQUIRE_")


def constant(name: str) -> int:
    """Returns the number of a named constant, or of plain digits."""
    if name.isdigit():
        return int(name)
    value = getattr(constants, name)
    assert isinstance(value, int), name
    return value


def text(name: str, length_max: int = NAME_LENGTH, required: bool = False) -> PcfField:
    return PcfField(name, PcfStructure.STRING, length_max, required=required)


def number(name: str, *values: str, required: bool = False) -> PcfField:
    return PcfField(name, PcfStructure.INTEGER, 0, values, required)


def numbers(name: str, required: bool = False) -> PcfField:
    return PcfField(name, PcfStructure.INTEGERS, required=required)


def texts(name: str, length_max: int) -> PcfField:
    return PcfField(name, PcfStructure.STRINGS, length_max)


def octets(name: str, length_max: int, required: bool = False) -> PcfField:
    return PcfField(name, PcfStructure.BYTES, length_max, required=required)


# -- requests ----------------------------------------------------------------------------------------------------------


_KINDS: Final[dict[type[object], PcfStructure]] = {
    Integer: PcfStructure.INTEGER,
    String: PcfStructure.STRING,
    IntegerList: PcfStructure.INTEGERS,
    StringList: PcfStructure.STRINGS,
    ByteString: PcfStructure.BYTES,
}
_DUPLICATES: Final[dict[type[object], int]] = {
    String: mq.MQRCCF_CFST_DUPLICATE_PARM,
    StringList: mq.MQRCCF_CFSL_DUPLICATE_PARM,
    ByteString: mq.MQRCCF_CFBS_DUPLICATE_PARM,
}

# Parameters with a reason of their own for an invalid value.
_VALUE_ERRORS: Final = {
    mq.MQIA_Q_TYPE: mq.MQRCCF_Q_TYPE_ERROR,
    mq.MQIACF_CHLAUTH_TYPE: mq.MQRCCF_CHLAUTH_TYPE_ERROR,
    mq.MQIACF_ESCAPE_TYPE: mq.MQRCCF_ESCAPE_TYPE_ERROR,
    mq.MQIACF_FORCE: mq.MQRCCF_FORCE_VALUE_ERROR,
    mq.MQIACF_MODE: mq.MQRCCF_MODE_VALUE_ERROR,
    mq.MQIACF_PURGE: mq.MQRCCF_PURGE_VALUE_ERROR,
    mq.MQIACF_REPLACE: mq.MQRCCF_REPLACE_VALUE_ERROR,
    mq.MQIACH_CHANNEL_INSTANCE_TYPE: mq.MQRCCF_CHL_INST_TYPE_ERROR,
    mq.MQIACH_CHANNEL_TABLE: mq.MQRCCF_CHANNEL_TABLE_ERROR,
    mq.MQIACH_CHANNEL_TYPE: mq.MQRCCF_CHANNEL_TYPE_ERROR,
    mq.MQIACH_IN_DOUBT: mq.MQRCCF_INDOUBT_VALUE_ERROR,
    mq.MQIACH_XMIT_PROTOCOL_TYPE: mq.MQRCCF_XMIT_PROTOCOL_TYPE_ERR,
}


class PcfRequest:
    """The parameters of a command. Reading a missing one returns the default."""

    def __init__(self, command: PcfCommand, message: PcfMessage) -> None:
        """Raises PcfRefused for parameters that the command does not take."""
        self.command = command
        self.header = message.header
        self.condition: PcfCondition | None = None
        self._found: dict[int, Parameter] = {}
        fields = {field.number: field for field in command.fields}
        for item in message.parameters:
            self._take(item, fields.get(item.parameter))
        self._check_required(message)

    def _take(self, item: Parameter, field: PcfField | None) -> None:
        if isinstance(item, IntegerFilter | StringFilter | ByteStringFilter):
            if self.condition is not None:
                raise bad_parameter(mq.MQRCCF_PARM_CONFLICT, item.parameter)
            self.condition = parse_condition(self.command.filtered, item)
            return
        if isinstance(item, Group):
            raise bad_parameter(mq.MQRCCF_CFGR_PARM_ID_ERROR, item.parameter)
        if field is not None:
            if field.is_selection and isinstance(item, Integer):
                # Widely used monitoring programs send one attribute, or MQIACF_ALL, as MQCFIN.
                item = IntegerList(item.parameter, (item.value,))
            if _KINDS.get(type(item)) != field.kind:
                raise bad_parameter(PARAMETER_REASONS[type(item)], item.parameter)
            _check_field(field, item)
        elif not any(by_pcf(kind, item.parameter) is not None for kind in self.command.settable):
            raise bad_parameter(PARAMETER_REASONS[type(item)], item.parameter)
        if item.parameter in self._found:
            raise bad_parameter(_DUPLICATES.get(type(item), mq.MQRCCF_CFIN_DUPLICATE_PARM), item.parameter)
        self._found[item.parameter] = item

    def _check_required(self, message: PcfMessage) -> None:
        """Checks that required parameters come first, in the order of the description."""
        required = [field.number for field in self.command.fields if field.required]
        if len(message.parameters) < len(required):
            raise PcfRefused(mq.MQRCCF_PARM_COUNT_TOO_SMALL)
        for number in required:
            if number not in self._found:
                raise bad_parameter(mq.MQRCCF_PARM_MISSING, number)
        if not self.command.ordered:
            return
        for number, item in zip(required, message.parameters, strict=False):
            if item.parameter != number:
                raise bad_parameter(mq.MQRCCF_PARM_SEQUENCE_ERROR, item.parameter)

    # -- reading -------------------------------------------------------------------------------------------------------

    def has(self, parameter: int) -> bool:
        return parameter in self._found

    def text(self, parameter: int, default: str = "") -> str:
        item = self._found.get(parameter)
        return item.value if isinstance(item, String) else default

    def number(self, parameter: int, default: int = 0) -> int:
        item = self._found.get(parameter)
        return item.value if isinstance(item, Integer) else default

    def numbers(self, parameter: int) -> tuple[int, ...] | None:
        item = self._found.get(parameter)
        return item.values if isinstance(item, IntegerList) else None

    def texts(self, parameter: int) -> tuple[str, ...] | None:
        item = self._found.get(parameter)
        return item.values if isinstance(item, StringList) else None

    def octets(self, parameter: int) -> bytes | None:
        item = self._found.get(parameter)
        return item.value if isinstance(item, ByteString) else None

    def given(self, kind: ObjectType, subtype: str, is_new: bool, is_in_group: bool = False) -> dict[str, Value]:
        """Returns the checked attributes of an object. Refused for attributes that the type lacks.

        Attributes that only z/OS has are taken in a queue-sharing group.
        """
        fields = {field.number for field in self.command.fields}
        values: dict[str, Value] = {}
        for number, item in self._found.items():
            attribute = by_pcf(kind, number)
            if attribute is not None and _may_give(attribute, subtype, is_new, is_in_group):
                values[attribute.name] = value_of(attribute, item)
            elif number not in fields:
                raise bad_parameter(PARAMETER_REASONS[type(item)], number)
        return values

    def selected(
        self, parameter: int, kinds: tuple[ObjectType, ...], groups: dict[int, str] | None = None
    ) -> Selection:
        """Returns the attributes that an Inquire command selects: all, unless it has a list of them.

        The attribute of a filter is always included, as in MQ: programs read it without selecting it.
        """
        filtered = set(self.condition.names) if self.condition is not None else set()
        selectors = self.numbers(parameter)
        if selectors is None:
            return Selection(None, filtered)
        if not selectors:
            raise bad_parameter(mq.MQRCCF_CFIL_COUNT_ERROR, parameter)
        seen: set[int] = set()
        names: set[str] = filtered
        for selector in selectors:
            if selector in seen:
                raise bad_selector(selector, mq.MQRCCF_CFIL_DUPLICATE_VALUE)
            seen.add(selector)
            found = [each.name for kind in kinds for each in attributes_of(kind) if each.pcf == selector]
            if groups and selector in groups:
                found = groups[selector].split()
            if not found and selector != mq.MQIACF_ALL:
                raise bad_selector(selector)
            names.update(found)
        return Selection(None if mq.MQIACF_ALL in seen else names, names)


class Selection:
    """The attributes that a reply contains. `names` is None for all; `extra` are always included."""

    def __init__(self, names: set[str] | None, extra: set[str] | None = None) -> None:
        self.names = names
        self.extra = extra or set()
        # Attributes by type of object, cached for replies about many objects.
        self.columns: dict[tuple[ObjectType, str, tuple[str, ...]], list[Attribute]] = {}

    def wants(self, name: str, is_always_shown: bool = True) -> bool:
        if name in self.extra:
            return True
        return is_always_shown if self.names is None else name in self.names


def _may_give(attribute: Attribute, subtype: str, is_new: bool, is_in_group: bool) -> bool:
    if (attribute.zos_only and not is_in_group) or not has(attribute, subtype):
        return False
    return attribute.at_define if is_new else attribute.at_alter


def _check_field(field: PcfField, item: Parameter) -> None:
    if isinstance(item, String) and len(item.value.encode("utf-8")) > field.length_max:
        raise bad_parameter(mq.MQRCCF_CFST_STRING_LENGTH_ERR, item.parameter)
    if isinstance(item, ByteString) and len(item.value) > field.length_max:
        raise bad_parameter(mq.MQRCCF_CFBS_STRING_LENGTH_ERR, item.parameter)
    if isinstance(item, StringList) and any(len(value.encode("utf-8")) > field.length_max for value in item.values):
        raise bad_parameter(mq.MQRCCF_CFSL_STRING_LENGTH_ERR, item.parameter)
    if isinstance(item, Integer) and field.values and item.value not in field.numbers:
        raise bad_parameter(_VALUE_ERRORS.get(item.parameter, mq.MQRCCF_PARM_VALUE_ERROR), item.parameter)
