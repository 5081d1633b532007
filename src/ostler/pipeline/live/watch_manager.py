"""Checks of the watched queue manager before Spark is started: it runs, admits us, and collects statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ostler.client.api.connection import Connection
from ostler.client.session.remote_queue import RemoteQueue
from ostler.client.session.runtime import run
from ostler.engine.open import OpenRequest
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.reasons import describe
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.live.live_records import SOURCES
from ostler.pipeline.source.links import connect_with, open_queue
from ostler.pipeline.source.options import read_options

_AWAY: Final = frozenset(
    {
        mq.MQRC_CONNECTION_BROKEN,
        mq.MQRC_Q_MGR_NOT_AVAILABLE,
        mq.MQRC_Q_MGR_QUIESCING,
        mq.MQRC_Q_MGR_STOPPING,
        mq.MQRC_CONNECTION_QUIESCING,
        mq.MQRC_CONNECTION_STOPPING,
        mq.MQRC_HOST_NOT_AVAILABLE,
        mq.MQRC_CHANNEL_NOT_AVAILABLE,
    }
)
_SWITCHES: Final = {
    "STATMQI": (mq.MQIA_STATISTICS_MQI, "statistics of verbs"),
    "STATQ": (mq.MQIA_STATISTICS_Q, "statistics of queues"),
    "ACCTMQI": (mq.MQIA_ACCOUNTING_MQI, "accounts of connections"),
    "ACCTQ": (mq.MQIA_ACCOUNTING_Q, "accounts of queues"),
}
_INTERVALS: Final = {"STATINT": mq.MQIA_STATISTICS_INTERVAL, "ACCTINT": mq.MQIA_ACCOUNTING_INTERVAL}
_OFF: Final = (mq.MQMON_OFF, mq.MQMON_NONE)
_LONG_SECONDS: Final = 300


class ManagerUnreachable(PipelineError):
    """The queue manager is not reachable. The operation may be retried."""


@dataclass(frozen=True)
class WatchedManager:
    """The queue manager's name, and notes for the user."""

    name: str
    notes: tuple[str, ...] = ()


def inspect_manager(options: Mapping[str, str]) -> WatchedManager:
    """Connect as the data source will. Raises ManagerUnreachable when it does not run, PipelineError when access is
    denied."""
    wanted = read_options(options).connect
    who = f"'{wanted.user}'" if wanted.user else "the user of this program"
    try:
        with connect_with(wanted) as connection:
            for queue in SOURCES:
                _check(connection, queue, who)
            return WatchedManager(connection.name, tuple(_notes(connection)))
    except MQError as error:
        # It ended while it was asked.
        raise _unreachable(f"Asking {wanted.queue_manager or 'the queue manager'} failed. {error}", error) from error
    except PipelineError as refused:
        if isinstance(refused.__cause__, MQError):
            raise _unreachable(str(refused), refused.__cause__) from refused.__cause__
        raise


def _unreachable(text: str, cause: MQError) -> PipelineError:
    return ManagerUnreachable(text) if cause.reason in _AWAY else PipelineError(text)


def _check(connection: Connection, queue: str, who: str) -> None:
    try:
        open_queue(connection, queue, "s").close()
    except PipelineError as refused:
        cause = refused.__cause__
        if not isinstance(cause, MQError) or cause.reason != mq.MQRC_NOT_AUTHORIZED:
            raise
        advice = f"SET AUTHREC PROFILE({queue}) OBJTYPE(QUEUE) PRINCIPAL({who}) AUTHADD(GET)"
        raise PipelineError(
            f"{who} may not read {queue} of {connection.name}. Let an administrator run: {advice}"
        ) from cause


def _notes(connection: Connection) -> list[str]:
    """Return notes on statistics that are switched off or infrequent, or that the attributes may not be inquired."""
    name = connection.name
    selectors = [*(number for number, _ in _SWITCHES.values()), *_INTERVALS.values()]
    try:
        values = dict(zip((*_SWITCHES, *_INTERVALS), _inquire(connection, selectors), strict=True))
    except MQError as error:
        if error.reason in _AWAY:
            raise
        return [
            f"Whether {name} writes statistics and accounts could not be asked: {describe(error.reason).name}. "
            f"If nothing comes: ALTER QMGR {_commands_to_turn_on(_SWITCHES)}"
        ]
    off = [switch for switch in _SWITCHES if values[switch] in _OFF]
    notes = []
    if off:
        what = ", ".join(_SWITCHES[each][1] for each in off)
        notes.append(f"{name} writes no {what}. To have them: ALTER QMGR {_commands_to_turn_on(off)}")
    if any(each.startswith("ACCT") for each in off):
        notes.append("Accounts are of connections that are made after that.")
    seldom = {each: values[each] for each in _INTERVALS if values[each] > _LONG_SECONDS}
    if seldom and len(off) < len(_SWITCHES):
        text = " ".join(f"{each}({value})" for each, value in seldom.items())
        notes.append(
            f"{name} has {text}: so many seconds pass from one record to the next. "
            f"For more of them: ALTER QMGR {' '.join(f'{each}(60)' for each in seldom)}"
        )
    return notes


def _commands_to_turn_on(switches: Iterable[str]) -> str:
    return " ".join(f"{each}(ON)" for each in switches)


def _inquire(connection: Connection, selectors: list[int]) -> list[int]:
    """Inquire attributes of the queue manager by MQINQ, which works over the network, where DISPLAY does not."""
    opened = run(connection.inner.session.open(OpenRequest(mq.MQOT_Q_MGR, "", mq.MQOO_INQUIRE)))
    assert isinstance(opened, RemoteQueue)
    try:
        return run(opened.inquire_numbers(selectors))[0]
    finally:
        run(opened.close())
