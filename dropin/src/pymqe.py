"""The native module of the package pymqi, on Ostler.

pymqi falls back to a plain `import pymqe` when its own compiled module is not there. The verbs take and return what
that module's do: structures are bytes in the layout of C, and completion and reason code come last.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index

from ostler import mqi
from ostler.model.constants import MQIA_FIRST, MQIA_LAST
from ostler.model.structures.properties import MQIMPO, MQPD
from ostler_dropin import messages, subscriptions
from ostler_dropin.buffers import property_name, sized
from ostler_dropin.connecting import Connected, Memory, Structures, connect, security_parameters
from ostler_dropin.property_values import Value, packed_value, unpacked_value
from ostler_dropin.sharing import verb_lock
from ostler_dropin.units_of_work import MQBACK as MQBACK
from ostler_dropin.units_of_work import MQBEGIN as MQBEGIN
from ostler_dropin.units_of_work import MQCMIT as MQCMIT
from ostler_dropin.units_of_work import MQDISC as MQDISC

Result = tuple[int, int]
"""Completion and reason."""

__version__ = "1.12.10"
__mqbuild__ = "client"
# The levels of MQ whose structures are understood; pymqi packs the newest of these.
__mqlevels__ = ("5.0", "5.1", "5.2", "5.3", "6.0", "7.0", "7.1", "7.5", "8.0.0", "8.0.1")

# The longest text that one attribute has here.
_ATTRIBUTE_BYTES = 256


class error(Exception):  # noqa: N801 - the name that programs know
    """An argument has a wrong type or size."""


def MQCONN(name: str | bytes) -> Connected:
    return connect(name, Structures())


def MQCONNX(
    name: bytes, options: int, cd: bytes | None, user_password: Mapping[str, str | bytes], sco: bytes = b""
) -> Connected:
    given = Structures(options=index(options), cd=cd or None, sco=sco or None)
    memory = Memory()
    if user_password:
        user, password = _bytes(user_password.get("user", b"")), _bytes(user_password.get("password", b""))
        given.csp = security_parameters(user, password, memory)
    return connect(name, given)


def _bytes(value: str | bytes) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise error("Failed to parse user/password. Check they are bytes or string.")


def MQOPEN(hconn: int, od: bytes, options: int) -> tuple[int, bytes, int, int]:
    descriptor = sized("MQOD", od, error)
    with verb_lock(index(hconn)):
        hobj, code, reason = mqi.MQOPEN(hconn, descriptor, index(options))
    return hobj, bytes(descriptor), code, reason


def MQCLOSE(hconn: int, hobj: int, options: int) -> Result:
    with verb_lock(index(hconn)):
        _, code, reason = mqi.MQCLOSE(hconn, index(hobj), index(options))
    return code, reason


def MQPUT(hconn: int, hobj: int, md: bytes, pmo: bytes, message: bytes) -> messages.PutResult:
    return messages.put(hconn, hobj, md, pmo, message, error)


def MQPUT1(hconn: int, od: bytes, md: bytes, pmo: bytes, message: bytes) -> messages.PutResult:
    return messages.put1(hconn, od, md, pmo, message, error)


def MQGET(hconn: int, hobj: int, md: bytes, gmo: bytes, length: int) -> messages.GetResult:
    return messages.get(hconn, hobj, md, gmo, length, error)


def MQINQ(hconn: int, hobj: int, selector: int) -> tuple[int | bytes, int, int]:
    """One attribute: a number, or text with its padding."""
    is_integer = MQIA_FIRST <= index(selector) <= MQIA_LAST
    with verb_lock(index(hconn)):
        integers, characters, code, reason = mqi.MQINQ(
            hconn, index(hobj), [selector], int(is_integer), 0 if is_integer else _ATTRIBUTE_BYTES
        )
    if is_integer:
        return integers[0] if integers else 0, code, reason
    return characters.partition(b"\0")[0], code, reason


def MQSET(hconn: int, hobj: int, selector: int, value: int | bytes) -> Result:
    integers: list[int] = []
    characters = b""
    if MQIA_FIRST <= index(selector) <= MQIA_LAST:
        if not isinstance(value, int):
            raise error("Arg is not a long integer")
        integers = [value]
    else:
        if not isinstance(value, bytes):
            raise error("Arg is not a byte-string")
        characters = value.partition(b"\0")[0][: _ATTRIBUTE_BYTES + 1]
    with verb_lock(index(hconn)):
        return mqi.MQSET(hconn, index(hobj), [selector], integers, characters)


def MQSUB(hconn: int, sd: bytes, hobj: int) -> subscriptions.Subscribed:
    """Subscribe. Returns the descriptor, the handles of destination and subscription, completion and reason."""
    return subscriptions.subscribe(hconn, sd, hobj, error)


def MQCRTMH(hconn: int, cmho: bytes) -> tuple[int, int, int]:
    options = sized("MQCMHO", cmho, error)
    with verb_lock(index(hconn)):
        return mqi.MQCRTMH(hconn, options)


def MQSETMP(
    hconn: int, hmsg: int, smpo: bytes, name: bytes, pd: bytes, type: int, value: object, length: int
) -> Result:
    options = sized("MQSMPO", smpo, error)
    descriptor = sized("MQPD", pd, error)
    data = packed_value(index(type), value, index(length))
    with verb_lock(index(hconn)):
        return mqi.MQSETMP(hconn, index(hmsg), options, property_name(name), descriptor, type, data)


def MQINQMP(
    hconn: int, hmsg: int, impo_options: int, name: bytes, pd_options: int, type: int, length: int
) -> tuple[Value, int, int, int]:
    options = MQIMPO.default()
    MQIMPO.patch(options, "Options", index(impo_options))
    descriptor = MQPD.default()
    MQPD.patch(descriptor, "Options", index(pd_options))
    with verb_lock(index(hconn)):
        kind, data, whole, code, reason = mqi.MQINQMP(
            hconn, index(hmsg), options, property_name(name), descriptor, index(type), index(length)
        )
    return unpacked_value(kind, data), whole, code, reason


# The compiled module has its exception under this name only.
globals()["pymqe.error"] = error
