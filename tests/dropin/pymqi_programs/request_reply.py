"""Ask and be answered, replies on a dynamic queue."""

import sys
import threading

import pymqi
from pymqi import CMQC


def respond() -> None:
    qmgr = pymqi.QueueManager(None)
    arguments = sys.argv[1:]
    if len(arguments) > 1:
        qmgr.connect_tcp_client(arguments[0], pymqi.CD(), arguments[1], arguments[2])
    else:
        qmgr.connect_with_options(arguments[0])
    requests = pymqi.Queue(qmgr, "REQUEST", CMQC.MQOO_INPUT_SHARED)
    md = pymqi.MD()
    gmo = pymqi.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=60000)
    question = requests.get(None, md, gmo)
    reply_md = pymqi.MD(CorrelId=md.MsgId, MsgType=CMQC.MQMT_REPLY)
    reply_to = pymqi.Queue(qmgr, md.ReplyToQ.strip(), CMQC.MQOO_OUTPUT)
    reply_to.put(question[::-1], reply_md)
    reply_to.close()
    requests.close()
    qmgr.disconnect()


responder = threading.Thread(target=respond)
responder.start()
qmgr = pymqi.connect(*sys.argv[1:])
od = pymqi.OD(ObjectName=b"SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName=b"ASK.*")
replies = pymqi.Queue(qmgr, od, CMQC.MQOO_INPUT_EXCLUSIVE)
md = pymqi.MD(MsgType=CMQC.MQMT_REQUEST, ReplyToQ=od.ObjectName.strip())
qmgr.put1("REQUEST", b"drawer", md)
gmo = pymqi.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=60000, MatchOptions=CMQC.MQMO_MATCH_CORREL_ID)
reply = pymqi.MD(CorrelId=md.MsgId)
print("reply", replies.get(None, reply, gmo), reply.MsgType)
responder.join()
replies.close()
qmgr.disconnect()
