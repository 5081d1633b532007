"""Dialling: a socket to a queue manager, TLS where configured, and the negotiation by HELLO.

Conversations of this process to the same endpoint share a link, as many as were negotiated (SHARECNV).
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
from ostler.client.link.keepalive import keep_alive
from ostler.client.link.tls_client import ClientTls, as_error, key_reset_bytes
from ostler.client.locate.connect_parameters import MESSAGE_BYTES_MAX, Endpoint, TlsSettings
from ostler.model import constants as mq
from ostler.model.connection_names import parse_local_addresses
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

# The longest time for each step until the link is negotiated.
CONNECT_SECONDS: Final = 30.0
LOCAL_HEARTBEAT_SECONDS: Final = 300
LOCAL_CONVERSATIONS: Final = 10
_HELLO_REQUEST: Final = 1


class ConversationPool:
    """The links of this process that may have room for further conversations, by endpoint."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._links: dict[Hashable, list[BlockingLink]] = {}

    def join(self, pool_key: Hashable) -> ClientConversation | None:
        """Return a new conversation on an existing link; None when all are full."""
        with self._lock:
            links = [each for each in self._links.get(pool_key, []) if not each.broken]
            if links:
                self._links[pool_key] = links
            else:
                self._links.pop(pool_key, None)
            for link in links:
                conversation = link.join()
                if conversation is not None:
                    return conversation
        return None

    def add(self, pool_key: Hashable, link: BlockingLink) -> None:
        with self._lock:
            self._links.setdefault(pool_key, []).append(link)


_pools: Final = [ConversationPool()]


def _reset_in_child() -> None:
    _pools[0] = ConversationPool()


os.register_at_fork(after_in_child=_reset_in_child)


class NewConversation(NamedTuple):
    """A conversation before CONNECT. `is_shared`: its link was there before."""

    conversation: ClientConversation
    is_shared: bool


def local_conversation(directory: QueueManagerDirectory, shares: bool) -> NewConversation:
    """Return a conversation over the Unix socket of a queue manager. Raises MQError when it does not run."""
    pool_key = ("local", directory.path.absolute())

    def connect() -> BlockingLink:
        try:
            connected = connect_local(directory, CONNECT_SECONDS)
        except (FileNotFoundError, ConnectionRefusedError):
            text = f"Queue manager {directory.name} is not running."
            raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, text) from None
        except OSError as error:
            text = f"Queue manager {directory.name} cannot be reached: {error}."
            raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, text) from error
        proposal = Hello()
        proposal.message_bytes_max = MESSAGE_BYTES_MAX
        proposal.heartbeat_seconds = LOCAL_HEARTBEAT_SECONDS
        proposal.conversations_max = LOCAL_CONVERSATIONS if shares else 1
        return _negotiate(connected, None, proposal, f"Queue manager {directory.name}")

    return _conversation(pool_key, connect, shares)


def client_conversation(endpoint: Endpoint, tls: TlsSettings | None, shares: bool) -> NewConversation:
    """Return a conversation over the network. Raises MQError when the host does not answer or the negotiation fails."""
    pool_key = (replace(endpoint, queue_manager="", weight=0, reconnect="no"), tls)

    def connect() -> BlockingLink:
        rules = ClientTls(tls) if tls is not None else None
        connected = _connect_socket(endpoint)
        proposal = Hello(endpoint.channel)
        proposal.message_bytes_max = endpoint.message_bytes_max
        proposal.heartbeat_seconds = endpoint.heartbeat_seconds
        proposal.conversations_max = max(1, endpoint.sharing_conversations) if shares else 1
        peer = f"{endpoint.host}({endpoint.port})"
        stream = _start_tls(connected, rules, endpoint.channel, peer) if rules is not None else None
        return _negotiate(connected, stream, proposal, peer, tls)

    return _conversation(pool_key, connect, shares)


def ask_hello(endpoint: Endpoint, tls: TlsSettings | None, seconds: float) -> Hello:
    """Return what an endpoint answers to HELLO, and close the connection. Raises MQError."""
    rules = ClientTls(tls) if tls is not None else None
    connected = _connect_socket(endpoint, seconds)
    peer = f"{endpoint.host}({endpoint.port})"
    proposal = Hello(endpoint.channel)
    proposal.message_bytes_max = endpoint.message_bytes_max
    stream = _start_tls(connected, rules, endpoint.channel, peer) if rules is not None else None
    try:
        return _exchange_hello(connected, stream, proposal, FrameReader(), peer)
    except (MalformedFrame, TlsFailed, OSError) as error:
        raise MQError(mq.MQRC_HOST_NOT_AVAILABLE, f"{peer} does not answer: {error}.") from None
    finally:
        _close(connected)


def _conversation(pool_key: Hashable, connect: Callable[[], BlockingLink], shares: bool) -> NewConversation:
    if shares:
        joined = _pools[0].join(pool_key)
        if joined is not None:
            return NewConversation(joined, True)
    link = connect()
    conversation = link.join()
    if conversation is None:
        raise MQError(mq.MQRC_CONNECTION_BROKEN, link.broken_text)
    keep_alive(link)
    if shares and link.conversations_max > 1:
        _pools[0].add(pool_key, link)
    return NewConversation(conversation, False)


# -- sockets -----------------------------------------------------------------------------------------------------------


def _connect_socket(endpoint: Endpoint, seconds: float = CONNECT_SECONDS) -> socket.socket:
    """Return a TCP connection to the first address of a host that answers. Each step may take so many seconds."""
    try:
        found = resolve_host(endpoint.host)
    except OSError as error:
        raise MQError(mq.MQRC_HOST_NOT_AVAILABLE, f"Host {endpoint.host} is not known: {error}.") from error
    bindings = _bindings(endpoint.local_address)
    last = "it has no address"
    for address in found:
        made: socket.socket | None = None
        try:
            made = start_connect(address, endpoint.port, bindings)
            wait_connected(made, seconds)
            made.settimeout(seconds)
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
    raise MQError(mq.MQRC_HOST_NOT_AVAILABLE, f"{endpoint.host}({endpoint.port}) does not answer: {last}.")


def _bindings(local_address: str) -> list[LocalBinding]:
    """Return the addresses and ports to bind to (LOCLADDR)."""
    local = parse_local_addresses(local_address)
    try:
        return local_bindings(local, {each.host: resolve_host(each.host) for each in local if each.host})
    except OSError as error:
        raise MQError(mq.MQRC_CHANNEL_CONFIG_ERROR, f"Local address {local_address} is not known: {error}.") from error


def _start_tls(connected: socket.socket, rules: ClientTls, channel: str, peer: str) -> TlsStream:
    """Do the TLS handshake of a connection."""
    try:
        stream = rules.stream(channel)
        connected.sendall(stream.take_output())
        while not stream.is_ready:
            data = connected.recv(RECEIVE_BYTES)
            if not data:
                stream.receive_eof()
            try:
                plain = stream.receive_data(data)
            finally:
                connected.sendall(stream.take_output())
            if plain:
                raise TlsFailed(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"{peer} sent data before HELLO")
        return stream
    except TlsFailed as failure:
        connected.close()
        raise as_error(failure) from None
    except OSError as error:
        connected.close()
        text = f"{peer} broke off during the TLS handshake: {error}."
        raise MQError(mq.MQRC_HOST_NOT_AVAILABLE, text) from error
    except BaseException:
        connected.close()
        raise


# -- negotiation -------------------------------------------------------------------------------------------------------


def _negotiate(
    connected: socket.socket, tls: TlsStream | None, proposal: Hello, peer: str, settings: TlsSettings | None = None
) -> BlockingLink:
    """Exchange HELLO and return the link. The socket is closed when that fails."""
    try:
        connected.settimeout(CONNECT_SECONDS)
        reader = FrameReader()
        negotiated = _exchange_hello(connected, tls, proposal, reader, peer)
        negotiated.key_reset_bytes = key_reset_bytes(settings, negotiated) if settings is not None else 0
        connected.settimeout(None)
        return BlockingLink(connected, reader, negotiated, tls, peer)
    except (MalformedFrame, TlsFailed) as error:
        text = f"{peer} is not a queue manager that speaks this protocol: {error}."
        _close(connected)
        raise MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, text) from error
    except OSError as error:
        _close(connected)
        raise MQError(mq.MQRC_HOST_NOT_AVAILABLE, f"{peer} does not answer: {error}.") from error
    except BaseException:
        _close(connected)
        raise


def _exchange_hello(
    connected: socket.socket, tls: TlsStream | None, proposal: Hello, reader: FrameReader, peer: str
) -> Hello:
    """Send HELLO and return the negotiated values. Raises MQError, MalformedFrame, TlsFailed and OSError."""
    hello = frame(HELLO, 0, _HELLO_REQUEST, proposal.encode())
    if tls is not None:
        tls.encrypt(hello)
        hello = tls.take_output()
    connected.sendall(hello)
    negotiated = _receive_hello_reply(connected, tls, reader, peer)
    _check_negotiated(negotiated, proposal)
    return negotiated


def _receive_hello_reply(connected: socket.socket, tls: TlsStream | None, reader: FrameReader, peer: str) -> Hello:
    while not reader.next():
        data = connected.recv(RECEIVE_BYTES)
        if not data:
            raise MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"{peer} closed the connection without an answer.")
        reader.feed(tls.receive_data(data) if tls is not None else data)
    payload = reader.buffer[reader.start : reader.end]
    if reader.type == FAREWELL:
        reason, text = decode_reason(PayloadReader(payload))
        raise MQError(reason or mq.MQRC_CHANNEL_NOT_AVAILABLE, text)
    if reader.type != HELLO | REPLY or reader.flags or reader.request != _HELLO_REQUEST or reader.conversation:
        raise MalformedFrame(f"frame type {reader.type} in answer to HELLO")
    answer = decode_reply(payload)
    if answer.completion == mq.MQCC_FAILED:
        text = answer.reader.rest().decode("utf-8", "replace")
        raise MQError(answer.reason or mq.MQRC_CHANNEL_NOT_AVAILABLE, text)
    return decode_hello(answer.reader.rest())


def _check_negotiated(negotiated: Hello, proposal: Hello) -> None:
    """Check the negotiated values: a queue manager may lower the proposed ones, not raise them."""
    if not SEGMENT_BYTES_MIN <= negotiated.segment_bytes <= SEGMENT_BYTES:
        raise MalformedFrame(f"segments of {negotiated.segment_bytes} bytes")
    if (
        negotiated.message_bytes_max > proposal.message_bytes_max
        or negotiated.conversations_max > proposal.conversations_max
    ):
        raise MalformedFrame("higher limits than were proposed")
    if not 1 <= negotiated.version <= proposal.version:
        raise MQError(mq.MQRC_CHANNEL_CONFIG_ERROR, f"Version {negotiated.version} of the protocol is not supported.")


def _close(connected: socket.socket) -> None:
    with suppress(OSError):
        connected.close()
