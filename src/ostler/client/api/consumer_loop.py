"""The consumer loop: messages are handed to a handler one by one, each in a unit of work of its own.

When the handler returns, the message is committed together with all that the handler did through its connection. When
it raises, the message is backed out and delivered again. A message whose backout count has reached BOTHRESH of the
queue is a poison message: it is moved to the queue BOQNAME. If there is none, or the put fails, it goes to the
dead-letter queue with a dead-letter header, or is dropped if it has MQRO_DISCARD_MSG. When there is no dead-letter
queue, consuming ends with an error. With BOTHRESH(0) messages are delivered again for ever.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from ostler.client.aio.async_connection import AsyncConnection
from ostler.client.aio.async_queue import AsyncQueue
from ostler.client.api.dead_letter_header import add_header
from ostler.client.api.get_options import to_message
from ostler.client.api.message import Message
from ostler.client.session.session import BackoutRules, GetOptions, OpenQueue, Session, StoredMessage
from ostler.engine.message.message import BACKOUT_COUNT_AT, REPORT_AT
from ostler.engine.open import OpenRequest
from ostler.model import constants as mq
from ostler.model.errors import MQError

AsyncHandler = Callable[[Message, AsyncConnection], Awaitable[object]]

log: Final = logging.getLogger("ostler.consuming")

_PAUSE_SECONDS_MAX: Final = 1.0
_PAUSE_SECONDS: Final = 0.005
_DOUBLINGS_MAX: Final = 10


class HandlerFailed(Exception):
    """The handler raised an exception, which is the cause of this one."""


@dataclass
class ConsumerCounts:
    """The counts of a consumer."""

    handled: int = 0
    failed: int = 0
    moved: int = 0
    # Consecutive failures.
    failing: int = 0


async def open_on_own_connection(queue: AsyncQueue) -> AsyncQueue:
    """Open the queue again on a connection of its own, whose units of work are those of the messages."""
    connection = await queue.connection.clone()
    try:
        selection = queue.handle.selection
        return await connection.open(queue.name, "r", selector=selection, options=mq.MQOO_SAVE_ALL_CONTEXT)
    except BaseException:
        await connection.close(commit=False)
        raise


async def consume(queue: AsyncQueue, handler: AsyncHandler, asked: GetOptions) -> None:
    """Consume until cancelled, or until a verb fails."""
    own = await open_on_own_connection(queue)
    counts = ConsumerCounts()
    async with own.connection:
        while True:
            await consume_next(own, handler, asked, counts)
            await own.connection.session.runtime.checkpoint()


async def consume_next(queue: AsyncQueue, handler: AsyncHandler, asked: GetOptions, counts: ConsumerCounts) -> bool:
    """Get one message, waiting for ever by default, and hand it to the handler. Returns False if there was none."""
    session = queue.connection.session
    wanted: GetOptions = {"wait": None, **asked, "syncpoint": True}
    try:
        async with queue.connection.transaction():
            taken = await queue.get_stored(wanted)
            if taken is None:
                return False
            poison = await poison_rules(queue.handle, taken)
            if poison is not None:
                await move_poison(session, queue.handle, taken, poison)
            else:
                await _handle(handler, to_message(taken, wanted), queue.connection)
    except HandlerFailed as failure:
        counts.failed += 1
        counts.failing += 1
        log.warning("A message of queue %s was backed out.", queue.name, exc_info=failure.__cause__)
        await _pause(session, queue.handle, counts.failing)
        return True
    except MQError as error:
        # The result of an interrupted commit is unknown. If it failed, the message is delivered again.
        if error.reason not in (mq.MQRC_BACKED_OUT, mq.MQRC_CALL_INTERRUPTED):
            raise
        counts.failed += 1
        return True
    counts.failing = 0
    if poison is not None:
        counts.moved += 1
    else:
        counts.handled += 1
    return True


async def _handle(handler: AsyncHandler, message: Message, connection: AsyncConnection) -> None:
    try:
        await handler(message, connection)
    except Exception as error:
        raise HandlerFailed from error


async def _pause(session: Session, handle: OpenQueue, failures: int) -> None:
    """Pause when the failed message is delivered again at once and for ever, to save the processor."""
    rules = await handle.backout_rules()
    if rules is None or rules.threshold == 0:
        doublings = min(failures, _DOUBLINGS_MAX)
        await session.runtime.new_event().wait(min(_PAUSE_SECONDS * 2**doublings, _PAUSE_SECONDS_MAX))


# -- poison ------------------------------------------------------------------------------------------------------------


async def poison_rules(handle: OpenQueue, taken: StoredMessage) -> BackoutRules | None:
    """Return the backout rules if a message has reached the backout threshold of its queue, else None."""
    backouts = _number(taken.md, BACKOUT_COUNT_AT)
    if backouts == 0:
        return None
    rules = await handle.backout_rules()
    return rules if rules is not None and 0 < rules.threshold <= backouts else None


async def move_poison(session: Session, handle: OpenQueue, taken: StoredMessage, rules: BackoutRules) -> None:
    """Move a poison message to the backout queue or the dead-letter queue, in the unit of work of its get."""
    target = rules.backout_queue
    if target:
        try:
            await _pass_on(session, handle, target, taken.md, taken.property_block, taken.body)
            return
        except MQError as error:
            log.warning("A message of %s cannot be moved to %s: %s", rules.queue, target, error)
    if _number(taken.md, REPORT_AT) & mq.MQRO_DISCARD_MSG:
        return
    dead = await session.dead_letter_queue()
    if not dead:
        raise MQError(
            mq.MQRC_UNKNOWN_OBJECT_NAME,
            f"A message of {rules.queue} was backed out {rules.threshold} times and there is no queue to move it to. "
            "Name a queue in BOQNAME, or a dead-letter queue in DEADQ of the queue manager.",
        )
    md, body = add_header(taken.md, taken.body, rules.queue, session, mq.MQRC_BACKOUT_THRESHOLD_REACHED)
    await _pass_on(session, handle, dead, md, taken.property_block, body)


async def _pass_on(
    session: Session, source: OpenQueue, name: str, md: bytes, property_block: bytes, body: bytes
) -> None:
    options = mq.MQPMO_SYNCPOINT | mq.MQPMO_PASS_ALL_CONTEXT | mq.MQPMO_FAIL_IF_QUIESCING
    await session.put1(OpenRequest(mq.MQOT_Q, name, 0), md, options, property_block, body, source)


def _number(md: bytes, at: int) -> int:
    return int.from_bytes(md[at : at + 4], "little", signed=True)
