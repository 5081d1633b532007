"""The authority guard of a queue manager: its authority records, channel authentication rules and users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostler.model.attributes import ObjectType
from ostler.model.authorities import EVERYTHING
from ostler.model.definitions import Definition
from ostler.model.guard import Guard
from ostler.security.authorities import AuthorityRecords
from ostler.security.channel_authentication import ChannelRules

if TYPE_CHECKING:
    from ostler.engine.core import Engine
    from ostler.server.security.users import Users


class ServerGuard(Guard):
    """Called under the engine's lock, and on every change of a definition, so that its indexes stay current."""

    def __init__(self, users: Users) -> None:
        self.users = users
        self.records = AuthorityRecords()
        self.rules = ChannelRules()

    def load(self, engine: Engine) -> None:
        """Index the definitions that a restart has recovered."""
        for definition in engine.of_type(ObjectType.AUTHREC).values():
            self.records.put(definition)
        for definition in engine.of_type(ObjectType.CHLAUTH).values():
            self.rules.put(definition)

    def authorities(self, user: str, object_type: int, name: str) -> int:
        if self.users.is_administrator(user):
            return EVERYTHING
        return self.records.authorities(user, self.users.groups_of(user), object_type, name)

    def is_administrator(self, user: str) -> bool:
        return self.users.is_administrator(user)

    def on_defined(self, definition: Definition) -> None:
        if definition.object_type == ObjectType.AUTHREC:
            self.records.put(definition)
        elif definition.object_type == ObjectType.CHLAUTH:
            self.rules.put(definition)

    def on_deleted(self, definition: Definition) -> None:
        if definition.object_type == ObjectType.AUTHREC:
            self.records.remove(definition)
        elif definition.object_type == ObjectType.CHLAUTH:
            self.rules.remove(definition)
