"""Units of work: what is not committed is seen by nobody else, and what is backed out comes back."""

import sys

import ibmmq
from ibmmq import CMQC

first = ibmmq.connect(*sys.argv[1:])
second = ibmmq.connect(*sys.argv[1:])
mine = ibmmq.Queue(first, "SYNCPOINT", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
other = ibmmq.Queue(second, "SYNCPOINT", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INQUIRE)
pmo = ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT)
for text in (b"a", b"b"):
    mine.put(text, ibmmq.MD(Persistence=CMQC.MQPER_PERSISTENT), pmo)


def look(where: str) -> None:
    try:
        md = ibmmq.MD()
        gmo = ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_WAIT)
        print(where, other.get(None, md, gmo).decode(), "backouts", md.BackoutCount)
    except ibmmq.MQMIError as error:
        print(where, error.reason)


look("before commit")
first.commit()
look("after commit")
second.backout()
look("after backout")
second.commit()
print("depth", other.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
mine.put(b"never", ibmmq.MD(), pmo)
first.backout()
mine.put(b"left open", ibmmq.MD(), pmo)
first.disconnect()
look("left by disconnect")
second.commit()
look("and then")
second.commit()
try:
    second.begin()
except ibmmq.MQMIError as error:
    print("begin", error.comp, error.reason)
look("no more")
second.disconnect()
