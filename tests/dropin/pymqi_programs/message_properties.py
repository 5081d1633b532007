"""Message properties through message handles."""

import sys

import pymqi
from pymqi import CMQC

qmgr = pymqi.connect(*sys.argv[1:])
handle = pymqi.MessageHandle(qmgr)
values = {
    b"text": ("hello", CMQC.MQTYPE_STRING, CMQC.MQVL_NULL_TERMINATED),
    b"flag": (True, CMQC.MQTYPE_BOOLEAN, 4),
    b"blob": (b"\1\2\3", CMQC.MQTYPE_BYTE_STRING, 3),
    b"tiny": (8, CMQC.MQTYPE_INT8, 1),
    b"small": (-16, CMQC.MQTYPE_INT16, 2),
    b"plain": (32, CMQC.MQTYPE_INT32, 4),
    b"large": (1 << 40, CMQC.MQTYPE_INT64, 8),
    b"single": (0.5, CMQC.MQTYPE_FLOAT32, 4),
    b"double": (0.125, CMQC.MQTYPE_FLOAT64, 8),
}
for name, (value, kind, length) in values.items():
    handle.properties.set(name, value, kind, length)
pmo = pymqi.PMO(Version=CMQC.MQPMO_CURRENT_VERSION)
pmo.OriginalMsgHandle = handle.msg_handle
queue = pymqi.Queue(qmgr, "PROPERTIES", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
queue.put(b"body", pymqi.MD(Version=CMQC.MQMD_CURRENT_VERSION), pmo)
queue.put(b"without")
queue.close()

od = pymqi.OD(ObjectName=b"PROPERTIES", Version=CMQC.MQOD_CURRENT_VERSION)
od.set_vs("SelectionString", b"text = 'hello'")
queue = pymqi.Queue(qmgr, od, CMQC.MQOO_INPUT_SHARED)
received = pymqi.MessageHandle(qmgr)
gmo = pymqi.GMO(Version=CMQC.MQGMO_CURRENT_VERSION, Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE)
gmo.MsgHandle = received.msg_handle
print("body", queue.get(None, pymqi.MD(), gmo))
for name in values:
    print(name, repr(received.properties.get(name)))
try:
    received.properties.get(b"missing")
except pymqi.MQMIError as error:
    print("missing", error.comp, error.reason)
try:
    received.properties.get(b"text", max_value_length=2)
except pymqi.MQMIError as error:
    print("too long", error.comp, error.reason, error.dataLength)
queue.close()
print("rest", pymqi.Queue(qmgr, "PROPERTIES").get())
qmgr.disconnect()
