"""The definitions of a queue-sharing group as one member uses them: rows of the shared repository, and copies of them.

    write, remove    change a row (its version is compared), apply it here, tell the other members
    refresh          compare all rows with what is here: at the start, after an announcement, every few seconds

Each member applies a row once for each version. Versions grow, so what was read before a change undoes nothing. The
deletion of a row leaves a note of it, which is a row, too; so a member can tell what was deleted while it was down from
what only it has. The latter is brought into the repository: definitions that members had made before there was one.

All calls block, and are made on threads of commands or of the service, several at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Final, TypeVar

from ostler.command.group.local_copies import (
    LocalChange,
    apply_change,
    differences,
    existing_copy,
    shared_here,
    wanted_copy,
)
from ostler.command.group.roll import MemberRefused, enrol
from ostler.command.group.row_keys import RowKey
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.coupling.group_rows import MemberRow
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.model.shared_repository import (
    ABSENT,
    DATA_SETS,
    MEMBERS,
    OBJECTS,
    QUEUES,
    STRUCTURES,
    RepositoryUnavailable,
    RowChanged,
    SharedRepository,
)

ANNOUNCEMENT: Final = "definitions "
"""The beginning of the text that tells other members of a change. Its number follows."""
_KINDS: Final = (STRUCTURES, DATA_SETS, QUEUES, OBJECTS)
"""In the order in which they are applied: queues need their structures."""
_NOTE: Final = b"\x01deleted"
_Answer = TypeVar("_Answer")


class CatalogueHost(ABC):
    """The queue manager whose objects follow from the rows."""

    @abstractmethod
    def query(self, read: Callable[[Engine], _Answer]) -> _Answer:
        """Returns the answer of a function that reads the engine, called under its lock."""

    @abstractmethod
    def change(self, change: Callable[[Engine], int]) -> None:
        """Changes objects under the engine's lock; the change is durable on return."""

    @abstractmethod
    def announce(self, text: str) -> None:
        """Tells a text to all other members. It may be lost."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Writes a line to the error log."""


class GroupCatalogue:
    """The rows of one group, for one member."""

    def __init__(
        self,
        repository: SharedRepository,
        group: str,
        member: MemberRow,
        host: CatalogueHost,
        lock: AbstractContextManager[object],
    ) -> None:
        """`lock` may be taken again by the thread that holds it."""
        self.repository = repository
        self.group = group
        self.member = member
        self._host = host
        self._lock = lock
        self._applied: dict[RowKey, int] = {}  # versions, also of notes of deletions, by the row that they are about
        self._told: dict[RowKey, int] = {}  # versions that could not be applied, and were told
        self._number = -1  # of the last change that all rows were compared at
        self._member_version = ABSENT
        self._is_retrying = False

    # -- rows ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def _using(self) -> Iterator[SharedRepository]:
        """Raises MQError (MQRC_DB2_NOT_AVAILABLE) when the repository cannot be used."""
        try:
            yield self.repository
        except RepositoryUnavailable as error:
            raise MQError(
                mq.MQRC_DB2_NOT_AVAILABLE, f"The shared repository of {self.group} cannot be used now: {error}"
            ) from None

    def read(self, key: RowKey) -> tuple[Definition | None, int]:
        """Returns the definition of a row and its version; None and ABSENT without one. Raises MQError."""
        with self._using() as repository:
            row = repository.read(key.kind, key.name)
        return (None, ABSENT) if row is None else (_decode(key, row.data), row.version)

    def definitions(self, kind: str) -> list[tuple[RowKey, Definition]]:
        """Returns all definitions of a kind of rows, in the order of their names. Raises MQError."""
        with self._using() as repository:
            rows = repository.rows(kind)
        keys = [(RowKey(kind, row.name), row.data) for row in rows]
        return [(key, _decode(key, data)) for key, data in keys if key.deleted is None and key.local() is not None]

    def members(self) -> list[MemberRow]:
        """Returns the group roll, in the order of names. Raises MQError."""
        with self._using() as repository:
            return [MemberRow.decode(row.data) for row in repository.rows(MEMBERS)]

    def write(self, key: RowKey, definition: Definition, expected_version: int) -> None:
        """Writes a row, applies it here, and tells other members. Raises RowChanged and MQError.

        When this member cannot take it over the row stands, and the error log has the reason.
        """
        with self._lock, self._using() as repository:
            version = repository.write(key.kind, key.name, definition.encode(), expected_version)
            self._apply([LocalChange(key, version, definition)])
            self._host.announce(f"{ANNOUNCEMENT}{version}")

    def remove(self, key: RowKey, expected_version: int) -> None:
        """Deletes a row, and the object here, and tells other members. Raises RowChanged and MQError."""
        with self._lock, self._using() as repository:
            # The note comes first: it means nothing while the row is there.
            note = key.deletion
            version = repository.write(note.kind, note.name, _NOTE, None)
            repository.delete(key.kind, key.name, expected_version)
            self._apply([LocalChange(key, version, None)])
            self._host.announce(f"{ANNOUNCEMENT}{version}")

    # -- all rows ------------------------------------------------------------------------------------------------------

    def enrol(self) -> None:
        """Enters this member in the roll. Raises MemberRefused and RepositoryUnavailable."""
        with self._lock:
            self._member_version = enrol(self.repository, self.group, self.member)

    def compare_all(self) -> None:
        """Has the next refresh compare all rows, also those of versions that were applied."""
        with self._lock:
            self._number = -1

    def refresh(self) -> None:
        """Applies all rows that have changed. Raises MemberRefused and RepositoryUnavailable."""
        with self._lock:
            number = self.repository.change_number()
            if number == self._number and not self._is_retrying:
                return
            self._check_roll()
            rows = [row for kind in _KINDS for row in self.repository.rows(kind)]
            changes: list[LocalChange] = []
            present: set[RowKey] = set()
            notes: dict[RowKey, int] = {}
            for row in rows:
                key = RowKey(row.kind, row.name)
                about = key.deleted
                if about is not None:
                    notes[about] = row.version
                elif key.local() is not None:
                    present.add(key)
                    if row.version > self._applied.get(key, ABSENT):
                        definition = self._readable(key, row.version, row.data)
                        if definition is not None:
                            changes.append(LocalChange(key, row.version, definition))
            deleted = [
                LocalChange(key, version, None)
                for key, version in notes.items()
                if key not in present and version > self._applied.get(key, ABSENT)
            ]
            # Queues go before their structures.
            self._is_retrying = not self._apply(sorted(deleted, key=_deletion_order) + changes)
            self._bring_in(present, notes)
            self._number = number

    def _check_roll(self) -> None:
        """Enrols again in a repository that is not the one that this member was entered in."""
        row = self.repository.read(MEMBERS, self.member.name)
        version = row.version if row is not None else ABSENT
        if version == self._member_version and row is not None:
            return
        self._applied.clear()
        self._told.clear()
        self.enrol()

    def _readable(self, key: RowKey, version: int, data: bytes) -> Definition | None:
        try:
            return Definition.decode(data)
        except ValueError as error:
            self._tell(key, version, f"AMQ7546E: The definition of {_shown(key)} cannot be read: {error}.")
            return None

    def _apply(self, changes: list[LocalChange]) -> bool:
        """Applies rows, one by one. Returns False if one must be tried again."""
        is_done = True
        for change in changes:
            try:
                told = self._host.query(partial(_describe, change))
                self._host.change(partial(_apply_one, change))
            except MQError as error:
                self._refused(change, error)
                if change.key.kind != OBJECTS:
                    is_done = False
                    continue
                # As in MQ a copy is refreshed when the group object changes again, or at the next start.
            else:
                if told:
                    self._host.note(told)
            self._applied[change.key] = change.version
        return is_done

    def _refused(self, change: LocalChange, error: MQError) -> None:
        verb = "deleted" if change.definition is None else "taken over"
        why = error.detail or str(error)
        self._tell(
            change.key,
            change.version,
            f"AMQ7544W: The definition of {_shown(change.key)} in {self.group} could not be {verb} by this queue "
            f"manager: {why}",
        )

    def _tell(self, key: RowKey, version: int, text: str) -> None:
        if self._told.get(key) != version:
            self._told[key] = version
            self._host.note(text)

    def _bring_in(self, present: set[RowKey], notes: dict[RowKey, int]) -> None:
        """Writes rows for what only this member has."""
        for key, definition in self._host.query(shared_here).items():
            if key in present or notes.get(key, ABSENT) > self._applied.get(key, ABSENT):
                continue
            try:
                version = self.repository.write(key.kind, key.name, definition.encode(), ABSENT)
            except RowChanged:
                self._is_retrying = True  # another member has written it meanwhile
                continue
            self._applied[key] = version
            self._host.note(
                f"AMQ7543I: The definition of {_shown(key)} of this queue manager was brought into the shared "
                f"repository of {self.group}."
            )
            self._host.announce(f"{ANNOUNCEMENT}{version}")


def _apply_one(change: LocalChange, engine: Engine) -> int:
    return apply_change(engine, change)


def _describe(change: LocalChange, engine: Engine) -> str:
    """Returns the message about a definition that differs from the group's; empty: there is nothing to tell."""
    existing = existing_copy(engine, change.key)
    if existing is None:
        return ""
    if change.definition is None:
        return f"AMQ7545I: {_shown(change.key)} was deleted in the queue-sharing group, and here."
    told = differences(existing, wanted_copy(change.key, change.definition))
    return f"AMQ7542I: {_shown(change.key)} has the definition of the group: {', '.join(told)}." if told else ""


def _decode(key: RowKey, data: bytes) -> Definition:
    try:
        return Definition.decode(data)
    except ValueError as error:
        raise MQError(mq.MQRC_UNEXPECTED_ERROR, f"The row of {_shown(key)} cannot be read: {error}.") from None


def _shown(key: RowKey) -> str:
    found = key.local()
    if found is None:
        return f"{key.kind} {key.name}"
    word = "shared queue" if key.kind == QUEUES else found[0].value
    return f"{word} {found[1]}"


def _deletion_order(change: LocalChange) -> int:
    return -_KINDS.index(change.key.kind) if change.key.kind in _KINDS else 0


__all__ = ["ANNOUNCEMENT", "CatalogueHost", "GroupCatalogue", "MemberRefused"]
