"""All the ways in which a program on ibmmq says where its queue manager is. Its arguments are what it needs to know."""

import json
import os
import sys

import ibmmq
from ibmmq import CMQC

name, channel, secure, mutual, address, dead, keys, certificates_of_nobody = sys.argv[1:]


def attempt(label: str, **arguments: object) -> None:
    try:
        qmgr = ibmmq.connect(arguments.pop("qmgr", name), **arguments)
        print(label, "->", qmgr.inquire(CMQC.MQCA_Q_MGR_NAME).decode().strip())
        qmgr.disconnect()
    except ibmmq.MQMIError as error:
        print(label, error.comp, error.reason)


client = ibmmq.CNO(Options=CMQC.MQCNO_CLIENT_BINDING)
attempt("channel and address", channel=channel, conn_info=address)
attempt("list, first dead", channel=channel, conn_info=f"{dead},{address}")
attempt("any queue manager", qmgr="*ANY", channel=channel, conn_info=address)
attempt("another queue manager", qmgr="OTHER", channel=channel, conn_info=address)
attempt("nobody there", channel=channel, conn_info=dead)
attempt("unknown channel", channel="NO.SUCH.CHANNEL", conn_info=address)
attempt("nothing said", cno=client)
os.environ["MQSERVER"] = f"{channel}/TCP/{address}"
attempt("MQSERVER", cno=client)
attempt("MQSERVER, binding open")
attempt("MQSERVER, but local", cno=ibmmq.CNO(Options=CMQC.MQCNO_LOCAL_BINDING))
del os.environ["MQSERVER"]

host, _, port = address.rstrip(")").partition("(")
table = {
    "channel": [
        {
            "name": channel,
            "type": "clientConnection",
            "clientConnection": {"connection": [{"host": host, "port": int(port)}], "queueManager": name},
        }
    ]
}
with open("ccdt.json", "w") as file:
    json.dump(table, file)
os.environ["MQCCDTURL"] = "file://" + os.path.abspath("ccdt.json")
attempt("MQCCDTURL", cno=client)
del os.environ["MQCCDTURL"]
attempt("CCDTUrl", cno=ibmmq.CNO(Options=CMQC.MQCNO_CLIENT_BINDING, CCDTUrl="file://" + os.path.abspath("ccdt.json")))

attempt("password in clear", channel=channel, conn_info="192.0.2.1(1414)", user="app", password="secret")
attempt("password, here", channel=channel, conn_info=address, user="app", password="secret")

sco = ibmmq.SCO(KeyRepository=keys)
cipher = "TLS_AES_256_GCM_SHA384"
attempt("TLS", channel=secure, conn_info=address, cd=ibmmq.CD(SSLCipherSpec=cipher), sco=sco)
attempt(
    "TLS, password",
    channel=secure,
    conn_info=address,
    cd=ibmmq.CD(SSLCipherSpec=cipher),
    sco=sco,
    csp=ibmmq.CSP(CSPUserId="app", CSPPassword="secret"),
)
attempt(
    "TLS, peer",
    channel=secure,
    conn_info=address,
    cd=ibmmq.CD(SSLCipherSpec=cipher, SSLPeerNamePtr=f"CN={name},O=Ostler"),
    sco=sco,
)
attempt(
    "TLS, other peer",
    channel=secure,
    conn_info=address,
    cd=ibmmq.CD(SSLCipherSpec=cipher, SSLPeerNamePtr="CN=OTHER"),
    sco=sco,
)
attempt("TLS, no keys", channel=secure, conn_info=address, cd=ibmmq.CD(SSLCipherSpec=cipher))
attempt(
    "TLS, another authority",
    channel=secure,
    conn_info=address,
    cd=ibmmq.CD(SSLCipherSpec=cipher),
    sco=ibmmq.SCO(KeyRepository=certificates_of_nobody),
)
attempt("TLS, other cipher", channel=secure, conn_info=address, cd=ibmmq.CD(SSLCipherSpec="NO_SUCH_SPEC"), sco=sco)
attempt("no TLS on a TLS channel", channel=secure, conn_info=address)
attempt(
    "mutual TLS",
    channel=mutual,
    conn_info=address,
    cd=ibmmq.CD(SSLCipherSpec=cipher, CertificateLabel="app1"),
    sco=sco,
)
attempt(
    "mutual TLS, label in SCO",
    channel=mutual,
    conn_info=address,
    cd=ibmmq.CD(SSLCipherSpec=cipher),
    sco=ibmmq.SCO(KeyRepository=keys, CertificateLabel="app1"),
)
