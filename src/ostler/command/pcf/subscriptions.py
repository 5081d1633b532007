"""Create, Change, Copy, Delete and Inquire Subscription, by name or by identifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.permissions import authorize
from ostler.command.admin.subscriptions import (
    SubscriptionFilter,
    alter_subscription,
    define_subscription,
    delete_subscription,
    select_subscriptions,
    subscription_rows,
)
from ostler.command.pcf.command import PcfCommand, PcfRequest, Reply, number, numbers, octets, text
from ostler.command.pcf.errors import PcfRefused, as_pcf_refusal, bad_parameter
from ostler.command.pcf.inquire import reply_row
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.errors import MQError

_KIND: Final = ObjectType.SUB
_NAME_LENGTH: Final = 10240
_IDENTIFIER_BYTES: Final = 24
_TYPES: Final = {
    mq.MQSUBTYPE_USER: "USER",
    mq.MQSUBTYPE_ALL: "ALL",
    mq.MQSUBTYPE_ADMIN: "ADMIN",
    mq.MQSUBTYPE_API: "API",
    mq.MQSUBTYPE_PROXY: "PROXY",
}
_DURABLE: Final = {mq.MQSUB_DURABLE_ALL: "ALL", mq.MQSUB_DURABLE_YES: "YES", mq.MQSUB_DURABLE_NO: "NO"}


def name_and_identifier(request: PcfRequest) -> tuple[str, str]:
    """Returns the name and the identifier of a command: one of them, or both."""
    name = request.text(mq.MQCACF_SUB_NAME)
    identifier = request.octets(mq.MQBACF_SUB_ID)
    if not name and not identifier:
        raise bad_parameter(mq.MQRCCF_PARM_MISSING, mq.MQCACF_SUB_NAME)
    return name, identifier.hex().upper() if identifier else ""


def _apply_change(change: Callable[[], None]) -> None:
    try:
        change()
    except (MQError, CommandRefused) as error:
        refusal = as_pcf_refusal(error)
        if refusal.reason == mq.MQRCCF_OBJECT_ALREADY_EXISTS:
            refusal = PcfRefused(mq.MQRCCF_SUB_ALREADY_EXISTS)
        raise refusal from None


def _given(request: PcfRequest, is_new: bool) -> dict[str, Value]:
    given = request.given(_KIND, "", is_new)
    # The queue manager assigns the identifier; in a command it only identifies the subscription.
    given.pop("SUBID", None)
    return given


def _create(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    yield from _define(context, request, request.text(mq.MQCACF_SUB_NAME), None)


def _copy(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    yield from _define(context, request, request.text(mq.MQCACF_TO_SUB_NAME), request.text(mq.MQCACF_FROM_SUB_NAME))


def _define(context: CommandContext, request: PcfRequest, name: str, like: str | None) -> Iterator[Reply]:
    if not name:
        raise PcfRefused(mq.MQRCCF_SUB_NAME_ERROR)
    replace = request.number(mq.MQIACF_REPLACE) == mq.MQRP_YES
    given = _given(request, is_new=True)
    _apply_change(partial(define_subscription, context, name, given, like, replace))
    yield []


def _change(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name, identifier = name_and_identifier(request)
    given = _given(request, is_new=False)
    _apply_change(partial(alter_subscription, context, name, identifier, given))
    yield []


def _delete(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name, identifier = name_and_identifier(request)
    _apply_change(partial(delete_subscription, context, name, identifier))
    yield []


def subscription_filter(request: PcfRequest) -> SubscriptionFilter:
    """Returns the filter of an inquiry about subscriptions."""
    name, identifier = name_and_identifier(request)
    types = _TYPES[request.number(mq.MQIACF_SUB_TYPE, mq.MQSUBTYPE_USER)]
    durable = _DURABLE[request.number(mq.MQIACF_DURABLE_SUBSCRIPTION, mq.MQSUB_DURABLE_ALL)]
    return SubscriptionFilter(name or "*", identifier, types, durable)


def _inquire(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "DISPLAY", _KIND, "")
    selection = request.selected(mq.MQIACF_SUB_ATTRS, (_KIND,))
    found = False
    for batch in select_subscriptions(context, subscription_filter(request)):
        for row in context.query(partial(subscription_rows, batch)) if batch else ():
            if request.condition is None or request.condition.accepts(_KIND, row):
                found = True
                yield reply_row(_KIND, row, selection, ("SUB", "SUBID"))
    if not found:
        raise PcfRefused(mq.MQRC_NO_SUBSCRIPTION)


_NAME: Final = text("MQCACF_SUB_NAME", _NAME_LENGTH)
_IDENTIFIER: Final = octets("MQBACF_SUB_ID", _IDENTIFIER_BYTES)
_REPLACE: Final = number("MQIACF_REPLACE", "MQRP_NO", "MQRP_YES")
COMMANDS: Final = (
    PcfCommand(
        "MQCMD_CREATE_SUBSCRIPTION",
        _create,
        (text("MQCACF_SUB_NAME", _NAME_LENGTH, required=True), _REPLACE),
        (_KIND,),
        ordered=False,
    ),
    PcfCommand("MQCMD_CHANGE_SUBSCRIPTION", _change, (_NAME, _IDENTIFIER), (_KIND,)),
    PcfCommand(
        "MQCMD_COPY_SUBSCRIPTION",
        _copy,
        (
            text("MQCACF_FROM_SUB_NAME", _NAME_LENGTH, required=True),
            text("MQCACF_TO_SUB_NAME", _NAME_LENGTH, required=True),
            _REPLACE,
        ),
        (_KIND,),
        ordered=False,
    ),
    PcfCommand("MQCMD_DELETE_SUBSCRIPTION", _delete, (_NAME, _IDENTIFIER)),
    PcfCommand(
        "MQCMD_INQUIRE_SUBSCRIPTION",
        _inquire,
        (
            _NAME,
            _IDENTIFIER,
            number("MQIACF_DURABLE_SUBSCRIPTION", "MQSUB_DURABLE_YES", "MQSUB_DURABLE_NO", "MQSUB_DURABLE_ALL"),
            numbers("MQIACF_SUB_ATTRS"),
            number(
                "MQIACF_SUB_TYPE",
                "MQSUBTYPE_ADMIN",
                "MQSUBTYPE_API",
                "MQSUBTYPE_PROXY",
                "MQSUBTYPE_USER",
                "MQSUBTYPE_ALL",
            ),
        ),
        filtered=(_KIND,),
    ),
)
