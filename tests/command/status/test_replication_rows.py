"""DISPLAY QMSTATUS and Inquire Queue Manager Status about copies."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.command.conftest import LocalCommandContext, Operator
from tests.command.pcf.pcf_requests import Administrator
from tests.world.replica.sample_group import SAMPLE, as_replica

from ostler.command.mqsc.interpreter import CommandOutcome
from ostler.command.status.replication_rows import native_ha_rows
from ostler.model import constants as mq
from ostler.model.replication import GroupConnection, HaStatus

NATIVE = {mq.MQIACF_Q_MGR_STATUS_INFO_TYPE: mq.MQIACF_Q_MGR_STATUS_INFO_NHA}


@pytest.fixture
def copies(target: LocalCommandContext) -> LocalCommandContext:
    target.copies = SAMPLE
    return target


def test_the_queue_manager_shows_its_instance(operator: Operator, copies: LocalCommandContext) -> None:
    assert operator.says("dis qmstatus instance role insync quorum grplsn grpname grprole") == [
        "AMQ8705I: Queue manager status.",
        "   QMNAME(TEST)                            TYPE(QMGR)",
        "   STATUS(RUNNING)                         GRPLSN(<0:0:9:64581>)",
        "   GRPNAME(north)                          GRPROLE(LIVE)",
        "   INSTANCE(alpha)                         INSYNC(YES)",
        "   QUORUM(2/3)                             ROLE(ACTIVE)",
    ]
    copies.copies = as_replica()
    assert "INSTANCE(beta)" in "".join(operator.says("dis qmstatus"))


def test_a_queue_manager_without_copies_shows_nothing_of_them(operator: Operator) -> None:
    assert "QUORUM" not in "".join(operator.says("dis qmstatus all"))
    assert operator.fails("dis qmstatus type(nativeha)").startswith("AMQ8147E")


def test_a_row_for_each_instance(operator: Operator, copies: LocalCommandContext) -> None:
    lines = operator.says("dis qmstatus type(nativeha)")
    assert lines[:10] == [
        "AMQ8705I: Queue manager status.",
        "   QMNAME(QM1)                             TYPE(NATIVEHA)",
        "   ACKLSN(<0:0:9:64581>)                   BACKLOG(0)",
        "   CONNACTV(YES)                           GRPNAME(north)",
        "   GRPROLE(LIVE)                           HAINITDA(2023-11-13)",
        "   HAINITL(<0:0:0:1000>)                   HAINITTI(22.13.20)",
        "   HASTATUS(NORMAL)                        INSTANCE(alpha)",
        "   INSYNC(YES)                             NHATYPE(INSTANCE)",
        "   REPLADDR(127.0.0.1(4441))               ROLE(ACTIVE)",
        "   SYNCTIME(2023-11-14T22:13:20.000Z)",
    ]
    assert [line for line in lines if "INSTANCE(" in line and "NHATYPE" not in line] == [
        "   HASTATUS(NORMAL)                        INSTANCE(alpha)",
        "   HASTATUS(NORMAL)                        INSTANCE(beta)",
        "   HASTATUS(DISCONNECTED)                  INSTANCE(gamma)",
    ]
    assert operator.says("dis qmstatus type(nativeha) backlog where(insync eq no)") == [
        "AMQ8705I: Queue manager status.",
        "   QMNAME(QM1)                             TYPE(NATIVEHA)",
        "   BACKLOG(-1)                             INSYNC(NO)",
    ]


def test_a_row_for_each_group(operator: Operator, copies: LocalCommandContext) -> None:
    assert operator.says("dis qmstatus type(nativeha) nhatype(group)") == [
        "AMQ8705I: Queue manager status.",
        "   QMNAME(QM1)                             TYPE(NATIVEHA)",
        "   GRPADDR(127.0.0.1(1414))                GRPLSN(<0:0:9:64581>)",
        "   GRPNAME(north)                          GRPROLE(LIVE)",
        "   GRSTATUS(NORMAL)                        INITTIME(2023-11-13T22:13:20.000Z)",
        "   INSYNC(YES)                             LIVETIME(2023-11-14T21:13:20.000Z)",
        "   NHATYPE(GROUP)",
        "AMQ8705I: Queue manager status.",
        "   QMNAME(QM1)                             TYPE(NATIVEHA)",
        "   BACKLOG(5)                              CONNGRP(YES)",
        "   GRPADDR(127.0.0.1(4451))                GRPNAME(south)",
        "   GRPROLE(RECOVERY)                       GRPVER(0.9)",
        "   GRSTATUS(SYNCHRONIZING)                 INSYNC(NO)",
        "   NHATYPE(GROUP)                          RCOVLSN(<0:0:9:60176>)",
        "   RCOVTIME(2023-11-14T22:13:19.000Z)      SYNCTIME(2023-11-14T22:13:18.000Z)",
    ]
    shown = "".join(operator.says("dis qmstatus type(nativeha) nhatype(all)"))
    assert shown.count("NHATYPE(INSTANCE)") == 3
    assert shown.count("NHATYPE(GROUP)") == 2


@pytest.mark.parametrize(
    "command",
    [
        "dis qmstatus nhatype(group)",
        "dis qmstatus type(log) nhatype(instance)",
        "dis qmstatus type(nativeha) nhatype(pair)",
        "dis qmstatus type(nativeha) nhatype(group) nhatype(all)",
    ],
)
def test_what_is_typed_wrong_is_refused(operator: Operator, copies: LocalCommandContext, command: str) -> None:
    lines, outcome = operator.run(command)
    assert outcome is CommandOutcome.SYNTAX_ERROR
    assert lines[0].startswith("AMQ8405I")


def test_no_row_is_selected(operator: Operator, copies: LocalCommandContext) -> None:
    assert operator.fails("dis qmstatus type(nativeha) where(backlog gt 100)").startswith("AMQ8147E")


def test_unknown_states_are_not_guessed() -> None:
    unknown = replace(SAMPLE, ha_status=HaStatus.UNKNOWN, live_ms=0)
    group = native_ha_rows(unknown, "GROUP")[0]
    assert (group["GRSTATUS"], group["LIVETIME"]) == ("UNKNOWN", "")
    lost = replace(SAMPLE.recovery_groups[0], connection=GroupConnection.UNKNOWN)
    assert "CONNGRP" not in native_ha_rows(replace(SAMPLE, recovery_groups=(lost,)), "GROUP")[1]


def test_pcf_of_the_queue_manager(target: LocalCommandContext) -> None:
    admin = Administrator(target)
    assert admin.fails(mq.MQCMD_INQUIRE_Q_MGR_STATUS, {**NATIVE}) == (mq.MQRCCF_NHA_NOT_AVAILABLE,)
    target.copies = SAMPLE
    (found,) = admin.does(mq.MQCMD_INQUIRE_Q_MGR_STATUS)
    assert (found[mq.MQIACF_NHA_IN_SYNC_INSTANCES], found[mq.MQIACF_NHA_TOTAL_INSTANCES]) == (2, 3)
    assert found[mq.MQIACF_NHA_INSTANCE_ROLE] == mq.MQNHAROLE_ACTIVE
    assert found[mq.MQIACF_NHA_GROUP_ROLE] == mq.MQNHAGRPROLE_LIVE
    assert (found[mq.MQCACF_NHA_INSTANCE_NAME], found[mq.MQCACF_NHA_GROUP_NAME]) == ("alpha", "north")
    assert found[mq.MQCACF_NHA_GROUP_LSN] == "<0:0:9:64581>"
    few = {mq.MQIACF_Q_MGR_STATUS_ATTRS: [mq.MQIACF_CONNECTION_COUNT]}
    (found,) = admin.does(mq.MQCMD_INQUIRE_Q_MGR_STATUS, few)
    assert mq.MQIACF_NHA_IN_SYNC_INSTANCES not in found


def test_pcf_of_instances_and_groups(target: LocalCommandContext) -> None:
    target.copies = SAMPLE
    admin = Administrator(target)
    alpha, beta, gamma = admin.does(mq.MQCMD_INQUIRE_Q_MGR_STATUS, {**NATIVE})
    assert alpha[mq.MQIACF_NHA_TYPE] == mq.MQNHATYPE_INSTANCE
    assert (alpha[mq.MQIACF_NHA_INSTANCE_BACKLOG], gamma[mq.MQIACF_NHA_INSTANCE_BACKLOG]) == (0, -1)
    assert (beta[mq.MQIACF_NHA_INSTANCE_ROLE], gamma[mq.MQIACF_NHA_INSTANCE_ROLE]) == (2, 0)
    assert gamma[mq.MQIACF_NHA_INSTANCE_STATUS] == mq.MQNHASTATUS_DISCONNECTED
    assert alpha[mq.MQCACF_NHA_GROUP_INITIAL_DATE] == "2023-11-13"
    own, south = admin.does(mq.MQCMD_INQUIRE_Q_MGR_STATUS, {**NATIVE, mq.MQIACF_NHA_TYPE: mq.MQNHATYPE_GROUP})
    assert own[mq.MQIACF_NHA_GROUP_IN_SYNC] == mq.MQNHAINSYNC_YES
    assert (south[mq.MQIACF_NHA_GROUP_BACKLOG], south[mq.MQIACF_NHA_GROUP_CONNECTED]) == (5, mq.MQNHACONNGRP_YES)
    assert south[mq.MQIACF_NHA_GROUP_STATUS] == mq.MQNHASTATUS_SYNCHRONIZING
    assert south[mq.MQCACF_NHA_GROUP_SYNC_ISOTIME] == "2023-11-14T22:13:18.000Z"
    assert south[mq.MQCACF_NHA_GROUP_RECOV_LSN] == "<0:0:9:60176>"
    assert not {mq.MQIACF_NHA_INSTANCE_BACKLOG, mq.MQIACF_NHA_INSTANCE_IN_SYNC} & set(south)
    everything = {**NATIVE, mq.MQIACF_NHA_TYPE: mq.MQNHATYPE_ALL}
    assert len(admin.does(mq.MQCMD_INQUIRE_Q_MGR_STATUS, everything)) == 5
