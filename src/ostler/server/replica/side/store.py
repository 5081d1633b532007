"""The side files of a copy that follows: sets of its leader take the place of its own.

A set is stored whole, in `side/` of the queue manager's directory, before the first of its files is replaced. So a
process that ends in the middle goes on at its next start, and a certificate is never left without its key. What was
there before is kept in `side/before/<set>`, until the next change of that set.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ostler.model.replication import SETTINGS, SIDE_SETS
from ostler.replica.side_files import SideSet, SideSetRefused, decode_set
from ostler.security.passwords import PasswordFileError
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import ConfigurationError, IniFile, force_directory, write_atomically
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.rate_limited_log import RateLimitedLog
from ostler.server.replica.messages import replication_message
from ostler.server.replica.side.places import INI_NAME, check_path, paths_of, read_set, stanzas_of
from ostler.server.security.password_store import FILE_NAME, replace_passwords
from ostler.wire.frames import MalformedFrame

_DIRECTORY: Final = "side"
_BEFORE: Final = "before"
_MODE: Final = 0o700


class SideFileStore:
    """Takes sets for one copy. Any thread may call."""

    def __init__(self, directory: QueueManagerDirectory, taken: frozenset[str], note: Callable[[str], None]) -> None:
        """`taken` are the names of the sets that this instance takes over (SideFiles in qm.ini)."""
        self._directory = directory
        self._base: Final[Path] = directory.path / _DIRECTORY
        self._taken = taken
        self._note = note
        self._notes = RateLimitedLog(note)
        self._turn = threading.Lock()
        self._waiting: dict[str, tuple[SideSet, str]] = {}

    def take(self, found: SideSet, leader: str) -> None:
        """Take a set of the leader. Durable on return, unless the disk is full or it is refused: that is told."""
        if found.name not in self._taken:
            return
        with self._turn:
            self._waiting[found.name] = (found, leader)
            self._try()

    def tell(self, problem: str) -> None:
        """Tell that a set came that cannot be used."""
        self._notes.write(problem, f"AMQ3295W: Files of queue manager {self._directory.name} are not copied: {problem}")

    def retry(self) -> None:
        """Try what could not be stored before."""
        with self._turn:
            if self._waiting:
                self._try()

    def complete(self) -> None:
        """Finish what a process before this one has begun. Call it at a start, before the files are used."""
        with self._turn:
            for name in SIDE_SETS:
                path = self._base / name
                if not path.is_file():
                    continue
                try:
                    self._apply(decode_set(name, path.read_bytes()))
                    path.unlink()
                except OSError as error:
                    self._refused(name, error)
                except (SideSetRefused, MalformedFrame) as error:
                    path.unlink(missing_ok=True)  # the leader sends it again
                    self._refused(name, error)

    def _try(self) -> None:
        for name, (found, leader) in list(self._waiting.items()):
            try:
                where = self._take(found)
            except OSError as error:
                self._refused(name, error)
                continue  # and tried again
            except SideSetRefused as refused:
                self._refused(name, refused)
                where = None
            del self._waiting[name]
            if where is not None:
                text = replication_message("AMQ3300I", what=name, name=self._directory.name, leader=leader, where=where)
                self._note(text)

    def _refused(self, name: str, why: Exception) -> None:
        text = replication_message("AMQ3295W", what=name, name=self._directory.name, why=why)
        self._notes.write(f"{name} {why}", text)

    def _take(self, found: SideSet) -> str | None:
        """Store a set and put its files in place. Return a sentence on what was there before; None: the same."""
        for path in found.files:
            check_path(found.name, path)
        try:
            own = read_set(self._directory, found.name)
        except SideSetRefused:
            own = None  # it could not be used anyway
        stored = self._base / found.name
        if own is not None and own.digest == found.digest:
            stored.unlink(missing_ok=True)
            return None
        self._base.mkdir(_MODE, exist_ok=True)
        kept = self._keep(found.name)
        write_atomically(stored, found.data)
        try:
            self._apply(found)
        except SideSetRefused:
            stored.unlink()
            raise
        stored.unlink()
        return f" What was here before is in {kept}." if kept else ""

    def _keep(self, name: str) -> str:
        """Copy the files of a set as they are; return where they are now, empty if there are none."""
        before = self._base / _BEFORE / name
        shutil.rmtree(before, ignore_errors=True)
        paths = paths_of(self._directory, name)
        for path in paths:
            target = before / path
            target.parent.mkdir(_MODE, parents=True, exist_ok=True)
            write_atomically(target, (self._directory.path / path).read_bytes())
        return str(before) if paths else ""

    def _apply(self, found: SideSet) -> None:
        """Put the files of a set in place. Again, it does what was left to do. Raises OSError and SideSetRefused."""
        if found.name == SETTINGS:
            self._change_settings(found.files.get(INI_NAME, b""))
            return
        for path, data in found.files.items():
            check_path(found.name, path)
            if path == FILE_NAME:
                try:
                    replace_passwords(self._directory, data)
                except PasswordFileError as error:
                    raise SideSetRefused(f"the password file cannot be used: {error}") from None
                continue
            self._write(path, data)
        for path in paths_of(self._directory, found.name):
            if path not in found.files:
                (self._directory.path / path).unlink()
                force_directory((self._directory.path / path).parent)

    def _write(self, path: str, data: bytes) -> None:
        target = self._directory.path
        for part in path.split("/")[:-1]:
            target /= part
            if target.is_symlink():
                raise SideSetRefused(f"{target} is a link, and leads to what is the machine's")
            target.mkdir(_MODE, exist_ok=True)
        target = self._directory.path / path
        if not target.is_symlink():
            write_atomically(target, data)

    def _change_settings(self, data: bytes) -> None:
        try:
            wanted = stanzas_of(IniFile(data.decode("utf-8"), "the leader's qm.ini"))
            own = QueueManagerIni.read(self._directory.ini)
            there = stanzas_of(IniFile(own.text()))
            changed = {name: contents for name, contents in wanted.items() if contents != there[name]}
            if changed:
                own.change_stanzas(changed)
                own.write(self._directory.ini)
        except UnicodeDecodeError:
            raise SideSetRefused("the leader's qm.ini is not UTF-8 text") from None
        except ConfigurationError as error:
            raise SideSetRefused(str(error)) from None
