"""Authority checks at MQOPEN, MQPUT1 and MQCLOSE.

The check is made on the name that the application gave and not on the resolved one, so a user may use an alias without
any authority on its base queue. A queue of another queue manager is checked on the transmission queue. Some options
also need an authority on the queue manager. With an alternate user, context is set and passed with the authority of
the connection's own user.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.name_resolution import Resolved
from ostler.model import constants as mq
from ostler.model.authorities import (
    ALTUSR,
    BROWSE,
    DLT,
    DSP,
    GET,
    INQ,
    PASSALL,
    PASSID,
    PUT,
    SET,
    SETALL,
    SETID,
    words_of,
)
from ostler.model.errors import MQError

_INPUT: Final = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE
_ALSO_ON_MANAGER: Final = SETID | SETALL
_CONTEXTS: Final = PASSID | PASSALL | SETID | SETALL


def needed_to_open(options: i64) -> i64:
    """Return the authorities that open options need on the object."""
    needed: i64 = 0
    if options & _INPUT:
        needed |= GET
    if options & mq.MQOO_BROWSE:
        needed |= BROWSE
    if options & mq.MQOO_OUTPUT:
        needed |= PUT
    if options & mq.MQOO_INQUIRE:
        needed |= INQ
    if options & mq.MQOO_SET:
        needed |= SET
    if options & mq.MQOO_PASS_IDENTITY_CONTEXT:
        needed |= PASSID
    if options & mq.MQOO_PASS_ALL_CONTEXT:
        needed |= PASSALL
    if options & mq.MQOO_SET_IDENTITY_CONTEXT:
        needed |= SETID
    if options & mq.MQOO_SET_ALL_CONTEXT:
        needed |= SETALL
    return needed


def user_of_open(engine: Engine, connection: Connection, options: i64, alternate_user: str) -> str:
    """Return the user whose authorities an open is checked with; empty when nothing is to be checked."""
    guard = engine.guard
    if guard is None:
        return ""
    if not connection.is_privileged and connection.user == "":
        # An empty name means that nothing is checked, so no application may have one.
        raise MQError(mq.MQRC_NOT_AUTHORIZED, "The user of the connection is blank.")
    if not options & mq.MQOO_ALTERNATE_USER_AUTHORITY:
        return "" if connection.is_privileged else connection.user
    if not connection.is_privileged:
        require(engine, connection.user, mq.MQOT_Q_MGR, engine.name, ALTUSR)
    user = alternate_user.strip()
    if user == "" or not user.isprintable():
        raise MQError(mq.MQRC_NOT_AUTHORIZED, "The alternate user is blank or not printable.")
    return "" if guard.is_administrator(user) else user


def require(engine: Engine, user: str, object_type: int, name: str, needed: i64) -> None:
    """Raise MQRC_NOT_AUTHORIZED unless the user has all of the authorities on the object."""
    guard = engine.guard
    if guard is None:
        return
    if object_type == mq.MQOT_Q and engine.dynamic_owners and engine.dynamic_owners.get(name) == user:
        return
    missing: i64 = needed & ~guard.authorities(user, object_type, name)
    if missing:
        what = f"queue manager {engine.name}" if object_type == mq.MQOT_Q_MGR else name
        raise MQError(mq.MQRC_NOT_AUTHORIZED, f"User {user} has no {','.join(words_of(missing))} authority on {what}.")


def check_queue(
    engine: Engine,
    connection: Connection,
    user: str,
    name: str,
    manager_name: str,
    options: i64,
    found: Resolved,
) -> None:
    """Check the authorities to open a queue or to create a dynamic one. `user` comes from `user_of_open`."""
    if engine.guard is None:
        return
    needed: i64 = needed_to_open(options)
    queue = found.queue
    if found.model is not None:
        needed |= DSP
    elif found.remote_manager and manager_name not in ("", engine.name) and queue is not None:
        name = queue.name
    check_named_queue(engine, connection, user, name, options, needed)


def check_named_queue(engine: Engine, connection: Connection, user: str, name: str, options: i64, needed: i64) -> None:
    """Check authorities on a queue, and those that they imply on the queue manager."""
    setter = _user_of_context(connection, user, options)
    if user and user == setter:
        require(engine, user, mq.MQOT_Q, name, needed)
    elif user:
        require(engine, user, mq.MQOT_Q, name, needed & ~_CONTEXTS)
    if setter and user != setter and needed & _CONTEXTS:
        require(engine, setter, mq.MQOT_Q, name, needed & _CONTEXTS)
    if setter and needed & _ALSO_ON_MANAGER:
        require(engine, setter, mq.MQOT_Q_MGR, engine.name, needed & _ALSO_ON_MANAGER)


def _user_of_context(connection: Connection, user: str, options: i64) -> str:
    """Return the user whose authorities count for context: the connection's own, also with an alternate user."""
    if not options & mq.MQOO_ALTERNATE_USER_AUTHORITY:
        return user
    return "" if connection.is_privileged else connection.user


def check_context(engine: Engine, connection: Connection, user: str, options: i64) -> None:
    """Check the context options of a publisher, on the queue manager: topics have no such authorities."""
    setter = _user_of_context(connection, user, options)
    needed: i64 = needed_to_open(options) & _ALSO_ON_MANAGER
    if setter and needed:
        require(engine, setter, mq.MQOT_Q_MGR, engine.name, needed)


def check_delete(engine: Engine, connection: Connection, name: str) -> None:
    """Check the authority to delete a dynamic queue by closing it."""
    if engine.guard is not None and not connection.is_privileged:
        require(engine, connection.user, mq.MQOT_Q, name, DLT)
