"""Authorities as bits of one number.

The bit of an authority is 1 shifted by its MQAUTH number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ostler.model.constants import (
    MQAUTH_ALT_USER_AUTHORITY,
    MQAUTH_BROWSE,
    MQAUTH_CHANGE,
    MQAUTH_CLEAR,
    MQAUTH_CONNECT,
    MQAUTH_CONTROL,
    MQAUTH_CONTROL_EXTENDED,
    MQAUTH_CREATE,
    MQAUTH_DELETE,
    MQAUTH_DISPLAY,
    MQAUTH_INPUT,
    MQAUTH_INQUIRE,
    MQAUTH_OUTPUT,
    MQAUTH_PASS_ALL_CONTEXT,
    MQAUTH_PASS_IDENTITY_CONTEXT,
    MQAUTH_PUBLISH,
    MQAUTH_RESUME,
    MQAUTH_SET,
    MQAUTH_SET_ALL_CONTEXT,
    MQAUTH_SET_IDENTITY_CONTEXT,
    MQAUTH_SUBSCRIBE,
    MQAUTH_SYSTEM,
)

# The words of AUTHLIST and of setmqaut, in the order in which they are shown.
AUTHORITY_NUMBERS: Final[dict[str, int]] = {
    "ALTUSR": MQAUTH_ALT_USER_AUTHORITY,
    "BROWSE": MQAUTH_BROWSE,
    "CHG": MQAUTH_CHANGE,
    "CLR": MQAUTH_CLEAR,
    "CONNECT": MQAUTH_CONNECT,
    "CRT": MQAUTH_CREATE,
    "DLT": MQAUTH_DELETE,
    "DSP": MQAUTH_DISPLAY,
    "GET": MQAUTH_INPUT,
    "INQ": MQAUTH_INQUIRE,
    "PUT": MQAUTH_OUTPUT,
    "PASSALL": MQAUTH_PASS_ALL_CONTEXT,
    "PASSID": MQAUTH_PASS_IDENTITY_CONTEXT,
    "SET": MQAUTH_SET,
    "SETALL": MQAUTH_SET_ALL_CONTEXT,
    "SETID": MQAUTH_SET_IDENTITY_CONTEXT,
    "CTRL": MQAUTH_CONTROL,
    "CTRLX": MQAUTH_CONTROL_EXTENDED,
    "PUB": MQAUTH_PUBLISH,
    "SUB": MQAUTH_SUBSCRIBE,
    "RESUME": MQAUTH_RESUME,
    "SYSTEM": MQAUTH_SYSTEM,
}

ALTUSR: Final = 1 << MQAUTH_ALT_USER_AUTHORITY
BROWSE: Final = 1 << MQAUTH_BROWSE
CHG: Final = 1 << MQAUTH_CHANGE
CLR: Final = 1 << MQAUTH_CLEAR
CONNECT: Final = 1 << MQAUTH_CONNECT
CRT: Final = 1 << MQAUTH_CREATE
CTRL: Final = 1 << MQAUTH_CONTROL
CTRLX: Final = 1 << MQAUTH_CONTROL_EXTENDED
DLT: Final = 1 << MQAUTH_DELETE
DSP: Final = 1 << MQAUTH_DISPLAY
GET: Final = 1 << MQAUTH_INPUT
INQ: Final = 1 << MQAUTH_INQUIRE
PASSALL: Final = 1 << MQAUTH_PASS_ALL_CONTEXT
PASSID: Final = 1 << MQAUTH_PASS_IDENTITY_CONTEXT
PUB: Final = 1 << MQAUTH_PUBLISH
PUT: Final = 1 << MQAUTH_OUTPUT
RESUME: Final = 1 << MQAUTH_RESUME
SET: Final = 1 << MQAUTH_SET
SETALL: Final = 1 << MQAUTH_SET_ALL_CONTEXT
SETID: Final = 1 << MQAUTH_SET_IDENTITY_CONTEXT
SUB: Final = 1 << MQAUTH_SUBSCRIBE
SYSTEM: Final = 1 << MQAUTH_SYSTEM

# All authorities on a queue.
QUEUE_AUTHORITIES: Final = BROWSE | CHG | CLR | DLT | DSP | GET | INQ | PASSALL | PASSID | PUT | SET | SETALL | SETID
EVERYTHING: Final = sum(1 << number for number in AUTHORITY_NUMBERS.values())


def mask_of(words: Iterable[str]) -> int:
    """Return the bits for words of AUTHLIST. NONE has no bit. Raises KeyError for an unknown word."""
    mask = 0
    for word in words:
        if word != "NONE":
            mask |= 1 << AUTHORITY_NUMBERS[word]
    return mask


def words_of(mask: int) -> tuple[str, ...]:
    """Return the words for the bits of a mask, in display order."""
    return tuple(word for word, number in AUTHORITY_NUMBERS.items() if mask & (1 << number))
