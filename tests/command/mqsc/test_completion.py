"""What may come next while a command is typed, and help: pure functions over the tables."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.command.mqsc.command_help import help_lines
from ostler.command.mqsc.completion import complete
from ostler.command.mqsc.grammar import VERBS
from ostler.command.mqsc.interpreter import nouns_of
from ostler.model.attributes import ObjectType, attributes_of

OBJECTS = {"QLOCAL": ["Q1", "Q2", "mixed.Case"], "QUEUE": ["Q1", "Q2", "A1"], "CHANNEL": ["APP.SVRCONN"]}


def names(noun: str, beginning: str) -> list[str]:
    return OBJECTS.get(noun, [])


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("de", ["DEFINE", "DELETE"]),
        ("QU", ["QUIT"]),
        ("def ql", ["QLOCAL"]),
        ("DISPLAY QM", ["QMGR", "QMODEL", "QMSTATUS"]),
        ("dis ql(", ["Q1)", "Q2)"]),
        ("dis ql('m", ["'mixed.Case')"]),
        ("define qlocal(x) like(q", ["Q1)", "Q2)"]),
        ("define qalias(x) target(a", ["A1)"]),
        ("define qlocal(x) usage(", ["NORMAL)", "XMITQ)"]),
        ("define qlocal(x) nosh", ["NOSHARE"]),
        ("define qlocal(x) maxdepth(1) ma", ["MAXFSIZE(", "MAXMSGL("]),
        ("define chl(x) chltype(svrconn) maxinst", ["MAXINST(", "MAXINSTC("]),
        ("define chl(x) chltype(sdr) maxinst", []),
        ("define chl(x) chltype(sv", ["SVR)", "SVRCONN)"]),
        ("dis q(*) where(curd", ["CURDEPTH"]),
        ("dis q(*) curd", ["CURDEPTH"]),
        ("alter qmgr chlau", ["CHLAUTH("]),
        ("define ql(x) curd", []),
        ("stop chl(x) mode(f", ["FORCE)"]),
        ("stop chl(x) qm", ["QMNAME("]),
        ("ping chl(x) d", ["DATALEN("]),
        ("reset chl(x) s", ["SEQNUM("]),
        ("resolve chl(x) action(", ["BACKOUT)", "COMMIT)"]),
        ("resolve chl(x) l", ["LUWID("]),
        ("resolve chl(x) luwid(", []),
        ("start chinit ini", ["INITQ("]),
        ("dis chs(x) cur", ["CURLUWID", "CURMSGS", "CURRENT", "CURSEQNO", "CURSHCNV"]),
        ("help def", ["DEFINE"]),
        ("help define ql", ["QLOCAL"]),
        ("help define qlocal maxd", ["MAXDEPTH"]),
        ("define qlocal(x) descr('a (b, c", []),
        ("nonsense x(y) z", []),
    ],
)
def test_what_may_come_next(typed: str, expected: list[str]) -> None:
    assert complete(typed, names) == expected


@given(st.text("dehlpDISqQ1x()' ,;*\"", max_size=30))
def test_whatever_is_typed_can_be_completed(typed: str) -> None:
    found = complete(typed, names)
    assert found == sorted(set(found))


def test_every_verb_has_its_nouns() -> None:
    for word, verb in VERBS.items():
        assert set(complete(f"{word} ", names)) == set(nouns_of(verb).values())


# -- help --------------------------------------------------------------------------------------------------------------


def test_help_lists_every_verb_that_does_something() -> None:
    text = "\n".join(help_lines([]))
    for verb in set(VERBS.values()):
        assert (f"   {verb}" in text) == bool(nouns_of(verb)), verb


def test_help_on_a_verb_names_what_it_takes() -> None:
    text = " ".join(" ".join(help_lines(["def"])).split())
    assert text.startswith("DEFINE (DEF): ")
    for noun in set(nouns_of("DEFINE").values()):
        assert noun in text


def test_help_on_a_command_tells_of_every_attribute() -> None:
    lines = help_lines(["define", "ql"])
    assert lines[0] == "DEFINE QLOCAL(name)"
    assert "   MAXDEPTH(0..999999999)  How many messages the queue may hold. [5000]" in lines
    text = "\n".join(lines)
    for attribute in attributes_of(ObjectType.QLOCAL):
        assert (f"{attribute.name}(" in text or attribute.kind.name == "FLAG") or not attribute.at_define
    assert "CURDEPTH" not in text, "nobody can define how many messages there are"


def test_help_on_an_attribute() -> None:
    usage = help_lines(["define", "qlocal", "usage"])
    assert usage[:2] == ["USAGE of QLOCAL", "   USAGE(NORMAL|XMITQ)"]
    assert "   Default [NORMAL]." in usage
    assert help_lines(["MAXDEPTH"])[0] == "MAXDEPTH of QLOCAL, QMODEL"
    assert "   It cannot be altered later." in help_lines(["channel", "chltype"])


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (["NONSENSE"], "There is neither a command nor an attribute NONSENSE."),
        (["DEFINE", "NONSENSE"], "DEFINE takes no NONSENSE."),
        (["DEFINE", "QLOCAL", "NONSENSE"], "QLOCAL has no attribute NONSENSE."),
        (["QLOCAL", "NONSENSE"], "QLOCAL has no attribute NONSENSE."),
    ],
)
def test_help_on_what_is_not_there(asked: list[str], answer: str) -> None:
    assert help_lines(asked)[0] == answer
