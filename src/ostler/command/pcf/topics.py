"""Inquire Topic Status, Subscription Status and Publish/Subscribe Status, and Clear Topic String."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.permissions import authorize
from ostler.command.admin.subscriptions import SubscriptionFilter, select_subscriptions
from ostler.command.admin.topics import clear_topic
from ostler.command.mqsc.display.display import Row
from ostler.command.pcf.command import PcfCommand, PcfRequest, Reply, number, numbers, octets, text
from ostler.command.pcf.errors import PcfRefused, as_pcf_refusal
from ostler.command.pcf.inquire import reply_row
from ostler.command.pcf.subscriptions import subscription_filter
from ostler.command.status.topic_rows import TopicRows, pubsub_row, status_rows
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.errors import MQError

_TOPIC_LENGTH: Final = 10240
_ABOUT: Final = {mq.MQIACF_TOPIC_STATUS: "TOPIC", mq.MQIACF_TOPIC_SUB: "SUB", mq.MQIACF_TOPIC_PUB: "PUB"}


def _replies(
    request: PcfRequest, kind: ObjectType, attributes: int, rows: Iterable[Row], heads: tuple[str, ...], none: int
) -> Iterator[Reply]:
    """Yields a reply for each row that passes the filter; refused with `none` without any."""
    selection = request.selected(attributes, (kind,))
    found = False
    for row in rows:
        if request.condition is None or request.condition.accepts(kind, row):
            found = True
            yield reply_row(kind, row, selection, heads)
    if not found:
        raise PcfRefused(none)


def _topic_status(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    about = _ABOUT[request.number(mq.MQIACF_TOPIC_STATUS_TYPE, mq.MQIACF_TOPIC_STATUS)]
    rows = TopicRows(request.text(mq.MQCA_TOPIC_STRING), about).rows(context)
    yield from _replies(
        request,
        ObjectType.TPSTATUS,
        mq.MQIACF_TOPIC_STATUS_ATTRS,
        rows,
        ("TOPICSTR", "TYPE"),
        mq.MQRCCF_TOPIC_STRING_NOT_FOUND,
    )


def _subscription_status(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "DISPLAY", ObjectType.SUB, "")
    rows = _status_rows(context, subscription_filter(request))
    yield from _replies(
        request, ObjectType.SBSTATUS, mq.MQIACF_SUB_STATUS_ATTRS, rows, ("SUB", "SUBID"), mq.MQRC_NO_SUBSCRIPTION
    )


def _status_rows(context: CommandContext, selection: SubscriptionFilter) -> Iterator[Row]:
    for batch in select_subscriptions(context, selection):
        yield from context.query(partial(status_rows, batch))


def _pubsub_status(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    is_here = request.number(mq.MQIACF_PS_STATUS_TYPE, mq.MQPSST_ALL) in (mq.MQPSST_ALL, mq.MQPSST_LOCAL)
    rows = [context.query(pubsub_row)] if is_here else []
    heads = ("QMNAME", "TYPE", "STATUS")
    yield from _replies(request, ObjectType.PUBSUB, mq.MQIACF_PUBSUB_STATUS_ATTRS, rows, heads, mq.MQRCCF_NONE_FOUND)


def _clear(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    try:
        clear_topic(context, request.text(mq.MQCA_TOPIC_STRING))
    except (MQError, CommandRefused) as error:
        raise as_pcf_refusal(error) from None
    yield []


COMMANDS: Final = (
    PcfCommand(
        "MQCMD_INQUIRE_TOPIC_STATUS",
        _topic_status,
        (
            text("MQCA_TOPIC_STRING", _TOPIC_LENGTH, required=True),
            number("MQIACF_TOPIC_STATUS_TYPE", "MQIACF_TOPIC_STATUS", "MQIACF_TOPIC_SUB", "MQIACF_TOPIC_PUB"),
            numbers("MQIACF_TOPIC_STATUS_ATTRS"),
        ),
        filtered=(ObjectType.TPSTATUS,),
    ),
    PcfCommand(
        "MQCMD_INQUIRE_SUB_STATUS",
        _subscription_status,
        (
            text("MQCACF_SUB_NAME", _TOPIC_LENGTH),
            octets("MQBACF_SUB_ID", 24),
            number("MQIACF_DURABLE_SUBSCRIPTION", "MQSUB_DURABLE_YES", "MQSUB_DURABLE_NO", "MQSUB_DURABLE_ALL"),
            number(
                "MQIACF_SUB_TYPE",
                "MQSUBTYPE_ADMIN",
                "MQSUBTYPE_API",
                "MQSUBTYPE_PROXY",
                "MQSUBTYPE_USER",
                "MQSUBTYPE_ALL",
            ),
            numbers("MQIACF_SUB_STATUS_ATTRS"),
        ),
        filtered=(ObjectType.SBSTATUS,),
    ),
    PcfCommand(
        "MQCMD_INQUIRE_PUBSUB_STATUS",
        _pubsub_status,
        (
            numbers("MQIACF_PUBSUB_STATUS_ATTRS"),
            number("MQIACF_PS_STATUS_TYPE", "MQPSST_ALL", "MQPSST_LOCAL", "MQPSST_PARENT", "MQPSST_CHILD"),
        ),
    ),
    PcfCommand(
        "MQCMD_CLEAR_TOPIC_STRING",
        _clear,
        (
            text("MQCA_TOPIC_STRING", _TOPIC_LENGTH, required=True),
            number("MQIACF_CLEAR_TYPE", "MQCLRT_RETAINED", required=True),
            number("MQIACF_CLEAR_SCOPE", "MQCLRS_LOCAL"),
        ),
    ),
)
