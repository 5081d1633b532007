"""What the sample programs put: lines of input, files, texts, or so many bytes; and the fields that go with them."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from ostler.cli.samples.connection import UsageError
from ostler.cli.samples.json_lines import message_of
from ostler.client.api.message import Message, MessageFields
from ostler.client.api.property_types import PropertyValue
from ostler.model.errors import MQError

BYTES_MAX: Final = 104_857_600
_ID_LENGTH: Final = 24
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,18})")
_WORDS: Final[dict[str, PropertyValue]] = {"true": True, "false": False, "null": None}
_PATTERN: Final = bytes(range(32, 127))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is put."""
    group = parser.add_argument_group("what is put", "Without any of these, each line of input is a message.")
    group.add_argument("-m", "--message", action="append", metavar="TEXT", help="a message; may be given several times")
    group.add_argument("-f", "--file", action="append", type=Path, metavar="FILE", help="a message from a whole file")
    group.add_argument("--size", type=_size, metavar="BYTES", help="a message of so many bytes")
    group.add_argument("--count", type=positive, metavar="N", help="all that so many times; of lines, only the first N")
    kind = group.add_mutually_exclusive_group()
    kind.add_argument("--hex", action="store_true", help="lines and texts are hexadecimal digits")
    kind.add_argument("--json", action="store_true", help="lines are messages as get --json writes them")
    _add_fields(parser)


def _add_fields(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("fields")
    persistence = group.add_mutually_exclusive_group()
    persistence.add_argument("--persistent", action="store_const", const=True, help="survives a restart")
    persistence.add_argument(
        "--not-persistent", action="store_const", const=False, dest="persistent", help="does not; else the queue says"
    )
    group.add_argument("--priority", type=int, choices=range(10), metavar="0-9", help="9 goes first")
    group.add_argument("--expiry", type=seconds, metavar="SECONDS", help="how long it lives")
    group.add_argument("--correl", type=identifier, metavar="ID", help="correlation id: text, or 0x and digits")
    group.add_argument("--reply-to", metavar="QUEUE", default="", help="where replies shall go")
    group.add_argument("--format", metavar="NAME", help="its format; else MQSTR for text, blank for bytes")
    group.add_argument(
        "-P",
        "--property",
        action="append",
        type=named_value,
        metavar="NAME=VALUE",
        help="a property: a number, true or false, or text; quotes make it text",
    )


def fields_of(arguments: argparse.Namespace) -> MessageFields:
    """The fields that were given; what was not given is left to the queue and to the line of input."""
    fields: MessageFields = {}
    if arguments.persistent is not None:
        fields["persistent"] = arguments.persistent
    if arguments.priority is not None:
        fields["priority"] = arguments.priority
    if arguments.expiry is not None:
        fields["expiry"] = arguments.expiry
    if arguments.correl:
        fields["correlation_id"] = arguments.correl
    if arguments.reply_to:
        fields["reply_to"] = arguments.reply_to
    if arguments.format is not None:
        fields["format"] = arguments.format
    if arguments.property:
        fields["properties"] = dict(arguments.property)
    return fields


# -- bodies ------------------------------------------------------------------------------------------------------------


def total_of(arguments: argparse.Namespace) -> int | None:
    """How many messages there will be, if that is known beforehand."""
    fixed = len(arguments.message or ()) + len(arguments.file or ()) + (arguments.size is not None)
    return fixed * (arguments.count or 1) if fixed else None


def bodies(arguments: argparse.Namespace, source: BinaryIO) -> Iterator[Message | bytes | str]:
    """The messages to put, one after the other. Raises UsageError for what is none."""
    if total_of(arguments) is None:
        yield from _lines(arguments, source)
        return
    for _ in range(arguments.count or 1):
        for text in arguments.message or ():
            yield _unhexed(text) if arguments.hex else _from_json(text) if arguments.json else text
        for path in arguments.file or ():
            yield _content(path)
        if arguments.size is not None:
            yield _filling(arguments.size)


def _lines(arguments: argparse.Namespace, source: BinaryIO) -> Iterator[Message | bytes | str]:
    if source.isatty():
        print("Type messages, a line each. Ctrl-D ends.", file=sys.stderr)
    count = arguments.count if arguments.count is not None else -1
    # Twice the longest message: as hexadecimal digits, and its end.
    while count and (line := source.readline(2 * BYTES_MAX + 2)):
        count -= 1
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if arguments.json:
            yield _from_json(_text(line, "of input"))
        elif arguments.hex:
            yield _unhexed(_text(line, "of input"))
        else:
            yield _text_or_bytes(line)


def _text_or_bytes(data: bytes) -> bytes | str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _text(data: bytes, where: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"a line {where} is not UTF-8") from None


def _unhexed(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise UsageError(f"{text[:40]!r} are not hexadecimal digits, two for each byte") from None


def _from_json(text: str) -> Message:
    try:
        return message_of(json.loads(text))
    except (ValueError, TypeError, MQError) as error:
        raise UsageError(f"{text[:40]!r} is no message as get --json writes them: {error}") from None


def _content(path: Path) -> bytes | str:
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > BYTES_MAX:
        raise UsageError(f"{path} is longer than a message may be, {BYTES_MAX} bytes")
    return _text_or_bytes(data)


def _filling(size: int) -> bytes:
    return (_PATTERN * (size // len(_PATTERN) + 1))[:size]


# -- values of options -------------------------------------------------------------------------------------------------


def positive(text: str) -> int:
    """A count."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 31):
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 to {(1 << 31) - 1}")
    return int(text)


def _size(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= BYTES_MAX):
        raise argparse.ArgumentTypeError(f"{text} is no number from 0 to {BYTES_MAX}")
    return int(text)


def seconds(text: str) -> float:
    """A number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (0 <= number <= 1e8 and math.isfinite(number)):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return number


def identifier(text: str) -> bytes:
    """A message or correlation id: text, or 0x and hexadecimal digits."""
    try:
        value = bytes.fromhex(text[2:]) if text.startswith("0x") else text.encode()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} are not hexadecimal digits, two for each byte") from None
    if not 0 < len(value) <= _ID_LENGTH:
        raise argparse.ArgumentTypeError(f"{text} has {len(value)} bytes; an identifier has 1 to {_ID_LENGTH}")
    return value


def named_value(text: str) -> tuple[str, PropertyValue]:
    """NAME=VALUE of a property."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE")
    return name, property_value(value)


def property_value(text: str) -> PropertyValue:
    """A value as it reads: a number written as numbers are, true, false, null, else text. In quotes always text."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and -(1 << 63) <= int(text) < 1 << 63:
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    # "nan", "infinity" and "1_000" are words, and a number with leading zeros is a code of some kind.
    return number if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", text) and math.isfinite(number) else text


def property_lines(properties: Mapping[str, PropertyValue]) -> Iterable[str]:
    """Properties as `-P` would take them."""
    for name, value in properties.items():
        yield f"{name}={_shown(value)}"


def _shown(value: PropertyValue) -> str:
    for text, word in _WORDS.items():
        if value is word:
            return text
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, str):
        return f'"{value}"' if property_value(value) != value or not value else value
    return str(value)
