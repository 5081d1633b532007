"""Generic profiles of authority records, by the rules of MQ's object authority manager (OAM).

A name consists of qualifiers separated by periods. In a profile `?` matches one character of a qualifier, `*` any
characters of one qualifier, and `**`, which is a qualifier by itself and occurs at most once, any number of
qualifiers, also none. No wildcard but `**` matches a period.

If several profiles match a name, the most specific one decides: compared from left to right, where they differ a
literal character is more specific than a wildcard, `?` than `*`, and `*` than `**`.
"""

from __future__ import annotations

from typing import Final, final

from ostler.model import constants as mq
from ostler.model.errors import MQError

PROFILE_LENGTH_MAX: Final = 48
ANY_QUALIFIERS: Final = "**"
# Special profiles: all objects of a type as such, and the queue manager.
CLASS_PROFILE: Final = "@class"
MANAGER_PROFILE: Final = "self"

_NAME_CHARACTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./_%")
# Ranks of the elements of a profile, the most specific first. MQ does not define the order where one profile ends and
# the other continues; here the one that requires less loses: `A*` against `A*?`, `A?*` against `A?`, `*.A.**` against
# `*.A`.
_PLAIN: Final = 0
_ONE: Final = 1
_END: Final = 2
_PERIOD_BEFORE_ANY: Final = 3
_SOME: Final = 4
_ANY: Final = 5


def is_generic(profile: str) -> bool:
    """Return whether a profile has wildcards."""
    return "*" in profile or "?" in profile


def check_profile(profile: str) -> None:
    """Raise MQError if a profile is invalid."""
    if profile == CLASS_PROFILE:
        return
    if not profile or len(profile) > PROFILE_LENGTH_MAX:
        raise _profile_error(profile, f"a profile has 1 to {PROFILE_LENGTH_MAX} characters")
    for character in profile:
        if character not in _NAME_CHARACTERS and character not in "*?":
            raise _profile_error(profile, f"{character!r} cannot be in the name of an object")
    if ANY_QUALIFIERS not in profile:
        return
    qualifiers = profile.split(".")
    if qualifiers.count(ANY_QUALIFIERS) > 1:
        raise _profile_error(profile, "** can occur only once")
    for qualifier in qualifiers:
        if ANY_QUALIFIERS in qualifier and qualifier != ANY_QUALIFIERS:
            raise _profile_error(profile, "** must be a qualifier by itself")


def _profile_error(profile: str, why: str) -> MQError:
    return MQError(mq.MQRCCF_PROFILE_NAME_ERROR, f"{profile[:64]!r} is not a profile: {why}.")


@final
class ProfilePattern:
    """A generic profile, parsed once for many names."""

    def __init__(self, profile: str) -> None:
        self._wanted: list[str] = profile.split(".")
        self._count: int = len(self._wanted)
        # Number of qualifiers before `**`; all if there is none.
        self._before: int = self._wanted.index(ANY_QUALIFIERS) if ANY_QUALIFIERS in self._wanted else self._count

    def matches(self, given: list[str]) -> bool:
        """Return whether the profile matches the object with these qualifiers."""
        wanted = self._wanted
        before = self._before
        # Qualifiers behind `**` are matched from the end.
        behind = self._count - before - 1
        if behind < 0:
            if len(given) != before:
                return False
        elif len(given) < before + behind:
            return False
        for at in range(before):
            if not _qualifier_matches(wanted[at], given[at]):
                return False
        for at in range(behind):
            if not _qualifier_matches(wanted[before + 1 + at], given[len(given) - behind + at]):
                return False
        return True


def matches(profile: str, name: str) -> bool:
    """Return whether a profile matches an object name."""
    if not is_generic(profile):
        return profile == name
    return ProfilePattern(profile).matches(name.split("."))


def _qualifier_matches(pattern: str, text: str) -> bool:
    """Match one qualifier with `?` and `*`. It backtracks to the last `*` only: the cost is a product at most."""
    if pattern == "*" or pattern == text:
        return True
    if pattern == "" or text == "":
        return text == "" and pattern.strip("*") == ""
    # Most profiles do not match, and comparing the ends shows it.
    first, last = pattern[0], pattern[-1]
    if (first not in "*?" and first != text[0]) or (last not in "*?" and last != text[-1]):
        return False
    in_pattern = 0
    in_text = 0
    last_star = -1
    retry_at = 0
    while in_text < len(text):
        wanted = pattern[in_pattern] if in_pattern < len(pattern) else ""
        if wanted == "*":
            last_star = in_pattern
            retry_at = in_text
            in_pattern += 1
        elif wanted == "?" or wanted == text[in_text]:
            in_pattern += 1
            in_text += 1
        elif last_star >= 0:
            retry_at += 1
            in_pattern = last_star + 1
            in_text = retry_at
        else:
            return False
    while in_pattern < len(pattern) and pattern[in_pattern] == "*":
        in_pattern += 1
    return in_pattern == len(pattern)


def specificity(profile: str) -> bytes:
    """Return a sort key: of the profiles that match a name, the one with the smallest key is the most specific."""
    ranks = bytearray()
    at = 0
    while at < len(profile):
        if profile.startswith(".**", at):
            ranks.append(_PERIOD_BEFORE_ANY)
            at += 1
        elif profile.startswith(ANY_QUALIFIERS, at):
            ranks.append(_ANY)
            at += 2
        else:
            character = profile[at]
            ranks.append(_SOME if character == "*" else _ONE if character == "?" else _PLAIN)
            at += 1
    ranks.append(_END)
    # Profiles of equal rank still need an order, so that the same one always wins.
    return bytes(ranks) + profile.encode("utf-8")


def first_qualifier(profile: str) -> str:
    """Return the first qualifier of all names that a profile matches; empty if it is not fixed."""
    end = profile.find(".")
    qualifier = profile if end < 0 else profile[:end]
    return "" if is_generic(qualifier) else qualifier
