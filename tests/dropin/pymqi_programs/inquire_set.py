"""Ask for attributes, one at a time, and set some."""

import sys

import pymqi
from pymqi import CMQC

qmgr = pymqi.connect(*sys.argv[1:])
print("manager", qmgr.inquire(CMQC.MQCA_Q_MGR_NAME).strip(), qmgr.inquire(CMQC.MQIA_COMMAND_LEVEL))
print("version", qmgr.inquire(CMQC.MQCA_VERSION))
queue = pymqi.Queue(qmgr, "INQUIRE.SET", CMQC.MQOO_INQUIRE | CMQC.MQOO_SET)
queue.set(CMQC.MQIA_INHIBIT_GET, CMQC.MQQA_GET_INHIBITED)
print("inhibited", queue.inquire(CMQC.MQIA_INHIBIT_GET))
queue.set(CMQC.MQIA_INHIBIT_GET, CMQC.MQQA_GET_ALLOWED)
queue.set(CMQC.MQCA_TRIGGER_DATA, b"data".ljust(64))
print("set", queue.inquire(CMQC.MQCA_TRIGGER_DATA).strip(), queue.inquire(CMQC.MQIA_INHIBIT_GET))
for label, action in {
    "unknown": lambda: queue.inquire(CMQC.MQIA_LAST - 1),
    "wrong value": lambda: queue.set(CMQC.MQIA_INHIBIT_GET, 77),
}.items():
    try:
        action()
    except pymqi.MQMIError as error:
        print(label, error.comp, error.reason)
queue.close()
qmgr.disconnect()
