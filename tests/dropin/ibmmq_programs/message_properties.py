"""Properties of every type through message handles, selected by, listed with a wildcard and deleted."""

import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:])
handle = ibmmq.MessageHandle(qmgr)
values = {
    "text": ("příliš", CMQC.MQTYPE_STRING, CMQC.MQVL_NULL_TERMINATED),
    "yes": (True, CMQC.MQTYPE_BOOLEAN, 4),
    "no": (False, CMQC.MQTYPE_BOOLEAN, 4),
    "blob": (b"\0\1\2", CMQC.MQTYPE_BYTE_STRING, 3),
    "tiny": (-8, CMQC.MQTYPE_INT8, 1),
    "small": (-1600, CMQC.MQTYPE_INT16, 2),
    "plain": (-320000, CMQC.MQTYPE_INT32, 4),
    "large": (-(1 << 50), CMQC.MQTYPE_INT64, 8),
    "single": (1.5, CMQC.MQTYPE_FLOAT32, 4),
    "double": (2.25, CMQC.MQTYPE_FLOAT64, 8),
    "nothing": (None, CMQC.MQTYPE_NULL, 0),
}
for name, (value, kind, length) in values.items():
    handle.properties.set(name, value, property_type=kind, value_length=length)

queue = ibmmq.Queue(qmgr, "PROPERTIES", CMQC.MQOO_OUTPUT)
queue.put(b"with properties", ibmmq.MD(), ibmmq.PMO(OriginalMsgHandle=handle.get_handle()))
other = ibmmq.MessageHandle(qmgr)
other.properties["colour"] = "red"
queue.put(b"red", ibmmq.MD(), ibmmq.PMO(OriginalMsgHandle=other.get_handle()))
queue.close()

od = ibmmq.OD(ObjectName="PROPERTIES")
od.set_vs("SelectionString", "colour = 'red'")
selected = ibmmq.Queue(qmgr, od, CMQC.MQOO_INPUT_SHARED)
print("selected", selected.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_NO_PROPERTIES)).decode())
try:
    selected.get()
except ibmmq.MQMIError as error:
    print("no other", error.reason)
selected.close()

queue = ibmmq.Queue(qmgr, "PROPERTIES", CMQC.MQOO_INPUT_SHARED)
received = ibmmq.MessageHandle(qmgr)
gmo = ibmmq.GMO(Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=received.get_handle())
print("body", queue.get(None, ibmmq.MD(), gmo).decode())
for name in values:
    print(name, repr(received.properties.get(name)))

received.properties.dlt("text")
impo = ibmmq.IMPO(Options=CMQC.MQIMPO_INQ_FIRST | CMQC.MQIMPO_CONVERT_VALUE)
names = []
while True:
    try:
        _, name = received.properties.get("%", impo=impo)
    except ibmmq.MQMIError as error:
        print("end of list", error.reason)
        break
    names.append(name)
    impo.Options = CMQC.MQIMPO_INQ_NEXT | CMQC.MQIMPO_CONVERT_VALUE
print("names", *names)

for label, action in {
    "missing": lambda: received.properties.get("text"),
    "bad name": lambda: received.properties.set("a b", "x"),
    "too long": lambda: other.properties.get("colour", max_value_length=2),
    "deleted handle": lambda: (other.dlt(), other.dlt()),
}.items():
    try:
        action()
    except ibmmq.MQMIError as error:
        print(label, error.comp, error.reason)
qmgr.disconnect()
