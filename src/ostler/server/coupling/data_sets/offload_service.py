"""Offload of this member's shared messages, as the engine sees it: data sets of all its structures, and the database.

The first byte of a reference tells the store of a body, whatever OFFLOAD says now. Blobs are in
`ostler.server.coupling.blobs`; the rest of this module is about data sets.

`OffloadService` is called in turns of the engine; files are used on threads of its own, and answers are posted to the
reactor. A data set is usable when its space map has been made from the entries of its structure:

    CLOSED -> OPENING (file) -> SCANNING (facility: DUMP) -> LOADING (space map) -> OPEN -> CLOSING -> CLOSED
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from mypy_extensions import i64

from ostler.coupling.blob_reference import is_blob_reference
from ostler.engine.core import Engine
from ostler.engine.shared.membership import Membership
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, DumpAnswer, JoinAnswer
from ostler.model.coupling.entries import Entry
from ostler.model.coupling.events import Announced, Event, Freed, StructureChanged
from ostler.model.coupling.offload import IN_DATA_SET, IN_DATABASE, BodyFetched, BodyStored, Offload
from ostler.model.coupling.port import Continuation, EventListener
from ostler.model.coupling.programs import AnnounceProgram, DumpProgram
from ostler.model.disk import DiskFull
from ostler.server.coupling.blobs.blob_store import BlobStore
from ostler.server.coupling.data_sets.data_set_file import DataSetFailed
from ostler.server.coupling.data_sets.data_sets import DataSetSettings, StructureDataSets
from ostler.server.coupling.data_sets.group_states import GroupStates
from ostler.server.coupling.freed_references import FreedReceiver, FreedReferences
from ostler.server.machine import Machine

CLOSED: Final = 0
OPENING: Final = 1
SCANNING: Final = 2
LOADING: Final = 3
OPEN: Final = 4
CLOSING: Final = 5
_PREPARING: Final = (OPENING, SCANNING, LOADING)
ANNOUNCEMENT: Final = "SMDS"
"""Members announce this word when they have changed a row about data sets, so that others need not wait."""

_TASKS_MAX: Final = 16
_BLOCKS_MAX: Final = 20
_LOOK_TICKS: Final = 2
_SCAN_SLICE: Final = 1000
_KILO: Final = 1024
_RETRY_TICKS: Final = 5


class StructureOffload:
    """The data sets of one structure, and where they stand. Its fields belong to the engine's turn."""

    def __init__(self, sets: StructureDataSets) -> None:
        self.sets = sets
        self.phase = CLOSED
        self.is_stopped = False  # STOP SMDSCONN
        self.waiting: list[tuple[Entry, BodyStored]] = []
        self.waiting_fetches: list[tuple[Entry, BodyFetched]] = []
        self.is_scanning = False
        self.pause_ticks = 0  # before it is opened again
        self.failure = ""  # why it could not be opened the last time
        self.found = 0
        self.lost = 0


class OffloadService(Offload, FreedReceiver):
    def __init__(
        self,
        engine: Engine,
        sharing: Membership,
        machine: Machine,
        post: Callable[[Callable[[], None]], None],
        note: Callable[[str], None],
        directory: Path,
        states: GroupStates,
        blobs: BlobStore,
    ) -> None:
        self.engine = engine
        self.blobs = blobs
        self.sharing = sharing
        self.states = states
        self.directory = directory
        self.structures: dict[str, StructureOffload] = {}
        self.events = OffloadEvents(self)
        self.freed = FreedReferences(sharing, self)
        blobs.resume = self.freed.take
        self._machine = machine
        self._post = post
        self._note = note
        self._tasks = machine.executor(_TASKS_MAX, "ostler-smds")
        self._blocks = machine.executor(_BLOCKS_MAX, "ostler-smds-io")
        self._expander = machine.executor(1, "ostler-smds-x")
        self._ticks = 0
        self._is_looking = False
        self._is_closed = False

    # -- the port ------------------------------------------------------------------------------------------------------

    def reason(self, structure: str, place: i64) -> i64:
        if place == IN_DATABASE:
            return self.blobs.reason()
        found = self.find(structure)
        if found is None or found.is_stopped:
            return mq.MQRC_DATA_SET_NOT_AVAILABLE
        return found.sets.reason()

    def store(self, structure: str, place: i64, entry: Entry, continuation: BodyStored) -> None:
        if place == IN_DATABASE:
            self.blobs.store(structure, entry, continuation)
            return
        found = self.find(structure) if place == IN_DATA_SET else None
        if found is None or found.is_stopped or self._is_closed:
            self._post(partial(continuation.stored, mq.MQRC_DATA_SET_NOT_AVAILABLE, b""))
        elif found.phase == OPEN:
            self._tasks.submit(self._store, found.sets, entry, continuation)
        else:
            found.waiting.append((entry, continuation))
            self.open(found)

    def _store(self, sets: StructureDataSets, entry: Entry, continuation: BodyStored) -> None:
        reason, reference = mq.MQRC_UNEXPECTED_ERROR, b""
        try:
            reason, reference = sets.store(entry.id, entry.body, entry.flags & cf.PERSISTENT != 0)
        except Exception as error:
            self._note(f"AMQ6109E: Offloading a message failed: {error!r}.")
        self._post(partial(continuation.stored, reason, reference))

    def on_put(self, structure: str, entry: Entry, is_known: bool, is_there: bool) -> None:
        if is_blob_reference(entry.reference):
            self.blobs.on_put(structure, entry, is_known, is_there)
            return
        found = self.structures.get(structure)
        if found is not None:
            found.sets.own.on_put(entry.id, is_known, is_there)

    def fetch(self, structure: str, entry: Entry, continuation: BodyFetched) -> None:
        if is_blob_reference(entry.reference):
            self.blobs.fetch(structure, entry, continuation)
            return
        found = self.find(structure)
        if found is None or self._is_closed:
            self._post(partial(continuation.fetched, mq.MQRC_DATA_SET_NOT_AVAILABLE, b""))
        elif found.phase in _PREPARING and entry.owner == self.sharing.number:
            found.waiting_fetches.append((entry, continuation))
        else:
            self._tasks.submit(self._fetch, found.sets, entry, continuation)

    def _fetch(self, sets: StructureDataSets, entry: Entry, continuation: BodyFetched) -> None:
        reason, body = mq.MQRC_UNEXPECTED_ERROR, b""
        try:
            reason, body = sets.fetch(entry.id, entry.reference)
        except Exception as error:
            self._note(f"AMQ6109E: Reading an offloaded message failed: {error!r}.")
        self._post(partial(continuation.fetched, reason, body))

    # -- structures ----------------------------------------------------------------------------------------------------

    def find(self, structure: str) -> StructureOffload | None:
        """Return the data sets of a structure that has some by its definition."""
        found = self.structures.get(structure)
        if found is not None:
            return found
        settings = self.settings(structure)
        if settings is None:
            return None
        try:
            sets = StructureDataSets(
                structure,
                self.engine.name,
                int(self.sharing.number),
                self.directory,
                settings,
                self._note,
                self._blocks,
                self._expander,
                self.states,
            )
        except DataSetFailed as failure:
            self.engine.notice(f"AMQ7530E: The data set for structure {structure} failed: {failure.text}.")
            return None
        found = self.structures[structure] = StructureOffload(sets)
        return found

    def settings(self, structure: str) -> DataSetSettings | None:
        """Return what the definitions say of a structure's data sets; None without DSGROUP."""
        definition = self.engine.of_type(ObjectType.CFSTRUCT).get(structure)
        if definition is None:
            return None
        group = definition.attributes.get("DSGROUP")
        if not isinstance(group, str) or not group:
            return None
        attributes = definition.attributes
        block = attributes.get("DSBLOCK")
        buffers = attributes.get("DSBUFS")
        expands = attributes.get("DSEXPAND")
        own_buffers, own_expands = self._overrides(structure)
        if own_buffers > 0:
            buffers = own_buffers
        if own_expands in (mq.MQDSE_YES, mq.MQDSE_NO):
            expands = own_expands
        return DataSetSettings(
            group,
            block_bytes(block if isinstance(block, int) else mq.MQDSB_256K),
            buffers if isinstance(buffers, int) and buffers > 0 else 100,
            expands != mq.MQDSE_NO,
        )

    def _overrides(self, structure: str) -> tuple[int, int]:
        """Return DSBUFS and DSEXPAND of ALTER SMDS for the own data set; 0: as the structure says."""
        options = self.states.options(structure, self.engine.name)
        if options is not None:
            return options.buffers, options.expand
        own = self.engine.of_type(ObjectType.SMDS).get(f"{structure}/{self.engine.name}")
        if own is None:
            return 0, 0
        buffers, expands = own.attributes.get("DSBUFS"), own.attributes.get("DSEXPAND")
        return buffers if isinstance(buffers, int) else 0, expands if isinstance(expands, int) else 0

    # -- opening -------------------------------------------------------------------------------------------------------

    def open(self, found: StructureOffload) -> None:
        """Make a data set ready, unless that is under way."""
        if found.phase != CLOSED or found.is_stopped or self._is_closed:
            return
        if found.pause_ticks > 0:
            self._fail_waiting(found, mq.MQRC_DATA_SET_NOT_AVAILABLE)
            return
        found.phase = OPENING
        self._tasks.submit(self._open, found, self._machine.random_bytes(8))

    def _open(self, found: StructureOffload, identity: bytes) -> None:
        sets = found.sets
        try:
            sets.open(identity)
        except (DataSetFailed, DiskFull, OSError) as failure:
            status = failure.status if isinstance(failure, DataSetFailed) else "ALLOCFAIL"
            if status == "NOTENABLED":
                sets.connection.status = status
            else:
                sets.connection.fail(status)
            if str(failure) != found.failure:
                self._note(f"AMQ7530E: {sets.describe(sets.name)} cannot be opened: {failure}.")
            found.failure = str(failure)
            self._post(partial(self._on_not_opened, found))
            return
        self._post(partial(self._on_opened, found))

    def _on_not_opened(self, found: StructureOffload) -> None:
        found.phase = CLOSED
        found.pause_ticks = _RETRY_TICKS
        self._fail_waiting(found, mq.MQRC_DATA_SET_NOT_AVAILABLE)

    def _fail_waiting(self, found: StructureOffload, reason: int) -> None:
        waiting, found.waiting = found.waiting, []
        for _, continuation in waiting:
            self._post(partial(continuation.stored, reason, b""))
        fetches, found.waiting_fetches = found.waiting_fetches, []
        for _, fetch in fetches:
            self._post(partial(fetch.fetched, reason, b""))

    def _on_opened(self, found: StructureOffload) -> None:
        found.phase = SCANNING
        self._scan(found)

    def _scan(self, found: StructureOffload) -> None:
        """Ask the facility for all references of this member."""
        found.is_scanning = True
        candidates: set[bytes] = set() if found.phase == SCANNING else found.sets.own.settled()
        Scan(self, found, candidates).ask()

    def on_scanned(self, found: StructureOffload, references: list[bytes], candidates: set[bytes]) -> None:
        if found.phase == SCANNING:
            found.phase = LOADING
            self._tasks.submit(self._load, found, references)
        elif found.phase == OPEN:
            found.is_scanning = False
            self._tasks.submit(found.sets.own.keep_only, candidates, references)
            self.freed.take(found.sets.structure)

    def on_scan_failed(self, found: StructureOffload, reason: int) -> None:
        """Begin anew with the next need: the link is lost, or the structure failed."""
        found.is_scanning = False
        if found.phase == SCANNING:
            self._fail_waiting(found, reason)
            self._begin_close(found, "CLOSED")

    def _load(self, found: StructureOffload, references: list[bytes]) -> None:
        try:
            found.found, found.lost = found.sets.take_over(references)
        except (DataSetFailed, OSError) as failure:
            found.sets.fail_own(str(failure))
            self._post(partial(self._on_not_opened, found))
            return
        self._post(partial(self._on_loaded, found))

    def _on_loaded(self, found: StructureOffload) -> None:
        found.phase = OPEN
        found.is_scanning = False
        found.failure = ""
        waiting, found.waiting = found.waiting, []
        for entry, continuation in waiting:
            self._tasks.submit(self._store, found.sets, entry, continuation)
        fetches, found.waiting_fetches = found.waiting_fetches, []
        for entry, fetch in fetches:
            self._tasks.submit(self._fetch, found.sets, entry, fetch)
        self.freed.take(found.sets.structure)
        self.review(found)

    # -- closing -------------------------------------------------------------------------------------------------------

    def review(self, found: StructureOffload) -> None:
        """Close the own data set when it must not be used, open it when it may be used again."""
        state = found.sets.status
        connection = found.sets.connection
        if found.phase == OPEN and (found.is_stopped or not state.is_usable()):
            self._begin_close(found, "CLOSED" if found.is_stopped else "NOTENABLED")
        elif found.phase == CLOSED and state.is_usable() and self.sharing.is_joined:
            if connection.status == "NOTENABLED":
                found.pause_ticks = 0
            if found.pause_ticks == 0 and (connection.status == "NOTENABLED" or connection.available == "ERROR"):
                self.open(found)

    def _begin_close(self, found: StructureOffload, status: str) -> None:
        if self._is_closed:
            return
        found.phase = CLOSING
        found.is_scanning = False
        self._tasks.submit(self._close_own, found, status)

    def _close_own(self, found: StructureOffload, status: str) -> None:
        try:
            found.sets.close_own(status)
        except Exception as error:
            self._note(f"AMQ6109E: Closing a shared message data set failed: {error!r}.")
        self._post(partial(self._on_closed, found))

    def _on_closed(self, found: StructureOffload) -> None:
        found.phase = CLOSED
        self.freed.begin_anew(found.sets.structure)
        if found.waiting:
            self.open(found)
        else:
            self.review(found)

    # -- freed messages ------------------------------------------------------------------------------------------------

    def may_free(self, structure: str) -> bool:
        found = self.structures.get(structure)
        if found is not None and (found.is_scanning or found.phase in (SCANNING, LOADING)):
            return False
        blobs = self.blobs.structures.get(structure)
        return blobs is None or not blobs.is_comparing

    def free(self, structure: str, references: list[bytes]) -> None:
        """Free what is in either store. A data set that is not open has its space map made later, without these."""
        in_database = [each for each in references if is_blob_reference(each)]
        if in_database:
            self.blobs.free(structure, in_database)
        found = self.structures.get(structure)
        if found is not None and found.phase == OPEN and len(in_database) < len(references):
            found.sets.own.free([each for each in references if not is_blob_reference(each)])

    def on_references_lost(self, structure: str) -> None:
        self.blobs.compare(structure)
        found = self.structures.get(structure)
        if found is not None and found.phase == OPEN:
            self._scan(found)

    def messages_by_place(self, structure: str) -> tuple[int, int]:
        """Return this member's offloaded messages of a structure: in its data set, and in the repository.

        Both are known without asking anybody. `SharedRepository.blob_count` tells those of all members in the
        repository, but blocks.
        """
        found = self.structures.get(structure)
        blobs = self.blobs.structures.get(structure)
        return (found.sets.own.usage()[0] if found is not None else 0, len(blobs.held) if blobs is not None else 0)

    def on_structure(self, structure: str, is_active: bool) -> None:
        """A structure has failed, or is usable again with other entries: ask for all references."""
        self.freed.begin_anew(structure)
        if is_active:
            self.blobs.compare(structure)
        found = self.structures.get(structure)
        if found is not None and is_active and found.phase == OPEN and not found.is_scanning:
            self._scan(found)

    def note_structure(self, event: StructureChanged) -> None:
        """Keep the time of a structure's failure, and of its recovery."""
        state: i64 = event.state
        if not self._is_closed and (state == cf.STRUCTURE_STATE_FAILED or state == cf.STRUCTURE_ACTIVE):
            is_failed = state == cf.STRUCTURE_STATE_FAILED
            self._tasks.submit(self.states.note_structure, event.structure, is_failed)

    def announce(self) -> None:
        """Tell other members that rows about data sets have changed, in a turn."""
        if self.sharing.is_joined:
            self.sharing.submit(AnnounceProgram(ANNOUNCEMENT), 0, None)

    # -- the link ------------------------------------------------------------------------------------------------------

    def on_joined(self) -> None:
        """Open the data sets of connected structures, and ask what became of messages whose puts had no answer."""
        self.freed.on_joined()
        self.blobs.on_joined()
        for structure in list(self.sharing.structures):
            found = self.find(structure)
            if found is None:
                continue
            if found.phase == OPEN and not found.is_scanning:
                self._scan(found)
            elif found.phase == CLOSED:
                self.open(found)

    def on_tick(self) -> None:
        """Do what is due, about once a second, in a turn."""
        self._ticks += 1
        self.blobs.on_tick()
        for found in self.structures.values():
            if found.pause_ticks > 0:
                found.pause_ticks -= 1
        self.apply_settings()
        if self._ticks % _LOOK_TICKS == 0:
            self.begin_look()

    def apply_settings(self) -> None:
        """Let data sets follow the definitions, in a turn."""
        for structure, found in list(self.structures.items()):
            settings = self.settings(structure)
            if settings is not None and settings != found.sets.settings:
                found.sets.apply(settings)

    def begin_look(self) -> None:
        """Read the states of data sets again, and look at the files."""
        if not self._is_looking and not self._is_closed:
            self._is_looking = True
            self._tasks.submit(self._look, list(self.structures.values()))

    def _look(self, structures: list[StructureOffload]) -> None:
        try:
            self.states.refresh()
            for found in structures:
                found.sets.look()
        except Exception as error:
            self._note(f"AMQ6109E: Looking at shared message data sets failed: {error!r}.")
        self._post(self._on_looked)

    def _on_looked(self) -> None:
        self._is_looking = False
        self.apply_settings()
        for found in self.structures.values():
            self.review(found)

    def close(self) -> None:
        """End the threads and close the files."""
        self._is_closed = True
        self.blobs.close()
        for executor in (self._tasks, self._expander, self._blocks):
            executor.shutdown(True)
        for found in self.structures.values():
            found.sets.close()


class Scan(Continuation):
    """Lists the references of this member to bodies of a structure, slice by slice."""

    def __init__(self, service: OffloadService, found: StructureOffload, candidates: set[bytes]) -> None:
        self._service = service
        self._found = found
        self._candidates = candidates
        self._references: list[bytes] = []
        self._after_queue = ""
        self._after_key: i64 = -1

    def ask(self) -> None:
        program = DumpProgram(self._found.sets.structure)
        program.owner = self._service.sharing.number
        program.with_bodies = False
        program.count_max = _SCAN_SLICE
        program.after_queue = self._after_queue
        program.after_key = self._after_key
        self._service.sharing.submit(program, 0, self)

    def answered(self, answer: Answer) -> None:
        if not isinstance(answer, DumpAnswer) or answer.status != cf.OK:
            self._service.on_scan_failed(self._found, mq.MQRC_CF_NOT_AVAILABLE)
            return
        for dumped in answer.entries:
            if dumped.entry.reference:
                self._references.append(dumped.entry.reference)
        if answer.is_end:
            self._service.on_scanned(self._found, self._references, self._candidates)
            return
        self._after_queue = answer.through_queue
        self._after_key = answer.through_key
        self.ask()


class OffloadEvents(EventListener):
    """What the member hears of the facility that concerns offload."""

    def __init__(self, service: OffloadService) -> None:
        self._service = service

    def on_event(self, event: Event) -> None:
        if isinstance(event, Freed):
            self._service.freed.take(event.structure)
        elif isinstance(event, StructureChanged):
            self._service.on_structure(event.structure, event.state == cf.STRUCTURE_ACTIVE)
            self._service.note_structure(event)
        elif isinstance(event, Announced) and event.text == ANNOUNCEMENT:
            self._service.begin_look()

    def on_joined(self, answer: JoinAnswer) -> None:
        self._service.on_joined()

    def on_link_lost(self) -> None:
        """Wait for the next link: what was going on has ended with LINK_LOST."""


def block_bytes(value: int) -> int:
    """Return the bytes of DSBLOCK."""
    return _BLOCK_BYTES.get(value, 256 * _KILO)


_BLOCK_BYTES: Final[dict[int, int]] = {
    mq.MQDSB_8K: 8 * _KILO,
    mq.MQDSB_16K: 16 * _KILO,
    mq.MQDSB_32K: 32 * _KILO,
    mq.MQDSB_64K: 64 * _KILO,
    mq.MQDSB_128K: 128 * _KILO,
    mq.MQDSB_256K: 256 * _KILO,
    mq.MQDSB_512K: 512 * _KILO,
    mq.MQDSB_1M: 1024 * _KILO,
}
