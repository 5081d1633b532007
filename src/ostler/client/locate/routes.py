"""The connector of remote sessions: the endpoints to try, their order, and the arguments of CONNECT.

A route keeps the connection parameters of the program, so that it can connect again: for a clone, or after the link
broke.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NamedTuple

from ostler.client.link.dialler import Dialler
from ostler.client.link.link import Link, LinkListener, connect_conversation
from ostler.client.link.succession import silent_last
from ostler.client.locate.connect_parameters import ConnectParameters
from ostler.client.locate.embedded import application_name, user_name
from ostler.client.locate.endpoints import endpoints, tls_settings
from ostler.client.mqi.remote.connect import (
    ALLOW_PLAIN_PASSWORD,
    FINAL_REASONS,
    check_tag_version,
    succession_of,
)
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.wire.connect_frames import ConnectArguments, ConnectReply

_JOIN_TRIES: Final = 3


class JoinedLink(NamedTuple):
    """A link with a connected conversation."""

    link: Link
    conversation: int
    connected: ConnectReply


class Route:
    """The route to a queue manager. With a `directory` it goes over the local socket."""

    def __init__(
        self, dialler: Dialler, parameters: ConnectParameters, directory: QueueManagerDirectory | None = None
    ) -> None:
        self.dialler = dialler
        self.parameters = parameters
        self.application = parameters.application or application_name()
        self._directory = directory
        self.reconnect = parameters.reconnect

    async def connect(self, listener: LinkListener) -> JoinedLink:
        """Connect to the first endpoint that accepts. Raises MQError when none does."""
        if self._directory is not None:
            directory = self._directory
            return await self._join_link(partial(self.dialler.local, directory), listener, is_private=True)
        failures: list[MQError] = []
        found = endpoints(self.parameters, os.environ)
        for endpoint in silent_last(found, lambda each: each):
            tls = tls_settings(self.parameters, endpoint, os.environ)
            if self.reconnect == "no":
                self.reconnect = endpoint.reconnect
            is_private = tls is not None or endpoint.is_this_machine
            try:
                joined = await self._join_link(partial(self.dialler.client, endpoint, tls), listener, is_private)
                if len(found) > 1:
                    joined.link.watch_succession(succession_of(self.parameters, os.environ, endpoint, found))
                return joined
            except MQError as error:
                failures.append(error)
                if error.reason in FINAL_REASONS:
                    break
        raise _most_specific(failures)

    async def _join_link(
        self, dial: Callable[[], Awaitable[Link]], listener: LinkListener, is_private: bool
    ) -> JoinedLink:
        asked = self._connect_arguments(is_private)
        tries = 0
        while tries < _JOIN_TRIES:
            link = await dial()
            is_shared = link.is_shared
            tries += not is_shared
            try:
                check_tag_version(int(link.negotiated.version), asked)
                joined = await connect_conversation(link, asked, listener)
            except MQError as error:
                if not is_shared or not _is_failure(error, link):
                    raise
                # A shared link can be broken without being noticed yet. A fresh link gives the true result.
                continue
            if joined is not None:
                return JoinedLink(link, *joined)
        raise MQError(mq.MQRC_CONNECTION_BROKEN, "The link broke before there was a connection.")

    def _connect_arguments(self, is_private: bool) -> ConnectArguments:
        parameters = self.parameters
        if parameters.password and not is_private and os.environ.get(ALLOW_PLAIN_PASSWORD) != "1":
            raise MQError(
                mq.MQRC_PASSWORD_PROTECTION_ERROR,
                "Without TLS the password would cross the network for all to read. Give tls=..., or set "
                f"{ALLOW_PLAIN_PASSWORD}=1 where you trust the network.",
            )
        asked = ConnectArguments()
        asked.options = parameters.accounting | parameters.tag_options
        asked.tag = parameters.connection_tag
        asked.application_type = mq.MQAT_UNIX
        asked.application = self.application
        asked.queue_manager = parameters.queue_manager
        asked.user = parameters.user or user_name()
        asked.password = parameters.password or ""
        return asked


def _is_failure(error: MQError, link: Link) -> bool:
    """Return whether an error means that the link broke, rather than that the queue manager refused."""
    failure = link.failure
    return failure is not None and (error.reason, error.detail) == (failure.reason, failure.detail)


def _most_specific(failures: list[MQError]) -> MQError:
    """Return the error to report: one that a queue manager answered with, before those of hosts that do not answer."""
    if not failures:
        return MQError(mq.MQRC_HOST_NOT_AVAILABLE, "There is no address to connect to.")
    answered = [each for each in failures if each.reason != mq.MQRC_HOST_NOT_AVAILABLE]
    if answered:
        return answered[0]
    return (
        failures[0]
        if len(failures) == 1
        else MQError(mq.MQRC_HOST_NOT_AVAILABLE, " ".join(each.detail for each in failures))
    )
