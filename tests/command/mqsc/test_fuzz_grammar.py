"""Commands by chance: right ones are understood however they are spelt, wrong ones are refused at the right place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.command.conftest import LOG, LocalCommandContext, Operator
from tests.command.mqsc.grammar_strategies import COMMANDS, SUBTYPES, Command, Part, spellings, splits, written
from tests.searching import examples

from ostler.command.mqsc.interpreter import CommandOutcome, parse_command
from ostler.command.mqsc.statements import StatementReader, parse
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.server.queue_manager import QueueManager, create_queue_manager

SCRIPTS = sorted((Path(__file__).parents[1] / "scripts").glob("*.mqsc"))


def commands_of(path: Path) -> list[str]:
    reader = StatementReader()
    found = [reader.feed(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [command for command in found if command]


WILD = [command for path in SCRIPTS for command in commands_of(path)]


def meaning(text: str) -> list[object]:
    statement = parse(text)
    name = None if statement.name is None else statement.name.text
    arguments = [
        (each.keyword.text, None if each.values is None else [value.text for value in each.values])
        for each in statement.arguments
    ]
    return [statement.verb.text, statement.noun.text, name, *arguments]


def read(lines: list[str]) -> str:
    reader = StatementReader()
    found = [command for command in [*(reader.feed(line) for line in lines), reader.finish()] if command is not None]
    assert len(found) == 1, found
    return found[0]


@given(COMMANDS)
def test_every_right_command_is_understood(command: Command) -> None:
    parse_command(command.text())


@given(st.data())
def test_other_spellings_mean_the_same(data: st.DataObject) -> None:
    command = data.draw(COMMANDS)
    lines = data.draw(spellings(command))
    text = read(lines)
    assert meaning(text) == meaning(command.text())
    parse_command(text)


@given(st.data())
def test_a_command_may_be_split_anywhere(data: st.DataObject) -> None:
    text = data.draw(st.one_of(COMMANDS.map(Command.text), st.sampled_from(WILD))).strip()
    assert read(data.draw(splits(text))) == text


def problem_of(text: str) -> MqscSyntaxError | None:
    """The refusal of a command, None when it is understood. Nothing else may be raised, and it points into the text."""
    found: MqscSyntaxError | None = None
    try:
        parse_command(text)
    except MqscSyntaxError as problem:
        found = problem
    if found is not None:
        assert 0 <= found.end <= len(text)
        assert found.why.strip()
    return found


def refused(text: str) -> MqscSyntaxError:
    problem = problem_of(text)
    assert problem is not None, f"{text!r} was understood"
    return problem


@given(st.data())
def test_an_unknown_keyword_is_pointed_at(data: st.DataObject) -> None:
    command = data.draw(COMMANDS)
    at = data.draw(st.integers(2, len(command.parts)))
    wrong = data.draw(st.sampled_from((Part("ZZTOP"), Part("ZZTOP", ("1",)), Part("ZZTOP", ("'a b'",)))))
    parts = (*command.parts[:at], wrong, *command.parts[at:])
    before = " ".join(written(part) for part in parts[:at])
    problem = refused(Command(parts).text())
    assert problem.end == len(before) + len(" ZZTOP")
    assert "ZZTOP" in problem.why


@given(st.data())
def test_a_keyword_given_twice_is_pointed_at(data: st.DataObject) -> None:
    command = data.draw(COMMANDS.filter(lambda each: len(each.parts) > 2))
    again = data.draw(st.sampled_from(command.parts[2:]))
    text = Command((*command.parts, again)).text()
    problem = refused(text)
    whole = command.text()
    assert len(whole) < problem.end <= len(text)


@given(st.data())
def test_a_wrong_value_is_pointed_at(data: st.DataObject) -> None:
    choosing = (*SUBTYPES.values(), "WHERE", "LIKE", "DESCR")
    command = data.draw(
        COMMANDS.filter(
            lambda each: any(part.values is not None and part.keyword not in choosing for part in each.parts[2:])
        )
    )
    possible = [
        at
        for at, part in enumerate(command.parts)
        if at > 1 and part.values is not None and part.keyword not in choosing
    ]
    at = data.draw(st.sampled_from(possible))
    keyword = command.parts[at].keyword
    before = " ".join(written(part) for part in command.parts[:at])
    text = Command((*command.parts[:at], Part(keyword, ("A", "(", "B")), *command.parts[at + 1 :])).text()
    problem = refused(text)
    assert problem.end == len(f"{before} {keyword}(A,(")


@given(st.data())
def test_damaged_commands_are_understood_or_refused(data: st.DataObject) -> None:
    text = data.draw(st.one_of(COMMANDS.map(Command.text), st.sampled_from(WILD)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 6))
        piece = data.draw(st.one_of(st.text(max_size=3), st.sampled_from(("(", ")", "'", '"', ",", ";", " ALL ", "*"))))
        text = text[:at] + piece + text[at + length :]
    problem_of(text)


@given(st.data())
def test_what_is_cut_off_is_understood_or_refused_within_it(data: st.DataObject) -> None:
    text = data.draw(st.one_of(COMMANDS.map(Command.text), st.sampled_from(WILD)))
    problem_of(text[: data.draw(st.integers(0, len(text)))])


# -- with a queue manager ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    manager = QueueManager(create_queue_manager(tmp_path_factory.mktemp("fuzz"), "FUZZ", LOG))
    manager.start()
    yield Operator(LocalCommandContext(manager))
    manager.end("immediate")


@given(command=COMMANDS)
@settings(deadline=None, max_examples=examples(60))
def test_right_commands_are_done_or_refused_with_a_number(shared: Operator, command: Command) -> None:
    lines, outcome = shared.run(command.text())
    assert outcome in (CommandOutcome.DONE, CommandOutcome.FAILED), lines
    assert lines[0].startswith("AMQ")


@pytest.mark.parametrize("command", [each for each in WILD if not each.lstrip().upper().startswith("END")])
def test_wild_commands_are_understood(command: str) -> None:
    parse_command(command)
