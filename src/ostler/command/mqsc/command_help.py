"""HELP in runmqsc, from the tables: verbs, their nouns and attributes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from ostler.command.mqsc.completion import kinds_of, whole_noun
from ostler.command.mqsc.grammar import VERBS
from ostler.command.mqsc.interpreter import nouns_of
from ostler.model.attributes import Attribute, ObjectType, Shown, ValueKind, attributes_of, find, to_text

_WIDTH: Final = 100
_INDENT: Final = "   "
_VERBS: Final = {
    "ALTER": "change some attributes of an object",
    "ARCHIVE": "close the current log extent, so that it can be archived",
    "CLEAR": "take all messages off a queue",
    "DEFINE": "create an object; with REPLACE also an existing one",
    "DELETE": "delete an object",
    "DISPLAY": "show objects, or their status",
    "MOVE": "move messages from one queue to another",
    "PING": "test whether the queue manager or a channel answers",
    "PURGE": "delete the state of a telemetry channel",
    "REFRESH": "refresh cached security, configuration or cluster data",
    "RESET": "reset a counter or a state",
    "RESOLVE": "commit or back out in-doubt messages",
    "RESUME": "resume membership of a cluster",
    "SET": "set rules and authorities",
    "START": "start a channel, a listener or a service",
    "STOP": "stop a channel, a listener or a service",
    "SUSPEND": "suspend membership of a cluster",
}
_HOW: Final = (
    "HELP verb, HELP verb noun or HELP verb noun attribute show more; so does HELP attribute. END leaves.",
    "A line that ends with + continues on the next one; text with blanks or lower case letters needs 'quotes'.",
)


def help_lines(words: Sequence[str]) -> list[str]:
    """Returns the answer to HELP with some words."""
    words_given = [word.upper().rstrip(";").partition("(")[0] for word in words]
    if not words_given:
        return _overview()
    verb = VERBS.get(words_given[0], "")
    if not verb:
        return _without_verb(words_given)
    if len(words_given) == 1:
        return _verb(verb)
    noun = whole_noun(verb, words_given[1])
    if not noun:
        takes = ", ".join(sorted(set(nouns_of(verb).values())))
        return [f"{verb} takes no {words_given[1]}.", *_folded(f"It takes {takes}.", "")]
    if len(words_given) == 2:
        return _command(verb, noun)
    return _attribute(kinds_of(noun), words_given[2], f"{noun} has no attribute {words_given[2]}.")


def _overview() -> list[str]:
    verbs = [verb for verb in sorted(set(VERBS.values())) if nouns_of(verb)]
    lines = [f"{_INDENT}{_with_short(verb):16} {_VERBS.get(verb, '')}".rstrip() for verb in verbs]
    return ["The commands:", *lines, *_HOW]


def _with_short(verb: str) -> str:
    short = [word for word, whole in VERBS.items() if whole == verb and word != verb]
    return f"{verb} ({short[0]})" if short else verb


def _verb(verb: str) -> list[str]:
    words: dict[str, list[str]] = {}
    for word, whole in nouns_of(verb).items():
        words.setdefault(whole, []).extend([word] if word != whole else [])
    nouns = [f"{whole} ({', '.join(short)})" if short else whole for whole, short in sorted(words.items())]
    if not nouns:
        return [f"{verb} does nothing on this platform."]
    return [f"{_with_short(verb)}: {_VERBS.get(verb, '')}.", *_folded(f"It takes {', '.join(nouns)}.", "")]


def _command(verb: str, noun: str) -> list[str]:
    lines = [f"{verb} {noun}{'' if noun in ('QMGR', 'QMSTATUS', 'SECURITY') else '(name)'}"]
    seen: set[str] = set()
    for kind in kinds_of(noun):
        for attribute in sorted(attributes_of(kind), key=lambda each: each.name):
            if attribute.name not in seen and attribute.name != noun and _is_for(verb, attribute):
                seen.add(attribute.name)
                lines += _folded(f"{_shape(attribute)}  {attribute.description}{_default(attribute)}", _INDENT)
    return lines


def _is_for(verb: str, attribute: Attribute) -> bool:
    if verb == "DEFINE" or verb == "SET":
        return attribute.at_define
    if verb == "ALTER":
        return attribute.at_alter
    return verb == "DISPLAY" and attribute.shown != Shown.NEVER


def _shape(attribute: Attribute) -> str:
    """Returns an attribute with a placeholder for its value."""
    words = "|".join(word for word, _ in attribute.words)
    if attribute.kind == ValueKind.FLAG:
        return words
    if attribute.kind == ValueKind.INTEGER:
        numbers = f"{attribute.low}..{attribute.high}"
        return f"{attribute.name}({f'{words}|{numbers}' if words else numbers})"
    if words:
        return f"{attribute.name}({words}{',...' if attribute.kind in (ValueKind.WORDS, ValueKind.OPTIONS) else ''})"
    what = {ValueKind.NAME: "name", ValueKind.NAMES: "name,...", ValueKind.STRINGS: "text,..."}.get(attribute.kind)
    return f"{attribute.name}({what or attribute.kind.value.partition(',')[0]})"


def _default(attribute: Attribute) -> str:
    if attribute.default is None or attribute.shown == Shown.MASKED or not to_text(attribute, attribute.default):
        return ""
    return f" [{to_text(attribute, attribute.default)}]"


def _without_verb(words_given: Sequence[str]) -> list[str]:
    """Answers HELP attribute, and HELP noun attribute."""
    kinds = kinds_of(words_given[0])
    if kinds and len(words_given) > 1:
        return _attribute(kinds, words_given[1], f"{words_given[0]} has no attribute {words_given[1]}.")
    if kinds:
        verbs = [verb for verb in sorted(set(VERBS.values())) if whole_noun(verb, words_given[0])]
        return [f"{words_given[0]} goes with {', '.join(verbs)}. HELP verb {words_given[0]} shows more."]
    return _attribute(
        tuple(ObjectType), words_given[0], f"There is neither a command nor an attribute {words_given[0]}."
    )


def _attribute(kinds: Iterable[ObjectType], name: str, otherwise: str) -> list[str]:
    """Describes an attribute for each type that has it; types with the same description share one."""
    described: dict[tuple[str, ...], list[str]] = {}
    for kind in kinds:
        attribute = find(kind, name)
        if attribute is not None:
            described.setdefault(tuple(_details(attribute)), []).append(kind.value)
    if not described:
        return [otherwise]
    return [line for details, types in described.items() for line in (f"{name} of {', '.join(types)}", *details)]


def _details(attribute: Attribute) -> list[str]:
    lines = [*_folded(_shape(attribute), _INDENT), *_folded(attribute.description, _INDENT)]
    if attribute.synonyms:
        lines.append(f"{_INDENT}Also {', '.join(attribute.synonyms)}.")
    if attribute.kind in (ValueKind.STRING, ValueKind.NAME, ValueKind.STRINGS, ValueKind.NAMES):
        lines.append(f"{_INDENT}At most {attribute.length_max} bytes.")
    if attribute.subtypes:
        lines += _folded(f"Only {', '.join(attribute.subtypes)} have it.", _INDENT)
    if _default(attribute):
        lines.append(f"{_INDENT}Default{_default(attribute)}.")
    if not attribute.at_define:
        lines.append(f"{_INDENT}The queue manager sets it.")
    elif not attribute.at_alter:
        lines.append(f"{_INDENT}It cannot be altered later.")
    if attribute.zos_only:
        lines.append(f"{_INDENT}It has an effect on z/OS only.")
    return lines


def _folded(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=indent + _INDENT, break_long_words=False
    )
