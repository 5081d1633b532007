"""MQSUB and MQSUBRQ over a link."""

from __future__ import annotations

from ostler.client.link.waiters import LinkBroken
from ostler.client.mqi.put_get import Result, failed
from ostler.client.mqi.remote.connect import refusal
from ostler.client.mqi.remote.connections import RemoteConnection, RemoteHandle, usable_remote
from ostler.client.mqi.remote.objects import describe, new_handle, open_handle
from ostler.client.mqi.remote.put_get import check_version
from ostler.client.mqi.subscription_structures import (
    describe_request,
    describe_subscribed,
    request_options,
    subscribe_arguments,
)
from ostler.model.constants import (
    MQCC_FAILED,
    MQHO_UNUSABLE_HOBJ,
    MQOO_BROWSE,
    MQOO_FAIL_IF_QUIESCING,
    MQOO_INPUT_AS_Q_DEF,
    MQOO_INQUIRE,
    MQOO_NO_READ_AHEAD,
    MQOO_READ_AHEAD,
    MQOT_Q,
    MQOT_TOPIC,
    MQRC_CONNECTION_BROKEN,
    MQSO_ALTER,
    MQSO_CREATE,
    MQSO_DURABLE,
    MQSO_FAIL_IF_QUIESCING,
    MQSO_MANAGED,
    MQSO_NEW_PUBLICATIONS_ONLY,
    MQSO_NO_READ_AHEAD,
    MQSO_READ_AHEAD,
    MQSO_RESUME,
)
from ostler.model.errors import MQError
from ostler.wire.frames import SUBSCRIBE, SUBSCRIPTION_REQUEST, MalformedFrame
from ostler.wire.object_frames import OpenArguments, OpenReply
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.replies import ReplyHead, decode_reply
from ostler.wire.subscribe_frames import SubscribeArguments, SubscribeReply, decode_subscribe_reply

Subscription = tuple[int, int, int, int]
"""The handles of the destination and of the subscription, completion and reason."""

_OPENED: dict[int, int] = {
    MQSO_FAIL_IF_QUIESCING: MQOO_FAIL_IF_QUIESCING,
    MQSO_READ_AHEAD: MQOO_READ_AHEAD,
    MQSO_NO_READ_AHEAD: MQOO_NO_READ_AHEAD,
}


def MQSUB(hconn: int, sd: bytearray, hobj: int) -> Subscription:
    """Subscribe. `sd` comes back filled in; with MQSO_MANAGED the object handle is that of the managed queue."""
    try:
        remote = usable_remote(hconn)
        asked = subscribe_arguments(sd, hobj)
        if asked.options & MQSO_MANAGED:
            asked.destination = 0
        provided = open_handle(remote, asked.destination) if asked.destination else None
        answer = _exchange(remote, asked, provided)
        if answer.completion == MQCC_FAILED:
            raise refusal(answer)
        found = _decode_text(remote, answer)
    except MQError as error:
        return hobj, MQHO_UNUSABLE_HOBJ, *failed(error)
    handle = _remember(remote, asked, found)
    if provided is not None:
        asked.destination = provided.number
    describe_subscribed(sd, found)
    return handle.destination or hobj, handle.number, answer.completion, answer.reason


def _exchange(remote: RemoteConnection, asked: SubscribeArguments, provided: RemoteHandle | None) -> ReplyHead:
    """Have it done, over a new link if the old one broke."""
    while True:
        generation = remote.generation
        try:
            remote.revive()
            check_version(remote)
            if provided is not None:
                asked.destination = provided.hobj
            waiter = remote.conversation.exchange(SUBSCRIBE, asked.encode())
            return decode_reply(waiter.buffer, waiter.start, waiter.end)
        except LinkBroken as broken:
            remote.lost(generation, broken)
            if asked.options & MQSO_DURABLE and asked.options & MQSO_CREATE:
                # It may have been made before the link broke.
                asked.options = resubscribe_options(asked, True)


def _decode_text(remote: RemoteConnection, answer: ReplyHead) -> SubscribeReply:
    try:
        return decode_subscribe_reply(answer.reader)
    except MalformedFrame as error:
        raise MQError(MQRC_CONNECTION_BROKEN, remote.nonsense(str(error)).text) from None


def _remember(remote: RemoteConnection, asked: SubscribeArguments, found: SubscribeReply) -> RemoteHandle:
    """Handles for a subscription and, where that is managed, for its queue."""
    itself = OpenReply()
    itself.hobj = found.hsub
    itself.name = found.name
    handle = new_handle(remote, OpenArguments(MQOT_TOPIC, asked.object_name, 0), itself)
    handle.subscribed = asked
    handle.is_durable = bool(found.options & MQSO_DURABLE)
    if found.destination.hobj:
        queue = new_handle(remote, managed_arguments(asked, found), found.destination)
        queue.subscription = handle.number
        handle.destination = queue.number
    return handle


def managed_arguments(asked: SubscribeArguments, found: SubscribeReply) -> OpenArguments:
    """What would open the managed queue of a subscription as it is open."""
    options = MQOO_INPUT_AS_Q_DEF | MQOO_BROWSE | MQOO_INQUIRE
    for given, opening in _OPENED.items():
        if asked.options & given:
            options |= opening
    return OpenArguments(MQOT_Q, found.destination.name, options)


def resubscribe_options(asked: SubscribeArguments, is_durable: bool) -> int:
    """The options to have a subscription made or resumed once more, on a connection that was made anew."""
    options = int(asked.options) & ~MQSO_ALTER
    if not is_durable:
        return options & ~MQSO_RESUME | MQSO_CREATE
    options |= MQSO_RESUME
    if options & MQSO_CREATE:
        return options
    return options & ~MQSO_NEW_PUBLICATIONS_ONLY


def restored(handle: RemoteHandle, found: SubscribeReply, handles: dict[int, RemoteHandle]) -> None:
    """A subscription is there again, on a new conversation: its handles mean what it says."""
    itself = OpenReply()
    itself.hobj = found.hsub
    itself.name = found.name
    describe(handle, itself)
    queue = handles.get(handle.destination)
    if queue is not None and found.destination.hobj:
        describe(queue, found.destination)
        queue.asked.name = found.destination.name


def MQSUBRQ(hconn: int, hsub: int, action: int, sro: bytearray | None) -> Result:
    """Have the retained publications of a subscription sent. How many there were comes back in `sro`."""
    try:
        remote = usable_remote(hconn)
        handle = open_handle(remote, hsub)
        answer = _request(remote, handle, action, request_options(sro))
        if answer.completion == MQCC_FAILED:
            raise refusal(answer)
        try:
            count = answer.reader.count(0x7FFFFFFF)
            answer.reader.check_end()
        except MalformedFrame as error:
            raise MQError(MQRC_CONNECTION_BROKEN, remote.nonsense(str(error)).text) from None
    except MQError as error:
        return failed(error)
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
            remote.lost(generation, broken)
