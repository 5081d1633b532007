"""The data sets of one structure as this member uses them: its own, those of its peers, and their buffers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor
from pathlib import Path
from typing import Final, NamedTuple

from ostler.coupling.data_sets.buffers import BufferFigures
from ostler.coupling.data_sets.layout import DamagedData, decode_reference
from ostler.model import constants as mq
from ostler.model.coupling.status_rows import ACTIVE, EMPTY, FAILED, NEW, NOTFOUND, SUSPENDED, DataSetStatus
from ostler.model.disk import DiskFull
from ostler.server.coupling.data_sets.buffer_pool import BufferPool
from ostler.server.coupling.data_sets.data_set_file import DataSetFailed, DataSetFile, open_data_set
from ostler.server.coupling.data_sets.group_states import GroupStates
from ostler.server.coupling.data_sets.own_data_set import DataSetFull, OwnDataSet, data_set_name
from ostler.server.coupling.data_sets.transfers import Transfers

_NAME_CHARACTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%@#$-")


class DataSetSettings(NamedTuple):
    """What the definitions of the structure and of the data set say."""

    group: str  # DSGROUP
    block_bytes: int
    buffers: int
    expands: bool


class ConnectionStatus:
    """DISPLAY SMDSCONN: how this member is connected to the data set of one queue manager."""

    def __init__(self, owner: str, is_own: bool) -> None:
        self.owner = owner
        self.is_own = is_own
        self.status = "CLOSED"
        self.available = "NORMAL"

    @property
    def open_mode(self) -> str:
        if self.status not in ("OPEN", "CLOSING", "DATAFAIL"):
            return "NONE"
        return "UPDATE" if self.is_own else "READONLY"

    def fail(self, status: str) -> None:
        self.status = status
        self.available = "ERROR"


class StructureUsage(NamedTuple):
    """DISPLAY USAGE TYPE(SMDS)."""

    structure: str
    messages: int
    total_blocks: int
    data_blocks: int
    used_blocks: int
    block_bytes: int
    buffers: int
    in_use: int
    saved: int
    empty: int
    figures: BufferFigures


def data_set_path(directory: Path, group: str, owner: str) -> Path:
    """Return the file of an owner: DSGROUP with the owner's name for the asterisk. Raises DataSetFailed."""
    name = group.replace("*", owner.replace("/", "&"), 1)
    if group.count("*") != 1 or not name.strip(".") or not set(name) <= _NAME_CHARACTERS | {"&"}:
        raise DataSetFailed("ALLOCFAIL", f"DSGROUP({group}) gives no name of a data set for {owner}")
    return directory / name


class StructureDataSets:
    """All calls but those of figures and settings come on threads for transfers."""

    def __init__(
        self,
        structure: str,
        name: str,
        number: int,
        directory: Path,
        settings: DataSetSettings,
        note: Callable[[str], None],
        blocks: Executor,
        expander: Executor,
        states: GroupStates,
    ) -> None:
        self.structure = structure
        self.name = name  # of this queue manager
        self.settings = settings
        self.directory = directory
        self.states = states
        self.own = OwnDataSet(structure, name, number, data_set_path(directory, settings.group, name), note, expander)
        self.connection = ConnectionStatus(name, True)
        self.transfers: Transfers | None = None
        self._note = note
        self._blocks = blocks
        self._lock = threading.Lock()
        self._peers: dict[str, DataSetFile] = {}
        self.connections: dict[str, ConnectionStatus] = {name: self.connection}
        self._reported: set[tuple[str, str]] = set()

    @property
    def status(self) -> DataSetStatus:
        """The state of the own data set."""
        return self.states.status(self.structure, self.name)

    def describe(self, owner: str) -> str:
        return data_set_name(self.structure, owner, data_set_path(self.directory, self.settings.group, owner))

    # -- life ----------------------------------------------------------------------------------------------------------

    def open(self, identity: bytes) -> None:
        """Open the own data set, or make it. Raises DataSetFailed, DiskFull and OSError."""
        self.connection.status = "OPENING"
        self.states.refresh()
        state = self.status
        if not state.is_usable():
            raise DataSetFailed("NOTENABLED", f"it has STATUS({state.status}) ACCESS({state.access})")
        if state.status == NOTFOUND:
            state = self.set_status(NEW)
        own = self.own
        own.path = data_set_path(self.directory, self.settings.group, self.name)
        try:
            own.open(self.settings.block_bytes, identity, state.may_be_made(), state.status in (NEW, EMPTY))
        except DataSetFailed as failure:
            if failure.status == "DATAFAIL" or not own.path.exists():
                self.set_status(FAILED)
            raise
        file = own.file
        assert file is not None
        own.expands = self.settings.expands
        self._set_buffers(file.block_bytes)

    def _set_buffers(self, block_bytes: int) -> Transfers:
        """Return the transfers, whose buffers are as long as the blocks of the own data set."""
        with self._lock:
            if self.transfers is None or self.transfers.buffers.buffer_bytes != block_bytes:
                self.transfers = Transfers(BufferPool(self.settings.buffers, block_bytes), self._blocks)
            return self.transfers

    def take_over(self, references: list[bytes]) -> tuple[int, int]:
        """Make the space map from the facility's references, and be ready. Returns messages found and lost."""
        transfers = self._set_buffers(self.settings.block_bytes if self.own.file is None else self.own.file.block_bytes)
        text = self.describe(self.name)
        self._note(f"AMQ7522I: {text}: the space map will be rebuilt by scanning the structure.")
        found, lost = self.own.load(references, transfers)
        self._note(f"AMQ7523I: {text}: the space map has been rebuilt, message count {found}.")
        if lost:
            self._note(
                f"AMQ7532E: {text}: {lost} messages of the structure are not in it. Gets of them fail with reason "
                f"{mq.MQRC_DATA_SET_NOT_AVAILABLE} until the structure is recovered (RECOVER CFSTRUCT)."
            )
        self.connection.status = "OPEN"
        self.connection.available = "NORMAL"
        if self.status.may_be_made():
            self.set_status(ACTIVE)
        return found, lost

    def set_status(self, status: str) -> DataSetStatus:
        """Change STATUS of the own data set for all members."""
        changed = self.states.set_status(self.structure, self.name, status)
        self._note(f"AMQ7521I: {self.describe(self.name)} now has STATUS({status}).")
        if changed.access == SUSPENDED:
            self._note(f"AMQ7534I: {self.describe(self.name)} now has ACCESS({SUSPENDED}).")
        return changed

    def close(self) -> None:
        """Close all data sets."""
        self.close_own("CLOSED")
        for owner in self.peer_owners():
            self.close_peer(owner, "CLOSED")

    def close_own(self, status: str) -> None:
        """Close the own data set. One that is in order and without messages becomes EMPTY."""
        is_open = self.connection.status == "OPEN" and self.own.file is not None
        is_empty = is_open and not self.own.has_messages() and self.status.status == ACTIVE
        self.connection.status = "CLOSING" if is_open else self.connection.status
        self.own.close()
        if self.transfers is not None:
            self.transfers.buffers.discard_all()
        self.connection.status = status
        if is_empty:
            self.set_status(EMPTY)

    def peer_owners(self) -> list[str]:
        return [owner for owner in list(self.connections) if owner != self.name]

    def close_peer(self, owner: str, status: str = "") -> None:
        with self._lock:
            file = self._peers.pop(owner, None)
        if file is not None:
            file.close()
        connection = self.connections.get(owner)
        if connection is not None and status:
            connection.status = status

    def apply(self, settings: DataSetSettings) -> None:
        """Take over changed definitions. DSGROUP and DSBLOCK count for data sets that are made later."""
        self.settings = settings
        if self.own.expands != settings.expands:
            self.own.expands = settings.expands
            self.own.retry_expansion()
        if self.transfers is not None:
            self.transfers.buffers.resize(settings.buffers)

    def look(self) -> None:
        """See whether the own data set is still what it was, and close those of peers that nobody may use."""
        file = self.own.file
        if file is not None and self.connection.status == "OPEN":
            try:
                is_in_place = file.is_in_place()
            except DataSetFailed:
                is_in_place = True  # it was closed meanwhile
            if not is_in_place:
                self.fail_own(f"{file.path} was deleted, replaced or cut")
        for owner in self.peer_owners():
            connection = self.connections[owner]
            if not self.states.status(self.structure, owner).is_usable():
                self.close_peer(owner, "NOTENABLED")
            elif connection.status == "NOTENABLED":
                connection.status = "CLOSED"
                connection.available = "NORMAL" if connection.available == "ERROR" else connection.available

    def fail_own(self, text: str) -> None:
        """Note that the own data set has lost what was in it: all members stop using it."""
        self.connection.fail("DATAFAIL")
        self._report(self.name, text)
        if self.status.status != FAILED:
            self.set_status(FAILED)

    # -- messages ------------------------------------------------------------------------------------------------------

    def reason(self) -> int:
        """Return 0, or the reason why nothing can be stored now."""
        if self.connection.available != "NORMAL" or not self.status.is_usable():
            return mq.MQRC_DATA_SET_NOT_AVAILABLE
        return 0

    def store(self, id: bytes, body: bytes, is_persistent: bool) -> tuple[int, bytes]:
        """Write a body. Returns a reason and the reference."""
        transfers = self.transfers
        reason = self.reason()
        if reason or transfers is None:
            return reason or mq.MQRC_DATA_SET_NOT_AVAILABLE, b""
        try:
            return 0, self.own.store(id, body, is_persistent, transfers)
        except (DataSetFull, DiskFull):
            return mq.MQRC_STORAGE_MEDIUM_FULL, b""
        except DataSetFailed as failure:
            if failure.status != "CLOSED":
                self.fail_own(failure.text)
            return mq.MQRC_DATA_SET_NOT_AVAILABLE, b""

    def fetch(self, id: bytes, data: bytes) -> tuple[int, bytes]:
        """Read a body. Returns a reason and the body."""
        owner = self.name
        try:
            reference = decode_reference(data)
            owner = reference.owner
            if reference.id != id:
                raise DamagedData("the reference is that of another message")
            connection = self.connection_to(owner)
            if connection.available == "STOPPED" or not self.states.status(self.structure, owner).is_usable():
                return mq.MQRC_DATA_SET_NOT_AVAILABLE, b""
            block_bytes = self.own.file.block_bytes if self.own.file is not None else self.settings.block_bytes
            transfers = self._set_buffers(block_bytes)
            if owner == self.name:
                file = self.own.file
                if file is None:
                    return mq.MQRC_DATA_SET_NOT_AVAILABLE, b""
                return 0, transfers.read(file, reference, True)
            body = self._fetch_from_peer(owner, transfers, data)
            connection.status, connection.available = "OPEN", "NORMAL"
            return 0, body
        except (DamagedData, DataSetFailed) as failure:
            self._on_unreadable(owner, id, failure)
            return mq.MQRC_DATA_SET_NOT_AVAILABLE, b""

    def connection_to(self, owner: str) -> ConnectionStatus:
        with self._lock:
            return self.connections.setdefault(owner, ConnectionStatus(owner, owner == self.name))

    def _on_unreadable(self, owner: str, id: bytes, failure: DamagedData | DataSetFailed) -> None:
        """Tell of a message that could not be read. What was freed while somebody browsed it is no damage."""
        status = failure.status if isinstance(failure, DataSetFailed) else "DATAFAIL"
        is_gone = owner == self.name and not self.own.holds(id) and isinstance(failure, DamagedData)
        connection = self.connection_to(owner)
        if status == "CLOSED" or is_gone or connection.available == "STOPPED":
            return
        if owner == self.name and isinstance(failure, DataSetFailed):
            self.fail_own(failure.text)
            return
        connection.fail(status)
        self._report(owner, str(failure))

    def _fetch_from_peer(self, owner: str, transfers: Transfers, data: bytes) -> bytes:
        """Read from the data set of another member. One that does not fit is opened anew, once."""
        reference = decode_reference(data)
        with self._lock:
            file = self._peers.get(owner)
        if file is not None:
            try:
                return transfers.read(file, reference, False)
            except (DamagedData, DataSetFailed):
                self.close_peer(owner)
        path = data_set_path(self.directory, self.settings.group, owner)
        opened = open_data_set(path, False)
        if opened is None:
            raise DataSetFailed("OPENFAIL", f"{path} is not there")
        header = opened.header
        if (header.structure, header.owner) != (self.structure, owner):
            opened.close()
            raise DataSetFailed("DATAFAIL", f"{path} is the data set of {header.owner} for {header.structure}")
        with self._lock:
            before = self._peers.get(owner)
            self._peers[owner] = opened
        if before is not None:
            before.close()
        return transfers.read(opened, reference, False)

    def _report(self, owner: str, text: str) -> None:
        """Write why a data set cannot be used, once for each reason."""
        if (owner, text) in self._reported or len(self._reported) > 1000:
            return
        self._reported.add((owner, text))
        self._note(
            f"AMQ7530E: {self.describe(owner)} failed: {text}. Verbs that need it fail with reason "
            f"{mq.MQRC_DATA_SET_NOT_AVAILABLE}."
        )

    # -- commands ------------------------------------------------------------------------------------------------------

    def stop(self, owner: str) -> None:
        """STOP SMDSCONN: close a data set, and use it no more until `start`."""
        connection = self.connection_to(owner)
        connection.available = "STOPPED"
        if owner == self.name:
            self.close_own("CLOSED")
        else:
            self.close_peer(owner, "CLOSED")

    def start(self, owner: str) -> None:
        """START SMDSCONN: a data set that was stopped, or has failed here, may be opened again."""
        connection = self.connection_to(owner)
        connection.available = "NORMAL"
        self._reported = {each for each in self._reported if each[0] != owner}
        if owner == self.name:
            self.own.retry_expansion()
            if self.own.file is not None:
                connection.status = "OPEN"
        else:
            self.close_peer(owner, "CLOSED")

    def usage(self, resets: bool = False) -> StructureUsage:
        messages, total, data, used = self.own.usage()
        file = self.own.file
        block_bytes = file.block_bytes if file is not None else self.settings.block_bytes
        pool = self.transfers.buffers if self.transfers is not None else None
        if pool is None:
            buffers, in_use, saved, empty = self.settings.buffers, 0, 0, self.settings.buffers
            figures = BufferFigures()
        else:
            buffers, in_use, saved, empty = pool.usage()
            figures = pool.figures(resets)
        return StructureUsage(
            self.structure, messages, total, data, used, block_bytes, buffers, in_use, saved, empty, figures
        )
