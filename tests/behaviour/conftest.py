"""Queue managers in temporary directories, and programs that work with them through the raw verbs.

Most tests run three times: within the process, over the Unix socket, and over TCP. Those that look at how something is
done within the process, or take long, are marked `within_process` and run there alone.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.free_ports import free_port

from ostler import mqi
from ostler.client.locate import registry
from ostler.client.locate.binding import connect_handle
from ostler.client.locate.connect_parameters import ConnectParameters
from ostler.client.mqi.put_get import bind, bound_connection
from ostler.client.mqi.remote.connections import FIRST_REMOTE, remote_connection
from ostler.engine.handle import Handle
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.model.structures.catalogue import LAYOUTS
from ostler.model.structures.layout import trim
from ostler.model.structures.od import OD_SELECTION_STRING
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security

FieldValue = int | str | bytes

PATIENCE_SECONDS = 60.0
HERE = "here"
LOCAL = "local"
TCP = "tcp"
_OWN_QUEUES = ("SYSTEM.ADMIN.COMMAND.QUEUE", "SYSTEM.CHANNEL.INITQ")
_numbers = itertools.count(1)


def structure(name: str, version: int = 0, **fields: FieldValue) -> bytearray:
    layout = LAYOUTS[name]
    made = layout.default(version)
    for field, value in fields.items():
        layout.patch(made, field, value)
    return made


class Fields:
    """A structure that came back, read by the names of its fields; text and identifiers without their padding."""

    def __init__(self, name: str, data: bytes | bytearray) -> None:
        self.name = name
        self.data = bytes(data)

    def __getitem__(self, field: str) -> int | bytes:
        value = LAYOUTS[self.name].read(self.data, field)
        return value if isinstance(value, int) else trim(value)

    def id(self, field: str) -> bytes:
        return LAYOUTS[self.name].read_bytes(self.data, field)


class Answer:
    """The result of a verb: completion, reason, and its output."""

    def __init__(self, code: int, reason: int, md: bytearray, body: bytes = b"", length: int = 0) -> None:
        self.code = code
        self.reason = reason
        self.md = Fields("MQMD", md)
        self.body = body
        self.length = length
        self.options = Fields("MQPMO", b"")

    @property
    def message_id(self) -> bytes:
        return self.md.id("MsgId")


class Program:
    """One connection to a queue manager."""

    def __init__(
        self,
        manager: QueueManager,
        user: str = "tester",
        application: str = "behaviour",
        binding: str = HERE,
        port: int = 0,
    ) -> None:
        self.manager = manager
        if binding == HERE:
            self.hconn = bind(manager, user, application)
            self.connection = bound_connection(self.hconn).connection
            return
        parameters = ConnectParameters(
            queue_manager=manager.name,
            binding="local" if binding == LOCAL else "client",
            connection_name="" if binding == LOCAL else f"127.0.0.1({port})",
            data=manager.directory.root if binding == LOCAL else None,
            user=user,
            application=application,
            sharing_conversations=1,
            is_shared=True,
        )
        self.hconn = connect_handle(parameters)
        number = remote_connection(self.hconn).connection_id
        with manager.lock:
            self.connection = next(each for each in manager.engine.connections.values() if each.connection_id == number)
            # Over the Unix socket the kernel says who it is: whoever runs the tests.
            self.connection.user = user
            self.connection.identity_context = user.encode().ljust(12) + bytes(32) + b" " * 32

    @property
    def is_remote(self) -> bool:
        return self.hconn >= FIRST_REMOTE

    def handle(self, hobj: int) -> Handle:
        """The engine's handle behind the program's."""
        number = remote_connection(self.hconn).handles[hobj].hobj if self.is_remote else hobj
        return self.connection.handles[number]

    def open(self, name: str, options: int, dynamic: str = "", at: str = "", selector: str = "") -> int:
        """MQOPEN; MQError when it is refused."""
        od = structure("MQOD", 4, ObjectName=name, DynamicQName=dynamic, ObjectQMgrName=at)
        text = ctypes.create_string_buffer(selector.encode())
        if selector:
            where = ctypes.addressof(text)
            od[OD_SELECTION_STRING : OD_SELECTION_STRING + 24] = struct.pack(
                "<Qiiii", where, 0, len(selector), len(selector), 1208
            )
        hobj, code, reason = mqi.MQOPEN(self.hconn, od, options)
        self.opened = Fields("MQOD", od)
        if code == mq.MQCC_FAILED:
            raise MQError(reason)
        return hobj

    def close(self, hobj: int, options: int = 0) -> int:
        return mqi.MQCLOSE(self.hconn, hobj, options)[2]

    def put(
        self, hobj: int, body: bytes = b"", options: int = mq.MQPMO_NO_SYNCPOINT, context: int = 0, **md: FieldValue
    ) -> Answer:
        descriptor = structure("MQMD", 2, **md)
        pmo = structure("MQPMO", Options=options, Context=context)
        answer = Answer(*mqi.MQPUT(self.hconn, hobj, descriptor, pmo, body), descriptor)
        answer.options = Fields("MQPMO", pmo)
        return answer

    def put1(
        self, name: str, body: bytes = b"", options: int = mq.MQPMO_NO_SYNCPOINT, at: str = "", **md: FieldValue
    ) -> Answer:
        descriptor = structure("MQMD", 2, **md)
        pmo = structure("MQPMO", Options=options)
        od = structure("MQOD", ObjectName=name, ObjectQMgrName=at)
        answer = Answer(*mqi.MQPUT1(self.hconn, od, descriptor, pmo, body), descriptor)
        answer.options = Fields("MQPMO", pmo)
        return answer

    def get(
        self,
        hobj: int,
        options: int = mq.MQGMO_NO_SYNCPOINT,
        size: int = 10000,
        match: int = mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID,
        wait: int = 0,
        token: bytes = b"",
        version: int = 4,
        **md: FieldValue,
    ) -> Answer:
        """MQGET. Options of version 3 and later get the message's token, which only messages on a queue have."""
        descriptor = structure("MQMD", 2, **md)
        gmo = structure("MQGMO", version, Options=options, WaitInterval=wait, MatchOptions=match)
        if token:
            gmo[80:96] = token
        body, length, code, reason = mqi.MQGET(self.hconn, hobj, descriptor, gmo, size)
        answer = Answer(code, reason, descriptor, body, length)
        answer.options = Fields("MQGMO", gmo)
        return answer

    def drain(self, hobj: int, options: int = mq.MQGMO_NO_SYNCPOINT) -> list[bytes]:
        """All bodies that can be got, in the order they come."""
        bodies = []
        while True:
            answer = self.get(hobj, options, 5_000_000)
            if answer.reason == mq.MQRC_NO_MSG_AVAILABLE:
                return bodies
            assert answer.reason == mq.MQRC_NONE
            bodies.append(answer.body)

    def browse(self, name: str) -> list[Answer]:
        """Return the available messages of a queue from first to last, browsed with a new handle."""
        hobj = self.open(name, mq.MQOO_BROWSE)
        seen = []
        while True:
            answer = self.get(hobj, mq.MQGMO_BROWSE_NEXT, 5_000_000)
            if answer.reason == mq.MQRC_NO_MSG_AVAILABLE:
                self.close(hobj)
                return seen
            assert answer.reason == mq.MQRC_NONE
            seen.append(answer)

    def commit(self) -> int:
        return mqi.MQCMIT(self.hconn)[1]

    def back_out(self) -> int:
        return mqi.MQBACK(self.hconn)[1]

    def disconnect(self) -> int:
        return mqi.MQDISC(self.hconn)[2]

    def vanish(self) -> None:
        """End the application without MQDISC."""
        if self.is_remote:
            remote_connection(self.hconn).conversation.link.fail_link(mq.MQRC_CONNECTION_BROKEN, "The test ends it.")
            eventually(lambda: bool(self.connection.broken))
        else:
            self.manager.disconnect(self.connection, False)

    def reason_of_open(self, name: str, options: int, **more: str) -> int:
        try:
            self.open(name, options, **more)
        except MQError as refusal:
            return refusal.reason
        return mq.MQRC_NONE


class Site:
    """A queue manager with whatever a test needs around it."""

    def __init__(self, manager: QueueManager) -> None:
        self.manager = manager
        self.programs: list[Program] = []
        self.pool = ThreadPoolExecutor(16)
        self.binding = HERE
        self._server: Server | None = None
        self._port = 0

    def bind(self, binding: str) -> None:
        """Have programs connect in this way from now on."""
        self.binding = binding
        if binding != HERE and self._server is None:
            self._server = Server(disable_security(self.manager))
            self._server.start()
            # What the queue manager's own programs do first is no part of a test: figures would have it.
            for queue in _OWN_QUEUES:
                self.until_waiting(queue)
        if binding == TCP and not self._port:
            assert self._server is not None
            self._port = free_port()
            self.manager.define(
                new_definition(ObjectType.LISTENER, "BEHAVE", {"PORT": self._port, "IPADDR": "127.0.0.1"}), replace=True
            )
            self._server.start_listener("BEHAVE")

    def program(self, user: str = "tester", application: str = "behaviour") -> Program:
        made = Program(self.manager, user, application, self.binding, self._port)
        self.programs.append(made)
        return made

    def define(self, kind: ObjectType, name: str = "", **attributes: Value) -> str:
        """A new object, under a name that nobody has had."""
        name = name or f"{kind.value}.{next(_numbers)}"
        self.manager.define(new_definition(kind, name, attributes))
        return name

    def local(self, name: str = "", **attributes: Value) -> str:
        return self.define(ObjectType.QLOCAL, name, **attributes)

    def alias(self, target: str, **attributes: Value) -> str:
        return self.define(ObjectType.QALIAS, TARGET=target, **attributes)

    def remote(self, name: str = "", **attributes: Value) -> str:
        return self.define(ObjectType.QREMOTE, name, **attributes)

    def model(self, **attributes: Value) -> str:
        return self.define(ObjectType.QMODEL, **attributes)

    def alter(self, name: str, **changes: Value) -> None:
        """ALTER of a queue, of whatever type."""
        for kind in (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL):
            definition = self.manager.engine.of_type(kind).get(name)
            if definition is not None:
                self.manager.define(definition.with_changes(changes), replace=True)

    def alter_manager(self, **changes: Value) -> None:
        self.manager.define(self.manager.engine.manager.with_changes(changes), replace=True)

    def queue(self, name: str) -> Queue:
        return self.manager.engine.queues[name]

    def depth(self, name: str) -> int:
        return int(self.queue(name).depth)

    def start(self, verb: Callable[..., Any], *arguments: Any, **named: Any) -> Future[Any]:
        """Run something in a thread of its own."""
        return self.pool.submit(verb, *arguments, **named)

    def until_waiting(self, name: str, count: int = 1) -> None:
        """Go on when so many gets wait on a queue."""
        eventually(lambda: self.queue(name).waiting.count == count)

    def eventually(self, condition: Callable[[], bool]) -> None:
        """Go on when something that another thread does has happened."""
        eventually(condition)

    def outlive(self, tenths: int = 1) -> None:
        """Go on when a message that was put just now with this expiry is past it."""
        end = time.monotonic() + tenths / 10 + 0.02
        eventually(lambda: time.monotonic() >= end)

    def crash(self) -> None:
        """As if the process had been killed, and started again."""
        self.manager.end("preemptive")
        self._start_again()

    def restart(self) -> None:
        """End in order, and start again."""
        self.manager.end("immediate")
        self._start_again()

    def _start_again(self) -> None:
        self.manager = QueueManager(self.manager.directory)
        self.manager.start()
        registry.register(self.manager)
        self.programs = []
        self._server = None
        self._port = 0
        self.bind(self.binding)

    def close(self) -> None:
        self.manager.end("immediate")
        self.pool.shutdown()


def eventually(condition: Callable[[], bool]) -> None:
    """Go on as soon as something that another thread does has happened."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "it has not happened"
        pause.wait(0.001)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "within_process: the test runs within the process alone")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "binding" in metafunc.fixturenames:
        here_only = metafunc.definition.get_closest_marker("within_process") is not None
        metafunc.parametrize("binding", [HERE] if here_only else [HERE, LOCAL, TCP])


def new_site(directory: Path, log: LogSection | None = None, tuning: str = "") -> Site:
    name = f"BEHAVE{next(_numbers)}"
    made = create_queue_manager(directory, name, log or LogSection(file_pages=64))
    if tuning:
        made.ini.write_text(made.ini.read_text() + tuning)
    manager = QueueManager(made)
    manager.start()
    disable_security(manager)
    registry.register(manager)
    return Site(manager)


@pytest.fixture(scope="module")
def _shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = new_site(tmp_path_factory.mktemp("shared"))
    yield site
    site.close()


@pytest.fixture
def site(_shared_site: Site, binding: str) -> Iterator[Site]:
    """The module's queue manager; the programs of a test leave with it."""
    _shared_site.bind(binding)
    yield _shared_site
    for program in _shared_site.programs:
        if not program.connection.broken:
            program.vanish()
    _shared_site.programs = []


@pytest.fixture
def program(site: Site) -> Program:
    return site.program()


@pytest.fixture
def own_site(tmp_path: Path, binding: str) -> Iterator[Site]:
    """A queue manager that a test may change, crash and restart."""
    site = new_site(tmp_path)
    site.bind(binding)
    yield site
    site.close()


@pytest.fixture
def small_buffers(tmp_path: Path) -> Iterator[Site]:
    """A queue manager that keeps next to nothing of a queue in memory."""
    tuning = "\nTuningParameters:\n   DefaultQBufferSize=65536\n   DefaultPQBufferSize=65536\n"
    site = new_site(tmp_path, LogSection(file_pages=1024), tuning)
    yield site
    site.close()
