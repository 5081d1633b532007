"""Messages larger than the first buffer of a get, up to the limit of the channel's and the queue's definition."""

import hashlib
import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:])
queue = ibmmq.Queue(qmgr, "LARGE", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
for size in (0, 4096, 4097, 70_000, 4_000_000):
    message = bytes(range(256)) * (size // 256 + 1)
    queue.put(message[:size], ibmmq.MD(Persistence=CMQC.MQPER_NOT_PERSISTENT))
    md = ibmmq.MD()
    got = queue.get(None, md, ibmmq.GMO())
    print(size, len(got), hashlib.sha256(got).digest() == hashlib.sha256(message[:size]).digest())
try:
    queue.put(bytes(5_000_000))
except ibmmq.MQMIError as error:
    print("too long", error.comp, error.reason)
queue.close()
qmgr.disconnect()
