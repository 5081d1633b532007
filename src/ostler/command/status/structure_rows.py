"""Rows of CFSTATUS and SMDSCONN, and the tables of USAGE TYPE(SMDS)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from ostler.command.admin.objects import date_and_time
from ostler.command.admin.sharing_control import DataSetConnection, DataSetUsage
from ostler.model.attributes import Value
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import MemberStatus, StructureStatus
from ostler.model.coupling.entries import space_of
from ostler.model.coupling.group_rows import BackupRow
from ostler.model.coupling.status_rows import DataSetStatus, StructureStatusRow

Row = Mapping[str, Value]

_KILO: Final = 1024
_MEGABYTE: Final = 1 << 20
_COUNT_MAX: Final = 2_147_483_647


class FailureTimes(Protocol):
    def failed_ms(self, member: int) -> int: ...


@dataclass(frozen=True)
class StructureFacts:
    """What is known of a structure. `status` is None for one that the facility does not have."""

    name: str
    is_admin: bool
    is_reached: bool
    """The facility has answered."""
    status: StructureStatus | None
    offload_use: str
    times: StructureStatusRow | None


def summary_row(facts: StructureFacts) -> Row:
    """Returns CFSTATUS TYPE(SUMMARY)."""
    status = facts.status
    date, time = date_and_time(facts.times.failed_ms if facts.times is not None else 0)
    row: dict[str, Value] = {
        "CFSTATUS": facts.name,
        "TYPE": "SUMMARY",
        "CFTYPE": "ADMIN" if facts.is_admin else "APPL",
        "STATUS": _state_without_status(facts),
        "FAILDATE": date,
        "FAILTIME": time,
    }
    if facts.is_admin:
        return row  # a facility that answers has it: the group's own data are not counted as a structure
    row["OFFLDUSE"] = facts.offload_use
    row.update({"SIZEMAX": 0, "SIZEUSED": 0, "ENTSMAX": 0, "ENTSUSED": 0})
    if status is not None:
        limit = int(status.limit_bytes)
        row["STATUS"] = cf.STRUCTURE_STATES[int(status.state)]
        row["SIZEMAX"] = min(int(status.size_bytes) // _KILO, _COUNT_MAX)
        row["SIZEUSED"] = min(-(-100 * int(status.used_bytes) // max(limit, 1)), 100)
        row["ENTSMAX"] = min(limit // int(space_of(0)), _COUNT_MAX)
        row["ENTSUSED"] = min(int(status.entries), _COUNT_MAX)
    return row


def _state_without_status(facts: StructureFacts) -> str:
    if not facts.is_reached:
        return "UNKNOWN"
    return "ACTIVE" if facts.is_admin else "NOTFOUND"


def connection_row(name: str, member: MemberStatus, is_connected: bool, system: str, times: FailureTimes) -> Row:
    """Returns CFSTATUS TYPE(CONNECT) of one member."""
    state = int(member.state)
    status = "NONE"
    if state in (cf.MEMBER_FAILED, cf.MEMBER_RECOVERING):
        status = "FAILED"
    elif is_connected and state == cf.MEMBER_ACTIVE_STATE:
        status = "ACTIVE"
    date, time = date_and_time(times.failed_ms(int(member.number)))
    return {
        "CFSTATUS": name,
        "TYPE": "CONNECT",
        "QMNAME": member.name,
        "SYSNAME": system,
        "STATUS": status,
        "FAILDATE": date,
        "FAILTIME": time,
    }


def backup_row(name: str, status: StructureStatus | None, backup: BackupRow | None, logs: Sequence[str]) -> Row:
    """Returns CFSTATUS TYPE(BACKUP). Without a backup its status is NONE."""
    row: dict[str, Value] = {"CFSTATUS": name, "TYPE": "BACKUP", "STATUS": "NONE"}
    state = cf.STRUCTURE_STATES[int(status.state)] if status is not None else "NOTFOUND"
    if backup is not None or state in ("INBACKUP", "INRECOVER"):
        row["STATUS"] = state
    if backup is None:
        return row
    date, time = date_and_time(backup.ended_ms)
    row.update(
        {
            "QMNAME": backup.member_name,
            "BKUPDATE": date,
            "BKUPTIME": time,
            "BKUPSIZE": -(-backup.size_bytes // _MEGABYTE),
            "BKUPSRBA": f"{backup.start_lsn:016X}",
            "BKUPERBA": f"{backup.end_lsn:016X}",
            "LOGS": tuple(logs),
        }
    )
    return row


def data_set_row(status: DataSetStatus) -> Row:
    """Returns CFSTATUS TYPE(SMDS) of one data set."""
    failed_date, failed_time = date_and_time(status.failed_ms)
    recovered_date, recovered_time = date_and_time(status.recovered_ms)
    return {
        "CFSTATUS": status.structure,
        "TYPE": "SMDS",
        "SMDS": status.owner,
        "STATUS": status.status,
        "ACCESS": status.access,
        "FAILDATE": failed_date,
        "FAILTIME": failed_time,
        "RCVDATE": recovered_date,
        "RCVTIME": recovered_time,
    }


def data_set_connection_row(connection: DataSetConnection) -> Row:
    return {
        "SMDSCONN": connection.owner,
        "CFSTRUCT": connection.structure,
        "OPENMODE": connection.open_mode,
        "STATUS": connection.status,
        "AVAIL": connection.available,
        "EXPANDST": connection.expand_status,
    }


# -- DISPLAY USAGE TYPE(SMDS) ------------------------------------------------------------------------------------------


def usage_lines(usages: Sequence[DataSetUsage]) -> Iterator[str]:
    """Yields the table of space: that of CSQE280I."""
    yield "Application    Offloaded       Total  Total data   Used data   Used"
    yield "structure       messages      blocks      blocks      blocks   part"
    for each in usages:
        yield (
            f"_{each.structure:<12} {each.messages:>10} {each.total_blocks:>11} {each.data_blocks:>11} "
            f"{each.used_blocks:>11} {each.used_percent:>5}%"
        )
    yield "End of SMDS report"


def buffer_lines(usages: Sequence[DataSetUsage]) -> Iterator[str]:
    """Yields the table of buffers: that of CSQE285I."""
    yield "Application   Block  --------- Buffers ---------  Reads  Lowest   Wait"
    yield "structure      size   Total  In use  Saved  Empty  saved    free   rate"
    for each in usages:
        yield (
            f"_{each.structure:<12} {block_text(each.block_bytes):>5} {each.buffers:>7} {each.in_use:>7} "
            f"{each.saved:>6} {each.empty:>6} {each.reads_saved_percent:>5}% {each.lowest_free:>7} "
            f"{each.wait_percent:>5}%"
        )
    yield "End of SMDS buffer report"


def block_text(block_bytes: int) -> str:
    """Returns a size as DSBLOCK has it, such as 256K."""
    return f"{block_bytes // _MEGABYTE}M" if block_bytes >= _MEGABYTE else f"{block_bytes // _KILO}K"
