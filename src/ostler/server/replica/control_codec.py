"""Status and requests of replication as JSON, for the local socket. Both ends check what they receive.

Fields that are missing have their defaults and unknown ones are skipped, so that commands and instances of neighbouring
releases understand each other during a rolling upgrade.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final, TypeVar

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.replication import (
    SWITCH_OVER_SECONDS,
    Acknowledgement,
    ChangeRole,
    GroupConnection,
    GroupRole,
    GroupStatus,
    HaStatus,
    InstanceRole,
    InstanceStatus,
    Prefer,
    RecoveryGroupStatus,
    ReplicaState,
    ReplicationRequest,
    Resolve,
    Resume,
    Suspend,
    SwitchOver,
)

Json = Mapping[str, object]
_ROWS_MAX: Final = 64
_TEXT_MAX: Final = 1024
_NAMES: Final[dict[type[ReplicationRequest], str]] = {
    SwitchOver: "switch_over",
    Suspend: "suspend",
    Resume: "resume",
    Prefer: "prefer",
    Resolve: "resolve",
    ChangeRole: "change_role",
}
_Word = TypeVar("_Word", InstanceRole, GroupRole, ReplicaState, HaStatus, GroupConnection, Acknowledgement)


def encode_request(request: ReplicationRequest) -> dict[str, object]:
    """Return a request as the arguments of the control action "replication"."""
    return {"request": _NAMES[type(request)], **asdict(request)}


def decode_request(found: Json) -> ReplicationRequest:
    """Return the request in the arguments of the control action. Raises MQError when it is none."""
    name = found.get("request")
    reader = _Reader(found)
    if name == "switch_over":
        wait_seconds = reader.seconds("wait_seconds", SWITCH_OVER_SECONDS)
        return SwitchOver(reader.truth("reconnects"), wait_seconds)
    if name == "suspend":
        return Suspend(reader.text("instance"))
    if name == "resume":
        return Resume(reader.text("instance"))
    if name == "prefer":
        return Prefer(reader.text("instance"))
    if name == "resolve":
        return Resolve()
    if name == "change_role":
        role = reader.word("role", GroupRole.UNKNOWN)
        if role not in (GroupRole.LIVE, GroupRole.RECOVERY):
            raise _malformed(f"a group cannot be asked to be {str(role)!r}")
        return ChangeRole(role, reader.truth("forces"))
    raise _malformed(f"{str(name)[:40]!r} is not a request")


def encode_status(status: GroupStatus) -> dict[str, object]:
    return asdict(status)


def decode_status(found: Json) -> GroupStatus:
    """Return a status that was sent as JSON. Raises MQError when it is none."""
    reader = _Reader(found)
    return GroupStatus(
        queue_manager=reader.text("queue_manager"),
        instance=reader.text("instance"),
        role=reader.word("role", InstanceRole.UNKNOWN),
        instances=tuple(_instance(each) for each in reader.rows("instances")),
        copies=reader.number("copies", 1),
        group_lsn=reader.number("group_lsn"),
        group_name=reader.text("group_name"),
        group_role=reader.word("group_role", GroupRole.NOT_CONFIGURED),
        ha_status=reader.word("ha_status", HaStatus.UNKNOWN),
        dr_status=reader.word("dr_status", HaStatus.UNKNOWN),
        recovery_groups=tuple(_recovery_group(each) for each in reader.rows("recovery_groups")),
        preferred=reader.text("preferred"),
        is_suspended=reader.truth("is_suspended"),
        acknowledgement=reader.word("acknowledgement", Acknowledgement.DISK),
        arbiter=reader.text("arbiter"),
        arbiter_notice=reader.text("arbiter_notice"),
        term=reader.number("term"),
        initial_lsn=reader.number("initial_lsn"),
        initial_ms=reader.number("initial_ms"),
        live_ms=reader.number("live_ms"),
        fork_lsn=reader.number("fork_lsn", -1),
    )


def _instance(found: Json) -> InstanceStatus:
    reader = _Reader(found)
    return InstanceStatus(
        name=reader.text("name"),
        role=reader.word("role", InstanceRole.UNKNOWN),
        address=reader.text("address"),
        is_connected=reader.truth("is_connected"),
        is_linked=reader.truth("is_linked"),
        is_in_sync=reader.truth("is_in_sync"),
        backlog_bytes=reader.number("backlog_bytes", -1),
        forced_lsn=reader.number("forced_lsn"),
        applied_lsn=reader.number("applied_lsn"),
        state=reader.word("state", ReplicaState.UNKNOWN),
        altered_ms=reader.number("altered_ms"),
        in_sync_ms=reader.number("in_sync_ms"),
        client_address=reader.text("client_address"),
        is_suspended=reader.truth("is_suspended"),
        base_percent=reader.number("base_percent"),
    )


def _recovery_group(found: Json) -> RecoveryGroupStatus:
    reader = _Reader(found)
    return RecoveryGroupStatus(
        name=reader.text("name"),
        role=reader.word("role", GroupRole.UNKNOWN),
        address=reader.text("address"),
        version=reader.text("version"),
        state=reader.word("state", ReplicaState.UNKNOWN),
        connection=reader.word("connection", GroupConnection.UNKNOWN),
        is_in_sync=reader.truth("is_in_sync"),
        backlog_bytes=reader.number("backlog_bytes", -1),
        recovered_lsn=reader.number("recovered_lsn"),
        recovered_ms=reader.number("recovered_ms"),
        in_sync_ms=reader.number("in_sync_ms"),
        altered_ms=reader.number("altered_ms"),
        is_synchronous=reader.truth("is_synchronous"),
        base_percent=reader.number("base_percent"),
    )


class _Reader:
    """Reads the fields of a JSON object, each with the type it must have."""

    def __init__(self, found: Json) -> None:
        self._found = found

    def text(self, name: str) -> str:
        value = self._found.get(name, "")
        if not isinstance(value, str) or len(value) > _TEXT_MAX:
            raise _malformed(f"{name} has to be a text of up to {_TEXT_MAX} characters")
        return value

    def number(self, name: str, default: int = 0) -> int:
        value = self._found.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise _malformed(f"{name} has to be a whole number")
        return value

    def seconds(self, name: str, default: float) -> float:
        value = self._found.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 86_400:
            raise _malformed(f"{name} has to be a number of seconds from 0 to 86400")
        return float(value)

    def truth(self, name: str) -> bool:
        value = self._found.get(name, False)
        if not isinstance(value, bool):
            raise _malformed(f"{name} has to be true or false")
        return value

    def word(self, name: str, default: _Word) -> _Word:
        """Return a word; the default for one that a later release may have added."""
        value = self._found.get(name, default.value)
        if not isinstance(value, str):
            raise _malformed(f"{name} has to be a word")
        try:
            return type(default)(value)
        except ValueError:
            return default

    def rows(self, name: str) -> list[Json]:
        value = self._found.get(name, [])
        if not isinstance(value, (list, tuple)) or len(value) > _ROWS_MAX:
            raise _malformed(f"{name} has to be a list of up to {_ROWS_MAX} rows")
        rows: list[Json] = [each for each in value if isinstance(each, dict)]
        if len(rows) != len(value):
            raise _malformed(f"{name} has to be a list of objects")
        return rows


def _malformed(why: str) -> MQError:
    return MQError(mq.MQRC_OPTIONS_ERROR, f"A request or status of replication is malformed: {why}.")
