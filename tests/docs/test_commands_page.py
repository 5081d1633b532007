"""The page of commands tells of every option and every status; the examples use what there is."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from ostler.cli.framework.control_messages import MESSAGES, message
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.main import COMMANDS, build_parser

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "commands.md"
OURS = [
    name
    for name in COMMANDS
    if COMMANDS[name][0]
    not in (
        "ostler.cli.samples.samples",
        "ostler.cli.demo.demo",
        "ostler.cli.lab.command",
        "ostler.cli.pipeline.command",
    )
]

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")


def section(command: str) -> str:
    for part in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE):
        if command in part.partition("\n")[0].replace(",", " ").replace(":", " ").split():
            return part
    raise AssertionError(f"{command} has no section")


def options(command: str) -> list[str]:
    found = _options(_parsers(build_parser(command))[command])
    # What setmqaut gives with a plus sign it takes away with a minus sign; the page names each once.
    given = [option.replace("+", "-") for option in found]
    return [option for option in given if option not in ("-h", "--help", "--background")]


def _parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of what a command can do, by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def _options(parser: argparse.ArgumentParser) -> list[str]:
    found = [option for action in parser._actions for option in action.option_strings]
    for below in _parsers(parser).values():
        found += _options(below)
    return found


@pytest.mark.parametrize("command", OURS)
def test_every_option_is_on_the_page(command: str) -> None:
    words = set(re.findall(r"-{1,2}[a-z][a-z-]*", section(command)))
    assert set(options(command)) <= words


def test_every_status_is_on_the_page() -> None:
    numbers = {int(number) for number in re.findall(r"\b\d+\b", PAGE.read_text())}
    assert {int(status) for status in Status} <= numbers


def test_messages_have_numbers_and_end_like_sentences() -> None:
    for number, text in MESSAGES.items():
        assert re.fullmatch(r"AMQ\d{4}[EIW]|[a-z]+(-[a-z]+)*", number)
        assert text.endswith((".", "}", ")")), number
    assert message("AMQ8001I", name="QM1") == "AMQ8001I: Queue manager QM1 created."
    assert message("is-default", name="QM1") == "Queue manager QM1 is the default one."


@pytest.mark.parametrize(
    "example", ["systemd/ostler@.service", "container/Containerfile", "container/start-queue-manager"]
)
def test_examples_call_commands_that_there_are(example: str) -> None:
    text = (ROOT / "examples" / example).read_text()
    used = re.findall(r"\bostler ([a-z]+(?:mqm|mq|mqsc))\b", text)
    assert used
    assert set(used) <= set(COMMANDS)
