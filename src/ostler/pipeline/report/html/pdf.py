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

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_SECONDS_MAX: Final = 180


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
    """Print a page into a file, replaced only when printing succeeded."""
    with tempfile.TemporaryDirectory(prefix="ostler-report-") as scratch:
        made = Path(scratch) / "report.pdf"
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
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
        fresh = target.with_name(target.name + ".new")
        shutil.copyfile(made, fresh)
        os.replace(fresh, target)
