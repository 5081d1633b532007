"""States and options of data sets as the repository has them, and as this member has read them last.

Changes are written to the repository, which all members read. While it is away a member goes on with what it knows;
what it noticed itself, such as a failure, it writes when the repository is back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from ostler.model.coupling.status_rows import (
    FAILED,
    DataSetOptions,
    DataSetStatus,
    StructureStatusRow,
    data_set_row_name,
)
from ostler.model.shared_repository import (
    ABSENT,
    DATA_SET_STATUS,
    DATA_SETS,
    STRUCTURE_STATUS,
    RepositoryUnavailable,
    RowChanged,
    SharedRepository,
)

_TRIES_MAX: Final = 100

Change = Callable[[DataSetStatus], DataSetStatus]


class GroupStates:
    """All calls but `status`, `options` and `owners` block, and come on threads of their own."""

    def __init__(
        self,
        repository: SharedRepository,
        note: Callable[[str], None],
        wall: Callable[[], float] | None = None,
    ) -> None:
        self._repository = repository
        self._note = note
        self._wall = wall or time.time
        self._lock = threading.Lock()
        self._statuses: dict[str, DataSetStatus] = {}
        self._options: dict[str, DataSetOptions] = {}
        self._owed: dict[str, list[Change]] = {}  # changes of this member that are not written
        self._read_through = -1  # the change number at the last reading
        self._is_away = False

    def now_ms(self) -> int:
        return int(self._wall() * 1000)

    # -- what is known -------------------------------------------------------------------------------------------------

    def status(self, structure: str, owner: str) -> DataSetStatus:
        with self._lock:
            known = self._statuses.get(data_set_row_name(structure, owner))
        return known or DataSetStatus(structure, owner)

    def options(self, structure: str, owner: str) -> DataSetOptions | None:
        with self._lock:
            return self._options.get(data_set_row_name(structure, owner))

    def owners(self, structure: str) -> list[str]:
        """Return the queue managers that have, or had, a data set for a structure."""
        with self._lock:
            return sorted(each.owner for each in self._statuses.values() if each.structure == structure)

    # -- the repository ------------------------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Read what has changed, and write what is owed. Returns True when something is new. Never raises."""
        try:
            self._write_owed()
            number = self._repository.change_number()
            if number == self._read_through:
                return False
            statuses = {row.name: _decode_status(row.name, row.data) for row in self._repository.rows(DATA_SET_STATUS)}
            options = {row.name: _decode_options(row.name, row.data) for row in self._repository.rows(DATA_SETS)}
        except RepositoryUnavailable as error:
            self._on_away(error)
            return False
        with self._lock:
            is_new = statuses != self._statuses or options != self._options
            for name in self._owed:
                if name in self._statuses:
                    statuses[name] = self._statuses[name]
            self._statuses, self._options = statuses, options
            self._read_through = number
        self._is_away = False
        return is_new

    def _on_away(self, error: Exception) -> None:
        if not self._is_away:
            self._is_away = True
            self._note(f"AMQ7533W: States of shared message data sets cannot be read or written: {error}.")

    def _write_owed(self) -> None:
        with self._lock:
            owed = dict(self._owed)
        for name, changes in owed.items():
            structure, _, owner = name.partition(" ")
            for change in changes:
                self._write(structure, owner, change)
            with self._lock:
                self._owed.pop(name, None)

    def change(self, structure: str, owner: str, change: Change) -> DataSetStatus:
        """Change a state for all members, and return it. What `change` raises goes to the caller.

        While the repository is away the change holds at this member, and is written later.
        """
        name = data_set_row_name(structure, owner)
        try:
            return self._write(structure, owner, change)
        except RepositoryUnavailable as error:
            self._on_away(error)
        with self._lock:
            changed = change(self._statuses.get(name) or DataSetStatus(structure, owner))
            self._statuses[name] = changed
            self._owed.setdefault(name, []).append(change)
        return changed

    def command(self, structure: str, owner: str, change: Change) -> DataSetStatus:
        """Change a state by a command, which fails while the repository is away. Raises RepositoryUnavailable."""
        return self._write(structure, owner, change)

    def _write(self, structure: str, owner: str, change: Change) -> DataSetStatus:
        name = data_set_row_name(structure, owner)
        for _ in range(_TRIES_MAX):
            row = self._repository.read(DATA_SET_STATUS, name)
            before = _decode_status(name, row.data) if row is not None else DataSetStatus(structure, owner)
            changed = change(before)
            if row is None or changed != before:
                try:
                    version = row.version if row is not None else ABSENT
                    self._repository.write(DATA_SET_STATUS, name, changed.encode(), version)
                except RowChanged:
                    continue
            with self._lock:
                self._statuses[name] = changed
            return changed
        raise RepositoryUnavailable(f"the row {name} of {DATA_SET_STATUS} is changed all the time")

    def set_status(self, structure: str, owner: str, status: str) -> DataSetStatus:
        return self.change(structure, owner, lambda before: before.with_status(status, self.now_ms()))

    # -- structures ----------------------------------------------------------------------------------------------------

    def note_structure(self, structure: str, is_failed: bool) -> None:
        """Keep the time of a failure or recovery that this member noticed, unless another one has. Never raises."""
        try:
            for _ in range(_TRIES_MAX):
                row = self._repository.read(STRUCTURE_STATUS, structure)
                before = StructureStatusRow.decode(row.data) if row is not None else StructureStatusRow(structure)
                has_failed = before.failed_ms > before.recovered_ms
                if has_failed == is_failed:
                    return
                now = max(self.now_ms(), before.failed_ms + 1, before.recovered_ms + 1)
                changed = StructureStatusRow(
                    structure, now if is_failed else before.failed_ms, before.recovered_ms if is_failed else now
                )
                try:
                    version = row.version if row is not None else ABSENT
                    self._repository.write(STRUCTURE_STATUS, structure, changed.encode(), version)
                except RowChanged:
                    continue
                return
        except (RepositoryUnavailable, ValueError) as error:
            self._on_away(error)


def _decode_status(name: str, data: bytes) -> DataSetStatus:
    """Return a state; FAILED for a row that cannot be read, so that nobody uses what nobody understands."""
    try:
        return DataSetStatus.decode(data)
    except ValueError:
        structure, _, owner = name.partition(" ")
        return DataSetStatus(structure, owner).with_status(FAILED, 0)


def _decode_options(name: str, data: bytes) -> DataSetOptions:
    try:
        return DataSetOptions.decode(data)
    except ValueError:
        structure, _, owner = name.partition(" ")
        return DataSetOptions(structure, owner)
