"""Which authority on which object a command needs."""

from __future__ import annotations

import pytest
from tests.command.conftest import LocalCommandContext

from ostler.command.admin.context import CommandRefused
from ostler.command.admin.permissions import authorize, authorize_define, may_see, mqot, needed_authorities
from ostler.model.attributes import ObjectType
from ostler.model.authorities import CHG, CLR, CRT, CTRL, CTRLX, DLT, DSP
from ostler.model.constants import (
    MQOT_CHANNEL,
    MQOT_CLNTCONN_CHANNEL,
    MQOT_LISTENER,
    MQOT_Q,
    MQOT_Q_MGR,
    MQOT_SERVICE,
    MQOT_TOPIC,
)
from ostler.security.authorities import OBJECT_TYPES, VALID_AUTHORITIES
from ostler.server.queue_manager import QueueManager

OBJECTS = [kind for kind in ObjectType if mqot(kind) != MQOT_Q_MGR]


class CountingTarget(LocalCommandContext):
    """Refuses one thing, and writes down what it was asked."""

    def __init__(self, manager: QueueManager, refused: tuple[int, str, int] = (0, "", 0)) -> None:
        super().__init__(manager)
        self.refused = refused
        self.questions: list[tuple[int, str, int]] = []

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        self.questions.append((object_type, name, authorities))
        return (object_type, name, authorities) != self.refused


@pytest.mark.parametrize(
    ("verb", "kind", "object_type", "mask"),
    [
        ("ALTER", ObjectType.QLOCAL, MQOT_Q, CHG),
        ("ALTER", ObjectType.QMGR, MQOT_Q_MGR, CHG),
        ("CLEAR", ObjectType.QLOCAL, MQOT_Q, CLR),
        ("CLEAR", ObjectType.TOPIC, MQOT_TOPIC, CLR),
        ("DEFINE", ObjectType.QALIAS, MQOT_Q, CRT),
        ("DEFINE", ObjectType.SUB, MQOT_Q_MGR, CHG),
        ("DELETE", ObjectType.QREMOTE, MQOT_Q, DLT),
        ("DELETE", ObjectType.AUTHREC, MQOT_Q_MGR, CHG),
        ("DISPLAY", ObjectType.QMODEL, MQOT_Q, DSP),
        ("DISPLAY", ObjectType.QSTATUS, MQOT_Q, DSP),
        ("DISPLAY", ObjectType.CHSTATUS, MQOT_CHANNEL, DSP),
        ("DISPLAY", ObjectType.CONN, MQOT_Q_MGR, DSP),
        ("DISPLAY", ObjectType.CHLAUTH, MQOT_Q_MGR, DSP),
        ("PING", ObjectType.CHANNEL, MQOT_CHANNEL, CTRL),
        ("PING", ObjectType.QMGR, MQOT_Q_MGR, 0),
        ("REFRESH", ObjectType.QMGR, MQOT_Q_MGR, CHG),
        ("REPLACE", ObjectType.CLNTCONN, MQOT_CLNTCONN_CHANNEL, CHG),
        ("RESET", ObjectType.CHANNEL, MQOT_CHANNEL, CTRLX),
        ("RESET", ObjectType.QLOCAL, MQOT_Q, DSP | CHG),
        ("RESOLVE", ObjectType.CHANNEL, MQOT_CHANNEL, CTRLX),
        ("SET", ObjectType.CHLAUTH, MQOT_Q_MGR, CHG),
        ("START", ObjectType.LISTENER, MQOT_LISTENER, CTRL),
        ("STOP", ObjectType.SERVICE, MQOT_SERVICE, CTRL),
        ("STOP", ObjectType.CONN, MQOT_Q_MGR, CHG),
    ],
)
def test_what_is_needed(verb: str, kind: ObjectType, object_type: int, mask: int) -> None:
    assert mqot(kind) == object_type
    assert needed_authorities(verb, kind) == mask


@pytest.mark.parametrize("kind", OBJECTS)
def test_what_is_needed_can_be_given(kind: ObjectType) -> None:
    assert mqot(kind) in OBJECT_TYPES.values()
    for verb in ("ALTER", "DEFINE", "DELETE", "DISPLAY", "REPLACE"):
        assert needed_authorities(verb, kind) & ~(VALID_AUTHORITIES[mqot(kind)] | CRT) == 0


def test_a_command_is_refused_without_its_authority(manager: QueueManager) -> None:
    target = CountingTarget(manager, (MQOT_Q, "Q1", DLT))
    authorize(target, "ALTER", ObjectType.QLOCAL, "Q1")
    authorize(target, "PING", ObjectType.QMGR, "TEST")
    with pytest.raises(CommandRefused) as refusal:
        authorize(target, "DELETE", ObjectType.QLOCAL, "Q1")
    assert refusal.value.number == "AMQ8135E"
    assert target.questions == [(MQOT_Q, "Q1", CHG), (MQOT_Q, "Q1", DLT)]


def test_to_define_one_must_see_what_the_object_is_like(manager: QueueManager) -> None:
    target = CountingTarget(manager)
    authorize_define(target, ObjectType.QLOCAL, "Q1", False, "LIKE")
    authorize_define(target, ObjectType.QLOCAL, "Q1", True, "LIKE")
    authorize_define(target, ObjectType.SUB, "S1", False, "SYSTEM.DEFAULT.SUB")
    assert target.questions == [
        (MQOT_Q, "Q1", CRT),
        (MQOT_Q, "LIKE", DSP),
        (MQOT_Q, "Q1", CHG),
        (MQOT_Q, "LIKE", DSP),
        (MQOT_Q_MGR, "S1", CHG),
    ]
    with pytest.raises(CommandRefused):
        authorize_define(CountingTarget(manager, (MQOT_Q, "LIKE", DSP)), ObjectType.QLOCAL, "Q1", True, "LIKE")


def test_what_may_not_be_seen(manager: QueueManager) -> None:
    target = CountingTarget(manager, (MQOT_TOPIC, "T1", DSP))
    assert not may_see(target, ObjectType.TOPIC, "T1")
    assert may_see(target, ObjectType.TOPIC, "T2")
