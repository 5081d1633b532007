"""Who may do what, as the engine asks it: a port, so that the engine knows neither users nor rules.

The server gives the real one. Without one everybody may do everything, as in a queue manager that a program embeds.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

from mypy_extensions import mypyc_attr

from ostler.model.definitions import Definition


@mypyc_attr(allow_interpreted_subclasses=True)
class Guard(metaclass=ABCMeta):
    """Asked at connect, open, subscribe, publish and command; told of every definition that comes, changes or goes."""

    @abstractmethod
    def authorities(self, user: str, object_type: int, name: str) -> int:
        """What a user may do to an object: bits of `ostler.model.authorities`. `object_type` is an MQOT number."""

    @abstractmethod
    def is_administrator(self, user: str) -> bool:
        """Whether a user may do everything because of who it is."""

    @abstractmethod
    def on_defined(self, definition: Definition) -> None:
        """An object was made or changed."""

    @abstractmethod
    def on_deleted(self, definition: Definition) -> None:
        """An object is gone."""
