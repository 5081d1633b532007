"""A queue manager that sends to a group while members are killed: a group listener, IGQ, both kinds of facilities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.server.coupling.group_processes import (
    MEMBER,
    Group,
    GroupFacility,
    GroupProcess,
    OwnFacility,
    RedisGroupFacility,
    wait_for,
)

from ostler.channel.sync_records import RECEIVING, decode_record
from ostler.client.api.connection import Connection
from ostler.model.errors import MQError

MESSAGES = 2000
ROUNDS = 4

DEFINITIONS = """
if is_new:
    group_queue = {**shared, "MAXDEPTH": 100_000}
    manager.define(new_definition(ObjectType.QLOCAL, "IN", {**group_queue, "INDXTYPE": 0}))
    manager.define(new_definition(ObjectType.QLOCAL, "SYSTEM.QSG.CHANNEL.SYNCQ", group_queue))
    manager.define(
        new_definition(ObjectType.QLOCAL, "SYSTEM.QSG.TRANSMIT.QUEUE", {**group_queue, "USAGE": mq.MQUS_TRANSMISSION})
    )
    manager.define(new_definition(ObjectType.CHANNEL, "FAR.QSG1", {"CHLTYPE": mq.MQCHT_RECEIVER}))
    manager.define(manager.engine.manager.with_changes({"IGQ": mq.MQIGQ_ENABLED}), replace=True)
    listener = {"TRPTYPE": 2, "PORT": %d, "INDISP": mq.MQINBD_GROUP, "CONTROL": mq.MQSVC_CONTROL_Q_MGR}
    manager.define(new_definition(ObjectType.LISTENER, "GROUP.TCP", listener))
server = Server(manager)
"""

FAR = """
import getpass, json, sys
from pathlib import Path
from ostler.command.mqsc.interpreter import run_command
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.server.assembly import Server
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import disable_security

directory = create_queue_manager(Path(sys.argv[1]), "FAR", LogSection(3, 2, 256))
manager = QueueManager(directory)
manager.start()
disable_security(manager)
xmitq = {"USAGE": mq.MQUS_TRANSMISSION, "MAXDEPTH": 100_000}
manager.define(new_definition(ObjectType.QLOCAL, "QSG1", xmitq))
remote = {"RNAME": "IN", "RQMNAME": "QSG1", "XMITQ": "QSG1"}
manager.define(new_definition(ObjectType.QREMOTE, "TO.GROUP", remote))
sender = {"CHLTYPE": mq.MQCHT_SENDER, "XMITQ": "QSG1", "CONNAME": f"127.0.0.1({sys.argv[2]})", "SHORTTMR": 1}
manager.define(new_definition(ObjectType.CHANNEL, "FAR.QSG1", {**sender, "SHORTRTY": 9999, "BATCHSZ": 20}))
server = Server(manager)
server.start()
server.start_channel("FAR.QSG1")
print("ready", flush=True)
for line in sys.stdin:
    context = server.context_for(getpass.getuser(), mq.MQEVO_CONSOLE)
    print(json.dumps(list(run_command(context, json.loads(line)["mqsc"]))), flush=True)
server.end("immediate")
"""


class GroupAndPartner(Group):
    def __init__(self, root: Path, facility: GroupFacility) -> None:
        self.port = free_port()
        script = MEMBER.replace("server = Server(manager)\n", DEFINITIONS % self.port)
        super().__init__(root, facility, script)
        self.start("QMA", 1)
        self.start("QMB", 2)
        self.far = GroupProcess(FAR, str(root), str(self.port))

    def close(self) -> None:
        self.far.kill()
        super().close()


@pytest.fixture(params=["own", "redis"])
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GroupAndPartner]:
    facility = RedisGroupFacility() if request.param == "redis" else OwnFacility(tmp_path)
    made = GroupAndPartner(tmp_path, facility)
    try:
        yield made
    finally:
        made.close()


def drain(application: Connection, queue: str, got: list[bytes], count: int) -> bool:
    """Get what is there, until `count` messages have come."""
    source = application.open(queue, "r")
    while len(got) < count:
        message = source.get(wait=0.2)
        if message is None:
            break
        got.append(message.data)
    source.close()
    return len(got) >= count


def test_a_partner_of_the_group_listener_sends_exactly_once_while_members_are_killed(group: GroupAndPartner) -> None:
    bodies = [b"%d" % number for number in range(MESSAGES)]
    share = MESSAGES // ROUNDS
    with group.connect("FAR") as at_far:
        for number in range(ROUNDS):
            for first in range(number * share, (number + 1) * share, 50):
                with at_far.transaction():
                    for body in bodies[first : first + 50]:
                        at_far.put("TO.GROUP", body, persistent=True)
            name = ("QMA", "QMB")[number % 2]
            group.kill(name)
            group.start(name, number % 2 + 1)
    got: list[bytes] = []
    with group.connect("QMA") as at_a:
        wait_for(lambda: drain(at_a, "IN", got, MESSAGES), "not all messages have come to the group")
        assert at_a.open("IN", "r").get(wait=0.5) is None, "more messages than were sent"
    assert got == bodies


def test_intra_group_queuing_reaches_a_private_queue_of_the_other_member(group: GroupAndPartner) -> None:
    got: list[bytes] = []
    with group.connect("QMA") as at_a, group.connect("QMB") as at_b:

        def can_put() -> bool:
            try:
                at_a.open("PRIVATE.QUEUE", "w", manager="QMB").close()
            except MQError:
                return False
            return True

        wait_for(can_put, "QMA does not know that QMB is in its group")
        out = at_a.open("PRIVATE.QUEUE", "w", manager="QMB")
        for number in range(100):
            out.put(b"%d" % number, persistent=number % 2 == 0)
        wait_for(lambda: drain(at_b, "PRIVATE.QUEUE", got, 100), "the IGQ agent of QMB does not deliver")
    assert sorted(got, key=int) == [b"%d" % number for number in range(100)]


def test_a_reset_at_the_receiving_end_reaches_the_position_of_the_group(group: GroupAndPartner) -> None:
    """As given by CHLDISP, or by DEFCDISP of the channel; the last committed batch stays known."""
    got: list[bytes] = []
    at_a, at_b = group.members["QMA"], group.members["QMB"]

    def send(body: bytes) -> None:
        with group.connect("FAR") as at_far, group.connect("QMA") as application:
            at_far.put("TO.GROUP", body, persistent=True)
            wait_for(lambda: drain(application, "IN", got, len(got) + 1), f"{body!r} has not come to the group")

    def position() -> tuple[int, bytes]:
        with group.connect("QMB") as application, application.open("SYSTEM.QSG.CHANNEL.SYNCQ", "b") as queue:
            records = [decode_record(message.data) for message in queue.browse()]
        (record,) = [each for each in records if each is not None and each.kind == RECEIVING]
        return int(record.sequence), record.luwid

    def reset(member: GroupProcess, text: str) -> str:
        return "".join(member.ask(mqsc=f"RESET CHANNEL(FAR.QSG1) {text}"))

    send(b"one")
    send(b"two")
    before = position()
    assert before[0] == 2
    assert "is in use at QM" in reset(at_a, "SEQNUM(41) CHLDISP(SHARED)")
    group.far.ask(mqsc="STOP CHANNEL(FAR.QSG1)")
    wait_for(lambda: "AMQ8023I" in reset(at_a, "SEQNUM(41) CHLDISP(SHARED)"), "the channel stays in use")
    assert position() == (40, before[1])
    assert "AMQ8023I" in reset(at_b, "SEQNUM(51)")
    assert position() == (40, before[1]), "without CHLDISP it is the private channel that is reset"
    at_b.ask(mqsc="ALTER CHANNEL(FAR.QSG1) CHLTYPE(RCVR) DEFCDISP(SHARED)")
    assert "AMQ8023I" in reset(at_b, "SEQNUM(3)")
    assert position() == before
    group.far.ask(mqsc="START CHANNEL(FAR.QSG1)")
    send(b"three")
    assert got == [b"one", b"two", b"three"]
