"""Commands on structures and shared message data sets: two members, a facility process, data sets on a real disk."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.coupling.group_processes import wait_for
from tests.server.coupling.members_here import GroupHere, MemberHere

from ostler.client.api.connection import Connection
from ostler.model import constants as mq
from ostler.model.coupling.group_rows import BackupRow, MemberRow
from ostler.model.errors import MQError
from ostler.model.shared_repository import BACKUPS, DATA_SETS
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.coupling.structure_logs import LogUnreadable

BODY = random.Random(7).randbytes(100_000)
STRUCTURE = {mq.MQCA_CF_STRUC_NAME: "APP1"}


@pytest.fixture
def group(tmp_path: Path) -> Iterator[GroupHere]:
    made = GroupHere(tmp_path, "QMA", "QMB")
    try:
        yield made
    finally:
        made.close()


def refused(application: Connection, body: bytes = BODY) -> int:
    """The reason with which a put of a long message is refused; 0: it is done."""
    try:
        application.put("SHARED.QUEUE", body)
    except MQError as error:
        return error.reason
    return 0


def got(application: Connection) -> bytes | int:
    """The next message, or the reason why there is none."""
    try:
        message = application.open("SHARED.QUEUE", "r").get()
    except MQError as error:
        return error.reason
    return b"" if message is None else message.data


def state(member: MemberHere, owner: str) -> tuple[str, str]:
    words = member.words(f"DISPLAY CFSTATUS(APP1) TYPE(SMDS) SMDS({owner})")
    status = next(word for word in words if word.startswith("STATUS"))
    return status.removeprefix("STATUS"), next(word for word in words if word.startswith("ACCESS"))


def test_what_is_displayed(group: GroupHere) -> None:
    a, b = group.members
    with a.connect() as at_a, b.connect() as at_b:
        at_a.put("SHARED.QUEUE", BODY, persistent=True)
        at_a.put("SHARED.QUEUE", b"short")
        summary = a.words("DISPLAY CFSTATUS(APP*)")
        assert summary[:3] == ["CFSTATUS(APP1)", "TYPE(SUMMARY)", "CFTYPE(APPL)"]
        assert {"STATUS(ACTIVE)", "OFFLDUSE(SMDS)", "SIZEMAX(524288)", "SIZEUSED(1)"} <= set(summary)
        assert a.words("DISPLAY CFSTATUS(APP1) ENTSUSED ENTSMAX") == [
            "CFSTATUS(APP1)", "TYPE(SUMMARY)", "ENTSMAX(522959)", "ENTSUSED(2)",
        ]  # fmt: skip
        assert "CFTYPE(ADMIN)" in a.words("DISPLAY CFSTATUS(CSQ*)")
        connected = b.words("DISPLAY CFSTATUS(APP1) TYPE(CONNECT) QMNAME STATUS")
        assert connected.count("STATUS(ACTIVE)") == 2
        assert {"QMNAME(QMA)", "QMNAME(QMB)"} <= set(connected)
        assert set(a.words("DISPLAY CFSTATUS(APP1) TYPE(SMDS) SMDS(QMA) STATUS ACCESS RCVTIME")) == {
            "CFSTATUS(APP1)", "TYPE(SMDS)", "SMDS(QMA)", "STATUS(ACTIVE)", "ACCESS(ENABLED)", "RCVTIME(", ")",
        }  # fmt: skip
        assert got(at_b) == BODY
        assert set(b.words("DISPLAY SMDSCONN(QMA) CFSTRUCT(APP1)")) == {
            "SMDSCONN(QMA)", "CFSTRUCT(APP1)", "OPENMODE(READONLY)", "STATUS(OPEN)", "AVAIL(NORMAL)",
            "EXPANDST(NORMAL)",
        }  # fmt: skip
        assert "OPENMODE(UPDATE)" in b.words("DISPLAY SMDSCONN(QMB) CFSTRUCT(APP1)")
        lines = a.operator.says("DISPLAY USAGE TYPE(SMDS)")
        assert lines[0] == "AMQ7539I: SMDS usage ..."
        assert lines[4] == "End of SMDS report"
        assert lines[3].split()[:1] + lines[3].split()[2:4] == ["_APP1", "256", "255"]
        assert lines[8].split()[:3] == ["_APP1", "64K", "100"]
    assert b.operator.fails("DISPLAY CFSTATUS(NONE)").startswith("AMQ8147E")
    assert "STATUS(NONE)" in a.words("DISPLAY CFSTATUS(APP1) TYPE(BACKUP)")
    backup = BackupRow("APP1", 2, "QMB", 0x1000, 0x2000, "", 1_700_000_000_000, 1_700_000_001_000, 5, 3 << 20)
    a.service.repository.write(BACKUPS, "APP1", backup.encode(), None)
    assert {"QMNAME(QMB)", "BKUPSIZE(3)", "BKUPSRBA(0000000000001000)", "BKUPDATE(2023-11-14)"} <= set(
        a.words("DISPLAY CFSTATUS(APP1) TYPE(BACKUP)")
    )


def test_the_same_by_pcf(group: GroupHere) -> None:
    a, _ = group.members
    (summary,) = a.admin.does(mq.MQCMD_INQUIRE_CF_STRUC_STATUS, {**STRUCTURE})
    assert summary[mq.MQIACF_CF_STRUC_STATUS] == mq.MQCFSTATUS_ACTIVE
    assert summary[mq.MQIA_CF_OFFLDUSE] == mq.MQCFOFFLD_NONE
    asked = {**STRUCTURE, mq.MQIACF_CF_STATUS_TYPE: mq.MQIACF_CF_STATUS_SMDS}
    assert len(a.admin.does(mq.MQCMD_INQUIRE_CF_STRUC_STATUS, asked)) == 2
    one, other = a.admin.does(mq.MQCMD_INQUIRE_SMDSCONN, {mq.MQCACF_CF_SMDSCONN: "*", **STRUCTURE})
    assert one[mq.MQIACF_SMDS_OPENMODE] == mq.MQS_OPENMODE_UPDATE
    assert other[mq.MQIACF_SMDS_STATUS] == mq.MQS_STATUS_CLOSED
    a.admin.done(mq.MQCMD_CHANGE_SMDS, {mq.MQCACF_CF_SMDS: "QMB", **STRUCTURE, mq.MQIA_CF_SMDS_BUFFERS: 7})
    options = a.admin.does(mq.MQCMD_INQUIRE_SMDS, {mq.MQCACF_CF_SMDS: "*", **STRUCTURE})
    assert [each[mq.MQIA_CF_SMDS_BUFFERS] for each in options] == [mq.MQDSB_DEFAULT, 7]
    (usage,) = a.admin.does(mq.MQCMD_INQUIRE_USAGE, {mq.MQIACF_USAGE_TYPE: mq.MQIACF_USAGE_SMDS})
    assert usage[mq.MQIACF_USAGE_BLOCK_SIZE] == 64
    connection = {mq.MQCACF_CF_SMDSCONN: "QMA", **STRUCTURE}
    a.admin.done(mq.MQCMD_STOP_SMDSCONN, connection)
    assert a.connection() == "STATUS(CLOSED)"
    a.admin.done(mq.MQCMD_START_SMDSCONN, connection)
    wait_for(lambda: a.connection() == "STATUS(OPEN)", "the data set is not open again")
    reset = {mq.MQCACF_CF_SMDS: "QMA", **STRUCTURE}
    assert a.admin.fails(mq.MQCMD_RESET_SMDS, reset) == (mq.MQRCCF_PARM_MISSING,)
    failed = {**reset, mq.MQIACF_CF_STRUC_STATUS: mq.MQCFSTATUS_FAILED}
    a.admin.done(mq.MQCMD_RESET_SMDS, failed)
    assert a.admin.fails(mq.MQCMD_RESET_SMDS, failed) == (mq.MQRCCF_COMMAND_FAILED,)
    fail = {**STRUCTURE, mq.MQIACF_ACTION: mq.MQACT_FAIL}
    a.admin.done(mq.MQCMD_RESET_CF_STRUC, fail)
    assert a.admin.fails(mq.MQCMD_RESET_CF_STRUC, fail) == (mq.MQRCCF_CF_STRUC_ALREADY_FAILED,)
    (summary,) = a.admin.does(mq.MQCMD_INQUIRE_CF_STRUC_STATUS, {**STRUCTURE})
    assert summary[mq.MQIACF_CF_STRUC_STATUS] == mq.MQCFSTATUS_FAILED
    assert summary[mq.MQCACF_FAIL_DATE]


def test_options_of_data_sets_are_followed_while_they_run(group: GroupHere) -> None:
    a, b = group.members
    a.operator.says("ALTER SMDS(*) CFSTRUCT(APP1) DSBUFS(7) DSEXPAND(NO)")
    for member in group.members:
        wait_for(lambda member=member: _buffers(member) == "7", f"{member.name} has not followed")  # type: ignore[misc]
        assert not member.service.offload.structures["APP1"].sets.own.expands
    assert b.words("DISPLAY SMDS(QMB) CFSTRUCT(APP1)") == [
        "SMDS(QMB)", "CFSTRUCT(APP1)", "DSBUFS(7)", "DSEXPAND(NO)",
    ]  # fmt: skip
    b.operator.says("ALTER SMDS(QMA) CFSTRUCT(APP1) DSBUFS(DEFAULT)")
    wait_for(lambda: _buffers(a) == "100", "the default is not back")
    assert "DSEXPAND(NO)" in a.words("DISPLAY SMDS(QMA) CFSTRUCT(APP1)")
    assert a.operator.fails("ALTER SMDS(QMX) CFSTRUCT(APP1) DSBUFS(7)").startswith("AMQ8147E")


def test_two_administrators_alter_one_data_set_at_once(group: GroupHere, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = group.members
    repository = a.service.repository
    write = repository.write

    def write_behind_the_other(kind: str, name: str, data: bytes, expected: int | None) -> int:
        if kind == DATA_SETS:
            monkeypatch.undo()
            b.operator.says("ALTER SMDS(QMA) CFSTRUCT(APP1) DSEXPAND(NO)")
        return write(kind, name, data, expected)

    monkeypatch.setattr(repository, "write", write_behind_the_other)
    a.operator.says("ALTER SMDS(QMA) CFSTRUCT(APP1) DSBUFS(7)")
    for member in group.members:
        assert member.words("DISPLAY SMDS(QMA) CFSTRUCT(APP1)")[2:] == ["DSBUFS(7)", "DSEXPAND(NO)"]
    wait_for(lambda: _buffers(a) == "7", "the owner has not followed")
    assert not a.service.offload.structures["APP1"].sets.own.expands


def _buffers(member: MemberHere) -> str:
    return member.operator.says("DISPLAY USAGE TYPE(SMDS)")[8].split()[2]


def test_a_circular_log_of_a_member_is_warned_of(group: GroupHere) -> None:
    a, b = group.members
    define = "DEFINE CFSTRUCT(APP2) CFLEVEL(4) RECOVER(YES) REPLACE"
    assert "AMQ7507W" not in " ".join(a.operator.says(define))
    ini = QueueManagerIni.read(b.directory.ini)
    ini.set_value("Log", "LogType", "CIRCULAR")
    ini.write(b.directory.ini)
    for command in (define, "ALTER CFSTRUCT(APP2) RECOVER(YES)"):
        said = " ".join(a.operator.says(command))
        assert "AMQ7507W" in said
        assert "The log of QMB is CIRCULAR" in said
    assert "AMQ7507W" not in " ".join(a.operator.says("ALTER CFSTRUCT(APP2) DESCR('more')"))
    a.admin.done(mq.MQCMD_CHANGE_CF_STRUC, {mq.MQCA_CF_STRUC_NAME: "APP2", mq.MQIA_CF_RECOVER: mq.MQCFR_YES})
    assert any("AMQ7507W" in notice and "QMB" in notice for notice in a.manager.notices)


def test_stop_and_start_of_connections(group: GroupHere) -> None:
    a, b = group.members
    with a.connect() as at_a, b.connect() as at_b:
        assert refused(at_a) == 0
        b.operator.says("STOP SMDSCONN(QMA) CFSTRUCT(APP1)")
        assert "AVAIL(STOPPED)" in b.words("DISPLAY SMDSCONN(QMA) CFSTRUCT(APP1)")
        assert got(at_b) == mq.MQRC_DATA_SET_NOT_AVAILABLE
        b.operator.says("START SMDSCONN(QMA) CFSTRUCT(APP1)")
        assert got(at_b) == BODY
        a.operator.says("STOP SMDSCONN(*) CFSTRUCT(APP1)")
        assert refused(at_a) == mq.MQRC_DATA_SET_NOT_AVAILABLE
        assert refused(at_a, b"short") == 0
        a.operator.says("START SMDSCONN(*) CFSTRUCT(APP1)")
        wait_for(lambda: refused(at_a) == 0, "the data set is not open again")
        assert got(at_a) == b"short"
        assert got(at_a) == BODY


def test_access_and_status_hold_for_all_members(group: GroupHere) -> None:
    a, b = group.members
    with a.connect() as at_a, b.connect() as at_b:
        assert refused(at_a) == 0
        b.operator.says("RESET SMDS(QMA) CFSTRUCT(APP1) ACCESS(DISABLED)")
        assert got(at_b) == mq.MQRC_DATA_SET_NOT_AVAILABLE
        wait_for(lambda: a.connection() == "STATUS(NOTENABLED)", "the owner has not closed its data set")
        assert refused(at_a) == mq.MQRC_DATA_SET_NOT_AVAILABLE
        wait_for(lambda: state(b, "QMA") == ("(ACTIVE)", "ACCESS(DISABLED)"), "QMB does not show that it is disabled")
        a.operator.says("RESET SMDS(*) CFSTRUCT(APP1) ACCESS(ENABLED)")
        wait_for(lambda: refused(at_a) == 0, "the owner has not opened its data set again")
        wait_for(lambda: got(at_b) == BODY, "the other member cannot read it again")
        a.operator.says("RESET SMDS(QMA) CFSTRUCT(APP1) STATUS(FAILED)")
        wait_for(lambda: state(b, "QMA") == ("(FAILED)", "ACCESS(SUSPENDED)"), "QMB does not show that it has failed")
        assert a.operator.fails("RESET SMDS(QMA) CFSTRUCT(APP1) STATUS(FAILED)").startswith("AMQ7535E")
        assert got(at_a) == mq.MQRC_DATA_SET_NOT_AVAILABLE
        a.operator.says("RESET SMDS(QMA) CFSTRUCT(APP1) STATUS(RECOVERED)")
        wait_for(lambda: got(at_a) == BODY, "it was not used again")
        wait_for(lambda: state(a, "QMA") == ("(ACTIVE)", "ACCESS(ENABLED)"), "QMA does not show that it is back")


@pytest.mark.parametrize("interval", [30, 600])
def test_a_recovery_brings_back_the_same_with_any_exclint(group: GroupHere, interval: int) -> None:
    """All that happens here is younger than either interval: MQ would leave it out of the backup."""
    a, b = group.members
    with a.connect() as at_a, b.connect() as at_b:
        for body in (b"got before", b"in the backup", b"got behind it", BODY):
            at_a.put("SHARED.QUEUE", body, persistent=True)
        assert got(at_b) == b"got before"
        assert "3 messages" in " ".join(a.operator.says(f"BACKUP CFSTRUCT(APP1) EXCLINT({interval})"))
        at_b.put("SHARED.QUEUE", b"put behind it", persistent=True)
        assert got(at_b) == b"in the backup"
        at_b.put("SHARED.QUEUE", b"in the backup", persistent=True)
        assert got(at_b) == b"got behind it"
    group.facility.restart()
    with b.connect() as at_b:
        found: list[bytes] = []

        def gets_all() -> bool:
            message = got(at_b)
            if isinstance(message, bytes) and message:
                found.append(message)
            return len(found) == 3

        wait_for(gets_all, "the messages have not come back")
        assert sorted(found) == sorted([b"put behind it", b"in the backup", BODY])
        assert got(at_b) == b""


@pytest.mark.parametrize("recoverer", [0, 1])
def test_a_data_set_that_has_failed_is_recovered_with_its_structure(
    group: GroupHere, monkeypatch: pytest.MonkeyPatch, recoverer: int
) -> None:
    a, b = group.members
    a.operator.says("ALTER CFSTRUCT(APP1) RECAUTO(NO)")
    seen: list[tuple[str, str]] = []
    runs = group.members[recoverer]
    roll = runs.service.recoveries._roll

    def look() -> list[MemberRow]:
        seen.append(state(b, "QMA"))
        return roll()

    monkeypatch.setattr(runs.service.recoveries, "_roll", look)
    with a.connect() as at_a, b.connect() as at_b:
        at_a.put("SHARED.QUEUE", BODY, persistent=True)
        b.operator.says("RESET SMDS(QMA) CFSTRUCT(APP1) STATUS(FAILED)")
        assert got(at_b) == mq.MQRC_DATA_SET_NOT_AVAILABLE
        runs.operator.says("RECOVER CFSTRUCT(APP1)")
        assert ("(INRECOVER)", "ACCESS(SUSPENDED)") in seen
        wait_for(lambda: got(at_b) == BODY, "the message has not come back")
        wait_for(lambda: state(a, "QMA") == ("(ACTIVE)", "ACCESS(ENABLED)"), "the data set is not used again")


def test_a_recovery_that_fails_leaves_data_sets_as_failed_as_they_were(
    group: GroupHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = group.members
    a.operator.says("ALTER CFSTRUCT(APP1) RECAUTO(NO)")
    a.operator.says("RESET SMDS(QMA) CFSTRUCT(APP1) STATUS(FAILED)")

    def unreadable() -> list[MemberRow]:
        raise LogUnreadable("the group roll cannot be read")

    with monkeypatch.context() as patch:
        patch.setattr(b.service.recoveries, "_roll", unreadable)
        assert "roll cannot be read" in b.operator.fails("RECOVER CFSTRUCT(APP1)")
    wait_for(lambda: state(a, "QMA") == ("(FAILED)", "ACCESS(SUSPENDED)"), "it is not FAILED again")
    b.operator.says("RECOVER CFSTRUCT(APP1) TYPE(PURGE)")
    wait_for(lambda: state(a, "QMA") == ("(ACTIVE)", "ACCESS(ENABLED)"), "the data set is not used again")


def test_a_data_set_with_other_blocks(group: GroupHere) -> None:
    """DSBLOCK follows when all data sets are EMPTY: closed by their owners, without messages."""
    a, b = group.members
    alter = "ALTER CFSTRUCT(APP1) DSBLOCK(128K)"
    assert a.operator.fails(alter).startswith("AMQ7536E")
    a.operator.says("ALTER CFSTRUCT(APP1) OFFLD1SZ(0K) OFFLD1TH(0) DSBUFS(50)")
    assert "3358" in a.operator.fails("ALTER CFSTRUCT(APP1) DSGROUP(' ')")
    a.operator.says("RESET SMDS(*) CFSTRUCT(APP1) ACCESS(DISABLED)")
    for owner in ("QMA", "QMB"):
        wait_for(
            lambda owner=owner: state(a, owner) == ("(EMPTY)", "ACCESS(DISABLED)"),  # type: ignore[misc]
            f"{owner} has not closed its data set",
        )
    for member in group.members:
        member.operator.says(alter)
    b.operator.says("RESET SMDS(*) CFSTRUCT(APP1) ACCESS(ENABLED)")
    with a.connect() as at_a, b.connect() as at_b:
        wait_for(lambda: refused(at_a, b"x" * 500) == 0, "QMA has no data set")
        wait_for(lambda: a.connection() == "STATUS(OPEN)", "QMA has not opened its data set")
        assert a.operator.says("DISPLAY USAGE TYPE(SMDS)")[8].split()[1] == "128K"
        assert refused(at_a, b"y" * 500) == 0
        assert "OFFLDUSE(SMDS)" in a.words("DISPLAY CFSTATUS(APP1)")
        assert got(at_b) == b"x" * 500


def test_a_facility_that_is_away(group: GroupHere) -> None:
    a, _ = group.members
    group.facility.close()
    wait_for(lambda: "STATUS(UNKNOWN)" in a.words("DISPLAY CFSTATUS(APP1)"), "the loss was not noticed")
    assert "STATUS(ACTIVE)" in a.words("DISPLAY CFSTATUS(APP1) TYPE(SMDS)")
    assert "2345" in a.operator.fails("RESET CFSTRUCT(APP1) ACTION(FAIL)")
