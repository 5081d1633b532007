"""Put and get, browse, and messages that do not fit the first buffer."""

import sys

import pymqi
from pymqi import CMQC

qmgr = pymqi.connect(*sys.argv[1:])
queue = pymqi.Queue(qmgr, "PUT.GET")
queue.put(b"one")
queue.put("a Python string")
queue.close()

queue = pymqi.Queue(qmgr, "PUT.GET", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE | CMQC.MQOO_OUTPUT)
browse = pymqi.GMO(Options=CMQC.MQGMO_BROWSE_NEXT)
for _ in range(2):
    print("browsed", queue.get(None, pymqi.MD(), browse))
gmo = pymqi.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING, WaitInterval=5000)
for _ in range(2):
    md = pymqi.MD()
    print("got", queue.get(None, md, gmo), md.Format, md.CodedCharSetId)
for size in (4095, 4096, 100_000):
    queue.put(b"x" * size)
    print("size", len(queue.get()))
try:
    queue.get(None, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=10))
except pymqi.MQMIError as error:
    print("empty", error.comp, error.reason)
queue.put(b"0123456789")
try:
    queue.get(4, pymqi.MD(), pymqi.GMO(Options=CMQC.MQGMO_ACCEPT_TRUNCATED_MSG))
except pymqi.MQMIError as error:
    print("truncated", error.comp, error.reason, error.message, error.original_length)
qmgr.put1("PUT.GET", b"put1", pymqi.MD(Priority=3))
print("put1", queue.get())
queue.close()
qmgr.disconnect()
