"""Output of messages by the sample programs: text, hexadecimal digits, plain bytes, JSON, or files.

Only bodies go to standard output, so that pipes carry messages. On a terminal, control characters are escaped.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from ostler.cli.samples.bodies import property_lines
from ostler.cli.samples.connection import UsageError
from ostler.cli.samples.json_lines import json_of
from ostler.client.api.dead_letter_header import DeadLetterHeader
from ostler.client.api.dead_letters import as_dead_letter
from ostler.client.api.message import Message
from ostler.model.errors import MQError

_CONTROL_CHARACTERS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PRIVATE: Final = 0o600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the output options."""
    group = parser.add_argument_group(
        "how messages are shown", "Without any of these: as text, a line each; properties too, on a terminal."
    )
    forms = group.add_mutually_exclusive_group()
    forms.add_argument("--hex", action="store_const", const="hex", dest="form", help="hexadecimal digits, a line each")
    forms.add_argument("--raw", action="store_const", const="raw", dest="form", help="the bytes, with nothing between")
    forms.add_argument("--json", action="store_const", const="json", dest="form", help="all of it in JSON, a line each")
    group.add_argument("--details", action="store_true", help="show the descriptor and the properties, too")
    group.add_argument("--output-dir", type=Path, metavar="DIR", help="write each message to a file of its own there")


class Output:
    """Writes messages one after the other. Call `flush` before they are committed."""

    def __init__(self, form: str, stream: BinaryIO, directory: Path | None = None, details: bool = False) -> None:
        self._form = form
        self._stream = stream
        self._directory = directory
        self._details = details
        self._is_terminal = stream.isatty()
        self.count = 0
        if directory is not None:
            try:
                directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UsageError(f"{directory} cannot be created: {error.strerror}") from None

    @property
    def is_on_terminal(self) -> bool:
        """Returns whether the output shares the terminal with a progress bar."""
        return self._is_terminal and self._directory is None

    def show(self, message: Message) -> None:
        self.count += 1
        if self._directory is not None:
            self._write_file(message, self._directory)
        elif self._form == "raw":
            self._stream.write(message.data)
        else:
            letter = as_dead_letter(message) if self._details and self._form == "text" else None
            shown = letter.original() if letter is not None else message
            lines = [*self._remarks(message), self._line(shown)]
            self._stream.write("".join(f"{line}\n" for line in lines).encode())

    def flush(self) -> None:
        self._stream.flush()

    def _line(self, message: Message) -> str:
        if self._form == "json":
            return json.dumps(json_of(message), ensure_ascii=self._is_terminal)
        if self._form == "hex":
            return message.data.hex()
        return self._safe(text_of(message))

    def _remarks(self, message: Message) -> list[str]:
        """Returns the lines before the body, for people to read."""
        if self._form == "json":
            return []
        remarks = [f"-- message {self.count}: {describe_message(message)}"] if self._details else []
        header = as_dead_letter(message).header if self._details else None
        if header is not None:
            remarks += [f"   {self._safe(line)}" for line in header_lines(header)]
        if self._details or self._is_terminal:
            if message.topic:
                remarks.append(f"   {self._safe(_published(message))}")
            remarks += [f"   {self._safe(line)}" for line in property_lines(message.properties)]
        return remarks

    def _safe(self, text: str) -> str:
        return printable(text) if self._is_terminal else text

    def _write_file(self, message: Message, directory: Path) -> None:
        """Writes a file atomically. Messages with the same identifier do not overwrite each other."""
        ending = ".json" if self._form == "json" else ".hex" if self._form == "hex" else ".msg"
        path = directory / f"{self.count:06d}-{message.message_id.hex()}{ending}"
        unfinished = directory / f".{path.name}.unfinished"
        data = message.data if ending == ".msg" else f"{self._line(message)}\n".encode()
        try:
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.rename(unfinished, path)
        except OSError as error:
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def output_for(arguments: argparse.Namespace) -> Output:
    """Returns the output that the options select."""
    return Output(arguments.form or "text", sys.stdout.buffer, arguments.output_dir, arguments.details)


def text_of(message: Message) -> str:
    """Returns the body as text; one that is not text as 0x and hexadecimal digits."""
    try:
        return message.text
    except MQError:
        return f"0x{message.data.hex()}"


def _published(message: Message) -> str:
    """Returns the topic of a publication, and the user data."""
    user_data = f", for {message.user_data}" if message.user_data else ""
    return f"{'retained for' if message.is_retained else 'published to'} {message.topic}{user_data}"


def header_lines(header: DeadLetterHeader) -> list[str]:
    """Returns the fields of a dead-letter header (MQDLH) by MQ's names, a line each."""
    when = f"{header.put_time:%Y-%m-%d %H:%M:%S} UTC" if header.put_time is not None else "not known"
    fields = (
        ("Version", header.version),
        ("Reason", f"{header.reason} {header.reason_name}"),
        ("DestQName", header.queue),
        ("DestQMgrName", header.manager),
        ("Encoding", header.encoding),
        ("CodedCharSetId", header.ccsid),
        ("Format", header.format or "no format"),
        ("PutApplType", header.application_type),
        ("PutApplName", header.application),
        ("PutDate, PutTime", when),
    )
    return [f"MQDLH {name:17} {value}" for name, value in fields]


def printable(text: str) -> str:
    """Returns text with control characters escaped, except line breaks and tabs."""
    return _CONTROL_CHARACTERS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def describe_message(message: Message) -> str:
    parts = [f"id {message.message_id.hex()}"]
    if message.correlation_id:
        parts.append(f"correlation id {message.correlation_id.hex()}")
    parts.append("persistent" if message.persistent else "not persistent")
    parts.append(f"priority {message.priority}")
    parts.append(message.format or "no format")
    parts.append(f"{len(message.data)} bytes")
    if message.expiry is not None:
        parts.append(f"expires in {message.expiry:.1f} s")
    if message.reply_to:
        parts.append(f"reply to {message.reply_to}")
    if message.backout_count:
        parts.append(f"backed out {message.backout_count} times")
    if message.put_time is not None:
        parts.append(f"put {message.put_time:%Y-%m-%d %H:%M:%S} UTC by {message.user or 'nobody'}")
    return ", ".join(parts)
