"""Switch statistics and accounting on, work a little, and read what the queue manager tells of it."""

import sys

import ibmmq
from ibmmq import CMQC, CMQCFC

STATISTICS = "SYSTEM.ADMIN.STATISTICS.QUEUE"
ACCOUNTING = "SYSTEM.ADMIN.ACCOUNTING.QUEUE"


def mqsc(qmgr: ibmmq.QueueManager, *lines: str) -> None:
    pcf = ibmmq.PCFExecute(qmgr, response_wait_interval=30000)
    for line in lines:
        pcf.MQCMD_ESCAPE({CMQCFC.MQIACF_ESCAPE_TYPE: CMQCFC.MQET_MQSC, CMQCFC.MQCACF_ESCAPE_TEXT: line})
    pcf.disconnect()


def messages(qmgr: ibmmq.QueueManager, name: str, command: int) -> list[dict[int, object]]:
    """The messages of a kind, taken off their queue."""
    queue = ibmmq.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED)
    found = []
    while True:
        try:
            parameters, header = ibmmq.PCFExecute.unpack(queue.get())
        except ibmmq.MQMIError:
            queue.close()
            return found
        if header.Command == command:
            found.append(parameters)


def text(value: bytes) -> str:
    return value.decode().strip()


qmgr = ibmmq.connect(*sys.argv[1:])
mqsc(qmgr, "DEFINE QLOCAL(STATISTICS) REPLACE", "ALTER QMGR STATMQI(ON) STATQ(ON) ACCTMQI(ON) ACCTQ(ON)")
messages(qmgr, STATISTICS, 0)
messages(qmgr, ACCOUNTING, 0)
qmgr.disconnect()

qmgr = ibmmq.connect(*sys.argv[1:])
queue = ibmmq.Queue(qmgr, "STATISTICS", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
for body in (b"one", b"three"):
    queue.put(body)
md = ibmmq.MD()
md.Persistence = CMQC.MQPER_PERSISTENT
queue.put(b"persistent", md)
qmgr.put1("STATISTICS", b"put1")
queue.get()
queue.close()
qmgr.disconnect()

qmgr = ibmmq.connect(*sys.argv[1:])
mqsc(qmgr, "RESET QMGR TYPE(STATISTICS)", "ALTER QMGR STATMQI(OFF) STATQ(OFF) ACCTMQI(OFF) ACCTQ(OFF)")
(verbs, *_) = messages(qmgr, STATISTICS, CMQCFC.MQCMD_STATISTICS_MQI)
print("manager", text(verbs[CMQC.MQCA_Q_MGR_NAME]), len(verbs[CMQCFC.MQIAMO_OPENS]))
mqsc(qmgr, "ALTER QMGR STATQ(ON)")
queue = ibmmq.Queue(qmgr, "STATISTICS", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
queue.put(b"12345")
queue.get()
mqsc(qmgr, "RESET QMGR TYPE(STATISTICS)", "ALTER QMGR STATQ(OFF)")
for message in messages(qmgr, STATISTICS, CMQCFC.MQCMD_STATISTICS_Q):
    for group in message[CMQCFC.MQGACF_Q_STATISTICS_DATA]:
        if text(group[CMQC.MQCA_Q_NAME]) == "STATISTICS":
            print("queue", group[CMQCFC.MQIAMO_PUTS], group[CMQCFC.MQIAMO64_PUT_BYTES], group[CMQCFC.MQIAMO_GETS])
            print("depth", group[CMQCFC.MQIAMO_Q_MIN_DEPTH], group[CMQCFC.MQIAMO_Q_MAX_DEPTH])
for message in messages(qmgr, ACCOUNTING, CMQCFC.MQCMD_ACCOUNTING_Q):
    for group in message[CMQCFC.MQGACF_Q_ACCOUNTING_DATA]:
        if text(group[CMQC.MQCA_Q_NAME]) == "STATISTICS":
            print("account", group[CMQCFC.MQIAMO_PUTS], group[CMQCFC.MQIAMO_PUT1S], group[CMQCFC.MQIAMO64_PUT_BYTES])
            print("sizes", group[CMQCFC.MQIAMO_PUT_MIN_BYTES], group[CMQCFC.MQIAMO_PUT_MAX_BYTES])
            print("got", group[CMQCFC.MQIAMO_GETS], group[CMQCFC.MQIAMO_OPENS])
qmgr.disconnect()
