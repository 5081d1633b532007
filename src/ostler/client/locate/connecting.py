"""The choice of the binding in `connect` of the Python API.

A connection name means the network. Without one, the first of these is used: a queue manager that runs in this process;
one that runs on this machine, over its local socket; one that MQSERVER or a CCDT names. A queue manager is started in
this process only on request: with `create`, if none of these exists, and with the binding "embedded", which refuses a
queue manager that runs in another process.
"""

from __future__ import annotations

import os
from pathlib import Path

from ostler.client.link.dialler import Dialler
from ostler.client.locate import registry
from ostler.client.locate.connect_parameters import Binding, ConnectParameters, Reconnect, TlsSettings
from ostler.client.locate.embedded import application_name, queue_manager_for, user_name
from ostler.client.locate.group_attach import running_member
from ostler.client.session.in_process import LocalSession
from ostler.client.session.session import Session
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.directories import (
    QueueManagerDirectory,
    data_root,
    describe_process,
    not_the_owner,
    running_process,
)
from ostler.server.net.local_socket import socket_path
from ostler.server.queue_manager import QueueManager

Tls = TlsSettings | str | None
"""TLS of a connection: all settings, or only the CipherSpec."""


def connect_parameters(
    queue_manager: str,
    connection_name: str | None,
    binding: Binding,
    channel: str,
    user: str | None,
    password: str | None,
    tls: Tls,
    reconnect: bool | Reconnect | None,
    application: str | None,
    ccdt: str | Path | None,
    data: str | Path | None,
) -> ConnectParameters:
    """Convert the arguments of `connect` to the parameters of all bindings."""
    if reconnect is None:
        reconnect = "no"
    elif isinstance(reconnect, bool):
        reconnect = "yes" if reconnect else "disabled"
    return ConnectParameters(
        queue_manager=queue_manager,
        binding=binding,
        connection_name=connection_name or "",
        channel=channel,
        user=user,
        password=password,
        application=application or "",
        tls=TlsSettings(cipher_spec=tls) if isinstance(tls, str) else tls,
        reconnect=reconnect,
        ccdt_url=str(ccdt) if ccdt is not None else "",
        data=data,
    )


async def open_session(
    dialler: Dialler, queue_manager: str | QueueManager, parameters: ConnectParameters, create: bool
) -> Session:
    """Connect over the binding that the parameters select."""
    if isinstance(queue_manager, QueueManager):
        if parameters.binding == "local":
            return await _connect_over_link(dialler, parameters, queue_manager.directory)
        if parameters.connection_name or parameters.binding == "client":
            return await _connect_over_link(dialler, parameters)
        return _connect_in_process(dialler, queue_manager, parameters, create)
    if parameters.binding == "client" or parameters.connection_name or parameters.ccdt_url:
        return await _connect_over_link(dialler, parameters)
    if parameters.binding == "embedded":
        return _connect_in_process(dialler, queue_manager, parameters, create)
    if parameters.binding == "local":
        return await _connect_over_link(dialler, parameters, _existing_directory(parameters))
    if any(each.name == queue_manager for each in registry.running_managers()):
        return _connect_in_process(dialler, queue_manager, parameters, create)
    directory = _directory(parameters)
    if directory is not None and socket_path(directory).exists():
        try:
            return await _connect_over_link(dialler, parameters, directory)
        except MQError as error:
            # A socket that no process listens on was left by a crash.
            if error.reason != mq.MQRC_Q_MGR_NOT_AVAILABLE:
                raise
    if _is_elsewhere(parameters):
        return await _connect_over_link(dialler, parameters)
    if create:
        return _connect_in_process(dialler, queue_manager, parameters, create)
    raise _not_available(directory or _existing_directory(parameters))


async def _connect_over_link(
    dialler: Dialler, parameters: ConnectParameters, directory: QueueManagerDirectory | None = None
) -> Session:
    """Connect over a link: over the local socket if a directory is given, else over the network."""
    from ostler.client.locate.routes import Route
    from ostler.client.session.remote_session import connect_session

    return await connect_session(Route(dialler, parameters, directory))


def _is_elsewhere(parameters: ConnectParameters) -> bool:
    """Return whether the environment names an address of the queue manager."""
    from ostler.client.locate.endpoints import endpoints

    return bool(endpoints(parameters, os.environ))


def _connect_in_process(
    dialler: Dialler, queue_manager: str | QueueManager, parameters: ConnectParameters, create: bool
) -> LocalSession:
    if parameters.password is not None:
        raise MQError(mq.MQRC_OPTIONS_ERROR, "A queue manager in this process asks for no password.")
    manager = queue_manager_for(queue_manager, parameters.data, create)
    user = parameters.user or user_name()
    return LocalSession(manager, user, parameters.application or application_name(), dialler.runtime)


def _directory(parameters: ConnectParameters) -> QueueManagerDirectory | None:
    """Return the directory of the queue manager on this machine; None when there is none."""
    root = data_root(os.environ) if parameters.data is None else Path(parameters.data).absolute()
    directory = QueueManagerDirectory(root, parameters.queue_manager)
    try:
        return directory if directory.exists() else running_member(root, parameters.queue_manager)
    except ValueError:
        return None
    except PermissionError as error:
        if _is_elsewhere(parameters):
            return None
        raise not_the_owner(parameters.queue_manager, error) from error


def _not_available(directory: QueueManagerDirectory) -> MQError:
    """Return the error for a queue manager of this machine that cannot be connected to."""
    name = directory.name
    is_running, process = running_process(directory)
    if is_running:
        text = (
            f"Queue manager {name} runs within {describe_process(process)}, and is not reachable from other processes."
        )
        return MQError(mq.MQRC_Q_MGR_NOT_AVAILABLE, text)
    return MQError(
        mq.MQRC_Q_MGR_NOT_AVAILABLE,
        f"Queue manager {name} is not running. `ostler strmqm {name}` starts it; a program that is to run it itself "
        'gives binding="embedded".',
    )


def _existing_directory(parameters: ConnectParameters) -> QueueManagerDirectory:
    directory = _directory(parameters)
    if directory is None:
        raise MQError(
            mq.MQRC_Q_MGR_NAME_ERROR,
            f"There is no queue manager {parameters.queue_manager[:48]} on this machine. `ostler crtmqm` makes one; so "
            "does create=True, within the program.",
        )
    return directory
