"""Handing messages to a program one by one, each in a unit of work of its own.

A message whose handler returns is committed together with all that the handler did through the connection it was
given. One whose handler raises is backed out and comes again. A message that came back too often is poison: when its
back-out count has reached the queue's BOTHRESH it is moved to the queue BOQNAME. If there is none, or it cannot take
the message, that goes to the dead-letter queue behind a header that says why, or is dropped if it asked to be. When
it can go nowhere, consuming ends with the error. A BOTHRESH of 0 means that messages come again for ever.
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
from ostler.model.constants import (
    MQOO_SAVE_ALL_CONTEXT,
    MQOT_Q,
    MQPMO_FAIL_IF_QUIESCING,
    MQPMO_PASS_ALL_CONTEXT,
    MQPMO_SYNCPOINT,
    MQRC_BACKED_OUT,
    MQRC_BACKOUT_THRESHOLD_REACHED,
    MQRC_CALL_INTERRUPTED,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRO_DISCARD_MSG,
)
from ostler.model.errors import MQError

AsyncHandler = Callable[[Message, AsyncConnection], Awaitable[object]]

log: Final = logging.getLogger("ostler.consuming")

_PAUSE_SECONDS_MAX: Final = 1.0
_PAUSE_SECONDS: Final = 0.005
_DOUBLINGS_MAX: Final = 10


class HandlerFailed(Exception):
    """The handler raised; what it raised is the cause."""


@dataclass
class Tally:
    """What has become of the messages so far."""

    handled: int = 0
    failed: int = 0
    moved: int = 0
    # How many handlers in a row have failed.
    failing: int = 0


async def open_own(queue: AsyncQueue) -> AsyncQueue:
    """The queue once more, on a connection of its own whose unit of work is each message's."""
    connection = await queue.connection.clone()
    try:
        selection = queue.handle.selection
        return await connection.open(queue.name, "r", selector=selection, options=MQOO_SAVE_ALL_CONTEXT)
    except BaseException:
        await connection.close(commit=False)
        raise


async def consume(queue: AsyncQueue, handler: AsyncHandler, asked: GetOptions) -> None:
    """Consume until cancelled, or until something fails that is not the handler."""
    own = await open_own(queue)
    tally = Tally()
    async with own.connection:
        while True:
            await step(own, handler, asked, tally)
            await own.connection.session.runtime.checkpoint()


async def step(queue: AsyncQueue, handler: AsyncHandler, asked: GetOptions, tally: Tally) -> bool:
    """Get one message, waiting for ever unless told otherwise, and have it handled. False: there was none."""
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
        tally.failed += 1
        tally.failing += 1
        log.warning("A message of queue %s was backed out.", queue.name, exc_info=failure.__cause__)
        await _pause(session, queue.handle, tally.failing)
        return True
    except MQError as error:
        # Of a commit that was interrupted nobody knows whether it was done. If not, the message comes again.
        if error.reason not in (MQRC_BACKED_OUT, MQRC_CALL_INTERRUPTED):
            raise
        tally.failed += 1
        return True
    tally.failing = 0
    if poison is not None:
        tally.moved += 1
    else:
        tally.handled += 1
    return True


async def _handle(handler: AsyncHandler, message: Message, connection: AsyncConnection) -> None:
    try:
        await handler(message, connection)
    except Exception as error:
        raise HandlerFailed from error


async def _pause(session: Session, handle: OpenQueue, failures: int) -> None:
    """A message that nobody ever takes away comes again at once: do not burn the processor on it."""
    rules = await handle.backout_rules()
    if rules is None or rules.threshold == 0:
        doublings = min(failures, _DOUBLINGS_MAX)
        await session.runtime.new_event().wait(min(_PAUSE_SECONDS * 2**doublings, _PAUSE_SECONDS_MAX))


# -- poison ------------------------------------------------------------------------------------------------------------


async def poison_rules(handle: OpenQueue, taken: StoredMessage) -> BackoutRules | None:
    """What to do with a message that has been backed out as often as its queue allows; None: it has not been."""
    backouts = _number(taken.md, BACKOUT_COUNT_AT)
    if backouts == 0:
        return None
    rules = await handle.backout_rules()
    return rules if rules is not None and 0 < rules.threshold <= backouts else None


async def move_poison(session: Session, handle: OpenQueue, taken: StoredMessage, rules: BackoutRules) -> None:
    """Move a message got under syncpoint out of the way, in the same unit of work."""
    target = rules.backout_queue
    if target:
        try:
            await _pass_on(session, handle, target, taken.md, taken.property_block, taken.body)
            return
        except MQError as error:
            log.warning("A message of %s cannot be moved to %s: %s", rules.queue, target, error)
    if _number(taken.md, REPORT_AT) & MQRO_DISCARD_MSG:
        return
    dead = await session.dead_letter_queue()
    if not dead:
        raise MQError(
            MQRC_UNKNOWN_OBJECT_NAME,
            f"A message of {rules.queue} was backed out {rules.threshold} times and can go nowhere. "
            "Name a queue in BOQNAME, or a dead-letter queue in DEADQ of the queue manager.",
        )
    md, body = add_header(taken.md, taken.body, rules.queue, session, MQRC_BACKOUT_THRESHOLD_REACHED)
    await _pass_on(session, handle, dead, md, taken.property_block, body)


async def _pass_on(
    session: Session, source: OpenQueue, name: str, md: bytes, property_block: bytes, body: bytes
) -> None:
    options = MQPMO_SYNCPOINT | MQPMO_PASS_ALL_CONTEXT | MQPMO_FAIL_IF_QUIESCING
    await session.put1(OpenRequest(MQOT_Q, name, 0), md, options, property_block, body, source)


def _number(md: bytes, at: int) -> int:
    return int.from_bytes(md[at : at + 4], "little", signed=True)
