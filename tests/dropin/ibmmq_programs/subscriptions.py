"""Subscriptions of every kind: managed and not, passing and durable, resumed, altered, asked for what was retained."""

import sys
import threading

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:])
other = ibmmq.connect(*sys.argv[1:])
NO_WAIT = ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT)
MANAGED = CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED
DURABLE = MANAGED | CMQC.MQSO_DURABLE


def publish(topic: str, message: str, options: int = 0, **fields: object) -> None:
    target = ibmmq.Topic(qmgr, topic_string=topic)
    target.pub(message, ibmmq.MD(**fields), ibmmq.PMO(Options=options))
    target.close()


def taken(source: ibmmq.Subscription | ibmmq.Queue) -> list[str]:
    found = []
    while True:
        try:
            found.append(source.get(None, ibmmq.MD(), NO_WAIT).decode())
        except ibmmq.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            return found


def wanted(options: int, **fields: object) -> ibmmq.SD:
    """A descriptor. Texts are what they are; numbers are the sizes of buffers for texts."""
    sd = ibmmq.SD(Options=options)
    for name, value in fields.items():
        if hasattr(sd, name):
            sd[name] = value
        elif isinstance(value, int):
            sd.set_vs(name, bytes(value), vs_buffer_size=value)
            sd[name + "VSLength"] = 0
        else:
            sd.set_vs(name, value)
    return sd


def options_of(sd: ibmmq.SD) -> list[str]:
    names = "CREATE RESUME ALTER DURABLE MANAGED GROUP_SUB ANY_USERID FIXED_USERID PUBLICATIONS_ON_REQUEST"
    return [name for name in names.split() if sd.Options & getattr(CMQC, "MQSO_" + name)]


# All fields as they are before anything was asked.
sd = ibmmq.SD()
print("defaults", sd.Version, sd.Options, sd.SubExpiry, sd.PubPriority, sd.SubLevel, any(sd.SubCorrelId))

# Managed: the queue comes with it, and goes with it.
sd = wanted(MANAGED, ObjectString="news/#", ResObjectString=50)
managed = ibmmq.Subscription(qmgr, sub_desc=sd)
print("resolved", sd.get_vs("ResObjectString"), sd.ResObjectStringVSLength, any(sd.SubCorrelId), options_of(sd))
publish("news/sport", "one")
publish("news", "two")
publish("other", "three")
queue = managed.get_sub_queue()
name = queue.inquire(CMQC.MQCA_Q_NAME).decode().strip()
print("managed", name.startswith("SYSTEM.MANAGED.NDURABLE."), queue.inquire(CMQC.MQIA_CURRENT_Q_DEPTH))
md = ibmmq.MD()
print("got", managed.get(None, md, NO_WAIT), md.CorrelId == sd.SubCorrelId)
print("browsed", managed.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_BROWSE_FIRST)))
managed.close(close_sub_queue=True)
try:
    ibmmq.Queue(qmgr, name, CMQC.MQOO_INPUT_SHARED)
except ibmmq.MQMIError as error:
    print("its queue", error.reason)

# A queue of one's own, with a selector, a user's data, a correlation identifier and a priority.
queue = ibmmq.Queue(qmgr, "PROVIDED", CMQC.MQOO_INPUT_SHARED)
sd = wanted(
    CMQC.MQSO_CREATE | CMQC.MQSO_SET_CORREL_ID | CMQC.MQSO_WILDCARD_CHAR,
    ObjectString="ne?s/*",
    SubUserData="mine",
    SelectionString="colour = 'red'",
    SubCorrelId=b"C" * 24,
    PubPriority=3,
)
provided = ibmmq.Subscription(qmgr)
provided.sub(sub_desc=sd, sub_queue=queue)
handle = ibmmq.MessageHandle(qmgr)
for colour in ("green", "red"):
    handle.properties["colour"] = colour
    topic = ibmmq.Topic(qmgr, topic_string="nets/colours")
    topic.pub(colour, ibmmq.MD(), ibmmq.PMO(OriginalMsgHandle=handle.get_handle()))
    topic.close()
md, read = ibmmq.MD(), ibmmq.MessageHandle(qmgr)
gmo = ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=read.get_handle())
print("selected", queue.get(None, md, gmo), md.CorrelId, md.Priority)
print("properties", *(read.properties[each] for each in ("colour", "MQTopicString", "MQSubUserData")))
same = provided.get_sub_queue().get_handle() == queue.get_handle()
provided.close()
publish("news/late", "too late")
print("same queue", same, taken(queue))
queue.close()

# Durable: it outlives its connection, and another resumes it.
sd = wanted(DURABLE, ObjectString="weather", SubName="Weather", SubUserData="rain", SubExpiry=36000)
durable = ibmmq.Subscription(other, sub_desc=sd)
try:
    ibmmq.Subscription(qmgr, sub_desc=wanted(CMQC.MQSO_RESUME, SubName="Weather"))
except ibmmq.MQMIError as error:
    print("in use", error.comp, error.reason)
durable.close(sub_close_options=CMQC.MQCO_KEEP_SUB, close_sub_queue=True)
other.disconnect()
publish("weather", "sunny")
try:
    ibmmq.Subscription(qmgr, sub_desc=wanted(DURABLE, ObjectString="weather", SubName="Weather"))
except ibmmq.MQMIError as error:
    print("exists", error.comp, error.reason)
sd = wanted(CMQC.MQSO_RESUME, SubName="Weather", SubUserData=20, ResObjectString=3)
durable = ibmmq.Subscription(qmgr)
durable.sub(sub_desc=sd)
print("resumed", taken(durable), options_of(sd), sd.SubExpiry, sd.SubLevel, sd.get_vs("SubName"))
for name in ("SubUserData", "ResObjectString"):
    print(name, sd.get_vs(name), sd[name + "VSLength"])
durable.close(close_sub_queue=True)

# Altered as it came back, with one change; then removed.
sd.Options |= CMQC.MQSO_ALTER
sd.PubPriority = 8
durable = ibmmq.Subscription(qmgr, sub_desc=sd)
publish("weather", "windy", Priority=1)
md = ibmmq.MD()
print("altered", durable.get(None, md, NO_WAIT), md.Priority)
durable.close(sub_close_options=CMQC.MQCO_REMOVE_SUB, close_sub_queue=True)
try:
    ibmmq.Subscription(qmgr, sub_desc=wanted(CMQC.MQSO_RESUME, SubName="Weather"))
except ibmmq.MQMIError as error:
    print("gone", error.comp, error.reason)

# On request only.
publish("rates/eur", "1.08", CMQC.MQPMO_RETAIN)
publish("rates/gbp", "1.27", CMQC.MQPMO_RETAIN)
asked = ibmmq.Subscription(qmgr)
asked.sub(sub_opts=MANAGED | CMQC.MQSO_PUBLICATIONS_ON_REQUEST, topic_string="rates/+")
print("unasked", taken(asked))
sro = ibmmq.SRO()
asked.subrq(CMQC.MQSR_ACTION_PUBLICATION, sro)
print("asked", sro.NumPubs, sorted(taken(asked)))
asked.close(close_sub_queue=True)
only_new = ibmmq.Subscription(qmgr)
only_new.sub(sub_opts=MANAGED | CMQC.MQSO_NEW_PUBLICATIONS_ONLY, topic_string="rates/+")
publish("rates/usd", "1")
print("only new", taken(only_new))
only_new.close(close_sub_queue=True)

# Texts beyond ASCII, a context of one's own, and what is left when the subscription is closed before its queue.
sd = wanted(
    MANAGED | CMQC.MQSO_SET_IDENTITY_CONTEXT,
    ObjectString="počasí/Brno".encode(),
    SubUserData="údaje".encode(),
    ResObjectString=50,
    PubAccountingToken=b"T" * 32,
    PubApplIdentityData="ours",
)
named = ibmmq.Subscription(qmgr, sub_desc=sd)
topic = ibmmq.Topic(qmgr, topic_string="počasí/Brno".encode())
topic.pub("slunce")
topic.close()
named.close()
md = ibmmq.MD()
print("left", named.get(None, md, gmo), sd.get_vs("ResObjectString").decode())
print("texts", read.properties["MQTopicString"], read.properties["MQSubUserData"])
print("context", md.AccountingToken == b"T" * 32, md.ApplIdentityData.strip(), sd.PubApplIdentityData.strip())
named.get_sub_queue().close()

# Of an administrator: resumed by name alone, or with the queue that it leads to.
pcf = ibmmq.PCFExecute(qmgr)
create = {ibmmq.CMQCFC.MQCACF_SUB_NAME: "By command", CMQC.MQCA_TOPIC_STRING: "commands"}
for kind, queue in ((CMQC.MQDC_MANAGED, None), (CMQC.MQDC_PROVIDED, "PROVIDED")):
    create[ibmmq.CMQCFC.MQIACF_DESTINATION_CLASS] = kind
    if queue:
        create[ibmmq.CMQCFC.MQCACF_DESTINATION] = queue
    pcf.MQCMD_CREATE_SUBSCRIPTION(create)
    sd = wanted(CMQC.MQSO_RESUME, SubName="By command", ObjectString="commands")
    by_command = ibmmq.Subscription(qmgr)
    own = ibmmq.Queue(qmgr, queue, CMQC.MQOO_INPUT_SHARED) if queue else None
    by_command.sub(sub_desc=sd, sub_queue=own)
    publish("commands", "defined")
    print("by command", taken(by_command), options_of(sd))
    found = pcf.MQCMD_INQUIRE_SUBSCRIPTION({ibmmq.CMQCFC.MQCACF_SUB_NAME: "By *"})
    print("inquired", [each[ibmmq.CMQCFC.MQIACF_DESTINATION_CLASS] for each in found])
    by_command.close(close_sub_queue=True)
    pcf.MQCMD_DELETE_SUBSCRIPTION({ibmmq.CMQCFC.MQBACF_SUB_ID: ibmmq.ByteString(found[0][ibmmq.CMQCFC.MQBACF_SUB_ID])})
try:
    pcf.MQCMD_INQUIRE_SUBSCRIPTION({ibmmq.CMQCFC.MQCACF_SUB_NAME: "By *"})
except ibmmq.MQMIError as error:
    print("no more", error.comp, error.reason)
pcf.disconnect()

# Not what this connection publishes itself, and what a callback is given.
own = ibmmq.Subscription(qmgr)
own.sub(topic_string="talk")
topic = ibmmq.Topic(qmgr, topic_string="talk", open_opts=CMQC.MQOO_OUTPUT)
topic.pub("to others", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_NOT_OWN_SUBS))
topic.pub("to all")
print("own", taken(own))
seen: list[str] = []
came = threading.Event()


def on_message(**call: object) -> None:
    if call["cbc"].CallType == CMQC.MQCBCT_MSG_REMOVED:
        seen.append(call["msg"].decode())
        came.set()


own.get_sub_queue().cb(operation=CMQC.MQOP_REGISTER, cbd=ibmmq.CBD(CallbackFunction=on_message), gmo=NO_WAIT)
topic.pub("to a callback")
qmgr.ctl(CMQC.MQOP_START, ibmmq.CTLO())
came.wait(60)
qmgr.ctl(CMQC.MQOP_STOP, ibmmq.CTLO())
print("called", seen)
topic.close()
own.close(close_sub_queue=True)
qmgr.disconnect()
