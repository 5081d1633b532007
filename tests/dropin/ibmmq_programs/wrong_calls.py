"""Calls that cannot work, and the reasons that they give."""

import sys

import ibmmq
from ibmmq import CMQC, ibmmqc

qmgr = ibmmq.connect(*sys.argv[1:])
queue = ibmmq.Queue(qmgr, "WRONG", CMQC.MQOO_OUTPUT)
reader = ibmmq.Queue(qmgr, "WRONG", CMQC.MQOO_INPUT_SHARED)
closed = ibmmq.Queue(qmgr, "WRONG", CMQC.MQOO_OUTPUT)
handle = closed.get_handle()
closed.close()
closed.set_handle(handle)


def no_such_queue() -> None:
    ibmmq.Queue(qmgr, "NO.SUCH.QUEUE", CMQC.MQOO_OUTPUT)


attempts = {
    "unknown queue": no_such_queue,
    "unknown queue, put1": lambda: qmgr.put1("NO.SUCH.QUEUE", b""),
    "bad name": lambda: ibmmq.Queue(qmgr, "not a name!", CMQC.MQOO_OUTPUT),
    "open options": lambda: ibmmq.Queue(qmgr, "WRONG", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INPUT_EXCLUSIVE),
    "object type": lambda: ibmmq.Queue(qmgr, ibmmq.OD(ObjectName="WRONG", ObjectType=77), CMQC.MQOO_INQUIRE),
    "structure id": lambda: queue.put(b"", ibmmq.MD(_StrucId=b"XX  ")),
    "md version": lambda: queue.put(b"", ibmmq.MD(Version=9)),
    "pmo version": lambda: queue.put(b"", ibmmq.MD(), ibmmq.PMO(Version=9)),
    "gmo version": lambda: reader.get(None, ibmmq.MD(), ibmmq.GMO(Version=9)),
    "od version": lambda: ibmmq.Queue(qmgr, ibmmq.OD(ObjectName="WRONG", Version=9), CMQC.MQOO_OUTPUT),
    "put options": lambda: queue.put(
        b"", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT | CMQC.MQPMO_NO_SYNCPOINT)
    ),
    "get options": lambda: reader.get(
        None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT | CMQC.MQGMO_NO_SYNCPOINT)
    ),
    "priority": lambda: queue.put(b"", ibmmq.MD(Priority=-5)),
    "persistence": lambda: queue.put(b"", ibmmq.MD(Persistence=9)),
    "expiry": lambda: queue.put(b"", ibmmq.MD(Expiry=-7)),
    "report": lambda: queue.put(b"", ibmmq.MD(Report=CMQC.MQRO_EXPIRATION)),
    "wait interval": lambda: reader.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=-7)),
    "get from output": lambda: queue.get(),
    "put to input": lambda: reader.put(b""),
    "browse input": lambda: reader.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST)),
    "closed handle": lambda: closed.put(b""),
    "close options": lambda: reader.close(CMQC.MQCO_DELETE),
    "selector": lambda: ibmmq.Queue(qmgr, selecting("colour = "), CMQC.MQOO_INPUT_SHARED),
    "control": lambda: qmgr.ctl(77, ibmmq.CTLO()),
    "no callback": lambda: reader.cb(operation=CMQC.MQOP_DEREGISTER, cbd=ibmmq.CBD(CallbackFunction=print)),
    "no function": lambda: qmgr.ctl(CMQC.MQOP_RESUME, ibmmq.CTLO()),
    "subscribe": lambda: ibmmq.Subscription(qmgr).sub(topic_string="news", sub_opts=CMQC.MQSO_CREATE),
    "unknown manager": lambda: ibmmq.connect("NO.SUCH.QM", *sys.argv[2:]),
    "connect options": lambda: ibmmq.connect(
        *sys.argv[1:], cno=ibmmq.CNO(Options=CMQC.MQCNO_RECONNECT | CMQC.MQCNO_RECONNECT_DISABLED)
    ),
    "cno": lambda: ibmmq.connect(*sys.argv[1:], cno=ibmmq.CNO(_StrucId=b"XX  ")),
    "csp": lambda: ibmmq.connect(*sys.argv[1:], csp=ibmmq.CSP(Version=9)),
    "token": lambda: ibmmq.connect(*sys.argv[1:], csp=ibmmq.CSP(Token="a.b.c")),
}


def selecting(selector: str) -> ibmmq.OD:
    od = ibmmq.OD(ObjectName="WRONG")
    od.set_vs("SelectionString", selector)
    return od


for label, action in attempts.items():
    try:
        action()
        print(label, "was allowed")
    except ibmmq.MQMIError as error:
        print(label, error.comp, error.reason)

for label, arguments in {"short": (1, 2, b"MD  ", b"GMO ", 10), "text": ("1", 2, bytes(364), bytes(112), 10)}.items():
    try:
        ibmmqc.MQGET(*arguments)
    except Exception as error:
        print(label, type(error).__name__)
print("wrong handle", ibmmqc.MQCMIT(987654), ibmmqc.MQCLOSE(qmgr.get_handle(), 4711, 0))
qmgr.disconnect()
