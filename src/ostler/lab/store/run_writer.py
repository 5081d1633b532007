"""Writing a run: one process at a time owns its directory, from the plan to the end, or to where it is resumed.

    with RunWriter.create(runs, manifest) as run:
        for point in run.remaining():
            segment = run.begin(point, MEASURED)
            ...
            segment.commit(phase)
        run.finish()

Left in any other way than by `finish`, the run is partial and flagged. When the process is killed nothing can be
written any more: the manifest goes on saying that the run is running, but nobody owns it, and readers see that.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from ostler.lab.store.manifest import (
    Manifest,
    PlannedPoint,
    RunState,
    RunUnreadable,
    SkippedPoint,
    read_manifest,
    sync_directory,
    write_manifest,
)
from ostler.lab.store.schema import SCHEMA_VERSION
from ostler.lab.store.segments import (
    ABANDONED,
    CALIBRATION,
    MEASURED,
    SEGMENTS,
    UNFINISHED,
    RunNotWritten,
    SegmentKey,
    SegmentWriter,
    damage_of,
    explain_errors,
    read_note,
)

LOCK = "lock"
PARTIAL = "partial"
INTERRUPTED = "interrupted"
REPEATED = "repeated"

_DAMAGED = (OSError, ValueError, KeyError, TypeError)


def now_text() -> str:
    """Return the time in the format of manifests."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_run_name(scenario: str) -> str:
    """Return a unique name that sorts by time."""
    return f"{scenario}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def is_owned(directory: Path) -> bool:
    """Return whether a living process is writing the run."""
    try:
        descriptor = os.open(directory / LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        # Shared, so that two readers do not see each other.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def committed_segments(directory: Path) -> list[Path]:
    """Return the directories of all committed segments, in the order they were begun."""
    return sorted(path for path in (directory / SEGMENTS).iterdir() if path.is_dir())


class RunWriter:
    """The owner of a run. `durable=False` leaves forcing to the system: enough for a kill, not for a power failure."""

    def __init__(self, directory: Path, manifest: Manifest, lock: int, durable: bool) -> None:
        self.directory = directory
        self.manifest = manifest
        self._lock = lock
        self._durable = durable
        self._ended = False
        self._done: dict[SegmentKey, Path] = {}
        self._open: list[SegmentWriter] = []
        self._number = 1 + max((int(path.name) for path in self._numbered()), default=-1)

    @classmethod
    def create(cls, runs: Path, manifest: Manifest, durable: bool = True) -> RunWriter:
        """Create a run below `runs`. Its directory appears with its manifest in it."""
        directory = runs / manifest.run
        fresh = runs / f".{manifest.run}.new"
        if directory.exists():
            raise FileExistsError(f"There is a run {manifest.run} already in {runs}.")
        with explain_errors(directory):
            for name in (SEGMENTS, UNFINISHED, ABANDONED):
                (fresh / name).mkdir(parents=True, exist_ok=True)
            lock = _locked(fresh)
        try:
            with explain_errors(directory):
                write_manifest(fresh, manifest)
                os.rename(fresh, directory)
                sync_directory(runs)
        except BaseException:
            os.close(lock)
            raise
        return cls(directory, manifest, lock, durable)

    @classmethod
    def resume(cls, directory: Path, durable: bool = True) -> RunWriter:
        """Resume a run that is not complete. Phases of unfinished points are quarantined."""
        manifest = read_manifest(directory)
        if manifest.state == RunState.COMPLETE:
            raise RunUnreadable(f"{directory.name} is complete: there is nothing to resume. Start a new run.")
        if manifest.schema_version != SCHEMA_VERSION:
            raise RunUnreadable(
                f"{directory.name} has samples of schema version {manifest.schema_version}, which this version of "
                f"ostler reads but does not write (it writes {SCHEMA_VERSION}). Start a new run."
            )
        with explain_errors(directory):
            for name in (SEGMENTS, UNFINISHED, ABANDONED):
                (directory / name).mkdir(exist_ok=True)
            lock = _locked(directory)
        run = cls(directory, manifest, lock, durable)
        try:
            run._tidy()
        except BaseException:
            os.close(lock)
            raise
        return run

    def _tidy(self) -> None:
        """Keep the phases of finished points, and quarantine those that will be measured again."""
        for path in (self.directory / UNFINISHED).iterdir():
            shutil.rmtree(path)
        found = {path: self._key_of(path) for path in committed_segments(self.directory)}
        finished = {key.point for key in found.values() if key is not None and key.phase == MEASURED}
        again = 0
        for path, key in found.items():
            if key is None or (key.point not in finished and key.phase != CALIBRATION) or key in self._done:
                os.rename(path, self.directory / ABANDONED / path.name)
                again += 1
            else:
                self._done[key] = path
        was_killed = self.manifest.state == RunState.RUNNING
        manifest = replace(self.manifest, state=RunState.RUNNING, reason="", ended="")
        manifest = replace(manifest, resumed=(*manifest.resumed, now_text()))
        if was_killed:
            manifest = manifest.flagged(INTERRUPTED, "The run was interrupted without warning, and resumed.")
        if again:
            manifest = manifest.flagged(REPEATED, "Phases that were cut short or damaged were quarantined.")
        self._write(manifest)

    def _key_of(self, segment: Path) -> SegmentKey | None:
        """Return None for a segment that is damaged, or belongs to another run."""
        try:
            note = read_note(segment)
            is_whole = note.run == self.manifest.run and not any(damage_of(segment, each) for each in note.files)
        except _DAMAGED:
            return None
        return note.key if is_whole else None

    def _numbered(self) -> list[Path]:
        places = [self.directory / name for name in (SEGMENTS, UNFINISHED, ABANDONED)]
        return [path for place in places for path in place.iterdir() if path.name.isdecimal()]

    def _write(self, manifest: Manifest) -> None:
        with explain_errors(self.directory):
            write_manifest(self.directory, manifest)
        self.manifest = manifest

    def plan(self, points: Iterable[PlannedPoint]) -> None:
        """Add points to measure; those already planned stay as they are."""
        known = {point.key for point in self.manifest.points}
        fresh = [point for point in points if point.key not in known]
        self._write(replace(self.manifest, points=(*self.manifest.points, *fresh)))

    def skip(self, point: PlannedPoint, reason: str) -> None:
        """Skip a planned point, because a stop rule ended the sweep before."""
        skipped = SkippedPoint(point.contestant, point.step, point.repetition, reason)
        self._write(replace(self.manifest, skipped=(*self.manifest.skipped, skipped)))

    def remaining(self) -> list[PlannedPoint]:
        """Return planned points that are neither measured nor skipped, in the order of the plan."""
        settled = {key.point for key in self._done if key.phase == MEASURED}
        settled |= {each.key for each in self.manifest.skipped}
        return [point for point in self.manifest.points if point.key not in settled]

    def flag(self, name: str, text: str) -> None:
        """Flag the run with a problem. Flags stay, whatever comes later."""
        self._write(self.manifest.flagged(name, text))

    def amend_environment(self, found: Mapping[str, object]) -> None:
        """Add facts that became known later: versions of peers, noise."""
        self._write(replace(self.manifest, environment={**self.manifest.environment, **found}))

    def begin(self, point: PlannedPoint, phase: str) -> SegmentWriter:
        """Begin a segment for a phase of a point. Several may be open; each phase of a point is committed once."""
        assert not self._ended
        key = SegmentKey(*point.key, phase)
        taken = [each.key for each in self._open if not each.is_abandoned]
        if key in self._done or key in taken:
            raise ValueError(f"{phase} of {point.contestant}, step {point.step}, was begun before")
        segment = SegmentWriter(self.directory, self._number, self.manifest.run, key, self._durable, self._done)
        self._number += 1
        self._open.append(segment)
        return segment

    def finish(self) -> None:
        """End the run. If points are missing, the run is partial."""
        remaining = self.remaining()
        if remaining:
            self.stop(f"{len(remaining)} of {len(self.manifest.points)} points were not measured")
        else:
            self._end(replace(self.manifest, state=RunState.COMPLETE, reason=""))

    def stop(self, reason: str) -> None:
        """End before everything is measured. The run is valid, flagged and can be resumed."""
        manifest = self.manifest.flagged(PARTIAL, f"The run ended early: {reason}.")
        self._end(replace(manifest, state=RunState.PARTIAL, reason=reason))

    def _end(self, manifest: Manifest) -> None:
        assert not self._ended
        self._ended = True
        for segment in self._open:
            segment.abandon()
        try:
            self._write(replace(manifest, ended=now_text()))
        finally:
            os.close(self._lock)

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ended:
            return
        if isinstance(error, KeyboardInterrupt):
            reason = "it was interrupted from the keyboard"
        elif error is not None:
            reason = str(error).rstrip(".") or type(error).__name__
        else:
            reason = "it was left before it was finished"
        try:
            self.stop(reason)
        except RunNotWritten:
            # On a full disk the end cannot be recorded: the run then looks as after a kill, which is handled as well.
            if error is None:
                raise


def _locked(directory: Path) -> int:
    """Own a run as long as the descriptor is open: a lock that the kernel releases when the process dies."""
    descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RunUnreadable(f"{directory.name} is being written by another process. Wait for it, or stop it.") from None
    return descriptor
