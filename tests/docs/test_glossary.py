"""Every word of the glossary has an owner that exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(r"^\| ([^|]+) \| [^|]+ \| `([^`]+)` \|$", (ROOT / "docs" / "GLOSSARY.md").read_text(), re.MULTILINE)


def test_there_are_words() -> None:
    assert len(ROWS) > 60


def test_each_word_has_one_meaning() -> None:
    words = [word for word, _ in ROWS]
    assert sorted(words) == sorted(set(words))


def test_owners_exist() -> None:
    missing = []
    for word, owner in ROWS:
        path, _, name = owner.partition(":")
        file = ROOT / "src" / "ostler" / path
        if not file.exists() or (name and not re.search(rf"^class {name}\b", file.read_text(), re.MULTILINE)):
            missing.append(f"{word}: {owner}")
    assert missing == []
