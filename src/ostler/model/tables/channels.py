"""The attributes of channels and listeners.

Which types of channel have an attribute stands behind `for`; without it all of them do.
"""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_types import Attribute
from ostler.model.tables.row_reader import read_rows

ATTRIBUTES: Final[tuple[Attribute, ...]] = read_rows("""\
* CHANNEL
CHANNEL MQCACH_CHANNEL_NAME name=20
    The name of the channel; both ends have the same.
CHLTYPE MQIACH_CHANNEL_TYPE word ignored=CLUSSDR,CLUSRCVR,MQTT,AMQP given lasting error=MQRCCF_CHANNEL_TYPE_ERROR \
SDR=MQCHT_SENDER SVR=MQCHT_SERVER \
RCVR=MQCHT_RECEIVER RQSTR=MQCHT_REQUESTER CLNTCONN=MQCHT_CLNTCONN SVRCONN=MQCHT_SVRCONN CLUSRCVR=MQCHT_CLUSRCVR \
CLUSSDR=MQCHT_CLUSSDR MQTT=MQCHT_MQTT AMQP=MQCHT_AMQP
    The type of the channel.
TRPTYPE MQIACH_XMIT_PROTOCOL_TYPE word ignored=LU62,NETBIOS,SPX default=TCP \
for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR,MQTT \
error=MQRCCF_XMIT_PROTOCOL_TYPE_ERR LU62=MQXPT_LU62 TCP=MQXPT_TCP NETBIOS=MQXPT_NETBIOS SPX=MQXPT_SPX
    The network protocol of the channel.
DESCR MQCACH_DESC text=64 default=
    A comment for people.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the definition was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the definition was last changed.
AFFINITY MQIACH_CONNECTION_AFFINITY word default=PREFERRED for=CLNTCONN PREFERRED=MQCAFTY_PREFERRED NONE=MQCAFTY_NONE
    Whether a client that connects again goes to the same queue manager.
AMQPKA MQIACH_AMQP_KEEP_ALIVE integer=0..99999 default=AUTO for=AMQP AUTO=MQKAI_AUTO
    After how many milliseconds of silence an AMQP client counts as gone.
BACKLOG MQIACH_BACKLOG integer=0..999999999 default=4096 for=MQTT error=MQRCCF_BACKLOG_OUT_OF_RANGE
    How many connections may wait to be accepted.
BATCHHB MQIACH_BATCH_HB integer=0..999999 default=0 for=SDR,SVR,CLUSSDR,CLUSRCVR
    Within how many milliseconds the partner must have been heard before a batch is committed.
BATCHINT MQIACH_BATCH_INTERVAL integer=0..999999999 default=0 for=SDR,SVR,CLUSSDR,CLUSRCVR error=MQRCCF_BATCH_INT_ERROR
    For how many milliseconds a batch is kept open for further messages.
BATCHLIM MQIACH_BATCH_DATA_LIMIT integer=0..999999 default=5000 for=SDR,SVR,CLUSSDR,CLUSRCVR
    After how many kilobytes a batch ends.
BATCHSZ MQIACH_BATCH_SIZE integer=1..9999 default=50 for=SDR,SVR,RCVR,RQSTR,CLUSSDR,CLUSRCVR \
error=MQRCCF_BATCH_SIZE_ERROR
    After how many messages a batch ends.
CERTLABL MQCA_CERT_LABEL text=64 default= for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSRCVR,AMQP
    The label of the certificate that the channel shows, if not that of the queue manager.
CLNTWGHT MQIACH_CLIENT_CHANNEL_WEIGHT integer=0..99 default=0 for=CLNTCONN
    The share of connections that go through this of several client channels.
CLUSNL MQCA_CLUSTER_NAMELIST name=48 ignored default= for=CLUSSDR,CLUSRCVR
    The namelist of the clusters that the channel belongs to.
CLUSTER MQCA_CLUSTER_NAME name=48 ignored default= for=CLUSSDR,CLUSRCVR
    The cluster that the channel belongs to.
CLWLPRTY MQIACH_CLWL_CHANNEL_PRIORITY integer=0..9 default=0 for=CLUSSDR,CLUSRCVR
    The priority of the channel when work is spread.
CLWLRANK MQIACH_CLWL_CHANNEL_RANK integer=0..9 default=0 for=CLUSSDR,CLUSRCVR
    The rank of the channel when work is spread.
CLWLWGHT MQIACH_CLWL_CHANNEL_WEIGHT integer=1..99 default=50 for=CLUSSDR,CLUSRCVR
    The share of messages that the channel gets when work is spread.
COMPHDR MQIACH_HDR_COMPRESSION words=2 default=NONE for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR \
NONE=MQCOMPRESS_NONE SYSTEM=MQCOMPRESS_SYSTEM
    How headers are compressed, the most wanted way first.
COMPMSG MQIACH_MSG_COMPRESSION words=16 default=NONE for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR \
NONE=MQCOMPRESS_NONE RLE=MQCOMPRESS_RLE ZLIBFAST=MQCOMPRESS_ZLIBFAST ZLIBHIGH=MQCOMPRESS_ZLIBHIGH \
LZ4FAST=MQCOMPRESS_LZ4FAST LZ4HIGH=MQCOMPRESS_LZ4HIGH ANY=MQCOMPRESS_ANY
    How message data is compressed, the most wanted way first.
CONNAME MQCACH_CONNECTION_NAME text=264 default= for=SDR,SVR,RQSTR,CLNTCONN,CLUSSDR,CLUSRCVR \
error=MQRCCF_CONN_NAME_ERROR
    The address of the partner, such as host(1414); several are separated by commas.
CONVERT MQIACH_DATA_CONVERSION word default=NO for=SDR,SVR,CLUSSDR,CLUSRCVR error=MQRCCF_DATA_CONV_VALUE_ERROR \
NO=MQCDC_NO_SENDER_CONVERSION YES=MQCDC_SENDER_CONVERSION
    Whether the sending end converts messages for a partner that cannot.
DEFRECON MQIACH_DEF_RECONNECT word default=NO for=CLNTCONN NO=MQRCN_NO YES=MQRCN_YES QMGR=MQRCN_Q_MGR \
DISABLED=MQRCN_DISABLED
    Whether clients that do not say so reconnect by themselves.
DISCINT MQIACH_DISC_INTERVAL integer=0..999999 default=6000 SVRCONN.default=0 for=SDR,SVR,SVRCONN,CLUSSDR,CLUSRCVR \
error=MQRCCF_DISC_INT_ERROR
    After how many seconds without work the channel ends.
HBINT MQIACH_HB_INTERVAL integer=0..999999 default=300 for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR \
error=MQRCCF_HB_INTERVAL_ERROR
    Every how many seconds of silence the partner is asked whether it is still there.
JAASCFG MQCACH_JAAS_CONFIG text=1024 default= for=MQTT
    The name of the JAAS configuration that checks clients.
KAINT MQIACH_KEEP_ALIVE_INTERVAL integer=0..99999 default=AUTO \
for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR error=MQRCCF_KEEP_ALIVE_INT_ERROR AUTO=MQKAI_AUTO
    After how many seconds TCP itself checks the connection.
LOCLADDR MQCACH_LOCAL_ADDRESS text=48 default= for=SDR,SVR,RQSTR,CLNTCONN,CLUSSDR,CLUSRCVR,MQTT,AMQP
    The local address and ports to use.
LONGRTY MQIACH_LONG_RETRY integer=0..999999999 default=999999999 for=SDR,SVR,CLUSSDR,CLUSRCVR \
error=MQRCCF_LONG_RETRY_ERROR
    How often to try to connect after the short tries have failed.
LONGTMR MQIACH_LONG_TIMER integer=0..999999999 default=1200 for=SDR,SVR,CLUSSDR,CLUSRCVR error=MQRCCF_LONG_TIMER_ERROR
    How many seconds to wait between the long tries.
MAXINST MQIACH_MAX_INSTANCES integer=0..999999999 default=999999999 for=SVRCONN,AMQP error=MQRCCF_MAX_INSTANCES_ERROR
    How many instances of the channel may run at a time.
MAXINSTC MQIACH_MAX_INSTS_PER_CLIENT integer=0..999999999 default=999999999 for=SVRCONN \
error=MQRCCF_MAX_INSTS_PER_CLNT_ERR
    How many instances of the channel one client may have.
MAXMSGL MQIACH_MAX_MSG_LENGTH integer=0..104857600 default=4194304 \
for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR,AMQP error=MQRCCF_MAX_MSG_LENGTH_ERROR
    The longest message, in bytes, that the channel carries.
MCANAME MQCACH_MCA_NAME text=20 ignored default= for=SDR,SVR,RQSTR,CLUSSDR,CLUSRCVR
    The name of the message channel agent; it must be blank.
MCATYPE MQIACH_MCA_TYPE word ignored default=PROCESS CLUSSDR.default=THREAD CLUSRCVR.default=THREAD \
for=SDR,SVR,RQSTR,CLUSSDR,CLUSRCVR error=MQRCCF_MCA_TYPE_ERROR PROCESS=MQMCAT_PROCESS THREAD=MQMCAT_THREAD
    Whether the channel runs as a process or as a thread.
MCAUSER MQCACH_MCA_USER_ID text=64 default= for=SDR,SVR,RCVR,RQSTR,SVRCONN,CLUSSDR,CLUSRCVR,MQTT,AMQP
    The user whose authority the channel uses.
MODENAME MQCACH_MODE_NAME text=8 ignored default= for=SDR,SVR,RQSTR,CLNTCONN,CLUSSDR,CLUSRCVR
    The LU 6.2 mode.
MONCHL MQIA_MONITORING_CHANNEL word default=QMGR for=SDR,SVR,RCVR,RQSTR,SVRCONN,CLUSSDR,CLUSRCVR \
QMGR=MQMON_Q_MGR @levels
    How closely the channel is watched.
MRDATA MQCACH_MR_EXIT_USER_DATA text=32 ignored default= for=RCVR,RQSTR,CLUSRCVR
    Text handed to the message-retry exit.
MREXIT MQCACH_MR_EXIT_NAME text=128 ignored default= for=RCVR,RQSTR,CLUSRCVR error=MQRCCF_MR_EXIT_NAME_ERROR
    The message-retry exit.
MRRTY MQIACH_MR_COUNT integer=0..999999999 default=10 for=RCVR,RQSTR,CLUSRCVR error=MQRCCF_MR_COUNT_ERROR
    How often a message that cannot be put is tried again.
MRTMR MQIACH_MR_INTERVAL integer=0..999999999 default=1000 for=RCVR,RQSTR,CLUSRCVR error=MQRCCF_MR_INTERVAL_ERROR
    How many milliseconds to wait before a message is tried again.
MSGDATA MQCACH_MSG_EXIT_USER_DATA texts=8x32 ignored default= for=SDR,SVR,RCVR,RQSTR,CLUSSDR,CLUSRCVR
    Text handed to the message exits.
MSGEXIT MQCACH_MSG_EXIT_NAME texts=8x128 ignored default= for=SDR,SVR,RCVR,RQSTR,CLUSSDR,CLUSRCVR \
error=MQRCCF_MSG_EXIT_NAME_ERROR
    The message exits.
NETPRTY MQIACH_NETWORK_PRIORITY integer=0..9 default=0 for=CLUSRCVR error=MQRCCF_NET_PRIORITY_ERROR
    The priority of the network connection.
NPMSPEED MQIACH_NPM_SPEED word default=FAST for=SDR,SVR,RCVR,RQSTR,CLUSSDR,CLUSRCVR error=MQRCCF_NPM_SPEED_ERROR \
NORMAL=MQNPMS_NORMAL FAST=MQNPMS_FAST
    Whether nonpersistent messages travel outside the batch, and may be lost with the channel.
PASSWORD MQCACH_PASSWORD text=12 ignored default= masked for=SDR,SVR,RQSTR,CLNTCONN,CLUSSDR
    The LU 6.2 password.
PORT MQIACH_PORT integer=0..65535 default=0 AMQP.default=5672 MQTT.default=1883 for=AMQP,MQTT \
error=MQRCCF_PORT_NUMBER_ERROR
    The port on which the channel listens.
PROPCTL MQIA_PROPERTY_CONTROL word ignored default=COMPAT for=SDR,SVR,CLUSSDR,CLUSRCVR COMPAT=MQPROP_COMPATIBILITY \
NONE=MQPROP_NONE ALL=MQPROP_ALL
    What becomes of message properties on the way to a partner that does not know them.
PROTOCOL MQIACH_PROTOCOL words=4 default=MQTTV3,MQTTV311,HTTP for=MQTT MQTTV3=MQPROTO_MQTTV3 \
MQTTV311=MQPROTO_MQTTV311 MQTTV5=MQPROTO_MQTTV5 HTTP=MQPROTO_HTTP
    The protocols that the channel speaks.
PUTAUT MQIACH_PUT_AUTHORITY word default=DEF for=RCVR,RQSTR,SVRCONN,CLUSRCVR error=MQRCCF_PUT_AUTH_ERROR \
DEF=MQPA_DEFAULT CTX=MQPA_CONTEXT ONLYMCA=MQPA_ONLY_MCA ALTMCA=MQPA_ALTERNATE_OR_MCA
    Whose authority is used to put messages.
QMNAME MQCA_Q_MGR_NAME name=48 default= for=CLNTCONN
    The queue manager, or the group of them, that clients ask for.
RCVDATA MQCACH_RCV_EXIT_USER_DATA texts=8x32 ignored default= for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR
    Text handed to the receive exits.
RCVEXIT MQCACH_RCV_EXIT_NAME texts=8x128 ignored default= for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR \
error=MQRCCF_RCV_EXIT_NAME_ERROR
    The receive exits.
SCYDATA MQCACH_SEC_EXIT_USER_DATA text=32 ignored default= for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR
    Text handed to the security exit.
SCYEXIT MQCACH_SEC_EXIT_NAME text=128 ignored default= for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR \
error=MQRCCF_SEC_EXIT_NAME_ERROR
    The security exit.
SENDDATA MQCACH_SEND_EXIT_USER_DATA texts=8x32 ignored default= for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR
    Text handed to the send exits.
SENDEXIT MQCACH_SEND_EXIT_NAME texts=8x128 ignored default= for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR \
error=MQRCCF_SEND_EXIT_NAME_ERROR
    The send exits.
SEQWRAP MQIACH_SEQUENCE_NUMBER_WRAP integer=100..999999999 default=999999999 for=SDR,SVR,RCVR,RQSTR,CLUSSDR,CLUSRCVR \
error=MQRCCF_SEQ_NUMBER_WRAP_ERROR
    The number after which messages are counted from one again.
SHARECNV MQIACH_SHARING_CONVERSATIONS integer=0..999999999 default=10 for=CLNTCONN,SVRCONN \
error=MQRCCF_SHARING_CONVS_ERROR
    How many conversations share one network connection.
SHORTRTY MQIACH_SHORT_RETRY integer=0..999999999 default=10 for=SDR,SVR,CLUSSDR,CLUSRCVR error=MQRCCF_SHORT_RETRY_ERROR
    How often to try to connect at first.
SHORTTMR MQIACH_SHORT_TIMER integer=0..999999999 default=60 for=SDR,SVR,CLUSSDR,CLUSRCVR \
error=MQRCCF_SHORT_TIMER_ERROR
    How many seconds to wait between the short tries.
SPLPROT MQIACH_SPL_PROTECTION word ignored default=PASSTHRU for=SDR,SVR,RCVR,RQSTR PASSTHRU=MQSPL_PASSTHRU \
REMOVE=MQSPL_REMOVE ASPOLICY=MQSPL_AS_POLICY
    What the channel does with the protection of messages.
SSLCAUTH MQIACH_SSL_CLIENT_AUTH word default=REQUIRED for=SVR,RCVR,RQSTR,SVRCONN,CLUSRCVR,MQTT,AMQP \
error=MQRCCF_SSL_CLIENT_AUTH_ERROR REQUIRED=MQSCA_REQUIRED OPTIONAL=MQSCA_OPTIONAL NEVER=MQSCA_NEVER_REQUIRED
    Whether the partner that connects must show a certificate.
SSLCIPH MQCACH_SSL_CIPHER_SPEC text=32 default= for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR,AMQP \
error=MQRCCF_SSL_CIPHER_SPEC_ERROR
    The cipher of a secure channel; blank for a channel that is not.
SSLKEYP MQCACH_SSL_KEY_PASSPHRASE text=256 default= masked for=MQTT
    The passphrase of the channel's key store.
SSLKEYR MQCA_SSL_KEY_REPOSITORY text=256 default= for=MQTT
    The channel's key store.
SSLPEER MQCACH_SSL_PEER_NAME text=1024 default= for=SDR,SVR,RCVR,RQSTR,CLNTCONN,SVRCONN,CLUSSDR,CLUSRCVR,AMQP \
error=MQRCCF_SSL_PEER_NAME_ERROR
    What the certificate of the partner must say.
STATCHL MQIA_STATISTICS_CHANNEL word default=QMGR for=SDR,SVR,RCVR,RQSTR,CLUSSDR,CLUSRCVR QMGR=MQMON_Q_MGR @levels
    How closely statistics of the channel are collected.
TMPMODEL MQCACH_TEMPORARY_MODEL_Q name=48 default=SYSTEM.DEFAULT.MODEL.QUEUE for=AMQP
    The model of temporary queues for AMQP clients.
TMPQPRFX MQCACH_TEMPORARY_Q_PREFIX text=32 default=AMQP.* for=AMQP
    How the names of temporary queues for AMQP clients begin.
TPNAME MQCACH_TP_NAME text=64 ignored default= for=SDR,SVR,RQSTR,CLNTCONN,CLUSSDR,CLUSRCVR
    The LU 6.2 transaction program.
TPROOT MQCACH_TOPIC_ROOT text=10240 default= for=AMQP,MQTT
    The topic string that is put before those of clients.
USECLTID MQIACH_USE_CLIENT_ID word default=NO for=AMQP,MQTT error=MQRCCF_USE_CLIENT_ID_ERROR @no-yes
    Whether the identifier of the client serves as its user.
USEDLQ MQIA_USE_DEAD_LETTER_Q word default=YES for=SDR,SVR,RCVR,RQSTR,CLUSSDR,CLUSRCVR NO=MQUSEDLQ_NO YES=MQUSEDLQ_YES
    Whether messages that cannot be delivered go to the dead-letter queue.
USERID MQCACH_USER_ID text=12 ignored default= for=SDR,SVR,RQSTR,CLNTCONN,CLUSSDR
    The LU 6.2 user.
XMITQ MQCACH_XMIT_Q_NAME name=48 default= for=SDR,SVR error=MQRCCF_XMIT_Q_NAME_ERROR
    The transmission queue that the channel empties.
DEFCDISP MQIACH_DEF_CHANNEL_DISP word default=PRIVATE zos for=SDR,SVR,RCVR,RQSTR,SVRCONN PRIVATE=MQCHLD_PRIVATE \
FIXSHARED=MQCHLD_FIXSHARED SHARED=MQCHLD_SHARED
    Where in a queue-sharing group the channel runs.
QSGDISP MQIA_QSG_DISP word default=QMGR zos QMGR=MQQSGD_Q_MGR COPY=MQQSGD_COPY GROUP=MQQSGD_GROUP
    Where in a queue-sharing group the definition lives.
* LISTENER
LISTENER MQCACH_LISTENER_NAME name=48
    The name of the listener.
DESCR MQCACH_LISTENER_DESC text=64 default=
    A comment for people.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the definition was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the definition was last changed.
TRPTYPE MQIACH_XMIT_PROTOCOL_TYPE word ignored=LU62,NETBIOS,SPX default=TCP lasting \
error=MQRCCF_XMIT_PROTOCOL_TYPE_ERR LU62=MQXPT_LU62 \
TCP=MQXPT_TCP NETBIOS=MQXPT_NETBIOS SPX=MQXPT_SPX
    The network protocol of the listener.
CONTROL MQIACH_LISTENER_CONTROL word default=MANUAL MANUAL=MQSVC_CONTROL_MANUAL QMGR=MQSVC_CONTROL_Q_MGR \
STARTONLY=MQSVC_CONTROL_Q_MGR_START
    Whether the listener starts and stops with the queue manager.
PORT MQIACH_PORT integer=0..65535 default=0 for=TCP error=MQRCCF_PORT_NUMBER_ERROR
    The port to listen on; 0 stands for 1414.
IPADDR MQCACH_IP_ADDRESS text=48 default= for=TCP
    The address to listen on; blank stands for all.
BACKLOG MQIACH_BACKLOG integer=0..999999999 default=0 for=TCP error=MQRCCF_BACKLOG_OUT_OF_RANGE
    How many connections may wait to be accepted; 0 leaves it to the system.
INDISP MQIACH_INBOUND_DISP word default=QMGR zos for=TCP QMGR=MQINBD_Q_MGR GROUP=MQINBD_GROUP
    Whether partners reach this queue manager, or any member of its queue-sharing group, which share the port.
TPNAME MQCACH_TP_NAME text=64 default= for=LU62
    The LU 6.2 transaction program.
ADAPTER MQIACH_ADAPTER integer=0..255 default=0 for=NETBIOS
    The NetBIOS adapter.
COMMANDS MQIACH_COMMAND_COUNT integer=0..255 default=0 for=NETBIOS
    How many NetBIOS commands may be under way.
LOCLNAME MQCACH_LOCAL_NAME text=8 default= for=NETBIOS
    The NetBIOS name of the listener.
NTBNAMES MQIACH_NAME_COUNT integer=0..255 default=0 for=NETBIOS
    How many NetBIOS names may be used.
SESSIONS MQIACH_SESSION_COUNT integer=0..255 default=0 for=NETBIOS
    How many NetBIOS sessions there may be.
SOCKET MQIACH_SOCKET integer=0..65535 default=0 for=SPX
    The SPX socket to listen on.
""")
