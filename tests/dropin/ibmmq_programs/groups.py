"""Messages in groups and in segments, put and got in logical order."""

import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:])
queue = ibmmq.Queue(qmgr, "GROUPS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
pmo = ibmmq.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT)
for text, flags in ((b"one", CMQC.MQMF_MSG_IN_GROUP), (b"two", 0x8), (b"three", CMQC.MQMF_LAST_MSG_IN_GROUP)):
    md = ibmmq.MD(MsgFlags=flags, Version=CMQC.MQMD_VERSION_2)
    queue.put(text, md, pmo)
    print("sequence", md.MsgSeqNumber, md.GroupId != CMQC.MQGI_NONE)
qmgr.commit()

options = CMQC.MQGMO_LOGICAL_ORDER | CMQC.MQGMO_ALL_MSGS_AVAILABLE | CMQC.MQGMO_SYNCPOINT
while True:
    gmo = ibmmq.GMO(Options=options, MatchOptions=CMQC.MQMO_NONE)
    md = ibmmq.MD()
    text = queue.get(None, md, gmo)
    print("member", text.decode(), md.MsgSeqNumber, chr(gmo.GroupStatus), chr(gmo.SegmentStatus))
    if gmo.GroupStatus == CMQC.MQGS_LAST_MSG_IN_GROUP:
        break
qmgr.commit()

pmo.Options = CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT
for text, flags in ((b"first half, ", CMQC.MQMF_SEGMENT), (b"second half", CMQC.MQMF_LAST_SEGMENT)):
    queue.put(text, ibmmq.MD(MsgFlags=flags), pmo)
qmgr.commit()
gmo = ibmmq.GMO(Options=CMQC.MQGMO_COMPLETE_MSG | CMQC.MQGMO_SYNCPOINT, MatchOptions=CMQC.MQMO_NONE)
print("whole", queue.get(None, ibmmq.MD(), gmo).decode())
qmgr.commit()
queue.close()
qmgr.disconnect()
