"""Page numbers of a printed report: destinations of links in a PDF, and their places in the contents of the page.

Chromium cannot number pages in contents (CSS `target-counter`), so the page is printed, read, filled in and printed
again. Only what Chromium writes is read: objects one by one, uncompressed, with named destinations. Of another file
nothing is found, and the contents stay without numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape, unescape
from typing import Final

_OBJECT: Final = re.compile(rb"(?:^|\n)(\d+) 0 obj\n(<<.*?>>)\s*(?:endobj|stream)", re.DOTALL)
_CATALOG: Final = re.compile(rb"/Type /Catalog\b")
_PAGES: Final = re.compile(rb"/Pages (\d+) 0 R")
_DESTINATIONS: Final = re.compile(rb"/Dests (\d+) 0 R")
_KIDS: Final = re.compile(rb"/Kids \[([^\]]*)\]")
_REFERENCE: Final = re.compile(rb"(\d+) 0 R")
_DESTINATION: Final = re.compile(rb"/([^\s/\[\]<>()]+) \[(\d+) 0 R /XYZ")
_ESCAPED: Final = re.compile(rb"#([0-9a-fA-F]{2})")
_PLACE: Final = re.compile(r'(<span class="page-number" data-for="([^"]*)">)[^<]*(</span>)')


def destination_pages(content: bytes) -> dict[str, int]:
    """Return the page of each named destination, from 1; empty where the file is not understood."""
    objects = _objects(content)
    names = _DESTINATIONS.search(_catalog(objects))
    if names is None:
        return {}
    numbers = {page: number for number, page in enumerate(_page_objects(objects), 1)}
    found = _DESTINATION.findall(objects.get(int(names[1]), b""))
    return {_name(name): numbers[int(page)] for name, page in found if int(page) in numbers}


def page_count(content: bytes) -> int:
    """Return the number of pages; 0 where the file is not understood."""
    return len(_page_objects(_objects(content)))


def _objects(content: bytes) -> dict[int, bytes]:
    return {int(number): text for number, text in _OBJECT.findall(content)}


def _catalog(objects: Mapping[int, bytes]) -> bytes:
    return next((text for text in objects.values() if _CATALOG.search(text)), b"")


def _page_objects(objects: Mapping[int, bytes]) -> list[int]:
    root = _PAGES.search(_catalog(objects))
    return _leaves(objects, int(root[1])) if root else []


def _leaves(objects: Mapping[int, bytes], number: int, depth: int = 0) -> list[int]:
    """Return the pages below a node of the page tree, in their order."""
    kids = _KIDS.search(objects.get(number, b""))
    if kids is None or depth > 16:
        return [number]
    return [page for kid in _REFERENCE.findall(kids[1]) for page in _leaves(objects, int(kid), depth + 1)]


def _name(raw: bytes) -> str:
    return _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), raw).decode("utf-8", "replace")


def contents_anchors(page: str) -> list[str]:
    """Return the anchors in the contents of a page, in their order."""
    return [unescape(found[2]) for found in _PLACE.finditer(page)]


def with_page_numbers(page: str, numbers: Mapping[str, int]) -> str:
    """Return the page with numbers in its contents. An unknown one is empty."""

    def fill(found: re.Match[str]) -> str:
        return f"{found[1]}{escape(str(numbers.get(unescape(found[2]), '')))}{found[3]}"

    return _PLACE.sub(fill, page)
