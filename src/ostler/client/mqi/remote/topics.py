"""MQSUB and MQSUBRQ over a link."""

from __future__ import annotations

from ostler.client.link.waiters import LinkBroken
from ostler.client.mqi.put_get import Result, error_result
from ostler.client.mqi.remote.connect import refusal
from ostler.client.mqi.remote.connections import RemoteConnection, RemoteHandle, usable_remote
from ostler.client.mqi.remote.objects import new_handle, open_handle, update_handle
from ostler.client.mqi.remote.put_get import check_version
from ostler.client.mqi.subscription_structures import (
    describe_request,
    describe_subscribed,
    request_options,
    subscribe_arguments,
)
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.frames import SUBSCRIBE, SUBSCRIPTION_REQUEST, MalformedFrame
from ostler.wire.object_frames import OpenArguments, OpenReply
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.replies import ReplyHead, decode_reply
from ostler.wire.subscribe_frames import SubscribeArguments, SubscribeReply, decode_subscribe_reply

Subscription = tuple[int, int, int, int]
"""The handles of the destination and of the subscription, completion and reason."""

_OPENED: dict[int, int] = {
    mq.MQSO_FAIL_IF_QUIESCING: mq.MQOO_FAIL_IF_QUIESCING,
    mq.MQSO_READ_AHEAD: mq.MQOO_READ_AHEAD,
    mq.MQSO_NO_READ_AHEAD: mq.MQOO_NO_READ_AHEAD,
}


def MQSUB(hconn: int, sd: bytearray, hobj: int) -> Subscription:
    """Subscribe. `sd` is updated; with MQSO_MANAGED the object handle is that of the managed queue."""
    try:
        remote = usable_remote(hconn)
        asked = subscribe_arguments(sd, hobj)
        if asked.options & mq.MQSO_MANAGED:
            asked.destination = 0
        provided = open_handle(remote, asked.destination) if asked.destination else None
        answer = _exchange(remote, asked, provided)
        if answer.completion == mq.MQCC_FAILED:
            raise refusal(answer)
        found = _decode_reply(remote, answer)
    except MQError as error:
        return hobj, mq.MQHO_UNUSABLE_HOBJ, *error_result(error)
    handle = _new_handles(remote, asked, found)
    if provided is not None:
        asked.destination = provided.number
    describe_subscribed(sd, found)
    return handle.destination or hobj, handle.number, answer.completion, answer.reason


def _exchange(remote: RemoteConnection, asked: SubscribeArguments, provided: RemoteHandle | None) -> ReplyHead:
    """Subscribe, again after each reconnection."""
    while True:
        generation = remote.generation
        try:
            remote.reconnect_if_broken()
            check_version(remote)
            if provided is not None:
                asked.destination = provided.hobj
            waiter = remote.conversation.exchange(SUBSCRIBE, asked.encode())
            return decode_reply(waiter.buffer, waiter.start, waiter.end)
        except LinkBroken as broken:
            remote.handle_broken_link(generation, broken)
            if asked.options & mq.MQSO_DURABLE and asked.options & mq.MQSO_CREATE:
                # The subscription may have been created before the link broke.
                asked.options = resubscribe_options(asked, True)


def _decode_reply(remote: RemoteConnection, answer: ReplyHead) -> SubscribeReply:
    try:
        return decode_subscribe_reply(answer.reader)
    except MalformedFrame as error:
        raise MQError(mq.MQRC_CONNECTION_BROKEN, remote.protocol_error(str(error)).text) from None


def _new_handles(remote: RemoteConnection, asked: SubscribeArguments, found: SubscribeReply) -> RemoteHandle:
    """Return the handle of a subscription. A managed queue gets a handle, too."""
    itself = OpenReply()
    itself.hobj = found.hsub
    itself.name = found.name
    handle = new_handle(remote, OpenArguments(mq.MQOT_TOPIC, asked.object_name, 0), itself)
    handle.subscribed = asked
    handle.is_durable = bool(found.options & mq.MQSO_DURABLE)
    if found.destination.hobj:
        queue = new_handle(remote, managed_arguments(asked, found), found.destination)
        queue.subscription = handle.number
        handle.destination = queue.number
    return handle


def managed_arguments(asked: SubscribeArguments, found: SubscribeReply) -> OpenArguments:
    """Return the arguments that open the managed queue of a subscription."""
    options = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_BROWSE | mq.MQOO_INQUIRE
    for given, opening in _OPENED.items():
        if asked.options & given:
            options |= opening
    return OpenArguments(mq.MQOT_Q, found.destination.name, options)


def resubscribe_options(asked: SubscribeArguments, is_durable: bool) -> int:
    """Return the options that create or resume a subscription after reconnection."""
    options = int(asked.options) & ~mq.MQSO_ALTER
    if not is_durable:
        return options & ~mq.MQSO_RESUME | mq.MQSO_CREATE
    options |= mq.MQSO_RESUME
    if options & mq.MQSO_CREATE:
        return options
    return options & ~mq.MQSO_NEW_PUBLICATIONS_ONLY


def restore_subscription(handle: RemoteHandle, found: SubscribeReply, handles: dict[int, RemoteHandle]) -> None:
    """Update the handles of a subscription after it was restored on a new conversation."""
    itself = OpenReply()
    itself.hobj = found.hsub
    itself.name = found.name
    update_handle(handle, itself)
    queue = handles.get(handle.destination)
    if queue is not None and found.destination.hobj:
        update_handle(queue, found.destination)
        queue.asked.name = found.destination.name


def MQSUBRQ(hconn: int, hsub: int, action: int, sro: bytearray | None) -> Result:
    """Request the retained publications of a subscription. `sro` returns their number."""
    try:
        remote = usable_remote(hconn)
        handle = open_handle(remote, hsub)
        answer = _request(remote, handle, action, request_options(sro))
        if answer.completion == mq.MQCC_FAILED:
            raise refusal(answer)
        try:
            count = answer.reader.count(0x7FFFFFFF)
            answer.reader.check_end()
        except MalformedFrame as error:
            raise MQError(mq.MQRC_CONNECTION_BROKEN, remote.protocol_error(str(error)).text) from None
    except MQError as error:
        return error_result(error)
    describe_request(sro, count)
    return answer.completion, answer.reason


def _request(remote: RemoteConnection, handle: RemoteHandle, action: int, options: int) -> ReplyHead:
    while True:
        generation = remote.generation
        try:
            check_version(remote)
            waiter = remote.conversation.exchange(SUBSCRIPTION_REQUEST, numbers_payload([handle.hobj, action, options]))
            return decode_reply(waiter.buffer, waiter.start, waiter.end)
        except LinkBroken as broken:
            remote.handle_broken_link(generation, broken)
