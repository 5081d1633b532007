"""The dialler of an event loop. Connections of one loop to the same endpoint share links (SHARECNV)."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from dataclasses import replace
from typing import Final
from weakref import ReferenceType, WeakKeyDictionary, ref

from ostler.client.link.dial import CONNECT_SECONDS, LOCAL_CONVERSATIONS, LOCAL_HEARTBEAT_SECONDS
from ostler.client.link.dialler import Dialler
from ostler.client.link.link import Link
from ostler.client.link.loop_link import LoopLink
from ostler.client.link.tls_client import ClientTls, key_reset_bytes
from ostler.client.locate.connect_parameters import Endpoint, TlsSettings
from ostler.client.session.loop_runtime import LoopRuntime
from ostler.model import constants as mq
from ostler.model.connection_names import parse_local_address
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.net.local_socket import connect_local
from ostler.wire.connect_frames import Hello
from ostler.wire.frames import MESSAGE_BYTES_MAX

_LinksByKey = dict[Hashable, list["ReferenceType[LoopLink]"]]
# Weak references: a link refers to its loop and must not keep it alive.
_links: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _LinksByKey]] = WeakKeyDictionary()


class LoopDialler(Dialler):
    runtime = LoopRuntime

    async def local(self, directory: QueueManagerDirectory) -> Link:
        loop = asyncio.get_running_loop()
        pool_key = directory.path.absolute()
        shared = _link_with_room(loop, pool_key)
        if shared is not None:
            return shared
        link = LoopLink(loop, f"Queue manager {directory.name}")
        try:
            # On the same machine this is done at once.
            connected = connect_local(directory, CONNECT_SECONDS)
            connected.setblocking(False)
            await loop.create_unix_connection(lambda: link, sock=connected)
        except (FileNotFoundError, ConnectionRefusedError):
            raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, f"Queue manager {directory.name} is not running.") from None
        except OSError as error:
            text = f"Queue manager {directory.name} cannot be reached: {error}."
            raise MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, text) from error
        proposal = Hello()
        proposal.message_bytes_max = MESSAGE_BYTES_MAX
        proposal.heartbeat_seconds = LOCAL_HEARTBEAT_SECONDS
        proposal.conversations_max = LOCAL_CONVERSATIONS
        return await _negotiate(link, proposal, loop, pool_key)

    async def client(self, endpoint: Endpoint, tls: TlsSettings | None) -> Link:
        loop = asyncio.get_running_loop()
        pool_key = (replace(endpoint, queue_manager="", weight=0, reconnect="no"), tls)
        shared = _link_with_room(loop, pool_key)
        if shared is not None:
            return shared
        stream = ClientTls(tls).stream(endpoint.channel) if tls is not None else None
        peer = f"{endpoint.host}({endpoint.port})"
        link = LoopLink(loop, peer, stream)
        local = parse_local_address(endpoint.local_address)
        bound = (local.host, local.port_low) if local.host or local.port_low else None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await loop.create_connection(lambda: link, endpoint.host, endpoint.port, local_addr=bound)
        except (OSError, UnicodeError, TimeoutError) as error:
            raise MQError(mq.MQRC_HOST_NOT_AVAILABLE, f"{peer} does not answer: {error}.") from error
        proposal = Hello(endpoint.channel)
        proposal.message_bytes_max = endpoint.message_bytes_max
        proposal.heartbeat_seconds = endpoint.heartbeat_seconds
        proposal.conversations_max = max(1, endpoint.sharing_conversations)
        await _negotiate(link, proposal, loop, pool_key)
        negotiated = link.negotiated
        negotiated.key_reset_bytes = key_reset_bytes(tls, negotiated) if tls is not None else 0
        return link


def _link_with_room(loop: asyncio.AbstractEventLoop, pool_key: Hashable) -> LoopLink | None:
    """Return a link of this loop that has room for another conversation."""
    links_by_key = _links.setdefault(loop, {})
    kept = [each for each in links_by_key.get(pool_key, []) if _is_open(each())]
    if kept:
        links_by_key[pool_key] = kept
    else:
        links_by_key.pop(pool_key, None)
    links = (each() for each in kept)
    return next((each for each in links if each is not None and each.has_room), None)


def _is_open(link: LoopLink | None) -> bool:
    return link is not None and link.failure is None


async def _negotiate(link: LoopLink, proposal: Hello, loop: asyncio.AbstractEventLoop, pool_key: Hashable) -> LoopLink:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await link.negotiate(proposal)
    except TimeoutError:
        raise MQError(mq.MQRC_HOST_NOT_AVAILABLE, f"{link.peer} does not answer.") from None
    if link.negotiated.conversations_max > 1:
        _links[loop].setdefault(pool_key, []).append(ref(link))
    return link
