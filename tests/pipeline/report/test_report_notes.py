"""Notes of the author: the part of Markdown that is understood, and markup that does nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.pipeline.errors import PipelineError
from ostler.pipeline.report.html.document import (
    Bullets,
    Code,
    Emphasis,
    Paragraph,
    Preformatted,
    Section,
    Strong,
    WebLink,
)
from ostler.pipeline.report.html.markup import section
from ostler.pipeline.report.html.notes import inline_text, notes_section
from ostler.pipeline.report.reading import read_notes


def _notes(text: str) -> Section:
    found = notes_section(text)
    assert found is not None
    return found


def test_paragraphs_lists_quotes_and_code_become_blocks() -> None:
    found = _notes("One\nline.\n\n- a\n- b\n  goes on\n\n1. first\n2) second\n\n> Said.\n\n```\nx <y>\n```\n")
    assert found.blocks == (
        Paragraph(("One line.",)),
        Bullets((("a",), ("b goes on",))),
        Bullets((("first",), ("second",)), True),
        Paragraph(("Said.",), "quote"),
        Preformatted("x <y>"),
    )


def test_headings_are_sections_and_small_ones_strong() -> None:
    found = _notes("Before.\n# Why `this`\nText.\n## How\n### Small\n")
    assert found.blocks == (Paragraph(("Before.",)),)
    assert [(each.anchor, each.title) for each in found.sections] == [("notes-1", "Why this"), ("notes-2", "How")]
    assert found.sections[1].blocks == (Paragraph((Strong("Small"),)),)


def test_marks_inside_lines() -> None:
    assert inline_text("a **b** and *c* with `d` at [e](https://example.org/?a=1&b=2).") == (
        "a ", Strong("b"), " and ", Emphasis("c"), " with ", Code("d"), " at ",
        WebLink("e", "https://example.org/?a=1&b=2"), ".",
    )  # fmt: skip
    assert inline_text("2 * 3 * 4 and snake_case_name") == ("2 * 3 * 4 and snake_case_name",)


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        '[x](https://example.org/"onmouseover="alert(1))',
        "# <img src=x onerror=alert(1)>",
        "- `<b onclick=alert(1)>`",
        "```\n</pre><script>alert(1)</script>\n```",
        "[<script>alert(1)</script>](https://example.org/)",
        "**<iframe src=//x>**",
    ],
)
def test_markup_in_notes_does_nothing(evil: str) -> None:
    made = section(_notes(evil))
    for tag in ("<script", "<img", "<b ", "<iframe"):
        assert tag not in made
    assert "javascript:" not in made.replace("(javascript:", "")
    assert '"onmouseover' not in made


@given(st.text(max_size=400))
def test_any_text_is_taken_and_only_known_tags_come_out(text: str) -> None:
    found = notes_section(text)
    if found is None:
        assert not text.strip()
        return
    made = section(found)
    known = ("section", "h2", "h3", "a", "p", "ul", "ol", "li", "pre", "code", "span", "strong", "em", "wbr")
    opened = {part.split(">")[0].split(" ")[0].strip("/") for part in made.split("<")[1:]}
    assert opened <= set(known)


def test_empty_notes_are_no_section() -> None:
    assert notes_section("") is None
    assert notes_section(" \n\n") is None


def test_notes_that_cannot_be_read_are_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="cannot be read"):
        read_notes(tmp_path / "none.md")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    with pytest.raises(PipelineError, match="not UTF-8, at byte 3"):
        read_notes(tmp_path / "latin.md")
    (tmp_path / "long.md").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(PipelineError, match="longer than 1024 KB"):
        read_notes(tmp_path / "long.md")
    (tmp_path / "good.md").write_bytes(b"\xef\xbb\xbfText")
    assert read_notes(tmp_path / "good.md") == "Text"
