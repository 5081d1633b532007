"""The whole page: one self-contained file that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Final

from ostler.pipeline.report.html.document import Section
from ostler.pipeline.report.html.markup import contents, entries, section

# The page contains all it needs, and may fetch nothing.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
# As many lines as fit on the first page, below the title.
_ENTRIES_IN_COLUMN: Final = 44


def _asset(name: str) -> str:
    return (files("ostler.pipeline.report") / "assets" / name).read_text(encoding="utf-8")


def css_text(text: str) -> str:
    """Return a text as a string of CSS: all but letters, digits and spaces as numbers of characters."""
    return '"' + "".join(each if each.isalnum() or each == " " else f"\\{ord(each):x} " for each in text) + '"'


def page(title: str, lead: str, sections: Sequence[Section], author: str = "") -> str:
    """Return an HTML page. Without scripts it is complete but static: nothing sorts, and a dot shows its title."""
    body = "\n".join(section(each) for each in sections)
    kind = "contents" if entries(sections) <= _ENTRIES_IN_COLUMN else "contents two"
    return f"""{_head(title, author)}
<body>
<a class="skip" href="#text">Skip to the text</a>
<div class="page">
{_top(title, lead, author)}
<div class="columns">
<nav class="{kind}" aria-label="Contents">
<details open><summary>Contents</summary>{contents(sections)}</details></nav>
<main id="text" tabindex="-1">
{body}
</main>
</div>
</div>
<script>
{_asset("report.js")}</script>
</body>
</html>
"""


def summary_page(title: str, lead: str, blocks_html: str, author: str = "") -> str:
    """Return a page of its own without contents and scripts, short enough for one sheet of paper."""
    return f"""{_head(title, author)}
<body>
<div class="page summary">
{_top(title, lead, author)}
<main id="text">
{blocks_html}
</main>
</div>
</body>
</html>
"""


def _head(title: str, author: str) -> str:
    named = f'<meta name="author" content="{escape(author)}">\n' if author else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
{named}<title>{escape(title)}</title>
<style>
{_asset("report.css")}
@page {{ @bottom-left {{ content: {css_text(title)}; }} }}
</style>
</head>"""


def _top(title: str, lead: str, author: str) -> str:
    by = f'<p class="author">{escape(author)}</p>' if author else ""
    return (
        f'<header class="top"><h1>{escape(title)}</h1>{by}<p class="lead">{escape(lead)}</p>\n'
        '<button id="theme" type="button" hidden>Dark</button></header>'
    )
