"""The arbiter in a directory of one machine, for several instances on it: trials and demonstrations.

`keys.json` has the keys, replaced as a whole and forced with each change. Whoever reads or changes them holds a lock on
the file `lock`. Leases are counted by the machine's monotonic clock, so a restart of the machine ends all of them. Each
session also holds a lock on a file of its own, which the kernel releases when its process dies: then its keys vanish at
once, not with the lease. A process that is stopped while it holds the common lock makes the arbiter unavailable for
all, until it goes on.

It protects from processes that die, not from a machine that does: instances on several machines need etcd.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from ostler.model.arbiter import (
    LEASE_SECONDS_DEFAULT,
    LEASE_SECONDS_MIN,
    Arbiter,
    ArbiterRefused,
    ArbiterUnavailable,
    ArbiterView,
    Member,
    NameTaken,
    check_in_sync,
    check_name,
)
from ostler.server.replica.arbiter_keys import ArbiterKeys

T = TypeVar("T")

FORMAT = 1
KEYS_BYTES_MAX = 4 << 20
_LOCK_POLL_SECONDS = 0.005
_CHANGE_POLL_SECONDS = 0.05
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class FileArbiter(Arbiter):
    """One instance's session in the directory, which is created if it does not exist."""

    def __init__(
        self, directory: Path, lease_seconds: float = LEASE_SECONDS_DEFAULT, timeout_seconds: float = 1.0
    ) -> None:
        if lease_seconds < LEASE_SECONDS_MIN:
            raise ValueError(f"a lease has at least {LEASE_SECONDS_MIN:.0f} s, as in etcd")
        self.directory = directory
        self.lease_seconds = lease_seconds
        self.timeout_seconds = timeout_seconds
        self._session = ""
        self._session_lock = -1
        self._turn = threading.Lock()
        self._closed = threading.Event()
        self._woken = threading.Event()
        self._seen_revision = -1

    def session(self) -> str:
        return self._session

    def read(self) -> ArbiterView:
        def look(keys: ArbiterKeys) -> ArbiterView:
            self._seen_revision = keys.revision
            return keys.view()

        return self._do(look)

    def register(self, member: Member) -> None:
        check_name(member.instance)

        def put(keys: ArbiterKeys) -> Member | None:
            if self._session not in keys.leases:
                self._begin_session(keys)
            return keys.put_member(member, self._session)

        holder = self._do(put)
        if holder is not None:
            raise NameTaken(member.instance, holder.address)

    def _begin_session(self, keys: ArbiterKeys) -> None:
        self._forget_session()
        session = keys.grant(self.lease_seconds, time.monotonic())
        made = os.open(self._session_file(session), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(made, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._session, self._session_lock = session, made

    def _forget_session(self) -> None:
        if self._session_lock >= 0:
            os.close(self._session_lock)
        self._session, self._session_lock = "", -1

    def keep_alive(self) -> float | None:
        if not self._session:
            return None
        sent = time.monotonic()
        seconds = self._do(lambda keys: keys.renew(self._session, time.monotonic()))
        if seconds is None:
            self._forget_session()
            return None
        return seconds - (time.monotonic() - sent)

    def found(self, members: tuple[str, ...], copies: int, above_term: int = 0) -> bool:
        check_in_sync(members, copies)
        return self._do(lambda keys: keys.found(members, copies, above_term))

    def try_lead(self, instance: str, judged_version: int, judged_term: int) -> int | None:
        check_name(instance)
        return self._do(lambda keys: keys.try_lead(instance, self._session, judged_version, judged_term))

    def set_in_sync(self, term: int, expected_version: int, members: tuple[str, ...], copies: int) -> int | None:
        check_in_sync(members, copies)
        return self._do(lambda keys: keys.set_in_sync(term, expected_version, members, copies))

    def resign(self, term: int) -> None:
        self._do(lambda keys: keys.resign(term))

    def add_life(self, term: int, epoch: int, life: str) -> bool:
        return self._do(lambda keys: keys.add_life(term, epoch, life))

    def life(self, epoch: int) -> str | None:
        return self._do(lambda keys: keys.lives.get(epoch))

    def set_preferred(self, instance: str) -> None:
        if instance:
            check_name(instance)
        self._do(lambda keys: keys.set_preferred(instance))

    def set_suspended(self, instance: str, suspended: bool) -> None:
        check_name(instance)
        self._do(lambda keys: keys.set_suspended(instance, suspended))

    def set_role(self, expected: str, role: str) -> bool:
        return self._do(lambda keys: keys.set_role(expected, role))

    def abandon(self, expected: str, role: str, given_up: str) -> bool:
        return self._do(lambda keys: keys.abandon(expected, role, given_up))

    def wait_change(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self._closed.is_set():
            with suppress(ArbiterUnavailable):
                if self._do(lambda keys: keys.revision) != self._seen_revision:
                    return True
            left = deadline - time.monotonic()
            if self._woken.is_set() or left <= 0:
                self._woken.clear()
                return False
            self._woken.wait(min(left, _CHANGE_POLL_SECONDS))
        return False

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        self._closed.set()
        self._woken.set()
        session = self._session
        if session:
            with suppress(ArbiterUnavailable):
                self._do(lambda keys: keys.end_session(session))
        self._forget_session()

    # The file

    def _do(self, happen: Callable[[ArbiterKeys], T]) -> T:
        """Let something happen to the keys, alone, and store them if they changed."""
        try:
            with self._turn:
                lock = self._lock()
                try:
                    return self._do_locked(happen)
                finally:
                    os.close(lock)
        except OSError as failure:
            raise ArbiterUnavailable(f"the arbiter's directory cannot be used: {failure}") from None

    def _do_locked(self, happen: Callable[[ArbiterKeys], T]) -> T:
        boot = _boot_id()
        before = self._stored()
        keys = self._parsed(before, boot)
        keys.expire(time.monotonic())
        for session in list(keys.leases):
            if session != self._session and self._is_dead(session):
                keys.end_session(session)
        result = happen(keys)
        after = json.dumps({"format": FORMAT, "boot": boot, "keys": keys.as_document()}).encode()
        if after != before:
            self._store(after)
            for name in self.directory.glob("*.session"):
                if name.stem not in keys.leases:
                    name.unlink(missing_ok=True)
        return result

    def _lock(self) -> int:
        """Take the common lock and return it. Raises ArbiterUnavailable when it takes too long."""
        self.directory.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + self.timeout_seconds
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(_LOCK_POLL_SECONDS)
                    continue
                os.close(lock)
                raise ArbiterUnavailable(f"another process holds {self.directory / 'lock'}") from None
            except BaseException:
                os.close(lock)
                raise

    def _stored(self) -> bytes:
        try:
            with (self.directory / "keys.json").open("rb") as file:
                return file.read(KEYS_BYTES_MAX + 1)
        except FileNotFoundError:
            return b""

    def _parsed(self, data: bytes, boot: str) -> ArbiterKeys:
        if not data:
            return ArbiterKeys()
        try:
            found = json.loads(data)
            if found["format"] != FORMAT:
                raise ArbiterRefused(f"keys.json has format {found['format']}, and this release reads {FORMAT}")
            keys = ArbiterKeys.from_document(found["keys"])
            is_same_boot = found["boot"] == boot
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ArbiterRefused(f"{self.directory / 'keys.json'} is damaged") from None
        if not is_same_boot:
            for session in list(keys.leases):
                keys.end_session(session)
        return keys

    def _store(self, data: bytes) -> None:
        fresh = self.directory / "keys.new"
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self.directory / "keys.json")
        directory = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _session_file(self, session: str) -> Path:
        return self.directory / f"{session}.session"

    def _is_dead(self, session: str) -> bool:
        """Return True if the process of a session is gone: nobody holds the lock on its file."""
        try:
            probe = os.open(self._session_file(session), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
        finally:
            os.close(probe)


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
