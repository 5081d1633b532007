"""Ask for attributes and set some."""

import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:])
print("manager", qmgr.inquire(CMQC.MQCA_Q_MGR_NAME).decode().strip(), qmgr.inquire(CMQC.MQIA_PLATFORM))
several = qmgr.inquire([CMQC.MQIA_COMMAND_LEVEL, CMQC.MQCA_DEAD_LETTER_Q_NAME, CMQC.MQIA_MAX_PRIORITY])
print("several", several)
print("connected", qmgr.is_connected)

queue = ibmmq.Queue(qmgr, "INQUIRE.SET", CMQC.MQOO_INQUIRE | CMQC.MQOO_SET | CMQC.MQOO_OUTPUT)
print("queue", queue.inquire(CMQC.MQCA_Q_NAME).decode().strip(), queue.inquire(CMQC.MQIA_Q_TYPE))
queue.set(CMQC.MQIA_INHIBIT_PUT, CMQC.MQQA_PUT_INHIBITED)
try:
    queue.put(b"refused")
except ibmmq.MQMIError as error:
    print("inhibited", error.comp, error.reason)
queue.set({CMQC.MQIA_INHIBIT_PUT: CMQC.MQQA_PUT_ALLOWED, CMQC.MQCA_TRIGGER_DATA: "some data"})
attributes = queue.inquire([CMQC.MQCA_TRIGGER_DATA, CMQC.MQIA_INHIBIT_PUT, CMQC.MQIA_CURRENT_Q_DEPTH])
print("set", attributes[CMQC.MQCA_TRIGGER_DATA].rstrip(b" \0").decode(), attributes[CMQC.MQIA_INHIBIT_PUT])
for label, action in {
    "unknown": lambda: queue.inquire(CMQC.MQIA_LAST - 1),
    "not for queues": lambda: queue.inquire(CMQC.MQIA_COMMAND_LEVEL),
    "wrong value": lambda: queue.set(CMQC.MQIA_INHIBIT_GET, 77),
    "cannot be set": lambda: queue.set(CMQC.MQIA_MAX_Q_DEPTH, 5),
}.items():
    try:
        action()
    except ibmmq.MQMIError as error:
        print(label, error.comp, error.reason)
queue.close()
qmgr.disconnect()
