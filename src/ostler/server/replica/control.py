"""The port ReplicationControl: what a running instance does for commands about its copies.

A queue manager without copies has `NoReplication`. An instance of a group has the implementation of its agent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.replication import (
    ChangeRole,
    GroupStatus,
    Prefer,
    Resolve,
    Resume,
    Suspend,
    SwitchOver,
)


class ReplicationControl(ABC):
    """A running instance, as commands see it.

    Methods are called on threads of commands, never on the reactor's, and may wait. A request that is refused raises
    MQError, whose text says why and what to do, and has changed nothing. Otherwise a method returns a sentence for the
    person who asked, with its AMQ number.
    """

    @abstractmethod
    def status(self) -> GroupStatus:
        """Return the instance and its group as they are known here. Never waits for another machine.

        Raises MQError with MQRCCF_NHA_NOT_AVAILABLE for a queue manager that has no copies.
        """

    @abstractmethod
    def switch_over(self, request: SwitchOver) -> str:
        """Arrange that an in-sync replica leads as soon as this queue manager has ended. The caller ends it next."""

    @abstractmethod
    def suspend(self, request: Suspend) -> str:
        """Keep an instance from leading; a leader hands over and follows. It stays so over restarts."""

    @abstractmethod
    def resume(self, request: Resume) -> str:
        """Let an instance lead again, when it is needed or preferred."""

    @abstractmethod
    def prefer(self, request: Prefer) -> str:
        """Set or clear the preferred instance. It takes over when it is in sync."""

    @abstractmethod
    def resolve(self, request: Resolve) -> str:
        """Resolve a partition in favour of this instance."""

    @abstractmethod
    def change_role(self, request: ChangeRole) -> str:
        """Make this group live, or a recovery group."""


class RefusingControl(ReplicationControl):
    """A control that changes nothing: each command is answered with one refusal."""

    @abstractmethod
    def _refused(self) -> MQError:
        """Return the refusal."""

    def switch_over(self, request: SwitchOver) -> str:
        raise self._refused()

    def suspend(self, request: Suspend) -> str:
        raise self._refused()

    def resume(self, request: Resume) -> str:
        raise self._refused()

    def prefer(self, request: Prefer) -> str:
        raise self._refused()

    def resolve(self, request: Resolve) -> str:
        raise self._refused()

    def change_role(self, request: ChangeRole) -> str:
        raise self._refused()


class NoReplication(RefusingControl):
    """The control of a queue manager without copies: there is nothing to ask for."""

    def __init__(self, queue_manager: str) -> None:
        self._queue_manager = queue_manager

    def _refused(self) -> MQError:
        return MQError(
            mq.MQRCCF_NHA_NOT_AVAILABLE,
            f"Queue manager {self._queue_manager} has no other instances: it is not replicated.",
        )

    def status(self) -> GroupStatus:
        raise self._refused()
