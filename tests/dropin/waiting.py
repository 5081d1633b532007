"""A program that waits for messages and says what comes of it. Told to reconnect, it goes on after its link broke.

Arguments: "get", "callback", "reconnect" or "subscribe", which reconnects too; name [, channel, address].
"""

import sys
import threading

import ibmmq
from ibmmq import CMQC

how, *where = sys.argv[1:]
options = CMQC.MQCNO_RECONNECT if how in ("reconnect", "subscribe") else CMQC.MQCNO_NONE
qmgr = ibmmq.connect(*where, cno=ibmmq.CNO(Options=options))
if how == "subscribe":
    subscription = ibmmq.Subscription(qmgr)
    subscription.sub(topic_string="waiting/#")
    queue = subscription.get_sub_queue()
else:
    queue = ibmmq.Queue(qmgr, "WAITING", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_FAIL_IF_QUIESCING)
gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_FAIL_IF_QUIESCING | CMQC.MQGMO_NO_SYNCPOINT, WaitInterval=60000)
over = threading.Event()


def say(*words: object) -> None:
    print(*words, flush=True)


def on_event(**call: object) -> None:
    reason = call["cbc"].Reason
    say("event", reason)
    if reason in (CMQC.MQRC_CONNECTION_BROKEN, CMQC.MQRC_Q_MGR_STOPPING, CMQC.MQRC_Q_MGR_QUIESCING):
        over.set()


def on_message(**call: object) -> None:
    if call["cbc"].CallType == CMQC.MQCBCT_MSG_REMOVED:
        say("got", call["msg"].decode())
        if call["msg"] == b"end":
            over.set()


if how != "get":
    handler = ibmmq.CBD(CallbackFunction=on_event, CallbackType=CMQC.MQCBT_EVENT_HANDLER)
    qmgr.cb(operation=CMQC.MQOP_REGISTER, cbd=handler)
    queue.cb(operation=CMQC.MQOP_REGISTER, cbd=ibmmq.CBD(CallbackFunction=on_message), gmo=gmo)
    qmgr.ctl(CMQC.MQOP_START, ibmmq.CTLO())
    say("waiting")
    over.wait(60)
else:
    say("waiting")
    try:
        while True:
            say("got", queue.get(None, ibmmq.MD(), gmo).decode())
    except ibmmq.MQMIError as error:
        say("failed", error.comp, error.reason)
try:
    qmgr.disconnect()
    say("disconnected")
except ibmmq.MQMIError as error:
    say("disconnecting", error.comp, error.reason)
