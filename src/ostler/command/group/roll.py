"""The group roll: each member by its name, with a number that no other queue manager of the group ever had."""

from __future__ import annotations

from typing import Final

from ostler.model.coupling.group_rows import MemberRow, decode_row, encode_row, integer_of
from ostler.model.shared_repository import ABSENT, MEMBERS, NUMBERS, Row, RowChanged, SharedRepository

_TRIES: Final = 20
_KIND: Final = "numbers"
_HIGHEST: Final = "highest"


class MemberRefused(Exception):
    """The queue manager cannot be a member under this name and number. `str` is a message with its number."""


def enrol(repository: SharedRepository, group: str, member: MemberRow) -> int:
    """Enters a member in the roll, or brings its row up to date. Returns the version of the row.

    Of two queue managers that take one number at the same time, the later one is refused. Raises MemberRefused and
    RepositoryUnavailable.
    """
    for _ in range(_TRIES):
        rows = repository.rows(MEMBERS)
        own = _check(rows, member)
        data = member.encode()
        if own is not None and own.data == data:
            return own.version
        try:
            _note_number(repository, group, member.number)
            version = repository.write(MEMBERS, member.name, data, own.version if own is not None else ABSENT)
        except RowChanged:
            continue
        if own is None:
            _check_again(repository, member, version)
        return version
    raise MemberRefused(f"AMQ7541E: The roll changes all the time: {member.name} could not be entered in it.")


def _check(rows: list[Row], member: MemberRow) -> Row | None:
    """Return the row of the member. Raises MemberRefused when the roll says something else."""
    own: Row | None = None
    for row in rows:
        known = MemberRow.decode(row.data)
        if known.name == member.name:
            own = row
            if known.number != member.number:
                raise MemberRefused(
                    f"AMQ7540E: {member.name} is member {known.number} of the queue-sharing group, and qm.ini says "
                    f"MemberNumber={member.number}. Put MemberNumber right."
                )
        elif known.number == member.number:
            raise MemberRefused(
                f"AMQ7540E: Number {member.number} in the queue-sharing group belongs to queue manager {known.name}. "
                f"Give {member.name} a number that no member ever had (MemberNumber in qm.ini)."
            )
    return own


def _check_again(repository: SharedRepository, member: MemberRow, version: int) -> None:
    """Take the row back if another queue manager has taken the number before."""
    rows = repository.rows(MEMBERS)
    try:
        _check([row for row in rows if row.version <= version], member)
    except MemberRefused:
        repository.delete(MEMBERS, member.name, version)
        raise


def _note_number(repository: SharedRepository, group: str, number: int) -> None:
    """Keep the highest number that was ever given."""
    row = repository.read(NUMBERS, group)
    if row is None or integer_of(decode_row(_KIND, row.data), _HIGHEST) < number:
        data = encode_row(_KIND, {_HIGHEST: number})
        repository.write(NUMBERS, group, data, row.version if row is not None else ABSENT)
