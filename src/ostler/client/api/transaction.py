"""Transactions: a unit of work as a block of the program.

A connection has one unit of work. A transaction block owns it: verbs inside the block are part of it, and verbs of
other threads or tasks on the same connection are not. Tasks that are created inside the block belong to it while it
lasts.
"""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from typing import Final

from ostler.client.session.session import Session
from ostler.model import constants as mq
from ostler.model.errors import MQError

WAIT_SECONDS: Final = 30.0
"""The default wait for the end of another transaction of the same connection."""


class Transaction:
    """One transaction block, from `begin` to `end`."""

    def __init__(self, session: Session, wait: float | None) -> None:
        self._session = session
        self._wait = wait
        self._outer: Transaction | None = None
        self._live = False

    async def begin(self) -> None:
        session = self._session
        session.check()
        if in_transaction(session):
            raise MQError(mq.MQRC_UOW_IN_PROGRESS, "Transactions of one connection do not nest.")
        if not await session.runtime.acquire_unit(self._wait):
            raise MQError(
                mq.MQRC_CALL_IN_PROGRESS,
                f"Another transaction of this connection did not end within {self._wait} seconds. "
                "Give each thread or task a connection of its own.",
            )
        if session.has_unit():
            session.runtime.release_unit()
            raise MQError(mq.MQRC_UOW_IN_PROGRESS, "Commit or back out what was done under syncpoint first.")
        session.transaction = self
        self._outer = _current.get()
        self._live = True
        _current.set(self)

    async def end(self, is_good: bool) -> None:
        """Commit or back out. Backing out raises no MQError, so that the exception of the block is seen."""
        session = self._session
        try:
            if is_good:
                await session.commit()
            else:
                await _back_out(session)
        finally:
            self._live = False
            session.transaction = None
            session.runtime.release_unit()
            if _current.get() is self:
                _current.set(self._outer)

    def belongs_to(self, session: Session) -> bool:
        return self._live and self._session is session

    @property
    def outer(self) -> Transaction | None:
        return self._outer


_current: Final[ContextVar[Transaction | None]] = ContextVar("ostler_transaction", default=None)


async def _back_out(session: Session) -> None:
    # The queue manager backs out the unit of work of a broken connection.
    with suppress(MQError):
        await session.back_out()


def in_transaction(session: Session) -> bool:
    """Return whether the caller is inside a transaction block of this connection."""
    transaction = _current.get()
    while transaction is not None:
        if transaction.belongs_to(session):
            return True
        transaction = transaction.outer
    return False


def is_in_unit(session: Session, syncpoint: bool | None) -> bool:
    """Return whether a verb is part of the unit of work: `syncpoint` if given, else inside a transaction block."""
    inside = in_transaction(session)
    if syncpoint is None:
        return inside
    if syncpoint and not inside:
        check_unit_owner(session)
    return syncpoint


def check_unit_owner(session: Session) -> None:
    """Raise MQError when the unit of work belongs to a transaction block of another thread or task."""
    if session.transaction is not None and not in_transaction(session):
        raise MQError(
            mq.MQRC_UOW_IN_PROGRESS,
            "The unit of work belongs to a transaction of another thread or task on this connection.",
        )
