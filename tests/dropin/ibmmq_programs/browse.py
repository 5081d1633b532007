"""Look at all messages, then get the one under the cursor, one by its identifier, and one that does not fit."""

import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:])
queue = ibmmq.Queue(qmgr, "BROWSE", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE)
identifiers = []
for number in range(4):
    md = ibmmq.MD(CorrelId=f"number {number}".encode().ljust(24))
    queue.put(f"message {number}".encode(), md)
    identifiers.append(md.MsgId)

gmo = ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST)
while True:
    md = ibmmq.MD()
    try:
        print("browsed", queue.get(None, md, gmo).decode(), md.MsgId == identifiers[int(md.CorrelId[7:8])])
    except ibmmq.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
        break
    gmo.Options = CMQC.MQGMO_BROWSE_NEXT

queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST))
print("cursor", queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_MSG_UNDER_CURSOR)).decode())

md = ibmmq.MD(MsgId=identifiers[3])
print("by id", queue.get(None, md, ibmmq.GMO(MatchOptions=CMQC.MQMO_MATCH_MSG_ID)).decode())
md = ibmmq.MD(CorrelId=b"number 2".ljust(24))
gmo = ibmmq.GMO(Options=CMQC.MQGMO_ACCEPT_TRUNCATED_MSG, MatchOptions=CMQC.MQMO_MATCH_CORREL_ID)
try:
    queue.get(3, md, gmo)
except ibmmq.MQMIError as error:
    print("truncated", error.comp, error.reason, error.message, error.original_length)
try:
    queue.get(3, ibmmq.MD(), ibmmq.GMO())
except ibmmq.MQMIError as error:
    print("too long", error.comp, error.reason, error.message, error.original_length)
print("still there", queue.get().decode())
queue.close()
qmgr.disconnect()
