"""The members of the queue-sharing group, for DISPLAY GROUP and Inquire Group: the roll, and who is connected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.group.facility import ask
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import MembersAnswer
from ostler.model.coupling.entries import id_member
from ostler.model.coupling.programs import MembersProgram
from ostler.model.errors import MQError
from ostler.model.shared_repository import STRUCTURES, RepositoryUnavailable

_STATES: Final = {
    cf.MEMBER_ACTIVE_STATE: "ACTIVE",
    cf.MEMBER_FAILED: "FAILED",
    cf.MEMBER_RECOVERING: "FAILED",
    cf.MEMBER_LEFT: "INACTIVE",
}
STATE_NUMBERS: Final = {
    "ACTIVE": mq.MQQSGS_ACTIVE,
    "FAILED": mq.MQQSGS_FAILED,
    "INACTIVE": mq.MQQSGS_INACTIVE,
    "CREATED": mq.MQQSGS_CREATED,
    "UNKNOWN": mq.MQQSGS_UNKNOWN,
}


@dataclass(frozen=True)
class GroupMemberStatus:
    """`state` is ACTIVE, FAILED, INACTIVE, CREATED (it has not joined this facility), or UNKNOWN without one."""

    name: str
    number: int
    state: str
    level: int
    address: str


def group_name(context: CommandContext) -> str:
    """Returns the name of the group. Raises MQError without one."""
    if context.group is None:
        raise MQError(mq.MQRCCF_Q_MGR_NOT_IN_QSG, "This queue manager is in no queue-sharing group.")
    return context.group.group


def group_members(context: CommandContext) -> list[GroupMemberStatus]:
    """Returns the members in the order of their numbers. Raises MQError."""
    group = context.group
    assert group is not None
    states: dict[int, str] | None = None
    try:
        answer = ask(context, MembersProgram())
    except MQError:
        answer = None
    if isinstance(answer, MembersAnswer):
        states = {each.number: _STATES.get(each.state, "UNKNOWN") for each in answer.members}
    members = [
        GroupMemberStatus(
            each.name,
            each.number,
            states.get(each.number, "CREATED") if states is not None else "UNKNOWN",
            each.level,
            each.address,
        )
        for each in group.members()
    ]
    return sorted(members, key=lambda each: each.number)


def obsolete_messages(context: CommandContext) -> dict[str, int]:
    """Returns how many bodies of offloaded messages are in the repository from members that are not in the roll.

    By structure; those without such bodies are left out. Raises MQError.
    """
    group = context.group
    assert group is not None
    numbers = {each.number for each in group.members()}
    found: dict[str, int] = {}
    for key, _ in group.definitions(STRUCTURES):
        try:
            ids = group.repository.blob_ids(key.name)
        except RepositoryUnavailable as error:
            raise MQError(mq.MQRC_DB2_NOT_AVAILABLE, f"The shared repository cannot be used now: {error}") from None
        count = sum(id_member(each) not in numbers for each in ids)
        if count:
            found[key.name] = count
    return found
