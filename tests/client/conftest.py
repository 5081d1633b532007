"""A queue manager in a temporary directory, a connection to it, and short ways to make structures."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.free_ports import free_port

import ostler
from ostler import aio, mqi
from ostler.client.api.connection import Connection
from ostler.client.locate import registry
from ostler.client.locate.binding import connect_handle
from ostler.client.locate.connect_parameters import ConnectParameters
from ostler.model import constants as mqc
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.model.structures.catalogue import LAYOUTS
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security

_numbers = itertools.count(1)


class Application:
    """What a program does before the verb that a test is about."""

    def __init__(self, manager: QueueManager, way: str = "embedded", port: int = 0) -> None:
        self.manager = manager
        self.way = way
        self.port = port
        self.hconn = self.connect()

    def connect(self, options: int = mqc.MQCNO_HANDLE_SHARE_BLOCK) -> int:
        if self.way != "embedded":
            is_client = self.way == "client"
            return connect_handle(
                ConnectParameters(
                    queue_manager=self.manager.name,
                    binding="client" if is_client else "local",
                    connection_name=f"127.0.0.1({self.port})" if is_client else "",
                    data=None if is_client else self.manager.directory.root,
                    is_shared=bool(options & mqc.MQCNO_HANDLE_SHARE_BLOCK),
                )
            )
        hconn, cc, rc = mqi.MQCONNX(self.manager.name, self.structure("MQCNO", Options=options))
        assert (cc, rc) == (mqc.MQCC_OK, mqc.MQRC_NONE)
        return hconn

    def structure(self, name: str, version: int = 0, **fields: int | str | bytes) -> bytearray:
        layout = LAYOUTS[name]
        made = layout.default(version)
        for field, value in fields.items():
            layout.patch(made, field, value)
        return made

    def read(self, name: str, structure: bytearray, field: str) -> int | bytes:
        found = LAYOUTS[name].read(structure, field)
        return found.rstrip(b" \0") if isinstance(found, bytes) else found

    def define(self, kind: ObjectType, **attributes: Value) -> str:
        name = f"{kind.value}.{next(_numbers)}"
        self.manager.define(new_definition(kind, name, attributes, None, "2024-05-06", "07.08.09"))
        return name

    def queue(self, **attributes: Value) -> str:
        return self.define(ObjectType.QLOCAL, **attributes)

    def open(self, name: str, options: int, hconn: int = 0) -> int:
        od = self.structure("MQOD", ObjectName=name)
        hobj, cc, rc = mqi.MQOPEN(hconn or self.hconn, od, options)
        assert (cc, rc) == (mqc.MQCC_OK, mqc.MQRC_NONE)
        return hobj

    def put(self, name: str, data: bytes, persistence: int = 0, hconn: int = 0) -> None:
        od = self.structure("MQOD", ObjectName=name)
        md = self.structure("MQMD", Persistence=persistence)
        pmo = self.structure("MQPMO", Options=mqc.MQPMO_NO_SYNCPOINT)
        assert mqi.MQPUT1(hconn or self.hconn, od, md, pmo, data) == (mqc.MQCC_OK, mqc.MQRC_NONE)

    def get(self, hobj: int, hconn: int = 0, **gmo: int) -> tuple[bytes, int]:
        options = {"Options": mqc.MQGMO_NO_SYNCPOINT, **gmo}
        data, _, _, rc = mqi.MQGET(
            hconn or self.hconn, hobj, self.structure("MQMD"), self.structure("MQGMO", **options), 10000
        )
        return data, rc

    def depth(self, name: str) -> int:
        return self.manager.engine.queues[name].depth


def started(directory: Path, name: str) -> QueueManager:
    manager = QueueManager(create_queue_manager(directory, name, LogSection(file_pages=64)))
    manager.start()
    registry.register(manager)
    return manager


@pytest.fixture(scope="module")
def module_manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueueManager]:
    """One for all tests of a module; each makes its own queues."""
    manager = started(tmp_path_factory.mktemp("data"), f"QM{next(_numbers)}")
    yield manager
    manager.end("immediate")


@pytest.fixture(scope="module")
def module_port(module_manager: QueueManager) -> int:
    """Where the module's queue manager listens; with this it has its own socket, too."""
    server = Server(disable_security(module_manager))
    server.start()
    attributes: dict[str, Value] = {"PORT": free_port(), "IPADDR": "127.0.0.1"}
    module_manager.define(new_definition(ObjectType.LISTENER, "RAW", attributes))
    return server.start_listener("RAW")


# Modules whose tests of the raw verbs run over every binding, unless they are marked `within_process`.
_OVER_EVERY_BINDING = (
    "test_mqi_open",
    "test_mqi_attributes",
    "test_mqi_properties",
    "test_mqi_consume",
    "test_mqi_topics",
)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "within_process: the test runs within the process alone")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "raw_way" in metafunc.fixturenames:
        here_only = metafunc.definition.get_closest_marker("within_process") is not None
        everywhere = metafunc.module.__name__.rpartition(".")[2] in _OVER_EVERY_BINDING and not here_only
        metafunc.parametrize("raw_way", ["embedded", "local", "client"] if everywhere else ["embedded"])


@pytest.fixture
def app(module_manager: QueueManager, raw_way: str, request: pytest.FixtureRequest) -> Iterator[Application]:
    port = 0 if raw_way == "embedded" else request.getfixturevalue("module_port")
    application = Application(module_manager, raw_way, port)
    yield application
    mqi.MQDISC(application.hconn)


@pytest.fixture
def application() -> type[Application]:
    """For tests that start queue managers of their own."""
    return Application


@pytest.fixture
def own_manager(tmp_path: Path) -> Iterator[QueueManager]:
    """One that a test may end."""
    manager = started(tmp_path, f"QM{next(_numbers)}")
    yield manager
    manager.end("immediate")


# -- the Python API over every binding -------------------------------------------------------------------------------

CHANNEL = "APP.SVRCONN"
SECONDS_MAX = 60.0


class Site:
    """A queue manager with sockets, and the ways to it: embedded, local, client."""

    def __init__(self, data: Path, name: str) -> None:
        self.data = data
        self.name = name
        self.manager = ostler.start(name, data, create=True, log=LogSection(file_pages=64))
        self.server = Server(disable_security(self.manager))
        self.server.start()
        self.admin = ostler.connect(self.manager)
        self.admin.define("LISTENER", "TCP", TRPTYPE="TCP", IPADDR="127.0.0.1", PORT=free_port(), CONTROL="MANUAL")
        self.admin.define("CHANNEL", CHANNEL, CHLTYPE="SVRCONN", TRPTYPE="TCP")
        self.port = self.server.start_listener("TCP")

    @property
    def address(self) -> str:
        return f"127.0.0.1({self.port})"

    def arguments(self, way: str) -> dict[str, Any]:
        if way == "client":
            return {"connection_name": self.address, "channel": CHANNEL}
        return {"binding": way, "data": self.data}

    def connect(self, way: str, **more: Any) -> Connection:
        return ostler.connect(self.name, **self.arguments(way), **more)

    async def connect_task(self, way: str, **more: Any) -> aio.Connection:
        return await aio.connect(self.name, **self.arguments(way), **more)

    def handles(self, application: str) -> int:
        """How many objects an application has open."""
        with self.manager.lock:
            connections = self.manager.engine.connections.values()
            return sum(len(each.handles) for each in connections if each.application == application)

    def connections(self, application: str) -> int:
        with self.manager.lock:
            return sum(each.application == application for each in self.manager.engine.connections.values())

    def until(self, condition: Callable[[], bool]) -> None:
        """Return when something has come about in the queue manager."""
        deadline = time.monotonic() + SECONDS_MAX
        while not condition():
            assert time.monotonic() < deadline
            threading.Event().wait(0.001)

    def until_waiting(self, queue: str, gets: int = 1) -> None:
        """Return when so many gets wait on a queue."""
        self.until(lambda: self.manager.engine.queues[queue].waiting.count >= gets)

    def end(self) -> None:
        self.admin.close()
        self.server.end("immediate")


@pytest.fixture(params=["embedded", "local", "client"])
def way(request: pytest.FixtureRequest) -> str:
    """How a test connects."""
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("site"), f"SITE{next(_numbers)}")
    yield made
    made.end()


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[Site]:
    """One that a test may end."""
    made = Site(tmp_path, f"SITE{next(_numbers)}")
    yield made
    made.end()


@pytest.fixture
def admin(site: Site) -> Connection:
    """What defines objects, whatever way the test connects."""
    return site.admin
