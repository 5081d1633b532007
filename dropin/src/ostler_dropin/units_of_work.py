"""The verbs that both modules have in the same shape: leaving, and units of work."""

from __future__ import annotations

from operator import index

from ostler import mqi
from ostler_dropin.sharing import forget_shared, turn_of

Result = tuple[int, int]


def MQDISC(hconn: int) -> Result:
    hconn = index(hconn)
    forget_shared(hconn)
    _, code, reason = mqi.MQDISC(hconn)
    return code, reason


def MQBEGIN(hconn: int) -> Result:
    with turn_of(index(hconn)):
        return mqi.MQBEGIN(hconn, None)


def MQCMIT(hconn: int) -> Result:
    with turn_of(index(hconn)):
        return mqi.MQCMIT(hconn)


def MQBACK(hconn: int) -> Result:
    with turn_of(index(hconn)):
        return mqi.MQBACK(hconn)
