"""The page on two queue managers: its commands are followed, and it tells of every error that ends a channel."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Protocol

import pytest
from tests.free_ports import free_port

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/how-to/connect-two-queue-managers.md"
SOURCE = ROOT / "src" / "ostler"
SECOND_PORT = "1415"
NUMBER = re.compile(r"AMQ\d{4}[EIW]")
ERROR = re.compile(r"AMQ9\d{3}E")

pytestmark = pytest.mark.skipif(not (ROOT / PAGE).exists(), reason="the documentation is not beside the tests")


class Reader(Protocol):
    """See conftest."""

    port: str

    def blocks(self, page: str) -> list[tuple[str, str]]: ...
    def follow_all(self, blocks: list[tuple[str, str]]) -> None: ...


def modules_of_channels() -> list[Path]:
    names = ("service", "mca", "inbound", "commands", "initiator")
    return [*(SOURCE / "channel").glob("*.py"), *(SOURCE / "server" / "channels" / f"{name}.py" for name in names)]


def numbers(pattern: re.Pattern[str], paths: list[Path]) -> set[str]:
    return {number for path in paths for number in pattern.findall(path.read_text())}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_two_queue_managers_are_connected(reader: Reader) -> None:
    port = str(free_port())
    # A display has columns: a longer number has fewer blanks behind it.
    longer = len(port) - len(SECOND_PORT)
    blocks = [
        (language, text.replace(f"({SECOND_PORT})){' ' * longer}", f"({port}))").replace(SECOND_PORT, port))
        for language, text in reader.blocks(PAGE)
    ]
    assert {language for language, _ in blocks} == {"sh", "console", "text"}
    assert len(blocks) > 10
    reader.follow_all(blocks)


def test_the_page_tells_of_every_error_of_channels() -> None:
    told = numbers(ERROR, [ROOT / PAGE])
    there = numbers(ERROR, modules_of_channels())
    assert len(there) > 10
    assert there - told == set()


def test_the_page_tells_of_no_message_that_there_is_not() -> None:
    there = numbers(NUMBER, list(SOURCE.rglob("*.py")))
    assert numbers(NUMBER, [ROOT / PAGE]) - there == set()
