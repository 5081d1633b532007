"""The native module of the package ibmmq, on Ostler.

ibmmq falls back to a plain `import ibmmqc` when its own compiled module cannot load, as on every machine without the
libraries that it is linked with. The verbs take and return what that module's do: structures are bytes in the layout
of C, and completion and reason code come last.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from operator import index
from typing import Final

from ostler import mqi
from ostler.model.constants import (
    MQ_MAX_PROPERTY_NAME_LENGTH,
    MQCBCT_MSG_NOT_REMOVED,
    MQCBCT_MSG_REMOVED,
    MQCC_FAILED,
    MQCCSI_APPL,
    MQOP_REGISTER,
)
from ostler.model.structures.consuming import MQCBC
from ostler.model.structures.properties import MQIMPO
from ostler_dropin import messages, subscriptions
from ostler_dropin.buffers import property_name, sized
from ostler_dropin.connecting import Connected, Structures, connect
from ostler_dropin.property_values import Value, packed_value, unpacked_value
from ostler_dropin.sharing import verb_lock
from ostler_dropin.units_of_work import MQBACK as MQBACK
from ostler_dropin.units_of_work import MQBEGIN as MQBEGIN
from ostler_dropin.units_of_work import MQCMIT as MQCMIT
from ostler_dropin.units_of_work import MQDISC as MQDISC

Result = tuple[int, int]
"""Completion and reason."""


class error(Exception):  # noqa: N801 - the name that programs know
    """An argument has a wrong type or size."""


def _package_version() -> str:
    """Return the version of the supported package, which refuses to start with another one."""
    try:
        return version("ibmmq")
    except PackageNotFoundError:
        return "2.1.2"


__version__ = _package_version()
__cmdlevel__ = 940
__mqbuild__ = "common"
# The newest version of every structure; ibmmq adds the fields up to these.
__strucversions__ = {
    "bno": 1,
    "cbc": 2,
    "cbd": 1,
    "cd": 13,
    "cfh": 3,
    "cih": 2,
    "cmho": 1,
    "cno": 8,
    "csp": 3,
    "ctlo": 1,
    "dlh": 1,
    "dmho": 1,
    "dmpo": 1,
    "gmo": 4,
    "iih": 1,
    "impo": 1,
    "md": 2,
    "mde": 2,
    "od": 4,
    "pd": 1,
    "pmo": 3,
    "sco": 7,
    "sd": 1,
    "smpo": 1,
    "sro": 1,
    "sts": 2,
    "tm": 1,
    "tmc": 2,
    "xqh": 1,
}

_RETURNED_NAME_BYTES: Final = 4 * MQ_MAX_PROPERTY_NAME_LENGTH

ProxyCallback = Callable[[int, bytes | None, bytes | None, bytes | None, bytes], object]
_proxy: list[ProxyCallback] = []
_log: Final = logging.getLogger("ibmmqc")


def _structure(name: str, given: bytes) -> bytearray:
    return sized(name, given, error)


def MQLOGCF(options: int, filename: str = "") -> None:
    """Send what this module logs to a file, or to the standard error stream."""
    if not index(options):
        return
    handler = logging.StreamHandler() if filename in ("", "stderr") else logging.FileHandler(filename)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-8s %(name)-8s %(message)s", datefmt="%H:%M:%S"))
    _log.addHandler(handler)
    _log.setLevel(logging.DEBUG)
    _log.propagate = False


def MQCONN(name: str | bytes) -> Connected:
    return _connected(name, Structures())


def MQCONNX(
    name: str | bytes,
    cno: bytes | None,
    cd: bytes | None,
    csp: bytes | None,
    sco: bytes | None,
    bno: bytes | None,
) -> Connected:
    return _connected(name, Structures(cno=cno, cd=cd, csp=csp, sco=sco, bno=bno))


def _connected(name: str | bytes, given: Structures) -> Connected:
    if not isinstance(name, (str, bytes)):
        raise TypeError(f"the name of a queue manager is text, not {type(name).__name__}")
    connected = connect(name, given)
    _log.debug("MQCONNX %r: handle %d, completion %d, reason %d", name, *connected)
    return connected


def MQOPEN(hconn: int, od: bytes, options: int) -> tuple[int, bytes, int, int]:
    descriptor = _structure("MQOD", od)
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


def MQINQ(
    hconn: int, hobj: int, selectors: list[int], integers: list[int], int_count: int, char_count: int, char_length: int
) -> tuple[list[int], bytes, int, int]:
    """The integers go into the list that was passed, too."""
    if not isinstance(selectors, list) or not isinstance(integers, list):
        raise error("Arg is not a list")
    with verb_lock(index(hconn)):
        found, characters, code, reason = mqi.MQINQ(hconn, index(hobj), selectors, int_count, char_length)
    integers.extend(found)
    return integers, characters.ljust(char_length, b"\0"), code, reason


def MQSET(hconn: int, hobj: int, selectors: list[int], integers: list[int], characters: bytes) -> Result:
    if not isinstance(selectors, list):
        raise error("Selectors arg is not a list")
    if not isinstance(integers, list):
        raise error("IntAttrs arg is not a list")
    with verb_lock(index(hconn)):
        return mqi.MQSET(hconn, index(hobj), selectors, integers, bytes(characters))


def MQSUB(hconn: int, sd: bytes, hobj: int) -> subscriptions.Subscribed:
    """Subscribe. Returns the descriptor, the handles of destination and subscription, completion and reason."""
    return subscriptions.subscribe(hconn, sd, hobj, error)


def MQSUBRQ(hconn: int, hsub: int, action: int, sro: bytes) -> tuple[bytes, int, int]:
    """Request retained publications. The updated options have their number."""
    return subscriptions.request(hconn, hsub, action, sro, error)


def MQSTAT(hconn: int, type: int, sts: bytes) -> tuple[bytes, int, int]:
    status = _structure("MQSTS", sts)
    with verb_lock(index(hconn)):
        code, reason = mqi.MQSTAT(hconn, index(type), status)
    return bytes(status), code, reason


def MQCBINIT(function: ProxyCallback) -> None:
    """Set the function of ibmmq that dispatches all callbacks to those of the program."""
    if not callable(function):
        raise error("Need a callable object.")
    _proxy[:] = [function]


def MQCB(hconn: int, operation: int, cbd: bytes, hobj: int, md: bytes, gmo: bytes) -> Result:
    callback = _structure("MQCBD", cbd)
    descriptor = _structure("MQMD", md)
    options = _structure("MQGMO", gmo)
    function = _call_back if index(operation) & MQOP_REGISTER else None
    with verb_lock(index(hconn)):
        return mqi.MQCB(hconn, operation, callback, index(hobj), descriptor, options, function)


def _call_back(hconn: int, md: bytearray, gmo: bytearray, message: bytes, cbc: bytearray) -> None:
    """Call the program. An exception is printed and swallowed, so that callbacks go on."""
    has_message = MQCBC.read_int(cbc, "CallType") in (MQCBCT_MSG_REMOVED, MQCBCT_MSG_NOT_REMOVED)
    try:
        for function in _proxy:
            function(hconn, bytes(md) or None, bytes(gmo) or None, message if has_message else None, bytes(cbc))
    except Exception:
        traceback.print_exc(file=sys.stderr)


def MQCTL(hconn: int, operation: int, ctlo: bytes) -> Result:
    """Start or stop callbacks. Other threads may use the connection meanwhile, to stop them."""
    options = _structure("MQCTLO", ctlo)
    return mqi.MQCTL(index(hconn), index(operation), options)


def MQCRTMH(hconn: int, cmho: bytes) -> tuple[int, int, int]:
    options = _structure("MQCMHO", cmho)
    with verb_lock(index(hconn)):
        return mqi.MQCRTMH(hconn, options)


def MQDLTMH(hconn: int, hmsg: int, dmho: bytes) -> Result:
    options = _structure("MQDMHO", dmho)
    with verb_lock(index(hconn)):
        _, code, reason = mqi.MQDLTMH(hconn, index(hmsg), options)
    return code, reason


def MQSETMP(
    hconn: int, hmsg: int, smpo: bytes, name: bytes, pd: bytes, type: int, value: object, length: int
) -> Result:
    options = _structure("MQSMPO", smpo)
    descriptor = _structure("MQPD", pd)
    data = packed_value(index(type), value, index(length))
    with verb_lock(index(hconn)):
        return mqi.MQSETMP(hconn, index(hmsg), options, property_name(name), descriptor, type, data)


def MQINQMP(
    hconn: int, hmsg: int, impo: bytes, name: bytes, pd: bytes, type: int, length: int
) -> tuple[Value, int, str | None, int, int]:
    """Return the value, its length and, for a name with a wildcard, the name of the property found."""
    options = _structure("MQIMPO", impo)
    descriptor = _structure("MQPD", pd)
    has_wildcard = b"%" in name
    if has_wildcard:
        _make_room_for_name(options)
    with verb_lock(index(hconn)):
        kind, data, whole, code, reason = mqi.MQINQMP(
            hconn, index(hmsg), options, property_name(name), descriptor, index(type), index(length)
        )
    found = _returned_name(options) if has_wildcard and code != MQCC_FAILED else None
    return unpacked_value(kind, data), whole, found, code, reason


def _make_room_for_name(impo: bytearray) -> None:
    """Provide a buffer for the returned name after the structure."""
    MQIMPO.patch(impo, "ReturnedNameVSPtr", 0)
    MQIMPO.patch(impo, "ReturnedNameVSOffset", len(impo))
    MQIMPO.patch(impo, "ReturnedNameVSBufSize", _RETURNED_NAME_BYTES)
    MQIMPO.patch(impo, "ReturnedNameVSCCSID", MQCCSI_APPL)
    impo.extend(bytes(_RETURNED_NAME_BYTES))


def _returned_name(impo: bytearray) -> str:
    start = MQIMPO.read_int(impo, "ReturnedNameVSOffset")
    length = MQIMPO.read_int(impo, "ReturnedNameVSLength")
    return impo[start : start + length].decode("utf-8", "replace")


def MQDLTMP(hconn: int, hmsg: int, dmpo: bytes, name: bytes) -> Result:
    options = _structure("MQDMPO", dmpo)
    with verb_lock(index(hconn)):
        return mqi.MQDLTMP(hconn, index(hmsg), options, property_name(name))


# The compiled module has its exception under this name only.
globals()["ibmmqc.error"] = error
