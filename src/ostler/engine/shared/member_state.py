"""The numbers of a member of a queue-sharing group as its journal has them: what a restart knows before it joins."""

from __future__ import annotations

from typing import final

from mypy_extensions import i64


@final
class MemberState:
    def __init__(self) -> None:
        self.number: i64 = 0  # of the member; 0: it never was one
        self.start: i64 = 0  # the last number of a start
        self.facility = b""  # the one that it joined last
        self.record_lsn: i64 = -1  # start of the last MEMBER_START; the journal is kept from there
        # Persistent puts outside units, found at a restart: their outcome is known when the member has joined.
        self.logged: i64 = 0  # the highest number
        self.logged_first: i64 = 0  # the lowest number behind the last checkpoint; 0: none
        self.logged_lsn: i64 = -1  # start of the first of their records
        self.cancelled: set[int] = set()
        # From where the journal must be kept for the last backup of each structure, as far as it is known here.
        self.backup_lsns: dict[str, int] = {}

    def keep_lsn(self) -> i64:
        """Return the LSN from which the journal must be kept, or -1."""
        if self.logged_lsn >= 0 and (self.record_lsn < 0 or self.logged_lsn < self.record_lsn):
            return self.logged_lsn
        return self.record_lsn
