"""Links between pages lead somewhere, to headings too, and every page can be found from the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
PAGES = sorted(path for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if path.exists())

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the documentation is not beside the tests")


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """The names that headings have on the web: small letters, hyphens for blanks, nothing else that is no letter."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(prose(page))}


def links(page: Path) -> list[tuple[str, Path, str]]:
    """Each link to another page as it is written, with the file that it leads to and the heading."""
    found: list[tuple[str, Path, str]] = []
    for target in LINK.findall(prose(page)):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            found.append((target, (page.parent / path).resolve() if path else page, anchor))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    wrong = [
        target
        for target, path, anchor in links(page)
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path))
    ]
    assert wrong == []


def test_every_page_can_be_found_from_the_readme() -> None:
    seen: set[Path] = set()
    next_ones = {ROOT / "README.md"}
    while next_ones:
        seen |= next_ones
        found = {path for page in next_ones if page.suffix == ".md" for _, path, _ in links(page)}
        # A link to a directory shows what is in it.
        found |= {inside for path in found if path.is_dir() for inside in path.glob("*.md")}
        next_ones = {path for path in found if path.is_file()} - seen
    assert set(PAGES) - seen == set()
