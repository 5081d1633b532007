"""One connection for several threads: a verb waits while another thread's get waits."""

import sys
import threading

import ibmmq
from ibmmq import CMQC

shared = ibmmq.connect(*sys.argv[1:])
other = ibmmq.connect(*sys.argv[1:])
queue = ibmmq.Queue(shared, "THREADS", CMQC.MQOO_INPUT_SHARED)
looks = ibmmq.Queue(other, "THREADS", CMQC.MQOO_INQUIRE | CMQC.MQOO_OUTPUT)
lines: list[str] = []


def wait() -> None:
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=60000)
    lines.append(f"got {queue.get(None, ibmmq.MD(), gmo).decode()}")


def put() -> None:
    shared.put1("THREADS", b"by the second thread")
    lines.append("put")


getter = threading.Thread(target=wait)
getter.start()
putters = [threading.Thread(target=put) for _ in range(3)]
for thread in putters:
    thread.start()
looks.put(b"by the other connection")
getter.join()
for thread in putters:
    thread.join()
print(sorted(lines)[1:], len(lines))
print("left", looks.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
shared.disconnect()
other.disconnect()
