"""The Message Queue Interface, raw: all verbs as C programs know them, on queue managers in this process.

Structures are bytearrays in their packed layouts (`ostler.model.structures` has the layouts), changed in place. What C
returns through other pointers is returned here, in C's order, with completion and reason code last:

    hconn, cc, rc = MQCONN("QM1")
    hobj, cc, rc = MQOPEN(hconn, od, MQOO_OUTPUT)
    cc, rc = MQPUT(hconn, hobj, md, pmo, b"Hello")
    data, length, cc, rc = MQGET(hconn, hobj, md, gmo, 4096)
"""

from __future__ import annotations

from ostler.client.mqi import MQBACK, MQCMIT, MQGET, MQPUT
from ostler.client.mqi_connect import MQBEGIN, MQCONN, MQCONNX, MQDISC, MQSTAT
from ostler.client.mqi_consume import MQCB, MQCTL
from ostler.client.mqi_objects import MQCLOSE, MQINQ, MQOPEN, MQPUT1, MQSET
from ostler.client.mqi_properties import MQBUFMH, MQCRTMH, MQDLTMH, MQDLTMP, MQINQMP, MQMHBUF, MQSETMP

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
]
