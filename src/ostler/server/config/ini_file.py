"""Configuration files in MQ's form: stanzas of attributes. Comments and layout are preserved.

    # a comment
    Log:
       LogPrimaryFiles=3     ; another comment
       LogType=CIRCULAR

Names of stanzas and attributes are not case-sensitive. Reading and writing a file without a change gives the same
bytes; a change touches only its own line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_STANZA: Final = re.compile(r"\s*([A-Za-z]\w*)\s*:\s*([#;].*)?\r?")
_ATTRIBUTE: Final = re.compile(r"([^\S\n]*([A-Za-z]\w*)[ \t]*=[ \t]*)([^\n]*)")
_TRAILING_COMMENT: Final = re.compile(r"[ \t]+[#;]")
_COMMENT: Final = re.compile(r"\s*([#;].*)?")
_NAME: Final = re.compile(r"[A-Za-z]\w*", re.ASCII)
_INDENT: Final = "   "
# A longer file is not a configuration file.
_BYTES_MAX: Final = 1 << 20


class ConfigurationError(Exception):
    """A configuration file cannot be used. The text has file and line, the problem, and what is allowed."""

    def __init__(self, file: str, line: int, problem: str) -> None:
        super().__init__(f"{file}:{line}: {problem}" if line else f"{file}: {problem}")
        self.file = file
        self.line = line
        self.problem = problem

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.file, self.line, self.problem)


class IniAttribute:
    """One attribute in the file. Lines are counted from 1."""

    def __init__(self, name: str, value: str, line: int) -> None:
        self.name = name
        self.value = value
        self.line = line


class Stanza:
    def __init__(self, name: str, line: int) -> None:
        self.name = name
        self.line = line
        self.attributes: list[IniAttribute] = []

    def find(self, name: str) -> IniAttribute | None:
        wanted = name.lower()
        for attribute in self.attributes:
            if attribute.name.lower() == wanted:
                return attribute
        return None

    def last_line(self) -> int:
        return self.attributes[-1].line if self.attributes else self.line


class IniFile:
    """The lines of a file and the stanzas parsed from them. `name` is the file's name in messages."""

    def __init__(self, text: str, name: str = "qm.ini") -> None:
        self.name = name
        self._lines = text.split("\n")
        self.stanzas: list[Stanza] = []
        self._parse()

    @staticmethod
    def read(path: Path) -> IniFile:
        """Raises ConfigurationError for a file that is missing, unreadable, too long, or not in this form."""
        try:
            with open(path, "rb") as file:
                data = file.read(_BYTES_MAX + 1)
        except OSError as error:
            raise ConfigurationError(str(path), 0, f"cannot be read: {error.strerror or error}") from error
        if len(data) > _BYTES_MAX:
            raise ConfigurationError(str(path), 0, f"is longer than {_BYTES_MAX} bytes; a configuration never is")
        try:
            return IniFile(data.decode("utf-8"), str(path))
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ConfigurationError(str(path), line, f"the byte {data[error.start]:#04x} is not UTF-8 text") from None

    def write(self, path: Path) -> None:
        """Replace the file at `path` atomically: after a crash it is the old or the new one."""
        try:
            write_atomically(path, self.text().encode())
        except OSError as error:
            raise ConfigurationError(str(path), 0, f"cannot be written: {error.strerror or error}") from error

    def text(self) -> str:
        return "\n".join(self._lines)

    def stanza(self, name: str) -> Stanza | None:
        """Return the first stanza of a name."""
        wanted = name.lower()
        for stanza in self.stanzas:
            if stanza.name.lower() == wanted:
                return stanza
        return None

    def get(self, stanza: str, attribute: str) -> str | None:
        """Return the value, or None when it is not in the file."""
        found = self.stanza(stanza)
        entry = found.find(attribute) if found else None
        return entry.value if entry else None

    def set_value(self, stanza: str, attribute: str, value: str) -> None:
        """Change or add one attribute, and add the stanza if there is none."""
        _check_writable(stanza, attribute, value)
        found = self.stanza(stanza)
        if found is None:
            self._append([f"{stanza}:", f"{_INDENT}{attribute}={value}"])
        else:
            entry = found.find(attribute)
            if entry is None:
                ending = "\r" if self._lines[found.last_line() - 1].endswith("\r") else ""
                self._lines.insert(found.last_line(), f"{_INDENT}{attribute}={value}{ending}")
            else:
                match = _ATTRIBUTE.fullmatch(self._lines[entry.line - 1])
                assert match is not None
                comment = _split_comment(match[3])[1]
                gap = " " if comment.startswith(("#", ";")) else ""
                self._lines[entry.line - 1] = f"{match[1]}{value}{gap}{comment}"
        self._parse()

    def delete_value(self, stanza: str, attribute: str) -> bool:
        """Remove one attribute; return True if it existed. The stanza stays."""
        found = self.stanza(stanza)
        entry = found.find(attribute) if found else None
        if entry is None:
            return False
        del self._lines[entry.line - 1]
        self._parse()
        return True

    def replace_stanzas(self, stanza: str, contents: Sequence[Sequence[tuple[str, str]]]) -> None:
        """Remove all stanzas of a name, and append one for each item of `contents`: its attributes and values.

        Comments among their lines are removed with them; those before the next stanza stay.
        """
        for attributes in contents:
            for attribute, value in attributes:
                _check_writable(stanza, attribute, value)
        wanted = stanza.lower()
        for found in reversed([each for each in self.stanzas if each.name.lower() == wanted]):
            del self._lines[found.line - 1 : found.last_line()]
        for attributes in contents:
            self._append([f"{stanza}:", *(f"{_INDENT}{attribute}={value}" for attribute, value in attributes)])
        self._parse()

    def _append(self, lines: list[str]) -> None:
        if self._lines[-1] != "":
            self._lines.append("")
        self._lines[-1:] = [*lines, ""]

    def _parse(self) -> None:
        self.stanzas = []
        for number, line in enumerate(self._lines, 1):
            if "\0" in line:
                raise ConfigurationError(self.name, number, "has a null character; the file is damaged")
            if _COMMENT.fullmatch(line):
                continue
            stanza = _STANZA.fullmatch(line)
            if stanza:
                self.stanzas.append(Stanza(stanza[1], number))
                continue
            attribute = _ATTRIBUTE.fullmatch(line)
            if not attribute:
                shown = line.strip()[:60]
                problem = f'"{shown}" is neither a stanza ("Name:") nor an attribute ("Name=value") nor a comment ("#")'
                raise ConfigurationError(self.name, number, problem)
            if not self.stanzas:
                raise ConfigurationError(self.name, number, f'{attribute[2]} comes before the first stanza ("Name:")')
            self.stanzas[-1].attributes.append(IniAttribute(attribute[2], _split_comment(attribute[3])[0], number))


def write_atomically(path: Path, data: bytes) -> None:
    """Write a new file beside the old one, force it, and rename it over the old one."""
    temporary = path.with_name(f"{path.name}+new")
    # A leftover of that name is not written into: it may be a link, or readable by others.
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600)
    try:
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    finally:
        force_directory(path.parent)


def force_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _split_comment(rest: str) -> tuple[str, str]:
    """Split the text after "Name=" into the value and the blanks and comment after it."""
    if rest.startswith(("#", ";")):
        return "", rest
    comment = _TRAILING_COMMENT.search(rest)
    value = rest[: comment.start()] if comment else rest.rstrip()
    return value, rest[len(value) :]


def _check_writable(stanza: str, attribute: str, value: str) -> None:
    """Raise ValueError for a name or value that would not be read back as it was given."""
    for name in (stanza, attribute):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name: letters, digits and '_', a letter first")
    match = _ATTRIBUTE.fullmatch(f"{_INDENT}{attribute}={value}")
    if match is None or _split_comment(match[3]) != (value, "") or "\0" in value:
        allowed = "no line breaks, no blanks around it, no '#' or ';' at its start or after a blank"
        raise ValueError(f"{value!r} cannot be a value: {allowed}")
