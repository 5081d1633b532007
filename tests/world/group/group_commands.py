"""Commands at members of a simulated group: each has a catalogue over one real repository, and hears announcements.

    commands = GroupCommands(GroupWorld("QM1", "QM2"), tmp_path / "repository.db")
    commands.at("QM1").says("DEFINE CFSTRUCT(APP1) CFLEVEL(4)")

A command returns when the group is quiet. `is_deaf` loses announcements; `poll` is what members do every
few seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

from tests.world.group.group_world import GroupWorld, MemberWorld

from ostler.command.admin.context import ChannelStatus, CommandContext, ListenerStatus, ManagerStatus
from ostler.command.group.catalogue import ANNOUNCEMENT, CatalogueHost, GroupCatalogue
from ostler.command.mqsc.interpreter import CommandOutcome, run_command
from ostler.engine.core import Engine
from ostler.model.coupling.answers import JoinAnswer
from ostler.model.coupling.events import Announced, Event
from ostler.model.coupling.group_rows import MemberRow
from ostler.model.coupling.port import EventListener
from ostler.model.coupling.programs import AnnounceProgram
from ostler.server.coupling.repository.sqlite_repository import SqliteRepository

T = TypeVar("T")


class MemberCommands(CommandContext, CatalogueHost, EventListener):
    """One member: the context of its commands, and the host of its catalogue."""

    def __init__(self, commands: GroupCommands, world: MemberWorld, repository: SqliteRepository) -> None:
        self.commands = commands
        self.world = world
        self.noted: list[str] = []
        self.has_heard = False
        self.is_deaf = False
        self.catalogue = GroupCatalogue(repository, "QSG1", MemberRow(world.name, world.number), self, nullcontext())
        world.member.observers.append(self)

    # -- the context

    @property
    def group(self) -> GroupCatalogue | None:
        return self.catalogue

    def query(self, read: Callable[[Engine], T]) -> T:
        self.world.engine.now_ms = self.world.now_ms
        return read(self.world.engine)

    def change(self, change: Callable[[Engine], int]) -> None:
        self.world.acknowledge(int(self.query(change)))

    def pause(self) -> None:
        self.commands.world.settle()

    def note(self, text: str) -> None:
        self.noted.append(text)

    def announce(self, text: str) -> None:
        self.world.member.sharing.submit(AnnounceProgram(text), 0, None)

    def start_listener(self, name: str) -> None:
        raise NotImplementedError

    def stop_listener(self, name: str) -> None:
        raise NotImplementedError

    def start_channel(self, name: str, disposition: str = "") -> None:
        raise NotImplementedError

    def stop_channel(
        self,
        name: str,
        mode: str = "QUIESCE",
        status: str = "STOPPED",
        connection_name: str = "",
        queue_manager: str = "",
        disposition: str = "",
    ) -> None:
        raise NotImplementedError

    def refresh_tls(self) -> None:
        raise NotImplementedError

    def listener_status(self) -> list[ListenerStatus]:
        return []

    def channel_status(self) -> list[ChannelStatus]:
        return []

    def manager_status(self) -> ManagerStatus:
        return ManagerStatus()

    # -- events

    def on_event(self, event: Event) -> None:
        if isinstance(event, Announced) and event.text.startswith(ANNOUNCEMENT) and not self.is_deaf:
            self.has_heard = True

    def on_joined(self, answer: JoinAnswer) -> None:
        self.has_heard = True

    def on_link_lost(self) -> None: ...

    # -- commands

    def run(self, command: str) -> tuple[list[str], CommandOutcome]:
        lines: list[str] = []
        running = run_command(self, command)
        while True:
            try:
                lines.append(next(running))
            except StopIteration as end:
                self.commands.settle()
                outcome = end.value
                assert isinstance(outcome, CommandOutcome)
                return lines, outcome

    def says(self, command: str) -> str:
        """The answer to a command that works, in one line."""
        lines, outcome = self.run(command)
        assert outcome is CommandOutcome.DONE, lines
        return " ".join(" ".join(lines).split())

    def fails(self, command: str) -> str:
        """Why a command that is understood cannot be done."""
        lines, outcome = self.run(command)
        assert outcome is CommandOutcome.FAILED, lines
        return lines[0]

    def numbers(self) -> list[str]:
        """The numbers of the messages that were written, which are then forgotten."""
        noted, self.noted = self.noted, []
        return [text.partition(":")[0] for text in noted]


class GroupCommands:
    def __init__(self, world: GroupWorld, path: Path, begin: bool = True) -> None:
        """`begin`: all members enrol and compare at once, as at their start."""
        self.world = world
        self.path = path
        first = SqliteRepository("QSG1", path)
        first.create()
        first.close()
        self.members: dict[str, MemberCommands] = {}
        for member in world.members:
            self.start(member, begin)

    def start(self, member: MemberWorld, begin: bool = True) -> MemberCommands:
        """A member has started: it has a new catalogue."""
        made = MemberCommands(self, member, SqliteRepository("QSG1", self.path))
        self.members[member.name] = made
        if begin:
            made.catalogue.enrol()
            made.catalogue.refresh()
            self.settle()
        return made

    def at(self, name: str) -> MemberCommands:
        return self.members[name]

    def settle(self) -> None:
        """Go on until nothing moves and nobody has heard of a change."""
        for _ in range(100):
            self.world.settle()
            heard = [each for each in self.members.values() if each.has_heard and each.world.is_up]
            if not heard:
                return
            for each in heard:
                each.has_heard = False
                each.catalogue.refresh()
        raise AssertionError("the members announce without end")

    def poll(self) -> None:
        for each in self.members.values():
            if each.world.is_up:
                each.catalogue.refresh()
        self.settle()

    def close(self) -> None:
        for each in self.members.values():
            each.catalogue.repository.close()
