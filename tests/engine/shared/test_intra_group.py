"""Intra-group queuing: messages between members over SYSTEM.QSG.TRANSMIT.QUEUE, without channels."""

from __future__ import annotations

import pytest
from tests.world.group.channel_group import open_remote
from tests.world.group.group_world import GroupWorld, MemberWorld

from ostler.channel.intra_group_agent import IntraGroupAgent, IntraGroupPort
from ostler.engine import objects
from ostler.engine.connection import Connection
from ostler.engine.open import OpenRequest, open_object
from ostler.engine.queue.transmission import IGQ_QUEUE, igq_correlation_id
from ostler.model import constants as mq
from ostler.model.errors import MQError


class AgentPort(IntraGroupPort):
    def __init__(self, member: IgqMember) -> None:
        self.member = member
        self.notes: list[str] = []
        self.timer_ms = -1
        self.users: list[str] = []

    def connect(self, user: str) -> Connection:
        self.users.append(user)
        return self.member.connect(user or "QMGR")

    def release(self, connection: Connection) -> None:
        self.member.disconnect(connection)

    def set_timer(self, milliseconds: int) -> None:
        self.timer_ms = milliseconds

    def note(self, text: str) -> None:
        self.notes.append(text)


class IgqMember(MemberWorld):
    agent: IntraGroupAgent

    def begin_membership(self) -> None:
        self.igq = AgentPort(self)
        self.agent = IntraGroupAgent(self.engine, self.igq)
        self.wants_pump = False
        self.agent.waker = self._wake
        super().begin_membership()

    def _wake(self) -> None:
        self.wants_pump = True

    def step(self) -> bool:
        if not self.is_up:
            return False
        woken, self.engine.woken = self.engine.woken, []
        for request in woken:
            if callable(request.waker):
                request.waker()
        if self.wants_pump:
            self.wants_pump = False
            self.agent.pump()
            return True
        return super().step() or bool(self.engine.woken)


class IgqWorld(GroupWorld):
    member_type = IgqMember


class Group:
    def __init__(self) -> None:
        self.world = IgqWorld("QM1", "QM2")
        self.world.define_structure("APP1")
        attributes = {"USAGE": mq.MQUS_TRANSMISSION, "INDXTYPE": mq.MQIT_CORREL_ID, "MAXDEPTH": 1000}
        self.world.define_queue(IGQ_QUEUE, attributes=attributes)
        one, other = self.world.members
        assert isinstance(one, IgqMember)
        assert isinstance(other, IgqMember)
        self.one, self.other = one, other
        for member in (one, other):
            member.define_queue("DLQ")
            self.alter(member, {"IGQ": mq.MQIGQ_ENABLED, "DEADQ": "DLQ"})
            member.agent.begin()
        other.define_queue("PRIVATE")
        self.world.settle()

    def alter(self, member: MemberWorld, attributes: dict[str, int | str]) -> None:
        objects.define(member.engine, member.engine.manager.with_changes(dict(attributes)), True)

    def put(self, body: bytes, queue: str = "PRIVATE", persistence: int = 1) -> None:
        application = self.one.connect()
        out = open_remote(self.one, application, queue, "QM2")
        assert out.queue is not None
        assert out.queue.name == IGQ_QUEUE
        assert self.one.put(application, out, body, persistence=persistence).reason == 0
        self.one.disconnect(application)
        self.world.settle()


def test_a_message_reaches_a_private_queue_of_another_member() -> None:
    group = Group()
    for number in range(120):
        group.put(b"%d" % number, persistence=number % 2)
    assert group.other.bodies("PRIVATE") == [b"%d" % number for number in range(120)]
    assert group.one.bodies(IGQ_QUEUE) == []
    assert group.world.entries() == {"committed": 0, "uncommitted": 0, "got": 0}


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_messages_wait_for_a_member_that_is_down(seed: int | None) -> None:
    group = Group()
    group.put(b"before")
    group.other.force()
    group.other.die(seed)
    group.world.settle()
    group.put(b"meanwhile")
    assert group.one.bodies(IGQ_QUEUE) == [b"meanwhile"] or len(group.one.messages(IGQ_QUEUE)) == 1
    group.other.come_back()
    group.other.agent.begin()
    group.world.settle()
    assert group.other.bodies("PRIVATE") == [b"before", b"meanwhile"]
    assert group.one.bodies(IGQ_QUEUE) == []


@pytest.mark.parametrize("steps", range(0, 40, 2))
def test_a_member_that_dies_while_it_delivers_has_the_message_once(steps: int) -> None:
    group = Group()
    with group.world.hold():
        application = group.one.connect()
        handle = open_remote(group.one, application, "PRIVATE", "QM2")
        group.one.put_later(application, handle, b"once")
    for _ in range(6):
        group.one.step()
    for _ in range(steps):
        group.other.step()
        group.one.step()
    group.other.die(steps)
    group.world.settle()
    group.other.come_back()
    group.other.agent.begin()
    group.world.settle()
    assert group.other.bodies("PRIVATE") == [b"once"]
    assert group.one.bodies(IGQ_QUEUE) == []


def test_an_undeliverable_message_goes_to_the_dead_letter_queue() -> None:
    group = Group()
    group.put(b"lost", queue="NOWHERE")
    assert group.other.bodies("PRIVATE") == []
    [dead] = group.other.bodies("DLQ")
    assert dead.endswith(b"lost")
    assert any(note.startswith("AMQ7571W") for note in group.other.igq.notes)
    group.put(b"next")
    assert group.other.bodies("PRIVATE") == [b"next"]


def test_without_a_dead_letter_queue_a_persistent_message_stays_and_is_retried() -> None:
    group = Group()
    group.alter(group.other, {"DEADQ": ""})
    group.put(b"gone", queue="NOWHERE", persistence=0)
    assert len(group.one.messages(IGQ_QUEUE)) == 0, "a non-persistent message is discarded"
    group.put(b"kept", queue="NOWHERE")
    assert len(group.one.messages(IGQ_QUEUE)) == 1
    assert group.other.igq.timer_ms == 60_000
    assert group.other.igq.notes[-1].startswith("AMQ7570E")
    group.other.define_queue("NOWHERE")
    group.other.agent.on_timer()
    group.world.settle()
    assert group.other.bodies("NOWHERE") == [b"kept"]


@pytest.mark.parametrize(
    ("authority", "user"),
    [
        (mq.MQIGQPA_DEFAULT, "tester"),
        (mq.MQIGQPA_CONTEXT, "tester"),
        (mq.MQIGQPA_ONLY_IGQ, "igquser"),
        (mq.MQIGQPA_ALTERNATE_OR_IGQ, "igquser"),
    ],
)
def test_igqaut_chooses_the_user(authority: int, user: str) -> None:
    group = Group()
    group.alter(group.other, {"IGQAUT": authority, "IGQUSER": "igquser"})
    group.put(b"x")
    assert group.other.bodies("PRIVATE") == [b"x"]
    assert group.other.igq.users[-1] == user


def test_a_change_of_igq_invalidates_handles() -> None:
    group = Group()
    application = group.one.connect()
    out = open_remote(group.one, application, "PRIVATE", "QM2")
    group.alter(group.one, {"IGQ": mq.MQIGQ_DISABLED})
    assert group.one.put(application, out, b"x").reason == mq.MQRC_OBJECT_CHANGED
    request = OpenRequest(mq.MQOT_Q, "PRIVATE", mq.MQOO_OUTPUT)
    request.manager_name = "QM2"
    with pytest.raises(MQError) as refused:
        open_object(group.one.engine, application, request)
    assert refused.value.reason == mq.MQRC_UNKNOWN_REMOTE_Q_MGR


def test_long_names_have_identifiers_of_their_own() -> None:
    names = ["A" * 48, "A" * 47, "A" * 24, "QM1"]
    identifiers = {igq_correlation_id(name) for name in names}
    assert len(identifiers) == len(names)
    assert all(len(each) == 24 for each in identifiers)
