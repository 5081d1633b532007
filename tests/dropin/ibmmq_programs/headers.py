"""Headers in messages, reports, and names that resolve through an alias."""

import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:])
queue = ibmmq.Queue(qmgr, "HEADERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)

rfh2 = ibmmq.RFH2()
rfh2.add_folder(b"<usr><colour>green</colour></usr>")
rfh2.Format = CMQC.MQFMT_STRING
queue.put_rfh2(b"green", ibmmq.MD(Format=CMQC.MQFMT_RF_HEADER_2), ibmmq.PMO(), [rfh2])
headers: list[ibmmq.RFH2] = []
md = ibmmq.MD()
gmo = ibmmq.GMO(Options=CMQC.MQGMO_PROPERTIES_FORCE_MQRFH2)
message = queue.get_rfh2(None, md, gmo, headers)
print("rfh2", message, len(headers), headers[0].get()["usr"])

dlh = ibmmq.DLH(Reason=CMQC.MQRC_Q_FULL, DestQName="SOMEWHERE", Format=CMQC.MQFMT_STRING)
queue.put(dlh.pack() + b"dead", ibmmq.MD(Format=CMQC.MQFMT_DEAD_LETTER_HEADER))
message = queue.get()
back = ibmmq.DLH().unpack(message[: dlh.get_length()])
print("dlh", back.Reason, back.DestQName.strip(b" \0").decode(), message[dlh.get_length() :])

report = CMQC.MQRO_COA | CMQC.MQRO_COD | CMQC.MQRO_PASS_CORREL_ID
md = ibmmq.MD(Report=report, ReplyToQ="HEADERS.REPORT", CorrelId=b"c" * 24)
queue.put(b"tell me", md)
queue.get()
reports = ibmmq.Queue(qmgr, "HEADERS.REPORT", CMQC.MQOO_INPUT_SHARED)
for _ in range(2):
    answer = ibmmq.MD()
    reports.get(None, answer, ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=10000))
    print("report", answer.Feedback, answer.MsgType == CMQC.MQMT_REPORT, answer.CorrelId == b"c" * 24)

alias = ibmmq.Queue(qmgr, "HEADERS.ALIAS", CMQC.MQOO_OUTPUT)
pmo = ibmmq.PMO()
alias.put(b"through an alias", ibmmq.MD(), pmo)
print("alias", pmo.ResolvedQName.strip().decode(), queue.get().decode())

text = ibmmq.MD(Format=CMQC.MQFMT_STRING, CodedCharSetId=1208)
queue.put("Zürich".encode(), text)
gmo = ibmmq.GMO(Options=CMQC.MQGMO_CONVERT)
print("converted", queue.get(100, ibmmq.MD(CodedCharSetId=819), gmo).decode("latin-1"))
qmgr.disconnect()
