"""Publishing and subscribing: topics by string and by object, managed queues and one's own, durable subscriptions."""

import sys

import pymqi
from pymqi import CMQC

qmgr = pymqi.connect(*sys.argv[1:])
NO_WAIT = pymqi.GMO(Options=CMQC.MQGMO_NO_SYNCPOINT)
MANAGED = CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED


def wanted(options: int, topic: str = "", name: str = "") -> pymqi.SD:
    sd = pymqi.SD(Options=options)
    if topic:
        sd.set_vs("ObjectString", topic)
    if name:
        sd.set_vs("SubName", name)
    return sd


def refusal(action: object, *arguments: object, **named: object) -> tuple[int, int]:
    try:
        action(*arguments, **named)
    except pymqi.MQMIError as error:
        return error.comp, error.reason
    return 0, 0


# Topics know how to publish and how to subscribe.
topic = pymqi.Topic(qmgr, topic_string="price/fruit")
subscription = topic.sub()
topic.pub(b"opened by the first")
topic.close()
topic.open(topic_name="FRUIT", topic_string="", open_opts=CMQC.MQOO_OUTPUT)
print("twice", end=" ")
try:
    topic.open(open_opts=CMQC.MQOO_OUTPUT)
except pymqi.PYIFError as error:
    print(type(error).__name__)
topic.close()
by_object = pymqi.Topic(qmgr, topic_name="FRUIT", open_opts=CMQC.MQOO_OUTPUT)
by_object.pub(b"by object")
print("got", subscription.get(None, pymqi.MD(), NO_WAIT), subscription.get(None, pymqi.MD(), NO_WAIT))
print("managed", subscription.get_sub_queue().inquire(CMQC.MQCA_Q_NAME)[:24])
subscription.close(sub_close_options=CMQC.MQCO_NONE, close_sub_queue=True)

# The whole topic comes back in the descriptor of the object.
od = pymqi.OD(ObjectType=CMQC.MQOT_TOPIC, Version=CMQC.MQOD_VERSION_4, ObjectName=b"FRUIT")
od.set_vs("ObjectString", b"pears")
od.set_vs("ResObjectString", bytes(40), 0, 40)
described = pymqi.Topic(qmgr, topic_desc=od, open_opts=CMQC.MQOO_OUTPUT)
print("resolved", od.get_vs("ResObjectString"), od.ResolvedType)
described.close()
qmgr.put1(od, b"to nobody")

# A queue of one's own, by object and by handle.
queue = pymqi.Queue(qmgr, "PROVIDED", CMQC.MQOO_INPUT_SHARED)
one = pymqi.Subscription(qmgr)
one.sub(sub_desc=wanted(CMQC.MQSO_CREATE, "own/one"), sub_queue=queue)
two = pymqi.Subscription(qmgr)
two.sub(sub_desc=wanted(CMQC.MQSO_CREATE, "own/+"), sub_queue=queue.get_handle())
own = pymqi.Topic(qmgr, topic_string="own/one")
own.pub(b"for both")
print("own", queue.get(None, pymqi.MD(), NO_WAIT), one.get(None, pymqi.MD(), NO_WAIT))
one.close()
two.close()
queue.close()

# Durable: made or resumed, kept, and removed.
sd = wanted(MANAGED | CMQC.MQSO_RESUME | CMQC.MQSO_DURABLE, "weather", "Weather")
sd.set_vs("SubUserData", b"rain")
durable = pymqi.Subscription(qmgr, sub_desc=sd)
durable.close(sub_close_options=CMQC.MQCO_KEEP_SUB, close_sub_queue=True)
weather = pymqi.Topic(qmgr, topic_string="weather", open_opts=CMQC.MQOO_OUTPUT)
weather.pub(b"sunny")
print("exists", refusal(pymqi.Subscription(qmgr).sub, wanted(MANAGED | CMQC.MQSO_DURABLE, "weather", "Weather")))
sd = wanted(CMQC.MQSO_RESUME, name="Weather")
sd.set_vs("SubUserData", bytes(20), 0, 20)
sd.set_vs("ResObjectString", bytes(20), 0, 20)
resumed = pymqi.Subscription(qmgr)
resumed.sub(sub_desc=sd)
handle = pymqi.MessageHandle(qmgr)
options = CMQC.MQGMO_NO_SYNCPOINT | CMQC.MQGMO_PROPERTIES_IN_HANDLE
gmo = pymqi.GMO(Version=CMQC.MQGMO_VERSION_4, Options=options, MsgHandle=handle.msg_handle)
print("resumed", resumed.get(None, pymqi.MD(), gmo), bool(sd.Options & CMQC.MQSO_DURABLE))
print("told", sd.get_vs("SubUserData"), sd.get_vs("ResObjectString"), sd.ResObjectStringVSLength)
print("properties", handle.properties.get(b"MQTopicString"), handle.properties.get(b"MQSubUserData"))
resumed.close(sub_close_options=CMQC.MQCO_REMOVE_SUB, close_sub_queue=True)
print("gone", refusal(pymqi.Subscription(qmgr).sub, wanted(CMQC.MQSO_RESUME, name="Weather")))

# With headers, retained, and to nobody.
header = pymqi.RFH2(Format=CMQC.MQFMT_STRING, CodedCharSetId=1208, NameValueCCSID=1208)
header.add_folder(b"<usr><colour>green</colour></usr>")
weather.pub_rfh2(b"body", pymqi.MD(Format=CMQC.MQFMT_RF_HEADER_2), pymqi.PMO(Options=CMQC.MQPMO_RETAIN), [header])
late = pymqi.Subscription(qmgr)
late.sub(topic_string="weather")
headers: list[pymqi.RFH2] = []
print("retained", late.get_rfh2(None, pymqi.MD(), NO_WAIT, headers), len(headers))
late.close(close_sub_queue=True)
warn = pymqi.PMO(Options=CMQC.MQPMO_WARN_IF_NO_SUBS_MATCHED)
print("nobody", refusal(weather.pub, b"", pymqi.MD(), warn))

# Administered by PCF, resumed by a program.
pcf = pymqi.PCFExecute(qmgr)
pcf.MQCMD_CREATE_SUBSCRIPTION(
    {
        pymqi.CMQCFC.MQCACF_SUB_NAME: b"Administered",
        CMQC.MQCA_TOPIC_STRING: b"weather/#",
        pymqi.CMQCFC.MQIACF_DESTINATION_CLASS: CMQC.MQDC_MANAGED,
    }
)
administered = pymqi.Subscription(qmgr)
administered.sub(sub_desc=wanted(CMQC.MQSO_RESUME, name="Administered"))
weather.pub(b"cloudy")
administered.get(None, pymqi.MD(), NO_WAIT)
print("administered", administered.get(None, pymqi.MD(), NO_WAIT))
found = pcf.MQCMD_INQUIRE_SUBSCRIPTION({pymqi.CMQCFC.MQCACF_SUB_NAME: b"Admin*"})
print("inquired", [each[CMQC.MQCA_TOPIC_STRING].rstrip(b"\0") for each in found])
administered.close(close_sub_queue=True)
pcf.MQCMD_DELETE_SUBSCRIPTION({pymqi.CMQCFC.MQCACF_SUB_NAME: b"Administered"})
print("deleted", refusal(pcf.MQCMD_INQUIRE_SUBSCRIPTION, {pymqi.CMQCFC.MQCACF_SUB_NAME: b"Admin*"}))

# What cannot be.
print("unknown", refusal(pymqi.Topic, qmgr, topic_name="NO.SUCH.TOPIC", open_opts=CMQC.MQOO_OUTPUT))
print("closed", refusal(pymqi.Topic(qmgr, topic_string="closed").pub, b""))
print("no subscribers", refusal(pymqi.Topic(qmgr, topic_string="closed").sub))
print("unnamed", refusal(pymqi.Subscription(qmgr).sub, wanted(MANAGED | CMQC.MQSO_DURABLE, "weather")))
print("no queue", refusal(pymqi.Subscription(qmgr).sub, wanted(CMQC.MQSO_CREATE, "weather")))
print("no action", refusal(pymqi.Subscription(qmgr).sub, wanted(CMQC.MQSO_MANAGED, "weather")))
for each in (by_object, own, weather):
    each.close()
qmgr.disconnect()
