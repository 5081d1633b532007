"""Members of a group in the process of the test, with a coupling facility that is a process: for commands on them."""

from __future__ import annotations

from pathlib import Path

from tests.command.conftest import Operator
from tests.command.pcf.pcf_requests import Administrator
from tests.server.coupling.group_processes import OwnFacility, wait_for

from ostler.client.api.connection import Connection, connect
from ostler.command.mqsc.interpreter import run_command
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.definitions import new_definition
from ostler.server.admin.command_context import ManagerCommandContext
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection, LogType, QueueManagerIni
from ostler.server.coupling.group_service import GroupService
from ostler.server.coupling.repository.opening import open_repository
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security

SMALL_LOG = LogSection(primary_files=3, secondary_files=2, file_pages=256, type=LogType.LINEAR)
SMDS: dict[str, Value] = {
    "OFFLOAD": mq.MQCFOFFLD_SMDS,
    "DSGROUP": "QSG1.*.APP1",
    "DSBLOCK": mq.MQDSB_64K,
    "CFLEVEL": 5,
    "RECOVER": 1,
}


class MemberHere:
    def __init__(self, root: Path, name: str, number: int, facility: str, loss: str = "TOLERATE") -> None:
        """`loss` is CFCONLOS of the queue manager."""
        self.root = root
        self.loss = loss
        self.name = name
        directory = create_queue_manager(root, name, SMALL_LOG)
        ini = QueueManagerIni.read(directory.ini)
        group = [("Name", "QSG1"), ("Facility", facility), ("FacilityName", "CF01"), ("MemberNumber", str(number))]
        ini.replace_stanzas("QueueSharingGroup", [group])
        ini.write(directory.ini)
        self.directory = directory
        self.start({"APP1": SMDS})

    def start(self, structures: dict[str, dict[str, Value]] | None = None) -> None:
        self.manager = QueueManager(self.directory)
        self.manager.start()
        disable_security(self.manager)
        for name, attributes in (structures or {}).items():
            self.manager.define(new_definition(ObjectType.CFSTRUCT, name, attributes))
            shared: dict[str, Value] = {"QSGDISP": mq.MQQSGD_SHARED, "CFSTRUCT": name, "SHARE": 1}
            self.manager.define(new_definition(ObjectType.QLOCAL, "SHARED.QUEUE", shared))
        list(run_command(ManagerCommandContext(self.manager), f"ALTER QMGR CFCONLOS({self.loss})"))
        self.server = Server(self.manager)
        self.server.start(with_listeners=False)
        self.operator = Operator(self.server.target)  # type: ignore[arg-type]
        self.admin = Administrator(self.server.target)
        wait_for(lambda: self.connection().endswith("STATUS(OPEN)"), f"{self.name} has not opened its data set")

    @property
    def service(self) -> GroupService:
        assert self.server.sharing is not None
        return self.server.sharing

    def connect(self) -> Connection:
        return connect(self.name, data=self.root, binding="local")

    def words(self, command: str) -> list[str]:
        """The answer to a command in words, such as STATUS(OPEN), without its title."""
        return [word for line in self.operator.says(command)[1:] for word in line.split()]

    def connection(self, owner: str = "") -> str:
        return self.words(f"DISPLAY SMDSCONN({owner or self.name}) CFSTRUCT(APP1) STATUS")[-1]

    def data_set(self) -> Path:
        return self.root / "groups" / "QSG1" / f"QSG1.{self.name}.APP1"

    def noted(self, number: str) -> list[str]:
        """The messages of a number in the error log."""
        lines: list[str] = []
        for path in sorted((self.directory.path / "errors").glob("*.LOG")):
            lines += [line for line in path.read_text().splitlines() if number in line]
        return lines

    def end(self) -> None:
        self.server.end("immediate")


class GroupHere:
    def __init__(self, root: Path, *names: str) -> None:
        directory = root / "groups" / "QSG1"
        directory.mkdir(parents=True)
        repository = open_repository(str(directory / "repository.db"), "QSG1")
        repository.create()
        repository.close()
        self.facility = OwnFacility(root)
        self.members: list[MemberHere] = []
        for number, name in enumerate(names, start=1):
            self.members.append(MemberHere(root, name, number, self.facility.address))

    def close(self) -> None:
        for member in self.members:
            member.end()
        self.facility.close()
