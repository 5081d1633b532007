"""The roll of a queue-sharing group in its shared repository: the group itself, its members, and their numbers.

There is no transaction over several rows. So a number is given first, and the member is written then: a crash between
the two leaves a number that nobody has, never two members with one number. A queue manager that was removed gets its
number back when it returns with its log, which has that number; nobody else ever gets it. All calls block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.model.coupling import terms as cf
from ostler.model.coupling.group_rows import (
    BackupRow,
    GroupRow,
    MemberRow,
    RowValues,
    decode_row,
    encode_row,
    integer_of,
)
from ostler.model.shared_repository import (
    ABSENT,
    BACKUPS,
    GROUP,
    MEMBERS,
    NUMBERS,
    RepositoryRefused,
    RowChanged,
    SharedRepository,
)

_KIND: Final = "numbers"
_HIGHEST: Final = "highest"
_FORMER: Final = "former"
"""Members that were removed: number, name and data directory, with blanks between."""
_TRIES_MAX: Final = 100


class RollRefused(Exception):
    """The roll does not allow it. The text gives the reason."""


@dataclass(frozen=True)
class GroupRoll:
    """The roll of one group."""

    name: str
    repository: SharedRepository

    def group(self) -> GroupRow | None:
        """Return the group; None: there is none. Raises RepositoryUnavailable."""
        row = self.repository.read(GROUP, self.name)
        if row is None:
            return None
        try:
            return GroupRow.decode(row.data)
        except ValueError as error:
            raise RepositoryRefused(f"the row of group {self.name} cannot be read: {error}") from None

    def write_group(self, group: GroupRow, highest_number: int) -> None:
        """Write a new group, whose members have numbers above one. Raises RollRefused if it is there."""
        self._raise_highest(highest_number)
        try:
            self.repository.write(GROUP, self.name, group.encode(), ABSENT)
        except RowChanged:
            raise RollRefused("it exists already") from None

    def members(self) -> list[MemberRow]:
        """Return all members in the order of their numbers."""
        try:
            found = [MemberRow.decode(row.data) for row in self.repository.rows(MEMBERS)]
        except ValueError as error:
            raise RepositoryRefused(f"a member of group {self.name} cannot be read: {error}") from None
        return sorted(found, key=_number)

    def member(self, name: str) -> MemberRow | None:
        return next((each for each in self.members() if each.name == name), None)

    def give_number(self) -> int:
        """Return a number that no member has ever had, and note it before anybody can use it."""
        for _ in range(_TRIES_MAX):
            version, values = self._numbers()
            number = max([integer_of(values, _HIGHEST), *(each.number for each in self.members())]) + 1
            if self._write_numbers({**values, _HIGHEST: number}, version):
                return number
        raise RollRefused(f"others took numbers {_TRIES_MAX} times meanwhile; try again")

    def add(self, member: MemberRow) -> None:
        """Add a member. Raises RollRefused if its name or number is taken, or the group is full."""
        members = self.members()
        if len(members) >= cf.MEMBERS_MAX:
            raise RollRefused(f"the group has {cf.MEMBERS_MAX} members, which is the maximum")
        taken = next((each for each in members if each.number == member.number), None)
        if taken is not None and taken.name != member.name:
            raise RollRefused(f"member number {member.number} is that of queue manager {taken.name}")
        try:
            self.repository.write(MEMBERS, member.name, member.encode(), ABSENT)
        except RowChanged:
            raise RollRefused("it is a member already") from None
        self._raise_highest(member.number)

    def remove(self, member: MemberRow) -> None:
        """Take a member off the roll. Its number stays its own."""
        entry = f"{member.number} {member.name} {member.data_directory}"
        for _ in range(_TRIES_MAX):
            version, values = self._numbers()
            former = _texts(values.get(_FORMER))
            if entry in former or self._write_numbers({**values, _FORMER: (*former, entry)}, version):
                self.repository.delete(MEMBERS, member.name, None)
                return
        raise RollRefused(f"others changed the roll {_TRIES_MAX} times meanwhile; try again")

    def former_number(self, name: str, data_directory: str) -> int:
        """Return the number of a queue manager that was removed; 0: it was no member."""
        for entry in reversed(_texts(self._numbers()[1].get(_FORMER))):
            number, found, directory = entry.split(" ", 2)
            if (found, directory) == (name, data_directory):
                return int(number)
        return 0

    def drop(self, member: MemberRow) -> None:
        """Forget a queue manager that is gone with its log. Nobody gets its number."""
        self.repository.delete(MEMBERS, member.name, None)

    def backups_of(self, name: str) -> list[str]:
        """Return the structures whose last backup is in the log of a member."""
        found = []
        for row in self.repository.rows(BACKUPS):
            try:
                backup = BackupRow.decode(row.data)
            except ValueError as error:
                raise RepositoryRefused(f"the backup of structure {row.name} cannot be read: {error}") from None
            if backup.member_name == name:
                found.append(backup.structure)
        return found

    def _numbers(self) -> tuple[int, RowValues]:
        """Return the version of the row, and what is in it."""
        row = self.repository.read(NUMBERS, self.name)
        if row is None:
            return ABSENT, {}
        try:
            return row.version, decode_row(_KIND, row.data)
        except ValueError as error:
            raise RepositoryRefused(f"the numbers of group {self.name} cannot be read: {error}") from None

    def _raise_highest(self, number: int) -> None:
        for _ in range(_TRIES_MAX):
            version, values = self._numbers()
            if integer_of(values, _HIGHEST) >= number or self._write_numbers({**values, _HIGHEST: number}, version):
                return
        raise RollRefused(f"others changed the roll {_TRIES_MAX} times meanwhile; try again")

    def _write_numbers(self, values: RowValues, version: int) -> bool:
        """Return False if somebody else has changed the row meanwhile."""
        try:
            self.repository.write(NUMBERS, self.name, encode_row(_KIND, values), version)
        except RowChanged:
            return False
        return True


def _texts(value: int | str | tuple[str, ...] | None) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()


def _number(member: MemberRow) -> int:
    return member.number
