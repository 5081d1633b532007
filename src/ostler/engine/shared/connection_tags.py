"""Serialised connection tags (MQCONNX, MQCNO_SERIALIZE_CONN_TAG_* and MQCNO_RESTRICT_CONN_TAG_*).

A tag of the scope Q_MGR is known here only. One of the scope QSG is a lock in the facility, too: it is freed when the
connection has ended and all its work is settled, or, if this queue manager fails, when its peers have recovered it. So
an application that is started again never runs before its old work is settled.

    take_tag       raises MQError, or returns the task of the lock; None: the tag is taken
    release_tag    when the connection has ended
"""

from __future__ import annotations

from binascii import b2a_base64
from typing import Final, final

from mypy_extensions import i64

from ostler.engine.connection import Connection, TagUse
from ostler.engine.core import Engine
from ostler.engine.shared.membership import FacilityTask, Membership
from ostler.engine.unit_of_work import ENDED, PREPARED
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import LockProgram, UnlockProgram
from ostler.model.errors import MQError

EXCLUSIVE: Final = mq.MQCNO_SERIALIZE_CONN_TAG_Q_MGR | mq.MQCNO_SERIALIZE_CONN_TAG_QSG
RESTRICTED: Final = mq.MQCNO_RESTRICT_CONN_TAG_Q_MGR | mq.MQCNO_RESTRICT_CONN_TAG_QSG
OF_GROUP: Final = mq.MQCNO_SERIALIZE_CONN_TAG_QSG | mq.MQCNO_RESTRICT_CONN_TAG_QSG
LOCK_PREFIX: Final = "tag/"
_NO_TAG: Final = bytes(mq.MQ_CONN_TAG_LENGTH)


def lock_name(tag: bytes) -> str:
    return LOCK_PREFIX + b2a_base64(tag, newline=False).decode("ascii")


def take_tag(engine: Engine, connection: Connection, tag: bytes, options: i64, process: i64) -> TagLock | None:
    """Let a connection use a tag. `process` is that of the application; 0: it is on another machine.

    Raises MQError: MQRC_CONN_TAG_IN_USE, or MQRC_CONN_TAG_NOT_USABLE while the facility is away. With a task, the tag
    is taken when that is done without a reason.
    """
    if tag == _NO_TAG:
        return None
    is_exclusive: bool = options & EXCLUSIVE != 0
    sharing = engine.sharing
    is_group: bool = options & OF_GROUP != 0 and sharing is not None  # in no group both scopes are the same
    if not is_exclusive and process == 0:
        raise MQError(mq.MQRC_OPTIONS_ERROR, "Clients cannot use MQCNO_RESTRICT_CONN_TAG_*.")
    use = engine.tags.get(tag)
    if use is not None and use.is_ending and _is_settled(use):
        use.is_dropped = True  # whoever is about to free it leaves that to the next use
        use = None
    if use is not None:
        is_joined: bool = not is_exclusive and not use.is_exclusive and use.process == process
        if use.is_ending or not is_joined or (is_group and not use.is_group):
            raise MQError(mq.MQRC_CONN_TAG_IN_USE)
    if use is None:
        if sharing is not None:
            _check_recovered(sharing, is_group)
        use = TagUse(tag, is_exclusive, is_group, process)
        engine.tags[tag] = use
    use.holders[connection.number] = connection
    connection.tag = use
    if sharing is None or not is_group:
        return None
    task = TagLock(engine, sharing, use)
    sharing.begin_task(task)
    use.locking += 1
    # Behind the programs of the last use, also those that wait for the journal.
    sharing.submit(LockProgram(lock_name(tag)), engine.journal.end_lsn() if sharing.tags_freed else 0, task.asked())
    return task


def _check_recovered(sharing: Membership, is_group: bool) -> None:
    """Raise MQError while units of earlier starts or links may be in flight: they may have used the tag."""
    if not sharing.is_joined and (is_group or sharing.is_unsettled):
        raise MQError(mq.MQRC_CONN_TAG_NOT_USABLE, "The coupling facility is not available.")
    sharing.lost_units = [unit for unit in sharing.lost_units if unit.state != ENDED]
    if sharing.lost_units:
        raise MQError(mq.MQRC_CONN_TAG_NOT_USABLE, "Units of work wait for RECOVER CFSTRUCT.")
    if sharing.is_unsettled:
        raise MQError(mq.MQRC_CONN_TAG_IN_USE, "Units of work of the queue manager are being recovered.")


def _is_settled(use: TagUse) -> bool:
    """Return True when nothing is under way any more that the last holder began."""
    for task in use.tasks:
        if not task.is_done:
            return False
    for unit in use.units:
        if unit.state != ENDED:
            return False
    return True


def release_tag(engine: Engine, connection: Connection) -> None:
    """End the use of a tag by a connection that has ended. What it left is settled first."""
    use = connection.tag
    if use is None:
        return
    connection.tag = None
    use.holders.pop(connection.number, None)
    if not use.holders:
        use.is_ending = True
        sharing = engine.sharing
        pending = [*engine.tasks, *engine.reading_tasks, *engine.unit_ends]
        if sharing is not None:
            pending.extend(sharing.tasks)
        use.tasks = [task for task in pending if not task.is_done and not isinstance(task, TagLock)]
        if use.locking == 0:
            _free(engine, use)


def leave_prepared(connection: Connection) -> None:
    """Leave a prepared unit to its coordinator when its connection ends. It keeps the connection's tag in use."""
    unit = connection.unit_of_work
    if unit is not None and unit.state == PREPARED:
        connection.unit_of_work = None
        if connection.tag is not None:
            connection.tag.units.append(unit)


def _free(engine: Engine, use: TagUse) -> None:
    """Free a tag that nobody uses, or have that done when all is settled."""
    sharing = engine.sharing
    is_settled: bool = _is_settled(use)
    if use.is_dropped:
        return
    if not use.is_group or sharing is None or not sharing.is_joined:
        if is_settled:
            _forget(engine, use)
        return  # otherwise whoever wants it next looks again
    after: i64 = engine.journal.end_lsn() if use.tasks or sharing.pending_logged else 0
    if is_settled:
        sharing.tags_freed = True
        use.is_dropped = True
        sharing.submit(UnlockProgram(lock_name(use.tag)), after, TagFreed(engine, use))
    elif not use.units:
        # Behind all that is under way, and perhaps again.
        sharing.submit(LockProgram(lock_name(use.tag)), after, TagAwaited(engine, use))


def _forget(engine: Engine, use: TagUse) -> None:
    if engine.tags.get(use.tag) is use:
        del engine.tags[use.tag]


def look_at_tags(engine: Engine) -> None:
    """Free tags whose units in doubt have ended. About once a second."""
    for use in list(engine.tags.values()):
        if use.is_ending and use.units and not use.is_dropped:
            _free(engine, use)


def lose_tags(engine: Engine) -> list[Connection]:
    """The link to the facility is lost: peers free the tags of the group. Returns the connections that must end."""
    lost: list[Connection] = []
    for use in list(engine.tags.values()):
        if use.is_group:
            lost.extend(use.holders.values())
            use.is_dropped = True
            for connection in use.holders.values():
                connection.tag = None
            use.holders = {}
            _forget(engine, use)
    return lost


@final
class TagLock(FacilityTask):
    """Waits for the lock of a tag. `reason` is that of MQCONNX."""

    def __init__(self, engine: Engine, sharing: Membership, use: TagUse) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.use = use
        self.reason: i64 = 0

    def asked(self) -> Continuation:
        return TagLocked(self)

    def on_answer(self, answer: Answer) -> None:
        use = self.use
        status: i64 = answer.status
        use.locking -= 1
        if status == cf.LOCKED:
            self.reason = mq.MQRC_CONN_TAG_IN_USE
        elif status == cf.LINK_LOST or status == cf.FENCED:
            self.reason = mq.MQRC_CONN_TAG_NOT_USABLE
        elif status != cf.OK:
            self.reason = mq.MQRC_RESOURCE_PROBLEM
        if self.reason != 0:
            use.is_dropped = True
            for connection in use.holders.values():
                connection.tag = None
            _forget(self.engine, use)
        elif use.is_ending and use.locking == 0:
            _free(self.engine, use)
        self.sharing.tasks.pop(self, None)
        self.engine.end_task(self)


@final
class TagLocked(Continuation):
    def __init__(self, task: TagLock) -> None:
        self.task = task

    def answered(self, answer: Answer) -> None:
        self.task.on_answer(answer)


@final
class TagAwaited(Continuation):
    """All that was submitted before is answered: the tag may be free now."""

    def __init__(self, engine: Engine, use: TagUse) -> None:
        self.engine = engine
        self.use = use

    def answered(self, answer: Answer) -> None:
        if answer.status == cf.OK:
            _free(self.engine, self.use)
        else:
            _forget(self.engine, self.use)  # peers free the lock when they have recovered this member


@final
class TagFreed(Continuation):
    def __init__(self, engine: Engine, use: TagUse) -> None:
        self.engine = engine
        self.use = use

    def answered(self, answer: Answer) -> None:
        _forget(self.engine, self.use)
