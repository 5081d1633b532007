"""The Message Queue Interface: all verbs on packed structures, for queue managers of every binding.

Structures are bytearrays in their packed layouts (see `ostler.model.structures`), updated in place. Values that C
returns through other pointers are returned in C's order, with completion and reason code last:

    hconn, cc, rc = MQCONN("QM1")
    hobj, cc, rc = MQOPEN(hconn, od, MQOO_OUTPUT)
    cc, rc = MQPUT(hconn, hobj, md, pmo, b"Hello")
    data, length, cc, rc = MQGET(hconn, hobj, md, gmo, 4096)

MQCONN looks for a queue manager in this process, then for one that runs on this machine, then uses the address in
MQSERVER or a CCDT. The other verbs work alike on all of them.
"""

from __future__ import annotations

from ostler.client.mqi import connect as here_connect
from ostler.client.mqi import objects as here_objects
from ostler.client.mqi import put_get as here
from ostler.client.mqi import topics as here_topics
from ostler.client.mqi.connect_options import MQCONN, MQCONNX
from ostler.client.mqi.consume import MQCB, MQCTL
from ostler.client.mqi.properties import MQBUFMH, MQCRTMH, MQDLTMH, MQDLTMP, MQINQMP, MQMHBUF, MQSETMP
from ostler.client.mqi.remote import connect as remote_connect
from ostler.client.mqi.remote import objects as remote_objects
from ostler.client.mqi.remote import put_get as remote
from ostler.client.mqi.remote import topics as remote_topics
from ostler.client.mqi.remote.connections import FIRST_REMOTE

__all__ = [
    "MQBACK",
    "MQBEGIN",
    "MQBUFMH",
    "MQCB",
    "MQCLOSE",
    "MQCMIT",
    "MQCONN",
    "MQCONNX",
    "MQCRTMH",
    "MQCTL",
    "MQDISC",
    "MQDLTMH",
    "MQDLTMP",
    "MQGET",
    "MQINQ",
    "MQINQMP",
    "MQMHBUF",
    "MQOPEN",
    "MQPUT",
    "MQPUT1",
    "MQSET",
    "MQSETMP",
    "MQSTAT",
    "MQSUB",
    "MQSUBRQ",
    "get_message",
    "put_message",
]


def MQPUT(hconn: int, hobj: int, md: bytearray, pmo: bytearray, buffer: bytes) -> tuple[int, int]:
    """Put a message on an open queue. `md` and `pmo` are updated."""
    if hconn < FIRST_REMOTE:
        return here.MQPUT(hconn, hobj, md, pmo, buffer)
    return remote.MQPUT(hconn, hobj, md, pmo, buffer)


def put_message(hconn: int, hobj: int, md: bytes, pmo: bytes, buffer: bytes) -> tuple[bytes, bytes, int, int]:
    """MQPUT on values instead of buffers. Returns the updated descriptor and options, completion and reason."""
    if hconn < FIRST_REMOTE:
        return here.put_message(hconn, hobj, md, pmo, buffer)
    return remote.put_message(hconn, hobj, md, pmo, buffer)


def MQGET(hconn: int, hobj: int, md: bytearray, gmo: bytearray, length: int) -> tuple[bytes, int, int, int]:
    """Get or browse a message of up to `length` bytes. Returns data, full message length, completion and reason."""
    if hconn < FIRST_REMOTE:
        return here.MQGET(hconn, hobj, md, gmo, length)
    return remote.MQGET(hconn, hobj, md, gmo, length)


def get_message(
    hconn: int, hobj: int, md: bytes, gmo: bytes, length: int
) -> tuple[bytes, bytes | None, bytes, int, int, int]:
    """MQGET on values instead of buffers.

    Returns data, descriptor (None: no message), options, full message length, completion and reason.
    """
    if hconn < FIRST_REMOTE:
        return here.get_message(hconn, hobj, md, gmo, length)
    return remote.get_message(hconn, hobj, md, gmo, length)


def MQCMIT(hconn: int) -> tuple[int, int]:
    """Commit the unit of work."""
    return here.MQCMIT(hconn) if hconn < FIRST_REMOTE else remote.MQCMIT(hconn)


def MQBACK(hconn: int) -> tuple[int, int]:
    """Back out the unit of work."""
    return here.MQBACK(hconn) if hconn < FIRST_REMOTE else remote.MQBACK(hconn)


def MQDISC(hconn: int) -> tuple[int, int, int]:
    """Disconnect: commit the unit of work and close all handles. Returns the unusable handle.

    Inside a callback of the connection, the disconnection is done when the callback returns.
    """
    return here_connect.MQDISC(hconn) if hconn < FIRST_REMOTE else remote_connect.MQDISC(hconn)


def MQBEGIN(hconn: int, bo: bytearray | None) -> tuple[int, int]:
    """Begin a unit of work. There are no other resource managers, so success is MQRC_NO_EXTERNAL_PARTICIPANTS."""
    return here_connect.MQBEGIN(hconn, bo) if hconn < FIRST_REMOTE else remote_connect.MQBEGIN(hconn, bo)


def MQSTAT(hconn: int, type: int, sts: bytearray) -> tuple[int, int]:
    """Return the status of asynchronous puts since the last MQSTAT, or of the last reconnection."""
    if hconn < FIRST_REMOTE:
        return here_connect.MQSTAT(hconn, type, sts)
    return remote_connect.MQSTAT(hconn, type, sts)


def MQOPEN(hconn: int, od: bytearray, options: int) -> tuple[int, int, int]:
    """Open an object. `od` returns the resolved names, and the name of a dynamic queue."""
    if hconn < FIRST_REMOTE:
        return here_objects.MQOPEN(hconn, od, options)
    return remote_objects.MQOPEN(hconn, od, options)


def MQCLOSE(hconn: int, hobj: int, options: int) -> tuple[int, int, int]:
    """Close an object, and delete a dynamic queue if the options ask for it. Returns the unusable handle."""
    if hconn < FIRST_REMOTE:
        return here_objects.MQCLOSE(hconn, hobj, options)
    return remote_objects.MQCLOSE(hconn, hobj, options)


def MQPUT1(hconn: int, od: bytearray, md: bytearray, pmo: bytearray, buffer: bytes) -> tuple[int, int]:
    """Put one message on a queue that need not be open. `od`, `md` and `pmo` are updated."""
    if hconn < FIRST_REMOTE:
        return here_objects.MQPUT1(hconn, od, md, pmo, buffer)
    return remote_objects.MQPUT1(hconn, od, md, pmo, buffer)


def MQINQ(
    hconn: int, hobj: int, selectors: list[int], int_count: int, char_length: int
) -> tuple[list[int], bytes, int, int]:
    """Return the attributes of the selectors: at most `int_count` integers, and `char_length` bytes of text."""
    if hconn < FIRST_REMOTE:
        return here_objects.MQINQ(hconn, hobj, selectors, int_count, char_length)
    return remote_objects.MQINQ(hconn, hobj, selectors, int_count, char_length)


def MQSET(hconn: int, hobj: int, selectors: list[int], ints: list[int], chars: bytes) -> tuple[int, int]:
    """Set attributes of a queue: all of them, or none. The change is durable on return."""
    if hconn < FIRST_REMOTE:
        return here_objects.MQSET(hconn, hobj, selectors, ints, chars)
    return remote_objects.MQSET(hconn, hobj, selectors, ints, chars)


def MQSUB(hconn: int, sd: bytearray, hobj: int) -> tuple[int, int, int, int]:
    """Subscribe. Returns the handles of the destination and of the subscription. `sd` is updated.

    `hobj` is the open destination queue. With MQSO_MANAGED it is ignored: the returned handle is that of a queue that
    the queue manager has created.
    """
    if hconn < FIRST_REMOTE:
        return here_topics.MQSUB(hconn, sd, hobj)
    return remote_topics.MQSUB(hconn, sd, hobj)


def MQSUBRQ(hconn: int, hsub: int, action: int, sro: bytearray | None) -> tuple[int, int]:
    """Request the retained publications of a subscription. `sro` returns their number."""
    if hconn < FIRST_REMOTE:
        return here_topics.MQSUBRQ(hconn, hsub, action, sro)
    return remote_topics.MQSUBRQ(hconn, hsub, action, sro)
