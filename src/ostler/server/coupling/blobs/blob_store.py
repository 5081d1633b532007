"""Bodies of this member's shared messages in the shared repository: OFFLOAD(DB2), and CFLEVEL(4).

A limited number of threads, the blob tasks, use the repository; verbs wait for one of them, the reactor never does. All
other calls come in turns of the engine, and answers are posted to the reactor.

A blob has the identifier of its entry. It is durable before its entry is put, and its writer deletes it when the
facility tells that the entry is gone. Blobs whose entries were never put are found by comparing the repository with the
facility: at the start, after a lost link, and when the repository is there again.

Without the repository puts and gets of such messages fail with MQRC_DB2_NOT_AVAILABLE, and other work goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from mypy_extensions import i64

from ostler.coupling.blob_reference import (
    check_blob,
    decode_blob_reference,
    encode_blob_reference,
    is_blob_reference,
)
from ostler.coupling.data_sets.layout import DamagedData
from ostler.engine.shared.membership import Membership
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, DumpAnswer
from ostler.model.coupling.entries import Entry, id_member, id_start, make_id
from ostler.model.coupling.offload import BodyFetched, BodyStored
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import DumpProgram
from ostler.model.shared_repository import BlobNotFound, RepositoryUnavailable, SharedRepository
from ostler.server.config.sharing_ini import BLOB_TASKS_DEFAULT
from ostler.server.machine import Machine

_DELETED_AT_ONCE: Final = 500
_SCAN_SLICE: Final = 1000
_REPORTED_MAX: Final = 1000
_FOREIGN: Final = 1 << 62
"""Numbers of blobs whose entries have identifiers of other members: above all numbers of entries."""


class StructureBlobs:
    """The blobs of one structure that this member has written. Its fields belong to the engine's turn."""

    def __init__(self) -> None:
        self.pending: set[bytes] = set()
        """Blobs whose entries are not known to be put, or to be refused."""
        self.held: set[bytes] = set()
        """Blobs whose entries are in the structure, as far as is known."""
        self.is_compared = False
        self.is_comparing = False
        self.deletes: list[bytes] = []


class BlobStore:
    def __init__(
        self,
        repository: SharedRepository,
        sharing: Membership,
        machine: Machine,
        post: Callable[[Callable[[], None]], None],
        note: Callable[[str], None],
        tasks: int = BLOB_TASKS_DEFAULT,
    ) -> None:
        """Uses a repository that was made before: one that is missing is away, and is not made anew, empty."""
        self.resume: Callable[[str], None] | None = None
        """Called when a comparison has ended: blobs of the structure may be freed again."""
        self.repository = repository
        self.sharing = sharing
        self.structures: dict[str, StructureBlobs] = {}
        self._post = post
        self._note = note
        self._tasks = machine.executor(tasks, "ostler-blob")
        self._is_away = False
        self._is_probing = False
        self._is_deleting = False
        self._is_closed = False
        self._foreign: i64 = _FOREIGN
        self._reported: set[str] = set()

    # -- messages ------------------------------------------------------------------------------------------------------

    def reason(self) -> i64:
        """Return 0, or the reason why nothing can be stored now."""
        return mq.MQRC_DB2_NOT_AVAILABLE if self._is_away or self._is_closed else 0

    def of(self, structure: str) -> StructureBlobs:
        found = self.structures.get(structure)
        if found is None:
            found = self.structures[structure] = StructureBlobs()
        return found

    def store(self, structure: str, entry: Entry, continuation: BodyStored) -> None:
        """Write the body of an entry, durably. Never calls back before it returns."""
        if self.reason() != 0:
            self._post(partial(continuation.stored, mq.MQRC_DB2_NOT_AVAILABLE, b""))
            return
        blob = entry.id
        if id_member(blob) != self.sharing.number or id_start(blob) != self.sharing.start:
            self._foreign += 1
            blob = make_id(self.sharing.number, self.sharing.start, self._foreign)
        self.of(structure).pending.add(blob)
        self._tasks.submit(self._store, structure, blob, entry, continuation)

    def _store(self, structure: str, blob: bytes, entry: Entry, continuation: BodyStored) -> None:
        failure = ""
        try:
            self.repository.write_blob(structure, blob, entry.body)
        except RepositoryUnavailable as error:
            failure = str(error)
        except Exception as error:
            failure = repr(error)
        reference = b"" if failure else encode_blob_reference(blob, entry.id, entry.body)
        self._post(partial(self._on_stored, structure, blob, reference, failure, continuation))

    def _on_stored(self, structure: str, blob: bytes, reference: bytes, failure: str, continuation: BodyStored) -> None:
        if not failure:
            continuation.stored(0, reference)
            return
        # It may be there, or be there in parts.
        self._lose(failure)
        self._delete(structure, blob)
        continuation.stored(mq.MQRC_DB2_NOT_AVAILABLE, b"")

    def on_put(self, structure: str, entry: Entry, is_known: bool, is_there: bool) -> None:
        """Note what became of an entry. Without an answer its blob stays until the facility has been asked."""
        found = self.of(structure)
        blob = decode_blob_reference(entry.reference).blob
        found.pending.discard(blob)
        if is_known and not is_there:
            self._delete(structure, blob)
        else:
            found.held.add(blob)

    def fetch(self, structure: str, entry: Entry, continuation: BodyFetched) -> None:
        """Read the body of an entry, whichever member has written it. Never calls back before it returns."""
        if self.reason() != 0:
            self._post(partial(continuation.fetched, mq.MQRC_DB2_NOT_AVAILABLE, b""))
        else:
            self._tasks.submit(self._fetch, structure, entry, continuation)

    def _fetch(self, structure: str, entry: Entry, continuation: BodyFetched) -> None:
        body, failure, damage = b"", "", ""
        try:
            reference = decode_blob_reference(entry.reference)
            body = self.repository.read_blob(structure, reference.blob, 0, int(reference.body_bytes))
            check_blob(reference, entry.id, body)
        except (DamagedData, BlobNotFound) as error:
            damage = str(error)
        except RepositoryUnavailable as error:
            failure = str(error)
        except Exception as error:
            failure = repr(error)
        self._post(partial(self._on_fetched, structure, body, failure, damage, continuation))

    def _on_fetched(self, structure: str, body: bytes, failure: str, damage: str, continuation: BodyFetched) -> None:
        if failure:
            self._lose(failure)
        elif damage and damage not in self._reported and len(self._reported) < _REPORTED_MAX:
            # A browse may find one that was got meanwhile: it asks again, and then nobody misses it.
            self._reported.add(damage)
            self._note(
                f"AMQ7583W: A message of structure {structure} is not in the shared repository as its entry says: "
                f"{damage}. A get of it fails with reason {mq.MQRC_DB2_NOT_AVAILABLE}."
            )
        if failure or damage:
            continuation.fetched(mq.MQRC_DB2_NOT_AVAILABLE, b"")
        else:
            continuation.fetched(0, body)

    # -- deleting ------------------------------------------------------------------------------------------------------

    def free(self, structure: str, references: list[bytes]) -> None:
        """Delete the blobs of entries that are gone, some of which may have been deleted before."""
        found = self.of(structure)
        for data in references:
            try:
                blob = decode_blob_reference(data).blob
            except DamagedData:
                continue
            found.held.discard(blob)
            found.deletes.append(blob)
        self._delete_more()

    def _delete(self, structure: str, blob: bytes) -> None:
        found = self.of(structure)
        found.pending.discard(blob)
        found.held.discard(blob)
        found.deletes.append(blob)
        self._delete_more()

    def _delete_more(self) -> None:
        """Delete what is gone, one slice at a time."""
        if self._is_deleting or self.reason() != 0:
            return
        for structure, found in self.structures.items():
            if found.deletes:
                some, found.deletes = found.deletes[:_DELETED_AT_ONCE], found.deletes[_DELETED_AT_ONCE:]
                self._is_deleting = True
                self._tasks.submit(self._run_delete, structure, some)
                return

    def _run_delete(self, structure: str, blobs: list[bytes]) -> None:
        failure = ""
        try:
            self.repository.delete_blobs(structure, blobs)
        except RepositoryUnavailable as error:
            failure = str(error)
        except Exception as error:
            failure = repr(error)
        self._post(partial(self._on_deleted, structure, blobs, failure))

    def _on_deleted(self, structure: str, blobs: list[bytes], failure: str) -> None:
        self._is_deleting = False
        if failure:
            self.of(structure).deletes += blobs
            self._lose(failure)
        else:
            self._delete_more()

    # -- comparing the repository with the facility --------------------------------------------------------------------

    def compare(self, structure: str) -> None:
        """Delete the blobs of this member that no entry of the structure refers to. Ends by itself."""
        found = self.of(structure)
        found.is_compared = False
        if not found.is_comparing and self.reason() == 0 and self.sharing.is_joined:
            found.is_comparing = True
            self._tasks.submit(self._list, structure)

    def _list(self, structure: str) -> None:
        own: set[bytes] = set()
        failure = ""
        try:
            for each in self.repository.blob_ids(structure):
                if id_member(each) == self.sharing.number and id_start(each) <= self.sharing.start:
                    own.add(each)
        except RepositoryUnavailable as error:
            failure = str(error)
        except Exception as error:
            failure = repr(error)
        self._post(partial(self._on_listed, structure, own, failure))

    def _on_listed(self, structure: str, own: set[bytes], failure: str) -> None:
        found = self.of(structure)
        if failure:
            self._lose(failure)
            self.on_not_compared(structure)
            return
        # An entry that was put before the facility is asked is in its answer, or gone.
        candidates = own - found.pending
        if candidates:
            Comparison(self, structure, candidates).ask()
        else:
            self.on_compared(structure, set(), set())

    def on_compared(self, structure: str, candidates: set[bytes], seen: set[bytes]) -> None:
        found = self.of(structure)
        found.is_comparing = False
        found.is_compared = True
        orphans = candidates - seen
        found.held = (found.held - orphans) | seen
        if orphans:
            self._note(
                f"AMQ7584I: {len(orphans)} messages of the shared repository belong to no entry of structure "
                f"{structure}; they are deleted."
            )
            found.deletes += sorted(orphans)
            self._delete_more()
        self._resume(structure)

    def _resume(self, structure: str) -> None:
        if self.resume is not None:
            self.resume(structure)

    def on_not_compared(self, structure: str) -> None:
        """The link is lost, or the structure failed: compare later."""
        self.of(structure).is_comparing = False
        self._resume(structure)

    def on_joined(self) -> None:
        """Ask what became of messages whose puts had no answer."""
        for found in self.structures.values():
            found.is_compared = False

    # -- the repository ------------------------------------------------------------------------------------------------

    def _lose(self, why: str) -> None:
        if not self._is_away and not self._is_closed:
            self._is_away = True
            self._note(
                f"AMQ7581E: The shared repository cannot be used: {why}. Verbs on long messages of OFFLOAD(DB2) fail "
                f"with reason {mq.MQRC_DB2_NOT_AVAILABLE} until it is there again; work on other messages goes on."
            )

    def _probe(self) -> None:
        is_there = True
        try:
            self.repository.change_number()
        except Exception:
            is_there = False
        self._post(partial(self._on_probed, is_there))

    def _on_probed(self, is_there: bool) -> None:
        self._is_probing = False
        if is_there and self._is_away:
            self._is_away = False
            self._note("AMQ7582I: The shared repository is available again.")
            self._delete_more()

    def on_tick(self) -> None:
        """Do what is due, about once a second, in a turn."""
        if self._is_closed:
            return
        if self._is_away:
            if not self._is_probing:
                self._is_probing = True
                self._tasks.submit(self._probe)
            return
        for name, structure in list(self.sharing.structures.items()):
            if structure.is_connected and not self.of(name).is_compared:
                self.compare(name)

    def close(self) -> None:
        """End the threads. Blobs that are not deleted yet are found at the next start."""
        self._is_closed = True
        self._tasks.shutdown(True)


class Comparison(Continuation):
    """Lists the references of this member to blobs of a structure, slice by slice."""

    def __init__(self, store: BlobStore, structure: str, candidates: set[bytes]) -> None:
        self._store = store
        self._structure = structure
        self._candidates = candidates
        self._seen: set[bytes] = set()
        self._after_queue = ""
        self._after_key: i64 = -1

    def ask(self) -> None:
        program = DumpProgram(self._structure)
        program.owner = self._store.sharing.number
        program.with_bodies = False
        program.count_max = _SCAN_SLICE
        program.after_queue = self._after_queue
        program.after_key = self._after_key
        self._store.sharing.submit(program, 0, self)

    def answered(self, answer: Answer) -> None:
        if not isinstance(answer, DumpAnswer) or answer.status != cf.OK:
            self._store.on_not_compared(self._structure)
            return
        for dumped in answer.entries:
            if is_blob_reference(dumped.entry.reference):
                try:
                    self._seen.add(decode_blob_reference(dumped.entry.reference).blob)
                except DamagedData:
                    # One of a later release: nobody knows which blob it means.
                    self._store.on_not_compared(self._structure)
                    return
        if answer.is_end:
            self._store.on_compared(self._structure, self._candidates, self._seen)
            return
        self._after_queue = answer.through_queue
        self._after_key = answer.through_key
        self.ask()
