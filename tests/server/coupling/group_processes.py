"""A coupling facility and the members of a group as processes of their own, over real sockets."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from pathlib import Path

import pytest

from ostler.client.api.connection import Connection, connect
from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.peers.redis_facility import RedisFacility
from ostler.model.errors import MQError

LIMIT_SECONDS = 120.0

FACILITY = """
import sys
from pathlib import Path
from ostler.server.coupling.facility_directory import FacilityDirectory
from ostler.server.coupling.facility_process import FacilityProcess

process = FacilityProcess(FacilityDirectory(Path(sys.argv[1]), "CF01"), None, None, lambda text: None)
process.start()
print("ready", flush=True)
process.run()
"""

MEMBER = """
import getpass, json, sys, time
from pathlib import Path
from ostler.command.mqsc.interpreter import run_command
from ostler.engine.shared.in_doubt import prepare_for_coordinator
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.coupling.group_rows import MemberRow
from ostler.model.definitions import new_definition
from ostler.model.shared_repository import MEMBERS
from ostler.server.admin.command_context import ManagerCommandContext, UserCommandContext
from ostler.server.assembly import Server
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import LogSection, LogType, QueueManagerIni
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security

root, name, number, facility = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
directory = QueueManagerDirectory(root, name)
is_new = not directory.exists()
if is_new:
    directory = create_queue_manager(root, name, LogSection(3, 2, 256, type=LogType.LINEAR))
    ini = QueueManagerIni.read(directory.ini)
    group = [("Name", "QSG1"), ("Facility", facility), ("FacilityName", "CF01"), ("MemberNumber", number)]
    ini.replace_stanzas("QueueSharingGroup", [group])
    ini.write(directory.ini)
manager = QueueManager(directory)
manager.start()
disable_security(manager)
if is_new:
    offload = {"OFFLOAD": mq.MQCFOFFLD_SMDS, "DSGROUP": "QSG1.*.APP1", "DSBLOCK": mq.MQDSB_64K}
    manager.define(new_definition(ObjectType.CFSTRUCT, "APP1", {"CFLEVEL": 5, "RECOVER": 1, **offload}))
    shared = {"QSGDISP": mq.MQQSGD_SHARED, "CFSTRUCT": "APP1", "SHARE": 1, "INDXTYPE": mq.MQIT_CORREL_ID}
    manager.define(new_definition(ObjectType.QLOCAL, "SHARED.QUEUE", shared))
    manager.define(new_definition(ObjectType.QLOCAL, "PRIVATE.QUEUE", {"SHARE": 1}))
    database = {"CFLEVEL": 5, "RECOVER": 1, "OFFLOAD": mq.MQCFOFFLD_DB2}
    manager.define(new_definition(ObjectType.CFSTRUCT, "APP4", database))
    list(run_command(ManagerCommandContext(manager), "ALTER QMGR CFCONLOS(TOLERATE)"))
    manager.define(new_definition(ObjectType.QLOCAL, "DATABASE.QUEUE", {**shared, "CFSTRUCT": "APP4"}))
server = Server(manager)
row = MemberRow(name, int(number), 0, "", str(directory.path), str(directory.log))
server.sharing.repository.create()
server.sharing.repository.write(MEMBERS, name, row.encode(), None)
server.start()
print(json.dumps({"start": int(manager.engine.member.start)}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    answer = []
    if "mqsc" in asked:
        answer = list(run_command(UserCommandContext(server, getpass.getuser(), mq.MQEVO_CONSOLE), asked["mqsc"]))
    else:
        # A coordinator prepares the unit of work of each application, as far as there is one.
        with manager.turn as engine:
            for each in list(engine.connections.values()):
                if each.unit_of_work is not None:
                    answer.append(prepare_for_coordinator(engine, each, bytes.fromhex(asked["prepare"])).task)
        while any(task is not None and not task.is_done for task in answer):
            time.sleep(0.01)
        answer = [len(answer)]
    print(json.dumps(answer), flush=True)
server.end("immediate")
"""


class GroupProcess:
    """One process, which ends with the test."""

    def __init__(self, script: str, *arguments: str) -> None:
        command = [sys.executable, "-c", script, *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.said = self._process.stdout.readline()
        assert self.said, "the process has ended before it was ready"

    def ask(self, **asked: str) -> list[str]:
        """Have a member run a command (mqsc=), or prepare its units of work (prepare=, an xid in hexadecimal)."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert isinstance(answer, list)
        return answer

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._gone()

    def end(self) -> None:
        if self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._gone()

    def _gone(self) -> None:
        self._process.wait(LIMIT_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


class GroupFacility(metaclass=ABCMeta):
    """The facility of a group, whichever engine it has."""

    address = ""
    name = "CF01"

    @abstractmethod
    def restart(self) -> None:
        """End it as a crash does, and start it again, empty."""

    @abstractmethod
    def close(self) -> None: ...


class OwnFacility(GroupFacility):
    def __init__(self, root: Path) -> None:
        self.address = str(root / "facilities" / "CF01" / "cf.sock")
        self._root = root
        self._process = GroupProcess(FACILITY, str(root))

    def restart(self) -> None:
        self._process.kill()
        self._process = GroupProcess(FACILITY, str(self._root))

    def close(self) -> None:
        self._process.kill()


class RedisGroupFacility(GroupFacility):
    """A Redis server of the test. Skips the test where the package cannot be had."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="ostler-redis-"))
        try:
            self.server = RedisFacility(self.directory, settings=settings)
        except PeerUnavailable as problem:
            shutil.rmtree(self.directory, ignore_errors=True)
            pytest.skip(f"Redis is not here: {problem}")
        self.address = self.server.address

    def restart(self) -> None:
        self.server.kill()
        shutil.rmtree(self.directory / "appendonlydir")
        self.server.start()

    def close(self) -> None:
        self.server.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Group:
    """A facility, and members by name."""

    def __init__(self, root: Path, facility: GroupFacility | None = None, member_script: str = MEMBER) -> None:
        self.root = root
        self._member_script = member_script
        self.facility = facility or OwnFacility(root)
        self.members: dict[str, GroupProcess] = {}

    def start(self, name: str, number: int, address: str = "") -> int:
        """Start a member, for the first time or again. Returns the number of its start.

        `address` is that of the facility for this member, if it goes through a proxy.
        """
        where = address or self.facility.address
        self.members[name] = GroupProcess(self._member_script, str(self.root), name, str(number), where)
        with self.connect(name) as application:
            wait_for(lambda: _can_open(application), f"{name} has not joined its group")
        return int(json.loads(self.members[name].said)["start"])

    def connect(self, name: str) -> Connection:
        return connect(name, data=self.root, binding="local")

    def kill(self, name: str) -> None:
        self.members.pop(name).kill()

    def restart_facility(self) -> None:
        self.facility.restart()

    def close(self) -> None:
        for member in self.members.values():
            member.end()
        self.facility.close()


def _can_open(application: Connection) -> bool:
    try:
        application.open("SHARED.QUEUE", "rw").close()
    except MQError:
        return False
    return True


def wait_for(condition: Callable[[], bool], missing: str) -> None:
    """Return when a condition holds; fail with what was missing."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, missing
        time.sleep(0.01)
