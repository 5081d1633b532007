"""The commit of a received batch with messages on shared queues, which the coupling facility decides.

The answer comes in a later turn, perhaps after the connection with the partner has broken: the position follows the
decision in any case, and the end is told if it is still there.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import final

from mypy_extensions import i64

from ostler.channel.positions import ReceiverPosition
from ostler.channel.sync_records import SyncRecord
from ostler.engine.shared.units import CommitListener, SharedUnit
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq


class BatchOwner(metaclass=ABCMeta):
    """The end whose batch is committed."""

    @abstractmethod
    def on_decided(self, reason: i64) -> None:
        """The outcome of the commit that is under way: 0, MQRC_BACKED_OUT, or the reason why it is not known."""


@final
class BatchCommit(CommitListener):
    def __init__(self, owner: BatchOwner, position: ReceiverPosition, record: SyncRecord) -> None:
        self._owner: BatchOwner | None = owner
        self._position = position
        self._record = record

    def begin(self, unit: UnitOfWork) -> None:
        part = unit.shared
        assert isinstance(part, SharedUnit)
        part.commit_for(self)

    def on_committed(self, reason: i64) -> None:
        if reason == mq.MQRC_NONE:
            self._position.mark_committed(self._record)
        owner = self._owner
        self._owner = None  # breaks a reference cycle
        if owner is not None:
            owner.on_decided(reason)
