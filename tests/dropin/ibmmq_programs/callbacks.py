"""Consume by callback: two queues, an event handler, a callback that fails once, and one that stops the others."""

import sys
import threading

import ibmmq
from ibmmq import CMQC

seen: list[str] = []
enough = threading.Event()


def consume(**call: object) -> None:
    cbc = call["cbc"]
    if cbc.CallType == CMQC.MQCBCT_MSG_REMOVED:
        md, queue = call["md"], call["queue"]
        area = f"{cbc.CallbackArea.decode()}/{cbc.ConnectionArea.decode()}"
        seen.append(f"{queue.get_name()} {call['msg'].decode()} {md.Priority} {area} {cbc.DataLength} {cbc.Reason}")
        call["queue_manager"].put1("CALLBACK.DONE", call["msg"])
        if len(seen) == 6:
            enough.set()
        if call["msg"] == b"fail":
            raise ValueError("this message is not to be liked")
    else:
        seen.append(f"call {cbc.CallType} {cbc.Reason}")


def on_event(**call: object) -> None:
    print("event", call["cbc"].Reason)


sender = ibmmq.connect(*sys.argv[1:])
qmgr = ibmmq.connect(*sys.argv[1:])
one = ibmmq.Queue(qmgr, "CALLBACK.ONE", CMQC.MQOO_INPUT_SHARED)
two = ibmmq.Queue(qmgr, "CALLBACK.TWO", CMQC.MQOO_INPUT_SHARED)
gmo = ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT)
one.cb(operation=CMQC.MQOP_REGISTER, cbd=ibmmq.CBD(CallbackFunction=consume, CallbackArea="area one"), gmo=gmo)
two.cb(operation=CMQC.MQOP_REGISTER, cbd=ibmmq.CBD(CallbackFunction=consume, CallbackArea="area two"), gmo=gmo)
qmgr.cb(
    operation=CMQC.MQOP_REGISTER,
    cbd=ibmmq.CBD(CallbackFunction=on_event, CallbackType=CMQC.MQCBT_EVENT_HANDLER),
)
sender.put1("CALLBACK.ONE", b"before the start", ibmmq.MD(Priority=4))
qmgr.ctl(CMQC.MQOP_START, ibmmq.CTLO(ConnectionArea="connection"))
try:
    one.get()
except ibmmq.MQMIError as error:
    print("busy", error.comp, error.reason)
sender.put1("CALLBACK.ONE", b"fail")
for number, name in enumerate(["ONE", "TWO", "ONE", "TWO"]):
    sender.put1(f"CALLBACK.{name}", f"{name} {number}".encode(), ibmmq.MD(Priority=number))
print("all came", enough.wait(60))
qmgr.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
one.cb(operation=CMQC.MQOP_DEREGISTER, cbd=ibmmq.CBD(CallbackFunction=consume))
sender.put1("CALLBACK.ONE", b"nobody's")
print("got", one.get().decode())
print(*sorted(seen), sep="\n")
done = ibmmq.Queue(qmgr, "CALLBACK.DONE", CMQC.MQOO_INQUIRE)
print("done", done.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
qmgr.disconnect()
sender.disconnect()
