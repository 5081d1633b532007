"""The data set that this member writes for one structure: its space, its expansion, the messages in it.

All calls come on threads for transfers but for `free`, `on_put` and the figures, which are quick.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Final

from ostler.coupling.data_sets.layout import (
    INLINE_EXTENTS_MAX,
    DamagedData,
    DataSetHeader,
    decode_reference,
    encode_record,
    encode_reference,
    record_pages,
)
from ostler.coupling.data_sets.space_map import Extent, SpaceMap, expansion_blocks
from ostler.model.disk import DiskFull
from ostler.server.coupling.data_sets.data_set_file import (
    FILE_BYTES_MAX,
    DataSetFailed,
    DataSetFile,
    create_data_set,
    open_data_set,
)
from ostler.server.coupling.data_sets.transfers import Transfers

PRIMARY_BYTES: Final = 16 << 20
"""The size of a data set that nobody has formatted before."""
EXPANDED_PERCENT: Final = 90
_WARNED_PERCENTS: Final = (90, 92, 94, 96, 98)
_FRAGMENT_TRIES: Final = 8


def data_set_name(structure: str, owner: str, path: Path) -> str:
    """Return a data set as messages to operators name it."""
    return f"SMDS({owner}) CFSTRUCT({structure}) data set {path.name}"


class DataSetFull(Exception):
    """There is no space, and the data set cannot grow."""


class OwnDataSet:
    def __init__(
        self, structure: str, owner: str, number: int, path: Path, note: Callable[[str], None], expander: Executor
    ) -> None:
        self.structure = structure
        self.owner = owner
        self.number = number
        self.path = path
        self.file: DataSetFile | None = None
        self.expands = True
        """DSEXPAND. May be changed at any time."""
        self.expand_status = "NORMAL"
        self._note = note
        self._expander = expander
        self._changed = threading.Condition()
        self._map = SpaceMap(1, 1)
        self._held: dict[bytes, list[Extent]] = {}  # pages of messages, by entry
        self._pending: set[bytes] = set()  # of them, those whose entries are not known to be put
        self._is_expanding = False
        self._warned = 0
        self._was_full = False

    # -- opening -------------------------------------------------------------------------------------------------------

    def open(self, block_bytes: int, identity: bytes, may_make: bool = True, is_empty: bool = False) -> bool:
        """Open the file, or make it. Returns True when it is new. Raises DataSetFailed and DiskFull.

        `is_empty`: nothing is in it, so that one with other blocks (DSBLOCK) is replaced.
        """
        file = open_data_set(self.path, True)
        if file is not None and is_empty and file.block_bytes != block_bytes:
            file = self._divide_anew(file, block_bytes, identity)
        is_new = file is None
        if file is None:
            if not may_make:
                raise DataSetFailed("OPENFAIL", f"{self.path} is not there")
            blocks = max(PRIMARY_BYTES // block_bytes, 2)
            header = DataSetHeader(self.structure, self.owner, self.number, block_bytes, identity)
            pages = blocks * block_bytes // 4096
            self._note(f"AMQ7525I: Formatting {pages} pages of {self._name()}.")
            file = create_data_set(self.path, header, blocks)
            self._note(f"AMQ7526I: Formatting {self._name()} is complete.")
        header = file.header
        if (header.structure, header.owner, int(header.number)) != (self.structure, self.owner, self.number):
            file.close()
            raise DataSetFailed(
                "DATAFAIL",
                f"{self.path} is the data set of {header.owner}, member {header.number}, for {header.structure}",
            )
        if not file.is_direct:
            self._note(
                f"AMQ7529W: {self._name()}: the file system of {self.path.parent} refuses transfers past its cache "
                "(O_DIRECT). The data set is used through the cache, so that DSBUFS saves little."
            )
        with self._changed:
            self.file = file
            self._map = SpaceMap(file.block_pages, file.blocks)
            self._held = {}
            self._pending = set()
        return is_new

    def _divide_anew(self, file: DataSetFile, block_bytes: int, identity: bytes) -> DataSetFile | None:
        """Give an empty file blocks of another size; None: it is too short for them and was deleted."""
        blocks = file.blocks * file.block_bytes // block_bytes
        if blocks < 2:
            file.close()
            self.path.unlink(missing_ok=True)
            return None
        file.header = DataSetHeader(self.structure, self.owner, self.number, block_bytes, identity)
        file.write_header()
        file.close()
        return open_data_set(self.path, True)

    def close(self) -> None:
        with self._changed:
            file, self.file = self.file, None
            while self._is_expanding:
                self._changed.wait()
        if file is not None:
            file.close()

    def _name(self) -> str:
        return data_set_name(self.structure, self.owner, self.path)

    # -- the space map, from what the facility has ---------------------------------------------------------------------

    def load(self, references: list[bytes], transfers: Transfers) -> tuple[int, int]:
        """Make the space map from references. Returns the messages, and those that are not in this file."""
        found = lost = 0
        file = self._open_file()
        for data in references:
            try:
                reference = decode_reference(data)
                if reference.identity != file.header.identity:
                    raise DamagedData("the reference is one into another data set")
                extents = transfers.all_extents(file, reference)
            except (DamagedData, DataSetFailed):
                lost += 1
                continue
            with self._changed:
                if reference.id in self._held:
                    found += 1
                elif self._map.can_mark(extents):
                    self._map.mark(extents)
                    self._held[reference.id] = extents
                    found += 1
                else:
                    lost += 1
        return found, lost

    def settled(self) -> set[bytes]:
        """Return the entries that the facility must have by now, unless they are gone."""
        with self._changed:
            return self._held.keys() - self._pending

    def keep_only(self, candidates: set[bytes], references: list[bytes]) -> int:
        """Free those of `candidates` that the facility has no reference to. Returns how many."""
        seen = set()
        for data in references:
            try:
                seen.add(decode_reference(data).id)
            except DamagedData:
                continue
        gone = candidates - seen
        with self._changed:
            for each in gone:
                self._free(each)
            self._changed.notify_all()
        return len(gone)

    def has_messages(self) -> bool:
        """Return True when pages are held, also for puts that have no answer."""
        with self._changed:
            return bool(self._held)

    def holds(self, id: bytes) -> bool:
        """Return True when the message of an entry is in it and was not freed."""
        with self._changed:
            return id in self._held

    def entries(self) -> dict[bytes, list[Extent]]:
        """Return a copy of what is held, for checks."""
        with self._changed:
            return dict(self._held)

    # -- messages ------------------------------------------------------------------------------------------------------

    def store(self, id: bytes, body: bytes, is_persistent: bool, transfers: Transfers) -> bytes:
        """Write a body, and force it if it is persistent. Returns the reference.

        Raises DataSetFull, DiskFull and DataSetFailed; then nothing is held.
        """
        file = self._open_file()
        extents = self._allocate(len(body))
        try:
            identity = file.header.identity
            transfers.write(file, extents, encode_record(id, identity, body, extents) + body)
            if is_persistent:
                file.force()
        except BaseException:
            with self._changed:
                self._map.free(extents)
                self._changed.notify_all()
            raise
        with self._changed:
            self._held[id] = extents
            self._pending.add(id)
        return encode_reference(self.owner, identity, id, len(body), extents)

    def on_put(self, id: bytes, is_known: bool, is_there: bool) -> None:
        """Note what became of an entry. Without an answer it stays until the facility has been asked."""
        with self._changed:
            self._pending.discard(id)
            if is_known and not is_there:
                self._free(id)
                self._changed.notify_all()

    def free(self, references: list[bytes]) -> None:
        """Free the messages of references, some of which may have been freed before."""
        with self._changed:
            for data in references:
                try:
                    self._free(decode_reference(data).id)
                except DamagedData:
                    continue
            self._changed.notify_all()

    def _free(self, id: bytes) -> None:
        extents = self._held.pop(id, None)
        self._pending.discard(id)
        if extents is not None:
            self._map.free(extents)
            self._was_full = False
            if self._warned and not self._map.is_full_to(_WARNED_PERCENTS[0] - 5):
                self._warned = 0

    def _open_file(self) -> DataSetFile:
        file = self.file
        if file is None:
            raise DataSetFailed("CLOSED", f"{self._name()} is closed")
        return file

    # -- space ---------------------------------------------------------------------------------------------------------

    def _allocate(self, body_bytes: int) -> list[Extent]:
        """Return pages for a record. Waits for an expansion that is under way. Raises DataSetFull."""
        pages = int(record_pages(body_bytes, 0))
        with self._changed:
            for _ in range(_FRAGMENT_TRIES):
                while not self._map.fits(pages):
                    self._wait_for_space(pages)
                extents = self._map.allocate(pages)
                self._after_allocation()
                needed = int(record_pages(body_bytes, len(extents)))
                if needed <= pages:
                    return extents
                self._map.free(extents)  # in so many pieces that their list needs pages, too
                pages = int(record_pages(body_bytes, len(extents) + INLINE_EXTENTS_MAX))
        raise DataSetFull(f"{self._name()} is too fragmented")

    def _wait_for_space(self, pages: int) -> None:
        if self._is_expanding or self._begin_expansion(pages):
            while self._is_expanding:
                self._changed.wait()
            if self._map.fits(pages) or self.expand_status == "NORMAL":
                return
        if not self._was_full:
            self._was_full = True
            self._note(f"AMQ7528E: {self._name()} is full.")
        raise DataSetFull(f"{self._name()} is full")

    def _after_allocation(self) -> None:
        percent = 100 * int(self._map.used_blocks()) // max(int(self._map.data_blocks()), 1)
        reached = max((each for each in _WARNED_PERCENTS if each <= percent), default=0)
        if reached > self._warned:
            self._warned = reached
            self._note(f"AMQ7524W: {self._name()} is now {reached}% full.")
        if percent >= EXPANDED_PERCENT and not self._is_expanding:
            self._begin_expansion(0)

    def _begin_expansion(self, pages: int) -> bool:
        """Have the file made longer. Returns False when that cannot be."""
        file = self.file
        if not self.expands or file is None or self.expand_status == "MAXIMUM":
            return False
        if self.expand_status == "FAILED" and pages == 0:
            return False
        blocks = max(int(expansion_blocks(file.blocks)), -(-pages // file.block_pages))
        if (file.blocks + blocks) * file.block_bytes > FILE_BYTES_MAX:
            self.expand_status = "MAXIMUM"
            return False
        self._is_expanding = True
        self._expander.submit(self._expand, file, blocks, self.expand_status == "FAILED")
        return True

    def _expand(self, file: DataSetFile, blocks: int, is_again: bool) -> None:
        pages = blocks * file.block_pages
        failure = ""
        if not is_again:
            self._note(f"AMQ7525I: Formatting {pages} pages of {self._name()}.")
        try:
            file.format(blocks)
        except (DiskFull, DataSetFailed, OSError) as error:
            failure = str(error)
        with self._changed:
            self._is_expanding = False
            if not failure:
                self._map.grow(blocks)
                self.expand_status = "NORMAL"
                self._warned = 0
                total = file.blocks * file.block_pages
                self._note(f"AMQ7526I: Formatting {self._name()} is complete.")
                self._note(f"AMQ7527I: {self._name()} was expanded: {pages} pages added, total pages {total}.")
                if self._map.is_full_to(EXPANDED_PERCENT):
                    self._begin_expansion(0)
            else:
                self.expand_status = "FAILED"
                if not is_again:
                    self._note(f"AMQ7531E: {self._name()} could not be expanded: {failure}.")
            self._changed.notify_all()

    def retry_expansion(self) -> None:
        """Let a failed expansion be tried again (START SMDSCONN, ALTER SMDS)."""
        with self._changed:
            if self.expand_status == "FAILED":
                self.expand_status = "NORMAL"

    # -- figures -------------------------------------------------------------------------------------------------------

    def usage(self) -> tuple[int, int, int, int]:
        """Return the numbers of messages, of all blocks, of blocks for data, and of those in use."""
        with self._changed:
            used = int(self._map.used_blocks())
            return len(self._held), int(self._map.blocks), int(self._map.data_blocks()), used

    def used_pages(self) -> dict[int, int]:
        """Return the pages in use by block, for checks."""
        with self._changed:
            return {block: int(self._map.used_pages(block)) for block in range(int(self._map.blocks))}
