"""The queue manager's part in a queue-sharing group, as commands on structures and data sets use it: a port.

Calls block, for a time that the implementation limits: they come on command threads, never in a turn of the engine.
They may raise MQError and RepositoryUnavailable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ostler.model.coupling.status_rows import DataSetOptions, DataSetStatus
from ostler.model.shared_repository import SharedRepository


@dataclass(frozen=True)
class DataSetConnection:
    """DISPLAY SMDSCONN: the connection of this queue manager to one data set, in MQSC's words."""

    structure: str
    owner: str
    open_mode: str
    status: str
    available: str
    expand_status: str


@dataclass(frozen=True)
class DataSetUsage:
    """DISPLAY USAGE TYPE(SMDS): this queue manager's data set for a structure, and its buffers."""

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
    reads: int
    reads_saved: int
    lowest_free: int
    requests: int
    waits: int

    @property
    def used_percent(self) -> int:
        return 100 * self.used_blocks // max(self.data_blocks, 1)

    @property
    def reads_saved_percent(self) -> int:
        """The reads that needed no transfer; 100 when there were none."""
        return 100 * self.reads_saved // self.reads if self.reads else 100

    @property
    def wait_percent(self) -> int:
        return 100 * self.waits // self.requests if self.requests else 0


class SharingControl(ABC):
    @property
    @abstractmethod
    def repository(self) -> SharedRepository:
        """Returns the shared repository of the group."""

    @abstractmethod
    def system_name(self, address: str) -> str:
        """Returns the machine of a member whose address is this; of one on this machine when it is empty."""

    @abstractmethod
    def failed_ms(self, member: int) -> int:
        """Returns when this queue manager noticed that a member failed, in milliseconds since 1970; 0: it did not."""

    @abstractmethod
    def data_set_status(self, structure: str, owner: str) -> DataSetStatus:
        """Returns the state of a data set as the repository has it now."""

    @abstractmethod
    def data_set_options(self, structure: str, owner: str) -> DataSetOptions | None:
        """Returns what ALTER SMDS has set; None: nothing."""

    @abstractmethod
    def data_set_owners(self, structure: str) -> list[str]:
        """Returns the queue managers that have, or had, a data set for a structure."""

    @abstractmethod
    def connections(self, structure: str) -> list[DataSetConnection]:
        """Returns the connections of this queue manager to data sets of a structure."""

    @abstractmethod
    def usage(self) -> list[DataSetUsage]:
        """Returns the usage of the data sets that this queue manager writes."""

    @abstractmethod
    def start_connection(self, structure: str, owner: str) -> None:
        """Lets a data set be used that was stopped, or that has failed here."""

    @abstractmethod
    def stop_connection(self, structure: str, owner: str) -> None:
        """Closes a data set, and uses it no more until it is started. Returns when it is closed."""

    @abstractmethod
    def reset_data_set(self, structure: str, owner: str, status: str, access: str) -> DataSetStatus:
        """Changes the state of a data set for all members. Raises WrongState."""

    @abstractmethod
    def follow_options(self, structure: str, owner: str) -> None:
        """Uses options of a data set that were changed (ALTER SMDS), and tells the other members of them."""

    @abstractmethod
    def circular_members(self) -> list[str]:
        """Returns the members of the group whose logs are circular, as far as their qm.ini can be read here."""

    @abstractmethod
    def note_structure_failed(self, structure: str) -> None:
        """Keeps the time of a structure's failure."""
