"""Administer a queue manager: make, look at, change and delete objects, rules and authorities; see what fails."""

import sys

import ibmmq
from ibmmq import CMQC, CMQCFC, CMQXC

qmgr = ibmmq.connect(*sys.argv[1:])
pcf = ibmmq.PCFExecute(qmgr, response_wait_interval=30000)


def text(value: bytes) -> str:
    return value.decode().strip()


def attempt(label: str, command: str, *arguments: object) -> None:
    try:
        print(label, len(getattr(pcf, command)(*arguments)))
    except ibmmq.MQMIError as error:
        print(label, error.comp, error.reason, error.errorAsString().split()[-1])


print("ping", pcf.MQCMD_PING_Q_MGR())
name = {CMQC.MQCA_Q_NAME: "PCF.ONE", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL}
print("create", pcf.MQCMD_CREATE_Q({**name, CMQC.MQCA_Q_DESC: "first", CMQC.MQIA_MAX_Q_DEPTH: 11}))
pcf.MQCMD_CREATE_Q({CMQC.MQCA_Q_NAME: "PCF.TWO", CMQC.MQIA_Q_TYPE: CMQC.MQQT_LOCAL, CMQC.MQIA_MAX_Q_DEPTH: 22})
pcf.MQCMD_CREATE_Q(
    {CMQC.MQCA_Q_NAME: "PCF.ALIAS", CMQC.MQIA_Q_TYPE: CMQC.MQQT_ALIAS, CMQC.MQCA_BASE_OBJECT_NAME: "PCF.ONE"}
)
for found in pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: "PCF.*"}):
    print("queue", text(found[CMQC.MQCA_Q_NAME]), found[CMQC.MQIA_Q_TYPE], found.get(CMQC.MQIA_MAX_Q_DEPTH))
asked = {CMQC.MQCA_Q_NAME: "PCF.*", CMQCFC.MQIACF_Q_ATTRS: [CMQC.MQIA_CURRENT_Q_DEPTH]}
for found in pcf.MQCMD_INQUIRE_Q(asked, [ibmmq.Filter(CMQC.MQIA_MAX_Q_DEPTH).greater(11)]):
    print("filtered", text(found[CMQC.MQCA_Q_NAME]), sorted(found))
for found in pcf.MQCMD_INQUIRE_Q(asked, [ibmmq.Filter(CMQC.MQCA_Q_DESC).like(b"fir*")]):
    print("like", text(found[CMQC.MQCA_Q_NAME]))
(names,) = pcf.MQCMD_INQUIRE_Q_NAMES({CMQC.MQCA_Q_NAME: "PCF.*"})
print("names", [text(each) for each in names[CMQCFC.MQCACF_Q_NAMES]], names[CMQCFC.MQIACF_Q_TYPES])
pcf.MQCMD_CHANGE_Q({**name, CMQC.MQIA_MAX_Q_DEPTH: 33})
qmgr.put1("PCF.ONE", b"message")
(status,) = pcf.MQCMD_INQUIRE_Q_STATUS({CMQC.MQCA_Q_NAME: "PCF.ONE"})
print("status", status[CMQC.MQIA_CURRENT_Q_DEPTH], status[CMQCFC.MQIACF_UNCOMMITTED_MSGS])
(counts,) = pcf.MQCMD_RESET_Q_STATS({CMQC.MQCA_Q_NAME: "PCF.ONE"})
print("counts", counts[CMQC.MQIA_MSG_ENQ_COUNT], counts[CMQC.MQIA_MSG_DEQ_COUNT])
attempt("not empty", "MQCMD_DELETE_Q", {CMQC.MQCA_Q_NAME: "PCF.ONE"})
attempt("cleared", "MQCMD_CLEAR_Q", {CMQC.MQCA_Q_NAME: "PCF.ONE"})

channel = {CMQCFC.MQCACH_CHANNEL_NAME: "PCF.CHANNEL", CMQCFC.MQIACH_CHANNEL_TYPE: CMQXC.MQCHT_SVRCONN}
pcf.MQCMD_CREATE_CHANNEL({**channel, CMQCFC.MQCACH_DESC: "ours"})
(found,) = pcf.MQCMD_INQUIRE_CHANNEL({CMQCFC.MQCACH_CHANNEL_NAME: "PCF.CHANNEL"})
print("channel", text(found[CMQCFC.MQCACH_CHANNEL_NAME]), text(found[CMQCFC.MQCACH_DESC]))
attempt("no status", "MQCMD_INQUIRE_CHANNEL_STATUS", {CMQCFC.MQCACH_CHANNEL_NAME: "PCF.CHANNEL"})
if len(sys.argv) > 2:
    (found,) = pcf.MQCMD_INQUIRE_CHANNEL_STATUS({CMQCFC.MQCACH_CHANNEL_NAME: sys.argv[2]})
    assert found[CMQCFC.MQIACH_CHANNEL_STATUS] == CMQCFC.MQCHS_RUNNING, found

rule = {CMQCFC.MQCACH_CHANNEL_NAME: "PCF.CHANNEL", CMQCFC.MQIACF_CHLAUTH_TYPE: CMQCFC.MQCAUT_ADDRESSMAP}
rule[CMQCFC.MQCACH_CONNECTION_NAME] = "10.1.2.*"
pcf.MQCMD_SET_CHLAUTH_REC({**rule, CMQCFC.MQCACH_MCA_USER_ID: "app"})
(found,) = pcf.MQCMD_INQUIRE_CHLAUTH_RECS({CMQCFC.MQCACH_CHANNEL_NAME: "PCF.*"})
print("rule", text(found[CMQCFC.MQCACH_CONNECTION_NAME]), text(found[CMQCFC.MQCACH_MCA_USER_ID]))
attempt("rule again", "MQCMD_SET_CHLAUTH_REC", {**rule, CMQCFC.MQCACH_MCA_USER_ID: "app"})
pcf.MQCMD_SET_CHLAUTH_REC({**rule, CMQCFC.MQIACF_ACTION: CMQCFC.MQACT_REMOVE})

record = {CMQCFC.MQCACF_AUTH_PROFILE_NAME: "PCF.**", CMQCFC.MQIACF_OBJECT_TYPE: CMQC.MQOT_Q}
who = {CMQCFC.MQCACF_GROUP_ENTITY_NAMES: ["apps"]}
pcf.MQCMD_SET_AUTH_REC({**record, CMQCFC.MQIACF_AUTH_ADD_AUTHS: [CMQCFC.MQAUTH_INPUT, CMQCFC.MQAUTH_BROWSE], **who})
options = {CMQCFC.MQIACF_AUTH_OPTIONS: CMQCFC.MQAUTHOPT_NAME_EXPLICIT}
(found,) = pcf.MQCMD_INQUIRE_AUTH_RECS({**options, **record})
print("record", text(found[CMQCFC.MQCACF_ENTITY_NAME]), found[CMQCFC.MQIACF_AUTHORIZATION_LIST])
attempt("record deleted", "MQCMD_DELETE_AUTH_REC", {**record, **who})

(found,) = pcf.MQCMD_ESCAPE(
    {CMQCFC.MQIACF_ESCAPE_TYPE: CMQCFC.MQET_MQSC, CMQCFC.MQCACF_ESCAPE_TEXT: "DISPLAY QLOCAL(PCF.ONE) MAXDEPTH"}
)
print("escape", "MAXDEPTH(33)" in text(found[CMQCFC.MQCACF_ESCAPE_TEXT]))
(found,) = pcf.MQCMD_INQUIRE_Q_MGR({CMQCFC.MQIACF_Q_MGR_ATTRS: [CMQC.MQIA_COMMAND_LEVEL]})
print("manager", text(found[CMQC.MQCA_Q_MGR_NAME]), found[CMQC.MQIA_COMMAND_LEVEL])
(found,) = pcf.MQCMD_INQUIRE_Q_MGR_STATUS()
print("server", found[CMQCFC.MQIACF_CMD_SERVER_STATUS] == CMQC.MQSVC_STATUS_RUNNING)
everybody = {CMQCFC.MQBACF_GENERIC_CONNECTION_ID: ibmmq.ByteString(b"")}
print("connections", len(pcf.MQCMD_INQUIRE_CONNECTION(everybody)) > 1)

attempt("unknown", "MQCMD_INQUIRE_Q", {CMQC.MQCA_Q_NAME: "NO.SUCH.QUEUE"})
attempt("twice", "MQCMD_CREATE_Q", name)
attempt("wrong value", "MQCMD_CHANGE_Q", {**name, CMQC.MQIA_DEF_PRIORITY: 10})
attempt("wrong attribute", "MQCMD_CHANGE_Q", {**name, CMQC.MQCA_REMOTE_Q_NAME: "X"})
attempt("missing", "MQCMD_CREATE_Q", {CMQC.MQCA_Q_NAME: "X"})
attempt("no channel", "MQCMD_STOP_CHANNEL", {CMQCFC.MQCACH_CHANNEL_NAME: "NO.SUCH.CHANNEL"})
responses: list[object] = []
try:
    pcf.MQCMD_INQUIRE_Q({CMQC.MQCA_Q_NAME: "NO.SUCH.QUEUE"}, responses=responses)
except ibmmq.MQMIError as error:
    print("collected", error.reason, len(responses))

attempt("channel deleted", "MQCMD_DELETE_CHANNEL", {CMQCFC.MQCACH_CHANNEL_NAME: "PCF.CHANNEL"})
for each in ("PCF.ALIAS", "PCF.ONE", "PCF.TWO"):
    pcf.MQCMD_DELETE_Q({CMQC.MQCA_Q_NAME: each})
attempt("gone", "MQCMD_INQUIRE_Q", {CMQC.MQCA_Q_NAME: "PCF.*"})
pcf.disconnect()
qmgr.disconnect()
