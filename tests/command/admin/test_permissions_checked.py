"""Commands ask who gives them, before they do anything."""

from __future__ import annotations

import pytest
from tests.command.conftest import LocalCommandContext, Operator

from ostler.model.attributes import ObjectType
from ostler.model.authorities import words_of
from ostler.server.queue_manager import QueueManager


class Suspicious(LocalCommandContext):
    """A user who may do nothing. What would be needed is remembered."""

    def __init__(self, manager: QueueManager) -> None:
        super().__init__(manager)
        self.needed: list[tuple[str, tuple[str, ...]]] = []
        self.is_strict = True

    @property
    def user(self) -> str:
        return "ann"

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        self.needed.append((name, tuple(words_of(authorities))))
        return not self.is_strict


@pytest.fixture
def strict(manager: QueueManager) -> Suspicious:
    target = Suspicious(manager)
    target.is_strict = False
    operator = Operator(target)
    for command in (
        "def ql(Q1)",
        "def chl(C1) chltype(svrconn)",
        "def chl(C2) chltype(clntconn) conname(here)",
        "def service(S1) startcmd('/bin/true')",
        "def sub(S1) topicstr(a) destclas(managed)",
    ):
        operator.says(command)
    target.is_strict = True
    target.needed.clear()
    return target


@pytest.mark.parametrize(
    ("command", "name", "word"),
    [
        ("def ql(Q2)", "Q2", "CRT"),
        ("def ql(Q1) replace", "Q1", "CHG"),
        ("def chl(C3) chltype(clntconn) conname(here)", "C3", "CRT"),
        ("alter ql(Q1) maxdepth(3)", "Q1", "CHG"),
        ("alter qmgr descr(mine)", "", "CHG"),
        ("delete ql(Q1)", "Q1", "DLT"),
        ("delete chl(C2) chltable(clnttbl)", "C2", "DLT"),
        ("clear ql(Q1)", "Q1", "CLR"),
        ("clear topicstr('a/b') clrtype(retained)", "SYSTEM.BASE.TOPIC", "CLR"),
        ("start service(S1)", "S1", "CTRL"),
        ("start listener", "SYSTEM.DEFAULT.LISTENER.TCP", "CTRL"),
        ("stop chl(C1)", "C1", "CTRL"),
        ("ping chl(C1)", "C1", "CTRL"),
        ("reset chl(C1)", "C1", "CTRLX"),
        ("resolve chl(C1) action(commit)", "C1", "CTRLX"),
        ("move ql(Q1) toqlocal(Q1)", "Q1", "GET"),
        ("dis qs(Q1)", "Q1", "DSP"),
        ("dis qmstatus", "", "DSP"),
        ("dis conn(*)", "", "DSP"),
        ("dis sub(*)", "", "DSP"),
        ("dis tps('#')", "", "DSP"),
        ("delete sub(S1)", "S1", "CHG"),
        ("stop conn(0000000000000000)", "", "CHG"),
        ("refresh security", "", "CHG"),
        ("reset qmgr type(statistics)", "", "CHG"),
        ("start cmdserv", "", "CTRL"),
    ],
)
def test_who_may_not_is_told_so(strict: Suspicious, command: str, name: str, word: str) -> None:
    said = Operator(strict).fails(command)
    assert said.startswith("AMQ8135E: User ann is not authorized: ")
    asked, words = strict.needed[0]
    assert asked == name
    assert word in {each.upper() for each in words}
    assert strict.asked == []


class Forbidden(LocalCommandContext):
    """A user who may do everything but a few things."""

    forbidden: frozenset[tuple[str, str]] = frozenset()

    @property
    def user(self) -> str:
        return "ann"

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        return not any((name, word.upper()) in self.forbidden for word in words_of(authorities))


def test_who_subscribes_by_command_must_be_allowed_to_subscribe(manager: QueueManager) -> None:
    target = Forbidden(manager)
    operator = Operator(target)
    operator.says("def ql(Q1)")
    operator.says("def topic(T1) topicstr('a')")
    operator.says("def sub(S1) topicstr('a/b') dest(Q1)")
    target.forbidden = frozenset({("Q1", "PUT")})
    assert operator.fails("def sub(S2) topicstr('a/b') dest(Q1)").startswith("AMQ8135E: ")
    assert operator.fails("alter sub(S1) dest(Q1)").startswith("AMQ8135E: ")
    operator.says("def sub(S3) topicstr('a/b') destclas(managed)")
    target.forbidden = frozenset({("T1", "SUB")})
    operator.says("def sub(S4) topicstr('a/b') dest(Q1)")  # the object above allows it
    target.forbidden = frozenset({("T1", "SUB"), ("SYSTEM.BASE.TOPIC", "SUB")})
    assert "sub on topic a/b" in operator.fails("def sub(S5) topicstr('a/b') dest(Q1)").lower()
    assert "sub on topic a/b" in operator.fails("def sub(S5) topicobj(T1) topicstr('b') dest(Q1)").lower()


def test_generic_displays_leave_out_what_one_may_not_see(strict: Suspicious) -> None:
    assert Operator(strict).fails("dis qs(*)").startswith("AMQ8147E: ")
    assert Operator(strict).fails("reset qstats(*)").startswith("AMQ8147E: ")


def test_an_object_takes_its_own_authority_records_along(operator: Operator) -> None:
    operator.says("def ql(Q1)")
    operator.says("def ql(Q2)")
    for profile in ("Q1", "Q2", "Q*"):
        operator.says(f"set authrec profile({profile}) objtype(queue) group('staff') authadd(get)")
    operator.says("def process(Q1)")
    operator.says("set authrec profile(Q1) objtype(process) group('staff') authadd(inq)")
    known = operator.target.manager.engine.of_type(ObjectType.AUTHREC)

    def profiles() -> list[tuple[str, object]]:
        made = [each.attributes for each in known.values() if each.attributes["ENTITY"] == "staff"]
        return sorted((str(each["PROFILE"]), each["OBJTYPE"]) for each in made)

    before = profiles()
    operator.says("delete ql(Q2) authrec(no)")
    assert profiles() == before
    operator.says("delete ql(Q1)")
    assert profiles() == [each for each in before if each != ("Q1", 1)]
    assert len(profiles()) == 3
