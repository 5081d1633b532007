"""The whole page: one self-contained file that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Final

from ostler.pipeline.report.html.document import Section
from ostler.pipeline.report.html.markup import contents, section

# The page contains all it needs, and may fetch nothing.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def _asset(name: str) -> str:
    return (files("ostler.pipeline.report") / "assets" / name).read_text(encoding="utf-8")


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """Return an HTML page. Without scripts it is complete but static: nothing sorts, and a dot shows its title."""
    body = "\n".join(section(each) for each in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(title)}</title>
<style>
{_asset("report.css")}</style>
</head>
<body>
<div class="page">
<header class="top"><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>
<button id="theme" type="button" hidden>Dark</button></header>
<div class="columns">
<nav class="contents" aria-label="Contents">
<details open><summary>Contents</summary>{contents(sections)}</details></nav>
<main>
{body}
</main>
</div>
</div>
<script>
{_asset("report.js")}</script>
</body>
</html>
"""
