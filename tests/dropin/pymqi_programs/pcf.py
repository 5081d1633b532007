"""Administer a queue manager, as monitoring programs do."""

import sys

import pymqi
from pymqi import CMQC, CMQCFC

qmgr = pymqi.connect(*sys.argv[1:])
print("connected", qmgr.is_connected)
pcf = pymqi.PCFExecute(qmgr, response_wait_interval=30000)
print("ping", pcf.MQCMD_PING_Q_MGR())
name = {CMQC.MQCA_Q_NAME: b"PCF.ONE", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL}
print("create", pcf.MQCMD_CREATE_Q({**name, CMQC.MQIA_MAX_Q_DEPTH: 11}))
found = pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"PCF.*", CMQCFC.MQIACF_Q_ATTRS: CMQC.MQIA_MAX_Q_DEPTH})
print("found", [(each[CMQC.MQCA_Q_NAME].strip(), each[CMQC.MQIA_MAX_Q_DEPTH]) for each in found])
deep = pymqi.Filter(CMQC.MQIA_MAX_Q_DEPTH).greater(11)
try:
    pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: b"PCF.*"}, [deep])
except pymqi.MQMIError as error:
    print("filtered", error.comp, error.reason)
(names,) = pcf.MQCMD_INQUIRE_Q_NAMES({CMQC.MQCA_Q_NAME: b"PCF.*"})
print("names", [each.strip() for each in names[CMQCFC.MQCACF_Q_NAMES]])
(status,) = pcf.MQCMD_INQUIRE_Q_STATUS({CMQC.MQCA_Q_NAME: b"PCF.ONE"})
print("status", status[CMQC.MQIA_CURRENT_Q_DEPTH], status[CMQCFC.MQIACF_Q_TIME_INDICATOR])
for command, arguments in (
    ("MQCMD_INQUIRE_CHANNEL_STATUS", {CMQCFC.MQCACH_CHANNEL_NAME: b"NO.SUCH.CHANNEL"}),
    ("MQCMD_INQUIRE_Q", {CMQC.MQCA_Q_NAME: b"NO.SUCH.QUEUE"}),
    ("MQCMD_CREATE_Q", name),
    ("MQCMD_INQUIRE_Q", {CMQC.MQCA_Q_NAME: b"*", 4711: 1}),
):
    try:
        getattr(pcf, command)(arguments)
    except pymqi.MQMIError as error:
        print("refused", error.comp, error.reason)
connections = pcf.MQCMD_INQUIRE_CONNECTION({CMQCFC.MQBACF_GENERIC_CONNECTION_ID: pymqi.ByteString(b"")})
print("connections", all(len(each[CMQCFC.MQBACF_CONNECTION_ID]) == 24 for each in connections))
print("delete", pcf.MQCMD_DELETE_Q({CMQC.MQCA_Q_NAME: b"PCF.ONE"}))
pcf.disconnect()
qmgr.disconnect()
