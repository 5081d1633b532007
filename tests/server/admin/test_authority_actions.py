"""What setmqaut and its like ask over the local socket: only with the authority, and only what makes sense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ostler.command.admin.context import CommandContext
from ostler.model.attributes import ObjectType
from ostler.model.authorities import CHG, DSP
from ostler.model.constants import MQEVO_CONSOLE, MQRC_NOT_AUTHORIZED, MQRC_OPTIONS_ERROR, MQRCCF_AUTH_VALUE_ERROR
from ostler.model.errors import MQError
from ostler.server.admin.authority_actions import authority_actions
from ostler.server.admin.command_context import ManagerCommandContext
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.testing.without_security import allow_any_principal


@dataclass(frozen=True)
class Somebody:
    user: str


class Restricted(ManagerCommandContext):
    """The queue manager as a user with some authorities on it sees it."""

    def __init__(self, manager: QueueManager, mask: int) -> None:
        super().__init__(manager)
        self._mask = mask

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        return authorities & ~self._mask == 0


class Asking:
    """Asks as somebody."""

    def __init__(self, manager: QueueManager) -> None:
        self.manager = manager
        self.mask = CHG | DSP
        self.actions = authority_actions(self._context_for)

    def _context_for(self, user: str, origin: int) -> CommandContext:
        assert (user, origin) == ("joe", MQEVO_CONSOLE)
        return Restricted(self.manager, self.mask)

    def __call__(self, action: str, **arguments: object) -> list[dict[str, object]]:
        return list(self.actions[action](arguments, Somebody("joe")))

    def refused(self, action: str, **arguments: object) -> int:
        with pytest.raises(MQError) as refusal:
            self(action, **arguments)
        return refusal.value.reason


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Asking]:
    manager = QueueManager(allow_any_principal(create_queue_manager(tmp_path, "TEST", LogSection(file_pages=64))))
    manager.start()
    yield Asking(manager)
    manager.end("immediate")


GIVEN: dict[str, object] = {
    "objtype": "QUEUE",
    "profile": "A.*",
    "users": ["ann"],
    "groups": ["staff"],
    "add": ["get", "put"],
    "remove": [],
}


def test_records_are_set_listed_and_deleted(ask: Asking) -> None:
    assert ask("set_authority", **GIVEN) == [{"done": True}]
    assert ask("authority_records", objtype=None, profile="A.B", entity="ann", is_group=False, match="PROFILE") == [
        {"profile": "A.*", "objtype": "QUEUE", "entity": "ann", "is_group": False, "authorities": ("GET", "PUT")},
        {"processed": 1},
    ]
    everything = ask("authority_records")
    assert [row["entity"] for row in everything[:-1]] == ["staff", "ann"]
    shown = ask("entity_authority", objtype="queue", profile="A.*", entity="staff", is_group=True)
    assert shown == [{"authorities": ["GET", "PUT"]}]
    ask("set_authority", objtype="QUEUE", profile="A.*", users=["ann"], delete=True)
    assert list(ask.manager.engine.of_type(ObjectType.AUTHREC)) == ["QUEUE A.* GROUP staff"]


def test_who_may_not_is_refused(ask: Asking) -> None:
    ask.mask = DSP
    assert ask.refused("set_authority", **GIVEN) == MQRC_NOT_AUTHORIZED
    assert ask.refused("set_authority", **GIVEN, delete=True) == MQRC_NOT_AUTHORIZED
    ask.mask = CHG
    assert ask.refused("authority_records") == MQRC_NOT_AUTHORIZED
    asked = {"objtype": "QMGR", "profile": "", "entity": "ann"}
    assert ask.refused("entity_authority", **asked) == MQRC_NOT_AUTHORIZED
    assert ask.manager.engine.of_type(ObjectType.AUTHREC) == {}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"profile": 5}, MQRC_OPTIONS_ERROR),
        ({"users": "ann"}, MQRC_OPTIONS_ERROR),
        ({"users": ["ann", 5]}, MQRC_OPTIONS_ERROR),
        ({"add": ["fly"]}, MQRCCF_AUTH_VALUE_ERROR),
        ({"remove": ["connect"]}, MQRCCF_AUTH_VALUE_ERROR),
    ],
)
def test_nonsense_is_refused(ask: Asking, change: dict[str, object], reason: int) -> None:
    assert ask.refused("set_authority", **{**GIVEN, **change}) == reason
    assert ask.manager.engine.of_type(ObjectType.AUTHREC) == {}
