"""Automatic reconnection of the raw verbs: a connection whose link broke is restored with the same handles.

The thread whose verb found the link broken reconnects; other threads that use the connection wait for it. Objects are
reopened. A dynamic queue that ended with its queue manager is created again under the same name. Durable subscriptions
are resumed; others are created again, without the publications of the meantime. The unit of work is backed out, which
the next verb in it reports. The event handler is called at the beginning and at the end.
"""

from __future__ import annotations

import random
import threading
import time

from ostler.client.link.backoff import Backoff, settings_of
from ostler.client.link.waiters import LinkBroken, ReplyWaiter
from ostler.client.locate.connect_parameters import Reconnect
from ostler.client.mqi.remote.connect import (
    FINAL_REASONS,
    ConnectedConversation,
    RemoteState,
    refusal,
    use_conversation,
)
from ostler.client.mqi.remote.connections import Recovery, RemoteConnection, RemoteHandle
from ostler.client.mqi.remote.objects import update_handle
from ostler.client.mqi.remote.topics import restore_subscription, resubscribe_options
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.frames import OPEN, SUBSCRIBE, MalformedFrame
from ostler.wire.object_frames import CREATED, TEMPORARY, OpenArguments, OpenReply, decode_open_reply
from ostler.wire.replies import ReplyHead, decode_reply
from ostler.wire.subscribe_frames import SubscribeArguments, SubscribeReply, decode_subscribe_reply


class Reconnector(Recovery):
    """The reconnection of one connection. `mode` is "yes", or "qmgr": only to the same queue manager."""

    def __init__(self, state: RemoteState, mode: Reconnect) -> None:
        self._state = state
        self._only_same = mode == "qmgr"
        self._lock = threading.Lock()
        self._owner = 0
        self._stopped = threading.Event()
        self._failure: tuple[int, str] = (mq.MQRC_NONE, "")  # reason and object of the last failed attempt
        self._is_busy = False
        self._steps, self._timeout_seconds = settings_of(state.destination.environment)

    @staticmethod
    def attach(state: RemoteState) -> None:
        """Enable reconnection if the program or the channel definition asks for it."""
        if state.destination.directory is not None:
            return  # as in MQ, local bindings do not reconnect
        wanted = state.destination.parameters.reconnect
        mode = state.default_reconnect if wanted == "no" or state.default_reconnect == "disabled" else wanted
        if mode in ("yes", "qmgr"):
            state.remote.recovery = Reconnector(state, mode)

    def only_same_manager(self) -> bool:
        return self._only_same

    def status(self, type: int) -> tuple[int, int, str]:
        reason, name = self._failure
        if type == mq.MQSTAT_TYPE_RECONNECTION_ERROR:
            return (mq.MQCC_FAILED if reason else mq.MQCC_OK), reason, name
        return (mq.MQCC_FAILED, mq.MQRC_RECONNECTING, "") if self._is_busy else (mq.MQCC_OK, mq.MQRC_NONE, "")

    def stop(self) -> None:
        """End all attempts: the program disconnects."""
        self._stopped.set()

    def recover(self, remote: RemoteConnection, generation: int, broken: LinkBroken) -> None:
        if self._owner == threading.get_ident():
            raise MQError(
                mq.MQRC_RECONNECTING, "The event handler runs during reconnection; the connection is not usable yet."
            )
        with self._lock:
            if remote.broken:
                raise MQError(remote.broken, remote.broken_text)
            if remote.generation != generation or not remote.conversation.link.broken:
                return
            self._owner = threading.get_ident()
            self._is_busy = True
            try:
                self._recover(remote, broken)
            finally:
                self._owner = 0
                self._is_busy = False

    def _recover(self, remote: RemoteConnection, broken: LinkBroken) -> None:
        if remote.in_unit:
            remote.in_unit = False
            remote.unit_lost = True
        self._report(mq.MQRC_RECONNECTING)
        try:
            remote.conversation.close()
            self._reconnect_with_backoff(remote, broken)
        except MQError as error:
            remote.broken_text = error.detail
            remote.broken = error.reason
            self._report(mq.MQRC_RECONNECT_FAILED)
            raise
        self._failure = (mq.MQRC_NONE, "")
        self._report(mq.MQRC_RECONNECTED)

    def _reconnect_with_backoff(self, remote: RemoteConnection, broken: LinkBroken) -> None:
        began = time.monotonic()
        backoff = Backoff(random.Random(), self._steps, self._timeout_seconds)
        last = broken.text
        while not self._stopped.is_set():
            try:
                self._reconnect_once(remote)
                return
            except LinkBroken as again:
                last = again.text
            except MQError as error:
                if error.reason in FINAL_REASONS or error.reason in (
                    mq.MQRC_RECONNECT_FAILED,
                    mq.MQRC_RECONNECT_QMID_MISMATCH,
                ):
                    raise
                last = error.detail
            delay = backoff.next_delay(time.monotonic() - began)
            if delay is None:
                raise MQError(mq.MQRC_RECONNECT_TIMED_OUT, f"Reconnection timed out: {last}")
            self._stopped.wait(delay)
        raise MQError(mq.MQRC_CONNECTION_BROKEN, "The program has disconnected.")

    def _reconnect_once(self, remote: RemoteConnection) -> None:
        made = self._state.destination.connect()
        try:
            if self._only_same and made.reply.queue_manager != remote.queue_manager:
                raise MQError(
                    mq.MQRC_RECONNECT_QMID_MISMATCH,
                    f"{made.reply.queue_manager} answered; the connection is to {remote.queue_manager} only.",
                )
            handles = dict(remote.handles)
            found = [
                (handle, self._open_again(made, handle))
                for handle in handles.values()
                if handle.subscribed is None and handle.subscription not in handles
            ]
            numbers = {handle.number: int(opened.hobj) for handle, opened in found}
            subscribed = [
                (handle, self._subscribe_again(made, handle, handle.subscribed, numbers))
                for handle in handles.values()
                if handle.subscribed is not None
            ]
        except BaseException:
            made.conversation.abandon()
            raise
        # The new conversation is set last: other threads use the connection from then on. Its handles must be updated
        # before, and requests of the old generation must not be taken for its own.
        for handle, opened in found:
            update_handle(handle, opened)
        for handle, subscription in subscribed:
            restore_subscription(handle, subscription, handles)
        remote.generation += 1
        use_conversation(remote, made)

    def _open_again(self, made: ConnectedConversation, handle: RemoteHandle) -> OpenReply:
        """Reopen an object. Raises MQRC_RECONNECT_FAILED when that fails."""
        try:
            if not handle.flags & CREATED:
                return _open(made, handle.asked)
            if not handle.flags & TEMPORARY:
                try:
                    return _open(made, _renamed(handle.asked, handle.name, ""))
                except MQError as error:
                    if error.reason != mq.MQRC_UNKNOWN_OBJECT_NAME:
                        raise
            # The dynamic queue is gone: it is created from its model again, under the same name.
            return _open(made, _renamed(handle.asked, handle.asked.name, handle.name))
        except MQError as error:
            if error.reason == mq.MQRC_CONNECTION_BROKEN:
                raise
            self._failure = (error.reason, handle.name)
            text = f"{handle.name} cannot be reopened (reason {error.reason}). {error.detail}"
            raise MQError(mq.MQRC_RECONNECT_FAILED, text) from None

    def _subscribe_again(
        self, made: ConnectedConversation, handle: RemoteHandle, asked: SubscribeArguments, numbers: dict[int, int]
    ) -> SubscribeReply:
        """Subscribe again: resume a durable subscription, create another one."""
        was = int(asked.options), int(asked.destination)
        asked.options = resubscribe_options(asked, handle.is_durable)
        asked.destination = numbers.get(was[1], 0)
        try:
            waiter = made.conversation.exchange(SUBSCRIBE, asked.encode())
            answer = _check_reply(made, waiter)
            try:
                return decode_subscribe_reply(answer.reader)
            except MalformedFrame as error:
                raise _protocol_error(made, "SUBSCRIBE", error) from None
        except MQError as error:
            if error.reason in (mq.MQRC_CONNECTION_BROKEN, mq.MQRC_SUBSCRIPTION_IN_USE, mq.MQRC_SUB_ALREADY_EXISTS):
                # The queue manager may not have noticed yet that the old link is broken.
                raise
            self._failure = (error.reason, handle.name[:48])
            text = f"The subscription cannot be restored (reason {error.reason}). {error.detail}"
            raise MQError(mq.MQRC_RECONNECT_FAILED, text) from None
        finally:
            asked.options, asked.destination = was

    def _report(self, reason: int) -> None:
        callbacks = self._state.callbacks
        if callbacks is not None:
            callbacks.report_event(reason)


def _renamed(asked: OpenArguments, name: str, dynamic_name: str) -> OpenArguments:
    again = OpenArguments(mq.MQOT_Q, name, asked.options)
    again.manager_name = asked.manager_name
    again.dynamic_name = dynamic_name
    again.alternate_user = asked.alternate_user
    again.selection = asked.selection
    return again


def _open(made: ConnectedConversation, asked: OpenArguments) -> OpenReply:
    waiter = made.conversation.exchange(OPEN, asked.encode())
    try:
        return decode_open_reply(_check_reply(made, waiter).reader, made.conversation.link.version)
    except MalformedFrame as error:
        raise _protocol_error(made, "OPEN", error) from None


def _check_reply(made: ConnectedConversation, waiter: ReplyWaiter) -> ReplyHead:
    try:
        answer = decode_reply(waiter.buffer, waiter.start, waiter.end)
    except MalformedFrame as error:
        raise _protocol_error(made, "a request", error) from None
    if answer.completion == mq.MQCC_FAILED:
        raise refusal(answer)
    return answer


def _protocol_error(made: ConnectedConversation, what: str, error: MalformedFrame) -> LinkBroken:
    made.conversation.link.fail_link(mq.MQRC_CONNECTION_BROKEN, f"The reply to {what} is malformed: {error}.")
    return LinkBroken(mq.MQRC_CONNECTION_BROKEN, str(error))
