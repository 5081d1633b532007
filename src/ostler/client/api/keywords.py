"""Checks of keywords: unknown ones are refused, with a suggestion of the nearest known one."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from enum import Enum
from typing import Final, Literal


class _NotGiven(Enum):
    NOT_GIVEN = "not given"

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NotGiven = Literal[_NotGiven.NOT_GIVEN]
NOT_GIVEN: Final = _NotGiven.NOT_GIVEN
"""For a keyword whose values include None."""


def unknown_keyword(given: Collection[str], known: Collection[str]) -> TypeError | None:
    """Return the TypeError for the first unknown keyword, or None."""
    for keyword in given:
        if keyword not in known:
            near = get_close_matches(keyword, known, 1)
            advice = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted(known))}"
            return TypeError(f"unknown keyword {keyword}{advice}")
    return None


def check_keywords(given: Collection[str], known: Collection[str]) -> None:
    """Raise TypeError when a keyword is not known."""
    error = unknown_keyword(given, known)
    if error is not None:
        raise error


def wait_or_timeout(wait: float | NotGiven | None, timeout: float | NotGiven | None) -> float | None:
    """Return the seconds to wait, given under either name."""
    if wait is NOT_GIVEN:
        if timeout is NOT_GIVEN:
            raise TypeError("give wait, the seconds to wait for the reply; None waits for ever")
        return timeout
    if timeout is not NOT_GIVEN:
        raise TypeError("timeout is another name of wait; give one of them")
    return wait
