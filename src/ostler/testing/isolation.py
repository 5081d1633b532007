"""Isolation of tests: the state of a queue manager is restored after each test.

Programs have the names of their queues in their configuration, so tests cannot use names of their own. Instead the
queue manager is restored afterwards: connections that the test left open are broken and their units of work backed out,
objects that it created are deleted, those that it changed or deleted are as before, and queues are empty. Connections
that existed before, such as those of fixtures of a wider scope, are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ostler.client.api.connection import connect
from ostler.engine import apply, objects
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.queue.queue import Queue
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.admin import command_server
from ostler.server.channels import initiator as channel_initiator
from ostler.server.queue_manager import QueueManager

# The queue manager's own queues are left alone, but events and dead letters belong to the test.
_OURS: Final = re.compile(r"(?!SYSTEM\.)|SYSTEM\.(ADMIN\..*EVENT|DEAD\.LETTER\.QUEUE|DEFAULT\.)")

# Connections of the queue manager itself. They may be newer than the baseline: under load, or after a restart.
_PARTS_OF_MANAGER: Final = frozenset((command_server.APPLICATION, channel_initiator.APPLICATION))

StopService = Callable[[Definition], None]
"""Stops a listener or channel that is about to be deleted or restored."""


def _stop_nothing(definition: Definition) -> None:
    """Do nothing: without sockets no listener or channel runs."""


class IsolationError(Exception):
    """The state of the queue manager could not be restored: a connection from before the test prevents it."""


class Baseline:
    """A snapshot of the objects and connections of a queue manager, which can be restored."""

    def __init__(self, manager: QueueManager, stop_service: StopService = _stop_nothing) -> None:
        self._manager = manager
        self._stop_service = stop_service
        with manager.turn:
            self._next_connection = manager.engine.next_connection
            self._definitions = _all_definitions(manager.engine)

    def for_restarted(self, manager: QueueManager, stop_service: StopService = _stop_nothing) -> Baseline:
        """Return the same baseline for the queue manager after a restart: all its connections count as new."""
        moved = Baseline(manager, stop_service)
        moved._next_connection = 0
        moved._definitions = self._definitions
        return moved

    def restore(self) -> None:
        """Restore the state of the queue manager."""
        self._break_connections()
        with self._manager.turn:
            now = _all_definitions(self._manager.engine)
        # Queues of all types share one name space: new ones are deleted first.
        for key, definition in now.items():
            if key not in self._definitions:
                self._delete(definition)
        for key, definition in self._definitions.items():
            found = now.get(key)
            if found is None:
                self._manager.define(definition)
            elif found is not definition and found.attributes != definition.attributes:
                self._stop_service(found)
                self._manager.define(definition, replace=True)
        self._empty_queues()

    def _break_connections(self) -> None:
        with self._manager.turn:
            connections = list(self._manager.engine.connections.values())
        for connection in connections:
            if connection.number >= self._next_connection and not _is_part_of_manager(connection):
                self._manager.disconnect(connection, commit_work=False)

    def _delete(self, definition: Definition) -> None:
        self._stop_service(definition)
        manager = self._manager
        with manager.turn as engine:
            if definition.object_type == ObjectType.QLOCAL:
                # Even if an older connection has it open: the test created it.
                queue = engine.queues.get(definition.name)
                lsn = objects.delete_queue(engine, queue) if queue is not None else 0
            else:
                lsn = objects.delete(engine, apply.table_type(definition), definition.name)
        manager.writer.wait_durable(lsn)

    def _empty_queues(self) -> None:
        with self._manager.turn:
            filled = [queue for queue in self._manager.engine.queues_by_id.values() if _is_to_empty(queue)]
        for queue in filled:
            self._empty(queue)

    def _empty(self, queue: Queue) -> None:
        """Clear a queue, or, if an older connection has it open, get its messages one by one."""
        manager = self._manager
        lsn = 0
        with manager.turn:
            is_in_use = bool(queue.handles) or queue.uncommitted > 0
            if not is_in_use:
                lsn = objects.clear(manager.engine, queue.name)
        if lsn:
            manager.writer.wait_durable(lsn)
        if is_in_use:
            self._drain(queue.name)

    def _drain(self, name: str) -> None:
        try:
            with connect(self._manager) as connection, connection.open(name, "s") as opened:
                while opened.get(syncpoint=False, truncate=True, max_bytes=0) is not None:
                    pass
        except MQError as error:
            raise IsolationError(f"Queue {name} could not be emptied after the test. {error}") from None


def _is_part_of_manager(connection: Connection) -> bool:
    """Return whether a connection is that of the command server or the channel initiator."""
    return connection.owner is None and connection.application in _PARTS_OF_MANAGER


def _is_to_empty(queue: Queue) -> bool:
    return queue.depth > 0 and not queue.is_temporary and _OURS.match(queue.name) is not None


def _all_definitions(engine: Engine) -> dict[tuple[ObjectType, str], Definition]:
    """Return all object definitions, the queue manager's included, without temporary dynamic queues."""
    found = {
        (kind, name): definition
        for kind, table in engine.definitions.items()
        for name, definition in table.items()
        if not (kind == ObjectType.QLOCAL and engine.queues[name].is_temporary)
    }
    found[(ObjectType.QMGR, engine.name)] = engine.manager
    return found
