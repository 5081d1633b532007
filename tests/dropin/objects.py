"""The objects that the programs use."""

from __future__ import annotations

from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.server.queue_manager import QueueManager

QUEUES = [
    "BROWSE",
    "CALLBACK.DONE",
    "CALLBACK.ONE",
    "CALLBACK.TWO",
    "GROUPS",
    "HEADERS",
    "HEADERS.REPORT",
    "INQUIRE.SET",
    "LARGE",
    "LEAVING",
    "PROPERTIES",
    "PUT.GET",
    "REQUEST",
    "STATUS",
    "STRUCTURES",
    "SYNCPOINT",
    "THREADS",
    "WRONG",
]


def define_objects(manager: QueueManager) -> None:
    for name in QUEUES:
        manager.define(new_definition(ObjectType.QLOCAL, name, {}, None, "2024-05-06", "07.08.09"))
    alias = new_definition(ObjectType.QALIAS, "HEADERS.ALIAS", {"TARGET": "HEADERS"}, None, "2024-05-06", "07.08.09")
    manager.define(alias)
