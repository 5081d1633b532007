"""A trigger monitor: waits on an initiation queue and starts the programs that trigger messages name.

APPLICID of the process definition names the program:

    a name in `programs`      that function is called with the `Trigger`, on a thread of its own
    shell:COMMAND             the shell runs the command; in it, "$1" is the MQTMC2 structure
    anything else             the program and its arguments, quoted as in a shell but without one; the MQTMC2 structure
                              is the next argument, and the words of ENVRDATA are the last ones

The monitor does not wait for programs; a trailing `&` in ENVRDATA, which other trigger monitors need for that, is
ignored. Text of a trigger message never reaches a shell unquoted.
"""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Final

from ostler.client.api.connection import connect
from ostler.client.api.message import Message
from ostler.client.api.queue import Queue
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.headers import MQTM, MQTMC2
from ostler.model.structures.layout import trim
from ostler.server.config.environment import without_secrets
from ostler.server.queue_manager import QueueManager

DEFAULT_QUEUE: Final = "SYSTEM.DEFAULT.INITIATION.QUEUE"

log: Final = logging.getLogger("ostler.trigger_monitor")

_SHELL: Final = "shell:"
_TRIGGER: Final = mq.MQFMT_TRIGGER.decode().rstrip()
_ENDINGS: Final = (
    mq.MQRC_CONNECTION_BROKEN,
    mq.MQRC_CONNECTION_QUIESCING,
    mq.MQRC_Q_MGR_QUIESCING,
    mq.MQRC_Q_MGR_STOPPING,
)
# While programs run, the monitor checks for their end so often.
_REAP_SECONDS: Final = 0.5


@dataclass(frozen=True)
class Trigger:
    """The contents of a trigger message: the program to start and the queue to start it for."""

    queue: str
    process: str
    trigger_data: str
    application_type: int
    application: str
    environment: str
    user_data: str
    manager: str

    def packed(self) -> bytes:
        """Return the MQTMC2 structure for the program. It has characters only; its application type is blank."""
        structure = MQTMC2.default()
        for name, value in (
            ("QName", self.queue),
            ("ProcessName", self.process),
            ("TriggerData", self.trigger_data),
            ("ApplId", self.application),
            ("EnvData", self.environment),
            ("UserData", self.user_data),
            ("QMgrName", self.manager),
        ):
            MQTMC2.patch(structure, name, value)
        return bytes(structure)


def read_trigger(message: Message, manager: str) -> Trigger:
    """Decode a trigger message. Raises MQError for any other message."""
    data = message.data
    if message.format == _TRIGGER:
        MQTM.validate_header(data)
    else:
        MQTM.validate_header(b"")

    def text(name: str) -> str:
        return trim(MQTM.read_bytes(data, name)).decode("utf-8", "replace")

    return Trigger(
        queue=text("QName"),
        process=text("ProcessName"),
        trigger_data=text("TriggerData"),
        application_type=MQTM.read_int(data, "ApplType"),
        application=text("ApplId"),
        environment=text("EnvData"),
        user_data=text("UserData"),
        manager=manager,
    )


def command_of(trigger: Trigger) -> list[str]:
    """Return the arguments of the process to start. Raises ValueError when APPLICID names none."""
    structure = os.fsdecode(trigger.packed())
    if trigger.application.startswith(_SHELL):
        return ["/bin/sh", "-c", trigger.application.removeprefix(_SHELL), "sh", structure]
    words = shlex.split(trigger.application)
    if not words:
        raise ValueError(f"process {trigger.process} names no program in APPLICID")
    last = shlex.split(trigger.environment.rstrip().removesuffix("&"))
    return [*words, structure, *last]


class TriggerMonitor:
    """Serves one initiation queue on a thread of its own, from `start` to `stop` or the end of the queue manager.

    started    programs and functions that were started
    finished   those that have ended, of them `unsuccessful` with an exit status other than 0 or an exception
    failed     trigger messages whose program could not be started
    error      the error that ended the monitor, if any
    """

    def __init__(
        self,
        queue_manager: str | QueueManager = "QM1",
        initiation_queue: str = DEFAULT_QUEUE,
        *,
        programs: Mapping[str, Callable[[Trigger], object]] | None = None,
    ) -> None:
        self.started = 0
        self.finished = 0
        self.unsuccessful = 0
        self.failed = 0
        self.error: BaseException | None = None
        self._manager = queue_manager
        self._initiation = initiation_queue
        self._programs = dict(programs or {})
        self._queue: Queue | None = None
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._state = threading.Condition()
        self._children: list[tuple[Trigger, subprocess.Popen[bytes]]] = []
        self._calls = 0

    def __enter__(self) -> TriggerMonitor:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Open the initiation queue and start the thread. Raises MQError when the open fails."""
        connection = connect(self._manager, application="trigger-monitor")
        try:
            self._queue = connection.open(self._initiation, "s")
        except BaseException:
            connection.close()
            raise
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"ostler-trigger-{self._initiation}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the monitor. Programs it has started run on."""
        self._stopping = True
        if self._queue is not None:
            self._queue.connection.inner.session.interrupt()
        if self._thread is not None:
            self._thread.join()

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def wait_for_programs(self, seconds: float | None = None) -> bool:
        """Wait until all started programs have ended. Returns False when the time is up."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._state:
            children = list(self._children)
        for _, child in children:
            try:
                child.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                return False
        self._reap_children()
        with self._state:
            return self._state.wait_for(
                lambda: self._calls == 0, None if deadline is None else max(0.0, deadline - time.monotonic())
            )

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        queue = self._queue
        assert queue is not None
        try:
            while not self._stopping:
                message = queue.get(wait=_REAP_SECONDS if self._children else None, convert=True, syncpoint=False)
                self._reap_children()
                if message is not None:
                    self._serve(message)
        except MQError as error:
            if error.reason not in _ENDINGS:
                self._record_error(error)
        except Exception as error:
            self._record_error(error)
        finally:
            queue.connection.close()

    def _record_error(self, error: Exception) -> None:
        self.error = error
        log.error("The trigger monitor of %s has ended: %s", self._initiation, error)

    def _serve(self, message: Message) -> None:
        assert self._queue is not None
        try:
            trigger = read_trigger(message, self._queue.connection.name)
            function = self._programs.get(trigger.application)
            if function is not None:
                self._call(trigger, function)
            else:
                self._start_process(trigger)
        except (MQError, OSError, ValueError) as error:
            self.failed += 1
            log.error("No program was started for a message on %s: %s", self._initiation, error)
            return
        self.started += 1
        log.info("%s was started for queue %s.", trigger.application, trigger.queue)

    def _start_process(self, trigger: Trigger) -> None:
        child = subprocess.Popen(
            command_of(trigger), stdin=subprocess.DEVNULL, close_fds=True, env=without_secrets(os.environ)
        )
        with self._state:
            self._children.append((trigger, child))

    def _call(self, trigger: Trigger, function: Callable[[Trigger], object]) -> None:
        with self._state:
            self._calls += 1
        threading.Thread(
            target=self._run_function, args=(trigger, function), name=f"ostler-triggered-{trigger.queue}", daemon=True
        ).start()

    def _run_function(self, trigger: Trigger, function: Callable[[Trigger], object]) -> None:
        is_good = False
        try:
            function(trigger)
            is_good = True
        except Exception:
            log.exception("%s, started for queue %s, has failed.", trigger.application, trigger.queue)
        finally:
            with self._state:
                self._calls -= 1
                self.finished += 1
                self.unsuccessful += int(not is_good)
                self._state.notify_all()

    def _reap_children(self) -> None:
        with self._state:
            running: list[tuple[Trigger, subprocess.Popen[bytes]]] = []
            for trigger, child in self._children:
                status = child.poll()
                if status is None:
                    running.append((trigger, child))
                    continue
                self.finished += 1
                if status != 0:
                    self.unsuccessful += 1
                    log.warning("%s, started for %s, ended with %s.", trigger.application, trigger.queue, status)
            self._children = running
