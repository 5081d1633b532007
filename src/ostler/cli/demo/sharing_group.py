"""A trial group: three queue managers of this machine that share queues, made and operated by commands of a user."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from ostler.cli.demo.server import CommandRun, ServerFailed, run_command
from ostler.cli.qsg.facility_view import FacilityAway, FacilityView, look
from ostler.client.api.connection import Connection, connect
from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.peers.redis_facility import RedisFacility
from ostler.model.coupling import terms as cf
from ostler.model.coupling.group_rows import GroupRow
from ostler.server.config.directories import QueueManagerDirectory, running_process
from ostler.server.coupling.facility_directory import FacilityDirectory, facility_directory

GROUP: Final = "QSG1"
MEMBERS: Final = ("QM1", "QM2", "QM3")
QUEUE: Final = "DEMO.SHARED"
_STRUCTURE: Final = "APP1"
_DEFINITIONS: Final = f"""
ALTER QMGR CFCONLOS(TOLERATE)
DEFINE CFSTRUCT({_STRUCTURE}) CFLEVEL(5) RECOVER(YES) OFFLOAD(SMDS) DSGROUP('{GROUP}.*.{_STRUCTURE}') REPLACE
DEFINE QLOCAL({QUEUE}) QSGDISP(SHARED) CFSTRUCT({_STRUCTURE}) SHARE MAXDEPTH(999999999) DEFPSIST(YES) REPLACE
"""
_SECONDS_MAX: Final = 60.0
_POLL_SECONDS: Final = 0.002


class SharingGroup:
    """Three members and their coupling facility in one directory. `close` ends all of it, whatever state it is in."""

    def __init__(self, root: Path, uses_redis: bool, on_command: Callable[[CommandRun], None]) -> None:
        self.root = root
        self._uses_redis = uses_redis
        self._on_command = on_command
        self._redis: RedisFacility | None = None
        self._row: GroupRow | None = None

    # -- making and ending ---------------------------------------------------------------------------------------------

    def make(self) -> None:
        """Makes and starts everything. Raises ServerFailed."""
        options = self._start_redis() if self._uses_redis else ()
        directory = self.own_facility
        self._row = GroupRow(GROUP, str(directory.socket), GROUP, str(directory.path))
        if self._redis is not None:
            self._row = GroupRow(GROUP, self._redis.address)
        self.run("qsg", "create", GROUP, *options)
        for name in MEMBERS:
            self.run("crtmqm", "-lla", name)
            self.run("qsg", "add", GROUP, name)
            self.run("strmqm", name)
            self.wait_until(lambda name=name: self.state(name) == cf.MEMBER_ACTIVE_STATE, f"{name} has not joined")  # type: ignore[misc]
            self.run("runmqsc", "-e", name, text=_DEFINITIONS)

    def _start_redis(self) -> tuple[str, ...]:
        try:
            self._redis = RedisFacility(self.root / "redis")
        except PeerUnavailable as failure:
            raise ServerFailed(f"{failure}. Without --redis it goes with a facility of our own") from failure
        return ("--facility", self._redis.address)

    @property
    def own_facility(self) -> FacilityDirectory:
        return facility_directory(self.root, GROUP)

    @property
    def facility_words(self) -> str:
        if self._redis is not None:
            return f"a Redis server, process {self._redis.pid}"
        record = self.own_facility.record()
        return f"our own, process {record.pid if record is not None else 0}, which {MEMBERS[0]} has started"

    def close(self) -> None:
        """Ends all processes that this group has started, at once."""
        with ExitStack() as stack:
            if self._redis is not None:
                stack.callback(self._redis.kill)
            stack.callback(self._kill_facility)
            for name in MEMBERS:
                stack.callback(self._kill_if_running, name)

    def _kill_facility(self) -> None:
        record = self.own_facility.record()
        if record is not None and self.own_facility.is_running():
            with suppress(ProcessLookupError):
                os.kill(record.pid, signal.SIGKILL)
            self.wait_until(lambda: not self.own_facility.is_running(), "the coupling facility does not end")

    def _kill_if_running(self, name: str) -> None:
        process = self.process(name)
        if process:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            self.wait_until(lambda: not self.process(name), f"{name} does not end")

    # -- members -------------------------------------------------------------------------------------------------------

    def process(self, name: str) -> int:
        """Returns the process of a member; 0 without one."""
        return running_process(QueueManagerDirectory(self.root, name))[1]

    def kill(self, name: str) -> int:
        """Kills a member with SIGKILL, and returns its process number without waiting for its end."""
        process = self.process(name)
        if not process:
            raise ServerFailed(f"{name} has no process to kill")
        os.kill(process, signal.SIGKILL)
        return process

    def view(self) -> FacilityView | None:
        """Returns what the facility holds; None when it does not answer."""
        assert self._row is not None
        try:
            return look(self._row)
        except FacilityAway:
            return None

    def state(self, name: str) -> int:
        """Returns the state of a member in the facility; 0: it does not know it."""
        view = self.view()
        status = view.member(MEMBERS.index(name) + 1) if view is not None else None
        return int(status.state) if status is not None else 0

    def wait_until(self, is_so: Callable[[], bool], missing: str) -> None:
        deadline = time.monotonic() + _SECONDS_MAX
        while not is_so():
            if time.monotonic() > deadline:
                raise ServerFailed(f"{missing} after {_SECONDS_MAX:.0f} seconds")
            time.sleep(_POLL_SECONDS)

    def connect(self, name: str) -> Connection:
        """Returns a connection of an application to one member. Raises MQError."""
        return connect(name, data=self.root, binding="local", application="qsg demo")

    # -- commands ------------------------------------------------------------------------------------------------------

    def run(self, *arguments: str, text: str = "") -> str:
        """Runs a command, and returns its output. Raises ServerFailed."""
        done = run_command(self.root, *arguments, text=text)
        self._on_command(done)
        return done.output
