"""Filters of Inquire commands: a condition on one attribute, as an integer, string or byte string filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ostler.command.admin.objects import matches
from ostler.command.pcf.errors import bad_parameter
from ostler.command.pcf.values import parameter_of
from ostler.model import constants as mq
from ostler.model.attributes import Attribute, ObjectType, Value, ValueKind, by_pcf, find
from ostler.model.pcf import (
    ByteString,
    ByteStringFilter,
    Integer,
    IntegerFilter,
    IntegerList,
    Parameter,
    String,
    StringFilter,
    StringList,
)

AnyFilter = IntegerFilter | StringFilter | ByteStringFilter

_LISTS: Final = (ValueKind.STRINGS, ValueKind.NAMES, ValueKind.WORDS, ValueKind.INTEGERS)
_COMPARING: Final[dict[int, Callable[[int], bool]]] = {
    mq.MQCFOP_LESS: lambda order: order < 0,
    mq.MQCFOP_EQUAL: lambda order: order == 0,
    mq.MQCFOP_GREATER: lambda order: order > 0,
    mq.MQCFOP_NOT_LESS: lambda order: order >= 0,
    mq.MQCFOP_NOT_EQUAL: lambda order: order != 0,
    mq.MQCFOP_NOT_GREATER: lambda order: order <= 0,
}
_LIKE: Final = (mq.MQCFOP_LIKE, mq.MQCFOP_NOT_LIKE)
_MEMBERS: Final = (mq.MQCFOP_CONTAINS, mq.MQCFOP_EXCLUDES)
_GENERIC_MEMBERS: Final = (mq.MQCFOP_CONTAINS_GEN, mq.MQCFOP_EXCLUDES_GEN)
_ERRORS: Final[dict[type[object], tuple[int, int]]] = {
    IntegerFilter: (mq.MQRCCF_CFIF_PARM_ID_ERROR, mq.MQRCCF_CFIF_OPERATOR_ERROR),
    StringFilter: (mq.MQRCCF_CFSF_PARM_ID_ERROR, mq.MQRCCF_CFSF_OPERATOR_ERROR),
    ByteStringFilter: (mq.MQRCCF_CFBF_PARM_ID_ERROR, mq.MQRCCF_CFBF_OPERATOR_ERROR),
}


@dataclass(frozen=True)
class PcfCondition:
    """A filter that applies to the objects of an inquiry."""

    filter: AnyFilter
    names: tuple[str, ...]  # the names of the attribute in the object types

    def accepts(self, kind: ObjectType, row: Mapping[str, Value]) -> bool:
        """Returns whether an object satisfies the condition. A missing value does not."""
        for name in self.names:
            value = row.get(name)
            attribute = find(kind, name)
            if value is not None and attribute is not None and attribute.pcf == self.filter.parameter:
                actual = parameter_of(attribute, value)
                return actual is not None and _accepts(self.filter, actual)
        return False


def parse_condition(kinds: tuple[ObjectType, ...], given: AnyFilter) -> PcfCondition:
    """Returns the condition that a filter states; refused when the attribute or the operator does not fit."""
    found = [each for kind in kinds if (each := by_pcf(kind, given.parameter)) is not None]
    wrong_parameter, wrong_operator = _ERRORS[type(given)]
    if not found or not any(_has_type_of(given, attribute) for attribute in found):
        raise bad_parameter(wrong_parameter, given.parameter)
    if given.operator not in _operators(given, found[0]):
        raise bad_parameter(wrong_operator, given.parameter)
    return PcfCondition(given, tuple({attribute.name: None for attribute in found}))


def _has_type_of(given: AnyFilter, attribute: Attribute) -> bool:
    number = attribute.pcf
    if isinstance(given, IntegerFilter):
        return mq.MQIA_FIRST <= number <= mq.MQIA_LAST
    if isinstance(given, StringFilter):
        return mq.MQCA_FIRST <= number <= mq.MQCA_LAST
    return number > mq.MQCA_LAST


def _operators(given: AnyFilter, attribute: Attribute) -> tuple[int, ...]:
    if attribute.kind in _LISTS:
        return _MEMBERS if isinstance(given, IntegerFilter) else _MEMBERS + _GENERIC_MEMBERS
    if isinstance(given, IntegerFilter):
        return (*_COMPARING, *_MEMBERS) if attribute.kind == ValueKind.OPTIONS else tuple(_COMPARING)
    return (*_COMPARING, *_LIKE)


def _accepts(given: AnyFilter, actual: Parameter) -> bool:
    operator = given.operator
    if isinstance(given, IntegerFilter):
        if isinstance(actual, IntegerList):
            return (given.value in actual.values) == (operator == mq.MQCFOP_CONTAINS)
        assert isinstance(actual, Integer)
        if operator in _MEMBERS:
            return bool(actual.value & given.value) == (operator == mq.MQCFOP_CONTAINS)
        return _COMPARING[operator]((actual.value > given.value) - (actual.value < given.value))
    if isinstance(given, StringFilter):
        return _accepts_text(operator, given.value, actual)
    assert isinstance(actual, ByteString)
    if operator in _LIKE:
        return actual.value.startswith(given.value) == (operator == mq.MQCFOP_LIKE)
    mine = actual.value.ljust(len(given.value), b"\0")
    other = given.value.ljust(len(actual.value), b"\0")
    return _COMPARING[operator]((mine > other) - (mine < other))


def _accepts_text(operator: int, wanted: str, actual: Parameter) -> bool:
    if isinstance(actual, StringList):
        items = [item.rstrip(" ") for item in actual.values]
        if operator in _GENERIC_MEMBERS:
            return any(matches(item, wanted) for item in items) == (operator == mq.MQCFOP_CONTAINS_GEN)
        return (wanted in items) == (operator == mq.MQCFOP_CONTAINS)
    assert isinstance(actual, String)
    text = actual.value.rstrip(" ")
    if operator in _LIKE:
        return matches(text, wanted) == (operator == mq.MQCFOP_LIKE)
    return _COMPARING[operator]((text > wanted) - (text < wanted))
