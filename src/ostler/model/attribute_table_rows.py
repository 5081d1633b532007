"""How a row of the attribute table is written.

One row may serve several object types: it becomes one Attribute for each. Numbers are named by their constants, words
are written `WORD=MQ_CONSTANT` (or `WORD=number`), and a range `low..high`. A default of None says that the queue
manager supplies the value, so that nobody may give one unless the row says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict, Unpack

from ostler.model import constants
from ostler.model.attribute_types import Attribute, ObjectType, Shown, Value, ValueKind
from ostler.model.constants import MQRCCF_ATTR_VALUE_ERROR

Types = tuple[ObjectType, ...]
Default = int | str | tuple[str, ...] | None

# The object types that MQINQ reaches.
_INQUIRED = frozenset(
    (
        ObjectType.QMGR,
        ObjectType.QLOCAL,
        ObjectType.QALIAS,
        ObjectType.QREMOTE,
        ObjectType.QMODEL,
        ObjectType.PROCESS,
        ObjectType.NAMELIST,
    )
)


class More(TypedDict, total=False):
    """What a row may add. Lists are written in one text, separated by blanks."""

    synonyms: str
    words: str
    subtypes: str
    subtype_defaults: dict[str, int | str]
    define: bool
    alter: bool
    mqset: bool
    mqinq: bool
    shown: Shown
    zos: bool
    value_error: str
    set_error: str


def number(name: str) -> int:
    """The number behind a constant's name, or behind plain digits."""
    if name.lstrip("-").isdigit():
        return int(name)
    value = getattr(constants, name)
    assert isinstance(value, int), name
    return value


def _words(text: str) -> tuple[tuple[str, int], ...]:
    pairs = (pair.partition("=") for pair in text.split())
    return tuple((word, number(constant)) for word, _, constant in pairs)


def _value(default: Default, words: tuple[tuple[str, int], ...]) -> Default:
    """A default written as a word becomes the word's number."""
    if isinstance(default, str) and words:
        return dict(words)[default]
    return default


def _attributes(
    types: Types,
    name: str,
    pcf_name: str,
    kind: ValueKind,
    default: Default,
    about: str,
    more: More,
    low: int = 0,
    high: int = 0,
    length: int = 0,
    items: int = 0,
) -> tuple[Attribute, ...]:
    words = _words(more.get("words", ""))
    number_words = () if kind is ValueKind.WORDS else words
    given: Value | None = _value(default, number_words)
    special = more.get("subtype_defaults", {})
    overrides = tuple((subtype, _value(value, number_words)) for subtype, value in special.items())
    settable = default is not None
    inquired = pcf_name.startswith(("MQIA_", "MQCA_"))
    return tuple(
        Attribute(
            object_type=object_type,
            name=name,
            synonyms=tuple(more.get("synonyms", "").split()),
            pcf_name=pcf_name,
            pcf=number(pcf_name) if pcf_name else 0,
            kind=kind,
            low=low,
            high=high,
            length_max=length,
            items_max=items,
            words=words,
            default=given,
            subtype_defaults=tuple((subtype, value) for subtype, value in overrides if value is not None),
            subtypes=tuple(more.get("subtypes", "").split()),
            at_define=more.get("define", settable),
            at_alter=more.get("alter", more.get("define", settable)),
            by_mqset=more.get("mqset", False),
            by_mqinq=more.get("mqinq", inquired and object_type in _INQUIRED),
            shown=more.get("shown", Shown.ALWAYS),
            zos_only=more.get("zos", False),
            value_error=number(more.get("value_error", "")) if "value_error" in more else MQRCCF_ATTR_VALUE_ERROR,
            set_error=number(more["set_error"]) if "set_error" in more else 0,
            description=about,
        )
        for object_type in types
    )


def integer(
    types: Types, name: str, pcf: str, limits: str, default: Default, about: str, **more: Unpack[More]
) -> tuple[Attribute, ...]:
    """A number between two limits; `words` names the numbers outside them that are allowed too."""
    low, _, high = limits.partition("..")
    return _attributes(types, name, pcf, ValueKind.INTEGER, default, about, more, low=int(low), high=int(high))


def one_of(
    types: Types, name: str, pcf: str, choices: str, default: Default, about: str, **more: Unpack[More]
) -> tuple[Attribute, ...]:
    """One of several words."""
    more["words"] = choices
    return _attributes(types, name, pcf, ValueKind.ENUM, default, about, more)


def flag(
    types: Types, name: str, pcf: str, choices: str, default: Default, about: str, **more: Unpack[More]
) -> tuple[Attribute, ...]:
    """Two words, each of which stands alone in MQSC without a value."""
    more["words"] = choices
    return _attributes(types, name, pcf, ValueKind.FLAG, default, about, more)


def options(
    types: Types, name: str, pcf: str, choices: str, default: Default, about: str, **more: Unpack[More]
) -> tuple[Attribute, ...]:
    """A number whose bits have names."""
    more["words"] = choices
    return _attributes(types, name, pcf, ValueKind.OPTIONS, default, about, more)


def text(
    types: Types, name: str, pcf: str, length: int, default: Default, about: str, **more: Unpack[More]
) -> tuple[Attribute, ...]:
    """Text of a limited length."""
    return _attributes(types, name, pcf, ValueKind.STRING, default, about, more, length=length)


def name_of(
    types: Types, name: str, pcf: str, length: int, default: Default, about: str, **more: Unpack[More]
) -> tuple[Attribute, ...]:
    """The name of an object, in MQ's character set."""
    return _attributes(types, name, pcf, ValueKind.NAME, default, about, more, length=length)


def texts(
    types: Types, name: str, pcf: str, items: int, length: int, default: Default, about: str, **more: Unpack[More]
) -> tuple[Attribute, ...]:
    """A list of texts."""
    return _attributes(types, name, pcf, ValueKind.STRINGS, default, about, more, length=length, items=items)


def names(
    types: Types, name: str, pcf: str, items: int, length: int, default: Default, about: str, **more: Unpack[More]
) -> tuple[Attribute, ...]:
    """A list of names in MQ's character set."""
    return _attributes(types, name, pcf, ValueKind.NAMES, default, about, more, length=length, items=items)


def several(
    types: Types, name: str, pcf: str, items: int, choices: str, default: Default, about: str, **more: Unpack[More]
) -> tuple[Attribute, ...]:
    """A list of words."""
    more["words"] = choices
    return _attributes(types, name, pcf, ValueKind.WORDS, default, about, more, items=items)


def integers(types: Types, name: str, pcf: str, items: int, about: str, **more: Unpack[More]) -> tuple[Attribute, ...]:
    """A list of numbers, each written in digits."""
    high = 2**63 - 1
    return _attributes(types, name, pcf, ValueKind.INTEGERS, None, about, more, low=-high, high=high, items=items)


def date(types: Types, name: str, pcf: str, about: str, **more: Unpack[More]) -> tuple[Attribute, ...]:
    """A day, yyyy-mm-dd. The queue manager supplies it. MQINQ gives it in twelve characters."""
    return _attributes(types, name, pcf, ValueKind.DATE, None, about, more, length=12)


def time(types: Types, name: str, pcf: str, about: str, **more: Unpack[More]) -> tuple[Attribute, ...]:
    """A time of day, hh.mm.ss. The queue manager supplies it."""
    return _attributes(types, name, pcf, ValueKind.TIME, None, about, more, length=8)


def hexadecimal(
    types: Types, name: str, pcf: str, length: int, default: Default, about: str, **more: Unpack[More]
) -> tuple[Attribute, ...]:
    """Bytes, written in hexadecimal; the length counts bytes."""
    return _attributes(types, name, pcf, ValueKind.HEX, default, about, more, length=length)


def altered(types: Types) -> Iterable[tuple[Attribute, ...]]:
    """When an object was last changed: every definition has this."""
    yield date(types, "ALTDATE", "MQCA_ALTERATION_DATE", "The day on which the definition was last changed.")
    yield time(types, "ALTTIME", "MQCA_ALTERATION_TIME", "The time of day at which the definition was last changed.")


def table(*rows: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    """Join rows into one table."""
    return tuple(attribute for row in rows for attribute in row)
