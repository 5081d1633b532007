"""A program that closes nothing, as many do: the package's destructors do."""

import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.QueueManager(None)
qmgr.connect_with_options(sys.argv[1]) if len(sys.argv) == 2 else qmgr.connect_tcp_client(
    sys.argv[1], ibmmq.CD(), sys.argv[2], sys.argv[3]
)
queue = ibmmq.Queue(qmgr, "LEAVING", CMQC.MQOO_OUTPUT)
queue.put(b"left behind", ibmmq.MD(Persistence=CMQC.MQPER_PERSISTENT))
print("name", qmgr.get_name(), ibmmq.get_versions())
