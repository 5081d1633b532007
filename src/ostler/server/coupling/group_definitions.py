"""The thread that keeps the objects of this queue manager to what the shared repository of its group says.

It looks when another member has announced a change, when the queue manager has joined, and every few seconds. While the
repository is away the queue manager works on with what its log has, and opens of names that it does not know fail with
MQRC_DB2_NOT_AVAILABLE.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from ostler.command.group.catalogue import ANNOUNCEMENT, CatalogueHost, GroupCatalogue
from ostler.command.group.roll import MemberRefused
from ostler.engine.core import Engine
from ostler.model.coupling.answers import JoinAnswer
from ostler.model.coupling.events import Announced, Event
from ostler.model.coupling.group_rows import GroupRow, MemberRow
from ostler.model.coupling.port import EventListener
from ostler.model.coupling.programs import AnnounceProgram
from ostler.model.shared_repository import ABSENT, GROUP, RepositoryUnavailable, RowChanged
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.sharing_ini import SharingSection
from ostler.server.coupling.repository.opening import is_database_url
from ostler.server.coupling.repository.sql_repository import SqlRepository
from ostler.server.net.local_socket import socket_path
from ostler.server.queue_manager import QueueManager
from ostler.server.storage.message_reader import call_with_reads
from ostler.server.supervised_thread import SupervisedThread

_POLL_SECONDS: Final = 2.0
"""Announcements may be lost; then a change is seen so much later."""
_FIRST_SECONDS_MAX: Final = 5.0
"""The start of the queue manager waits so long for the definitions of the group."""
_Answer = TypeVar("_Answer")


class GroupDefinitions(CatalogueHost, EventListener):
    """`enrol` before the member joins, `begin` when its threads may run, `close` at the end."""

    def __init__(
        self,
        manager: QueueManager,
        section: SharingSection,
        repository: SqlRepository,
        leave: Callable[[], None],
    ) -> None:
        """`leave` is called when the roll turns out to have another queue manager under the number of this one."""
        self._manager = manager
        self._section = section
        self._repository = repository
        self._leave = leave
        level = manager.engine.manager.attributes.get("CMDLEVEL", 0)
        member = MemberRow(
            manager.name,
            section.member_number,
            level if isinstance(level, int) else 0,
            str(socket_path(manager.directory)),
            str(manager.directory.path),
            manager.settings.log.path or str(manager.directory.log),
        )
        self.catalogue = GroupCatalogue(repository, section.name, member, self, threading.RLock())
        self._wake = manager.machine.event()
        self._first = manager.machine.event()
        self._is_closing = False
        self._away = ""  # the reason that was written to the error log
        self._thread = SupervisedThread(
            "ostler-group-definitions",
            "thread that follows the definitions of the queue-sharing group",
            self._run,
            lambda: self._is_closing,
            manager.note,
            stopping=self._wake,
            machine=manager.machine,
        )

    # -- the start -----------------------------------------------------------------------------------------------------

    def enrol(self) -> None:
        """Enter this member in the roll, and make a repository on this machine if there is none.

        Raises ConfigurationError when the number belongs to another queue manager. Without the repository nothing
        happens: the thread tries again.
        """
        try:
            self._create()
            self.catalogue.enrol()
        except MemberRefused as refusal:
            raise ConfigurationError("qm.ini", 0, str(refusal)) from None
        except RepositoryUnavailable as error:
            self._note_away(error)

    def _create(self) -> None:
        """Make the file of the repository, for members on one machine. A database is made by an administrator."""
        where = self._section.repository
        if is_database_url(where) or Path(self._repository.where).exists():
            return
        try:
            is_new = self._repository.create()
        except OSError as error:
            raise RepositoryUnavailable(f"{self._repository.where}: {error.strerror or error}") from None
        if not is_new:
            return
        self.note(f"AMQ7547I: The shared repository of {self._section.name} was created: {self._repository.where}.")
        section = self._section
        row = GroupRow(
            section.name, section.facility, section.facility_name, structure_megabytes=section.structure_megabytes
        )
        try:
            self._repository.write(GROUP, section.name, row.encode(), ABSENT)
        except RowChanged:
            return  # another member was first

    def begin(self) -> None:
        """Start the thread, and wait a moment for the definitions."""
        self._set_known(False)
        self._thread.start()
        self._first.wait(_FIRST_SECONDS_MAX)

    def close(self) -> None:
        self._is_closing = True
        self._wake.set()
        self._thread.join(_FIRST_SECONDS_MAX)

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._is_closing:
            self._wake.clear()
            try:
                self.catalogue.refresh()
                self._note_back()
            except RepositoryUnavailable as error:
                self._note_away(error)
                self._set_known(False)
            except MemberRefused as refusal:
                self.note(str(refusal))
                self._first.set()
                self._leave()
                self._is_closing = True
                return
            self._first.set()
            self._wake.wait(_POLL_SECONDS)

    def _note_away(self, error: RepositoryUnavailable) -> None:
        if not self._away:
            self.note(
                f"AMQ7548W: The shared repository of {self._section.name} cannot be used: {error}. The queue manager "
                "works on with the definitions that it has, and tries again."
            )
        self._away = str(error)

    def _note_back(self) -> None:
        if self._away:
            self._away = ""
            self.note(f"AMQ7549I: The shared repository of {self._section.name} can be used again.")
        self._set_known(True)

    def _set_known(self, is_known: bool) -> None:
        sharing = self._manager.engine.sharing
        if sharing is not None and sharing.knows_definitions != is_known:
            with self._manager.turn:
                sharing.knows_definitions = is_known

    # -- events, in turns of the engine --------------------------------------------------------------------------------

    def on_event(self, event: Event) -> None:
        if isinstance(event, Announced) and event.text.startswith(ANNOUNCEMENT):
            self._wake.set()

    def on_joined(self, answer: JoinAnswer) -> None:
        self._wake.set()

    def on_link_lost(self) -> None:
        """Definitions stay as they are."""

    # -- for the catalogue ---------------------------------------------------------------------------------------------

    def query(self, read: Callable[[Engine], _Answer]) -> _Answer:
        return call_with_reads(self._manager, read)

    def change(self, change: Callable[[Engine], int]) -> None:
        lsn = self._manager.change(change)
        if lsn:
            self._manager.writer.wait_durable(lsn)

    def announce(self, text: str) -> None:
        self._manager.change(partial(_announce, text))

    def note(self, text: str) -> None:
        self._manager.note(text)


def _announce(text: str, engine: Engine) -> int:
    sharing = engine.sharing
    if sharing is not None and sharing.is_joined:
        sharing.submit(AnnounceProgram(text), 0, None)
    return 0
