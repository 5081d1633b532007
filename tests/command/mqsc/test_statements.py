"""Words, brackets, quotes and continued lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.command.mqsc.grammar import VERBS
from ostler.command.mqsc.interpreter import parse_command
from ostler.command.mqsc.statements import StatementReader, parse
from ostler.command.mqsc.tokens import COMMAND_CHARACTERS_MAX, MqscSyntaxError, TokenKind, tokenize


def texts(command: str) -> list[str]:
    return [word.text for word in tokenize(command)]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("define ql(q1)", ["DEFINE", "QL", "(", "Q1", ")"]),
        ("  define  ql ( 'q1' )  ", ["DEFINE", "QL", "(", "q1", ")"]),
        ("descr('It''s')", ["DESCR", "(", "It's", ")"]),
        ('descr("It\'s")', ["DESCR", "(", "It's", ")"]),
        ("descr('')", ["DESCR", "(", "", ")"]),
        ("names(a,b , 'c')", ["NAMES", "(", "A", ",", "B", ",", "c", ")"]),
        ("ping qmgr;", ["PING", "QMGR", ";"]),
        ("dis ql(sys.%_/*)", ["DIS", "QL", "(", "SYS.%_/*", ")"]),
        ("descr('a''''b')", ["DESCR", "(", "a''b", ")"]),
        ("", []),
    ],
)
def test_words(command: str, words: list[str]) -> None:
    assert texts(command) == words


def test_words_know_where_they_stand() -> None:
    command = "def ql(Q1) descr('a''b')"
    assert [command[word.start : word.end] for word in tokenize(command)] == [
        "def",
        "ql",
        "(",
        "Q1",
        ")",
        "descr",
        "(",
        "'a''b'",
        ")",
    ]
    assert [word.kind for word in tokenize("a 'b'")] == [TokenKind.WORD, TokenKind.QUOTED]


def test_a_command_by_its_parts() -> None:
    statement = parse("define qlocal('q1') maxdepth(5), noshare names(a b,c)")
    assert (statement.verb.text, statement.noun.text) == ("DEFINE", "QLOCAL")
    assert statement.name is not None
    assert statement.name.text == "q1"
    assert [
        (each.keyword.text, None if each.values is None else [value.text for value in each.values])
        for each in statement.arguments
    ] == [("MAXDEPTH", ["5"]), ("NOSHARE", None), ("NAMES", ["A", "B", "C"])]


@pytest.mark.parametrize(
    "command",
    [
        "define ql(a) names(b c) share",
        "define,ql , ( a,),names(,b,,c,),,share,",
        ",define ql(a), names(b,c), share;",
        "DEFINE\tQL\t(A)\tNAMES(B\tC)\tSHARE ;",
    ],
)
def test_commas_are_blanks(command: str) -> None:
    statement = parse(command)
    assert statement.name is not None
    assert [statement.verb.text, statement.noun.text, statement.name.text] == ["DEFINE", "QL", "A"]
    names, share = statement.arguments
    assert names.values is not None
    assert [value.text for value in names.values] == ["B", "C"]
    assert (share.keyword.text, share.values) == ("SHARE", None)


@pytest.mark.parametrize(
    ("command", "until"),
    [
        ("", ""),
        (";", ";"),
        ("define", "define"),
        ("'define' ql(a)", "'define'"),
        ("define (a)", "define ("),
        ("define ql(a b)", "define ql(a b"),
        ("define ql(a", "define ql(a"),
        ("define ql(a) )", "define ql(a) )"),
        ("define ql(a) 'maxdepth'(5)", "define ql(a) 'maxdepth'"),
        ("define ql(a) conname(host(1414))", "define ql(a) conname(host("),
        ("define ql(a) descr('open)", "define ql(a) descr('open)"),
        ("ping qmgr; ping qmgr", "ping qmgr;"),
    ],
)
def test_refusals_point_at_the_word(command: str, until: str) -> None:
    with pytest.raises(MqscSyntaxError) as refusal:
        parse(command)
    assert command[: refusal.value.end] == until


def test_a_command_has_a_limit() -> None:
    with pytest.raises(MqscSyntaxError, match="characters"):
        parse("define ql(a) descr('" + "x" * COMMAND_CHARACTERS_MAX + "')")


# -- lines -------------------------------------------------------------------------------------------------------------


def read(*lines: str) -> list[str | None]:
    reader = StatementReader()
    return [*(reader.feed(line) for line in lines), reader.finish()]


@pytest.mark.parametrize(
    ("lines", "commands"),
    [
        (["ping qmgr"], ["ping qmgr", None]),
        (["* comment", "", "   * comment", "ping qmgr  "], [None, None, None, "ping qmgr", None]),
        (["def ql(a) +", "   descr('b')"], [None, "def ql(a) descr('b')", None]),
        (["def ql(a) descr('b-", "  c')"], [None, "def ql(a) descr('b  c')", None]),
        (["def ql(a) descr('b +  ", "  c')"], [None, "def ql(a) descr('b c')", None]),
        (["def +", "* between", "", " ql(a)"], [None, None, None, "def ql(a)", None]),
        (["dis ql(+", " *)"], [None, "dis ql(*)", None]),
        (["def ql(a) +"], [None, "def ql(a) "]),
        (["+", "ping qmgr"], [None, "ping qmgr", None]),
        (["def ql(a) +", ";"], [None, "def ql(a) ;", None]),
        (["def ql('Fr+", "   ed')"], [None, "def ql('Fred')", None]),
        (["def ql('Fr-", "ed')"], [None, "def ql('Fred')", None]),
        (["def ql('Fr-", "* not part of it", "ed')"], [None, None, "def ql('Fred')", None]),
        (["dis ql(a)\t+ \t", "\tdescr"], [None, "dis ql(a)\tdescr", None]),
    ],
)
def test_lines_make_commands(lines: list[str], commands: list[str | None]) -> None:
    assert read(*lines) == commands


def test_the_reader_says_that_it_wants_more() -> None:
    reader = StatementReader()
    reader.feed("def ql(a) +")
    assert reader.is_continued
    reader.feed("maxdepth(5)")
    assert not reader.is_continued


# -- anything at all ---------------------------------------------------------------------------------------------------

WORDS = """\
define alter delete display clear start stop ping refresh ql qlocal qmgr chl listener nl q qs chs conn security
( ) , ' '' ; * Q1 5 -1 99999999999 maxdepth(5) descr('x') descr('it''s') share noshare replace like(a) where(
where(maxdepth gt 5) all chltype(svrconn) chltype(nonsense) names(a,b) type(handle) eq lk purge ignstate(yes)"""
PIECES = st.sampled_from(WORDS.split())


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=9).map(" ".join)))
def test_any_text_is_understood_or_refused_with_a_place(command: str) -> None:
    found: MqscSyntaxError | None = None
    try:
        parse_command(command)
    except MqscSyntaxError as problem:
        found = problem
    if found is None:
        assert tokenize(command)[0].text in VERBS
    else:
        assert 0 <= found.end <= len(command)
        assert found.why


@given(st.lists(st.text(alphabet="ab '+-*\t", max_size=8), max_size=6))
def test_lines_lose_nothing_but_comments_and_continuations(lines: list[str]) -> None:
    whole = "".join(command for command in read(*lines) if command)
    kept = "".join(line for line in lines if not line.lstrip().startswith("*"))
    assert whole.count("a") >= kept.count("a")
