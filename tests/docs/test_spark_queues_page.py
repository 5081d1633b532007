"""The page on queues in Spark has every option and every column, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ostler.pipeline.source import options
from ostler.pipeline.source.columns import COLUMNS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "read-queues-with-spark.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def first_cells(title: str) -> set[str]:
    """The words between backquotes in the first column of the table of a section."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    cells = [line.split(" | ")[0] for line in found[1].splitlines() if line.startswith("| `")]
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def test_every_option_is_told() -> None:
    known = {*options._CONNECTION, *options._STAGING, *options._READ, *options._WRITE}
    assert first_cells("Options") == known


def test_every_column_is_told() -> None:
    assert first_cells("Columns") == set(COLUMNS)


def test_the_program_is_python() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 9
    for block in blocks:
        compile(block, str(PAGE), "exec")
