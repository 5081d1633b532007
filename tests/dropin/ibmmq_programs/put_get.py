"""Put messages and get them, waiting for the last one in vain."""

import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:])
queue = ibmmq.Queue(qmgr, "PUT.GET", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_AS_Q_DEF)

md = ibmmq.MD()
queue.put(b"bytes", md)
print("id", len(md.MsgId), md.MsgId != CMQC.MQMI_NONE, md.PutDate != b"", md.PutApplName.strip() != b"")

md = ibmmq.MD(Format=CMQC.MQFMT_STRING, Persistence=CMQC.MQPER_PERSISTENT, Priority=7)
pmo = ibmmq.PMO(Options=CMQC.MQPMO_NO_SYNCPOINT)
queue.put("text: žluťoučký".encode(), md, pmo)
print("resolved", pmo.ResolvedQName.strip().decode(), pmo.ResolvedQMgrName.strip().decode())
queue.put("a Python string")

gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT | CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_FAIL_IF_QUIESCING, WaitInterval=10000)
for _ in range(3):
    md = ibmmq.MD()
    message = queue.get(None, md, gmo)
    print("got", message.decode(), md.Format.decode().strip(), md.Persistence, md.Priority, md.CodedCharSetId)

gmo.WaitInterval = 10
try:
    queue.get(None, ibmmq.MD(), gmo)
except ibmmq.MQMIError as error:
    print("empty", error.comp, error.reason)

qmgr.put1("PUT.GET", b"put1")
print("put1", queue.get())
queue.close()
qmgr.disconnect()
