"""The scripts: Lua files in `data`, each behind the libraries that its first line names, with our constants filled in.

A script is run whole by the server, one after another. It has no roll-back, so each checks everything first and then
changes. Keys begin with `ostler:{FACILITY}:`, all in one slot:

    f            the facility: identity, format, run of the server, fences, numbers of wakings, changes of the group
    a            fences of active members           mm          numbers of all members
    m:N          a member                           u:N r:N     its units, its refused puts
    us o:UNIT    all units in order, operations     l lz        locks, their names in order
    ss s:NAME    structures in order, one of them   x           members that must confirm their counts
    ev:N:FENCE   the channel of a link's events

    s:NAME:e     entries by identifier              :h q:QUEUE  queues in order, one of them
          :c:QUEUE u: g:  committed, uncommitted, got: key, entry (and unit), in their order
          :i:QUEUE w:     indexes by identifier, watches for one
          :m n:N f:N k    members, what one watches and has open, references that it may free, browse locks
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Final

from ostler.coupling.facility_state import MEMBERS_KNOWN_MAX
from ostler.coupling.put_get import VISITED_MAX
from ostler.coupling.structure import FREED_KEPT_MAX
from ostler.model.coupling import events, terms
from ostler.model.coupling.programs import PROGRAM_NAMES

FORMAT: Final = 1
"""Of the keys and records. Another one is refused."""
BEAT_MS: Final = 250
"""A member says so often that it lives."""
GONE_MS: Final = 750
"""One whose events nobody reads is given up when it has been silent so long."""
LEASE_MS: Final = 5_000
"""Any other that has been silent so long is given up."""
CONFIRM_MS: Final = 10_000
"""After a restart of the server, members have so long to come back and confirm their counts."""
STALE_WAKE_MS: Final = 1_000
"""Who was told that a queue has something, and has not looked so long, does not hold up the others."""
BAD: Final = "bad"
BEAT: Final = "beat"
FENCE: Final = "fence"
WAKE: Final = "wake"

_CONSTANT: Final = re.compile(r"\$([A-Z_]+)")
_USES: Final = "-- uses: "
_OWN: Final = {
    "BEAT_MS": BEAT_MS,
    "CONFIRM_MS": CONFIRM_MS,
    "FORMAT": FORMAT,
    "FREED_KEPT_MAX": FREED_KEPT_MAX,
    "GONE_MS": GONE_MS,
    "LEASE_MS": LEASE_MS,
    "MEMBERS_KNOWN_MAX": MEMBERS_KNOWN_MAX,
    "STALE_WAKE_MS": STALE_WAKE_MS,
    "VISITED_MAX": VISITED_MAX,
}


class Script:
    """One script with the digest by which the server knows it."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.digest = sha1(text.encode(), usedforsecurity=False).hexdigest()


@cache
def scripts() -> dict[str, Script]:
    """Return all scripts by name: those of programs, in small letters, and BAD, BEAT, FENCE, WAKE."""
    names = [name.lower() for name in PROGRAM_NAMES if name] + [BAD, BEAT, FENCE, WAKE]
    return {name: Script(name, _compose(name)) for name in names}


def _compose(name: str) -> str:
    body = _read(name)
    uses = body.splitlines()[0].removeprefix(_USES).split()
    text = "".join(_read(f"lib_{library}") for library in uses) + body
    return _CONSTANT.sub(_value_of, text)


def _read(name: str) -> str:
    return files("ostler.server.coupling.redis").joinpath("data", f"{name}.lua").read_text()


def _value_of(match: re.Match[str]) -> str:
    name = match.group(1)
    if name in _OWN:
        return str(_OWN[name])
    for module in (terms, events):
        value = getattr(module, name, None)
        if isinstance(value, int):
            return str(value)
    raise KeyError(name)
