"""Consume on the calling thread, in units of work, until a callback says stop; and look without taking."""

import sys

import ibmmq
from ibmmq import CMQC

seen: list[str] = []


class Reader:
    def __init__(self, count: int) -> None:
        self.left = count

    def read(self, **call: object) -> None:
        cbc, qmgr = call["cbc"], call["queue_manager"]
        if cbc.CallType in (CMQC.MQCBCT_START_CALL, CMQC.MQCBCT_STOP_CALL):
            seen.append("start" if cbc.CallType == CMQC.MQCBCT_START_CALL else "stop")
            return
        if cbc.CallType == CMQC.MQCBCT_EVENT_CALL:
            seen.append(f"event {cbc.Reason}")
            qmgr.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
            return
        md = call["md"]
        seen.append(f"{cbc.CallType} {call['msg'].decode()} {md.BackoutCount}")
        if call["msg"] == b"two" and md.BackoutCount == 0:
            qmgr.backout()
            return
        qmgr.put1("CALLBACK.DONE", call["msg"], ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        qmgr.commit()
        self.left -= 1
        if self.left == 0:
            qmgr.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())


qmgr = ibmmq.connect(*sys.argv[1:])
for text in (b"one", b"two", b"three"):
    qmgr.put1("CALLBACK.WAIT", text)
queue = ibmmq.Queue(qmgr, "CALLBACK.WAIT", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE)
options = CMQC.MQCBDO_START_CALL | CMQC.MQCBDO_STOP_CALL
cbd = ibmmq.CBD(CallbackFunction=Reader(3).read, Options=options)
queue.cb(operation=CMQC.MQOP_REGISTER, cbd=cbd, gmo=ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT))
qmgr.ctl(CMQC.MQOP_START_WAIT, ibmmq.CTLO())
print(*seen, sep="\n")

seen.clear()
for text in (b"four", b"five"):
    qmgr.put1("CALLBACK.WAIT", text)
gmo = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST | CMQC.MQGMO_BROWSE_NEXT | CMQC.MQGMO_WAIT, WaitInterval=10)
queue.cb(operation=CMQC.MQOP_REGISTER, cbd=ibmmq.CBD(CallbackFunction=Reader(99).read), gmo=gmo)
qmgr.ctl(CMQC.MQOP_START_WAIT, ibmmq.CTLO())
print(*seen, sep="\n")

queue.cb(operation=CMQC.MQOP_SUSPEND, cbd=ibmmq.CBD(CallbackFunction=print))
try:
    qmgr.ctl(CMQC.MQOP_START_WAIT, ibmmq.CTLO())
except ibmmq.MQMIError as error:
    print("nobody to call", error.comp, error.reason)
print("taken now", queue.get().decode(), queue.get().decode())
queue.close()
done = ibmmq.Queue(qmgr, "CALLBACK.DONE", CMQC.MQOO_INPUT_SHARED)
while True:
    try:
        done.get()
    except ibmmq.MQMIError:
        break
qmgr.disconnect()
