"""Put without waiting for the answer, and ask later what became of it."""

import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:])
queue = ibmmq.Queue(qmgr, "STATUS", CMQC.MQOO_OUTPUT)
pmo = ibmmq.PMO(Options=CMQC.MQPMO_ASYNC_RESPONSE | CMQC.MQPMO_NO_SYNCPOINT)
for number in range(8):
    queue.put(f"{number}".encode(), ibmmq.MD(), pmo)
status = qmgr.stat(CMQC.MQSTAT_TYPE_ASYNC_ERROR)
print("put", status.PutSuccessCount, status.PutWarningCount, status.PutFailureCount, status.CompCode, status.Reason)
print("about", status.ObjectName.strip(b" \0").decode(), status.ObjectType)
again = qmgr.stat(CMQC.MQSTAT_TYPE_ASYNC_ERROR)
print("again", again.PutSuccessCount, again.PutFailureCount, again.Reason)
for kind in (77, -1):
    try:
        qmgr.stat(kind)
    except ibmmq.MQMIError as error:
        print("no type", error.comp, error.reason)
queue.close()
qmgr.disconnect()
