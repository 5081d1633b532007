"""Create, Change, Copy, Delete and Inquire Subscription, by name or by identifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ostler.command import administration
from ostler.command.pcf_inquire import reply_row
from ostler.command.pcf_refusals import PcfRefused, bad_parameter, refused
from ostler.command.pcf_request import Request
from ostler.command.pcf_table import Command, Reply, number, numbers, octets, text
from ostler.command.permissions import authorize
from ostler.command.subscriptions import check_places as check_places
from ostler.command.subscriptions import find_subscription as find_subscription
from ostler.command.subscriptions import make_subscription as make_subscription
from ostler.command.subscriptions import matching, subscription_row
from ostler.command.target import CommandRefused, Target
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQBACF_SUB_ID,
    MQCACF_FROM_SUB_NAME,
    MQCACF_SUB_NAME,
    MQCACF_TO_SUB_NAME,
    MQIACF_DURABLE_SUBSCRIPTION,
    MQIACF_REPLACE,
    MQIACF_SUB_ATTRS,
    MQIACF_SUB_TYPE,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_OBJECT_ALREADY_EXISTS,
    MQRCCF_PARM_MISSING,
    MQRCCF_SUB_ALREADY_EXISTS,
    MQRCCF_SUB_NAME_ERROR,
    MQRP_YES,
    MQSUB_DURABLE_ALL,
    MQSUB_DURABLE_NO,
    MQSUB_DURABLE_YES,
    MQSUBTYPE_ADMIN,
    MQSUBTYPE_ALL,
    MQSUBTYPE_API,
    MQSUBTYPE_PROXY,
    MQSUBTYPE_USER,
)
from ostler.model.errors import MQError

_KIND: Final = ObjectType.SUB
_NAME_LENGTH: Final = 10240
_IDENTIFIER_BYTES: Final = 24
_CHUNK_OBJECTS: Final = 100
_TYPES: Final = {
    MQSUBTYPE_USER: "USER",
    MQSUBTYPE_ALL: "ALL",
    MQSUBTYPE_ADMIN: "ADMIN",
    MQSUBTYPE_API: "API",
    MQSUBTYPE_PROXY: "PROXY",
}
_DURABLE: Final = {MQSUB_DURABLE_ALL: "ALL", MQSUB_DURABLE_YES: "YES", MQSUB_DURABLE_NO: "NO"}


def which(request: Request) -> tuple[str, str]:
    """The name and the identifier that a command gives: one of them, or both."""
    name = request.text(MQCACF_SUB_NAME)
    identifier = request.octets(MQBACF_SUB_ID)
    if not name and not identifier:
        raise bad_parameter(MQRCCF_PARM_MISSING, MQCACF_SUB_NAME)
    return name, identifier.hex().upper() if identifier else ""


def _change_subscriptions(target: Target, change: Callable[[Engine], int]) -> None:
    try:
        target.change(change)
    except (MQError, CommandRefused) as error:
        refusal = refused(error)
        if refusal.reason == MQRCCF_OBJECT_ALREADY_EXISTS:
            refusal = PcfRefused(MQRCCF_SUB_ALREADY_EXISTS)
        raise refusal from None


def _given(request: Request, is_new: bool) -> dict[str, Value]:
    given = request.given(_KIND, "", is_new)
    # The queue manager gives the identifier; in a command it only says which subscription is meant.
    given.pop("SUBID", None)
    return given


def _create(target: Target, request: Request) -> Iterator[Reply]:
    yield from _define(target, request, request.text(MQCACF_SUB_NAME), None)


def _copy(target: Target, request: Request) -> Iterator[Reply]:
    yield from _define(target, request, request.text(MQCACF_TO_SUB_NAME), request.text(MQCACF_FROM_SUB_NAME))


def _define(target: Target, request: Request, name: str, like: str | None) -> Iterator[Reply]:
    if not name:
        raise PcfRefused(MQRCCF_SUB_NAME_ERROR)
    authorize(target, "DEFINE", _KIND, name)
    replace = request.number(MQIACF_REPLACE) == MQRP_YES
    given = _given(request, is_new=True)
    _change_subscriptions(target, partial(make_subscription, name, given, like, replace, target.user))
    yield []


def _change(target: Target, request: Request) -> Iterator[Reply]:
    name, identifier = which(request)
    authorize(target, "ALTER", _KIND, name)
    given = _given(request, is_new=False)
    _change_subscriptions(target, partial(_altered, name, identifier, given))
    yield []


def _altered(name: str, identifier: str, given: dict[str, Value], engine: Engine) -> int:
    found = find_subscription(engine, name, identifier)
    check_places(engine, {**found.attributes, **given})
    return administration.alter(engine, _KIND, found.name, given)


def _delete(target: Target, request: Request) -> Iterator[Reply]:
    name, identifier = which(request)
    authorize(target, "DELETE", _KIND, name)
    _change_subscriptions(target, partial(_deleted, name, identifier))
    yield []


def _deleted(name: str, identifier: str, engine: Engine) -> int:
    return objects.delete(engine, _KIND, find_subscription(engine, name, identifier).name)


def subscription_names(target: Target, request: Request) -> list[str]:
    """The names of the subscriptions that an inquiry is about."""
    name, identifier = which(request)
    types = _TYPES[request.number(MQIACF_SUB_TYPE, MQSUBTYPE_USER)]
    durable = _DURABLE[request.number(MQIACF_DURABLE_SUBSCRIPTION, MQSUB_DURABLE_ALL)]
    return target.look(partial(matching, name or "*", identifier, types, durable))


def _inquire(target: Target, request: Request) -> Iterator[Reply]:
    authorize(target, "DISPLAY", _KIND, "")
    selection = request.selected(MQIACF_SUB_ATTRS, (_KIND,))
    names = subscription_names(target, request)
    found = False
    for at in range(0, len(names), _CHUNK_OBJECTS):
        for row in target.look(partial(_rows, names[at : at + _CHUNK_OBJECTS])):
            if request.condition is None or request.condition.accepts(_KIND, row):
                found = True
                yield reply_row(_KIND, row, selection, ("SUB", "SUBID"))
    if not found:
        raise PcfRefused(MQRC_UNKNOWN_OBJECT_NAME)


def _rows(names: list[str], engine: Engine) -> list[dict[str, Value]]:
    known = engine.of_type(_KIND)
    return [subscription_row(engine, known[name]) for name in names if name in known]


_NAME: Final = text("MQCACF_SUB_NAME", _NAME_LENGTH)
_IDENTIFIER: Final = octets("MQBACF_SUB_ID", _IDENTIFIER_BYTES)
_REPLACE: Final = number("MQIACF_REPLACE", "MQRP_NO", "MQRP_YES")
COMMANDS: Final = (
    Command(
        "MQCMD_CREATE_SUBSCRIPTION",
        _create,
        (text("MQCACF_SUB_NAME", _NAME_LENGTH, required=True), _REPLACE),
        (_KIND,),
        ordered=False,
    ),
    Command("MQCMD_CHANGE_SUBSCRIPTION", _change, (_NAME, _IDENTIFIER), (_KIND,)),
    Command(
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
    Command("MQCMD_DELETE_SUBSCRIPTION", _delete, (_NAME, _IDENTIFIER)),
    Command(
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
