"""Notes of the author: a small part of Markdown as blocks of the report.

Headings, paragraphs, lists, quotes, fenced code; `code`, **strong**, *emphasis* and [links](https://...) inside them.
Everything else is text as it stands: markup in notes does nothing, because blocks are escaped where they become HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ostler.pipeline.report.html.document import (
    Block,
    Bullets,
    Code,
    Emphasis,
    Inline,
    Paragraph,
    Preformatted,
    Section,
    Strong,
    Text,
    WebLink,
)

ANCHOR: Final = "notes"
TITLE: Final = "Notes"
_HEADING: Final = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_BULLET: Final = re.compile(r"\s{0,3}[-*+]\s+(.*)$")
_NUMBERED: Final = re.compile(r"\s{0,3}\d{1,4}[.)]\s+(.*)$")
_FENCE: Final = "```"
# Headings of a subsection in the contents; deeper ones are strong text.
_SECTION_LEVELS: Final = 2
_INLINE: Final = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\*\*(?P<strong>[^*\s](?:[^*]*[^*\s])?)\*\*"
    r"|(?<![*\w])\*(?P<emphasis>[^*\s](?:[^*]*[^*\s])?)\*(?![*\w])"
    r"|\[(?P<text>[^\[\]]+)\]\((?P<url>https?://[^\s()<>\"]+)\)"
)


def notes_section(text: str) -> Section | None:
    """Return the section of notes; None when they are empty. What stands before the first heading belongs to the
    section itself."""
    parts = [_Part("")]
    for block in _blocks(text):
        if isinstance(block, _Title):
            parts.append(_Part(block.text))
        else:
            parts[-1].blocks.append(block)
    kept = [part for part in parts if part.title or part.blocks]
    if not kept:
        return None
    inner = tuple(
        Section(f"{ANCHOR}-{number}", part.title, tuple(part.blocks)) for number, part in enumerate(parts[1:], 1)
    )
    return Section(ANCHOR, TITLE, tuple(parts[0].blocks), inner)


@dataclass
class _Part:
    title: str
    blocks: list[Block] = field(default_factory=list)


@dataclass(frozen=True)
class _Title:
    text: str


def _blocks(text: str) -> Iterator[Block | _Title]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        heading = _HEADING.match(line)
        if not line.strip():
            at += 1
        elif line.lstrip().startswith(_FENCE):
            end = next((n for n in range(at + 1, len(lines)) if lines[n].strip().startswith(_FENCE)), len(lines))
            yield Preformatted("\n".join(lines[at + 1 : end]))
            at = end + 1
        elif heading:
            words = plain(heading.group(2))
            yield _Title(words) if len(heading.group(1)) <= _SECTION_LEVELS else Paragraph((Strong(words),))
            at += 1
        elif _item(line):
            end, items, is_numbered = _items(lines, at)
            yield Bullets(tuple(inline_text(each) for each in items), is_numbered)
            at = end
        else:
            end = next((n for n in range(at + 1, len(lines)) if _ends_paragraph(lines[n])), len(lines))
            is_quote = line.lstrip().startswith(">")
            words = " ".join(each.strip().lstrip(">").strip() for each in lines[at:end])
            yield Paragraph(inline_text(words), "quote" if is_quote else "")
            at = end


def _item(line: str) -> str | None:
    found = _BULLET.match(line) or _NUMBERED.match(line)
    return found.group(1) if found else None


def _ends_paragraph(line: str) -> bool:
    return not line.strip() or bool(_HEADING.match(line) or _item(line)) or line.lstrip().startswith(_FENCE)


def _items(lines: Sequence[str], begin: int) -> tuple[int, list[str], bool]:
    """Return the items of a list from a line on, each with its continuation lines, and where the list ends."""
    is_numbered = _NUMBERED.match(lines[begin]) is not None
    pattern = _NUMBERED if is_numbered else _BULLET
    items: list[str] = []
    at = begin
    while at < len(lines) and lines[at].strip():
        found = pattern.match(lines[at])
        if found:
            items.append(found.group(1).strip())
        elif _ends_paragraph(lines[at]):
            break
        else:
            items[-1] += f" {lines[at].strip()}"
        at += 1
    return at, items, is_numbered


def inline_text(text: str) -> Text:
    """Return a line of Markdown as parts of text."""
    parts: list[Inline] = []
    last = 0
    for found in _INLINE.finditer(text):
        if found.start() > last:
            parts.append(text[last : found.start()])
        parts.append(_part(found))
        last = found.end()
    if last < len(text):
        parts.append(text[last:])
    return tuple(parts)


def _part(found: re.Match[str]) -> Inline:
    if found["code"] is not None:
        return Code(found["code"])
    if found["strong"] is not None:
        return Strong(found["strong"])
    if found["emphasis"] is not None:
        return Emphasis(found["emphasis"])
    return WebLink(found["text"], found["url"])


def plain(text: str) -> str:
    """Return a line of Markdown as text without marks."""
    parts = inline_text(text)
    return "".join(each if isinstance(each, str) else each.text for each in parts)
