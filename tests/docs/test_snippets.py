"""Every Python snippet of the guides runs, in order, and prints what the page says it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "docs/tutorial/first-steps.md",
    "docs/how-to/in-process.md",
    "docs/how-to/publish-and-subscribe.md",
    "docs/how-to/simulate.md",
)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "-- end of snippet --"


def snippets(page: str) -> list[tuple[str, str | None]]:
    """The Python blocks of a page, each with the output that follows it, if the page shows any."""
    found: list[tuple[str, str | None]] = []
    for language, text in BLOCK.findall((ROOT / page).read_text()):
        if language == "python":
            found.append((text, None))
        elif language == "text":
            code, _ = found[-1]
            found[-1] = (code, text)
    return found


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the documentation is not beside the tests")
@pytest.mark.parametrize("page", PAGES)
def test_snippets_do_what_the_page_says(page: str, tmp_path: Path) -> None:
    blocks = snippets(page)
    assert blocks
    program = f"\nprint({MARK!r})\n".join(code for code, _ in blocks)
    environment = {
        **os.environ,
        "OSTLER_DATA": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split(f"{MARK}\n")
    assert len(printed) == len(blocks)
    for (_, shown), output in zip(blocks, printed, strict=True):
        if shown is not None:
            assert output == shown
