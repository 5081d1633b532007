"""Calls about topics and subscriptions that cannot work, and the reasons that they give."""

import sys
from collections.abc import Callable

import ibmmq
from ibmmq import CMQC, ibmmqc

qmgr = ibmmq.connect(*sys.argv[1:])
MANAGED = CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED
DURABLE = MANAGED | CMQC.MQSO_DURABLE
ON_REQUEST = CMQC.MQSO_PUBLICATIONS_ON_REQUEST


def sub(options: int = MANAGED, queue: object = None, **fields: object) -> ibmmq.Subscription:
    sd = ibmmq.SD(Options=options)
    fields.setdefault("ObjectString", "wrong")
    for name, value in fields.items():
        if hasattr(sd, name):
            sd[name] = value
        else:
            sd.set_vs(name, value)
    made = ibmmq.Subscription(qmgr)
    made.sub(sub_desc=sd, sub_queue=queue)
    return made


def topic(options: int = CMQC.MQOO_OUTPUT, **fields: object) -> ibmmq.Topic:
    return ibmmq.Topic(qmgr, open_opts=options, **fields)


def queue_of(handle: int) -> ibmmq.Queue:
    queue = ibmmq.Queue(qmgr)
    queue.set_handle(handle)
    queues.append(queue)
    return queue


def try_all(attempts: dict[str, Callable[[], object]]) -> None:
    for label, action in attempts.items():
        try:
            action()
            print(label, "was allowed")
        except ibmmq.MQMIError as error:
            print(label, error.comp, error.reason)


queues: list[ibmmq.Queue] = []  # kept: a queue that nobody holds is closed
opened = topic(topic_string="wrong/topic")
made = sub(SubName="Wrong", ObjectString="wrong/sub")
kept = sub(DURABLE | CMQC.MQSO_RESUME, SubName="Kept", SelectionString="a = 1")
kept.close(CMQC.MQCO_KEEP_SUB, close_sub_queue=True)
queue = ibmmq.Queue(qmgr, "PROVIDED", CMQC.MQOO_INPUT_SHARED)
gone = sub(SubName="Gone")
gone_handle = gone.get_handle()
gone.close(close_sub_queue=True)
short = ibmmq.OD(ObjectType=CMQC.MQOT_TOPIC, Version=3)
pmo = ibmmq.PMO

try_all(
    {
        "unknown topic": lambda: topic(topic_name="NO.SUCH.TOPIC"),
        "no topic": lambda: topic(),
        "old descriptor": lambda: qmgr.put1(short, b""),
        "wildcard": lambda: topic(topic_string="all/#"),
        "input": lambda: topic(CMQC.MQOO_INPUT_SHARED, topic_string="wrong"),
        "open options": lambda: topic(CMQC.MQOO_OUTPUT | 0x40000000, topic_string="wrong"),
        "closed to publishers": lambda: topic(topic_string="closed/here").pub(b""),
        "closed, put once": lambda: qmgr.put1(ibmmq.OD(ObjectType=CMQC.MQOT_TOPIC, ObjectName="CLOSED"), b""),
        "level": lambda: opened.pub(b"", ibmmq.MD(), pmo(PubLevel=10)),
        "get from a topic": lambda: queue_of(opened._Topic__topic_handle).get(),
        "get from a subscription": lambda: queue_of(made.get_handle()).get(),
        "put to a subscription": lambda: queue_of(made.get_handle()).put(b""),
        "put to its queue": lambda: made.get_sub_queue().put(b""),
        "options of groups": lambda: opened.pub(b"", ibmmq.MD(), pmo(Options=CMQC.MQPMO_LOGICAL_ORDER)),
        "close options": lambda: topic(topic_string="wrong").close(CMQC.MQCO_DELETE),
    }
)
try_all(
    {
        "no action": lambda: sub(CMQC.MQSO_MANAGED),
        "unknown option": lambda: sub(MANAGED | 0x40000000),
        "both schemes": lambda: sub(MANAGED | CMQC.MQSO_WILDCARD_CHAR | CMQC.MQSO_WILDCARD_TOPIC),
        "group, managed": lambda: sub(MANAGED | CMQC.MQSO_GROUP_SUB | CMQC.MQSO_SET_CORREL_ID),
        "new, on request": lambda: sub(MANAGED | CMQC.MQSO_NEW_PUBLICATIONS_ONLY | ON_REQUEST),
        "level, on request": lambda: sub(MANAGED | ON_REQUEST, SubLevel=2),
        "structure": lambda: sub(_StrucId=b"XX  "),
        "version": lambda: sub(Version=2),
        "no destination": lambda: sub(CMQC.MQSO_CREATE),
        "destination is a topic": lambda: sub(CMQC.MQSO_CREATE, opened._Topic__topic_handle),
        "no name": lambda: sub(DURABLE),
        "no string": lambda: sub(ObjectString=""),
        "no object": lambda: sub(ObjectName="NO.SUCH.TOPIC"),
        "expiry": lambda: sub(SubExpiry=0),
        "priority": lambda: sub(PubPriority=10),
        "sub level": lambda: sub(SubLevel=10),
        "selector": lambda: sub(SelectionString="colour = "),
        "closed to subscribers": lambda: sub(ObjectString="closed/too"),
        "must not be durable": lambda: sub(DURABLE, ObjectString="passing/by", SubName="Passing"),
        "already there": lambda: sub(SubName="Wrong"),
        "in use": lambda: sub(CMQC.MQSO_RESUME, SubName="Wrong", ObjectString="wrong/sub"),
        "unknown": lambda: sub(CMQC.MQSO_RESUME, SubName="NO SUCH"),
        "place for the topic": lambda: sub(ResObjectStringVSBufSize=10),
    }
)
ALTER = CMQC.MQSO_ALTER | CMQC.MQSO_MANAGED | CMQC.MQSO_DURABLE
try_all(
    {
        "other topic": lambda: sub(ALTER, SubName="Kept", ObjectString="right"),
        "other level": lambda: sub(ALTER, SubName="Kept", SubLevel=5),
        "other selector": lambda: sub(ALTER, SubName="Kept", SelectionString="a = 2"),
        "other destination class": lambda: sub(ALTER ^ CMQC.MQSO_MANAGED, queue, SubName="Kept"),
        "other durability": lambda: sub(MANAGED | CMQC.MQSO_RESUME, SubName="Kept"),
    }
)
try_all(
    {
        "nothing retained": lambda: made.subrq(),
        "action": lambda: made.subrq(7),
        "request options": lambda: made.subrq(sro=ibmmq.SRO(Options=4)),
        "request version": lambda: made.subrq(sro=ibmmq.SRO(Version=2)),
        "keep what passes": lambda: made.close(CMQC.MQCO_KEEP_SUB),
        "keep and remove": lambda: made.close(CMQC.MQCO_KEEP_SUB | CMQC.MQCO_REMOVE_SUB),
    }
)
hconn, request = qmgr.get_handle(), ibmmq.SRO().pack()
print("request of a topic", ibmmqc.MQSUBRQ(hconn, opened._Topic__topic_handle, 1, request)[1:])
print("request of nothing", ibmmqc.MQSUBRQ(hconn, gone_handle, 1, request)[1:])
print("no connection", ibmmqc.MQSUB(987654, ibmmq.SD().pack(), 0)[1:])
made.close(CMQC.MQCO_REMOVE_SUB, close_sub_queue=True)
sub(CMQC.MQSO_RESUME, SubName="Kept").close(CMQC.MQCO_REMOVE_SUB, close_sub_queue=True)
for label, action in {
    "no descriptor": lambda: ibmmq.Subscription(qmgr).sub(sub_desc=ibmmq.OD()),
    "no options": lambda: ibmmq.Subscription(qmgr).subrq(sro=ibmmq.SD()),
    "short": lambda: ibmmqc.MQSUB(hconn, b"SD  ", 0),
    "text": lambda: ibmmqc.MQSUB(hconn, ibmmq.SD().pack(), "1"),
}.items():
    try:
        action()
    except Exception as error:
        print(label, type(error).__name__)
opened.close()
queue.close()
qmgr.disconnect()
