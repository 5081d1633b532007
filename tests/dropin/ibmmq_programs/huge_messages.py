"""Messages of many megabytes, on a channel that lets them through."""

import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:], cd=ibmmq.CD(MaxMsgLength=104857600))
queue = ibmmq.Queue(qmgr, "HUGE", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
message = b"0123456789abcdef" * (20 * 1024 * 1024 // 16)
queue.put(message, ibmmq.MD(Persistence=CMQC.MQPER_NOT_PERSISTENT))
queue.put(b"small", ibmmq.MD(Persistence=CMQC.MQPER_NOT_PERSISTENT))
try:
    queue.get(10, ibmmq.MD(), ibmmq.GMO())
except ibmmq.MQMIError as error:
    print("too long", error.comp, error.reason, error.message, error.original_length)
print("whole", queue.get() == message)
print("next", queue.get())
queue.close()
qmgr.disconnect()
