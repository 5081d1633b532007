"""The users of a queue manager: their groups, administrators, and password checks.

Users and groups come from the password file of the queue manager and from the operating system. Passwords come from
the file, or from the operating system with PasswordSource=OS in qm.ini. Results are cached for a limited time and
number: the file is read again when it has changed, and `forget` drops the cache (REFRESH SECURITY).

Any thread may call. `check_password` takes as long as its hash; its reasons are for the error log, never for the peer.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from ostler.security.authorities import EVERYBODY
from ostler.security.connection_authentication import (
    LDAP_REFUSED,
    SOURCE_FILE,
    SOURCE_LDAP,
    SOURCE_OPERATING_SYSTEM,
    SOURCE_PAM,
)
from ostler.security.passwords import PasswordFile, PasswordFileError, verify, verify_unknown_user
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import PasswordSource, QueueManagerSettings
from ostler.server.security import os_users as operating_system
from ostler.server.security.password_store import MISSING, Signature, password_path, read_passwords, signature

ADMINISTRATORS: Final = "mqm"
"""The group whose members administer queue managers, and the user that does so everywhere."""

_POLL_SECONDS: Final = 0.1
_GROUPS_SECONDS: Final = 300.0
_VERIFIED_SECONDS: Final = 300.0
# The operating system does not notify us when a password changes.
_VERIFIED_BY_OS_SECONDS: Final = 30.0
_CACHED_MAX: Final = 10_000
# Each check takes 16 MB and a processor for tens of milliseconds.
_CHECKS_AT_ONCE: Final = 4


class PasswordCheck(NamedTuple):
    """The result of a password check, with the reason of a failure."""

    ok: bool
    why: str


class Users:
    """The users of one queue manager."""

    def __init__(
        self,
        directory: QueueManagerDirectory,
        settings: QueueManagerSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = password_path(directory)
        self._security = settings.security
        self._clock = clock
        self._changing = threading.Lock()
        self._checking = threading.BoundedSemaphore(_CHECKS_AT_ONCE)
        self._file = PasswordFile()
        self._signature: Signature = MISSING
        self._polled_at = clock() - _POLL_SECONDS
        self.problem = ""
        """Why the password file cannot be used: its users cannot connect, and their groups are unknown."""
        self._groups: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._verified: dict[tuple[str, str], tuple[float, bytes]] = {}
        # Verified passwords are cached as hashes under a random key that never leaves this process.
        self._key = secrets.token_bytes(32)
        self._generation = 0
        self._owners = _owners(directory)

    def use_settings(self, settings: QueueManagerSettings) -> None:
        """Take other settings, before anybody connects."""
        self._security = settings.security
        self.forget()

    def groups_of(self, user: str) -> tuple[str, ...]:
        """Return the groups of a user: those of the operating system, then those of the password file."""
        self._reload_if_changed(is_urgent=False)
        now = self._clock()
        kept = self._groups.get(user)
        if kept is not None and kept[0] > now:
            return kept[1]
        generation = self._generation
        entry = self._file.users.get(user)
        groups = tuple(dict.fromkeys((*operating_system.groups_of(user), *(entry.groups if entry else ()))))
        with self._changing:
            # The look-up may take long; groups that were revoked meanwhile must not be cached.
            if generation == self._generation:
                if len(self._groups) >= _CACHED_MAX:
                    self._groups.clear()
                self._groups[user] = (now + _GROUPS_SECONDS, groups)
        return groups

    def is_cached(self, user: str) -> bool:
        """Return True when the groups of a user are cached."""
        kept = self._groups.get(user)
        return kept is not None and kept[0] > self._clock()

    def is_administrator(self, user: str) -> bool:
        """Return True for root, mqm, the owner of the queue manager, and members of group mqm."""
        if not user:
            return False
        return user in self._owners or ADMINISTRATORS in self.groups_of(user)

    def knows(self, name: str, is_group: bool) -> bool:
        """Return True when a user or group exists: in the password file, in the operating system, or by its role here.

        With SecurityPolicy=UserExternal every name exists. The operating system's answer may take long.
        """
        if self._security.takes_any_entity:
            return True
        self._reload_if_changed(is_urgent=True)
        users = self._file.users
        if is_group:
            is_here = name in (EVERYBODY, ADMINISTRATORS) or any(name in each.groups for each in users.values())
            return is_here or operating_system.has_group(name)
        return name in users or name in self._owners or name == EVERYBODY or operating_system.has_user(name)

    def check_password(self, source: str, user: str, password: str) -> PasswordCheck:
        """Check a user's password. `source` is that of the connection authentication's AuthenticationSettings."""
        if source == SOURCE_LDAP:
            return PasswordCheck(False, LDAP_REFUSED)
        if self._security.password_source == PasswordSource.FILE:
            source = SOURCE_FILE
        self._reload_if_changed(is_urgent=True)
        generation = self._generation
        proof = hashlib.blake2b(password.encode("utf-8", "replace"), key=self._key).digest()
        kept = self._verified.get((source, user))
        if kept is not None and kept[0] > self._clock() and hmac.compare_digest(kept[1], proof):
            return PasswordCheck(True, "")
        with self._checking:
            why = self._check(source, user, password)
        if why:
            return PasswordCheck(False, why)
        self._remember(source, user, proof, generation)
        return PasswordCheck(True, "")

    def forget(self) -> None:
        """Drop the cache, and read the password file again at the next call."""
        with self._changing:
            self._drop()
            self._polled_at = self._clock() - _POLL_SECONDS

    # -- checks and cache ----------------------------------------------------------------------------------------------

    def _check(self, source: str, user: str, password: str) -> str:
        if source == SOURCE_FILE:
            return self._check_file(user, password)
        if source == SOURCE_OPERATING_SYSTEM:
            return operating_system.check_shadow(user, password)
        if source == SOURCE_PAM:
            return operating_system.check_pam(user, password, self._security.pam_service)
        return f"there is no password source {source!r}"

    def _check_file(self, user: str, password: str) -> str:
        file = self._file
        entry = file.users.get(user)
        if entry is None or entry.hash is None:
            verify_unknown_user(file.any_hash(), password)
            if self.problem:
                return self.problem
            return "the password file has no such user" if entry is None else "the user has no password"
        return "" if verify(entry.hash, password) else operating_system.WRONG

    def _remember(self, source: str, user: str, proof: bytes, generation: int) -> None:
        seconds = _VERIFIED_SECONDS if source == SOURCE_FILE else _VERIFIED_BY_OS_SECONDS
        with self._changing:
            # The file may have changed while the hash was computed.
            if generation != self._generation:
                return
            if len(self._verified) >= _CACHED_MAX:
                self._verified.clear()
            self._verified[source, user] = (self._clock() + seconds, proof)

    def _reload_if_changed(self, is_urgent: bool) -> None:
        """Read the password file again if it has changed."""
        now = self._clock()
        if not is_urgent and now - self._polled_at < _POLL_SECONDS:
            return
        with self._changing:
            self._polled_at = now
            try:
                state = signature(self._path)
                if state == self._signature:
                    return
                self._file, self._signature = read_passwords(self._path)
                self.problem = ""
            except (PasswordFileError, OSError) as error:
                # A file that cannot be parsed admits no user, and is not read again until it changes.
                self._file = PasswordFile()
                self._signature = state if isinstance(error, PasswordFileError) else MISSING
                reason = error.strerror if isinstance(error, OSError) else error
                self.problem = f"{self._path}: {reason}"
            self._drop()

    def _drop(self) -> None:
        self._generation += 1
        self._groups.clear()
        self._verified.clear()


def _owners(directory: QueueManagerDirectory) -> frozenset[str]:
    """Return the users who are administrators without being in a group: they could change the files anyway."""
    names = {ADMINISTRATORS, "root", operating_system.user_name(os.geteuid())}
    for path in (directory.path, directory.root):
        try:
            names.add(operating_system.user_name(os.stat(path).st_uid))
        except OSError:
            continue
    return frozenset(names)
