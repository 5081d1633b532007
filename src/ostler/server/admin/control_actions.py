"""What commands ask of a running queue manager over its local socket: status, end, media images, applications.

Each action is a generator of dictionaries. Those with "line" are for people to read, in order; the last one has what a
program needs. Whoever is not the owner of the queue manager is refused.
"""

from __future__ import annotations

import base64
import fnmatch
import re
import time
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from ostler.engine.core import QUIESCING, STOPPING
from ostler.model.attributes import ObjectType, Shown, find
from ostler.model.constants import (
    MQRC_NOT_AUTHORIZED,
    MQRC_OBJECT_DAMAGED,
    MQRC_OPTIONS_ERROR,
    MQRC_UNKNOWN_OBJECT_NAME,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.server.daemon import FOR_EVER, MODES, QUIESCE, Daemon, EndRequest
from ostler.server.queue_manager import QueueManager
from ostler.server.storage.media_recovery import record_all_images, record_image, recover_queue
from ostler.server.trusted_applications import Application, ApplicationRefused

Arguments = dict[str, object]
Answers = Iterator[dict[str, object]]

# By then the main thread has taken a request to end, so that whoever looks next sees the state.
_TAKEN_SECONDS: Final = 2.0
_WAIT_SECONDS_MAX: Final = 86_400.0
_QUEUE_TYPES: Final = frozenset({"all", "*", "queue", "q", "qlocal", "ql"})
# Their definitions are in the catalogue, which every checkpoint writes anew; there is nothing to record.
_OTHER_TYPES: Final = frozenset(
    {"authinfo", "catalog", "ctlg", "channel", "chl", "clntconn", "comminfo", "listener", "lstr", "namelist", "nl"}
    | {"process", "prcs", "qalias", "qa", "qmgr", "qmodel", "qm", "qremote", "qr", "service", "srvc"}
    | {"sub", "subscription", "syncfile", "topic", "top"}
)
_PATTERN: Final = re.compile(r"[A-Za-z0-9._/%*]{1,48}")


class Caller(Protocol):
    """Who asks, as the kernel knows it."""

    @property
    def user(self) -> str: ...

    @property
    def is_owner(self) -> bool: ...


Action = Callable[[Arguments, Caller], Answers]


def control_actions(manager: QueueManager, daemon: Daemon) -> dict[str, Action]:
    """The actions of a queue manager that is a process of its own, by name."""
    actions = ControlActions(manager, daemon)
    return {
        "status": actions.status,
        "end": actions.end,
        "record_image": actions.record_image,
        "recover_object": actions.recover_object,
        "run_trusted": actions.run_trusted,
        "definitions": actions.definitions,
    }


class ControlActions:
    def __init__(self, manager: QueueManager, daemon: Daemon) -> None:
        self._manager = manager
        self._daemon = daemon
        self._applications: list[Application] = []

    # -- life ------------------------------------------------------------------------

    def status(self, arguments: Arguments, caller: Caller) -> Answers:
        """How the queue manager is."""
        _check_owner(caller, "ask for the status")
        manager = self._manager
        record = self._daemon.record
        with manager.lock:
            connections = len(manager.engine.connections)
            queues = len(manager.engine.queues)
            state = {QUIESCING: "Quiescing", STOPPING: "Ending immediately"}.get(manager.engine.state, "Running")
            log = manager.log.status()
        self._applications = [each for each in self._applications if each.is_alive]
        yield {
            "name": manager.name,
            "status": state,
            "pid": record.pid,
            "started": record.started,
            "version": record.version,
            "flavour": record.flavour,
            "uptime_seconds": round(time.time() - self._daemon.started, 3),
            "connections": connections,
            "queues": queues,
            "restart_extent": log.restart_extent,
            "media_extent": log.media_extent,
            "current_extent": log.current_extent,
            "log_in_use_percent": log.in_use_percent,
            "trusted_applications": [each.target for each in self._applications],
            "notices": list(manager.notices[-10:]),
        }

    def end(self, arguments: Arguments, caller: Caller) -> Answers:
        """Have the queue manager end. The answer says that it will; when the instance lock is free it has."""
        _check_owner(caller, "end the queue manager")
        mode = _text(arguments, "mode", QUIESCE)
        if mode not in MODES:
            raise MQError(MQRC_OPTIONS_ERROR, f"{mode!r} is no way to end; there are {', '.join(MODES)}.")
        wait_seconds = _seconds(arguments)
        self._daemon.ask_end(EndRequest(mode, wait_seconds, caller.user, bool(arguments.get("reconnect"))))
        self._daemon.is_ending.wait(_TAKEN_SECONDS)
        yield {"line": f"The end ({mode}) of queue manager {self._manager.name} has begun."}
        yield {"accepted": True}

    def definitions(self, arguments: Arguments, caller: Caller) -> Answers:
        """Everything that is defined, as the log has it but for secrets, which are starred."""
        _check_owner(caller, "read all definitions")
        manager = self._manager
        with manager.lock:
            engine = manager.engine
            # A definition never changes: it can be read without the lock.
            kept = [engine.manager, *(each for kind in ObjectType for each in engine.of_type(kind).values())]
        for definition in {id(each): each for each in kept}.values():
            yield {"definition": base64.b64encode(_starred(definition).encode()).decode()}

    # -- media recovery --------------------------------------------------------------

    def record_image(self, arguments: Arguments, caller: Caller) -> Answers:
        """rcdmqimg: images of the queues that a name or a pattern matches."""
        _check_owner(caller, "record media images")
        manager = self._manager
        names = self._queues(arguments)
        processed = 0
        if _pattern(arguments) == "*" and names:
            recorded = record_all_images(manager)
        else:
            for name in names:
                self._check_whole(name)
            recorded = [record_image(manager, name) for name in names]
            if recorded:
                manager.checkpoint()
        for each in recorded:
            processed += 1
            yield {
                "line": f"AMQ7459I: The image of queue {each.queue_name} was recorded, "
                f"{each.messages} messages in {each.seconds:.3f} seconds."
            }
        with manager.lock:
            log = manager.log.status()
        yield {"processed": processed, "restart_extent": log.restart_extent, "media_extent": log.media_extent}

    def _check_whole(self, name: str) -> None:
        with self._manager.lock:
            queue = self._manager.engine.queues.get(name)
            damage = queue.damaged if queue is not None else ""
        if damage:
            raise MQError(MQRC_OBJECT_DAMAGED, f"Queue {name} is damaged: {damage}. Recover it with rcrmqobj.")

    def recover_object(self, arguments: Arguments, caller: Caller) -> Answers:
        """rcrmqobj: rebuild the queues that a name or a pattern matches. A pattern means only the damaged ones."""
        _check_owner(caller, "recover objects")
        manager = self._manager
        names = self._queues(arguments)
        if "*" in _pattern(arguments):
            with manager.lock:
                names = [name for name in names if manager.engine.queues[name].damaged]
        for name in names:
            messages = recover_queue(manager, name)
            yield {"line": f"AMQ7081I: Queue {name} was recovered from its image, with {messages} messages."}
        yield {"processed": len(names)}

    def _queues(self, arguments: Arguments) -> list[str]:
        kind = _text(arguments, "type", "all").lower()
        pattern = _pattern(arguments)
        if kind in _OTHER_TYPES:
            return []
        if kind not in _QUEUE_TYPES:
            raise MQError(MQRC_OPTIONS_ERROR, f"{kind!r} is no type of object.")
        manager = self._manager
        with manager.lock:
            kept = [queue.name for queue in manager.engine.queues.values() if not queue.is_temporary]
        if "*" not in pattern:
            if pattern not in kept:
                raise MQError(
                    MQRC_UNKNOWN_OBJECT_NAME, f"There is no local queue {pattern} that is kept over a restart."
                )
            return [pattern]
        return sorted(name for name in kept if fnmatch.fnmatchcase(name, pattern))

    # -- applications ----------------------------------------------------------------

    def run_trusted(self, arguments: Arguments, caller: Caller) -> Answers:
        """Load an application into this process, and unless told otherwise wait for its end."""
        _check_owner(caller, "load applications into the queue manager's process")
        try:
            application = Application(
                _text(arguments, "target", ""), _texts(arguments, "path"), _texts(arguments, "arguments")
            )
        except ApplicationRefused as refused:
            raise MQError(MQRC_OPTIONS_ERROR, str(refused)) from refused
        self._applications.append(application)
        log = self._daemon.error_log
        if log is not None:
            log.write(f"AMQ8025I: Application {application.target} was started in this process by {caller.user}.")
        application.start(log.write if log is not None else None)
        yield {"line": f"AMQ8025I: {application.target} runs in the process of queue manager {self._manager.name}."}
        if arguments.get("background"):
            yield {"status": 0}
            return
        while not application.wait(1.0):
            # Something to send now and then, so that a caller who is gone is noticed.
            yield {"waiting": True}
        if application.failure:
            yield {"failure": application.failure}
        yield {"status": application.status}


def _starred(definition: Definition) -> Definition:
    """A definition with asterisks in place of passwords."""
    attributes = dict(definition.attributes)
    for name, value in definition.attributes.items():
        attribute = find(definition.object_type, name)
        if attribute is not None and attribute.shown == Shown.MASKED and value:
            attributes[name] = "*" * 8
    return Definition(definition.object_type, definition.name, attributes)


def _check_owner(caller: Caller, what: str) -> None:
    if not caller.is_owner:
        raise MQError(MQRC_NOT_AUTHORIZED, f"User {caller.user} may not {what}: only the owner of the files may.")


def _text(arguments: Arguments, name: str, default: str) -> str:
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise MQError(MQRC_OPTIONS_ERROR, f"{name} has to be text.")
    return value


def _texts(arguments: Arguments, name: str) -> list[str]:
    value = arguments.get(name, [])
    if not isinstance(value, list):
        raise MQError(MQRC_OPTIONS_ERROR, f"{name} has to be a list.")
    texts = [each for each in value if isinstance(each, str)]
    if len(texts) != len(value):
        raise MQError(MQRC_OPTIONS_ERROR, f"{name} has to be a list of texts.")
    return texts


def _seconds(arguments: Arguments) -> float:
    """How long a quiesce may wait. A negative number stands for as long as it takes."""
    value = arguments.get("wait_seconds", 0)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MQError(MQRC_OPTIONS_ERROR, "wait_seconds has to be a number.")
    return FOR_EVER if value < 0 else min(float(value), _WAIT_SECONDS_MAX)


def _pattern(arguments: Arguments) -> str:
    pattern = _text(arguments, "name", "*")
    if not _PATTERN.fullmatch(pattern):
        raise MQError(MQRC_OPTIONS_ERROR, f"{pattern[:48]!r} is neither a name nor a pattern of names.")
    return pattern
