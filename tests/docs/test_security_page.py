"""The page on security names modules and tests that there are, and all modules that it must."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "security.md"
FILE = re.compile(r"\b(?:src|tests)/[\w/]+(?:\.py)?")

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def named() -> set[Path]:
    return {ROOT / each for each in FILE.findall(PAGE.read_text())}


def test_what_is_named_is_there() -> None:
    assert len(named()) > 30
    assert [path for path in named() if not path.exists()] == []


def test_no_test_of_security_is_left_out() -> None:
    tests = {*(ROOT / "tests/security").glob("test_*.py"), *(ROOT / "tests/server/security").glob("test_*.py")}
    assert tests - named() == set()
