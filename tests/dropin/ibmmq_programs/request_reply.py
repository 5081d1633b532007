"""Ask and be answered: a responder on a thread with its own connection, replies on a dynamic queue."""

import sys
import threading

import ibmmq
from ibmmq import CMQC


def respond() -> None:
    qmgr = ibmmq.connect(*sys.argv[1:])
    requests = ibmmq.Queue(qmgr, "REQUEST", CMQC.MQOO_INPUT_EXCLUSIVE)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_SYNCPOINT, WaitInterval=60000)
    for _ in range(3):
        md = ibmmq.MD()
        question = requests.get(None, md, gmo)
        reply_md = ibmmq.MD(CorrelId=md.MsgId, MsgType=CMQC.MQMT_REPLY)
        reply_to = ibmmq.OD(ObjectName=md.ReplyToQ.strip(), ObjectQMgrName=md.ReplyToQMgr.strip())
        qmgr.put1(reply_to, question.upper(), reply_md, ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        qmgr.commit()
    requests.close()
    qmgr.disconnect()


responder = threading.Thread(target=respond)
responder.start()
qmgr = ibmmq.connect(*sys.argv[1:])
od = ibmmq.OD(ObjectName="SYSTEM.DEFAULT.MODEL.QUEUE", DynamicQName="ASK.*")
replies = ibmmq.Queue(qmgr, od, CMQC.MQOO_INPUT_EXCLUSIVE)
print("dynamic", replies.get_name().startswith("ASK."))
requests = ibmmq.Queue(qmgr, "REQUEST", CMQC.MQOO_OUTPUT)
for question in (b"one", b"two", b"three"):
    md = ibmmq.MD(MsgType=CMQC.MQMT_REQUEST, ReplyToQ=replies.get_name())
    requests.put(question, md)
    reply_md = ibmmq.MD(CorrelId=md.MsgId)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=60000, MatchOptions=CMQC.MQMO_MATCH_CORREL_ID)
    print("reply", replies.get(None, reply_md, gmo).decode(), reply_md.MsgType == CMQC.MQMT_REPLY)
responder.join()
replies.close(CMQC.MQCO_DELETE)
requests.close()
qmgr.disconnect()
