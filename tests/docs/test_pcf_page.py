"""The page about PCF tells of every command and every parameter, as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.command.pcf.reference import BEGIN, END, page_with_tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "pcf.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def test_the_tables_are_those_of_the_code() -> None:
    page = PAGE.read_text()
    assert page.count(BEGIN) == page.count(END) == 1
    assert page == page_with_tables(page), "write the page again with ostler.command.pcf.reference.page_with_tables"
