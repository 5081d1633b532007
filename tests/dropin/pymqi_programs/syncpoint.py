"""Units of work."""

import sys

import pymqi
from pymqi import CMQC

qmgr = pymqi.connect(*sys.argv[1:])
queue = pymqi.Queue(qmgr, "SYNCPOINT", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT | CMQC.MQOO_INQUIRE)
put = pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT)
queue.put(b"backed out", pymqi.MD(), put)
qmgr.backout()
print("depth", queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
queue.put(b"committed", pymqi.MD(Persistence=CMQC.MQPER_PERSISTENT), put)
qmgr.commit()
md = pymqi.MD()
print("got", queue.get(None, md, pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT)), md.BackoutCount)
qmgr.backout()
md = pymqi.MD()
print("got", queue.get(None, md, pymqi.GMO(Options=CMQC.MQGMO_SYNCPOINT)), md.BackoutCount)
qmgr.commit()
try:
    qmgr.begin()
except pymqi.MQMIError as error:
    print("begin", error.comp, error.reason)
print("depth", queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
queue.close()
qmgr.disconnect()
