"""The choice of the binding in MQCONN and MQCONNX: within the process, over the Unix socket, or over the network."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from ostler.client.locate import registry
from ostler.client.locate.connect_parameters import ConnectParameters
from ostler.client.locate.embedded import application_name, queue_manager_for, user_name
from ostler.client.locate.endpoints import endpoints
from ostler.client.locate.group_attach import running_member
from ostler.client.mqi.connection_state import ConnectionState, register_state
from ostler.client.mqi.put_get import bind, bound_connection
from ostler.client.mqi.remote.connect import Destination, connect_remote
from ostler.client.mqi.remote.reconnect import Reconnector
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.config.default_manager import ConfigurationError, default_name
from ostler.server.config.directories import (
    QueueManagerDirectory,
    data_root,
    not_the_owner,
    queue_managers,
    running_process,
)
from ostler.server.net.local_socket import socket_path
from ostler.server.queue_manager import QueueManager

_EVERY_NAME: Final = "*"


def connect_handle(parameters: ConnectParameters, environment: Mapping[str, str] = os.environ) -> int:
    """Connect and return the connection handle. Raises MQError.

    embedded: a queue manager of this process, which is started if it does not run. local: the Unix socket of a running
    queue manager, in any process. client, or a connection name: the network, as parameters and environment name it.
    auto: a queue manager of this process if there is one of that name, else its Unix socket, else the network.
    """
    name = parameters.queue_manager.strip()
    if parameters.binding == "embedded":
        return _bind(queue_manager_for(name, parameters.data, create=False), parameters)
    if parameters.binding == "client" or parameters.connection_name.strip():
        return _connect(Destination(replace(parameters, binding="client"), environment))
    here = _in_process(name, parameters)
    if parameters.binding == "local":
        # A queue manager that is embedded in this process without a socket is local, too.
        if here is not None and not socket_path(here.directory).exists():
            return _bind(here, parameters)
        directory = here.directory if here is not None else _directory(name, parameters, environment)
    else:
        if here is not None:
            return _bind(here, parameters)
        directory = _directory(name, parameters, environment)
        if (directory is None or not running_process(directory)[0]) and endpoints(parameters, environment):
            return _connect(Destination(parameters, environment))
    if directory is None:
        raise MQError(mq.MQRC_Q_MGR_NAME_ERROR, _unknown(name, parameters, environment))
    return _connect(Destination(parameters, environment, directory))


def _in_process(name: str, parameters: ConnectParameters) -> QueueManager | None:
    """Return the queue manager of this process with this name, and in this data directory if one is given."""
    if name.startswith(_EVERY_NAME):
        return None
    try:
        found = registry.find(name)
    except MQError:
        return None
    if parameters.data is not None and found.directory.root.absolute() != Path(parameters.data).absolute():
        return None
    return found


def _bind(manager: QueueManager, parameters: ConnectParameters) -> int:
    hconn = bind(
        manager,
        parameters.user or user_name(),
        parameters.application or application_name(),
        options=parameters.accounting | parameters.tag_options,
        tag=parameters.connection_tag,
    )
    thread = None if parameters.is_shared else threading.current_thread()
    register_state(ConnectionState(hconn, bound_connection(hconn), thread))
    return hconn


def _connect(destination: Destination) -> int:
    state = connect_remote(destination)
    Reconnector.attach(state)
    return state.remote.hconn


def _directory(
    name: str, parameters: ConnectParameters, environment: Mapping[str, str]
) -> QueueManagerDirectory | None:
    """Return the directory of a queue manager; a blank name means the default one, or the only one that runs."""
    root = _root(parameters, environment)
    if not name:
        try:
            name = default_name(root)
        except ConfigurationError as error:
            raise MQError(mq.MQRC_Q_MGR_NAME_ERROR, f"{error}.") from error
    if not name:
        there = [each for each in queue_managers(root) if each.running]
        return QueueManagerDirectory(root, there[0].name) if len(there) == 1 else None
    directory = QueueManagerDirectory(root, name)
    try:
        return directory if directory.exists() else running_member(root, name)
    except ValueError:
        return None
    except PermissionError as error:
        if endpoints(parameters, environment):
            return None  # there is an address to try instead
        raise not_the_owner(name, error) from error


def _root(parameters: ConnectParameters, environment: Mapping[str, str]) -> Path:
    return data_root(environment) if parameters.data is None else Path(parameters.data).absolute()


def _unknown(name: str, parameters: ConnectParameters, environment: Mapping[str, str]) -> str:
    where = _root(parameters, environment)
    if not name:
        return f"The name is blank, and no queue manager in {where} is the default one."
    return f"No queue manager {name[:48]!r} is known in this process or in {where}."
