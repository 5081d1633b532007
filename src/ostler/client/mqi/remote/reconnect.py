"""Automatic reconnection: a connection whose link broke is made anew, with the same handles.

The thread whose verb found the link broken does it; others that use the connection meanwhile wait for it. Objects are
opened again as they were. A dynamic queue that went with its queue manager is made again under the same name. Durable
subscriptions are resumed; others are made again, and do not get what was published meanwhile. A unit of work is lost:
the next verb in it says so. Event handlers hear of the beginning, and of the end.
"""

from __future__ import annotations

import random
import threading
import time
from typing import Final

from ostler.client.link.backoff import STEPS, TIMEOUT_SECONDS, Backoff, parse_delays
from ostler.client.link.waiters import LinkBroken, ReplyWaiter
from ostler.client.locate.connect_parameters import Reconnect
from ostler.client.mqi.remote.connect import FINAL_REASONS, Made, RemoteState, refusal, take_over
from ostler.client.mqi.remote.connections import Recovery, RemoteConnection, RemoteHandle
from ostler.client.mqi.remote.objects import describe
from ostler.client.mqi.remote.topics import restored, resubscribe_options
from ostler.model.constants import (
    MQCC_FAILED,
    MQCC_OK,
    MQOT_Q,
    MQRC_CONNECTION_BROKEN,
    MQRC_NONE,
    MQRC_RECONNECT_FAILED,
    MQRC_RECONNECT_QMID_MISMATCH,
    MQRC_RECONNECT_TIMED_OUT,
    MQRC_RECONNECTED,
    MQRC_RECONNECTING,
    MQRC_SUB_ALREADY_EXISTS,
    MQRC_SUBSCRIPTION_IN_USE,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQSTAT_TYPE_RECONNECTION_ERROR,
)
from ostler.model.errors import MQError
from ostler.wire.frames import OPEN, SUBSCRIBE, MalformedFrame
from ostler.wire.object_frames import CREATED, TEMPORARY, OpenArguments, OpenReply, decode_open_reply
from ostler.wire.replies import ReplyHead, decode_reply
from ostler.wire.subscribe_frames import SubscribeArguments, SubscribeReply, decode_subscribe_reply

DELAYS_VARIABLE: Final = "OSTLER_RECONNECT_DELAYS"
TIMEOUT_VARIABLE: Final = "OSTLER_RECONNECT_TIMEOUT"


class Reconnector(Recovery):
    """Of one connection. `mode` is "yes", or "qmgr": only to the same queue manager."""

    def __init__(self, state: RemoteState, mode: Reconnect) -> None:
        self._state = state
        self._only_same = mode == "qmgr"
        self._turn = threading.Lock()
        self._owner = 0
        self._stopped = threading.Event()
        self._failure: tuple[int, str] = (MQRC_NONE, "")  # why the last one failed, and on which object
        self._is_busy = False
        environment = state.destination.environment
        delays = environment.get(DELAYS_VARIABLE, "")
        self._steps = parse_delays(delays) if delays else STEPS
        timeout = environment.get(TIMEOUT_VARIABLE, "")
        self._timeout_seconds = float(timeout) if timeout.isdecimal() else TIMEOUT_SECONDS

    @staticmethod
    def attach(state: RemoteState) -> None:
        """Have a connection made anew when its link breaks, if the program or its channel's definition says so."""
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
        if type == MQSTAT_TYPE_RECONNECTION_ERROR:
            return (MQCC_FAILED if reason else MQCC_OK), reason, name
        return (MQCC_FAILED, MQRC_RECONNECTING, "") if self._is_busy else (MQCC_OK, MQRC_NONE, "")

    def stop(self) -> None:
        """The program leaves: do not try any longer."""
        self._stopped.set()

    def recover(self, remote: RemoteConnection, generation: int, broken: LinkBroken) -> None:
        if self._owner == threading.get_ident():
            raise MQError(MQRC_RECONNECTING, "The event handler is told of it; the connection is not there yet.")
        with self._turn:
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
        self._tell(MQRC_RECONNECTING)
        try:
            remote.conversation.close()
            self._try_until_it_works(remote, broken)
        except MQError as error:
            remote.broken_text = error.detail
            remote.broken = error.reason
            self._tell(MQRC_RECONNECT_FAILED)
            raise
        self._failure = (MQRC_NONE, "")
        self._tell(MQRC_RECONNECTED)

    def _try_until_it_works(self, remote: RemoteConnection, broken: LinkBroken) -> None:
        began = time.monotonic()
        backoff = Backoff(random.Random(), self._steps, self._timeout_seconds)
        last = broken.text
        while not self._stopped.is_set():
            try:
                self._try_once(remote)
                return
            except LinkBroken as again:
                last = again.text
            except MQError as error:
                if error.reason in FINAL_REASONS or error.reason in (
                    MQRC_RECONNECT_FAILED,
                    MQRC_RECONNECT_QMID_MISMATCH,
                ):
                    raise
                last = error.detail
            delay = backoff.next_delay(time.monotonic() - began)
            if delay is None:
                raise MQError(MQRC_RECONNECT_TIMED_OUT, f"The connection could not be made anew: {last}")
            self._stopped.wait(delay)
        raise MQError(MQRC_CONNECTION_BROKEN, "The program has left.")

    def _try_once(self, remote: RemoteConnection) -> None:
        made = self._state.destination.connect()
        try:
            if self._only_same and made.told.queue_manager != remote.queue_manager:
                raise MQError(
                    MQRC_RECONNECT_QMID_MISMATCH,
                    f"{made.told.queue_manager} answered; the connection is to {remote.queue_manager} only.",
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
        # Other threads may use the connection as soon as its new conversation is there, so it comes last: the handles
        # mean something else on it, and what was begun on the old one must not be taken for its own.
        for handle, opened in found:
            describe(handle, opened)
        for handle, subscription in subscribed:
            restored(handle, subscription, handles)
        remote.generation += 1
        take_over(remote, made)

    def _open_again(self, made: Made, handle: RemoteHandle) -> OpenReply:
        """Open an object as it was. MQRC_RECONNECT_FAILED when that is not possible any more."""
        try:
            if not handle.flags & CREATED:
                return _opened(made, handle.asked)
            if not handle.flags & TEMPORARY:
                try:
                    return _opened(made, _renamed(handle.asked, handle.name, ""))
                except MQError as error:
                    if error.reason != MQRC_UNKNOWN_OBJECT_NAME:
                        raise
            # The dynamic queue is not there: it is made of its model, under the name that others know.
            return _opened(made, _renamed(handle.asked, handle.asked.name, handle.name))
        except MQError as error:
            if error.reason == MQRC_CONNECTION_BROKEN:
                raise
            self._failure = (error.reason, handle.name)
            text = f"{handle.name} cannot be opened again (reason {error.reason}). {error.detail}"
            raise MQError(MQRC_RECONNECT_FAILED, text) from None

    def _subscribe_again(
        self, made: Made, handle: RemoteHandle, asked: SubscribeArguments, numbers: dict[int, int]
    ) -> SubscribeReply:
        """Subscribe as it was: a subscription that outlives its connections is resumed, another one made again."""
        was = int(asked.options), int(asked.destination)
        asked.options = resubscribe_options(asked, handle.is_durable)
        asked.destination = numbers.get(was[1], 0)
        try:
            waiter = made.conversation.exchange(SUBSCRIBE, asked.encode())
            answer = _answer(made, waiter)
            try:
                return decode_subscribe_reply(answer.reader)
            except MalformedFrame as error:
                raise _nonsense(made, "SUBSCRIBE", error) from None
        except MQError as error:
            if error.reason in (MQRC_CONNECTION_BROKEN, MQRC_SUBSCRIPTION_IN_USE, MQRC_SUB_ALREADY_EXISTS):
                # The queue manager may not have noticed yet that the old link is gone.
                raise
            self._failure = (error.reason, handle.name[:48])
            text = f"The subscription cannot be made again (reason {error.reason}). {error.detail}"
            raise MQError(MQRC_RECONNECT_FAILED, text) from None
        finally:
            asked.options, asked.destination = was

    def _tell(self, reason: int) -> None:
        consuming = self._state.consuming
        if consuming is not None:
            consuming.event(reason)


def _renamed(asked: OpenArguments, name: str, dynamic_name: str) -> OpenArguments:
    again = OpenArguments(MQOT_Q, name, asked.options)
    again.manager_name = asked.manager_name
    again.dynamic_name = dynamic_name
    again.alternate_user = asked.alternate_user
    again.selection = asked.selection
    return again


def _opened(made: Made, asked: OpenArguments) -> OpenReply:
    waiter = made.conversation.exchange(OPEN, asked.encode())
    try:
        return decode_open_reply(_answer(made, waiter).reader, made.conversation.link.version)
    except MalformedFrame as error:
        raise _nonsense(made, "OPEN", error) from None


def _answer(made: Made, waiter: ReplyWaiter) -> ReplyHead:
    try:
        answer = decode_reply(waiter.buffer, waiter.start, waiter.end)
    except MalformedFrame as error:
        raise _nonsense(made, "a request", error) from None
    if answer.completion == MQCC_FAILED:
        raise refusal(answer)
    return answer


def _nonsense(made: Made, what: str, error: MalformedFrame) -> LinkBroken:
    made.conversation.link.fail_link(MQRC_CONNECTION_BROKEN, f"An answer to {what} is nonsense: {error}.")
    return LinkBroken(MQRC_CONNECTION_BROKEN, str(error))
