"""Results of the verbs. A verb returns its outcome; it leaves nothing on the connection for the caller to find.

An outcome with `after_lsn` may be told to the application when the journal is durable up to that LSN; 0 means at once.
One with a `task` may be told when that is done, too.
The outcome of MQGET is its `GetRequest`: it may be answered long after the call, by another application's put.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import i64, mypyc_attr

from ostler.engine.task import EngineTask
from ostler.model.errors import LogFull, MQError


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class PutOutcome:
    """The result of MQPUT or MQPUT1: 0, a warning, or the reason for a refusal, after which nothing has changed."""

    def __init__(self) -> None:
        self.reason: i64 = 0
        self.after_lsn: i64 = 0
        self.md: bytes = b""  # the stored descriptor, unless it was refused
        self.resolved_names: bytes = b""  # of the queue and its queue manager, for MQPUT1
        # It was refused for lack of log space: make room in the log and call again.
        self.wants_log_space: bool = False
        # Of a put on a shared queue, which has no descriptor until it is done.
        self.task: EngineTask | None = None

    def has_failed(self) -> bool:
        """Return True if nothing was put. The reason alone does not tell: MQRC_INCOMPLETE_GROUP may be a warning."""
        return len(self.md) == 0

    def check(self) -> None:
        """Raise MQError if nothing was put: LogFull for lack of log space. A task must be done first."""
        if self.wants_log_space:
            raise LogFull()
        if self.has_failed() and (self.task is None or self.task.is_done):
            raise MQError(self.reason)


def refused_put(error: MQError) -> PutOutcome:
    """Return the outcome of a put that was refused with an error."""
    outcome = PutOutcome()
    outcome.reason = error.reason
    outcome.wants_log_space = isinstance(error, LogFull)
    return outcome


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class UnitOutcome:
    """The result of MQCMIT, MQBACK or MQDISC: 0 or a reason."""

    def __init__(self, reason: i64 = 0, after_lsn: i64 = 0, task: EngineTask | None = None) -> None:
        self.reason: i64 = reason
        self.after_lsn: i64 = after_lsn
        self.task: EngineTask | None = task


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class CloseOutcome:
    """The result of MQCLOSE: 0 or a warning."""

    def __init__(self, reason: i64 = 0, after_lsn: i64 = 0) -> None:
        self.reason: i64 = reason
        self.after_lsn: i64 = after_lsn
        self.task: EngineTask | None = None


@final
@mypyc_attr(acyclic=True)
class RetainedOutcome:
    """The result of MQSUBRQ: the number of retained publications that were sent."""

    def __init__(self, count: i64 = 0, after_lsn: i64 = 0) -> None:
        self.count: i64 = count
        self.after_lsn: i64 = after_lsn
        self.task: EngineTask | None = None
