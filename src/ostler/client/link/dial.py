"""Making links to queue managers: a socket, TLS where it is wanted, and the agreement on how to use it.

Conversations of this process to the same place share a link, as many as were agreed upon (SHARECNV).
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from ostler.client.link.blocking_link import RECEIVE_BYTES, BlockingLink, ClientConversation
from ostler.client.link.keeper import keep
from ostler.client.link.tls_client import ClientTls, as_error
from ostler.client.locate.connect_parameters import MESSAGE_BYTES_MAX, Endpoint, TlsSettings
from ostler.model.connection_names import parse_local_addresses
from ostler.model.constants import (
    MQCC_FAILED,
    MQRC_CHANNEL_CONFIG_ERROR,
    MQRC_CHANNEL_NOT_AVAILABLE,
    MQRC_CONNECTION_BROKEN,
    MQRC_HOST_NOT_AVAILABLE,
    MQRC_Q_MGR_NOT_AVAILABLE,
)
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.net.local_socket import connect_local
from ostler.server.net.outgoing_sockets import LocalBinding, local_bindings, resolve_host, start_connect, wait_connected
from ostler.wire.connect_frames import Hello, decode_hello
from ostler.wire.frames import (
    FAREWELL,
    HELLO,
    REPLY,
    SEGMENT_BYTES,
    SEGMENT_BYTES_MIN,
    FrameReader,
    MalformedFrame,
    frame,
)
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason, decode_reply
from ostler.wire.tls_stream import TlsFailed, TlsStream

# How long a queue manager may take to answer until there is a link.
CONNECT_SECONDS: Final = 30.0
LOCAL_HEARTBEAT_SECONDS: Final = 300
LOCAL_CONVERSATIONS: Final = 10
_HELLO_REQUEST: Final = 1


class LinkPool:
    """The links of this process that have, or may have, room for further conversations."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._links: dict[Hashable, list[BlockingLink]] = {}

    def join(self, place: Hashable) -> ClientConversation | None:
        """A conversation on a link that is there already."""
        with self._lock:
            links = [each for each in self._links.get(place, []) if not each.broken]
            if links:
                self._links[place] = links
            else:
                self._links.pop(place, None)
            for link in links:
                conversation = link.join()
                if conversation is not None:
                    return conversation
        return None

    def add(self, place: Hashable, link: BlockingLink) -> None:
        with self._lock:
            self._links.setdefault(place, []).append(link)


_pools: Final = [LinkPool()]


def _forked() -> None:
    _pools[0] = LinkPool()


os.register_at_fork(after_in_child=_forked)


class Reached(NamedTuple):
    """A conversation that is no connection yet. Whether its link is one that others use already."""

    conversation: ClientConversation
    is_shared: bool


def local_conversation(directory: QueueManagerDirectory, shares: bool) -> Reached:
    """A conversation over the Unix socket of a queue manager. MQError when it does not run."""
    place = ("local", directory.path.absolute())

    def connect() -> BlockingLink:
        try:
            connected = connect_local(directory, CONNECT_SECONDS)
        except (FileNotFoundError, ConnectionRefusedError):
            text = f"Queue manager {directory.name} is not running."
            raise MQError(MQRC_Q_MGR_NOT_AVAILABLE, text) from None
        except OSError as error:
            text = f"Queue manager {directory.name} cannot be reached: {error}."
            raise MQError(MQRC_Q_MGR_NOT_AVAILABLE, text) from error
        wishes = Hello()
        wishes.message_bytes_max = MESSAGE_BYTES_MAX
        wishes.heartbeat_seconds = LOCAL_HEARTBEAT_SECONDS
        wishes.conversations_max = LOCAL_CONVERSATIONS if shares else 1
        return _agree(connected, None, wishes, f"Queue manager {directory.name}")

    return _conversation(place, connect, shares)


def client_conversation(endpoint: Endpoint, tls: TlsSettings | None, shares: bool) -> Reached:
    """A conversation over the network. MQError when nobody answers, or not as it should be."""
    place = (replace(endpoint, queue_manager="", weight=0, reconnect="no"), tls)

    def connect() -> BlockingLink:
        rules = ClientTls(tls) if tls is not None else None
        connected = _connected(endpoint)
        wishes = Hello(endpoint.channel)
        wishes.message_bytes_max = endpoint.message_bytes_max
        wishes.heartbeat_seconds = endpoint.heartbeat_seconds
        wishes.conversations_max = max(1, endpoint.sharing_conversations) if shares else 1
        peer = f"{endpoint.host}({endpoint.port})"
        stream = _secured(connected, rules, endpoint.channel, peer) if rules is not None else None
        return _agree(connected, stream, wishes, peer)

    return _conversation(place, connect, shares)


def _conversation(place: Hashable, connect: Callable[[], BlockingLink], shares: bool) -> Reached:
    if shares:
        joined = _pools[0].join(place)
        if joined is not None:
            return Reached(joined, True)
    link = connect()
    conversation = link.join()
    if conversation is None:
        raise MQError(MQRC_CONNECTION_BROKEN, link.broken_text)
    keep(link)
    if shares and link.conversations_max > 1:
        _pools[0].add(place, link)
    return Reached(conversation, False)


# -- sockets -----------------------------------------------------------------------------------------------------------


def _connected(endpoint: Endpoint) -> socket.socket:
    """A TCP connection to one of the addresses that a host has."""
    try:
        found = resolve_host(endpoint.host)
    except OSError as error:
        raise MQError(MQRC_HOST_NOT_AVAILABLE, f"Host {endpoint.host} is not known: {error}.") from error
    bindings = _bindings(endpoint.local_address)
    last = "it has no address"
    for address in found:
        made: socket.socket | None = None
        try:
            made = start_connect(address, endpoint.port, bindings)
            wait_connected(made, CONNECT_SECONDS)
            made.settimeout(CONNECT_SECONDS)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        except OSError as error:
            if made is not None:
                made.close()
            last = error.strerror or str(error)
        except BaseException:
            if made is not None:
                made.close()
            raise
        else:
            return made
    raise MQError(MQRC_HOST_NOT_AVAILABLE, f"{endpoint.host}({endpoint.port}) does not answer: {last}.")


def _bindings(local_address: str) -> list[LocalBinding]:
    """Where sockets are bound as a local address says."""
    local = parse_local_addresses(local_address)
    try:
        return local_bindings(local, {each.host: resolve_host(each.host) for each in local if each.host})
    except OSError as error:
        raise MQError(MQRC_CHANNEL_CONFIG_ERROR, f"Local address {local_address} is not known: {error}.") from error


def _secured(connected: socket.socket, rules: ClientTls, channel: str, peer: str) -> TlsStream:
    """The TLS of a connection, after its handshake."""
    try:
        stream = rules.stream(channel)
        connected.sendall(stream.take_output())
        while not stream.is_ready:
            data = connected.recv(RECEIVE_BYTES)
            if not data:
                stream.ended()
            try:
                plain = stream.received(data)
            finally:
                connected.sendall(stream.take_output())
            if plain:
                raise TlsFailed(MQRC_CHANNEL_NOT_AVAILABLE, f"{peer} speaks before it is asked")
        return stream
    except TlsFailed as failure:
        connected.close()
        raise as_error(failure) from None
    except OSError as error:
        connected.close()
        text = f"{peer} broke off during the TLS handshake: {error}."
        raise MQError(MQRC_HOST_NOT_AVAILABLE, text) from error
    except BaseException:
        connected.close()
        raise


# -- agreement ---------------------------------------------------------------------------------------------------------


def _agree(connected: socket.socket, tls: TlsStream | None, wishes: Hello, peer: str) -> BlockingLink:
    """Say HELLO, and make a link of what the queue manager answers. The socket is closed when that fails."""
    try:
        connected.settimeout(CONNECT_SECONDS)
        hello = frame(HELLO, 0, _HELLO_REQUEST, wishes.encode())
        if tls is not None:
            tls.encrypt(hello)
            hello = tls.take_output()
        connected.sendall(hello)
        reader = FrameReader()
        agreed = _answer_to_hello(connected, tls, reader, peer)
        _check(agreed, wishes)
        connected.settimeout(None)
        return BlockingLink(connected, reader, agreed, tls, peer)
    except (MalformedFrame, TlsFailed) as error:
        text = f"{peer} is no queue manager that speaks this protocol, or not in this way: {error}."
        _close(connected)
        raise MQError(MQRC_CHANNEL_NOT_AVAILABLE, text) from error
    except OSError as error:
        _close(connected)
        raise MQError(MQRC_HOST_NOT_AVAILABLE, f"{peer} does not answer: {error}.") from error
    except BaseException:
        _close(connected)
        raise


def _answer_to_hello(connected: socket.socket, tls: TlsStream | None, reader: FrameReader, peer: str) -> Hello:
    while not reader.next():
        data = connected.recv(RECEIVE_BYTES)
        if not data:
            raise MQError(MQRC_CHANNEL_NOT_AVAILABLE, f"{peer} closed the connection without an answer.")
        reader.feed(tls.received(data) if tls is not None else data)
    payload = reader.buffer[reader.start : reader.end]
    if reader.type == FAREWELL:
        reason, text = decode_reason(PayloadReader(payload))
        raise MQError(reason or MQRC_CHANNEL_NOT_AVAILABLE, text)
    if reader.type != HELLO | REPLY or reader.flags or reader.request != _HELLO_REQUEST or reader.conversation:
        raise MalformedFrame(f"frame type {reader.type} in answer to HELLO")
    answer = decode_reply(payload)
    if answer.completion == MQCC_FAILED:
        text = answer.reader.rest().decode("utf-8", "replace")
        raise MQError(answer.reason or MQRC_CHANNEL_NOT_AVAILABLE, text)
    return decode_hello(answer.reader.rest())


def _check(agreed: Hello, wishes: Hello) -> None:
    """A queue manager may want less than was offered, not more."""
    if not SEGMENT_BYTES_MIN <= agreed.segment_bytes <= SEGMENT_BYTES:
        raise MalformedFrame(f"segments of {agreed.segment_bytes} bytes")
    if agreed.message_bytes_max > wishes.message_bytes_max or agreed.conversations_max > wishes.conversations_max:
        raise MalformedFrame("more than was offered")
    if not 1 <= agreed.version <= wishes.version:
        raise MQError(MQRC_CHANNEL_CONFIG_ERROR, f"Version {agreed.version} of the protocol is not spoken here.")


def _close(connected: socket.socket) -> None:
    with suppress(OSError):
        connected.close()
