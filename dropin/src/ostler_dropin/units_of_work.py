"""The verbs that both modules have with the same signature: MQDISC, and units of work."""

from __future__ import annotations

from operator import index

from ostler import mqi
from ostler_dropin.sharing import stop_serializing, verb_lock

Result = tuple[int, int]


def MQDISC(hconn: int) -> Result:
    hconn = index(hconn)
    stop_serializing(hconn)
    _, code, reason = mqi.MQDISC(hconn)
    return code, reason


def MQBEGIN(hconn: int) -> Result:
    with verb_lock(index(hconn)):
        return mqi.MQBEGIN(hconn, None)


def MQCMIT(hconn: int) -> Result:
    with verb_lock(index(hconn)):
        return mqi.MQCMIT(hconn)


def MQBACK(hconn: int) -> Result:
    with verb_lock(index(hconn)):
        return mqi.MQBACK(hconn)
