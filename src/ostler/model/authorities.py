"""Authorities as bits of one number.

The bit of an authority is 1 shifted by its MQAUTH number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ostler.model import constants as mq

# The words of AUTHLIST and of setmqaut, in the order in which they are shown.
AUTHORITY_NUMBERS: Final[dict[str, int]] = {
    "ALTUSR": mq.MQAUTH_ALT_USER_AUTHORITY,
    "BROWSE": mq.MQAUTH_BROWSE,
    "CHG": mq.MQAUTH_CHANGE,
    "CLR": mq.MQAUTH_CLEAR,
    "CONNECT": mq.MQAUTH_CONNECT,
    "CRT": mq.MQAUTH_CREATE,
    "DLT": mq.MQAUTH_DELETE,
    "DSP": mq.MQAUTH_DISPLAY,
    "GET": mq.MQAUTH_INPUT,
    "INQ": mq.MQAUTH_INQUIRE,
    "PUT": mq.MQAUTH_OUTPUT,
    "PASSALL": mq.MQAUTH_PASS_ALL_CONTEXT,
    "PASSID": mq.MQAUTH_PASS_IDENTITY_CONTEXT,
    "SET": mq.MQAUTH_SET,
    "SETALL": mq.MQAUTH_SET_ALL_CONTEXT,
    "SETID": mq.MQAUTH_SET_IDENTITY_CONTEXT,
    "CTRL": mq.MQAUTH_CONTROL,
    "CTRLX": mq.MQAUTH_CONTROL_EXTENDED,
    "PUB": mq.MQAUTH_PUBLISH,
    "SUB": mq.MQAUTH_SUBSCRIBE,
    "RESUME": mq.MQAUTH_RESUME,
    "SYSTEM": mq.MQAUTH_SYSTEM,
}

ALTUSR: Final = 1 << mq.MQAUTH_ALT_USER_AUTHORITY
BROWSE: Final = 1 << mq.MQAUTH_BROWSE
CHG: Final = 1 << mq.MQAUTH_CHANGE
CLR: Final = 1 << mq.MQAUTH_CLEAR
CONNECT: Final = 1 << mq.MQAUTH_CONNECT
CRT: Final = 1 << mq.MQAUTH_CREATE
CTRL: Final = 1 << mq.MQAUTH_CONTROL
CTRLX: Final = 1 << mq.MQAUTH_CONTROL_EXTENDED
DLT: Final = 1 << mq.MQAUTH_DELETE
DSP: Final = 1 << mq.MQAUTH_DISPLAY
GET: Final = 1 << mq.MQAUTH_INPUT
INQ: Final = 1 << mq.MQAUTH_INQUIRE
PASSALL: Final = 1 << mq.MQAUTH_PASS_ALL_CONTEXT
PASSID: Final = 1 << mq.MQAUTH_PASS_IDENTITY_CONTEXT
PUB: Final = 1 << mq.MQAUTH_PUBLISH
PUT: Final = 1 << mq.MQAUTH_OUTPUT
RESUME: Final = 1 << mq.MQAUTH_RESUME
SET: Final = 1 << mq.MQAUTH_SET
SETALL: Final = 1 << mq.MQAUTH_SET_ALL_CONTEXT
SETID: Final = 1 << mq.MQAUTH_SET_IDENTITY_CONTEXT
SUB: Final = 1 << mq.MQAUTH_SUBSCRIBE
SYSTEM: Final = 1 << mq.MQAUTH_SYSTEM

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
