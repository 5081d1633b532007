"""Fields of a table in a data file: read one by one, each checked; a field that is left over is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeVar

E = TypeVar("E", bound=StrEnum)


class CatalogueError(Exception):
    """A data file is wrong. The message names the file, the location, and the allowed values."""


class Fields:
    """The fields of one table. `where` starts every message: the file and the entry."""

    def __init__(self, table: object, where: str) -> None:
        if not isinstance(table, Mapping):
            raise CatalogueError(f"{where}: a table is wanted, not {table!r}.")
        self._left = dict(table)
        self.where = where

    def wrong(self, key: str, why: str) -> CatalogueError:
        return CatalogueError(f"{self.where}: {key}: {why}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self._take(key, default)
        if not isinstance(value, str) or (default is None and not value.strip()):
            raise self.wrong(key, f"a text is wanted, not {value!r}.")
        return " ".join(value.split())

    def whole(self, key: str, default: int | None = None) -> int:
        value = self._take(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.wrong(key, f"a whole number is wanted, not {value!r}.")
        return value

    def flag(self, key: str) -> bool:
        """Return true or false; false where it is not given."""
        value = self._take(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{value!r} is neither true nor false.")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._take(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise self.wrong(key, f"a number is wanted, not {value!r}.")
        return float(value)

    def word(self, key: str, allowed: type[E]) -> E:
        return self._as_word(key, self.text(key), allowed)

    def words(self, key: str, allowed: type[E]) -> tuple[E, ...]:
        return tuple(self._as_word(key, each, allowed) for each in self.texts(key))

    def texts(self, key: str) -> tuple[str, ...]:
        return self._distinct(key, lambda each: isinstance(each, str) and bool(each.strip()), "texts")

    def wholes(self, key: str) -> tuple[int, ...]:
        return self._distinct(key, lambda each: type(each) is int and each > 0, "whole numbers above 0")

    def points(self, key: str, is_needed: bool = False) -> tuple[int | str, ...]:
        found: tuple[int | str, ...] = self._distinct(key, lambda each: type(each) in (int, str), "numbers or texts")
        if is_needed and not found:
            raise self.wrong(key, "at least one point is wanted.")
        return found

    def table(self, key: str) -> Fields | None:
        value = self._left.pop(key, None)
        return None if value is None else Fields(value, f"{self.where}: {key}")

    def tables(self, key: str) -> Iterator[Fields]:
        value = self._left.pop(key, [])
        if not isinstance(value, list):
            raise self.wrong(key, f"a list of tables is wanted, not {value!r}.")
        for number, each in enumerate(value, 1):
            yield Fields(each, f"{self.where}: {key} {number}")

    def items(self) -> dict[str, object]:
        """Return and remove all fields that are left."""
        left, self._left = self._left, {}
        return left

    def end(self) -> None:
        """Check that no field is left over: a misspelt field would otherwise be ignored silently."""
        if self._left:
            raise CatalogueError(f"{self.where}: what is {', '.join(sorted(self._left))}?")

    def _take(self, key: str, default: object) -> object:
        if key not in self._left and default is None:
            raise self.wrong(key, "it is not given.")
        return self._left.pop(key, default)

    def _as_word(self, key: str, given: str, allowed: type[E]) -> E:
        try:
            return allowed(given)
        except ValueError:
            raise self.wrong(key, f"{given!r} is none of {', '.join(allowed)}.") from None

    def _distinct(self, key: str, is_right: Callable[[Any], bool], kind: str) -> tuple[Any, ...]:
        value = self._left.pop(key, [])
        if not isinstance(value, list) or not all(is_right(each) for each in value):
            raise self.wrong(key, f"a list of {kind} is wanted, not {value!r}.")
        if len(set(value)) != len(value):
            raise self.wrong(key, "something is there twice.")
        return tuple(value)
