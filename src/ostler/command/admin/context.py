"""What commands act on: a port, so that MQSC needs neither sockets nor threads nor a clock.

The server gives the real one; tests give one over a queue manager without sockets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from ostler.command.status.channel_status import ChannelStatus as ChannelStatus
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType
from ostler.model.authorities import words_of
from ostler.model.constants import MQOT_Q_MGR
from ostler.model.pcf import Parameter

Answer = TypeVar("Answer")

# The refusals that say that what was asked for is so already.
LISTENER_ACTIVE: Final = "AMQ8730W"
LISTENER_NOT_ACTIVE: Final = "AMQ8731W"
CHANNEL_ACTIVE: Final = "AMQ9514E"
CHANNEL_NOT_ACTIVE: Final = "AMQ9533W"
SERVICE_ACTIVE: Final = "AMQ8737W"
SERVICE_NOT_ACTIVE: Final = "AMQ8738W"
NOT_AUTHORIZED: Final = "AMQ8135E"


class CommandRefused(Exception):
    """The command was understood and cannot be done now.

    `number` is the AMQ message that says so, such as "AMQ8730W"; `text` is the sentence, which names what to do next.
    """

    def __init__(self, number: str, text: str) -> None:
        self.number = number
        self.text = text
        super().__init__(number, text)

    def __str__(self) -> str:
        return f"{self.number}: {self.text}"


@dataclass(frozen=True)
class ListenerStatus:
    """A listener that runs or is about to, and where it really listens. Times are milliseconds since 1970."""

    name: str
    port: int = 0
    address: str = ""
    backlog: int = 0
    process_id: int = 0
    started_ms: int = 0
    status: str = "RUNNING"  # a word of STATUS in LSSTATUS
    transport: str = "TCP"


@dataclass(frozen=True)
class ServiceStatus:
    """A service that runs. Times are milliseconds since 1970."""

    name: str
    process_id: int = 0
    started_ms: int = 0
    status: str = "RUNNING"  # a word of STATUS in SVSTATUS


@dataclass(frozen=True)
class ManagerStatus:
    """The queue manager as a process. Times are milliseconds since 1970; sizes in megabytes, uses in percent.

    What is None is not known, and not shown.
    """

    started_ms: int = 0
    status: str = "RUNNING"  # a word of STATUS in QMSTATUS
    channel_initiator: str = "RUNNING"
    command_server: str = "STOPPED"
    host_name: str = ""
    installation_name: str = ""
    installation_path: str = ""
    installation_description: str = ""
    data_path: str = ""
    data_file_system_size: int | None = None
    data_file_system_use: int | None = None
    log_path: str = ""
    log_type: str = "CIRCULAR"
    log_extent_size: int = 0  # kilobytes
    log_primary_extents: int = 0
    log_secondary_extents: int = 0
    log_in_use: int | None = None
    log_utilization: int | None = None
    log_start_lsn: str = ""
    log_current_extent: str = ""
    log_restart_extent: str = ""
    log_media_extent: str = ""
    log_restart_size: int | None = None
    log_media_size: int | None = None
    log_reusable_size: int | None = None
    log_file_system_size: int | None = None
    log_file_system_use: int | None = None
    log_write_bytes: int | None = None  # of one write, on average lately
    log_write_microseconds: int | None = None  # until it is on disk, on average lately
    checkpoints: int | None = None  # since the start


@dataclass(frozen=True)
class ApplicationStatus:
    """What the server knows of the program behind a connection, beyond what the engine knows."""

    process_id: int = 0
    thread_id: int = 0
    description: str = ""
    channel: str = ""  # empty for local bindings
    connection_name: str = ""


class CommandContext(ABC):
    """A queue manager to give commands to.

    Everything here may raise MQError or CommandRefused; either becomes an AMQ message, and the script goes on.
    """

    @abstractmethod
    def query(self, question: Callable[[Engine], Answer]) -> Answer:
        """Ask the engine something under its lock, with `now_ms` set. The question must not wait for anything."""

    @abstractmethod
    def change(self, change: Callable[[Engine], int]) -> None:
        """Change objects under the engine's lock, with `now_ms` set; durable when this returns.

        `change` returns the LSN behind its record, 0 for none. When the log had no room for it, make room and call it
        again. Those it woke are told.
        """

    def as_pipelined(self) -> CommandContext:
        """The same queue manager for one who tells of changes only when `settle` has returned.

        Its changes need not wait for the disk one by one. It belongs to one script.
        """
        return self

    def wait_durable(self) -> None:
        """Return when all changes made through here are durable. Only a pipelined target owes any."""
        return

    @abstractmethod
    def start_listener(self, name: str) -> None:
        """Begin to listen. The listener is defined and does not listen yet."""

    @abstractmethod
    def stop_listener(self, name: str) -> None:
        """Listen no more; connections that were accepted go on. It does listen."""

    @abstractmethod
    def start_channel(self, name: str) -> None:
        """Start a channel, or let one that was stopped be used again. The channel is defined."""

    @abstractmethod
    def stop_channel(
        self,
        name: str,
        mode: str = "QUIESCE",
        status: str = "STOPPED",
        connection_name: str = "",
        queue_manager: str = "",
    ) -> None:
        """End the running instances of a channel, or those with one address or one partner queue manager.

        `mode` is QUIESCE, FORCE or TERMINATE. With `status` STOPPED new ones are refused until it is started.
        """

    def ping_channel(self, name: str, data_bytes: int) -> None:
        """Send so much data to the partner of a channel, and return when it has come back. CommandRefused else."""
        raise _no_channels()

    def reset_channel(self, name: str, sequence_number: int) -> None:
        """Let the next message of a channel have this number; a sending end tells its partner so."""
        raise _no_channels()

    def resolve_channel(self, name: str, action: str, luwid: bytes = b"") -> str:
        """Decide batches that are in doubt without asking the partner: `action` is COMMIT or BACKOUT.

        COMMIT with a `luwid` commits up to that batch, and backs out those behind it. A warning, or nothing.
        """
        raise _no_channels()

    def start_channel_initiator(self, queue: str) -> None:
        """Start channels when an initiation queue says so; an empty name is the usual queue."""
        raise _no_channels()

    def stop_channel_initiator(self) -> None:
        """Start no more channels because of an initiation queue."""
        raise _no_channels()

    @abstractmethod
    def refresh_tls(self) -> None:
        """Read keys and certificates again; connections that are there go on with what they have."""

    @abstractmethod
    def listener_status(self) -> list[ListenerStatus]:
        """The listeners that run."""

    @abstractmethod
    def channel_status(self) -> list[ChannelStatus]:
        """Every running instance of every channel, the channels that were stopped, and what is saved of channels."""

    @abstractmethod
    def manager_status(self) -> ManagerStatus:
        """The queue manager as a process."""

    def log_extent_of(self, lsn: int) -> str:
        """The name of the extent of a linear log that holds an LSN; empty when the log has no such names."""
        return ""

    def application_status(self) -> dict[int, ApplicationStatus]:
        """What is known of the programs, by the number of their connection. A connection without one is local."""
        return {}

    # -- who gives the command -----------------------------------------------------------------------------------------

    @property
    def user(self) -> str:
        """The user who gives the commands."""
        return ""

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        """Whether the user may do that to an object: an MQOT number, and bits of `ostler.model.authorities`."""
        return True

    def authorize(self, object_type: int, name: str, authorities: int) -> None:
        """Raise CommandRefused when the user may not do that to an object."""
        if not self.is_authorized(object_type, name, authorities):
            what = "this queue manager" if object_type == MQOT_Q_MGR else name
            raise CommandRefused(
                NOT_AUTHORIZED,
                f"User {self.user} is not authorized: {','.join(words_of(authorities))} on {what} is needed.",
            )

    # -- events --------------------------------------------------------------------------------------------------------

    @property
    def wants_command_events(self) -> bool:
        """Whether `tell_command` tells anybody."""
        return False

    def write_command_event(
        self, command: int, is_display: bool, text: str, parameters: tuple[Parameter, ...] = ()
    ) -> None:
        """A command was done: an event for those who want to know. `command` is an MQCMD number.

        `text` are the words of an MQSC command, `parameters` those of one in PCF.
        """
        return

    def write_not_authorized_event(self, command: int) -> None:
        """A command was refused for want of authority: an event for those who want to know."""
        return

    def note(self, text: str) -> None:
        """Write a line to the error log."""
        return

    # -- security ------------------------------------------------------------------------------------------------------

    def refresh_security(self, what: str) -> None:
        """Forget what was remembered of users, groups and passwords. `what` is AUTHSERV or CONNAUTH."""
        return

    def groups_of(self, user: str) -> tuple[str, ...]:
        """The groups of a user, wherever users are known from."""
        return ()

    def is_administrator(self, user: str) -> bool:
        """Whether a user may do everything because of who it is."""
        return False

    def entity_exists(self, name: str, is_group: bool) -> bool:
        """Whether there is such a user, or such a group, wherever users are known from."""
        return True

    # -- services and the command server -------------------------------------------------------------------------------

    def start_service(self, name: str) -> None:
        """Run the program of a service. The service is defined."""
        raise _no_services()

    def stop_service(self, name: str) -> None:
        """End a service. The service is defined."""
        raise _no_services()

    def service_status(self) -> list[ServiceStatus]:
        """The services that run."""
        return []

    def start_command_server(self) -> None:
        """Serve SYSTEM.ADMIN.COMMAND.QUEUE."""
        raise _no_services()

    def stop_command_server(self) -> None:
        """Serve it no more."""
        raise _no_services()

    # -- what else commands do -----------------------------------------------------------------------------------------

    def stop_connection(self, number: int) -> bool:
        """Break a connection, by the number it has in the engine. False when it is gone already.

        Its unit of work is backed out and its program gets MQRC_CONNECTION_BROKEN.
        """
        raise _no_services()

    def write_statistics(self) -> None:
        """Write the statistics messages of the interval now, and begin a new one."""
        raise _no_services()

    def advance_log(self) -> str:
        """Go on with a new extent of a linear log; the name of the one that was being written."""
        raise CommandRefused("AMQ8101E", "Extents of this log cannot be ended before they are full.")

    def archive_log(self, extent: str) -> None:
        """All extents of the log up to this one are archived, and need not be kept for that any more."""
        raise CommandRefused("AMQ8101E", "The log is not managed by archiving.")

    def reduce_log(self, extents: int) -> None:
        """Give up to this many extents of a linear log that nobody needs back to the disk; 0: all there are."""
        raise CommandRefused("AMQ8101E", "This log keeps its extents.")

    def refresh_configuration(self, kinds: Sequence[ObjectType], pattern: str, minutes: int) -> None:
        """Write configuration events about the objects as they are now.

        `pattern` is a generic name. With `minutes` only those changed within so many minutes are written.
        """
        raise CommandRefused("AMQ8101E", "This queue manager runs inside a program and writes no configuration events.")

    def expire_messages(self) -> None:
        """Look for expired messages on all queues now."""
        raise _no_services()


def _no_channels() -> CommandRefused:
    return CommandRefused("AMQ8101E", "This queue manager runs inside a program and runs no channels.")


def _no_services() -> CommandRefused:
    return CommandRefused("AMQ8729E", "This queue manager runs inside a program and starts no programs of its own.")
