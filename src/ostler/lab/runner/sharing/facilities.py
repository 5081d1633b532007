"""Coupling facilities of the laboratory: our own process as `ostler strcf` starts it, and a Redis server.

The directory of a facility is a short one below that for temporary files: the address of a local socket holds 107 bytes
only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ostler.lab.peers.broker_process import LOOPBACK, ended_with_us
from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.peers.redis_facility import RedisFacility
from ostler.lab.runner.contract import PointFailed
from ostler.lab.runner.sharing.plan import GROUP, FacilityKind, SharingPlan
from ostler.lab.runner.sharing.processor_limit import ProcessorLimit
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import FACILITY, QUEUE_MANAGER, role_at
from ostler.model.coupling.answers import StatusAnswer
from ostler.model.coupling.programs import StatusProgram
from ostler.server.coupling.facility_client import FacilityClient, FacilityLost
from ostler.server.coupling.facility_directory import FacilityDirectory
from ostler.server.coupling.redis.address import parse_address
from ostler.server.coupling.redis.redis_errors import RedisFailed

if TYPE_CHECKING:
    from ostler.server.coupling.redis.redis_client import RedisClient

_FACILITY: Final = "LABCF"
_START_SECONDS_MAX: Final = 60.0
_ANSWER_SECONDS_MAX: Final = 10.0
_POLL_SECONDS: Final = 0.02
_LINES_SHOWN: Final = 5


def start_facility(plan: SharingPlan) -> LabFacility:
    """Start the facility of a group. Raises PointFailed."""
    return _RedisFacility(plan) if plan.facility is FacilityKind.REDIS else _OwnFacility(plan)


class LabFacility(ABC):
    """A coupling facility, in a directory that goes with it."""

    @property
    @abstractmethod
    def is_alive(self) -> bool: ...

    @property
    def limit_note(self) -> str:
        return ""

    @abstractmethod
    def stanza(self, member: int, megabytes: int) -> dict[str, str]:
        """Return the lines of qm.ini of a member."""

    @abstractmethod
    def watched(self) -> list[WatchedProcess]: ...

    @abstractmethod
    def asking(self) -> AbstractContextManager[FacilityClient | RedisClient]:
        """Return a link for questions. Raises PointFailed when it breaks."""

    @abstractmethod
    def describe_end(self) -> str: ...

    @abstractmethod
    def end(self) -> None: ...

    def status(self) -> StatusAnswer:
        with self.asking() as client:
            found = client.run(StatusProgram())
        assert isinstance(found, StatusAnswer)
        return found


class _RedisFacility(LabFacility):
    """A Redis server, whose file is forced once a second."""

    def __init__(self, plan: SharingPlan) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="ostler-cf-"))
        self._limit: ProcessorLimit | None = None
        try:
            self._server = RedisFacility(self._root)
        except PeerUnavailable as failure:
            shutil.rmtree(self._root, ignore_errors=True)
            raise PointFailed(str(failure)) from None
        if plan.facility_cores:
            self._limit = ProcessorLimit(self._server.pid, plan.facility_cores)

    @property
    def is_alive(self) -> bool:
        return not self.describe_end()

    @property
    def limit_note(self) -> str:
        return self._limit.note if self._limit is not None else ""

    def stanza(self, member: int, megabytes: int) -> dict[str, str]:
        values = {"Name": GROUP, "Facility": self._server.address, "FacilityName": _FACILITY}
        return {**values, "MemberNumber": str(member + 1), "StructureMegabytes": str(megabytes)}

    def watched(self) -> list[WatchedProcess]:
        return [WatchedProcess(role_at(QUEUE_MANAGER, FACILITY), self._server.pid)]

    @contextmanager
    def asking(self) -> Iterator[RedisClient]:
        from ostler.server.coupling.redis.redis_client import RedisClient

        try:
            client = RedisClient(parse_address(self._server.address).resolved(), _FACILITY, _ANSWER_SECONDS_MAX)
            try:
                yield client
            finally:
                client.close()
        except (OSError, RedisFailed) as failure:
            raise PointFailed(f"the coupling facility does not answer: {failure}") from None

    def describe_end(self) -> str:
        return "" if Path(f"/proc/{self._server.pid}").exists() else "the Redis server has ended"

    def end(self) -> None:
        self._server.kill()
        if self._limit is not None:
            self._limit.remove()
        shutil.rmtree(self._root, ignore_errors=True)


class _OwnFacility(LabFacility):
    """The process of our own coupling facility."""

    def __init__(self, plan: SharingPlan) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="ostler-cf-"))
        self.directory = FacilityDirectory(self._root, _FACILITY)
        self._output = self._root / "output"
        self._limit: ProcessorLimit | None = None
        program = [sys.executable, "-m", "ostler.cli.main", "strcf", _FACILITY, "--foreground"]
        if plan.is_remote:
            program += ["--listen", f"{LOOPBACK}:0"]
        with self._output.open("ab") as log:
            self._process = subprocess.Popen(
                ended_with_us(program),
                env={**os.environ, "OSTLER_DATA": str(self._root)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )
        self._is_remote = plan.is_remote
        try:
            self._wait_until_ready()
            if plan.facility_cores:
                self._limit = ProcessorLimit(self._process.pid, plan.facility_cores)
        except BaseException:
            self.end()
            raise

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS_MAX
        while self.directory.record() is None or not self.directory.is_running():
            if not self.is_alive or time.monotonic() > deadline:
                raise PointFailed(f"the coupling facility does not start: {self._last_lines()}")
            time.sleep(_POLL_SECONDS)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def limit_note(self) -> str:
        return self._limit.note if self._limit is not None else ""

    def stanza(self, member: int, megabytes: int) -> dict[str, str]:
        """Return the lines of qm.ini of a member."""
        address = str(self.directory.path / "cf.sock")
        record = self.directory.record()
        if self._is_remote and record is not None:
            host, _, port = record.address.rpartition(":")
            address = f"{host}({port})"
        values = {"Name": GROUP, "Facility": address, "FacilityName": _FACILITY, "MemberNumber": str(member + 1)}
        return {**values, "StructureMegabytes": str(megabytes)}

    def watched(self) -> list[WatchedProcess]:
        return [WatchedProcess(role_at(QUEUE_MANAGER, FACILITY), self._process.pid)]

    @contextmanager
    def asking(self) -> Iterator[FacilityClient]:
        """Yield a link for questions. Raises PointFailed when it breaks."""
        try:
            client = FacilityClient(self.directory.connect(_ANSWER_SECONDS_MAX), _FACILITY, "")
            try:
                yield client
            finally:
                client.close()
        except (OSError, FacilityLost) as failure:
            raise PointFailed(f"the coupling facility does not answer: {failure}") from None

    def describe_end(self) -> str:
        status = self._process.poll()
        return "" if status is None else f"the coupling facility ended with status {status}: {self._last_lines()}"

    def _last_lines(self) -> str:
        try:
            lines = self._output.read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return " / ".join(lines[-_LINES_SHOWN:]) or "it said nothing"

    def end(self) -> None:
        """End it at once: it keeps nothing."""
        self._process.kill()
        self._process.wait()
        if self._limit is not None:
            self._limit.remove()
        shutil.rmtree(self._root, ignore_errors=True)
