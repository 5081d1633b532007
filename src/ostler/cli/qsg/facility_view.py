"""A group's coupling facility as commands see it: a look at its structures and members, whichever engine it has."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ostler.cli.coupling.facilities import ANSWER_SECONDS
from ostler.model.connection_names import parse_connection_names
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import (
    Answer,
    MembersAnswer,
    MemberStatus,
    StatusAnswer,
    StructureStatus,
    count_messages,
)
from ostler.model.coupling.group_rows import GroupRow
from ostler.model.coupling.programs import MembersProgram, Program, StatusProgram
from ostler.model.errors import MQError
from ostler.server.coupling.facility_client import FacilityClient, FacilityLost
from ostler.server.coupling.facility_directory import FacilityDirectory, short_path
from ostler.server.coupling.redis.address import is_redis, parse_address
from ostler.server.coupling.redis.redis_errors import RedisFailed


class FacilityAway(Exception):
    """The facility gave no answer. The text gives the reason."""


class FacilityNotRunning(FacilityAway):
    """The facility is one of our own on this machine, and has no process: nothing of it is anywhere."""


@dataclass(frozen=True)
class FacilityView:
    """What a facility holds at one moment."""

    structures: list[StructureStatus]
    members: list[MemberStatus]

    def member(self, number: int) -> MemberStatus | None:
        return next((each for each in self.members if each.number == number), None)

    @property
    def highest_number(self) -> int:
        return max((int(each.number) for each in self.members), default=0)

    @property
    def entries(self) -> int:
        """Messages of applications."""
        return count_messages(self.structures)


class _Client(Protocol):
    def run(self, program: Program) -> Answer: ...
    def close(self) -> None: ...


def own_directory(group: GroupRow) -> FacilityDirectory | None:
    """Returns the directory of a facility that the members start by themselves; None for any other."""
    if not group.facility_directory:
        return None
    path = Path(group.facility_directory)
    return FacilityDirectory(path.parent.parent, path.name)


def facility_words(group: GroupRow) -> str:
    """Returns where the facility is, without a password."""
    return f"redis {parse_address(group.facility)}" if is_redis(group.facility) else group.facility


def look(group: GroupRow) -> FacilityView:
    """Returns what the facility of a group holds. Raises FacilityAway."""
    directory = own_directory(group)
    if directory is not None and not directory.is_running():
        raise FacilityNotRunning("it is not running")
    try:
        client = _connect(group)
        try:
            status = client.run(StatusProgram())
            members = client.run(MembersProgram())
        finally:
            client.close()
    except (FacilityLost, RedisFailed, OSError) as error:
        raise FacilityAway(str(getattr(error, "strerror", None) or error)) from None
    if not isinstance(status, StatusAnswer) or not isinstance(members, MembersAnswer):
        raise FacilityAway(f"it answers with {cf.STATUS_NAMES[int(status.status)]}")
    return FacilityView(status.structures, members.members)


def _connect(group: GroupRow) -> _Client:
    where = group.facility
    if is_redis(where):
        try:
            from ostler.server.coupling.redis.redis_client import RedisClient
        except ImportError:
            raise FacilityAway("the package hiredis is missing: pip install 'ostler[sharing]'") from None
        return RedisClient(parse_address(where), group.facility_name or group.name, ANSWER_SECONDS)
    return FacilityClient(_socket(where), group.facility_name, "")


def _socket(where: str) -> socket.socket:
    if "/" in where:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.settimeout(ANSWER_SECONDS)
            with short_path(Path(where)) as path:
                sock.connect(path)
        except BaseException:
            sock.close()
            raise
        return sock
    try:
        address = parse_connection_names(where)[0]
    except MQError as error:
        raise FacilityAway(error.detail) from None
    return socket.create_connection((address.host, address.port), ANSWER_SECONDS)
