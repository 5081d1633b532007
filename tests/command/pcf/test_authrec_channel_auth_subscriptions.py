"""PCF commands about authorities, channel authentication and subscriptions."""

from __future__ import annotations

import pytest
from tests.command.conftest import LocalCommandContext
from tests.command.pcf.pcf_requests import Administrator, Given

from ostler.model import constants as mq

PROFILE, TYPE = mq.MQCACF_AUTH_PROFILE_NAME, mq.MQIACF_OBJECT_TYPE
GROUPS, USERS = mq.MQCACF_GROUP_ENTITY_NAMES, mq.MQCACF_PRINCIPAL_ENTITY_NAMES
LIST = mq.MQIACF_AUTHORIZATION_LIST
RULE, RULE_TYPE = mq.MQCACH_CHANNEL_NAME, mq.MQIACF_CHLAUTH_TYPE


@pytest.fixture
def admin(target: LocalCommandContext) -> Administrator:
    return Administrator(target)


def test_authorities_are_set_shown_and_deleted(admin: Administrator) -> None:
    record: dict[int, Given] = {PROFILE: "APP.**", TYPE: mq.MQOT_Q}
    given: dict[int, Given] = {mq.MQIACF_AUTH_ADD_AUTHS: [mq.MQAUTH_INPUT, mq.MQAUTH_OUTPUT], GROUPS: ["apps"]}
    admin.done(mq.MQCMD_SET_AUTH_REC, {**record, **given})
    admin.done(mq.MQCMD_SET_AUTH_REC, {**record, mq.MQIACF_AUTH_REMOVE_AUTHS: [mq.MQAUTH_OUTPUT], GROUPS: ["apps"]})
    asked: dict[int, Given] = {mq.MQIACF_AUTH_OPTIONS: mq.MQAUTHOPT_NAME_ALL_MATCHING, **record, PROFILE: "APP.ONE"}
    (found,) = admin.does(mq.MQCMD_INQUIRE_AUTH_RECS, asked)
    assert (found[PROFILE], found[mq.MQCACF_ENTITY_NAME], found[LIST]) == ("APP.**", "apps", [mq.MQAUTH_INPUT])
    exact: dict[int, Given] = {**asked, mq.MQIACF_AUTH_OPTIONS: mq.MQAUTHOPT_NAME_EXPLICIT}
    assert admin.fails(mq.MQCMD_INQUIRE_AUTH_RECS, exact) == (mq.MQRCCF_NONE_FOUND,)
    entity: dict[int, Given] = {
        mq.MQCACF_ENTITY_NAME: "apps",
        mq.MQIACF_ENTITY_TYPE: 2,
        TYPE: mq.MQOT_Q,
        mq.MQIACF_AUTH_OPTIONS: 0,
        mq.MQCACF_OBJECT_NAME: "APP.**",
    }
    (may,) = admin.does(mq.MQCMD_INQUIRE_ENTITY_AUTH, entity)
    assert may[LIST] == [mq.MQAUTH_INPUT]
    admin.done(mq.MQCMD_DELETE_AUTH_REC, {TYPE: mq.MQOT_Q, PROFILE: "APP.**", GROUPS: ["apps"]})
    assert admin.fails(mq.MQCMD_INQUIRE_AUTH_RECS, asked) == (mq.MQRCCF_NONE_FOUND,)


def test_wildcards_over_profiles(admin: Administrator) -> None:
    for profile in ("APP.A.*", "APP.B.*"):
        add: dict[int, Given] = {mq.MQIACF_AUTH_ADD_AUTHS: [mq.MQAUTH_ALL_MQI], USERS: ["ann"]}
        admin.done(mq.MQCMD_SET_AUTH_REC, {PROFILE: profile, TYPE: mq.MQOT_Q, **add})
    found = admin.does(
        mq.MQCMD_INQUIRE_AUTH_RECS,
        {mq.MQIACF_AUTH_OPTIONS: mq.MQAUTHOPT_NAME_AS_WILDCARD, PROFILE: "APP.*", TYPE: mq.MQOT_ALL},
    )
    assert [each[PROFILE] for each in found] == ["APP.A.*", "APP.B.*"]


def test_wrong_authorities(admin: Administrator) -> None:
    record: dict[int, Given] = {PROFILE: "APP.**", TYPE: mq.MQOT_Q, USERS: ["ann"]}
    assert admin.fails(mq.MQCMD_SET_AUTH_REC, record) == (mq.MQRCCF_AUTH_VALUE_MISSING,)
    wrong = admin.fails(mq.MQCMD_SET_AUTH_REC, {**record, mq.MQIACF_AUTH_ADD_AUTHS: [99]})
    assert wrong[0] == mq.MQRCCF_AUTH_VALUE_ERROR
    nobody: dict[int, Given] = {PROFILE: "A.*", TYPE: mq.MQOT_Q, mq.MQIACF_AUTH_ADD_AUTHS: [mq.MQAUTH_INPUT]}
    assert admin.fails(mq.MQCMD_SET_AUTH_REC, nobody) == (mq.MQRCCF_ENTITY_NAME_MISSING,)
    (service,) = admin.does(mq.MQCMD_INQUIRE_AUTH_SERVICE, {mq.MQIACF_AUTH_SERVICE_ATTRS: [mq.MQIACF_ALL]})
    assert service[mq.MQIACF_USER_ID_SUPPORT] == mq.MQUIDSUPP_YES


class Nobody(LocalCommandContext):
    """Commands of a user who may do nothing."""

    def __init__(self, other: LocalCommandContext) -> None:
        super().__init__(other.manager)
        self.refused: list[int] = []
        self.told: list[tuple[int, bool]] = []

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        return False

    def write_not_authorized_event(self, command: int) -> None:
        self.refused.append(command)


def test_nobody_changes_who_may_do_what(target: LocalCommandContext) -> None:
    nobody = Nobody(target)
    admin = Administrator(nobody)
    record: dict[int, Given] = {PROFILE: "A.*", TYPE: mq.MQOT_Q, mq.MQIACF_AUTH_ADD_AUTHS: [8], USERS: ["ann"]}
    assert admin.fails(mq.MQCMD_SET_AUTH_REC, record) == (mq.MQRC_NOT_AUTHORIZED,)
    rule: dict[int, Given] = {RULE: "*", RULE_TYPE: mq.MQCAUT_BLOCKUSER, mq.MQCACH_MCA_USER_ID_LIST: ["bob"]}
    assert admin.fails(mq.MQCMD_SET_CHLAUTH_REC, rule) == (mq.MQRC_NOT_AUTHORIZED,)
    assert admin.fails(mq.MQCMD_INQUIRE_CHLAUTH_RECS, {RULE: "*"}) == (mq.MQRC_NOT_AUTHORIZED,)
    assert nobody.refused == [mq.MQCMD_SET_AUTH_REC, mq.MQCMD_SET_CHLAUTH_REC, mq.MQCMD_INQUIRE_CHLAUTH_RECS]
    admin.done(mq.MQCMD_PING_Q_MGR)


class Listening(LocalCommandContext):
    """Hears which commands were done."""

    def __init__(self, other: LocalCommandContext) -> None:
        super().__init__(other.manager)
        self.told: list[tuple[int, bool]] = []

    def write_command_event(self, command: int, is_display: bool, text: str, parameters: object = ()) -> None:
        self.told.append((command, is_display))


def test_commands_that_were_done_are_told(target: LocalCommandContext) -> None:
    listening = Listening(target)
    admin = Administrator(listening)
    admin.done(mq.MQCMD_PING_Q_MGR)
    admin.does(mq.MQCMD_INQUIRE_Q_MGR)
    admin.fails(mq.MQCMD_INQUIRE_Q, {mq.MQCA_Q_NAME: "NOPE"})
    assert listening.told == [(mq.MQCMD_PING_Q_MGR, False), (mq.MQCMD_INQUIRE_Q_MGR, True)]
    admin.does(mq.MQCMD_ESCAPE, {mq.MQIACF_ESCAPE_TYPE: mq.MQET_MQSC, mq.MQCACF_ESCAPE_TEXT: "PING QMGR"})
    assert mq.MQCMD_ESCAPE not in [command for command, _ in listening.told], "what is inside is told instead"


# -- channel authentication --------------------------------------------------------------------------------------------


def test_rules_are_set_shown_and_removed(admin: Administrator) -> None:
    rule: dict[int, Given] = {RULE: "TO.ME", RULE_TYPE: mq.MQCAUT_ADDRESSMAP, mq.MQCACH_CONNECTION_NAME: "10.0.0.*"}
    more: dict[int, Given] = {mq.MQIACH_USER_SOURCE: mq.MQUSRC_MAP, mq.MQCACH_MCA_USER_ID: "ann"}
    admin.done(mq.MQCMD_SET_CHLAUTH_REC, {**rule, **more})
    assert admin.fails(mq.MQCMD_SET_CHLAUTH_REC, {**rule, **more}) == (mq.MQRCCF_CHLAUTH_ALREADY_EXISTS,)
    admin.done(mq.MQCMD_SET_CHLAUTH_REC, {**rule, mq.MQIACF_ACTION: mq.MQACT_REPLACE, **more})
    (found,) = admin.does(mq.MQCMD_INQUIRE_CHLAUTH_RECS, {RULE: "TO.*"})
    assert (found[RULE], found[mq.MQCACH_MCA_USER_ID]) == ("TO.ME", "ann")
    described: dict[int, Given] = {
        RULE: "TO.ME",
        mq.MQCACH_CONNECTION_NAME: "10.0.0.7",
        mq.MQCACH_CLIENT_USER_ID: "bob",
        mq.MQIACH_MATCH: mq.MQMATCH_RUNCHECK,
    }
    (met,) = admin.does(mq.MQCMD_INQUIRE_CHLAUTH_RECS, described)
    assert met[mq.MQCACH_MCA_USER_ID] == "ann"
    admin.done(mq.MQCMD_SET_CHLAUTH_REC, {**rule, mq.MQIACF_ACTION: mq.MQACT_REMOVE})
    assert admin.fails(mq.MQCMD_INQUIRE_CHLAUTH_RECS, {RULE: "TO.*"}) == (mq.MQRCCF_CHLAUTH_NOT_FOUND,)


def test_a_list_of_users_is_blocked(admin: Administrator) -> None:
    rule: dict[int, Given] = {RULE: "TO.ME", RULE_TYPE: mq.MQCAUT_BLOCKUSER}
    admin.done(mq.MQCMD_SET_CHLAUTH_REC, {**rule, mq.MQCACH_MCA_USER_ID_LIST: ["eve", "*MQADMIN"]})
    (found,) = admin.does(mq.MQCMD_INQUIRE_CHLAUTH_RECS, {**rule})
    assert found[mq.MQCACH_MCA_USER_ID_LIST] == ["eve", "*MQADMIN"]
    wrong = admin.fails(mq.MQCMD_SET_CHLAUTH_REC, {**rule, mq.MQCACH_SSL_PEER_NAME: "CN=x"})
    assert wrong == (mq.MQRCCF_WRONG_CHLAUTH_TYPE,)


# -- subscriptions -----------------------------------------------------------------------------------------------------


def test_subscriptions_by_name_and_by_identifier(admin: Administrator) -> None:
    name, topic = mq.MQCACF_SUB_NAME, mq.MQCA_TOPIC_STRING
    admin.done(mq.MQCMD_CREATE_Q, {mq.MQCA_Q_NAME: "Q", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL})
    made: dict[int, Given] = {name: "fruit", topic: "fruit/#", mq.MQCACF_DESTINATION: "Q"}
    admin.done(mq.MQCMD_CREATE_SUBSCRIPTION, made)
    assert admin.fails(mq.MQCMD_CREATE_SUBSCRIPTION, made) == (mq.MQRCCF_SUB_ALREADY_EXISTS,)
    (found,) = admin.does(mq.MQCMD_INQUIRE_SUBSCRIPTION, {name: "fruit"})
    assert (found[topic], found[mq.MQCACF_DESTINATION]) == ("fruit/#", "Q")
    identifier = found[mq.MQBACF_SUB_ID]
    assert isinstance(identifier, bytes)
    assert len(identifier) == 24
    admin.done(mq.MQCMD_CHANGE_SUBSCRIPTION, {mq.MQBACF_SUB_ID: identifier, mq.MQCACF_SUB_USER_DATA: "ripe"})
    (again,) = admin.does(mq.MQCMD_INQUIRE_SUBSCRIPTION, {mq.MQBACF_SUB_ID: identifier})
    assert again[mq.MQCACF_SUB_USER_DATA] == "ripe"
    admin.done(mq.MQCMD_COPY_SUBSCRIPTION, {mq.MQCACF_FROM_SUB_NAME: "fruit", mq.MQCACF_TO_SUB_NAME: "more"})
    admin.done(mq.MQCMD_DELETE_SUBSCRIPTION, {name: "fruit"})
    assert admin.fails(mq.MQCMD_DELETE_SUBSCRIPTION, {name: "fruit"}) == (mq.MQRC_NO_SUBSCRIPTION,)
    assert admin.fails(mq.MQCMD_DELETE_SUBSCRIPTION)[0] == mq.MQRCCF_PARM_MISSING


def test_the_status_of_topics_and_subscriptions(admin: Administrator) -> None:
    name, topic = mq.MQCACF_SUB_NAME, mq.MQCA_TOPIC_STRING
    admin.done(mq.MQCMD_CREATE_TOPIC, {mq.MQCA_TOPIC_NAME: "FRUIT", topic: "fruit"})
    admin.done(mq.MQCMD_CREATE_Q, {mq.MQCA_Q_NAME: "Q", mq.MQIA_Q_TYPE: mq.MQQT_LOCAL})
    admin.done(mq.MQCMD_CREATE_SUBSCRIPTION, {name: "s", topic: "fruit/apples", mq.MQCACF_DESTINATION: "Q"})
    found = admin.does(mq.MQCMD_INQUIRE_TOPIC_STATUS, {topic: "fruit/#"})
    assert [each[topic] for each in found] == ["fruit", "fruit/apples"]
    assert (found[0][mq.MQCA_ADMIN_TOPIC_NAME], found[1][mq.MQIA_SUB_COUNT]) == ("FRUIT", 1)
    (sub,) = admin.does(
        mq.MQCMD_INQUIRE_TOPIC_STATUS, {topic: "fruit/#", mq.MQIACF_TOPIC_STATUS_TYPE: mq.MQIACF_TOPIC_SUB}
    )
    (status,) = admin.does(mq.MQCMD_INQUIRE_SUB_STATUS, {name: "s"})
    assert status[mq.MQBACF_SUB_ID] == sub[mq.MQBACF_SUB_ID]
    assert status[topic] == "fruit/apples"
    assert admin.fails(mq.MQCMD_INQUIRE_TOPIC_STATUS, {topic: "nope"}) == (mq.MQRCCF_TOPIC_STRING_NOT_FOUND,)
    assert admin.fails(mq.MQCMD_INQUIRE_SUB_STATUS, {name: "nope"}) == (mq.MQRC_NO_SUBSCRIPTION,)
    (tree,) = admin.does(mq.MQCMD_INQUIRE_PUBSUB_STATUS)
    assert tree[mq.MQCA_Q_MGR_NAME] == "TEST"
    # The default subscription is shown, and is none.
    assert tree[mq.MQIA_SUB_COUNT] == len(admin.does(mq.MQCMD_INQUIRE_SUBSCRIPTION, {name: "*"})) - 1
    parent = admin.fails(mq.MQCMD_INQUIRE_PUBSUB_STATUS, {mq.MQIACF_PS_STATUS_TYPE: mq.MQPSST_PARENT})
    assert parent == (mq.MQRCCF_NONE_FOUND,)
    admin.done(mq.MQCMD_CLEAR_TOPIC_STRING, {topic: "fruit", mq.MQIACF_CLEAR_TYPE: mq.MQCLRT_RETAINED})
