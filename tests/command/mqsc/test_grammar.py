"""What DISPLAY understands: groups of attributes, choices, filters with every operator, and who may see what."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.command.conftest import LocalCommandContext, Operator

from ostler.model.authorities import DSP
from ostler.model.constants import MQOT_Q


def named(operator: Operator, command: str) -> list[str]:
    """The names of the objects that a command shows."""
    lines = operator.says(command)
    return [line.split("(")[1].split(")")[0] for before, line in pairwise(lines) if before.startswith("AMQ")]


def keywords(operator: Operator, command: str) -> set[str]:
    """The attributes that a command shows of one object."""
    words = " ".join(operator.says(command)[1:]).split()
    return {word.partition("(")[0] for word in words if word[0].isalpha()}


# -- groups ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "inside", "outside"),
    [
        ("SYSTEM", {"CMDLEVEL", "DEADQ", "MAXHANDS", "PLATFORM"}, {"AUTHOREV", "CHAD", "CLWLLEN", "PSMODE"}),
        ("EVENT", {"AUTHOREV", "CMDEV", "STRSTPEV"}, {"CMDLEVEL", "CHAD", "CLWLLEN", "PSMODE"}),
        ("CHINIT", {"CHAD", "CHLAUTH", "SSLKEYR"}, {"CMDLEVEL", "CMDEV", "CLWLLEN", "PSMODE"}),
        ("CLUSTER", {"CLWLLEN", "REPOS", "REPOSNL"}, {"CMDLEVEL", "CMDEV", "CHAD", "PSMODE"}),
        ("PUBSUB", {"PSMODE", "TREELIFE", "PARENT"}, {"CMDLEVEL", "CMDEV", "CHAD", "CLWLLEN"}),
    ],
)
def test_groups_of_the_queue_manager(operator: Operator, group: str, inside: set[str], outside: set[str]) -> None:
    shown = keywords(operator, f"display qmgr {group}")
    assert inside <= shown
    assert not outside & shown


def test_groups_stand_beside_attributes(operator: Operator) -> None:
    shown = keywords(operator, "dis qmgr pubsub cluster deadq")
    assert {"PSMODE", "REPOS", "DEADQ"} <= shown
    assert "CMDLEVEL" not in shown


def test_every_attribute_of_the_queue_manager_is_in_a_group(operator: Operator) -> None:
    assert keywords(operator, "dis qmgr system event chinit cluster pubsub") == keywords(operator, "dis qmgr all")


def test_monitoring_of_queues(operator: Operator) -> None:
    shown = keywords(operator, "dis qs(SYSTEM.DEAD.LETTER.QUEUE) monitor")
    assert {"LGETDATE", "LPUTTIME", "MONQ", "MSGAGE", "QTIME"} <= shown
    assert "IPPROCS" not in shown


def test_queues_take_clusinfo(operator: Operator) -> None:
    assert named(operator, "dis q(SYSTEM.DEAD.LETTER.QUEUE) clusinfo descr") == ["SYSTEM.DEAD.LETTER.QUEUE"]


# -- choices -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def zoo(operator: Operator) -> Operator:
    for command in (
        "define qlocal(ZOO.APE) cluster(AFRICA) maxdepth(10) descr('Swings') get(disabled)",
        "define qlocal(ZOO.BEAR) cluster(AMERICA) maxdepth(20) descr('Sleeps')",
        "define qlocal(ZOO.CAT) maxdepth(30) descr('Swims not') trigger",
        "define qalias(ZOO.DOG) target(ZOO.CAT)",
        "define qalias(ZOO.EMU) target(NEWS) targtype(topic)",
        "define qmodel(ZOO.FOX) deftype(permdyn)",
        "define namelist(ZOO.ONE) names(ALPHA,BETA)",
        "define namelist(ZOO.TWO) names(GAMMA)",
        "define namelist(ZOO.NONE) names()",
    ):
        operator.says(command)
    return operator


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("dis q(ZOO.*) type(qlocal)", "APE BEAR CAT"),
        ("dis q(ZOO.*) qtype(qalias)", "DOG EMU"),
        ("dis q(ZOO.*) type(all)", "APE BEAR CAT DOG EMU FOX"),
        ("dis ql(ZOO.*) cluster(AFRICA)", "APE"),
        ("dis ql(ZOO.*) cluster(A*)", "APE BEAR"),
        ("dis ql(ZOO.*) cluster(*)", "APE BEAR CAT"),
        # A model queue has no CLUSTER, and so it is not left out.
        ("dis q(ZOO.*) cluster(AMERICA)", "BEAR FOX"),
        ("dis qa(ZOO.*) targtype(topic)", "EMU"),
        ("dis ql(ZOO.*) cluster(A*), maxdepth", "APE BEAR"),
    ],
)
def test_choices(zoo: Operator, command: str, names: str) -> None:
    assert named(zoo, command) == [f"ZOO.{name}" for name in names.split()]


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("maxdepth lt 20", "APE"),
        ("maxdepth gt 20", "CAT"),
        ("maxdepth eq 20", "BEAR"),
        ("maxdepth ne 20", "APE CAT"),
        ("maxdepth le 20", "APE BEAR"),
        ("MAXDEPTH,GE,20", "BEAR CAT"),
        ("descr lk 'Sw*'", "APE CAT"),
        ("descr lk '*'", "APE BEAR CAT"),
        ("descr nl 'Sw*'", "BEAR"),
        ("descr eq 'Swings'", "APE"),
        ("descr ne 'Swings'", "BEAR CAT"),
        ("descr gt 'Sleeps'", "APE CAT"),
        ("cluster eq ' '", "CAT"),
        ("cluster ne ''", "APE BEAR"),
        ("cluster lk am*", "BEAR"),
        ("get eq disabled", "APE"),
        ("get ne disabled", "BEAR CAT"),
        ("trigger eq trigger", "CAT"),
        ("trigger eq yes", "CAT"),
        ("trigger ne yes", "APE BEAR"),
        ("share eq 'yes'", "APE BEAR CAT"),
        ("hardenbo ne no", "APE BEAR CAT"),
        ("maxfsize eq default", "APE BEAR CAT"),
        ("queue lk zoo.b*", "BEAR"),
        ("qtype eq qlocal", "APE BEAR CAT"),
    ],
)
def test_filters(zoo: Operator, condition: str, names: str) -> None:
    assert named(zoo, f"dis ql(ZOO.*) where({condition})") == [f"ZOO.{name}" for name in names.split()]


@pytest.mark.parametrize(
    ("condition", "names"),
    [
        ("names ct beta", "ONE"),
        ("names ex beta", "NONE TWO"),
        ("names ctg 'G*'", "TWO"),
        ("names exg 'G*'", "NONE ONE"),
        ("namcount eq 0", "NONE"),
    ],
)
def test_filters_on_lists(zoo: Operator, condition: str, names: str) -> None:
    assert named(zoo, f"dis nl(ZOO.*) where({condition})") == [f"ZOO.{name}" for name in names.split()]


@pytest.mark.parametrize("operator_word", ["LT", "GT", "EQ", "NE", "LE", "GE", "LK", "NL", "CT", "EX", "CTG", "EXG"])
@pytest.mark.parametrize(
    ("attribute", "value", "allowed"),
    [
        ("MAXDEPTH", "5", "LT GT EQ NE LE GE"),
        ("DEFPSIST", "YES", "EQ NE"),
        ("SHARE", "NOSHARE", "EQ NE"),
        ("DESCR", "'a'", "LT GT EQ NE LE GE LK NL"),
        ("CRDATE", "'2024-01-01'", "LT GT EQ NE LE GE LK NL"),
    ],
)
def test_each_operator_goes_with_some_attributes(
    operator: Operator, operator_word: str, attribute: str, value: str, allowed: str
) -> None:
    command = f"dis ql(SYSTEM.*) where({attribute} {operator_word} {value})"
    if operator_word in allowed.split():
        _, outcome = operator.run(command)
        assert outcome.name != "SYNTAX_ERROR"
    else:
        why, part = operator.is_wrong(command)
        assert part == f"dis ql(SYSTEM.*) where({attribute} {operator_word}"
        assert why.startswith(f"{operator_word} does not go with {attribute}")


@pytest.mark.parametrize(
    ("command", "until", "why"),
    [
        ("dis ql(*) descr maxdepth descr", "dis ql(*) descr maxdepth descr", "DESCR is given twice."),
        ("dis qmgr pubsub pubsub", "dis qmgr pubsub pubsub", "PUBSUB is given twice."),
        ("dis qmgr clutser", "dis qmgr clutser", "did you mean CLUSTER?"),
        ("dis ql(*) where(descr lk 'a*b')", "dis ql(*) where(descr lk 'a*b'", "is its last character."),
        ("dis ql(*) cluster(a*b)", "dis ql(*) cluster(a*b", "is its last character."),
        ("dis nl(*) where(names ct 'A*')", "dis nl(*) where(names ct 'A*'", "needs CTG or EXG, not CT."),
        ("dis chs(*) where(exittime gt 5)", "dis chs(*) where(exittime", "WHERE does not take EXITTIME."),
        ("dis conn(*) where(extconn eq 5)", "dis conn(*) where(extconn", "WHERE does not take EXTCONN."),
        ("dis qs(*) where(qtime gt 5)", "dis qs(*) where(qtime", "WHERE does not take QTIME."),
        ("dis q(*) type(qlocl)", "dis q(*) type(qlocl", "did you mean QLOCAL?"),
        ("dis q(*) type(qlocal) where(type eq qlocal)", "dis q(*) type(qlocal) where(type", "selects objects already."),
        ("def ql(A) descr()", "def ql(A) descr()", "write ' ' for a blank value."),
        ("def ql(A) put(enabeld)", "def ql(A) put(enabeld", "did you mean ENABLED?"),
        ("def ql(A) put(5)", "def ql(A) put(5", "ENABLED, DISABLED."),
        ("def nl(A) names(GOOD 'b d' ALSO)", "def nl(A) names(GOOD 'b d'", "is not a valid name."),
        ("clear ql(A) purge", "clear ql(A) purge", "PURGE does not belong to CLEAR QL."),
        ("delete ql(A) purg", "delete ql(A) purg", "did you mean PURGE?"),
        ("dis ql(A*B)", "dis ql(A*B", "ends with an asterisk."),
        ("dis ql(*A)", "dis ql(*A", "ends with an asterisk."),
    ],
)
def test_what_is_wrong_is_pointed_at(operator: Operator, command: str, until: str, why: str) -> None:
    said, part = operator.is_wrong(command)
    assert part == until
    assert said.endswith(why)


def test_blank_values(operator: Operator) -> None:
    operator.says("def ql(A) descr('once') boqname(B)")
    operator.says("alter ql(A) descr('') boqname(' ')")
    assert operator.says("dis ql(A) descr boqname")[2] == "   BOQNAME( )                              DESCR( )"


# -- authority ---------------------------------------------------------------------------------------------------------


class Guest(LocalCommandContext):
    """One who may see one queue only."""

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        assert (object_type, authorities) == (MQOT_Q, DSP)
        return name == "ZOO.CAT"


def test_generic_displays_leave_out_what_one_may_not_see(zoo: Operator) -> None:
    guest = Operator(Guest(zoo.target.manager))
    assert named(guest, "dis q(ZOO.*)") == ["ZOO.CAT"]
    assert named(guest, "dis ql(ZOO.CAT)") == ["ZOO.CAT"]
    assert guest.fails("dis ql(ZOO.APE)").startswith("AMQ8135E")
    assert guest.fails("dis ql(ZOO.A*)").startswith("AMQ8147E")
