"""Control actions: only the owner, only arguments that make sense, and what is answered."""

from __future__ import annotations

import base64
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQRC_NOT_AUTHORIZED,
    MQRC_OBJECT_DAMAGED,
    MQRC_OPTIONS_ERROR,
    MQRC_UNKNOWN_OBJECT_NAME,
)
from ostler.model.definitions import Definition, new_definition
from ostler.model.errors import MQError
from ostler.server.admin.control_actions import control_actions
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType
from ostler.server.daemon import Daemon, StartFailure, notify_service_manager
from ostler.server.queue_manager import QueueManager, create_queue_manager


@dataclass(frozen=True)
class Who:
    user: str = "me"
    is_owner: bool = True


OWNER = Who()


class Nobody:
    def progress(self, done_bytes: int, total_bytes: int) -> None: ...

    def ready(self, manager: QueueManager) -> None: ...

    def failed(self, failure: StartFailure) -> None: ...


class NoServer:
    def start(self, with_listeners: bool = True) -> None: ...

    def end(self, mode: str = "quiesce", wait_seconds: float = 0.0) -> None: ...


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[QueueManager]:
    section = LogSection(
        primary_files=2, secondary_files=1, file_pages=64, type=LogType.LINEAR, management=LogManagement.MANUAL
    )
    with QueueManager(create_queue_manager(tmp_path, "QM1", section)) as manager:
        manager.start()
        yield manager


def ask(manager: QueueManager, action: str, who: Who = OWNER, **arguments: object) -> list[dict[str, object]]:
    daemon = Daemon(manager.directory, Nobody(), lambda manager, daemon: NoServer(), "1.2", "test")
    daemon.is_ending.set()
    return list(control_actions(manager, daemon)[action](arguments, who))


@pytest.mark.parametrize(
    "action", ["status", "end", "record_image", "recover_object", "run_trusted", "definitions", "replication"]
)
def test_only_the_owner_may(manager: QueueManager, action: str) -> None:
    with pytest.raises(MQError, match="only the owner") as caught:
        ask(manager, action, Who("somebody", is_owner=False))
    assert caught.value.reason == MQRC_NOT_AUTHORIZED


def test_the_status_has_what_operators_ask_for(manager: QueueManager) -> None:
    manager.connect("user", "program")
    (status,) = ask(manager, "status")
    assert (status["name"], status["status"], status["connections"]) == ("QM1", "Running", 1)
    assert (status["version"], status["flavour"]) == ("1.2", "test")


@pytest.mark.parametrize(
    ("action", "arguments"),
    [
        ("end", {"mode": "gently"}),
        ("end", {"mode": 3}),
        ("end", {"wait_seconds": "long"}),
        ("end", {"wait_seconds": True}),
        ("record_image", {"type": "nonsense"}),
        ("record_image", {"name": "a b"}),
        ("record_image", {"name": "[A]"}),
        ("recover_object", {"name": 7}),
        ("run_trusted", {"target": "nothing"}),
        ("run_trusted", {"target": "os:getpid", "path": "text"}),
        ("run_trusted", {"target": "os:getpid", "arguments": [1]}),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    manager: QueueManager, action: str, arguments: dict[str, object]
) -> None:
    with pytest.raises(MQError) as caught:
        ask(manager, action, **arguments)
    assert caught.value.reason == MQRC_OPTIONS_ERROR


def test_definitions_are_told_without_passwords(manager: QueueManager) -> None:
    values: dict[str, Value] = {"AUTHTYPE": "IDPWLDAP", "LDAPPWD": "opensesame"}
    manager.define(new_definition(ObjectType.AUTHINFO, "LDAP", values))
    told = [Definition.decode(base64.b64decode(str(each["definition"]))) for each in ask(manager, "definitions")]
    assert told[0].object_type == ObjectType.QMGR
    assert {each.name: each for each in told}["LDAP"].attributes["LDAPPWD"] == "********"
    assert len(told) == len({(each.object_type, each.name) for each in told}) > 80


def test_an_end_is_accepted(manager: QueueManager) -> None:
    assert ask(manager, "end", mode="quiesce", wait_seconds=-1)[-1] == {"accepted": True}


def test_images_by_name_and_by_pattern(manager: QueueManager) -> None:
    for name in ("ONE", "OTHER"):
        manager.define(new_definition(ObjectType.QLOCAL, name, {}))
    assert ask(manager, "record_image", type="qlocal", name="ONE")[-1]["processed"] == 1
    assert ask(manager, "record_image", type="QLOCAL", name="O*")[-1]["processed"] == 2
    assert ask(manager, "record_image", type="queue", name="NONE*")[-1]["processed"] == 0
    with pytest.raises(MQError) as caught:
        ask(manager, "record_image", type="queue", name="NONE")
    assert caught.value.reason == MQRC_UNKNOWN_OBJECT_NAME


def test_a_damaged_queue_has_no_image_recorded_and_is_recovered(manager: QueueManager) -> None:
    manager.define(new_definition(ObjectType.QLOCAL, "ONE", {}))
    ask(manager, "record_image", type="queue", name="ONE")
    manager.engine.queues["ONE"].damaged = "a test said so"
    with pytest.raises(MQError) as caught:
        ask(manager, "record_image", type="queue", name="ONE")
    assert caught.value.reason == MQRC_OBJECT_DAMAGED
    assert ask(manager, "recover_object", type="all", name="*")[-1] == {"processed": 1}
    assert manager.engine.queues["ONE"].damaged == ""


def test_an_application_is_waited_for_or_not(manager: QueueManager) -> None:
    assert ask(manager, "run_trusted", target="os:getpid")[-1] == {"status": os.getpid() & 0xFF}
    assert ask(manager, "run_trusted", target="os:getpid", background=True)[-1] == {"status": 0}


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_the_service_manager_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    address = str(tmp_path / "notify") if kind == "path" else f"\0ostler-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.settimeout(10)
        listening.bind(address)
        monkeypatch.setenv("NOTIFY_SOCKET", address.replace("\0", "@"))
        notify_service_manager("READY=1")
        assert listening.recv(100) == b"READY=1"
    notify_service_manager("nobody listens any more, and nothing is raised")
