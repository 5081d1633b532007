"""Publishing in every way: open topics, topic objects, alias queues, MQPUT1; what publications say of themselves."""

import sys

import ibmmq
from ibmmq import CMQC

qmgr = ibmmq.connect(*sys.argv[1:])
NO_WAIT = ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT)


def taken(subscription: ibmmq.Subscription) -> list[str]:
    found = []
    while True:
        try:
            found.append(subscription.get(None, ibmmq.MD(), NO_WAIT).decode())
        except ibmmq.MQMIError as error:
            if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
                raise
            return found


def described(name: str = "", string: str = "") -> ibmmq.OD:
    od = ibmmq.OD(ObjectType=CMQC.MQOT_TOPIC, ObjectName=name)
    if string:
        od.set_vs("ObjectString", string)
    od.set_vs("ResObjectString", bytes(100), vs_buffer_size=100)
    return od


# By string, by object, by both; open at once, later, or with the first publication.
everything = ibmmq.Subscription(qmgr)
everything.sub(topic_string="price/#")
at_once = ibmmq.Topic(qmgr, topic_string="price/fruit", open_opts=CMQC.MQOO_OUTPUT)
at_once.pub("at once")
later = ibmmq.Topic(qmgr, topic_name="FRUIT")
later.open(open_opts=CMQC.MQOO_OUTPUT | CMQC.MQOO_FAIL_IF_QUIESCING)
later.pub(b"later", ibmmq.MD(Format=CMQC.MQFMT_STRING))
first = ibmmq.Topic(qmgr, topic_string="price/bread")
first.put("with the first")
od = described("FRUIT", "apples/red")
described_topic = ibmmq.Topic(qmgr, topic_desc=od, open_opts=CMQC.MQOO_OUTPUT)
described_topic.pub("described")
print("resolved", od.get_vs("ResObjectString"), od.ResObjectStringVSLength, od.ResolvedType)
print("came", taken(everything))

# An alias queue leads to a topic, and MQPUT1 opens nothing.
queue = ibmmq.Queue(qmgr, "FRUIT.ALIAS", CMQC.MQOO_OUTPUT)
queue.put("through an alias")
qmgr.put1(described(string="price/once"), "put once")
od = described("FRUIT", "pears")
qmgr.put1(od, "put once to an object")
print("came", taken(everything))

# What comes back from a put, and what a publication says of itself.
md, pmo = ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_RETAIN | CMQC.MQPMO_WARN_IF_NO_SUBS_MATCHED)
at_once.pub("told of", md, pmo)
print("put", md.MsgId == CMQC.MQMI_NONE, md.PutDate != bytes(8), pmo.PubLevel, pmo.ResolvedQName.strip(b" \0"))
handle = ibmmq.MessageHandle(qmgr)
gmo = ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=handle.get_handle())
got = ibmmq.MD()
print("got", everything.get(None, got, gmo), got.MsgId != CMQC.MQMI_NONE, got.CorrelId != CMQC.MQCI_NONE)
for name in ("MQTopicString", "mqps.Top"):
    print(name, handle.properties[name])
for name in ("MQIsRetained", "MQSubUserData"):
    try:
        print(name, handle.properties.get(name))
    except ibmmq.MQMIError as error:
        print(name, error.reason)

# Retained for those who come later, who see that it is; gone when cleared.
latecomer = ibmmq.Topic(qmgr, topic_string="price/fruit").sub()
print("retained", latecomer.get(None, ibmmq.MD(), gmo), handle.properties["MQIsRetained"])
latecomer.close(close_sub_queue=True)

# Levels: the highest subscriber takes it.
above = ibmmq.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED, SubLevel=7)
above.set_vs("ObjectString", "price/levels")
interceptor = ibmmq.Subscription(qmgr, sub_desc=above)
levels = ibmmq.Topic(qmgr, topic_string="price/levels", open_opts=CMQC.MQOO_OUTPUT)
levels.pub("to the highest")
levels.pub("below it", ibmmq.MD(), ibmmq.PMO(PubLevel=6))
print("levels", taken(interceptor), taken(everything))

# With headers, as a packet of their own.
header = ibmmq.RFH2(Format=CMQC.MQFMT_STRING, CodedCharSetId=1208, NameValueCCSID=1208)
header.add_folder(b"<usr><colour>green</colour></usr>")
at_once.pub_rfh2(b"with a header", ibmmq.MD(Format=CMQC.MQFMT_RF_HEADER_2), ibmmq.PMO(), [header])
headers: list[ibmmq.RFH2] = []
md = ibmmq.MD()
gmo = ibmmq.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_PROPERTIES_FORCE_MQRFH2)
body = everything.get_rfh2(None, md, gmo, headers)
print("headers", body, [each.get()["usr"] for each in headers if "usr" in each.get()])

# In a unit of work, and to nobody.
at_once.pub("undone", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
qmgr.backout()
at_once.pub("done", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
print("before", taken(everything))
qmgr.commit()
print("after", taken(everything))
nobody = ibmmq.Topic(qmgr, topic_string="nobody/here", open_opts=CMQC.MQOO_OUTPUT)
nobody.pub("unheard")
try:
    nobody.pub("unheard", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_WARN_IF_NO_SUBS_MATCHED))
except ibmmq.MQMIError as error:
    print("nobody", error.comp, error.reason)
for topic in (at_once, later, first, described_topic, levels, nobody):
    topic.close()
for subscription in (everything, interceptor):
    subscription.close(close_sub_queue=True)
qmgr.disconnect()
