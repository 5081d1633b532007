"""A queue manager without sockets to give commands to, and short ways to do so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from ostler.command.admin.context import (
    CHANNEL_NOT_ACTIVE,
    SERVICE_ACTIVE,
    SERVICE_NOT_ACTIVE,
    ApplicationStatus,
    ChannelStatus,
    CommandContext,
    CommandRefused,
    ListenerStatus,
    ManagerStatus,
    ServiceStatus,
)
from ostler.command.mqsc.interpreter import CommandOutcome, run_command
from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.open import OpenRequest, close_object, open_object
from ostler.engine.pubsub.subscribe import subscribe
from ostler.engine.pubsub.subscribe_request import SubscribeRequest, SubscribeResult
from ostler.engine.put import put
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.replication import GroupStatus
from ostler.model.structures.catalogue import LAYOUTS
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import allow_any_principal

T = TypeVar("T")
STARTED_MS = 1_700_000_000_000  # 2023-11-14 22.13.20


def _given(disposition: str) -> list[str]:
    return [f"CHLDISP({disposition})"] if disposition else []


class LocalCommandContext(CommandContext):
    """Commands on a queue manager of this process. Listeners and channels are only remembered."""

    def __init__(self, manager: QueueManager) -> None:
        self.manager = manager
        self.listeners: dict[str, ListenerStatus] = {}
        self.services: dict[str, ServiceStatus] = {}
        self.channels: list[ChannelStatus] = []
        self.programs: dict[int, ApplicationStatus] = {}
        self.asked: list[tuple[str, ...]] = []
        self.channel_refusal: Exception | None = None  # what commands to channels are refused with
        self.channel_warning = ""  # what RESOLVE is answered with besides
        self.hours_on = 0  # how far the clock is ahead
        self.looks = 0
        self.copies: GroupStatus | None = None

    def query(self, read: Callable[[Engine], T]) -> T:
        self.looks += 1
        with self.manager.lock:
            self.manager.engine.now_ms = int(time.time() * 1000) + self.hours_on * 3_600_000
            return read(self.manager.engine)

    def change(self, change: Callable[[Engine], int]) -> None:
        lsn = self.query(change)
        with self.manager.turn:
            pass  # the end of a turn wakes waiting gets
        self.manager.writer.wait_durable(lsn)

    def start_listener(self, name: str) -> None:
        assert name not in self.listeners
        port = self.manager.engine.of_type(ObjectType.LISTENER)[name].attributes["PORT"]
        assert isinstance(port, int)
        self.listeners[name] = ListenerStatus(
            name, port=port or 1414, backlog=100, process_id=4711, started_ms=STARTED_MS
        )

    def stop_listener(self, name: str) -> None:
        del self.listeners[name]

    def start_channel(self, name: str, disposition: str = "") -> None:
        self._tell("start", name, *_given(disposition))

    def stop_channel(
        self,
        name: str,
        mode: str = "QUIESCE",
        status: str = "STOPPED",
        connection_name: str = "",
        queue_manager: str = "",
        disposition: str = "",
    ) -> None:
        if not any(channel.name == name for channel in self.channels):
            raise CommandRefused(CHANNEL_NOT_ACTIVE, f"Channel {name} is not active.")
        self.asked.append(("stop", name, mode, status, connection_name, queue_manager, *_given(disposition)))

    def _tell(self, *words: str) -> None:
        if self.channel_refusal is not None:
            raise self.channel_refusal
        self.asked.append(words)

    def ping_channel(self, name: str, data_bytes: int) -> None:
        self._tell("ping", name, str(data_bytes))

    def reset_channel(self, name: str, sequence_number: int, disposition: str = "") -> None:
        self._tell("reset", name, str(sequence_number), *_given(disposition))

    def resolve_channel(self, name: str, action: str, luwid: bytes = b"", disposition: str = "") -> str:
        self._tell("resolve", name, action, *([luwid.hex()] if luwid else []), *_given(disposition))
        return self.channel_warning

    def start_channel_initiator(self, queue: str) -> None:
        self._tell("start initiator", queue)

    def stop_channel_initiator(self) -> None:
        self._tell("stop initiator")

    def refresh_tls(self) -> None:
        self.asked.append(("refresh",))

    def refresh_security(self, what: str) -> None:
        self.asked.append(("refresh security", what))

    def start_service(self, name: str) -> None:
        if name in self.services:
            raise CommandRefused(SERVICE_ACTIVE, f"Service {name} is active already.")
        self.services[name] = ServiceStatus(name, 4712, STARTED_MS)

    def stop_service(self, name: str) -> None:
        if name not in self.services:
            raise CommandRefused(SERVICE_NOT_ACTIVE, f"Service {name} is not active.")
        del self.services[name]

    def service_status(self) -> list[ServiceStatus]:
        return list(self.services.values())

    def start_command_server(self) -> None:
        self.asked.append(("start command server",))

    def stop_command_server(self) -> None:
        self.asked.append(("stop command server",))

    def stop_connection(self, number: int) -> bool:
        self.asked.append(("stop connection", str(number)))
        return number in self.manager.engine.connections

    def write_statistics(self) -> None:
        self.asked.append(("write statistics",))

    def advance_log(self) -> str:
        self.asked.append(("advance log",))
        return "S0000001.LOG"

    def expire_messages(self) -> None:
        self.asked.append(("expire messages",))

    def refresh_configuration(self, kinds: Sequence[ObjectType], pattern: str, minutes: int) -> None:
        self.asked.append(("refresh configuration", *(kind.value for kind in kinds), pattern, str(minutes)))

    def listener_status(self) -> list[ListenerStatus]:
        return list(self.listeners.values())

    def channel_status(self) -> list[ChannelStatus]:
        return self.channels

    def manager_status(self) -> ManagerStatus:
        return ManagerStatus(started_ms=STARTED_MS, host_name="here", log_primary_extents=3, log_in_use=7)

    def replication_status(self) -> GroupStatus | None:
        return self.copies

    def application_status(self) -> dict[int, ApplicationStatus]:
        return self.programs


class Operator:
    """Somebody at the keyboard."""

    def __init__(self, target: LocalCommandContext) -> None:
        self.target = target

    def run(self, command: str) -> tuple[list[str], CommandOutcome]:
        lines: list[str] = []
        running = run_command(self.target, command)
        while True:
            try:
                lines.append(next(running))
            except StopIteration as end:
                return lines, end.value

    def says(self, command: str) -> list[str]:
        """The answer to a command that works."""
        lines, outcome = self.run(command)
        assert outcome is CommandOutcome.DONE, lines
        return lines

    def fails(self, command: str) -> str:
        """The line that says why a command that is understood cannot be done."""
        lines, outcome = self.run(command)
        assert outcome is CommandOutcome.FAILED, lines
        assert len(lines) == 1
        return lines[0]

    def is_wrong(self, command: str) -> tuple[str, str]:
        """Why a command is not understood, and the part of it up to the word that is wrong."""
        lines, outcome = self.run(command)
        assert outcome is CommandOutcome.SYNTAX_ERROR, lines
        number, _, why = lines[0].partition("command below: ")
        assert number.startswith("AMQ8405I: ")
        return why, lines[1]

    def script(self, text: str, verify_only: bool = False, echo: bool = True) -> tuple[list[str], ScriptCounts]:
        *lines, counts = run_script(self.target, text, verify_only, echo)
        assert isinstance(counts, ScriptCounts)
        return [str(line) for line in lines], counts


LOG = LogSection(file_pages=64)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[QueueManager]:
    manager = QueueManager(allow_any_principal(create_queue_manager(tmp_path, "TEST", LOG)))
    manager.start()
    yield manager
    manager.end("immediate")


@pytest.fixture
def target(manager: QueueManager) -> LocalCommandContext:
    return LocalCommandContext(manager)


@pytest.fixture
def operator(target: LocalCommandContext) -> Operator:
    return Operator(target)


class Program:
    """An application inside the queue manager's process, by the engine's own verbs."""

    def __init__(self, manager: QueueManager, user: str = "ann", application: str = "orders") -> None:
        self.manager = manager
        self.connection = manager.connect(user, application)

    def open(self, name: str, options: int) -> Handle:
        request = OpenRequest(mq.MQOT_Q, name, options)
        request.dynamic_name = "DYNAMIC.*"
        with self.manager.lock:
            return open_object(self.manager.engine, self.connection, request)

    def put(self, name: str, body: bytes = b"x") -> None:
        handle = self.open(name, mq.MQOO_OUTPUT)
        with self.manager.lock:
            engine = self.manager.engine
            engine.now_ms = STARTED_MS
            md = bytes(LAYOUTS["MQMD"].default(2))
            assert put(engine, self.connection, handle, md, mq.MQPMO_NO_SYNCPOINT, b"", body, None).reason == 0
            close_object(engine, self.connection, handle, 0)

    def open_topic(self, topic: str, object_name: str = "") -> Handle:
        request = OpenRequest(mq.MQOT_TOPIC, object_name, mq.MQOO_OUTPUT)
        request.topic_string = topic
        with self.manager.lock:
            self.manager.engine.now_ms = STARTED_MS
            return open_object(self.manager.engine, self.connection, request)

    def publish(self, handle: Handle, body: bytes = b"x", options: int = 0) -> int:
        md = bytes(LAYOUTS["MQMD"].default(2))
        with self.manager.lock:
            engine = self.manager.engine
            engine.now_ms = STARTED_MS
            return put(engine, self.connection, handle, md, mq.MQPMO_NO_SYNCPOINT | options, b"", body, None).reason

    def close(self, handle: Handle, options: int = 0) -> None:
        with self.manager.lock:
            close_object(self.manager.engine, self.connection, handle, options)

    def subscribe(self, topic: str, name: str = "", options: int = 0) -> SubscribeResult:
        request = SubscribeRequest(mq.MQSO_CREATE | mq.MQSO_MANAGED | options)
        request.topic_string = topic
        request.name = name
        with self.manager.lock:
            return subscribe(self.manager.engine, self.connection, request)

    def depth(self, queue: str) -> int:
        return int(self.manager.engine.queues[queue].depth)


@pytest.fixture
def program(manager: QueueManager) -> Program:
    return Program(manager)
