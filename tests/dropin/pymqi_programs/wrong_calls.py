"""Calls that cannot work, and the reasons that they give."""

import sys

import pymqi
from pymqi import CMQC, pymqe

qmgr = pymqi.connect(*sys.argv[1:])
queue = pymqi.Queue(qmgr, "WRONG", CMQC.MQOO_OUTPUT)
for label, action in {
    "unknown queue": lambda: pymqi.Queue(qmgr, "NO.SUCH.QUEUE", CMQC.MQOO_OUTPUT),
    "get from output": lambda: queue.get(),
    "md version": lambda: queue.put(b"", pymqi.MD(Version=9)),
    "put options": lambda: queue.put(b"", pymqi.MD(), pymqi.PMO(Options=CMQC.MQPMO_SYNCPOINT | 4)),
    "subscribe": lambda: pymqi.Subscription(qmgr).sub(topic_string="news", sub_opts=CMQC.MQSO_CREATE),
    "unknown manager": lambda: pymqi.connect("NO.SUCH.QM", *sys.argv[2:]),
}.items():
    try:
        action()
        print(label, "was allowed")
    except pymqi.MQMIError as error:
        print(label, error.comp, error.reason)
try:
    pymqe.MQPUT(1, 2, b"MD  ", b"PMO ", b"")
except Exception as error:
    print("short", type(error).__name__, error)
print("wrong handle", pymqe.MQCMIT(987654))
queue.close()
qmgr.disconnect()
