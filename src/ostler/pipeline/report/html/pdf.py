"""The page as PDF, printed by an installed browser.

Chromium prints the very page that is read on screens, charts as lines and text as text, with page numbers. Libraries
that make PDF without a browser would need a second layout of the report, which would drift.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from ostler.pipeline.report.html.pdf_pages import contents_anchors, destination_pages, page_count, with_page_numbers

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_SECONDS_MAX: Final = 180
# Once to learn the pages of sections, once with their numbers, and once more where that moved anything.
_PRINTINGS_MAX: Final = 3
_ANY_PAGE: Final = 88
_ZOOMS: Final = (1, 0.9, 0.8, 0.7)


class NoPdf(Exception):
    """The PDF could not be made; the text has the reason and the remedy. The page exists all the same."""


def find_browser(named: str = "") -> str:
    """Return the named browser, or the first that is installed. Raises NoPdf when there is none."""
    for name in (named,) if named else BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    wanted = f"{named} is not there" if named else "there is no Chromium or Chrome here"
    raise NoPdf(
        f"No PDF was made: {wanted}. Install one (on Debian: apt install chromium), or print the page from any browser."
    )


def print_pdf(page: Path, target: Path, browser: str) -> None:
    """Print a page into a file, with page numbers in its contents. It is replaced only when printing succeeded."""
    text = page.read_text(encoding="utf-8")
    anchors = contents_anchors(text)
    with tempfile.TemporaryDirectory(prefix="ostler-report-") as name:
        scratch = Path(name)
        made = scratch / "printed.pdf"
        # Numbers of two digits take the room that those of the first printing will need.
        numbers = dict.fromkeys(anchors, _ANY_PAGE)
        numbered = scratch / "page.html"
        for _ in range(_PRINTINGS_MAX):
            numbered.write_text(with_page_numbers(text, numbers), encoding="utf-8")
            _print(numbered, made, browser, scratch)
            pages = destination_pages(made.read_bytes())
            found = {anchor: pages[anchor] for anchor in anchors if anchor in pages}
            if found == numbers:
                break
            numbers = found
        else:
            # Wrong numbers would be worse than none.
            numbered.write_text(with_page_numbers(text, {}), encoding="utf-8")
            _print(numbered, made, browser, scratch)
        _replace(target, made)


def print_sheet(page: Path, target: Path, browser: str) -> None:
    """Print a short page into a file, smaller where it would not fit on one sheet."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="ostler-report-") as name:
        scratch = Path(name)
        made, zoomed = scratch / "printed.pdf", scratch / "page.html"
        for zoom in _ZOOMS:
            style = f"<style>@media print {{ body {{ zoom: {zoom}; }} }}</style></head>"
            zoomed.write_text(text.replace("</head>", style, 1), encoding="utf-8")
            _print(zoomed, made, browser, scratch)
            if page_count(made.read_bytes()) <= 1:
                break
        _replace(target, made)


def _replace(target: Path, made: Path) -> None:
    fresh = target.with_name(target.name + ".new")
    shutil.copyfile(made, fresh)
    os.replace(fresh, target)


def _print(page: Path, made: Path, browser: str, scratch: Path) -> None:
    """Print a page once. Raises NoPdf with the browser's reason."""
    made.unlink(missing_ok=True)
    command = [
        browser,
        "--headless",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={scratch}/profile",
        "--no-pdf-header-footer",
        "--generate-pdf-document-outline",
        f"--print-to-pdf={made}",
        page.resolve().as_uri(),
    ]
    if os.geteuid() == 0:
        # Chromium refuses to run as root with its sandbox; the page is our own and may load nothing.
        command.insert(1, "--no-sandbox")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        raise NoPdf(f"No PDF was made: {browser} did not finish within {_SECONDS_MAX} seconds.") from None
    except OSError as error:
        raise NoPdf(f"No PDF was made: {browser} could not be started: {error.strerror}.") from error
    if done.returncode or not made.exists() or not made.stat().st_size:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no word of why")
        raise NoPdf(f"No PDF was made: {browser} ended with status {done.returncode}: {last}")
