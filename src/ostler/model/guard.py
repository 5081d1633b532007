"""The authority guard as a port, so that the engine knows neither users nor rules.

The server provides the implementation. Without one there are no authority checks, as in an embedded queue manager.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from mypy_extensions import mypyc_attr

from ostler.model.definitions import Definition


@mypyc_attr(allow_interpreted_subclasses=True)
class Guard(metaclass=ABCMeta):
    """Called at connect, open, subscribe, publish and command, and on every change of a definition."""

    @abstractmethod
    def authorities(self, user: str, object_type: int, name: str) -> int:
        """Return a user's authorities on an object, as bits of `model.authorities`. `object_type` is an MQOT number."""

    @abstractmethod
    def is_administrator(self, user: str) -> bool:
        """Return True for a user who has all authorities."""

    @abstractmethod
    def on_defined(self, definition: Definition) -> None:
        """Called when an object was defined or altered."""

    @abstractmethod
    def on_deleted(self, definition: Definition) -> None:
        """Called when an object was deleted."""
