"""Administration over a link: commands are written as MQSC, and the lines of the answer parsed.

They go over the queue manager's local socket, for its owner. Values come back as from a queue manager in this process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ostler.command.admin.objects import Given, values
from ostler.command.mqsc.display.layout import COLUMN_WIDTH, GAP_WIDTH
from ostler.command.mqsc.grammar import OBJECT_NOUNS
from ostler.model import constants as mq
from ostler.model.attributes import Attribute, ObjectType, Value, ValueKind, attributes_of, find, from_text, to_text
from ostler.model.errors import MQError

_FAILURE: Final = re.compile(r"(AMQ\d{4}[ES]): (.*)", re.DOTALL)
_REASON: Final = re.compile(r"MQRC\w+ \((\d+)\): (.*)", re.DOTALL)
_HEADING: Final = re.compile(r"AMQ\d{4}I: ")
_SYNTAX: Final = "AMQ8405I"
_MARGIN: Final = 3
_UNKNOWN: Final = "AMQ8147E"
_REASONS: Final = {
    _UNKNOWN: mq.MQRC_UNKNOWN_OBJECT_NAME,
    "AMQ8150E": mq.MQRC_OBJECT_ALREADY_EXISTS,
    "AMQ8143E": mq.MQRC_Q_NOT_EMPTY,
    "AMQ8148E": mq.MQRC_OBJECT_IN_USE,
    **{noun.exists: mq.MQRC_OBJECT_ALREADY_EXISTS for noun in OBJECT_NOUNS.values() if noun.exists},
}
_ANY_QUEUE: Final = "QUEUE"
# Keywords without a value, such as SHARE and NOSHARE.
_FLAGS: Final = tuple(
    word for kind in ObjectType for each in attributes_of(kind) if each.kind == ValueKind.FLAG for word, _ in each.words
)
_LISTS: Final = (ValueKind.NAMES, ValueKind.STRINGS, ValueKind.WORDS)
_QUEUES: Final = (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL)


def check_answer(lines: list[str]) -> None:
    """Raise MQError when a line of the answer reports a failure."""
    for line in lines:
        _check_line(line, lines)


def _check_line(line: str, lines: list[str]) -> None:
    if line.startswith(_SYNTAX):
        raise MQError(mq.MQRCCF_PARM_SYNTAX_ERROR, " ".join(lines))
    failure = _FAILURE.match(line)
    if failure is None:
        return
    number, text = failure.groups()
    reason = _REASON.search(text)
    if reason is not None:
        raise MQError(int(reason[1]), reason[2])
    raise MQError(_REASONS.get(number, mq.MQRCCF_COMMAND_FAILED), text)


# -- writing -----------------------------------------------------------------------------------------------------------


def define(kind: ObjectType, name: str, given: Mapping[str, Given], like: str | None, replace: bool) -> str:
    options = f" LIKE({_quote(like)})" if like is not None else ""
    return (
        f"DEFINE {_format_object(kind, name)}{_format_attributes(kind, given)}{options}{' REPLACE' if replace else ''}"
    )


def alter(kind: ObjectType, name: str, given: Mapping[str, Given]) -> str:
    return f"ALTER {_format_object(kind, name)}{_format_attributes(kind, given)}"


def delete(kind: ObjectType, name: str, purge: bool) -> str:
    return f"DELETE {_format_object(kind, name)}{' PURGE' if purge else ''}"


def clear(queue: str) -> str:
    return f"CLEAR {_format_object(ObjectType.QLOCAL, queue)}"


def display(word: str, pattern: str, names: Sequence[str]) -> str:
    kind = word.upper()
    what = kind if kind == ObjectType.QMGR.value else f"{kind}({_quote(pattern)})"
    return f"DISPLAY {what} {' '.join(_check_attribute(kind, name) for name in names) or 'ALL'}"


def _check_attribute(word: str, name: str) -> str:
    kinds = _QUEUES if word == _ANY_QUEUE else (ObjectType(word),)
    if all(find(kind, name.upper()) is None for kind in kinds):
        raise MQError(mq.MQRCCF_PARM_SYNTAX_ERROR, f"{word} has no attribute {name!r}.")
    return name.upper()


def _format_object(kind: ObjectType, name: str) -> str:
    return kind.value if kind == ObjectType.QMGR else f"{kind.value}({_quote(name)})"


def _format_attributes(kind: ObjectType, given: Mapping[str, Given]) -> str:
    """Format attributes as MQSC. Each is checked first."""
    return "".join(f" {_format_attribute(kind, name, value)}" for name, value in values(kind, given).items())


def _format_attribute(kind: ObjectType, name: str, value: Value) -> str:
    attribute = find(kind, name)
    assert attribute is not None
    if isinstance(value, int):
        text = to_text(attribute, value)
        return text if attribute.kind == ValueKind.FLAG else f"{name}({text})"
    if isinstance(value, str):
        return f"{name}({_quote(value)})"
    return f"{name}({','.join(_quote(each) for each in value) or _quote('')})"


def _quote(text: str) -> str:
    if "\n" in text or "\r" in text:
        raise MQError(mq.MQRCCF_PARM_SYNTAX_ERROR, "Text in a command must not contain line breaks.")
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


# -- reading -----------------------------------------------------------------------------------------------------------


def parse_display(word: str, names: Sequence[str], lines: Sequence[str]) -> list[dict[str, Value]]:
    """Parse the answer to DISPLAY: for each object NAME, TYPE and the named attributes, or all."""
    shown = [_row(word.upper(), names, list(_items(block))) for block in _blocks(lines)]
    return sorted(shown, key=lambda row: str(row["NAME"]))


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    block: list[str] = []
    for line in lines:
        if _HEADING.match(line):
            if block:
                yield block
            block = []
        elif line.startswith(" " * _MARGIN):
            block.append(line[_MARGIN:])
    if block:
        yield block


def _items(block: list[str]) -> Iterator[str]:
    """Split the lines of one object into attributes: two to a line, except wide ones and lists of several lines."""
    items: list[str] = []
    for line in block:
        left, gap = line[: COLUMN_WIDTH - GAP_WIDTH], line[COLUMN_WIDTH - GAP_WIDTH : COLUMN_WIDTH]
        if line.lstrip().startswith(",") and items and not items[-1].endswith(")"):
            items[-1] += line.strip()
        elif len(line) > COLUMN_WIDTH and not gap.strip() and left.rstrip().endswith((")", *_FLAGS)):
            items += [left.rstrip(), line[COLUMN_WIDTH:]]
        else:
            items.append(line.rstrip())
    return iter(items)


def _row(word: str, names: Sequence[str], items: list[str]) -> dict[str, Value]:
    stated = dict(_split(item) for item in items)
    kind = ObjectType(stated.get("TYPE") or word) if word == _ANY_QUEUE else ObjectType(word)
    row: dict[str, Value] = {"NAME": _split(items[0])[1] or "", "TYPE": kind.value}
    wanted = [each.upper() for each in names]
    for item in items[1:]:
        key, text = _split(item)
        attribute = _flag(kind, key) if text is None else find(kind, key)
        if attribute is None or (wanted and attribute.name not in wanted) or attribute.name == "TYPE":
            continue
        row[attribute.name] = _value(attribute, key if text is None else text)
    return row


def _split(item: str) -> tuple[str, str | None]:
    """Split an attribute into name and value; a keyword alone has no value. An empty value is displayed as a blank."""
    name, bracket, text = item.partition("(")
    return name.strip(), text.rstrip().removesuffix(")").strip() if bracket else None


def _flag(kind: ObjectType, word: str) -> Attribute | None:
    flags = (each for each in attributes_of(kind) if each.kind == ValueKind.FLAG)
    return next((each for each in flags if any(word == known for known, _ in each.words)), None)


def _value(attribute: Attribute, text: str) -> Value:
    if attribute.kind in _LISTS:
        return tuple(text.split(",")) if text else ()
    if attribute.kind == ValueKind.STRING:
        return text
    value = from_text(attribute, text)
    if not isinstance(value, int):
        return value
    return value if to_text(attribute, value) == str(value) else to_text(attribute, value)
