"""Attributes that DISPLAY shows of the status of channels, listeners and services."""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_types import Attribute
from ostler.model.tables.row_reader import read_rows

ATTRIBUTES: Final[tuple[Attribute, ...]] = read_rows("""\
* CHSTATUS
CHANNEL MQCACH_CHANNEL_NAME name=20
    The name of the channel.
CHLTYPE MQIACH_CHANNEL_TYPE word SDR=MQCHT_SENDER SVR=MQCHT_SERVER RCVR=MQCHT_RECEIVER RQSTR=MQCHT_REQUESTER \
CLNTCONN=MQCHT_CLNTCONN SVRCONN=MQCHT_SVRCONN CLUSRCVR=MQCHT_CLUSRCVR CLUSSDR=MQCHT_CLUSSDR MQTT=MQCHT_MQTT \
AMQP=MQCHT_AMQP
    The type of the channel.
INSTTYPE MQIACH_CHANNEL_INSTANCE_TYPE word CURRENT=MQOT_CURRENT_CHANNEL SAVED=MQOT_SAVED_CHANNEL \
SHORT=MQOT_SHORT_CHANNEL
    Whether the channel is in touch with its partner, or this is what was saved of it.
CONNAME MQCACH_CONNECTION_NAME text=264
    The address of the partner.
RQMNAME MQCA_REMOTE_Q_MGR_NAME text=48
    The partner queue manager.
XMITQ MQCACH_XMIT_Q_NAME text=48
    The transmission queue that the channel empties.
STATUS MQIACH_CHANNEL_STATUS word INACTIVE=MQCHS_INACTIVE BINDING=MQCHS_BINDING STARTING=MQCHS_STARTING \
RUNNING=MQCHS_RUNNING STOPPING=MQCHS_STOPPING RETRYING=MQCHS_RETRYING STOPPED=MQCHS_STOPPED \
REQUESTING=MQCHS_REQUESTING PAUSED=MQCHS_PAUSED DISCONNECTED=MQCHS_DISCONNECTED INITIALIZING=MQCHS_INITIALIZING \
SWITCHING=MQCHS_SWITCHING
    What the channel is doing.
SUBSTATE MQIACH_CHANNEL_SUBSTATE word OTHER=MQCHSSTATE_OTHER ENDBATCH=MQCHSSTATE_END_OF_BATCH SEND=MQCHSSTATE_SENDING \
RECEIVE=MQCHSSTATE_RECEIVING SERIALIZE=MQCHSSTATE_SERIALIZING RESYNCH=MQCHSSTATE_RESYNCHING \
HEARTBEAT=MQCHSSTATE_HEARTBEATING SCYEXIT=MQCHSSTATE_IN_SCYEXIT RCVEXIT=MQCHSSTATE_IN_RCVEXIT \
SENDEXIT=MQCHSSTATE_IN_SENDEXIT MSGEXIT=MQCHSSTATE_IN_MSGEXIT MREXIT=MQCHSSTATE_IN_MREXIT \
CHADEXIT=MQCHSSTATE_IN_CHADEXIT NETCONNECT=MQCHSSTATE_NET_CONNECTING SSLHANDSHK=MQCHSSTATE_SSL_HANDSHAKING \
NAMESERVER=MQCHSSTATE_NAME_SERVER MQPUT=MQCHSSTATE_IN_MQPUT MQGET=MQCHSSTATE_IN_MQGET \
MQICALL=MQCHSSTATE_IN_MQI_CALL COMPRESS=MQCHSSTATE_COMPRESSING
    At which point of its work the channel is.
INDOUBT MQIACH_INDOUBT_STATUS word NO=MQCHIDS_NOT_INDOUBT YES=MQCHIDS_INDOUBT
    Whether the channel waits to learn if a batch arrived.
LSTSEQNO MQIACH_LAST_SEQUENCE_NUMBER integer=0..999999999
    The number of the last message of the last committed batch.
LSTLUWID MQCACH_LAST_LUWID text=16
    The last committed unit of work.
CURMSGS MQIACH_CURRENT_MSGS integer=0..999999999
    How many messages of the current batch were sent or received.
CURSEQNO MQIACH_CURRENT_SEQUENCE_NUMBER integer=0..999999999
    The number of the last message of the current batch.
CURLUWID MQCACH_CURRENT_LUWID text=16
    The current unit of work.
BATCHES MQIACH_BATCHES integer=0..999999999
    How many batches were completed.
BATCHSZ MQIACH_BATCH_SIZE integer=0..9999
    The agreed size of a batch.
BUFSRCVD MQIACH_BUFFERS_RECEIVED integer=0..999999999
    How many transmissions were received.
BUFSSENT MQIACH_BUFFERS_SENT integer=0..999999999
    How many transmissions were sent.
BYTSRCVD MQIACH_BYTES_RECEIVED integer=0..9223372036854775807
    How many bytes were received.
BYTSSENT MQIACH_BYTES_SENT integer=0..9223372036854775807
    How many bytes were sent.
CHSTADA MQCACH_CHANNEL_START_DATE date
    The day on which the channel started.
CHSTATI MQCACH_CHANNEL_START_TIME time
    The time of day at which the channel started.
COMPHDR MQIACH_HDR_COMPRESSION words=2 NONE=MQCOMPRESS_NONE SYSTEM=MQCOMPRESS_SYSTEM
    How headers are compressed: as agreed, and lately.
COMPMSG MQIACH_MSG_COMPRESSION words=2 NONE=MQCOMPRESS_NONE RLE=MQCOMPRESS_RLE ZLIBFAST=MQCOMPRESS_ZLIBFAST \
ZLIBHIGH=MQCOMPRESS_ZLIBHIGH LZ4FAST=MQCOMPRESS_LZ4FAST LZ4HIGH=MQCOMPRESS_LZ4HIGH ANY=MQCOMPRESS_ANY
    How message data is compressed: as agreed, and lately.
COMPRATE MQIACH_COMPRESSION_RATE integers=2
    How much compression saves, in percent: lately, and over a longer time.
COMPTIME MQIACH_COMPRESSION_TIME integers=2
    How many microseconds compression takes: lately, and over a longer time.
CURSHCNV MQIACH_CURRENT_SHARING_CONVS integer=0..999999999
    How many conversations share the connection now.
MAXSHCNV MQIACH_MAX_SHARING_CONVS integer=0..999999999
    How many conversations may share the connection, as agreed.
EXITTIME MQIACH_EXIT_TIME_INDICATOR integers=2
    How many microseconds exits take: lately, and over a longer time.
HBINT MQIACH_HB_INTERVAL integer=0..999999
    The agreed interval of heartbeats in seconds.
JOBNAME MQCACH_MCA_JOB_NAME text=28
    The process and thread of the channel.
KAINT MQIACH_KEEP_ALIVE_INTERVAL integer=0..99999 request AUTO=MQKAI_AUTO
    After how many seconds TCP itself checks the connection.
LOCLADDR MQCACH_LOCAL_ADDRESS text=48
    The local address and port.
LONGRTS MQIACH_LONG_RETRIES_LEFT integer=0..999999999
    How many long tries are left.
SHORTRTS MQIACH_SHORT_RETRIES_LEFT integer=0..999999999
    How many short tries are left.
LSTMSGDA MQCACH_LAST_MSG_DATE date
    The day of the last message or verb.
LSTMSGTI MQCACH_LAST_MSG_TIME time
    The time of day of the last message or verb.
MAXMSGL MQIACH_MAX_MSG_LENGTH integer=0..104857600 request
    The longest message, in bytes, as agreed.
MCASTAT MQIACH_MCA_STATUS word STOPPED=MQMCAS_STOPPED RUNNING=MQMCAS_RUNNING
    Whether the message channel agent runs.
MCAUSER MQCACH_MCA_USER_ID text=64
    The user whose authority the channel uses.
MONCHL MQIA_MONITORING_CHANNEL word @levels
    How closely the channel is watched.
MSGS MQIACH_MSGS integer=0..999999999
    How many messages or verbs the channel carried.
NETTIME MQIACH_NETWORK_TIME_INDICATOR integers=2
    How many microseconds the network takes: lately, and over a longer time.
NPMSPEED MQIACH_NPM_SPEED word NORMAL=MQNPMS_NORMAL FAST=MQNPMS_FAST
    How nonpersistent messages travel, as agreed.
PORT MQIACH_PORT integer=0..65535
    The port of an AMQP or telemetry channel.
RAPPLTAG MQCACH_REMOTE_APPL_TAG text=28
    The name of the partner's application.
RPRODUCT MQCACH_REMOTE_PRODUCT text=4
    What the partner is.
RVERSION MQCACH_REMOTE_VERSION text=8
    Which version the partner is.
SECPROT MQIACH_SECURITY_PROTOCOL word NONE=MQSECPROT_NONE SSLV3=MQSECPROT_SSLV30 TLSV1=MQSECPROT_TLSV10 \
TLSV12=MQSECPROT_TLSV12 TLSV13=MQSECPROT_TLSV13
    The secure protocol in use.
SSLCERTI MQCACH_SSL_CERT_ISSUER_NAME text=1024
    Who issued the partner's certificate.
SSLCERTU MQCACH_SSL_CERT_USER_ID text=64
    The user that the partner's certificate stands for.
SSLCIPH MQCACH_SSL_CIPHER_SPEC text=32
    The cipher in use.
SSLKEYDA MQCACH_SSL_KEY_RESET_DATE date
    The day of the last new key.
SSLKEYTI MQCACH_SSL_KEY_RESET_TIME time
    The time of day of the last new key.
SSLPEER MQCACH_SSL_SHORT_PEER_NAME text=256
    What the partner's certificate says.
SSLRKEYS MQIACH_SSL_KEY_RESETS integer=0..999999999
    How many new keys were agreed on.
STATCHL MQIA_STATISTICS_CHANNEL word @levels
    How closely statistics of the channel are collected.
CHLDISP MQIACH_CHANNEL_DISP word zos PRIVATE=MQCHLD_PRIVATE SHARED=MQCHLD_SHARED FIXSHARED=MQCHLD_FIXSHARED
    Whether the instance is one of this queue manager, or of its queue-sharing group.
STOPREQ MQIACH_STOP_REQUESTED word NO=MQCHSR_STOP_NOT_REQUESTED YES=MQCHSR_STOP_REQUESTED
    Whether somebody asked the channel to stop.
XBATCHSZ MQIACH_BATCH_SIZE_INDICATOR integers=2
    How many messages a batch has: lately, and over a longer time.
XQMSGSA MQIACH_XMITQ_MSGS_AVAILABLE integer=0..999999999 request
    How many messages wait on the transmission queue for the channel.
XQTIME MQIACH_XMITQ_TIME_INDICATOR integers=2
    How many microseconds messages wait on the transmission queue: lately, and over a longer time.
CLIENTID MQCACH_CLIENT_ID text=256
    The identifier of an AMQP or telemetry client.
PROTOCOL MQIACH_PROTOCOL word MQTTV3=MQPROTO_MQTTV3 MQTTV311=MQPROTO_MQTTV311 MQTTV5=MQPROTO_MQTTV5 HTTP=MQPROTO_HTTP \
AMQP=MQPROTO_AMQP
    The protocol that the client speaks.
AMQPKA MQIACH_AMQP_KEEP_ALIVE integer=0..99999 AUTO=MQKAI_AUTO
    After how many milliseconds of silence the client counts as gone.
QMNAME MQCA_Q_MGR_NAME name=48 zos
    The queue manager of the group that runs the channel.
* LSSTATUS
LISTENER MQCACH_LISTENER_NAME name=48
    The name of the listener.
STATUS MQIACH_LISTENER_STATUS word RUNNING=MQSVC_STATUS_RUNNING STARTING=MQSVC_STATUS_STARTING \
STOPPING=MQSVC_STATUS_STOPPING STOPPED=MQSVC_STATUS_STOPPED RETRYING=MQSVC_STATUS_RETRYING
    What the listener is doing.
PID MQIACF_PROCESS_ID integer=0..2147483647
    The process of the listener.
STARTDA MQCACH_LISTENER_START_DATE date
    The day on which the listener started.
STARTTI MQCACH_LISTENER_START_TIME time
    The time of day at which the listener started.
DESCR MQCACH_LISTENER_DESC text=64
    A comment for people.
TRPTYPE MQIACH_XMIT_PROTOCOL_TYPE word LU62=MQXPT_LU62 TCP=MQXPT_TCP NETBIOS=MQXPT_NETBIOS SPX=MQXPT_SPX
    The network protocol of the listener.
CONTROL MQIACH_LISTENER_CONTROL word MANUAL=MQSVC_CONTROL_MANUAL QMGR=MQSVC_CONTROL_Q_MGR \
STARTONLY=MQSVC_CONTROL_Q_MGR_START
    Whether the listener starts and stops with the queue manager.
PORT MQIACH_PORT integer=0..65535
    The port that the listener listens on.
IPADDR MQCACH_IP_ADDRESS text=48
    The address that the listener listens on.
BACKLOG MQIACH_BACKLOG integer=0..999999999
    How many connections may wait to be accepted.
TPNAME MQCACH_TP_NAME text=64
    The LU 6.2 transaction program.
* SVSTATUS
SERVICE MQCA_SERVICE_NAME name=48
    The name of the service.
STATUS MQIACF_SERVICE_STATUS word RUNNING=MQSVC_STATUS_RUNNING STARTING=MQSVC_STATUS_STARTING \
STOPPING=MQSVC_STATUS_STOPPING STOPPED=MQSVC_STATUS_STOPPED RETRYING=MQSVC_STATUS_RETRYING
    What the service is doing.
PID MQIACF_PROCESS_ID integer=0..2147483647
    The process of the service.
STARTDA MQCACF_SERVICE_START_DATE date
    The day on which the service started.
STARTTI MQCACF_SERVICE_START_TIME time
    The time of day at which the service started.
DESCR MQCA_SERVICE_DESC text=64
    A comment for people.
SERVTYPE MQIA_SERVICE_TYPE word COMMAND=MQSVC_TYPE_COMMAND SERVER=MQSVC_TYPE_SERVER
    Whether the program runs once in a while or all the time.
CONTROL MQIA_SERVICE_CONTROL word MANUAL=MQSVC_CONTROL_MANUAL QMGR=MQSVC_CONTROL_Q_MGR \
STARTONLY=MQSVC_CONTROL_Q_MGR_START
    Whether the service starts and stops with the queue manager.
STARTCMD MQCA_SERVICE_START_COMMAND text=255
    The program that starts the service.
STARTARG MQCA_SERVICE_START_ARGS text=255
    The arguments of that program.
STOPCMD MQCA_SERVICE_STOP_COMMAND text=255
    The program that stops the service.
STOPARG MQCA_SERVICE_STOP_ARGS text=255
    The arguments of that program.
STDOUT MQCA_STDOUT_DESTINATION text=255
    The file that the output goes to.
STDERR MQCA_STDERR_DESTINATION text=255
    The file that error output goes to.
""")
