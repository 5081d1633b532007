"""CHLDISP(SHARED): a channel from a shared transmission queue, whose member is killed again and again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.free_ports import free_port
from tests.server.coupling.group_processes import MEMBER, Group, GroupProcess, OwnFacility, wait_for

from ostler.channel.sync_records import SENDING, decode_record
from ostler.client.api.connection import Connection

MESSAGES = 1600
ROUNDS = 4

DEFINITIONS = """
if is_new:
    group_queue = {**shared, "MAXDEPTH": 100_000}
    manager.define(new_definition(ObjectType.QLOCAL, "SYSTEM.QSG.CHANNEL.SYNCQ", group_queue))
    xmitq = {**group_queue, "INDXTYPE": 0, "USAGE": mq.MQUS_TRANSMISSION}
    manager.define(new_definition(ObjectType.QLOCAL, "FAR", xmitq))
    remote = {"RNAME": "IN", "RQMNAME": "FAR", "XMITQ": "FAR"}
    manager.define(new_definition(ObjectType.QREMOTE, "TO.FAR", remote))
    sender = {"CHLTYPE": mq.MQCHT_SENDER, "XMITQ": "FAR", "CONNAME": "127.0.0.1(%d)", "SHORTTMR": 1, "BATCHSZ": 20}
    manager.define(new_definition(ObjectType.CHANNEL, "QSG1.FAR", {**sender, "SHORTRTY": 9999, "DISCINT": 0}))
server = Server(manager)
"""

FAR = """
import sys
from pathlib import Path
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
manager.define(new_definition(ObjectType.QLOCAL, "IN", {"MAXDEPTH": 100_000, "SHARE": 1}))
manager.define(new_definition(ObjectType.CHANNEL, "QSG1.FAR", {"CHLTYPE": mq.MQCHT_RECEIVER}))
listener = {"TRPTYPE": 2, "PORT": int(sys.argv[2]), "CONTROL": mq.MQSVC_CONTROL_Q_MGR}
manager.define(new_definition(ObjectType.LISTENER, "TCP", listener))
server = Server(manager)
server.start()
print("ready", flush=True)
sys.stdin.read()
server.end("immediate")
"""


class SendingGroup(Group):
    """Two members that send to FAR."""

    def __init__(self, root: Path) -> None:
        port = free_port()
        super().__init__(root, OwnFacility(root), MEMBER.replace("server = Server(manager)\n", DEFINITIONS % port))
        self.far = GroupProcess(FAR, str(root), str(port))
        self.start("QMA", 1)
        self.start("QMB", 2)

    def runs_at(self) -> list[str]:
        """Return the members at which the channel is running."""
        asked = "DISPLAY CHSTATUS(QSG1.FAR) STATUS CHLDISP"
        answers = {name: "".join(member.ask(mqsc=asked)) for name, member in self.members.items()}
        return [name for name, text in answers.items() if "STATUS(RUNNING)" in text and "CHLDISP(SHARED)" in text]

    def await_running(self) -> str:
        wait_for(lambda: len(self.runs_at()) == 1, "the channel does not run at one member")
        return self.runs_at()[0]

    def close(self) -> None:
        self.far.kill()
        super().close()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[SendingGroup]:
    made = SendingGroup(tmp_path)
    try:
        yield made
    finally:
        made.close()


def put(application: Connection, bodies: list[bytes]) -> None:
    for first in range(0, len(bodies), 50):
        with application.transaction():
            for body in bodies[first : first + 50]:
                application.put("TO.FAR", body, persistent=True)


def drain(application: Connection, got: list[bytes], count: int) -> bool:
    source = application.open("IN", "r")
    while len(got) < count:
        message = source.get(wait=0.2)
        if message is None:
            break
        got.append(message.data)
    source.close()
    return len(got) >= count


def test_a_peer_goes_on_exactly_once_when_the_sending_member_is_killed(group: SendingGroup) -> None:
    bodies = [b"%d" % number for number in range(MESSAGES)]
    share = MESSAGES // ROUNDS
    numbers = {"QMA": 1, "QMB": 2}
    group.members["QMA"].ask(mqsc="START CHANNEL(QSG1.FAR) CHLDISP(SHARED)")
    got: list[bytes] = []
    with group.connect("FAR") as at_far:
        for number in range(ROUNDS):
            sender = group.await_running()
            other = "QMB" if sender == "QMA" else "QMA"
            with group.connect(other) as application:
                put(application, bodies[number * share : (number + 1) * share])
            group.kill(sender)
            assert group.await_running() == other
            group.start(sender, numbers[sender])
        wait_for(lambda: drain(at_far, got, MESSAGES), "not all messages have come to FAR")
        assert at_far.open("IN", "r").get(wait=0.5) is None, "more messages than were sent"
    assert got == bodies


def test_any_member_stops_a_shared_channel_and_starts_it_again(group: SendingGroup) -> None:
    one, other = group.members["QMA"], group.members["QMB"]
    one.ask(mqsc="START CHANNEL(QSG1.FAR) CHLDISP(SHARED)")
    assert group.await_running() == "QMA"
    refused = "".join(other.ask(mqsc="START CHANNEL(QSG1.FAR) CHLDISP(SHARED)"))
    assert "in use at QMA" in refused
    assert "AMQ8019I" in "".join(other.ask(mqsc="STOP CHANNEL(QSG1.FAR) CHLDISP(SHARED)"))
    wait_for(lambda: not group.runs_at(), "the channel does not stop")

    def is_stopped() -> bool:
        return "STATUS(STOPPED)" in "".join(other.ask(mqsc="DISPLAY CHSTATUS(QSG1.FAR) STATUS"))

    wait_for(is_stopped, "the channel is not shown as stopped")
    assert "AMQ8023I" in "".join(other.ask(mqsc="RESET CHANNEL(QSG1.FAR) SEQNUM(41) CHLDISP(SHARED)"))
    assert "AMQ8018I" in "".join(other.ask(mqsc="START CHANNEL(QSG1.FAR) CHLDISP(SHARED)"))
    assert group.await_running() == "QMB"
    got: list[bytes] = []
    with group.connect("QMA") as at_a, group.connect("FAR") as at_far:
        put(at_a, [b"after the reset"])
        wait_for(lambda: drain(at_far, got, 1), "the message does not come")
    shown = "".join(other.ask(mqsc="DISPLAY CHSTATUS(QSG1.FAR) CURSEQNO"))
    assert "CURSEQNO(41)" in shown


def test_a_fixed_channel_stays_at_its_member(group: SendingGroup) -> None:
    group.members["QMA"].ask(mqsc="START CHANNEL(QSG1.FAR) CHLDISP(FIXSHARED)")

    def is_running() -> bool:
        answer = "".join(group.members["QMA"].ask(mqsc="DISPLAY CHSTATUS(QSG1.FAR) STATUS CHLDISP"))
        return "STATUS(RUNNING)" in answer and "CHLDISP(FIXSHARED)" in answer

    wait_for(is_running, "the channel does not run")
    group.kill("QMA")
    got: list[bytes] = []
    with group.connect("QMB") as at_b, group.connect("FAR") as at_far:
        put(at_b, [b"later"])
        group.start("QMA", 1)
        wait_for(is_running, "its member does not start it again")
        wait_for(lambda: drain(at_far, got, 1), "the message does not come")
        assert not group.runs_at()


def test_a_channel_without_a_shared_transmission_queue_is_not_shared(group: SendingGroup) -> None:
    member = group.members["QMA"]
    member.ask(mqsc="DEFINE QLOCAL(ALONE) USAGE(XMITQ)")
    member.ask(mqsc="DEFINE CHANNEL(TO.ALONE) CHLTYPE(SDR) XMITQ(ALONE) CONNAME('127.0.0.1(1)')")
    answer = "".join(member.ask(mqsc="START CHANNEL(TO.ALONE) CHLDISP(SHARED)"))
    assert "needs a shared transmission queue" in answer


def test_a_trigger_starts_a_shared_channel_wherever_the_message_was_put(group: SendingGroup) -> None:
    """DEFCDISP(SHARED) is the disposition of triggered starts: one member runs the channel, again after DISCINT."""

    def is_triggered(member: GroupProcess) -> bool:
        return "TRIGGER" in "".join(member.ask(mqsc="DISPLAY QLOCAL(FAR) TRIGGER")).replace("NOTRIGGER", "")

    trigger = "TRIGGER TRIGTYPE(FIRST) TRIGDATA(QSG1.FAR) INITQ(SYSTEM.CHANNEL.INITQ)"
    altered = "".join(group.members["QMA"].ask(mqsc=f"ALTER QLOCAL(FAR) QSGDISP(SHARED) {trigger}"))
    assert "AMQ8008I" in altered
    for name, member in group.members.items():
        member.ask(mqsc="ALTER CHANNEL(QSG1.FAR) CHLTYPE(SDR) DEFCDISP(SHARED) DISCINT(1)")

        wait_for(partial(is_triggered, member), f"{name} does not know that the transmission queue has triggers")

    def has_sent(number: int) -> bool:
        """Return True when the position of the group, not one of a member, is that of message `number`."""
        with group.connect("QMA") as application, application.open("SYSTEM.QSG.CHANNEL.SYNCQ", "b") as positions:
            records = [decode_record(message.data) for message in positions.browse()]
        return [int(each.sequence) for each in records if each is not None and each.kind == SENDING] == [number]

    def has_ended() -> bool:
        """Return True when the channel runs nowhere, and nobody has its queue open: a put triggers then."""
        shown = ["".join(each.ask(mqsc="DISPLAY QSTATUS(FAR) IPPROCS")) for each in group.members.values()]
        return not group.runs_at() and all("IPPROCS(0)" in each for each in shown)

    got: list[bytes] = []
    with group.connect("FAR") as at_far:
        for number, name in enumerate(("QMA", "QMB", "QMA"), start=1):
            with group.connect(name) as application:
                put(application, [b"%d" % number])
            wait_for(partial(drain, at_far, got, number), f"message {number} has not come to FAR")
            wait_for(partial(has_sent, number), f"message {number} was not sent with the position of the group")
            wait_for(has_ended, "the channel does not end after DISCINT")
    assert got == [b"1", b"2", b"3"]
