"""The context of a command: the queue manager it acts on and the user who gives it.

It is a port, so that commands need neither sockets nor threads nor a clock. The server implements it; tests implement
one over a queue manager without sockets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from ostler.command.admin.group_scope import GroupCommands
from ostler.command.admin.sharing_control import SharingControl
from ostler.command.status.channel_status import ChannelStatus as ChannelStatus
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.authorities import words_of
from ostler.model.pcf import Parameter
from ostler.model.replication import GroupStatus

if TYPE_CHECKING:
    from ostler.command.group.catalogue import GroupCatalogue

Answer = TypeVar("Answer")

# Messages that report that the wanted state is reached already.
LISTENER_ACTIVE: Final = "AMQ8730W"
LISTENER_NOT_ACTIVE: Final = "AMQ8731W"
CHANNEL_ACTIVE: Final = "AMQ9514E"
CHANNEL_NOT_ACTIVE: Final = "AMQ9533W"
SERVICE_ACTIVE: Final = "AMQ8737W"
SERVICE_NOT_ACTIVE: Final = "AMQ8738W"
NOT_AUTHORIZED: Final = "AMQ8135E"


class CommandRefused(Exception):
    """A valid command is rejected.

    `number` is the AMQ message, such as "AMQ8730W"; `text` is its sentence, which names what to do next.
    """

    def __init__(self, number: str, text: str) -> None:
        self.number = number
        self.text = text
        super().__init__(number, text)

    def __str__(self) -> str:
        return f"{self.number}: {self.text}"


@dataclass(frozen=True)
class ListenerStatus:
    """A listener that runs or starts, with its actual address. Times are milliseconds since 1970."""

    name: str
    port: int = 0
    address: str = ""
    backlog: int = 0
    process_id: int = 0
    started_ms: int = 0
    status: str = "RUNNING"  # a value of STATUS in LSSTATUS
    transport: str = "TCP"


@dataclass(frozen=True)
class ServiceStatus:
    """A service that runs. Times are milliseconds since 1970."""

    name: str
    process_id: int = 0
    started_ms: int = 0
    status: str = "RUNNING"  # a value of STATUS in SVSTATUS


@dataclass(frozen=True)
class ManagerStatus:
    """The queue manager as a process. Times are milliseconds since 1970, sizes megabytes, uses percent.

    Fields that are None are unknown and not shown.
    """

    started_ms: int = 0
    status: str = "RUNNING"  # a value of STATUS in QMSTATUS
    channel_initiator: str = "RUNNING"
    command_server: str = "STOPPED"
    host_name: str = ""
    installation_name: str = ""
    installation_path: str = ""
    installation_description: str = ""
    data_path: str = ""
    data_file_system_size: int | None = None
    data_file_system_use: int | None = None
    # Of the queue manager's own file system (crtmqm -fs), if it has one.
    file_system_size: int | None = None
    file_system_use: int | None = None
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
    longest_pass_microseconds: int | None = None
    log_file_system_size: int | None = None
    log_file_system_use: int | None = None
    log_write_bytes: int | None = None  # of one write, recent average
    log_write_microseconds: int | None = None  # until it is on disk, recent average
    checkpoints: int | None = None  # since the start


@dataclass(frozen=True)
class ApplicationStatus:
    """Facts about the application of a connection that the server knows and the engine does not."""

    process_id: int = 0
    thread_id: int = 0
    description: str = ""
    channel: str = ""  # empty for local bindings
    connection_name: str = ""


class CommandContext(ABC):
    """The queue manager that commands act on, and the user who gives them.

    All methods may raise MQError or CommandRefused; either becomes an AMQ message, and the script continues.
    """

    @abstractmethod
    def query(self, read: Callable[[Engine], Answer]) -> Answer:
        """Returns the answer of a function that reads the engine, called under its lock. It must not block."""

    @abstractmethod
    def change(self, change: Callable[[Engine], int]) -> None:
        """Changes objects with the engine's lock held and `now_ms` set; the change is durable on return.

        `change` returns the LSN of its record, 0 for none. It is called again if the log was full and space was made.
        Applications that it wakes are notified.
        """

    @property
    def group(self) -> GroupCatalogue | None:
        """Returns the definitions of the queue-sharing group; None when the queue manager is in none."""
        return None

    def pause(self) -> None:
        """Gives others a turn, while a command waits for a task of the engine."""
        return

    def as_pipelined(self) -> CommandContext:
        """Returns a context whose changes are durable only when `wait_durable` has returned.

        It belongs to one script, whose changes then share forced writes.
        """
        return self

    def wait_durable(self) -> None:
        """Returns when all changes made through this context are durable; at once unless it is pipelined."""
        return

    def group_commands(self) -> GroupCommands | None:
        """Returns the other members of the queue-sharing group, for CMDSCOPE; None: there is no group."""
        return None

    @property
    def is_from_member(self) -> bool:
        """Returns whether another member has sent the command here: its CMDSCOPE has been followed."""
        return False

    @abstractmethod
    def start_listener(self, name: str) -> None:
        """Starts a listener that is defined and not running."""

    @abstractmethod
    def stop_listener(self, name: str) -> None:
        """Stops a running listener; accepted connections continue."""

    @abstractmethod
    def start_channel(self, name: str, disposition: str = "") -> None:
        """Starts a defined channel, or enables one that was stopped.

        `disposition`, here and below, is CHLDISP: PRIVATE, SHARED or FIXSHARED; empty: as it runs, or DEFCDISP.
        """

    @abstractmethod
    def stop_channel(
        self,
        name: str,
        mode: str = "QUIESCE",
        status: str = "STOPPED",
        connection_name: str = "",
        queue_manager: str = "",
        disposition: str = "",
    ) -> None:
        """Stops the running instances of a channel, or those with one address or one partner queue manager.

        `mode` is QUIESCE, FORCE or TERMINATE. With `status` STOPPED new instances are rejected until START CHANNEL.
        """

    def ping_channel(self, name: str, data_bytes: int) -> None:
        """Sends data to the partner of a channel and returns when it has come back (PING CHANNEL)."""
        raise _no_channels()

    def reset_channel(self, name: str, sequence_number: int, disposition: str = "") -> None:
        """Sets the sequence number of the next message of a channel; a sending end also resets its partner's."""
        raise _no_channels()

    def resolve_channel(self, name: str, action: str, luwid: bytes = b"", disposition: str = "") -> str:
        """Resolves in-doubt batches without the partner: `action` is COMMIT or BACKOUT.

        COMMIT with a `luwid` commits up to that batch and backs out later ones. Returns a warning, or an empty text.
        """
        raise _no_channels()

    def start_channel_initiator(self, queue: str) -> None:
        """Starts the channel initiator on an initiation queue; an empty name is SYSTEM.CHANNEL.INITQ."""
        raise _no_channels()

    def stop_channel_initiator(self) -> None:
        """Stops the channel initiator."""
        raise _no_channels()

    @abstractmethod
    def refresh_tls(self) -> None:
        """Reloads keys and certificates; existing connections keep theirs."""

    @abstractmethod
    def listener_status(self) -> list[ListenerStatus]:
        """Returns the running listeners."""

    @abstractmethod
    def channel_status(self) -> list[ChannelStatus]:
        """Returns the running channel instances, the stopped channels, and the saved status of channels."""

    @abstractmethod
    def manager_status(self) -> ManagerStatus:
        """Returns the status of the queue manager as a process."""

    def replication_status(self) -> GroupStatus | None:
        """Returns the copies of the queue manager; None when it has none."""
        return None

    def sharing(self) -> SharingControl | None:
        """Returns the part in a queue-sharing group; None when the queue manager is in none."""
        return None

    def log_extent_of(self, lsn: int) -> str:
        """Returns the name of the extent of a linear log that holds an LSN; empty for a circular log."""
        return ""

    def application_status(self) -> dict[int, ApplicationStatus]:
        """Returns the applications by connection number. A connection without an entry is local."""
        return {}

    # -- the user ------------------------------------------------------------------------------------------------------

    @property
    def user(self) -> str:
        """Returns the user who gives the commands."""
        return ""

    def is_authorized(self, object_type: int, name: str, authorities: int) -> bool:
        """Returns whether the user has authorities (bits of `ostler.model.authorities`) on an object (MQOT number)."""
        return True

    def authorize(self, object_type: int, name: str, authorities: int) -> None:
        """Raises CommandRefused if the user lacks authorities on an object."""
        if not self.is_authorized(object_type, name, authorities):
            what = "this queue manager" if object_type == mq.MQOT_Q_MGR else name
            raise CommandRefused(
                NOT_AUTHORIZED,
                f"User {self.user} is not authorized: {','.join(words_of(authorities))} on {what} is needed.",
            )

    # -- events --------------------------------------------------------------------------------------------------------

    @property
    def wants_command_events(self) -> bool:
        """Returns whether command events are enabled (CMDEV)."""
        return False

    def write_command_event(
        self, command: int, is_display: bool, text: str, parameters: tuple[Parameter, ...] = ()
    ) -> None:
        """Writes the command event of a successful command. `command` is an MQCMD number.

        `text` is the text of an MQSC command, `parameters` are those of a PCF command.
        """
        return

    def write_not_authorized_event(self, command: int) -> None:
        """Writes the Not Authorized (type 4) event of a refused command (AUTHOREV)."""
        return

    def note(self, text: str) -> None:
        """Writes a line to the error log."""
        return

    # -- security ------------------------------------------------------------------------------------------------------

    def refresh_security(self, what: str) -> None:
        """Clears the caches of users, groups and passwords (REFRESH SECURITY). `what` is AUTHSERV or CONNAUTH."""
        return

    def groups_of(self, user: str) -> tuple[str, ...]:
        """Returns the groups of a user, from the password file or the operating system."""
        return ()

    def is_administrator(self, user: str) -> bool:
        """Returns whether a user has all authorities without any record."""
        return False

    def entity_exists(self, name: str, is_group: bool) -> bool:
        """Returns whether a user or group exists in the password file or the operating system."""
        return True

    # -- services and the command server -------------------------------------------------------------------------------

    def start_service(self, name: str) -> None:
        """Runs the start command of a defined service."""
        raise _no_services()

    def stop_service(self, name: str) -> None:
        """Stops a defined service."""
        raise _no_services()

    def service_status(self) -> list[ServiceStatus]:
        """Returns the running services."""
        return []

    def start_command_server(self) -> None:
        """Starts the command server, which reads SYSTEM.ADMIN.COMMAND.QUEUE."""
        raise _no_services()

    def stop_command_server(self) -> None:
        """Stops the command server."""
        raise _no_services()

    # -- other actions -------------------------------------------------------------------------------------------------

    def stop_connection(self, number: int) -> bool:
        """Breaks a connection by its number in the engine; returns False if it has ended already.

        Its unit of work is backed out, and its application gets MQRC_CONNECTION_BROKEN.
        """
        raise _no_services()

    def write_statistics(self) -> None:
        """Writes the statistics messages of the interval now, and begins a new interval."""
        raise _no_services()

    def advance_log(self) -> str:
        """Continues a linear log in a new extent; returns the name of the one that was written until now."""
        raise CommandRefused("AMQ8101E", "Extents of this log cannot be ended before they are full.")

    def archive_log(self, extent: str) -> None:
        """Marks all extents of the log up to this one as archived, so that they can be reused."""
        raise CommandRefused("AMQ8101E", "The log is not managed by archiving.")

    def reduce_log(self, extents: int) -> None:
        """Deletes up to this many unneeded extents of a linear log; 0 for all."""
        raise CommandRefused("AMQ8101E", "This log keeps its extents.")

    def refresh_configuration(self, kinds: Sequence[ObjectType], pattern: str, minutes: int) -> None:
        """Writes configuration events for existing objects (REFRESH QMGR TYPE(CONFIGEV)).

        `pattern` is a generic name. With `minutes`, only for objects that changed within so many minutes.
        """
        raise CommandRefused("AMQ8101E", "This queue manager runs inside a program and writes no configuration events.")

    def expire_messages(self) -> None:
        """Scans all queues for expired messages now."""
        raise _no_services()


def _no_channels() -> CommandRefused:
    return CommandRefused("AMQ8101E", "This queue manager runs inside a program and runs no channels.")


def _no_services() -> CommandRefused:
    return CommandRefused("AMQ8729E", "This queue manager runs inside a program and starts no programs of its own.")
