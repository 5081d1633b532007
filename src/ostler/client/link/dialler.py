"""Diallers make the links of one flavour of the API: blocking or asyncio.

The modules behind links are loaded with the first link: programs with a queue manager in their process need none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from ostler.client.locate.connect_parameters import Endpoint, TlsSettings
from ostler.client.session.runtime import BlockingRuntime, Runtime
from ostler.server.config.directories import QueueManagerDirectory

if TYPE_CHECKING:
    from ostler.client.link.link import Link


class Dialler(ABC):
    """Makes links."""

    runtime: Callable[[], Runtime]

    @abstractmethod
    async def local(self, directory: QueueManagerDirectory) -> Link:
        """Return a link over the Unix socket of a queue manager. MQRC_Q_MGR_NOT_AVAILABLE when it does not run."""

    @abstractmethod
    async def client(self, endpoint: Endpoint, tls: TlsSettings | None) -> Link:
        """Return a link over the network, perhaps one that other connections share."""


class BlockingDialler(Dialler):
    """For threads. Every connection has a link of its own: threads that share a link have to wake one another."""

    runtime = BlockingRuntime

    async def local(self, directory: QueueManagerDirectory) -> Link:
        from ostler.client.link.blocking_port import local_port

        return local_port(directory)

    async def client(self, endpoint: Endpoint, tls: TlsSettings | None) -> Link:
        from ostler.client.link.blocking_port import client_port

        return client_port(endpoint, tls)
