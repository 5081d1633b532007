"""MQSUB and MQSUBRQ as the packages call them."""

from __future__ import annotations

from operator import index

from ostler import mqi
from ostler_dropin.buffers import sized
from ostler_dropin.sharing import verb_lock

Subscribed = tuple[bytes, int, int, int, int]
"""The updated descriptor, the handles of the destination and of the subscription, completion and reason."""


def subscribe(hconn: int, sd: bytes, hobj: int, error: type[Exception]) -> Subscribed:
    descriptor = sized("MQSD", sd, error)
    with verb_lock(index(hconn)):
        destination, hsub, code, reason = mqi.MQSUB(hconn, descriptor, index(hobj))
    return bytes(descriptor), destination, hsub, code, reason


def request(hconn: int, hsub: int, action: int, sro: bytes, error: type[Exception]) -> tuple[bytes, int, int]:
    options = sized("MQSRO", sro, error)
    with verb_lock(index(hconn)):
        code, reason = mqi.MQSUBRQ(hconn, index(hsub), index(action), options)
    return bytes(options), code, reason
