"""The check of all files of a queue manager that is not running: `ostler check`.

It reads everything that a restart would read, and every stored message, and changes nothing: files are opened for
reading only, and the state is built in memory without message bodies. A problem that would make a start fail is damage;
one that a start would ignore or clean up is a remark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ostler.engine.core import QUEUES_PATH, TEMPORARY_PATH, Engine, queue_path
from ostler.engine.queue.queue import Queue
from ostler.engine.queue.queue_file import QueueFileDamaged
from ostler.engine.queue.slots import FREE, NONE, extent_length
from ostler.engine.recovery.checkpoint import (
    CATALOGUE_PATH,
    INSTANCE_PATH,
    MANIFEST_PATH,
    read_catalogue,
    read_instance,
    read_manifest,
)
from ostler.engine.recovery.replay import JournalInconsistent, JournalReplay
from ostler.engine.recovery.snapshot import FilesUnrelated, FormatNewer, SnapshotDamaged
from ostler.log.control_file import CONTROL_NAME, ControlState, decode_slot, read_notes
from ostler.log.errors import LogDamaged, LogNewer, LogRefused
from ostler.log.extents import PREPARED_NAME, numbers_on_disk
from ostler.log.reader import LogVisitor
from ostler.log.restart import ACTIVE_NAME, RestartableLog, open_log
from ostler.log.stream_format import PAGE_BYTES, extent_name
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.model.disk import Disk, DiskFailed
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import QueueManagerIni, QueueManagerSettings
from ostler.server.manager_core import NoJournal
from ostler.server.queue_manager import LOG_DIRECTORY, log_settings
from ostler.server.storage.real_disk import ReadOnlyDisk

DAMAGE: Final = "damage"
REMARK: Final = "remark"
# So large that nothing is spilled during the replay: nothing may be written.
_BUFFER_BYTES: Final = 1 << 62
_NEW: Final = ".new"
_EXPECTED: Final = (
    SnapshotDamaged,
    FilesUnrelated,
    FormatNewer,
    LogDamaged,
    LogRefused,
    JournalInconsistent,
    QueueFileDamaged,
    DiskFailed,
)

ReportProgress = Callable[[str, int, int], None]
"""Called with the name of what is read, the bytes read so far and the bytes in total."""


@dataclass(frozen=True)
class Finding:
    """A problem in a file: damage, or a remark on something harmless."""

    severity: str
    file: str
    what: str


@dataclass
class FileReport:
    """The result of a check. `facts` describe the files that could be read."""

    name: str
    path: str
    findings: list[Finding] = field(default_factory=list)
    facts: dict[str, int | str] = field(default_factory=dict)

    @property
    def is_sound(self) -> bool:
        return all(finding.severity != DAMAGE for finding in self.findings)

    def damage(self, file: str, what: object) -> None:
        self.findings.append(Finding(DAMAGE, file, str(what)))

    def remark(self, file: str, what: str) -> None:
        self.findings.append(Finding(REMARK, file, what))


class _Visitor(LogVisitor):
    def __init__(self, replay: JournalReplay | None, report_progress: ReportProgress) -> None:
        self._replay = replay
        self._report_progress = report_progress

    def record(self, kind: int, lsn: int, payload: bytes) -> None:
        if self._replay is not None:
            self._replay.record(kind, lsn, payload)

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        self._report_progress("log", done_bytes, total_bytes)

    def ended(self, end_lsn: int) -> None:
        if self._replay is not None:
            self._replay.check_end(end_lsn)


class FileCheck:
    """One check of the files of one queue manager. Hold a ReadingLock meanwhile."""

    def __init__(self, directory: QueueManagerDirectory, report_progress: ReportProgress) -> None:
        """Raises ConfigurationError when qm.ini cannot be read."""
        self._settings: QueueManagerSettings = QueueManagerIni.read(directory.ini).settings
        self._disk: Disk = ReadOnlyDisk(directory.path)
        self._log_disk: Disk = self._disk
        self._log_directory = LOG_DIRECTORY
        if self._settings.log.path:
            self._log_disk = ReadOnlyDisk(Path(self._settings.log.path))
            self._log_directory = directory.path.name
        self._report_progress = report_progress
        manager = new_definition(ObjectType.QMGR, directory.name, {})
        self._engine = Engine(directory.name, self._disk, NoJournal(), manager)
        self._engine.buffer_bytes_persistent = _BUFFER_BYTES
        self._engine.buffer_bytes_nonpersistent = _BUFFER_BYTES
        self._is_log_read = False
        self.report = FileReport(directory.name, str(directory.path))

    def run(self) -> FileReport:
        self._check_control_file()
        replay = self._load()
        if self._log_disk.exists(f"{self._log_directory}/{CONTROL_NAME}"):
            self._read_log(replay)
        for queue in list(self._engine.queues_by_id.values()):
            self._read_queue(queue)
        self._count()
        self._find_leftovers(replay)
        return self.report

    # -- the log -----------------------------------------------------------------------------------------------------

    def _check_control_file(self) -> None:
        path = f"{self._log_directory}/{CONTROL_NAME}"
        if not self._log_disk.exists(path):
            self.report.damage(path, "the file is missing")
            return
        file = self._log_disk.open(path, False)
        try:
            states = [decode_slot(file.read_at(slot * PAGE_BYTES, PAGE_BYTES)) for slot in range(2)]
            good = [state for state in states if state is not None]
            if len(good) == 1:
                offset = states.index(None) * PAGE_BYTES
                self.report.remark(path, f"one of two slots cannot be read (offset {offset}): torn, or damaged")
            if good:
                newest = max(good, key=lambda state: state.sequence)
                self._report_state(newest)
                if newest.version > 1 and len(read_notes(file, newest.identity)) == 1:
                    self.report.remark(path, "one of two notes of the log's end cannot be read: torn, or damaged")
        except LogNewer as newer:
            self.report.damage(path, newer)
        finally:
            file.close()

    def _report_state(self, state: ControlState) -> None:
        facts = self.report.facts
        facts["control file format"] = state.version
        facts["log identity"] = state.identity.hex()
        facts["last complete checkpoint"] = state.checkpoint_number
        facts["restart LSN"] = state.restart_lsn
        file_bytes = state.settings.file_pages * PAGE_BYTES
        active = f"{self._log_directory}/{ACTIVE_NAME}"
        for extent in numbers_on_disk(self._log_disk, active):
            path = f"{active}/{extent_name(extent)}"
            file = self._log_disk.open(path, False)
            size = file.size_bytes()
            file.close()
            if size > file_bytes:
                self.report.remark(
                    path, f"{size - file_bytes} bytes behind the end of the extent (offset {file_bytes})"
                )

    def _open_log(self) -> RestartableLog:
        return open_log(self._log_disk, self._log_directory, log_settings(self._settings.log))

    def _read_log(self, replay: JournalReplay | None) -> None:
        """Read every block. Without a `replay` the records are checked but not applied."""
        log: RestartableLog | None = None
        try:
            log = self._open_log()
            found = log.examine(_Visitor(replay, self._report_progress))
        except LogDamaged as damaged:
            self.report.damage(damaged.file, f"damaged at offset {damaged.offset}: {damaged.what}")
            return
        except JournalInconsistent as wrong:
            assert log is not None
            file, offset = log.locate(wrong.lsn)
            self.report.damage(file, f"{wrong} (offset {offset})")
            return
        except FilesUnrelated as unrelated:
            self.report.damage(_first_word(unrelated), unrelated)
            return
        except _EXPECTED as error:
            self.report.damage(self._log_directory, error)
            return
        finally:
            if log is not None:
                log.close()
        facts = self.report.facts
        self._is_log_read = True
        facts["log records"] = found.records
        facts["log end LSN"] = found.end_lsn
        facts["log ends in"] = f"{found.end_file}, offset {found.end_offset}"
        if found.dropped_bytes:
            self.report.remark(
                found.end_file,
                f"{found.dropped_bytes} bytes of a write that was not completed, behind offset {found.end_offset}; a "
                "start drops them",
            )

    # -- checkpoint --------------------------------------------------------------------------------------------------

    def _load(self) -> JournalReplay | None:
        """Load manifest, catalogue and snapshots as a start does; None when that is not possible."""
        is_whole = True
        for path, look in (
            (INSTANCE_PATH, self._check_instance),
            (MANIFEST_PATH, self._check_manifest),
            (CATALOGUE_PATH, self._check_catalogue),
        ):
            try:
                look()
            except _EXPECTED as error:
                self.report.damage(path, error)
                is_whole = False
        if not is_whole or not self._log_disk.exists(f"{self._log_directory}/{CONTROL_NAME}"):
            return None
        replay = JournalReplay(self._engine, keeps_bodies=False)
        log: RestartableLog | None = None
        try:
            log = self._open_log()
            replay.begin(log.identity(), log.checkpoint_number(), log.restart_lsn())
        except LogDamaged as damaged:
            self.report.damage(damaged.file, f"damaged at offset {damaged.offset}: {damaged.what}")
            return None
        except _EXPECTED as error:
            self.report.damage(_first_word(error), error)
            return None
        finally:
            if log is not None:
                log.close()
        return replay

    def _check_instance(self) -> None:
        if read_instance(self._disk):
            self.report.facts["instance"] = "there"

    def _check_manifest(self) -> None:
        manifest = read_manifest(self._disk)
        if manifest.number:
            self.report.facts["checkpoint"] = manifest.number
            self.report.facts["checkpoint format"] = manifest.version
            self.report.facts["ended in order"] = "yes" if manifest.orderly else "no"

    def _check_catalogue(self) -> None:
        if self._disk.exists(CATALOGUE_PATH):
            catalogue = read_catalogue(self._disk)
            self.report.facts["objects"] = len(catalogue.definitions)
            self.report.facts["objects format"] = catalogue.version

    # -- queues ------------------------------------------------------------------------------------------------------

    def _read_queue(self, queue: Queue) -> None:
        """Read back every message that is in the queue's file."""
        if queue.damaged:
            self.report.damage(queue_path(queue.name, queue.queue_id), queue.damaged)
            return
        slots = queue.slots
        stored = [
            slot for slot in range(len(slots.resident)) if slots.state(slot) != FREE and slots.extents[slot] != NONE
        ]
        path = queue.file.path
        if stored and not self._disk.exists(path):
            self.report.damage(path, f"the file is missing, and {len(stored)} messages with it")
            return
        total = sum(extent_length(slots.extents[slot]) for slot in stored)
        done = 0
        for slot in stored:
            try:
                queue.load(slot)
            except (QueueFileDamaged, DiskFailed) as damage:
                self.report.damage(path, damage)
            done += extent_length(slots.extents[slot])
            self._report_progress(queue.name, done, total)
        queue.file.close()

    def _count(self) -> None:
        if not self._is_log_read:
            return  # only log and snapshots together give the counts
        queues = [queue for queue in self._engine.queues_by_id.values() if not queue.is_temporary]
        self.report.facts["queues"] = len(queues)
        self.report.facts["messages"] = sum(queue.depth for queue in queues if not queue.damaged)

    # -- leftovers ---------------------------------------------------------------------------------------------------

    def _find_leftovers(self, replay: JournalReplay | None) -> None:
        for path in (MANIFEST_PATH, CATALOGUE_PATH, INSTANCE_PATH):
            if self._disk.exists(path + _NEW):
                self.report.remark(path + _NEW, "left by an interrupted write; the next one replaces it")
        prepared = f"{self._log_directory}/{ACTIVE_NAME}/{PREPARED_NAME}"
        if self._log_disk.exists(prepared):
            self.report.remark(prepared, "an extent that was being made; a start removes it")
        for name in self._disk.names(TEMPORARY_PATH):
            self.report.remark(f"{TEMPORARY_PATH}/{name}", "left by a temporary queue; a start removes it")
        known = {queue_path(queue.name, queue.queue_id) for queue in self._engine.queues_by_id.values()}
        known |= {queue_path(queue.name, queue.queue_id) for queue in self._engine.removed_queues}
        deleted = set(replay.deleted.values()) if replay is not None else set()
        for name in self._disk.names(QUEUES_PATH):
            path = f"{QUEUES_PATH}/{name}"
            if path in deleted:
                self.report.remark(path, "of a queue that was deleted; a start or the next checkpoint removes it")
            elif path not in known and replay is not None:
                self.report.remark(path, "no queue has this directory, and no record says that it was deleted")


def _first_word(error: Exception) -> str:
    """Return the file name that the error's text begins with."""
    return str(error).split(" ", 1)[0].rstrip(":")
