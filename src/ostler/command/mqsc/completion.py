"""Completion of a command that is being typed: verbs, nouns, keywords, values and names of objects.

Pure: everything comes from the tables, and the names of objects from the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ostler.command.mqsc.grammar import OBJECT_NOUNS, STATUS_NOUNS, VERBS
from ostler.command.mqsc.interpreter import nouns_of
from ostler.model.attributes import Attribute, ObjectType, Shown, ValueKind, attributes_of, find, has

Names = Callable[[str, str], Sequence[str]]
"""Returns the names of objects of a noun that begin with a text."""

DELIMITERS: Final = " \t\n(),"
HELP: Final = ("HELP", "?")
_ALONE: Final = ("END", "EXIT", "HELP", "QUIT")
_QUOTES: Final = "'\""
_UNQUOTED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_%*")
_SUBTYPES: Final = ("CHLTYPE", "AUTHTYPE", "TRPTYPE", "TYPE")
_YES_NO: Final = ("NO", "YES")
# Keywords that are not attributes, by verb; those that end with a bracket take a value.
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "DEFINE": ("LIKE(", "NOREPLACE", "REPLACE"),
    "ALTER": ("FORCE",),
    "DELETE": ("IGNSTATE(",),
    "DISPLAY": ("ALL", "WHERE("),
    "START": ("IGNSTATE(",),
    "STOP": ("IGNSTATE(",),
}
_MORE_OPTIONS: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("DELETE", "QLOCAL"): ("NOPURGE", "PURGE"),
    ("DELETE", "CHANNEL"): ("CHLTABLE(",),
    ("STOP", "CHANNEL"): ("CONNAME(", "MODE(", "QMNAME(", "STATUS("),
    ("PING", "CHANNEL"): ("DATALEN(",),
    ("RESET", "CHANNEL"): ("SEQNUM(",),
    ("RESOLVE", "CHANNEL"): ("ACTION(", "LUWID("),
    ("START", "CHINIT"): ("INITQ(",),
    ("DISPLAY", "CHSTATUS"): ("CURRENT", "SAVED", "SHORT"),
    ("REFRESH", "SECURITY"): ("TYPE(",),
    ("SET", "CHLAUTH"): ("ACTION(",),
    ("SET", "AUTHREC"): ("AUTHADD(", "AUTHRMV(", "GROUP(", "OBJTYPE(", "PRINCIPAL(", "PROFILE("),
    ("DELETE", "AUTHREC"): ("GROUP(", "OBJTYPE(", "PRINCIPAL(", "PROFILE("),
    ("DISPLAY", "CHLAUTH"): ("MATCH(",),
    ("MOVE", "QLOCAL"): ("QSGDISP(", "TOQLOCAL(", "TYPE("),
}
_OPTION_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "IGNSTATE": _YES_NO,
    "CHLTABLE": ("CLNTTBL", "QMGRTBL"),
    "MODE": ("FORCE", "QUIESCE", "TERMINATE"),
    "STATUS": ("INACTIVE", "STOPPED"),
    "ACTION": ("ADD", "REMOVE", "REMOVEALL", "REPLACE"),
    "MATCH": ("ALL", "EXACT", "GENERIC", "RUNCHECK"),
}
_RESOLVE_ACTIONS: Final = ("BACKOUT", "COMMIT")
_SECURITY_TYPES: Final = ("AUTHSERV", "CONNAUTH", "SSL")
# Attributes whose value is the name of an object.
_REFERENCES: Final = {
    "BOQNAME": "QUEUE",
    "INITQ": "QUEUE",
    "TARGET": "QUEUE",
    "XMITQ": "QUEUE",
    "DEADQ": "QUEUE",
    "DEFXMITQ": "QUEUE",
    "STREAMQ": "QUEUE",
    "DEST": "QUEUE",
    "TOQLOCAL": "QLOCAL",
    "MDURMDL": "QMODEL",
    "MNDURMDL": "QMODEL",
    "PROCESS": "PROCESS",
    "CLUSNL": "NAMELIST",
    "CONNAUTH": "AUTHINFO",
    "TOPICOBJ": "TOPIC",
}
_LISTS: Final = (ValueKind.STRINGS, ValueKind.NAMES, ValueKind.WORDS, ValueKind.INTEGERS, ValueKind.OPTIONS)


@dataclass
class TypedCommand:
    """A partial command. `words` are those outside of brackets, `beginning` is the unfinished one."""

    words: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    beginning: str = ""
    owner: str = ""  # the word before the open bracket
    is_inside: bool = False


def complete(text: str, names: Names) -> list[str]:
    """Returns the sorted completions of the last word of a text, which begins after the last delimiter."""
    typed = _read(text)
    if typed.words and typed.words[0] in HELP:
        return _beginning_with(typed.beginning, _help_words(typed.words[1:]))
    if typed.is_inside:
        return _values(typed, names)
    if not typed.words:
        return _beginning_with(typed.beginning, [*_verbs(), *_ALONE])
    verb = VERBS.get(typed.words[0], "")
    if len(typed.words) == 1:
        return _beginning_with(typed.beginning, set(nouns_of(verb).values()))
    given = set(typed.words[2:])
    return [each for each in _beginning_with(typed.beginning, _keywords(verb, typed)) if each.rstrip("(") not in given]


def kinds_of(word: str) -> tuple[ObjectType, ...]:
    """Returns the types of a noun, whole or abbreviated; none for a noun that is not in the table."""
    noun = OBJECT_NOUNS.get(word) or STATUS_NOUNS.get(word)
    if noun is not None:
        return noun.types
    return (ObjectType(word),) if word in ObjectType.__members__ else ()


def whole_noun(verb: str, word: str) -> str:
    """Returns a noun without abbreviation; empty if the verb does not take it."""
    return nouns_of(verb).get(word, "")


def _verbs() -> list[str]:
    return [verb for verb in set(VERBS.values()) if nouns_of(verb)]


def _read(text: str) -> TypedCommand:
    typed = TypedCommand()
    quote = ""
    for character in text:
        if quote:
            typed.beginning += character
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            typed.beginning += character
            quote = character
        elif character in DELIMITERS:
            _end_word(typed)
            if character == "(" and not typed.is_inside:
                typed.is_inside = True
                typed.owner = typed.words[-1] if typed.words else ""
            elif character == ")":
                typed.is_inside = False
        else:
            typed.beginning += character
    return typed


def _end_word(typed: TypedCommand) -> None:
    if typed.beginning:
        if typed.is_inside:
            typed.values.setdefault(typed.owner, []).append(typed.beginning.strip(_QUOTES))
        else:
            typed.words.append(typed.beginning.upper())
    typed.beginning = ""


def _beginning_with(beginning: str, candidates: Iterable[str]) -> list[str]:
    wanted = beginning.upper()
    return sorted(candidate for candidate in set(candidates) if candidate.startswith(wanted))


# -- keywords ----------------------------------------------------------------------------------------------------------


def _keywords(verb: str, typed: TypedCommand) -> list[str]:
    noun = whole_noun(verb, typed.words[1])
    found = [*_OPTIONS.get(verb, ()), *_MORE_OPTIONS.get((verb, noun), ())]
    if noun == "AUTHREC" and verb != "DISPLAY":
        return found
    subtype = _subtype(typed)
    for kind in kinds_of(noun):
        for attribute in attributes_of(kind):
            if has(attribute, subtype) and _belongs(verb, attribute):
                found += _keyword_texts(verb, attribute)
    return found


def _subtype(typed: TypedCommand) -> str:
    for keyword in _SUBTYPES:
        values = typed.values.get(keyword)
        if values:
            return values[0].upper()
    return ""


def _belongs(verb: str, attribute: Attribute) -> bool:
    """Returns whether an attribute is a keyword of commands with this verb."""
    if verb == "DISPLAY":
        return attribute.shown != Shown.NEVER
    if verb == "ALTER":
        return attribute.at_alter
    return verb in ("DEFINE", "SET") and attribute.at_define


def _keyword_texts(verb: str, attribute: Attribute) -> list[str]:
    if verb == "DISPLAY":
        return [attribute.name]
    if attribute.kind == ValueKind.FLAG:
        return [word for word, _ in attribute.words]
    return [f"{attribute.name}("]


# -- values ------------------------------------------------------------------------------------------------------------


def _values(typed: TypedCommand, names: Names) -> list[str]:
    if len(typed.words) < 2:
        return []
    verb = VERBS.get(typed.words[0], "")
    noun = whole_noun(verb, typed.words[1])
    if not noun:
        return []
    if len(typed.words) == 2 or typed.owner == "LIKE":
        return _object_names(noun, typed.beginning, names)
    if typed.owner == "WHERE":
        found = [attribute.name for kind in kinds_of(noun) for attribute in attributes_of(kind)]
        return _beginning_with(typed.beginning, found) if not typed.values.get("WHERE") else []
    if typed.owner in _REFERENCES:
        return _object_names(_REFERENCES[typed.owner], typed.beginning, names)
    words, is_list = _words(verb, noun, typed.owner)
    return [word if is_list else f"{word})" for word in _beginning_with(typed.beginning, words)]


def _words(verb: str, noun: str, keyword: str) -> tuple[list[str], bool]:
    """Returns the values of a keyword, and whether it takes several."""
    if verb == "REFRESH":
        return list(_SECURITY_TYPES), False
    if verb == "RESOLVE":
        return list(_RESOLVE_ACTIONS) if keyword == "ACTION" else [], False
    if noun == "AUTHREC" and keyword in ("AUTHADD", "AUTHRMV"):
        keyword = "AUTHLIST"
    for kind in kinds_of(noun):
        attribute = find(kind, keyword)
        if attribute is not None and attribute.name != noun:
            return [word for word, _ in attribute.words], attribute.kind in _LISTS
    return list(_OPTION_VALUES.get(keyword, ())), False


def _object_names(noun: str, beginning: str, names: Names) -> list[str]:
    """Returns names of objects; those with lower case letters need quotes."""
    quote = beginning[:1] if beginning[:1] in tuple(_QUOTES) else ""
    wanted = beginning[1:] if quote else beginning.upper()
    found: list[str] = []
    for name in names(noun, wanted):
        is_plain = all(character in _UNQUOTED for character in name)
        if not name.startswith(wanted) or (not quote and not is_plain):
            continue
        found.append(f"{quote}{name}{quote})")
    return sorted(found)


# -- help --------------------------------------------------------------------------------------------------------------


def _help_words(words: list[str]) -> list[str]:
    if not words:
        return _verbs()
    verb = VERBS.get(words[0], "")
    if len(words) == 1:
        return sorted(set(nouns_of(verb).values()))
    noun = whole_noun(verb, words[1])
    return [attribute.name for kind in kinds_of(noun) for attribute in attributes_of(kind)]
