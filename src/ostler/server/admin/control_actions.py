"""The actions behind control commands: status, end, media images, trusted applications.

Answers with "line" are for people to read, in order; the last answer is for programs. Callers that are not the owner of
the queue manager are refused.
"""

from __future__ import annotations

import base64
import fnmatch
import re
import time
from typing import Final

from ostler.engine.core import QUIESCING, STOPPING
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Shown, find
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.model.replication import SwitchOver
from ostler.server.admin.actions import Action, Answers, Arguments, Caller, text_argument, texts_argument
from ostler.server.admin.replication_actions import replication_actions
from ostler.server.daemon import FOR_EVER, MODES, QUIESCE, Daemon, EndRequest
from ostler.server.queue_manager import QueueManager
from ostler.server.storage.media_recovery import record_all_images, record_image, recover_queue
from ostler.server.trusted_applications import ApplicationRefused, TrustedApplication

# By then the main thread has taken the request to end, so that the next status shows it.
_END_TAKEN_SECONDS: Final = 2.0
_WAIT_SECONDS_MAX: Final = 86_400.0
_QUEUE_TYPES: Final = frozenset({"all", "*", "queue", "q", "qlocal", "ql"})
# Their definitions are in the catalogue, which every checkpoint writes; there is no image to record.
_OTHER_TYPES: Final = frozenset(
    {"authinfo", "catalog", "ctlg", "channel", "chl", "clntconn", "comminfo", "listener", "lstr", "namelist", "nl"}
    | {"process", "prcs", "qalias", "qa", "qmgr", "qmodel", "qm", "qremote", "qr", "service", "srvc"}
    | {"sub", "subscription", "syncfile", "topic", "top"}
)
_PATTERN: Final = re.compile(r"[A-Za-z0-9._/%*]{1,48}")


def control_actions(manager: QueueManager, daemon: Daemon) -> dict[str, Action]:
    """Return the actions of a queue manager that is a process of its own, by name."""
    actions = ControlActions(manager, daemon)
    return {
        "status": actions.status,
        "end": actions.end,
        "record_image": actions.record_image,
        "recover_object": actions.recover_object,
        "run_trusted": actions.run_trusted,
        "definitions": actions.definitions,
        **replication_actions(manager),
    }


class ControlActions:
    def __init__(self, manager: QueueManager, daemon: Daemon) -> None:
        self._manager = manager
        self._daemon = daemon
        self._applications: list[TrustedApplication] = []

    # -- life ------------------------------------------------------------------------

    def status(self, arguments: Arguments, caller: Caller) -> Answers:
        """The status of the queue manager."""
        _check_owner(caller, "ask for the status")
        manager = self._manager
        record = self._daemon.record
        with manager.turn:
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
        """endmqm: begin the end of the queue manager. It has ended when the instance lock is free."""
        _check_owner(caller, "end the queue manager")
        mode = text_argument(arguments, "mode", QUIESCE)
        if mode not in MODES:
            raise MQError(mq.MQRC_OPTIONS_ERROR, f"{mode!r} is not a mode of ending; use one of {', '.join(MODES)}.")
        wait_seconds = _seconds(arguments)
        reconnects = bool(arguments.get("reconnect"))
        switches_over = bool(arguments.get("switch_over"))
        if switches_over:
            try:
                yield {"switch_over": self._manager.replication.switch_over(SwitchOver(reconnects))}
            except MQError as error:
                # Nothing ends: the queue manager would be nowhere.
                yield {"cannot_switch_over": error.detail or str(error)}
                return
        self._daemon.request_end(EndRequest(mode, wait_seconds, caller.user, reconnects, switches_over))
        self._daemon.is_ending.wait(_END_TAKEN_SECONDS)
        yield {"line": f"The end ({mode}) of queue manager {self._manager.name} has begun."}
        yield {"accepted": True}

    def definitions(self, arguments: Arguments, caller: Caller) -> Answers:
        """All definitions as the log has them, with passwords masked."""
        _check_owner(caller, "read all definitions")
        manager = self._manager
        with manager.turn as engine:
            # Definitions are immutable: they can be read without the lock.
            kept = [engine.manager, *(each for kind in ObjectType for each in engine.of_type(kind).values())]
        for definition in {id(each): each for each in kept}.values():
            yield {"definition": base64.b64encode(_mask_passwords(definition).encode()).decode()}

    # -- media recovery --------------------------------------------------------------

    def record_image(self, arguments: Arguments, caller: Caller) -> Answers:
        """rcdmqimg: record media images of the queues that match a name or pattern."""
        _check_owner(caller, "record media images")
        manager = self._manager
        names = self._queues(arguments)
        processed = 0
        if _pattern(arguments) == "*" and names:
            recorded = record_all_images(manager)
        else:
            for name in names:
                self._check_undamaged(name)
            recorded = [record_image(manager, name) for name in names]
            if recorded:
                manager.checkpoint()
        for each in recorded:
            processed += 1
            yield {
                "line": f"AMQ7459I: The image of queue {each.queue_name} was recorded, "
                f"{each.messages} messages in {each.seconds:.3f} seconds."
            }
        with manager.turn:
            log = manager.log.status()
        yield {"processed": processed, "restart_extent": log.restart_extent, "media_extent": log.media_extent}

    def _check_undamaged(self, name: str) -> None:
        with self._manager.turn:
            queue = self._manager.engine.queues.get(name)
            damage = queue.damaged if queue is not None else ""
        if damage:
            raise MQError(mq.MQRC_OBJECT_DAMAGED, f"Queue {name} is damaged: {damage}. Recover it with rcrmqobj.")

    def recover_object(self, arguments: Arguments, caller: Caller) -> Answers:
        """rcrmqobj: rebuild the queues that match a name or pattern. A pattern matches only damaged queues."""
        _check_owner(caller, "recover objects")
        manager = self._manager
        names = self._queues(arguments)
        if "*" in _pattern(arguments):
            with manager.turn:
                names = [name for name in names if manager.engine.queues[name].damaged]
        for name in names:
            messages = recover_queue(manager, name)
            yield {"line": f"AMQ7081I: Queue {name} was recovered from its image, with {messages} messages."}
        yield {"processed": len(names)}

    def _queues(self, arguments: Arguments) -> list[str]:
        kind = text_argument(arguments, "type", "all").lower()
        pattern = _pattern(arguments)
        if kind in _OTHER_TYPES:
            return []
        if kind not in _QUEUE_TYPES:
            raise MQError(mq.MQRC_OPTIONS_ERROR, f"{kind!r} is not a type of object.")
        manager = self._manager
        with manager.turn:
            kept = [queue.name for queue in manager.engine.queues.values() if not queue.is_temporary]
        if "*" not in pattern:
            if pattern not in kept:
                raise MQError(
                    mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no local queue {pattern} that is kept over a restart."
                )
            return [pattern]
        return sorted(name for name in kept if fnmatch.fnmatchcase(name, pattern))

    # -- applications ----------------------------------------------------------------

    def run_trusted(self, arguments: Arguments, caller: Caller) -> Answers:
        """Load a trusted application into this process, and wait for its end unless asked not to."""
        _check_owner(caller, "load applications into the queue manager's process")
        try:
            application = TrustedApplication(
                text_argument(arguments, "target", ""),
                texts_argument(arguments, "path"),
                texts_argument(arguments, "arguments"),
            )
        except ApplicationRefused as refused:
            raise MQError(mq.MQRC_OPTIONS_ERROR, str(refused)) from refused
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
            # An empty answer now and then, so that a caller that is gone is noticed.
            yield {"waiting": True}
        if application.failure:
            yield {"failure": application.failure}
        yield {"status": application.status}


def _mask_passwords(definition: Definition) -> Definition:
    """Return a definition with asterisks in place of passwords."""
    attributes = dict(definition.attributes)
    for name, value in definition.attributes.items():
        attribute = find(definition.object_type, name)
        if attribute is not None and attribute.shown == Shown.MASKED and value:
            attributes[name] = "*" * 8
    return Definition(definition.object_type, definition.name, attributes)


def _check_owner(caller: Caller, what: str) -> None:
    if not caller.is_owner:
        raise MQError(mq.MQRC_NOT_AUTHORIZED, f"User {caller.user} may not {what}: only the owner of the files may.")


def _seconds(arguments: Arguments) -> float:
    """Return the seconds that a quiesce may wait. A negative argument means without limit."""
    value = arguments.get("wait_seconds", 0)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MQError(mq.MQRC_OPTIONS_ERROR, "wait_seconds has to be a number.")
    return FOR_EVER if value < 0 else min(float(value), _WAIT_SECONDS_MAX)


def _pattern(arguments: Arguments) -> str:
    pattern = text_argument(arguments, "name", "*")
    if not _PATTERN.fullmatch(pattern):
        raise MQError(mq.MQRC_OPTIONS_ERROR, f"{pattern[:48]!r} is neither a name nor a pattern of names.")
    return pattern
