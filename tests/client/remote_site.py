"""A queue manager with sockets that a test may end, lose and start again, and programs that reach it by raw verbs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.free_ports import free_port

from ostler import mqi
from ostler.client.locate.binding import connect_handle
from ostler.client.locate.connect_parameters import ConnectParameters
from ostler.client.mqi.remote.connections import RemoteConnection, remote_connection
from ostler.model import constants as mqc
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.model.structures.catalogue import LAYOUTS
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security

PATIENCE_SECONDS = 60.0
OK = (mqc.MQCC_OK, mqc.MQRC_NONE)
FAILED = mqc.MQCC_FAILED
BOTH = mqc.MQOO_INPUT_SHARED | mqc.MQOO_OUTPUT


def eventually(condition: Callable[[], bool]) -> None:
    """Go on as soon as something that another thread does has happened."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it has not happened"
        threading.Event().wait(0.001)


def structure(name: str, version: int = 0, **fields: int | str | bytes) -> bytearray:
    layout = LAYOUTS[name]
    made = layout.default(version)
    for field, value in fields.items():
        layout.patch(made, field, value)
    return made


def field(name: str, data: bytes | bytearray, field_name: str) -> Any:
    found = LAYOUTS[name].read(data, field_name)
    return found.rstrip(b" \0") if isinstance(found, bytes) else found


class RemoteSite:
    """A queue manager that listens on a port of its own."""

    def __init__(self, data: Path, name: str, port: int = 0) -> None:
        self.data = data
        self.name = name
        self.port = port or free_port()
        self.directory = create_queue_manager(data, name, LogSection(file_pages=64))
        self.begin()

    def begin(self) -> None:
        """Start it, for the first time or again."""
        self.manager = QueueManager(self.directory)
        self.manager.start()
        self.server = Server(disable_security(self.manager))
        self.server.start(with_listeners=False)
        attributes: dict[str, Value] = {"PORT": self.port, "IPADDR": "127.0.0.1", "CONTROL": "MANUAL"}
        self.manager.define(new_definition(ObjectType.LISTENER, "SITE", attributes), replace=True)
        self.server.start_listener("SITE")

    def end(self, mode: str = "immediate") -> None:
        self.server.end(mode)

    def define(self, kind: ObjectType, name: str, **attributes: Value) -> str:
        self.manager.define(new_definition(kind, name, attributes))
        return name

    def queue(self, name: str, **attributes: Value) -> str:
        return self.define(ObjectType.QLOCAL, name, **attributes)

    def depth(self, name: str) -> int:
        return int(self.manager.engine.queues[name].depth)

    def until_waiting(self, name: str) -> None:
        eventually(lambda: self.manager.engine.queues[name].waiting.count > 0)

    def connect(self, binding: str = "client", environment: dict[str, str] | None = None, **more: Any) -> RawProgram:
        if binding == "client":
            more = {"connection_name": f"127.0.0.1({self.port})", **more}
        else:
            more = {"data": self.data, **more}
        named: dict[str, Any] = {"queue_manager": self.name, "is_shared": True, **more}
        parameters = ConnectParameters(binding=binding, **named)  # type: ignore[arg-type]
        return RawProgram(connect_handle(parameters, environment or {}))


class RawProgram:
    def __init__(self, hconn: int) -> None:
        self.hconn = hconn

    @property
    def remote(self) -> RemoteConnection:
        return remote_connection(self.hconn)

    def open(self, name: str, options: int = BOTH, **more: str) -> int:
        hobj, cc, rc = mqi.MQOPEN(self.hconn, structure("MQOD", ObjectName=name, **more), options)
        assert (cc, rc) == OK
        return hobj

    def put(self, hobj: int, data: bytes, options: int = mqc.MQPMO_NO_SYNCPOINT, persistence: int = 0) -> int:
        md = structure("MQMD", Persistence=persistence)
        return mqi.MQPUT(self.hconn, hobj, md, structure("MQPMO", Options=options), data)[1]

    def get(
        self, hobj: int, options: int = mqc.MQGMO_NO_SYNCPOINT, wait: int = 0, size: int = 10_000_000, **md: bytes
    ) -> tuple[bytes, int]:
        gmo = structure("MQGMO", Options=options, WaitInterval=wait)
        data, _, _, rc = mqi.MQGET(self.hconn, hobj, structure("MQMD", **md), gmo, size)
        return data, rc

    def break_link(self) -> None:
        """As if the network had failed."""
        self.remote.conversation.link.fail_link(mqc.MQRC_CONNECTION_BROKEN, "The test broke it.")

    def leave(self) -> tuple[int, int]:
        return mqi.MQDISC(self.hconn)[1:]
