"""MQCACF_COMMAND_SCOPE: a PCF command for other members of a queue-sharing group.

Replies come from one member after the other; each names its queue manager in MQCACF_RESPONSE_Q_MGR_NAME.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.group_scope import ALL_MEMBERS, MemberAnswer
from ostler.command.mqsc.sharing.qsg_scope import other_members
from ostler.command.pcf.command import Reply
from ostler.command.pcf.errors import PcfRefused, bad_parameter
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.pcf import UTF_8, Header, Integer, PcfError, PcfMessage, String, decode, encode

_NAME_LENGTH_MAX: Final = 48

Replies: TypeAlias = Iterator[tuple[Header, Reply]]


def split_scope(message: PcfMessage) -> tuple[PcfMessage, str]:
    """Returns the command without the parameter, and its value; empty: this queue manager. Raises PcfRefused."""
    found = [each for each in message.parameters if each.parameter == mq.MQCACF_COMMAND_SCOPE]
    if not found:
        return message, ""
    item = found[0]
    if len(found) > 1 or not isinstance(item, String) or len(item.value) > _NAME_LENGTH_MAX:
        raise bad_parameter(mq.MQRCCF_COMMAND_SCOPE_ERROR, mq.MQCACF_COMMAND_SCOPE)
    kept = [each for each in message.parameters if each.parameter != mq.MQCACF_COMMAND_SCOPE]
    return replace(message, parameters=tuple(kept)), item.value.strip()


def run_scoped(
    context: CommandContext, head: Header, message: PcfMessage, scope: str, run_here: Callable[[PcfMessage], Replies]
) -> Replies:
    """Yields the headers and parameters of the replies of all queue managers that the scope names."""
    name = context.query(_name)
    if not scope or scope.upper() == name.upper() or context.is_from_member:
        yield from run_here(message)
        return
    group = context.group_commands()
    if group is None:
        if scope != ALL_MEMBERS:
            raise PcfRefused(mq.MQRCCF_Q_MGR_NOT_IN_QSG)
        yield from run_here(message)
        return
    disposition = [each for each in message.parameters if each.parameter == mq.MQIA_QSG_DISP]
    if any(isinstance(each, Integer) and each.value == mq.MQQSGD_GROUP for each in disposition):
        raise bad_parameter(mq.MQRCCF_COMMAND_SCOPE_ERROR, mq.MQCACF_COMMAND_SCOPE)
    try:
        members = other_members(group, scope)
    except CommandRefused:
        raise bad_parameter(mq.MQRCCF_COMMAND_SCOPE_ERROR, mq.MQCACF_COMMAND_SCOPE) from None
    if scope == ALL_MEMBERS:
        for header, reply in run_here(message):
            yield header, _headed(name, reply)
    for answer in group.run_pcf(members, encode(message.header, message.parameters, UTF_8)):
        yield from _replies_of(head, answer)


def _replies_of(head: Header, answer: MemberAnswer) -> Replies:
    if answer.problem:
        failed = replace(head, completion=mq.MQCC_FAILED, reason=mq.MQRCCF_COMMAND_FAILED)
        yield failed, _headed(answer.name, [])
        return
    for part in answer.parts:
        try:
            reply = decode(part, answer.ccsid, False)
        except PcfError as error:
            yield replace(head, completion=mq.MQCC_FAILED, reason=error.reason), _headed(answer.name, [])
            return
        yield reply.header, _headed(answer.name, list(reply.parameters))


def _headed(name: str, reply: Reply) -> Reply:
    return [String(mq.MQCACF_RESPONSE_Q_MGR_NAME, name), *reply]


def _name(engine: Engine) -> str:
    return engine.name
