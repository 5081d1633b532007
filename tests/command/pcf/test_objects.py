"""PCF commands that inquire about objects and change them."""

from __future__ import annotations

import pytest
from tests.command.conftest import LocalCommandContext, Program
from tests.command.pcf.pcf_requests import Administrator, Given, command_bytes, parameter

from ostler.command.admin.context import ListenerStatus
from ostler.command.admin.objects import define_object
from ostler.command.pcf.dispatch import answer
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.authorities import DSP

NAME = mq.MQCA_Q_NAME
LOCAL: dict[int, Given] = {NAME: "A.QUEUE", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL}


@pytest.fixture
def admin(target: LocalCommandContext) -> Administrator:
    return Administrator(target)


def test_a_queue_is_made_changed_copied_and_deleted(admin: Administrator) -> None:
    admin.done(mq.MQCMD_CREATE_Q, {**LOCAL, mq.MQIA_MAX_Q_DEPTH: 7, mq.MQCA_Q_DESC: "orders"})
    admin.done(mq.MQCMD_CHANGE_Q, {**LOCAL, mq.MQIA_MAX_Q_DEPTH: 8})
    copying: dict[int, Given] = {mq.MQCACF_FROM_Q_NAME: "A.QUEUE", mq.MQCACF_TO_Q_NAME: "B.QUEUE"}
    admin.done(mq.MQCMD_COPY_Q, {**copying, mq.MQIA_Q_TYPE: mq.MQQT_LOCAL, mq.MQIA_DEF_PRIORITY: 3})
    (made,) = admin.does(mq.MQCMD_INQUIRE_Q, {NAME: "B.QUEUE"})
    assert made[mq.MQIA_MAX_Q_DEPTH] == 8
    assert made[mq.MQCA_Q_DESC] == "orders"
    assert made[mq.MQIA_DEF_PRIORITY] == 3
    admin.done(mq.MQCMD_DELETE_Q, {NAME: "B.QUEUE"})
    assert admin.fails(mq.MQCMD_INQUIRE_Q, {NAME: "B.QUEUE"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)


def test_replies_begin_with_name_and_type(admin: Administrator) -> None:
    admin.done(mq.MQCMD_CREATE_Q, LOCAL)
    (reply,) = admin.ask(mq.MQCMD_INQUIRE_Q, {NAME: "A.QUEUE", mq.MQIACF_Q_ATTRS: [mq.MQIA_CURRENT_Q_DEPTH]})
    assert [item.parameter for item in reply.parameters] == [NAME, mq.MQIA_Q_TYPE, mq.MQIA_CURRENT_Q_DEPTH]


def test_every_type_of_queue_is_made(admin: Administrator) -> None:
    for number, extra in (
        (mq.MQQT_LOCAL, {}),
        (mq.MQQT_MODEL, {mq.MQIA_DEFINITION_TYPE: mq.MQQDT_PERMANENT_DYNAMIC}),
        (mq.MQQT_ALIAS, {mq.MQCA_BASE_OBJECT_NAME: "X"}),
        (mq.MQQT_REMOTE, {mq.MQCA_REMOTE_Q_NAME: "X", mq.MQCA_REMOTE_Q_MGR_NAME: "QM"}),
    ):
        admin.done(mq.MQCMD_CREATE_Q, {NAME: f"Q{number}", mq.MQIA_Q_TYPE: number, **extra})
    found = admin.does(mq.MQCMD_INQUIRE_Q, {NAME: "Q*"})
    assert [each[mq.MQIA_Q_TYPE] for each in found] == [1, 2, 3, 6]
    (alias,) = admin.does(mq.MQCMD_INQUIRE_Q, {NAME: "Q*", mq.MQIA_Q_TYPE: mq.MQQT_ALIAS})
    assert alias[mq.MQCA_BASE_OBJECT_NAME] == "X"
    assert len(admin.does(mq.MQCMD_INQUIRE_Q, {NAME: "Q*", mq.MQIA_Q_TYPE: mq.MQQT_ALL})) == 4


def test_names_come_with_their_types(admin: Administrator) -> None:
    admin.done(mq.MQCMD_CREATE_Q, LOCAL)
    admin.done(mq.MQCMD_CREATE_Q, {NAME: "A.ALIAS", mq.MQIA_Q_TYPE: mq.MQQT_ALIAS})
    (names,) = admin.does(mq.MQCMD_INQUIRE_Q_NAMES, {NAME: "A.*"})
    assert names == {mq.MQCACF_Q_NAMES: ["A.ALIAS", "A.QUEUE"], mq.MQIACF_Q_TYPES: [mq.MQQT_ALIAS, mq.MQQT_LOCAL]}
    (names,) = admin.does(mq.MQCMD_INQUIRE_Q_NAMES, {NAME: "A.*", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL})
    assert names[mq.MQCACF_Q_NAMES] == ["A.QUEUE"]
    (names,) = admin.does(mq.MQCMD_INQUIRE_Q_NAMES, {NAME: "NOPE*"})
    assert names[mq.MQCACF_Q_NAMES] == []


def test_texts_are_filled_up_with_blanks(admin: Administrator, target: LocalCommandContext) -> None:
    admin.done(mq.MQCMD_CREATE_Q, LOCAL)
    (reply,) = answer(target, command_bytes(mq.MQCMD_INQUIRE_Q, parameter(NAME, "A.QUEUE")))
    assert b"A.QUEUE".ljust(48) in reply


@pytest.mark.parametrize(
    ("word", "name", "length", "given"),
    [
        ("PROCESS", mq.MQCA_PROCESS_NAME, 48, {mq.MQCA_APPL_ID: "run"}),
        ("NAMELIST", mq.MQCA_NAMELIST_NAME, 48, {mq.MQCA_NAMES: ["A", "B"]}),
        ("SERVICE", mq.MQCA_SERVICE_NAME, 48, {mq.MQCA_SERVICE_START_COMMAND: "run"}),
        ("COMM_INFO", mq.MQCA_COMM_INFO_NAME, 48, {mq.MQCA_COMM_INFO_DESC: "x"}),
        ("CF_STRUC", mq.MQCA_CF_STRUC_NAME, 12, {mq.MQCA_CF_STRUC_DESC: "x"}),
    ],
)
def test_objects_without_types_live_and_die(
    admin: Administrator, word: str, name: int, length: int, given: dict[int, Given]
) -> None:
    def command(verb: str) -> int:
        number: int = getattr(mq, f"MQCMD_{verb}_{word}")
        return number

    admin.done(command("CREATE"), {name: "ONE", **given})
    assert admin.fails(command("CREATE"), {name: "ONE"}) == (mq.MQRCCF_OBJECT_ALREADY_EXISTS,)
    admin.done(command("CREATE"), {name: "ONE", mq.MQIACF_REPLACE: mq.MQRP_YES, **given})
    admin.done(command("CHANGE"), {name: "ONE", **given})
    names = {getattr(mq, f"MQCACF_{way}_{word}_NAME"): text for way, text in (("FROM", "ONE"), ("TO", "TWO"))}
    admin.done(command("COPY"), names)
    found = admin.does(command("INQUIRE"), {name: "*O*"})
    mine = [each for each in found if each[name] in ("ONE", "TWO")]
    assert len(mine) == 2
    for number, value in given.items():
        assert [each[number] for each in mine] == [value, value]
    admin.done(command("DELETE"), {name: "ONE"})
    assert admin.fails(command("DELETE"), {name: "ONE"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)


def test_a_namelist_says_how_many_names_it_has(admin: Administrator) -> None:
    admin.done(mq.MQCMD_CREATE_NAMELIST, {mq.MQCA_NAMELIST_NAME: "N", mq.MQCA_NAMES: ["A", "B.C"]})
    (found,) = admin.does(mq.MQCMD_INQUIRE_NAMELIST, {mq.MQCA_NAMELIST_NAME: "N"})
    assert found[mq.MQIA_NAME_COUNT] == 2
    (names,) = admin.does(mq.MQCMD_INQUIRE_NAMELIST_NAMES, {mq.MQCA_NAMELIST_NAME: "N"})
    assert names == {mq.MQCACF_NAMELIST_NAMES: ["N"]}


def test_a_topic_needs_its_topic_string(admin: Administrator) -> None:
    name = mq.MQCA_TOPIC_NAME
    assert admin.fails(mq.MQCMD_CREATE_TOPIC, {name: "T"}) == (mq.MQRCCF_PARM_COUNT_TOO_SMALL,)
    admin.done(mq.MQCMD_CREATE_TOPIC, {name: "T", mq.MQCA_TOPIC_STRING: "fruit/apples"})
    (found,) = admin.does(mq.MQCMD_INQUIRE_TOPIC, {name: "T"})
    assert found[mq.MQCA_TOPIC_STRING] == "fruit/apples"
    admin.done(mq.MQCMD_DELETE_TOPIC, {name: "T"})


def test_channels_of_both_tables(admin: Administrator) -> None:
    name, kind = mq.MQCACH_CHANNEL_NAME, mq.MQIACH_CHANNEL_TYPE
    server: dict[int, Given] = {name: "TO.ME", kind: mq.MQCHT_SVRCONN}
    client: dict[int, Given] = {name: "TO.ME", kind: mq.MQCHT_CLNTCONN}
    admin.done(mq.MQCMD_CREATE_CHANNEL, {**server, mq.MQCACH_DESC: "in"})
    assert admin.fails(mq.MQCMD_CREATE_CHANNEL, server) == (mq.MQRCCF_CHANNEL_ALREADY_EXISTS,)
    admin.done(mq.MQCMD_CREATE_CHANNEL, {**client, mq.MQCACH_CONNECTION_NAME: "here(1414)"})
    admin.done(mq.MQCMD_CHANGE_CHANNEL, {**client, mq.MQCACH_CONNECTION_NAME: "there(1414)"})
    found = admin.does(mq.MQCMD_INQUIRE_CHANNEL, {name: "TO.*"})
    assert sorted(str(each.get(mq.MQCACH_CONNECTION_NAME)) for each in found) == ["None", "there(1414)"]
    (names,) = admin.does(mq.MQCMD_INQUIRE_CHANNEL_NAMES, {name: "TO.ME", kind: mq.MQCHT_CLNTCONN})
    assert names == {mq.MQCACH_CHANNEL_NAMES: ["TO.ME"], mq.MQIACH_CHANNEL_TYPES: [mq.MQCHT_CLNTCONN]}
    (names,) = admin.does(mq.MQCMD_INQUIRE_CHANNEL_NAMES, {name: "TO.ME", kind: mq.MQCHT_ALL})
    assert len(names[mq.MQCACH_CHANNEL_NAMES]) == 2  # type: ignore[arg-type]
    wrong: dict[int, Given] = {name: "TO.ME", kind: mq.MQCHT_SENDER}
    assert admin.fails(mq.MQCMD_CHANGE_CHANNEL, wrong) == (mq.MQRCCF_WRONG_CHANNEL_TYPE,)
    admin.done(mq.MQCMD_DELETE_CHANNEL, {name: "TO.ME", mq.MQIACH_CHANNEL_TABLE: mq.MQCHTAB_CLNTCONN})
    admin.done(mq.MQCMD_DELETE_CHANNEL, {name: "TO.ME"})
    assert admin.fails(mq.MQCMD_INQUIRE_CHANNEL, {name: "TO.ME"}) == (mq.MQRCCF_CHANNEL_NOT_FOUND,)
    assert admin.fails(mq.MQCMD_DELETE_CHANNEL, {name: "TO.ME"}) == (mq.MQRCCF_CHANNEL_NOT_FOUND,)


def test_every_type_of_channel_is_made_and_shows_its_own_attributes(admin: Administrator) -> None:
    name, kind = mq.MQCACH_CHANNEL_NAME, mq.MQIACH_CHANNEL_TYPE
    for number, more in (
        (mq.MQCHT_SENDER, {mq.MQCACH_CONNECTION_NAME: "a(1)", mq.MQCACH_XMIT_Q_NAME: "X"}),
        (mq.MQCHT_SERVER, {mq.MQCACH_XMIT_Q_NAME: "X"}),
        (mq.MQCHT_RECEIVER, {}),
        (mq.MQCHT_REQUESTER, {mq.MQCACH_CONNECTION_NAME: "a(1)"}),
        (mq.MQCHT_CLUSSDR, {mq.MQCACH_CONNECTION_NAME: "a(1)"}),
        (mq.MQCHT_CLUSRCVR, {mq.MQCACH_CONNECTION_NAME: "a(1)"}),
    ):
        admin.done(mq.MQCMD_CREATE_CHANNEL, {name: f"C{number}", kind: number, **more})
        (found,) = admin.does(mq.MQCMD_INQUIRE_CHANNEL, {name: f"C{number}"})
        assert found[kind] == number
        assert mq.MQIACH_SHARING_CONVERSATIONS not in found
        assert admin.does(mq.MQCMD_INQUIRE_CHANNEL, {name: "C*", kind: number}) == [found]


def test_listeners_and_authentication_information(admin: Administrator, target: LocalCommandContext) -> None:
    name, kind = mq.MQCACH_LISTENER_NAME, mq.MQIACH_XMIT_PROTOCOL_TYPE
    admin.done(mq.MQCMD_CREATE_LISTENER, {name: "L", kind: mq.MQXPT_TCP, mq.MQIACH_PORT: 1515})
    admin.done(mq.MQCMD_CHANGE_LISTENER, {name: "L", kind: mq.MQXPT_TCP, mq.MQIACH_PORT: 1516})
    (found,) = admin.does(mq.MQCMD_INQUIRE_LISTENER, {name: "L"})
    assert found[mq.MQIACH_PORT] == 1516
    target.listeners["L"] = ListenerStatus("L")
    assert admin.fails(mq.MQCMD_DELETE_LISTENER, {name: "L"}) == (mq.MQRCCF_LISTENER_STILL_ACTIVE,)
    target.listeners.clear()
    admin.done(mq.MQCMD_DELETE_LISTENER, {name: "L"})
    info, info_type = mq.MQCA_AUTH_INFO_NAME, mq.MQIA_AUTH_INFO_TYPE
    admin.done(mq.MQCMD_CREATE_AUTH_INFO, {info: "A", info_type: mq.MQAIT_IDPW_OS, mq.MQIA_CHECK_CLIENT_BINDING: 1})
    (shown,) = admin.does(mq.MQCMD_INQUIRE_AUTH_INFO, {info: "A"})
    assert shown[mq.MQIA_CHECK_CLIENT_BINDING] == 1
    (names,) = admin.does(mq.MQCMD_INQUIRE_AUTH_INFO_NAMES, {info: "A", info_type: mq.MQAIT_OCSP})
    assert names == {mq.MQCACF_AUTH_INFO_NAMES: []}


def test_the_queue_manager_is_inquired_about_and_changed(admin: Administrator) -> None:
    admin.done(mq.MQCMD_CHANGE_Q_MGR, {mq.MQCA_Q_MGR_DESC: "ours", mq.MQIA_MAX_HANDLES: 99})
    (found,) = admin.does(mq.MQCMD_INQUIRE_Q_MGR)
    assert found[mq.MQCA_Q_MGR_NAME] == "TEST"
    assert (found[mq.MQCA_Q_MGR_DESC], found[mq.MQIA_MAX_HANDLES]) == ("ours", 99)
    (events,) = admin.does(mq.MQCMD_INQUIRE_Q_MGR, {mq.MQIACF_Q_MGR_ATTRS: [mq.MQIACF_Q_MGR_EVENT]})
    assert mq.MQIA_AUTHORITY_EVENT in events
    assert mq.MQIA_MAX_HANDLES not in events
    fixed = admin.fails(mq.MQCMD_CHANGE_Q_MGR, {mq.MQIA_PLATFORM: 1})
    assert fixed == (mq.MQRCCF_CFIN_PARM_ID_ERROR, mq.MQIACF_PARAMETER_ID, mq.MQIA_PLATFORM)


def test_a_queue_is_cleared(admin: Administrator, program: Program) -> None:
    admin.done(mq.MQCMD_CREATE_Q, LOCAL)
    program.put("A.QUEUE")
    assert admin.fails(mq.MQCMD_DELETE_Q, {NAME: "A.QUEUE"}) == (mq.MQRC_Q_NOT_EMPTY,)
    admin.done(mq.MQCMD_CLEAR_Q, {NAME: "A.QUEUE"})
    (found,) = admin.does(mq.MQCMD_INQUIRE_Q, {NAME: "A.QUEUE"})
    assert found[mq.MQIA_CURRENT_Q_DEPTH] == 0
    assert admin.fails(mq.MQCMD_CLEAR_Q, {NAME: "NOPE"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)
    alias = admin.fails(mq.MQCMD_CLEAR_Q, {NAME: "SYSTEM.DEFAULT.ALIAS.QUEUE"})
    assert alias == (mq.MQRCCF_Q_WRONG_TYPE,)


def test_a_queue_that_holds_messages_is_purged(admin: Administrator, program: Program) -> None:
    admin.done(mq.MQCMD_CREATE_Q, LOCAL)
    program.put("A.QUEUE")
    assert admin.fails(mq.MQCMD_DELETE_Q, {NAME: "A.QUEUE"}) == (mq.MQRC_Q_NOT_EMPTY,)
    admin.done(mq.MQCMD_DELETE_Q, {NAME: "A.QUEUE", mq.MQIACF_PURGE: mq.MQPO_YES})


def test_a_queue_in_use_is_not_deleted(admin: Administrator, program: Program) -> None:
    admin.done(mq.MQCMD_CREATE_Q, LOCAL)
    program.open("A.QUEUE", mq.MQOO_OUTPUT)
    assert admin.fails(mq.MQCMD_DELETE_Q, {NAME: "A.QUEUE"}) == (mq.MQRCCF_OBJECT_OPEN,)


def test_the_type_of_a_queue_must_fit(admin: Administrator) -> None:
    admin.done(mq.MQCMD_CREATE_Q, LOCAL)
    other: dict[int, Given] = {NAME: "A.QUEUE", mq.MQIA_Q_TYPE: mq.MQQT_ALIAS}
    assert admin.fails(mq.MQCMD_CHANGE_Q, other) == (mq.MQRCCF_Q_WRONG_TYPE,)
    assert admin.fails(mq.MQCMD_DELETE_Q, other) == (mq.MQRCCF_Q_WRONG_TYPE,)
    assert admin.fails(mq.MQCMD_CREATE_Q, other) == (mq.MQRCCF_OBJECT_ALREADY_EXISTS,)


class Limited(LocalCommandContext):
    """Commands of a user who may only see some objects, and change none."""

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        return authorities == DSP and name.startswith("A.")


def test_who_may_not_is_told_so(admin: Administrator, target: LocalCommandContext) -> None:
    admin.done(mq.MQCMD_CREATE_Q, LOCAL)
    admin.done(mq.MQCMD_CREATE_Q, {NAME: "B.QUEUE", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL})
    user = Administrator(Limited(target.manager))
    refused = (mq.MQRC_NOT_AUTHORIZED,)
    assert user.fails(mq.MQCMD_CREATE_Q, {NAME: "A.NEW", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL}) == refused
    assert user.fails(mq.MQCMD_CHANGE_Q, {**LOCAL, mq.MQIA_MAX_Q_DEPTH: 1}) == refused
    assert user.fails(mq.MQCMD_DELETE_Q, {NAME: "A.QUEUE"}) == refused
    assert user.fails(mq.MQCMD_CLEAR_Q, {NAME: "A.QUEUE"}) == refused
    assert user.fails(mq.MQCMD_INQUIRE_Q, {NAME: "B.QUEUE"}) == refused
    assert user.fails(mq.MQCMD_CHANGE_Q_MGR, {mq.MQIA_MAX_HANDLES: 1}) == refused
    assert [each[NAME] for each in user.does(mq.MQCMD_INQUIRE_Q, {NAME: "*"})] == ["A.QUEUE"]
    (names,) = user.does(mq.MQCMD_INQUIRE_Q_NAMES, {NAME: "*"})
    assert names[mq.MQCACF_Q_NAMES] == ["A.QUEUE"]
    assert user.fails(mq.MQCMD_RESET_Q_STATS, {NAME: "A.QUEUE"}) == refused
    assert user.fails(mq.MQCMD_RESET_Q_STATS, {NAME: "A.*"}) == (mq.MQRC_UNKNOWN_OBJECT_NAME,)
    assert user.fails(mq.MQCMD_INQUIRE_CHANNEL, {mq.MQCACH_CHANNEL_NAME: "SYSTEM.DEF.CLNTCONN"}) == refused


def test_many_queues_are_answered_a_few_at_a_time(target: LocalCommandContext, admin: Administrator) -> None:
    def make(engine: Engine) -> int:
        lsn = 0
        for number in range(300):
            lsn = define_object(engine, ObjectType.QALIAS, f"MANY.{number:05}", {}, None, False)
        return lsn

    target.change(make)
    before = target.looks
    replies = answer(target, command_bytes(mq.MQCMD_INQUIRE_Q, parameter(NAME, "MANY.*")))
    next(replies)
    assert target.looks - before <= 3, "the first reply is there before all objects were looked at"
    assert sum(1 for _ in replies) == 299


def test_queues_of_a_cluster(admin: Administrator) -> None:
    admin.done(mq.MQCMD_CREATE_Q, {**LOCAL, mq.MQCA_CLUSTER_NAME: "ONE"})
    admin.done(mq.MQCMD_CREATE_Q, {NAME: "B.QUEUE", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL})
    found = admin.does(mq.MQCMD_INQUIRE_Q, {NAME: "*", mq.MQCA_CLUSTER_NAME: "ON*"})
    assert [each[NAME] for each in found] == ["A.QUEUE"]


def test_storage_classes_are_kept(admin: Administrator) -> None:
    admin.done(mq.MQCMD_CREATE_STG_CLASS, {mq.MQCA_STORAGE_CLASS: "S1"})
    (names,) = admin.does(mq.MQCMD_INQUIRE_STG_CLASS_NAMES, {mq.MQCA_STORAGE_CLASS: "S*"})
    assert "S1" in names[mq.MQCACF_STORAGE_CLASS_NAMES]  # type: ignore[operator]
    admin.done(mq.MQCMD_DELETE_STG_CLASS, {mq.MQCA_STORAGE_CLASS: "S1"})
