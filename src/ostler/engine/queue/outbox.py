"""The outbox: messages that the queue manager itself has made, until `delivery` puts them on their queues.

They are reports, event messages, trigger messages, statistics messages and replies to commands.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine, Posting
from ostler.engine.events.reports import Outgoing
from ostler.engine.name_resolution import Resolved, resolve
from ostler.engine.queue.queue import Queue
from ostler.engine.unit_of_work import UnitOfWork
from ostler.model import constants as mq
from ostler.model.authorities import PASSID, PUT
from ostler.model.errors import MQError

_REPORT_AUTHORITIES: Final = PUT | PASSID


def post(engine: Engine, messages: list[Outgoing], unit: UnitOfWork | None) -> None:
    """Add messages to the outbox. They are delivered when the request under way has been answered."""
    for message in messages:
        engine.outbox.append(Posting(message, unit))


def find_destination(engine: Engine, message: Outgoing) -> Resolved:
    """Resolve the queue that a message is for. Raises MQError when it cannot be put there."""
    found = resolve(engine, message.queue_name, message.manager_name)
    target = found.queue
    if target is None:
        raise MQError(mq.MQRC_Q_TYPE_ERROR)  # a model queue
    if not target.put_allowed:
        raise MQError(mq.MQRC_PUT_INHIBITED)
    if message.is_for_user and not _may_put_report(engine, message, found.remote_manager != "", target):
        raise MQError(mq.MQRC_NOT_AUTHORIZED)
    return found


def _may_put_report(engine: Engine, message: Outgoing, is_remote: bool, target: Queue) -> bool:
    """Return True when the user of a message may put a report on it on the target queue."""
    guard = engine.guard
    if guard is None or guard.is_administrator(message.user):
        return True
    # As at MQOPEN: a local definition is checked by its own name, a named queue manager by its transmission queue.
    is_there: bool = is_remote and message.manager_name not in ("", engine.name)
    name = target.name if is_there else message.queue_name
    if engine.dynamic_owners.get(name) == message.user:
        return True
    granted: i64 = guard.authorities(message.user, mq.MQOT_Q, name)
    return granted & _REPORT_AUTHORITIES == _REPORT_AUTHORITIES
