"""Connection and disconnection of the raw verbs over links: local and client bindings; MQDISC, MQBEGIN, MQSTAT."""

from __future__ import annotations

import getpass
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from ostler.client.link.blocking_link import ClientConversation
from ostler.client.link.dial import (
    CONNECT_SECONDS,
    NewConversation,
    ask_hello,
    client_conversation,
    local_conversation,
)
from ostler.client.link.succession import Address, Succession, silent_last
from ostler.client.link.waiters import LinkBroken, ReplyWaiter
from ostler.client.locate.connect_parameters import ConnectParameters, Endpoint, Reconnect
from ostler.client.locate.endpoints import endpoints, tls_settings
from ostler.client.mqi import message_handles
from ostler.client.mqi.connect import describe_topic
from ostler.client.mqi.connection_state import ConnectionCallbacks
from ostler.client.mqi.put_get import Result, completion, error_result
from ostler.client.mqi.remote.connections import (
    RemoteConnection,
    register,
    remote_connection,
    unregister,
    usable_remote,
)
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQBO, MQSTS
from ostler.server.config.directories import QueueManagerDirectory
from ostler.wire.connect_frames import (
    TAG_OPTIONS,
    TAG_VERSION,
    ConnectArguments,
    ConnectReply,
    decode_connect_reply,
)
from ostler.wire.frames import BEGIN, CONNECT, DISCONNECT, STATUS, MalformedFrame
from ostler.wire.object_frames import decode_status_reply
from ostler.wire.payload_codec import numbers_payload
from ostler.wire.replies import ReplyHead, decode_reply

ALLOW_PLAIN_PASSWORD: Final = "OSTLER_ALLOW_PLAIN_PASSWORD"
_APPLICATION_TYPE: Final = 6  # MQAT_UNIX
# Errors that the next endpoint of a list would return, too.
FINAL_REASONS: Final = frozenset(
    {
        mq.MQRC_NOT_AUTHORIZED,
        mq.MQRC_SECURITY_ERROR,
        mq.MQRC_PASSWORD_PROTECTION_ERROR,
        mq.MQRC_KEY_REPOSITORY_ERROR,
        mq.MQRC_UNSUPPORTED_CIPHER_SUITE,
    }
)


class ConnectedConversation(NamedTuple):
    """A connected conversation, and the default reconnection of its channel definition."""

    conversation: ClientConversation
    reply: ConnectReply
    default_reconnect: Reconnect


@dataclass(frozen=True)
class Destination:
    """The destination of a connection, for the first connection and for each reconnection.

    `directory` is set for the local binding. The environment is read each time, as an address in it may have changed.
    """

    parameters: ConnectParameters
    environment: Mapping[str, str]
    directory: QueueManagerDirectory | None = None

    def connect(self) -> ConnectedConversation:
        """Connect to the first endpoint that accepts. Raises the MQError of the last one when none does."""
        if self.directory is not None:
            reach = partial(local_conversation, self.directory, self._shares)
            name = self.parameters.queue_manager.strip() or self.directory.name  # it may be that of the group
            return ConnectedConversation(*self._join(reach, name), "no")
        refused: MQError | None = None
        found = endpoints(self.parameters, self.environment)
        for endpoint in silent_last(found, lambda each: each):
            try:
                made = self._connect_to(endpoint)
                if len(found) > 1:
                    watched = succession_of(self.parameters, self.environment, endpoint, found)
                    made.conversation.link.watch_succession(watched)
                return made
            except MQError as error:
                refused = error
                if error.reason in FINAL_REASONS:
                    break
        assert refused is not None, "the client binding has addresses, or says that it has none"
        raise refused

    @property
    def _shares(self) -> bool:
        return self.parameters.sharing_conversations > 1

    def _connect_to(self, endpoint: Endpoint) -> ConnectedConversation:
        tls = tls_settings(self.parameters, endpoint, self.environment)
        is_private = tls is not None or endpoint.is_this_machine
        if self.parameters.password and not is_private and self.environment.get(ALLOW_PLAIN_PASSWORD) != "1":
            raise MQError(
                mq.MQRC_PASSWORD_PROTECTION_ERROR,
                f"{endpoint} is not secured by TLS, and the password would cross the network for all to read. Use a "
                f"channel with a CipherSpec, or set {ALLOW_PLAIN_PASSWORD}=1 where you trust the network.",
            )
        reach = partial(client_conversation, endpoint, tls, self._shares)
        return ConnectedConversation(*self._join(reach, endpoint.queue_manager), endpoint.reconnect)

    def _join(
        self, reach: Callable[[], NewConversation], queue_manager: str
    ) -> tuple[ClientConversation, ConnectReply]:
        """Connect on a shared link, or else on a new one.

        A shared link can be broken without being noticed yet; then a new link is tried.
        """
        while True:
            conversation, is_shared = reach()
            try:
                return conversation, self._connect_conversation(conversation, queue_manager)
            except LinkBroken as broken:
                if not is_shared:
                    raise MQError(broken.reason, broken.text) from None

    def _connect_conversation(self, conversation: ClientConversation, queue_manager: str) -> ConnectReply:
        """Send CONNECT with user, application and queue manager name. Raises LinkBroken."""
        asked = ConnectArguments()
        asked.options = self.parameters.accounting | self.parameters.tag_options
        asked.tag = self.parameters.connection_tag
        asked.application_type = _APPLICATION_TYPE
        asked.application = self.parameters.application or _application_name()
        asked.queue_manager = queue_manager
        asked.user = self.parameters.user or _user_name()
        asked.password = self.parameters.password or ""
        try:
            check_tag_version(int(conversation.link.version), asked)
            return _exchange_connect(conversation, asked)
        except BaseException:
            conversation.abandon()
            raise


def check_tag_version(version: int, asked: ConnectArguments) -> None:
    """Raise MQError when a queue manager with this version of the protocol does not know connection tags."""
    if asked.options & TAG_OPTIONS and version < TAG_VERSION:
        raise MQError(mq.MQRC_OPTIONS_ERROR, "The queue manager is too old for connection tags.")


def succession_of(
    parameters: ConnectParameters, environment: Mapping[str, str], current: Endpoint, found: Sequence[Endpoint]
) -> Succession:
    """Return the search for a later leader at the other endpoints."""
    others = [Address(each, tls_settings(parameters, each, environment)) for each in found if each != current]
    return Succession(current, others, ask_hello)


def _exchange_connect(conversation: ClientConversation, asked: ConnectArguments) -> ConnectReply:
    link = conversation.link
    try:
        waiter = conversation.send_request(CONNECT, asked.encode())
        if not link.wait(waiter, time.monotonic() + CONNECT_SECONDS):
            raise MQError(mq.MQRC_CONNECTION_BROKEN, f"{link.peer} does not answer.")
        if waiter.broken:
            raise LinkBroken(link.broken, link.broken_text)
        answer = decode_reply(waiter.buffer, waiter.start, waiter.end)
        if answer.completion == mq.MQCC_FAILED:
            raise refusal(answer)
        return decode_connect_reply(answer.reader)
    except MalformedFrame as error:
        text = f"{link.peer} violated the protocol: {error}."
        link.fail_link(mq.MQRC_CONNECTION_BROKEN, text)
        raise MQError(mq.MQRC_CONNECTION_BROKEN, text) from None


class RemoteState:
    """The state of a connection handle beside the connection: its owner, its callbacks, its destination."""

    def __init__(self, remote: RemoteConnection, destination: Destination, thread: threading.Thread | None) -> None:
        self.remote = remote
        self.destination = destination
        # A handle that is not shared belongs to the thread that made it, and ends with it.
        self.thread = thread
        self.callbacks: ConnectionCallbacks | None = None
        self.default_reconnect: Reconnect = "no"  # of the channel definition


_states: Final[dict[int, RemoteState]] = {}
_lock: Final = threading.Lock()


def connect_remote(destination: Destination) -> RemoteState:
    """Connect and assign a handle. Raises MQError when the connection fails."""
    _disconnect_ended_threads()
    made = destination.connect()
    remote = register(made.conversation)
    use_conversation(remote, made)
    thread = None if destination.parameters.is_shared else threading.current_thread()
    state = RemoteState(remote, destination, thread)
    state.default_reconnect = made.default_reconnect
    with _lock:
        _states[remote.hconn] = state
    return state


def use_conversation(remote: RemoteConnection, made: ConnectedConversation) -> None:
    """Use a new conversation for the connection."""
    remote.queue_manager = made.reply.queue_manager
    remote.connection_id = made.reply.connection_id
    remote.handles_max = made.reply.handles_max
    remote.user = made.reply.user
    remote.conversation = made.conversation


def remote_state(hconn: int) -> RemoteState:
    """Return the state of a connection handle. Raises MQError when the handle is unknown."""
    remote_connection(hconn)
    state = _states.get(hconn)
    if state is None:
        raise MQError(mq.MQRC_HCONN_ERROR)
    return state


def _forget(state: RemoteState) -> None:
    with _lock:
        _states.pop(state.remote.hconn, None)
    unregister(state.remote)


def _disconnect_ended_threads() -> None:
    """Disconnect unshared handles whose threads have ended. Their units of work are backed out."""
    with _lock:
        left = [each for each in _states.values() if each.thread is not None and not each.thread.is_alive()]
    for state in left:
        _forget(state)
        _disconnect(state.remote, commits=False)


def _application_name() -> str:
    return Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""


# -- requests ----------------------------------------------------------------------------------------------------------


def refusal(answer: ReplyHead) -> MQError:
    """Return the exception for a failure reply."""
    text = answer.reader.rest().decode("utf-8", "replace")
    return MQError(answer.reason, text, answer.completion)


def exchange(remote: RemoteConnection, kind: int, payload: bytes) -> ReplyWaiter:
    """Send a request and wait for its reply. Raises LinkBroken."""
    return remote.conversation.exchange(kind, payload)


def request(remote: RemoteConnection, kind: int, payload: bytes) -> ReplyHead:
    """Send a repeatable request, again after each reconnection. Raises MQError when reconnection fails."""
    while True:
        generation = remote.generation
        try:
            waiter = exchange(remote, kind, payload)
            return decode_reply(waiter.buffer, waiter.start, waiter.end)
        except LinkBroken as broken:
            remote.handle_broken_link(generation, broken)


# -- verbs -------------------------------------------------------------------------------------------------------------


def MQDISC(hconn: int) -> tuple[int, int, int]:
    """Disconnect: commit the unit of work and close all handles. Returns the unusable handle.

    Inside a callback of the connection, the disconnection is done when the callback returns.
    """
    try:
        state = remote_state(hconn)
        if state.callbacks is not None and not state.callbacks.disconnect(lambda: _finish_disconnect(state)):
            return mq.MQHC_UNUSABLE_HCONN, mq.MQCC_OK, mq.MQRC_NONE
        return mq.MQHC_UNUSABLE_HCONN, *_finish_disconnect(state)
    except MQError as error:
        return hconn, *error_result(error)


def _finish_disconnect(state: RemoteState) -> Result:
    """Release the handle, also that of a broken connection, and disconnect."""
    remote = state.remote
    _forget(state)
    if remote.recovery is not None:
        remote.recovery.stop()
    message_handles.delete_all(remote.message_handles)
    if remote.broken:
        remote.conversation.close()
        return mq.MQCC_FAILED, remote.broken
    reason = _disconnect(remote, commits=True)
    if not reason and remote.unit_lost:
        reason = mq.MQRC_BACKED_OUT
    return completion(reason), reason


def _disconnect(remote: RemoteConnection, commits: bool) -> int:
    """Send DISCONNECT and leave the link. Returns 0 or the reason."""
    conversation = remote.conversation
    try:
        waiter = exchange(remote, DISCONNECT, numbers_payload([1 if commits else 0]))
        reason = decode_reply(waiter.buffer, waiter.start, waiter.end).reason
    except LinkBroken:
        reason = mq.MQRC_CONNECTION_BROKEN
    except BaseException:
        # The request may not have been sent.
        remote.broken = mq.MQRC_CONNECTION_BROKEN
        conversation.abandon()
        raise
    remote.broken = mq.MQRC_CONNECTION_BROKEN
    conversation.close()
    return reason


def MQBEGIN(hconn: int, bo: bytearray | None) -> Result:
    """Begin a unit of work. There are no other resource managers, so success is MQRC_NO_EXTERNAL_PARTICIPANTS."""
    try:
        remote = usable_remote(hconn)
        if remote_state(hconn).thread is None:
            raise MQError(mq.MQRC_HCONN_ERROR, "MQBEGIN needs a connection handle that is not shared.")
        if bo is not None:
            MQBO.validate_header(bo)
            if MQBO.read_int(bo, "Options"):
                raise MQError(mq.MQRC_OPTIONS_ERROR, "MQBO has no options.")
        answer = request(remote, BEGIN, b"")
        if answer.completion != mq.MQCC_FAILED:
            remote.in_unit = True
        return answer.completion, answer.reason
    except MQError as error:
        return error_result(error)


def MQSTAT(hconn: int, type: int, sts: bytearray) -> Result:
    """Return the status of asynchronous puts since the last MQSTAT, or of the last reconnection."""
    try:
        if type in (mq.MQSTAT_TYPE_RECONNECTION, mq.MQSTAT_TYPE_RECONNECTION_ERROR):
            return _reconnection_status(remote_connection(hconn), type, sts)
        remote = usable_remote(hconn)
        if type != mq.MQSTAT_TYPE_ASYNC_ERROR:
            raise MQError(mq.MQRC_STAT_TYPE_ERROR, f"{type} is not a status type.")
        MQSTS.validate_header(sts)
        answer = request(remote, STATUS, numbers_payload([type]))
        if answer.completion == mq.MQCC_FAILED:
            raise refusal(answer)
        try:
            status = decode_status_reply(answer.reader, remote.conversation.link.version)
        except MalformedFrame as error:
            raise MQError(mq.MQRC_CONNECTION_BROKEN, remote.protocol_error(str(error)).text) from None
    except MQError as error:
        return error_result(error)
    manager = remote.queue_manager if status.object_name else ""
    for field, value in (
        ("CompCode", status.completion),
        ("Reason", status.reason),
        ("PutSuccessCount", status.succeeded),
        ("PutWarningCount", status.warned),
        ("PutFailureCount", status.failed),
        ("ObjectType", status.object_type),
        ("ObjectName", status.object_name),
        ("ObjectQMgrName", manager),
        ("ResolvedObjectName", status.object_name),
        ("ResolvedQMgrName", manager),
    ):
        MQSTS.patch(sts, field, value)
    describe_topic(sts, status.object_string)
    return mq.MQCC_OK, mq.MQRC_NONE


def _reconnection_status(remote: RemoteConnection, type: int, sts: bytearray) -> Result:
    recovery = remote.recovery
    MQSTS.validate_header(sts)
    code, reason, name = (mq.MQCC_OK, mq.MQRC_NONE, "") if recovery is None else recovery.status(type)
    MQSTS.patch(sts, "CompCode", code)
    MQSTS.patch(sts, "Reason", reason)
    MQSTS.patch(sts, "ObjectName", name)
    MQSTS.patch(sts, "ObjectQMgrName", remote.queue_manager if name else "")
    return mq.MQCC_OK, mq.MQRC_NONE


def _reset_in_child() -> None:
    _states.clear()
    _lock.release()


# A lock that another thread holds while this one forks would never be released in the child.
os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_reset_in_child)
