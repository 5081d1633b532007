"""Command lines of the documentation: all are understood, and those of the README and the guides are run, in order."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from pathlib import Path
from typing import Protocol

import pytest

from ostler.cli.framework.commands import CommandFailed
from ostler.cli.main import COMMANDS, build_parser

ROOT = Path(__file__).resolve().parents[2]
FENCED = re.compile(r"^```(sh|shell|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = sorted(
    str(path.relative_to(ROOT)) for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if path.exists()
)


class Reader(Protocol):
    """See conftest."""

    port: str
    place: Path

    def blocks(self, page: str) -> list[tuple[str, str]]: ...
    def shell(self, command: str) -> str: ...
    def follow(self, language: str, text: str) -> str: ...
    def follow_all(self, blocks: list[tuple[str, str]]) -> None: ...


def command_lines(page: str) -> list[list[str]]:
    """The words of every `ostler ...` in the fenced blocks of a page, without what the shell does with them."""
    found: list[list[str]] = []
    for language, block in FENCED.findall((ROOT / page).read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            if language == "console" and not line.startswith("$ "):
                continue  # what a command prints
            line = re.sub(r" \d>", " >", line.removeprefix("$ "))  # the number of a redirected descriptor is no word
            lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
            lexer.whitespace_split = True
            words: list[str] = []
            for word in [*lexer, ";"]:
                if set(word) <= set("|&;<>"):
                    found += [words] if words[:1] == ["ostler"] else []
                    words = []
                else:
                    words.append(word)
    return found


def parsed(words: list[str]) -> str:
    """Why the parser of a command does not understand it; empty if it does."""
    if words[1] not in COMMANDS:
        return f"there is no command {words[1]}"
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(errors):
        try:
            build_parser(words[1]).parse_args(words[1:])
        except SystemExit as left:
            return "" if left.code == 0 else errors.getvalue()
        except CommandFailed as failed:
            return str(failed)
    return ""


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_is_understood(page: str) -> None:
    answers = {" ".join(words): parsed(words) for words in command_lines(page)}
    assert {line: why for line, why in answers.items() if why} == {}


def test_a_wrong_command_line_is_seen() -> None:
    assert "no command" in parsed(["ostler", "strtmqm", "QM1"])
    assert "--frob" in parsed(["ostler", "put", "ORDERS", "--frob"])


def test_there_are_command_lines_to_look_at() -> None:
    assert sum(len(command_lines(page)) for page in PAGES) > 40
    assert ["ostler", "put", "DEV.ORDERS", "QM1", "-m", "two ponies"] in command_lines("README.md")


def test_the_readme(reader: Reader) -> None:
    blocks = reader.blocks("README.md")
    assert [language for language, _ in blocks] == ["console", "console", "python", "console"]
    for language, text in blocks:
        if "make" not in text:
            reader.follow(language, text)


@pytest.mark.slow
def test_a_service_by_hand(reader: Reader) -> None:
    (by_hand, *_), text = reader.blocks("docs/how-to/run-as-a-service.md"), "endmqm -w QM1"
    assert text in by_hand[1]
    reader.follow(*by_hand)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_tls_in_five_minutes(reader: Reader) -> None:
    reader.shell("ostler crtmqm QM1; ostler strmqm QM1")
    blocks = [block for block in reader.blocks("docs/how-to/tls.md") if "openssl" not in block[1]]
    assert [language for language, _ in blocks] == ["sh", "sh", "python"]
    for language, text in blocks:
        reader.follow(language, text)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")
def test_a_queue_manager_is_secured(reader: Reader) -> None:
    blocks = reader.blocks("docs/how-to/secure-a-queue-manager.md")
    assert len(blocks) > 10
    reader.follow_all(blocks)


@pytest.mark.slow
def test_a_developers_queue_manager(reader: Reader) -> None:
    blocks = reader.blocks("docs/how-to/developer-queue-manager.md")
    assert [language for language, _ in blocks] == ["console", "python", "text", "console", "sh", "console"]
    reader.follow_all(blocks)


def test_events_are_read(reader: Reader) -> None:
    reader.shell("ostler crtmqm QM1; ostler strmqm QM1")
    blocks = reader.blocks("docs/how-to/events.md")
    assert [language for language, _ in blocks] == ["sh", "python", "text"]
    reader.follow_all(blocks)


@pytest.mark.slow
def test_authorities_are_given(reader: Reader) -> None:
    reader.shell("ostler crtmqm QM1; ostler strmqm QM1")
    reader.shell("printf 'DEFINE QLOCAL(ORDERS.%s)\\n' IN AUDIT | ostler runmqsc QM1")
    blocks = reader.blocks("docs/how-to/authorities.md")
    assert {language for language, _ in blocks} == {"sh"}
    reader.follow_all(blocks)
    shown = reader.shell("ostler dspmqaut -m QM1 -n ORDERS.IN -t queue -p pricing").split()
    assert shown[-2:] == ["get", "browse"]


@pytest.mark.slow
def test_definitions_are_backed_up(reader: Reader) -> None:
    reader.shell("ostler crtmqm QM1; ostler strmqm QM1; echo 'DEFINE QLOCAL(ORDERS.IN)' | ostler runmqsc QM1")
    blocks = [each for each in reader.blocks("docs/how-to/back-up-definitions.md") if "MQSERVER" not in each[1]]
    reader.follow_all([(language, text.replace("git diff", "cat")) for language, text in blocks])
    assert "QUEUE(ORDERS.IN)" in reader.shell("echo 'DISPLAY QUEUE(ORDERS.*)' | ostler runmqsc QM2")


# Lines that wait for ever, or need a machine that is not there; they are looked at by the parser above.
ELSEWHERE = re.compile(r"--wait forever|host\(|backup\(|--to-manager")


@pytest.mark.slow
def test_the_sample_programs(reader: Reader) -> None:
    reader.shell("ostler crtmqm QM1; ostler strmqm QM1")
    files = {"prices.csv": "hay,3\noats,7\n", "invoice.pdf": "%PDF", "note.txt": "a note"}
    for name, content in files.items():
        (reader.place / name).write_text(content)
    for language, text in reader.blocks("docs/how-to/sample-programs.md"):
        if language != "sh":
            continue
        lines = [line for line in text.splitlines() if not ELSEWHERE.search(line)]
        if any("--selector" in line or "--match" in line for line in lines):
            # What these ask for must be there.
            reader.shell("ostler put ORDERS QM1 -m pony -P price=1200")
            reader.shell("ostler put ORDERS QM1 -m pony --correl 0x0102")
            reader.shell("ostler put DEAD.LETTERS QM1 -m pony -P colour=brown")
        reader.shell("\n".join([*lines, "wait"]))
