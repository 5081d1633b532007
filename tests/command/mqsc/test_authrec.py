"""SET, DELETE and DISPLAY AUTHREC, DISPLAY ENTAUTH and AUTHSERV."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command.conftest import LocalCommandContext, Operator

from ostler.command.admin.authrec import (
    Entity,
    RecordQuery,
    delete_record,
    entity_authority,
    records,
    set_record,
)
from ostler.command.admin.context import CommandRefused
from ostler.command.mqsc.interpreter import parse_command
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.model.attributes import ObjectType
from ostler.model.authorities import CHG, CONNECT, CRT, DSP, GET, INQ, PUT, QUEUE_AUTHORITIES
from ostler.model.constants import (
    MQOT_Q,
    MQOT_Q_MGR,
    MQRC_OBJECT_TYPE_ERROR,
    MQRC_UNKNOWN_ENTITY,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_AUTH_VALUE_ERROR,
    MQRCCF_ENTITY_NAME_MISSING,
    MQRCCF_PROFILE_NAME_ERROR,
    MQRCCF_PROFILE_NAME_MISSING,
)
from ostler.model.errors import MQError
from ostler.server.queue_manager import QueueManager

SET = "AMQ8862I: Ostler authority record set."
DELETED = "AMQ8863I: Ostler authority record deleted."


class GuardedTarget(LocalCommandContext):
    """One who gives commands with only the authorities on the queue manager that it is told to have."""

    def __init__(self, manager: QueueManager) -> None:
        super().__init__(manager)
        self.mask = -1
        self.groups: dict[str, tuple[str, ...]] = {}
        self.administrators: tuple[str, ...] = ()

    @property
    def user(self) -> str:
        return "joe"

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        if object_type != MQOT_Q_MGR:
            return True
        return authorities & ~self.mask == 0

    def groups_of(self, user: str) -> tuple[str, ...]:
        return self.groups.get(user, ())

    def is_administrator(self, user: str) -> bool:
        return user in self.administrators


@pytest.fixture
def guarded(manager: QueueManager) -> GuardedTarget:
    return GuardedTarget(manager)


def names(target: LocalCommandContext) -> list[str]:
    return sorted(target.manager.engine.of_type(ObjectType.AUTHREC))


def test_a_record_is_set_and_shown_as_mq_shows_it(operator: Operator) -> None:
    operator.says("DEFINE QLOCAL(Q1)")
    assert operator.says("SET AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('app') AUTHADD(PUT,GET,SETALL)") == [SET]
    assert operator.says("DISPLAY AUTHREC PROFILE(Q1)") == [
        "AMQ8864I: Authority record details.",
        "   PROFILE(Q1)                             ENTITY(app)",
        "   ENTTYPE(PRINCIPAL)                      OBJTYPE(QUEUE)",
        "   AUTHLIST(GET,PUT,SETALL)",
    ]


def test_authorities_are_added_and_removed(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("SET AUTHREC PROFILE('A.**') OBJTYPE(QUEUE) GROUP('g') AUTHADD(ALL)")
    operator.says("SET AUTHREC PROFILE('A.**') OBJTYPE(QUEUE) GROUP('g') AUTHRMV(ALLADM, SETALL,SETID)")
    line = "   AUTHLIST(BROWSE,GET,INQ,PUT,PASSALL,PASSID,SET)"
    assert operator.says("DIS AUTHREC PROFILE('A.**')")[-1] == line
    operator.says("SET AUTHREC PROFILE('A.**') OBJTYPE(QUEUE) GROUP('g') AUTHRMV(ALL) AUTHADD(INQ)")
    assert operator.says("DIS AUTHREC PROFILE('A.**') AUTHLIST")[1:] == [
        "   PROFILE(A.**)                           OBJTYPE(QUEUE)",
        "   AUTHLIST(INQ)",
    ]
    operator.says("SET AUTHREC PROFILE('A.**') OBJTYPE(QUEUE) GROUP('g') AUTHRMV(ALL)")
    assert operator.says("DIS AUTHREC")[-1] == "   AUTHLIST(NONE)"
    assert names(target) == ["QUEUE A.** GROUP g"]


def test_scripts_of_the_wild(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("DEFINE CHANNEL(SAMPLE.SVRCONN) CHLTYPE(SVRCONN)")
    for command in (
        "set authrec objtype(qmgr) principal('rdqmuser') authadd(allmqi)",
        "set authrec profile(sample.svrconn) objtype(channel) principal('rdqmuser') authadd(allmqi)",
        "SET AUTHREC PROFILE('**') OBJTYPE(RQMNAME)  PRINCIPAL('mqadmin') AUTHADD(ALLADM, CRT)",
        "SET AUTHREC PROFILE('**') OBJTYPE(TOPIC)    PRINCIPAL('mqadmin') AUTHADD(ALLADM, CRT, ALLMQI)",
        "SET AUTHREC PROFILE('@class') OBJTYPE(AUTHINFO) GROUP('mqadmin') AUTHADD(CRT)",
        "SET AUTHREC PROFILE(*) OBJTYPE(QMGR) GROUP('mqadmin') AUTHADD(CONNECT, ALL)",
        "SET AUTHREC PROFILE('self') GROUP('mquser') OBJTYPE(QMGR) AUTHADD(CONNECT,INQ,SETALL)",
        "SET AUTHREC PROFILE('@class') GROUP('mquser') OBJTYPE(QMGR) AUTHADD(NONE)",
    ):
        assert operator.says(command) == [SET]
    assert names(target) == [
        "AUTHINFO @class GROUP mqadmin",
        "CHANNEL SAMPLE.SVRCONN PRINCIPAL rdqmuser",
        "QMGR * GROUP mqadmin",
        "QMGR @class GROUP mquser",
        "QMGR self GROUP mquser",
        "QMGR self PRINCIPAL rdqmuser",
        "RQMNAME @class PRINCIPAL mqadmin",
        "TOPIC ** PRINCIPAL mqadmin",
        "TOPIC @class PRINCIPAL mqadmin",
    ]


def test_the_authority_to_create_is_kept_with_the_type(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("SET AUTHREC PROFILE('A.B.*') OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHADD(CRT)")
    assert names(target) == ["QUEUE @class PRINCIPAL ann"]
    assert entity_authority(target, "ann", False, "QUEUE", "**") == 0
    operator.says("DEFINE QLOCAL(Q1)")
    assert entity_authority(target, "ann", False, "QUEUE", "Q1") == CRT
    operator.says("SET AUTHREC PROFILE(Q1) OBJTYPE(QUEUE) PRINCIPAL('ann') AUTHRMV(CRT)")
    assert entity_authority(target, "ann", False, "QUEUE", "Q1") == 0


def test_several_users_and_groups_at_once(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("SET AUTHREC PROFILE('X*') OBJTYPE(TOPIC) PRINCIPAL('a','b') GROUP('c') AUTHADD(SUB)")
    assert names(target) == ["TOPIC X* GROUP c", "TOPIC X* PRINCIPAL a", "TOPIC X* PRINCIPAL b"]
    assert operator.says("DELETE AUTHREC PROFILE('X*') OBJTYPE(TOPIC) PRINCIPAL('a') GROUP('c')") == [DELETED]
    assert names(target) == ["TOPIC X* PRINCIPAL b"]


def test_the_queue_manager_by_its_name(operator: Operator, target: LocalCommandContext) -> None:
    operator.says("SET AUTHREC PROFILE(TEST) OBJTYPE(QMGR) PRINCIPAL('a') AUTHADD(CONNECT)")
    operator.says("SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('a') AUTHADD(INQ) SERVCOMP('MQSeries.UNIX.auth.service')")
    assert names(target) == ["QMGR self PRINCIPAL a"]
    assert entity_authority(target, "a", False, "QMGR", "") == CONNECT | INQ
    assert len(operator.says("DISPLAY AUTHREC PROFILE(TEST)")) == 4
    message = operator.fails("SET AUTHREC PROFILE(OTHER) OBJTYPE(QMGR) PRINCIPAL('a') AUTHADD(CONNECT)")
    assert message == "AMQ8147E: There is no QMGR called OTHER."
    operator.says("DELETE AUTHREC OBJTYPE(QMGR) PRINCIPAL('a')")
    assert names(target) == []


@pytest.mark.parametrize("objtype", ["QUEUE", "CHANNEL", "CLNTCONN", "TOPIC", "NAMELIST", "COMMINFO"])
def test_a_profile_without_wildcards_names_an_object(operator: Operator, objtype: str) -> None:
    command = f"SET AUTHREC PROFILE(GONE) OBJTYPE({objtype}) PRINCIPAL('a') AUTHADD(DSP)"
    assert operator.fails(command) == f"AMQ8147E: There is no {objtype} called GONE."


def test_names_of_other_queue_managers_are_not_looked_for(operator: Operator) -> None:
    assert operator.says("SET AUTHREC PROFILE(FAR) OBJTYPE(RQMNAME) PRINCIPAL('a') AUTHADD(PUT)") == [SET]


def test_deleting_what_is_not_there(operator: Operator) -> None:
    assert operator.says("DELETE AUTHREC PROFILE(NONE) OBJTYPE(QUEUE) PRINCIPAL('a')") == [DELETED]
    assert operator.fails("DELETE AUTHREC PROFILE('*') OBJTYPE(LISTENER) PRINCIPAL('a')") == (
        "AMQ8147E: There is no authority record LISTENER * PRINCIPAL a."
    )
    assert operator.says("DELETE AUTHREC PROFILE('*') OBJTYPE(LISTENER) PRINCIPAL('a') IGNSTATE(YES)") == [DELETED]


@pytest.mark.parametrize(
    ("command", "why", "up_to"),
    [
        ("SET AUTHREC PROFILE(Q) PRINCIPAL('a') AUTHADD(GET)", "OBJTYPE is missing", "AUTHADD(GET)"),
        ("SET AUTHREC OBJTYPE(QUEUE) PRINCIPAL('a') AUTHADD(GET)", "PROFILE is missing", "AUTHADD(GET)"),
        ("SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) AUTHADD(GET)", "PRINCIPAL or GROUP is missing", "AUTHADD(GET)"),
        ("SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) GROUP('a')", "AUTHADD or AUTHRMV is missing", "GROUP('a')"),
        ("SET AUTHREC PROFILE(Q) OBJTYPE(QUEU) GROUP('a') AUTHADD(GET)", "did you mean QUEUE?", "(QUEU"),
        ("SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) GROUP('a') AUTHADD(GET,FLY)", "FLY is not an authority", "GET,FLY"),
        ("SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) GROUP('a') AUTHADD(CONNECT)", "does not apply", "(CONNECT"),
        ("SET AUTHREC PROFILE('A**') OBJTYPE(QUEUE) GROUP('a') AUTHADD(GET)", "** must be a qualifier", "'A**'"),
        ("SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) GROUP(' ') AUTHADD(GET)", "is missing", "GROUP(' '"),
        ("SET AUTHREC PROFILE(Q) OBJTYPE(QUEUE) GROUP(' x') AUTHADD(GET)", "cannot be the name", "' x'"),
        ("SET AUTHREC(Q) OBJTYPE(QUEUE) GROUP('a') AUTHADD(GET)", "takes no name", "(Q"),
        ("DELETE AUTHREC PROFILE(Q) OBJTYPE(QUEUE,TOPIC) GROUP('a')", "OBJTYPE takes one value", "(QUEUE,TOPIC"),
        ("DELETE AUTHREC PROFILE(Q,R) OBJTYPE(QUEUE) GROUP('a')", "PROFILE takes one value", "(Q,R"),
        ("DELETE AUTHREC PROFILE(Q) OBJTYPE(QUEUE) GROUP('a') IGNSTATE(NO)", "always YES", "IGNSTATE(NO)"),
        ("DISPLAY AUTHREC PRINCIPAL('a') GROUP('b')", "only one", "GROUP('b')"),
        ("DISPLAY AUTHREC MATCH(MEMBERSHIP)", "needs a PRINCIPAL", "MATCH(MEMBERSHIP)"),
        ("DISPLAY AUTHREC AUTHLST", "did you mean AUTHLIST?", "AUTHLST"),
        ("DISPLAY ENTAUTH OBJTYPE(QMGR)", "PRINCIPAL or GROUP is missing", "OBJTYPE(QMGR)"),
        ("DISPLAY ENTAUTH OBJTYPE(QUEUE) GROUP('a')", "OBJNAME is missing", "GROUP('a')"),
    ],
)
def test_what_is_wrong_is_pointed_at(operator: Operator, command: str, why: str, up_to: str) -> None:
    told, shown = operator.is_wrong(command)
    assert why in told
    assert shown.endswith(up_to)


# -- which records -----------------------------------------------------------------------------------------------------


@pytest.fixture
def several(guarded: GuardedTarget) -> GuardedTarget:
    operator = Operator(guarded)
    operator.says("DEFINE QLOCAL(ABCD)")
    guarded.groups["ann"] = ("staff", "other")
    for profile, entity, is_group in (
        ("ABCD", "bob", False),
        ("ABC*", "ann", False),
        ("AB*", "ann", False),
        ("X.**", "ann", False),
        ("**", "staff", True),
        ("A*", "staff", True),
        ("*", "nobody", True),
    ):
        set_record(guarded, "QUEUE", profile, entity, is_group, GET, 0)
    set_record(guarded, "TOPIC", "A*", "ann", False, DSP, 0)
    return guarded


def shown(target: LocalCommandContext, question: RecordQuery) -> list[str]:
    return [f"{row['PROFILE']} {row['ENTITY']}" for row in records(target, question)]


def test_a_name_finds_the_profiles_that_match_it(several: GuardedTarget) -> None:
    assert shown(several, RecordQuery("ABCD", "QUEUE")) == [
        "* nobody",
        "** staff",
        "A* staff",
        "AB* ann",
        "ABC* ann",
        "ABCD bob",
    ]
    assert shown(several, RecordQuery("AB*")) == ["AB* ann"]
    assert shown(several, RecordQuery("A*")) == ["A* staff", "A* ann"]
    assert shown(several, RecordQuery("ABCD", "QUEUE", Entity("ann"))) == ["AB* ann", "ABC* ann"]
    assert shown(several, RecordQuery(None, "TOPIC")) == ["A* ann"]
    assert shown(several, RecordQuery("", "TOPIC")) == ["A* ann"]
    assert len(records(several, RecordQuery(""))) == 8


def test_an_exact_name_finds_itself_alone(several: GuardedTarget) -> None:
    assert shown(several, RecordQuery("ABCD", match="EXACT")) == ["ABCD bob"]
    assert shown(several, RecordQuery("ABCE", match="EXACT")) == []


def test_membership_finds_what_counts_for_a_user(several: GuardedTarget) -> None:
    question = RecordQuery("ABCD", "QUEUE", Entity("ann"), "MEMBERSHIP")
    assert shown(several, question) == ["* nobody", "A* staff", "ABC* ann"]
    assert shown(several, RecordQuery(None, "QUEUE", Entity("ann"), "MEMBERSHIP")) == [
        "* nobody",
        "** staff",
        "A* staff",
        "AB* ann",
        "ABC* ann",
        "X.** ann",
    ]


def test_nothing_found(operator: Operator) -> None:
    assert operator.fails("DISPLAY AUTHREC PROFILE(NOTHING)").startswith("AMQ8459I: ")


def test_display_with_all_its_words(several: GuardedTarget) -> None:
    operator = Operator(several)
    lines = operator.says("DIS AUTHREC PROFILE(ABCD) OBJTYPE(QUEUE) PRINCIPAL('ann') MATCH(MEMBERSHIP) ENTITY ENTTYPE")
    assert lines[-3:] == [
        "AMQ8864I: Authority record details.",
        "   PROFILE(ABC*)                           ENTITY(ann)",
        "   ENTTYPE(PRINCIPAL)                      OBJTYPE(QUEUE)",
    ]
    assert len(operator.says("DISPLAY AUTHREC ALL")) == 8 * 4


# -- what somebody may do ----------------------------------------------------------------------------------------------


def test_what_an_entity_may_do(several: GuardedTarget) -> None:
    set_record(several, "QUEUE", "ABC*", "ann", False, PUT, GET)
    operator = Operator(several)
    assert operator.says("DISPLAY ENTAUTH OBJNAME(ABCD) OBJTYPE(QUEUE) PRINCIPAL('ann')") == [
        "AMQ8866I: Entity authority details.",
        "   OBJNAME(ABCD)                           ENTITY(ann)",
        "   ENTTYPE(PRINCIPAL)                      OBJTYPE(QUEUE)",
        "   AUTHLIST(GET,PUT)",
    ]
    assert operator.says("DISPLAY ENTAUTH OBJNAME(ABCD) OBJTYPE(QUEUE) GROUP('other')")[-1] == "   AUTHLIST(NONE)"
    assert operator.says("DISPLAY ENTAUTH OBJNAME(ABCD) OBJTYPE(QUEUE) GROUP('staff') AUTHLIST")[1:] == [
        "   OBJNAME(ABCD)                           AUTHLIST(GET)"
    ]
    assert entity_authority(several, "ann", False, "QUEUE", "ABC*") == PUT
    assert operator.says("DISPLAY ENTAUTH OBJTYPE(QMGR) GROUP('staff')")[1].startswith("   OBJNAME(TEST) ")
    gone = operator.fails("DISPLAY ENTAUTH OBJNAME(GONE) OBJTYPE(QUEUE) PRINCIPAL('ann')")
    assert gone == "AMQ8147E: There is no QUEUE called GONE."


def test_administrators_may_do_everything(several: GuardedTarget) -> None:
    several.administrators = ("root",)
    assert entity_authority(several, "root", False, "QUEUE", "ABCD") == QUEUE_AUTHORITIES | CRT
    assert entity_authority(several, "mqm", True, "QUEUE", "ABCD") == QUEUE_AUTHORITIES | CRT
    assert entity_authority(several, "mqm", False, "QUEUE", "ABCD") == GET


def test_the_authority_service(operator: Operator) -> None:
    assert operator.says("DISPLAY AUTHSERV ALL") == [
        "AMQ8865I: Authority service details.",
        "   IFVER(6)                                UIDSUPP(YES)",
    ]
    assert operator.says("DISPLAY AUTHSERV UIDSUPP")[1:] == ["   UIDSUPP(YES)"]


# -- who may ----------------------------------------------------------------------------------------------------------


def test_changing_needs_chg_and_looking_dsp_on_the_queue_manager(guarded: GuardedTarget) -> None:
    operator = Operator(guarded)
    guarded.mask = DSP
    for command in (
        "SET AUTHREC PROFILE('*') OBJTYPE(QUEUE) PRINCIPAL('joe') AUTHADD(ALL)",
        "DELETE AUTHREC PROFILE('*') OBJTYPE(QUEUE) PRINCIPAL('joe')",
    ):
        assert operator.fails(command).startswith("AMQ8135E: User joe is not authorized: CHG")
    guarded.mask = CHG
    operator.says("SET AUTHREC PROFILE('*') OBJTYPE(QUEUE) PRINCIPAL('joe') AUTHADD(ALL)")
    for command in (
        "DISPLAY AUTHREC",
        "DISPLAY ENTAUTH OBJTYPE(QMGR) PRINCIPAL('joe')",
        "DISPLAY AUTHSERV",
    ):
        assert operator.fails(command).startswith("AMQ8135E: User joe is not authorized: DSP")
    guarded.mask = 0
    with pytest.raises(CommandRefused):
        delete_record(guarded, "QUEUE", "*", "joe", False)
    guarded.mask = CHG
    delete_record(guarded, "QUEUE", "*", "joe", False)
    assert names(guarded) == []


@pytest.mark.parametrize(
    ("objtype", "profile", "entity", "add", "reason"),
    [
        ("QUEUE", "", "a", GET, MQRCCF_PROFILE_NAME_MISSING),
        ("QUEUE", "A**", "a", GET, MQRCCF_PROFILE_NAME_ERROR),
        ("QUEUE", "GONE", "a", GET, MQRC_UNKNOWN_OBJECT_NAME),
        ("QUEUE", "*", "", GET, MQRCCF_ENTITY_NAME_MISSING),
        ("QUEUE", "*", "a\nb", GET, MQRC_UNKNOWN_ENTITY),
        ("QUEUE", "*", "a" * 1025, GET, MQRC_UNKNOWN_ENTITY),
        ("QUEUE", "*", "a", CONNECT, MQRCCF_AUTH_VALUE_ERROR),
        ("QUEUE", "@class", "a", GET, MQRCCF_AUTH_VALUE_ERROR),
        ("SUB", "*", "a", GET, MQRC_OBJECT_TYPE_ERROR),
    ],
)
def test_what_programs_are_refused(
    target: LocalCommandContext, objtype: str, profile: str, entity: str, add: int, reason: int
) -> None:
    with pytest.raises(MQError) as refusal:
        set_record(target, objtype, profile, entity, False, add, 0)
    assert refusal.value.reason == reason
    assert names(target) == []


def test_records_are_there_after_a_restart(manager: QueueManager) -> None:
    set_record(LocalCommandContext(manager), "QUEUE", "DEV.**", "app", False, GET | PUT, 0)
    set_record(LocalCommandContext(manager), "TOPIC", "*", "app", True, DSP, 0)
    delete_record(LocalCommandContext(manager), "TOPIC", "*", "app", True)
    before = manager.engine.of_type(ObjectType.AUTHREC)["QUEUE DEV.** PRINCIPAL app"]
    manager.end("preemptive")
    again = QueueManager(manager.directory)
    again.start()
    try:
        kept = again.engine.of_type(ObjectType.AUTHREC)
        assert {key: each.attributes for key, each in kept.items()} == {before.name: before.attributes}
        assert again.guard.authorities("app", MQOT_Q, "DEV.X") == GET | PUT
    finally:
        again.end("immediate")


def test_the_guard_hears_of_every_change(manager: QueueManager) -> None:
    target = LocalCommandContext(manager)
    Operator(target).says("DEFINE QLOCAL(Q1)")
    entity = "nobody-that-there-is"

    def authorities() -> int:
        with manager.lock:
            return manager.guard.authorities(entity, MQOT_Q, "Q1")

    assert authorities() == 0
    set_record(target, "QUEUE", "Q*", entity, False, GET, 0)
    assert authorities() == GET
    set_record(target, "QUEUE", "Q1", entity, False, PUT, 0)
    assert authorities() == PUT
    Operator(target).says("DELETE QLOCAL(Q1)")
    assert authorities() == GET
    delete_record(target, "QUEUE", "Q*", entity, False)
    assert authorities() == 0


KEYWORDS = st.sampled_from(
    [
        *("PROFILE", "OBJTYPE", "PRINCIPAL", "GROUP", "AUTHADD", "AUTHRMV", "SERVCOMP", "IGNSTATE", "MATCH", "OBJNAME"),
        *("ALL", "AUTHLIST", "ENTITY", "IFVER", "X"),
    ]
)
VALUES = st.sampled_from(
    [
        *("", "()", "('')", "(QUEUE)", "(QMGR)", "(TOPIC)", "('**')", "('A**')", "(@CLASS)", "(SELF)", "('a','b')"),
        *("(ALL)", "(CRT)", "(GET,PUT)", "(CONNECT)", "(NONE)", "(YES)", "(NO)", "(MEMBERSHIP)", "(EXACT)", "(' x')"),
        "(((",
    ]
)
BEGINNINGS = st.sampled_from(
    ["SET AUTHREC", "DELETE AUTHREC", "DISPLAY AUTHREC", "DIS ENTAUTH", "DIS AUTHSERV", "SET AUTHREC(X)"]
)


@given(BEGINNINGS, st.lists(st.tuples(KEYWORDS, VALUES), max_size=6))
def test_any_words_are_understood_or_pointed_at(begin: str, words: list[tuple[str, str]]) -> None:
    text = " ".join([begin, *(keyword + value for keyword, value in words)])
    assert 0 < _end_of_problem(text) <= len(text)


def _end_of_problem(text: str) -> int:
    """Where a command is wrong; its whole length when it is not. Whatever else is raised fails the test."""
    try:
        parse_command(text)
    except MqscSyntaxError as problem:
        return problem.end
    return len(text)


def test_an_attribute_asked_for_beside_a_choice(several: GuardedTarget) -> None:
    lines = Operator(several).says("DISPLAY AUTHREC PROFILE('X.**') OBJTYPE")
    assert lines[1:] == ["   PROFILE(X.**)                           OBJTYPE(QUEUE)"]
