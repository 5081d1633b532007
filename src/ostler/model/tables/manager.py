"""The attributes of the queue manager itself."""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_types import Attribute
from ostler.model.tables.row_reader import read_rows

ATTRIBUTES: Final[tuple[Attribute, ...]] = read_rows("""\
* QMGR
QMNAME MQCA_Q_MGR_NAME name=48
    The name of the queue manager.
QMID MQCA_Q_MGR_IDENTIFIER text=48 given lasting
    What tells the queue manager from others of its name.
DESCR MQCA_Q_MGR_DESC text=64 default=
    A comment for people.
CRDATE MQCA_CREATION_DATE date noinq
    The day on which the queue manager was made.
CRTIME MQCA_CREATION_TIME time noinq
    The time of day at which the queue manager was made.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the definition was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the definition was last changed.
CUSTOM MQCA_CUSTOM text=128 ignored default=
    Features that have no attribute of their own yet.
CMDLEVEL MQIA_COMMAND_LEVEL integer=100..999 default=940 lasting
    The level of the commands that are understood.
VERSION MQCA_VERSION text=8 default=09040000 lasting
    The version whose behaviour programs may count on.
PLATFORM MQIA_PLATFORM word default=UNIX lasting UNIX=MQPL_UNIX MVS=MQPL_ZOS OS400=MQPL_OS400 \
WINDOWSNT=MQPL_WINDOWS_NT NSK=MQPL_NSK APPLIANCE=MQPL_APPLIANCE
    The kind of machine the queue manager runs on.
CCSID MQIA_CODED_CHAR_SET_ID integer=1..65535 default=1208
    The code page of the queue manager's own text.
MAXPRTY MQIA_MAX_PRIORITY integer=0..9 default=9 lasting
    The highest priority of messages.
SYNCPT MQIA_SYNCPOINT flag default=SYNCPT lasting SYNCPT=MQSP_AVAILABLE NOSYNCPT=MQSP_NOT_AVAILABLE
    Whether units of work are available.
DISTL MQIA_DIST_LISTS word default=NO lasting NO=MQDL_NOT_SUPPORTED YES=MQDL_SUPPORTED
    Whether distribution lists are available.
COMMANDQ MQCA_COMMAND_INPUT_Q_NAME name=48 default=SYSTEM.ADMIN.COMMAND.QUEUE lasting
    The queue that takes commands in the form of messages.
DEADQ MQCA_DEAD_LETTER_Q_NAME name=48 default=
    The queue for messages that cannot be delivered.
DEFXMITQ MQCA_DEF_XMIT_Q_NAME name=48 default=
    The transmission queue to queue managers that have none of their own.
MAXHANDS MQIA_MAX_HANDLES integer=0..999999999 default=256
    How many handles one connection may have open.
MAXUMSGS MQIA_MAX_UNCOMMITTED_MSGS integer=1..999999999 default=10000
    How many messages one unit of work may hold.
MAXMSGL MQIA_MAX_MSG_LENGTH integer=32768..104857600 default=4194304
    The longest message, in bytes, on any queue.
MAXPROPL MQIA_MAX_PROPERTIES_LENGTH integer=0..104857600 ignored default=NOLIMIT NOLIMIT=MQPROP_UNRESTRICTED_LENGTH
    How many bytes the properties of one message may take.
MARKINT MQIA_MSG_MARK_BROWSE_INTERVAL integer=0..999999999 ignored default=5000 NOLIMIT=MQMMBI_UNLIMITED
    For how many milliseconds a message marked by a browser stays marked.
TRIGINT MQIA_TRIGGER_INTERVAL integer=0..999999999 default=999999999
    After how many milliseconds the first message triggers again.
TREELIFE MQIA_TREE_LIFE_TIME integer=0..604000 default=1800
    After how many seconds an unused topic made by applications is forgotten.
AUTHOREV MQIA_AUTHORITY_EVENT word default=DISABLED @event
    Whether a refusal for want of authority is an event.
INHIBTEV MQIA_INHIBIT_EVENT word default=DISABLED @event
    Whether a put or get on an inhibited queue is an event.
LOCALEV MQIA_LOCAL_EVENT word default=DISABLED @event
    Whether a local name that cannot be resolved is an event.
REMOTEEV MQIA_REMOTE_EVENT word default=DISABLED @event
    Whether a remote name that cannot be resolved is an event.
PERFMEV MQIA_PERFORMANCE_EVENT word default=DISABLED @event
    Whether depths and service intervals of queues are events.
STRSTPEV MQIA_START_STOP_EVENT word default=ENABLED @event
    Whether start and stop of the queue manager are events.
CHLEV MQIA_CHANNEL_EVENT word default=DISABLED @event EXCEPTION=MQEVR_EXCEPTION
    Which changes of channels are events.
SSLEV MQIA_SSL_EVENT word default=DISABLED @event
    Whether a failed secure handshake is an event.
CHADEV MQIA_CHANNEL_AUTO_DEF_EVENT word ignored default=DISABLED @event
    Whether an automatic channel definition is an event.
CONFIGEV MQIA_CONFIGURATION_EVENT word default=DISABLED @event
    Whether a change of an object is an event.
CMDEV MQIA_COMMAND_EVENT word default=DISABLED @event NODISPLAY=MQEVR_NO_DISPLAY
    Which commands are events.
LOGGEREV MQIA_LOGGER_EVENT word ignored default=DISABLED @event
    Whether the recovery log tells of its extents by events.
STATMQI MQIA_STATISTICS_MQI word default=OFF @off-on
    Whether statistics of the verbs are collected.
STATQ MQIA_STATISTICS_Q word default=OFF NONE=MQMON_NONE @off-on
    Whether statistics of queues are collected.
STATCHL MQIA_STATISTICS_CHANNEL word default=OFF NONE=MQMON_NONE @levels
    How closely statistics of channels are collected.
STATACLS MQIA_STATISTICS_AUTO_CLUSSDR word ignored default=QMGR QMGR=MQMON_Q_MGR @levels
    How closely statistics of automatic cluster-sender channels are collected.
STATINT MQIA_STATISTICS_INTERVAL integer=1..604800 default=1800
    Every how many seconds statistics are written.
ACCTMQI MQIA_ACCOUNTING_MQI word default=OFF @off-on
    Whether the verbs of applications are accounted for.
ACCTQ MQIA_ACCOUNTING_Q word default=OFF NONE=MQMON_NONE @off-on
    Whether the use of queues is accounted for.
ACCTINT MQIA_ACCOUNTING_INTERVAL integer=1..604800 default=1800
    Every how many seconds accounts are written.
ACCTCONO MQIA_ACCOUNTING_CONN_OVERRIDE word default=DISABLED @on-allowed
    Whether applications may choose their own accounting.
ACTVTRC MQIA_ACTIVITY_TRACE word ignored default=OFF @off-on
    Whether the activity of applications is traced.
ACTVCONO MQIA_ACTIVITY_CONN_OVERRIDE word ignored default=DISABLED @on-allowed
    Whether applications may choose their own activity trace.
MONQ MQIA_MONITORING_Q word default=OFF NONE=MQMON_NONE @levels
    How closely queues are watched.
MONCHL MQIA_MONITORING_CHANNEL word default=OFF NONE=MQMON_NONE @levels
    How closely channels are watched.
MONACLS MQIA_MONITORING_AUTO_CLUSSDR word ignored default=QMGR QMGR=MQMON_Q_MGR @levels
    How closely automatic cluster-sender channels are watched.
ACTIVREC MQIA_ACTIVITY_RECORDING word ignored default=MSG @recording
    Where activity reports go.
ROUTEREC MQIA_TRACE_ROUTE_RECORDING word ignored default=MSG @recording
    Where the reports of trace-route messages go.
OTELTRAC MQIA_OTEL_TRACE word ignored default=OFF OFF=MQOTEL_TRACE_OFF ON=MQOTEL_TRACE_ON NONE=MQOTEL_TRACE_NONE
    Whether messages take part in distributed tracing.
OTELPCTL MQIA_OTEL_PROPAGATION_CONTROL word ignored default=MANUAL MANUAL=MQOTEL_PCTL_MANUAL AUTO=MQOTEL_PCTL_AUTO
    Who carries the context of distributed tracing from message to message.
IMGSCHED MQIA_MEDIA_IMAGE_SCHEDULING word ignored default=MANUAL MANUAL=MQMEDIMGSCHED_MANUAL AUTO=MQMEDIMGSCHED_AUTO
    Whether media images are taken automatically.
IMGINTVL MQIA_MEDIA_IMAGE_INTERVAL integer=1..999999999 ignored default=60 OFF=MQMEDIMGINTVL_OFF
    Every how many minutes a media image is taken.
IMGLOGLN MQIA_MEDIA_IMAGE_LOG_LENGTH integer=1..999999999 ignored default=OFF OFF=MQMEDIMGLOGLN_OFF
    After how many megabytes of log a media image is taken.
IMGRCOVO MQIA_MEDIA_IMAGE_RECOVER_OBJ word ignored default=YES NO=MQIMGRCOV_NO YES=MQIMGRCOV_YES
    Whether objects other than queues can be rebuilt from a media image.
IMGRCOVQ MQIA_MEDIA_IMAGE_RECOVER_Q word ignored default=YES NO=MQIMGRCOV_NO YES=MQIMGRCOV_YES
    Whether queues that leave it to the queue manager can be rebuilt from a media image.
CHAD MQIA_CHANNEL_AUTO_DEF word ignored default=DISABLED DISABLED=MQCHAD_DISABLED ENABLED=MQCHAD_ENABLED
    Whether receiving channels are defined when a partner asks for them.
CHADEXIT MQCA_CHANNEL_AUTO_DEF_EXIT text=128 ignored default=
    The exit that looks at automatic channel definitions.
CHLAUTH MQIA_CHLAUTH_RECORDS word default=ENABLED DISABLED=MQCHLA_DISABLED ENABLED=MQCHLA_ENABLED
    Whether channel authentication records are applied.
CONNAUTH MQCA_CONN_AUTH name=48 default=SYSTEM.DEFAULT.AUTHINFO.IDPWOS
    The object that says how users and passwords are checked.
REVDNS MQIA_REVERSE_DNS_LOOKUP word default=ENABLED ENABLED=MQRDNS_ENABLED DISABLED=MQRDNS_DISABLED
    Whether the host name of a partner is looked up.
SCHINIT MQIA_CHINIT_CONTROL word default=QMGR @start
    Whether the channel initiator starts with the queue manager.
SCMDSERV MQIA_CMD_SERVER_CONTROL word default=QMGR @start
    Whether the command server starts with the queue manager.
CERTVPOL MQIA_CERT_VAL_POLICY word ignored default=ANY ANY=MQ_CERT_VAL_POLICY_ANY RFC5280=MQ_CERT_VAL_POLICY_RFC5280 \
NONE=MQ_CERT_VAL_POLICY_NONE
    By which rules the certificates of partners are judged.
CERTLABL MQCA_CERT_LABEL text=64 default=
    The label of the queue manager's certificate.
SSLKEYR MQCA_SSL_KEY_REPOSITORY text=256 default=
    Where keys and certificates are kept.
KEYRPWD MQCA_SSL_KEY_REPO_PASSWORD text=1536 default= noinq masked
    The password of the key repository.
INITKEY MQCA_INITIAL_KEY text=256 ignored default= noinq masked
    The key that protects stored passwords.
SSLCRLNL MQCA_SSL_CRL_NAMELIST name=48 ignored default=
    The namelist of the places that know revoked certificates.
SSLCRYP MQCA_SSL_CRYPTO_HARDWARE text=256 ignored default=
    How to reach cryptographic hardware.
SSLFIPS MQIA_SSL_FIPS_REQUIRED word ignored default=NO NO=MQSSL_FIPS_NO YES=MQSSL_FIPS_YES
    Whether only FIPS-certified algorithms may be used.
SSLRKEYC MQIA_SSL_RESET_COUNT integer=0..999999999 default=0
    After how many bytes a secure channel agrees on a new key.
SUITEB MQIA_SUITE_B_STRENGTH words=4 ignored default=NONE noinq error=MQRCCF_SUITE_B_ERROR NONE=MQ_SUITE_B_NONE \
128_BIT=MQ_SUITE_B_128_BIT 192_BIT=MQ_SUITE_B_192_BIT
    Which strengths of Suite B cryptography are asked for.
REPOS MQCA_REPOSITORY_NAME name=48 ignored default=
    The cluster that this queue manager keeps a full repository for.
REPOSNL MQCA_REPOSITORY_NAMELIST name=48 ignored default=
    The namelist of the clusters it keeps full repositories for.
CLWLDATA MQCA_CLUSTER_WORKLOAD_DATA text=32 ignored default=
    Text handed to the workload exit.
CLWLEXIT MQCA_CLUSTER_WORKLOAD_EXIT text=128 ignored default=
    The exit that chooses where the messages of a cluster go.
CLWLLEN MQIA_CLUSTER_WORKLOAD_LENGTH integer=0..999999999 ignored default=100
    How many bytes of a message the workload exit sees.
CLWLMRUC MQIA_CLWL_MRU_CHANNELS integer=1..999999999 ignored default=999999999
    Among how many most recently used channels work is spread.
CLWLUSEQ MQIA_CLWL_USEQ word ignored default=LOCAL LOCAL=MQCLWL_USEQ_LOCAL ANY=MQCLWL_USEQ_ANY
    Whether messages for a local queue may also go to queues of that name elsewhere in the cluster.
DEFCLXQ MQIA_DEF_CLUSTER_XMIT_Q_TYPE word ignored default=SCTQ SCTQ=MQCLXQ_SCTQ CHANNEL=MQCLXQ_CHANNEL
    Whether cluster-sender channels share one transmission queue or have one each.
PSMODE MQIA_PUBSUB_MODE word default=ENABLED DISABLED=MQPSM_DISABLED COMPAT=MQPSM_COMPAT ENABLED=MQPSM_ENABLED
    Which publish and subscribe interfaces run.
PSCLUS MQIA_PUBSUB_CLUSTER word ignored default=ENABLED DISABLED=MQPSCLUS_DISABLED ENABLED=MQPSCLUS_ENABLED
    Whether publications travel through clusters.
PSNPMSG MQIA_PUBSUB_NP_MSG word ignored default=DISCARD DISCARD=MQUNDELIVERED_DISCARD KEEP=MQUNDELIVERED_KEEP
    What becomes of a queued nonpersistent publication that cannot be handled.
PSNPRES MQIA_PUBSUB_NP_RESP word ignored default=NORMAL NORMAL=MQUNDELIVERED_NORMAL SAFE=MQUNDELIVERED_SAFE \
DISCARD=MQUNDELIVERED_DISCARD KEEP=MQUNDELIVERED_KEEP
    What becomes of a nonpersistent answer that cannot be delivered.
PSRTYCNT MQIA_PUBSUB_MAXMSG_RETRY_COUNT integer=0..999999999 ignored default=5
    How often a failing queued publication is tried again.
PSSYNCPT MQIA_PUBSUB_SYNC_PT word ignored default=IFPER YES=MQSYNCPOINT_YES IFPER=MQSYNCPOINT_IFPER
    Whether queued publications are handled in units of work.
PARENT MQCA_PARENT name=48 ignored default=
    The parent in a hierarchy of queue managers.
ADVCAP MQIA_ADVANCED_CAPABILITY word default=ENABLED lasting ENABLED=MQCAP_SUPPORTED DISABLED=MQCAP_NOT_SUPPORTED
    Whether the advanced capabilities are there.
AMQPCAP MQIA_AMQP_CAPABILITY word default=NO lasting @capability
    Whether AMQP channels are there.
SPLCAP MQIA_PROT_POLICY_CAPABILITY word default=DISABLED lasting \
DISABLED=MQCAP_NOT_SUPPORTED ENABLED=MQCAP_SUPPORTED
    Whether message protection policies are there.
XRCAP MQIA_XR_CAPABILITY word default=NO lasting @capability
    Whether telemetry channels are there.
ACTCHL MQIA_ACTIVE_CHANNELS integer=1..9999 default=200 zos
    How many channels may be active at a time.
ADOPTCHK MQIA_ADOPTNEWMCA_CHECK word default=ALL zos ALL=MQADOPT_CHECK_ALL NONE=MQADOPT_CHECK_NONE \
NETADDR=MQADOPT_CHECK_NET_ADDR QMNAME=MQADOPT_CHECK_Q_MGR_NAME
    What must agree before a channel that starts again takes over its orphaned instance.
ADOPTMCA MQIA_ADOPTNEWMCA_TYPE word default=ALL zos ALL=MQADOPT_TYPE_ALL NO=MQADOPT_TYPE_NO
    Whether a channel that starts again takes over its orphaned instance.
BRIDGEEV MQIA_BRIDGE_EVENT word default=DISABLED zos @event
    Whether start and stop of the IMS bridge are events.
CFCONLOS MQIA_QMGR_CFCONLOS word default=TERMINATE zos TERMINATE=MQCFCONLOS_TERMINATE TOLERATE=MQCFCONLOS_TOLERATE
    Whether the queue manager lives on when it loses the coupling facility.
CHIADAPS MQIA_CHINIT_ADAPTERS integer=1..9999 default=8 zos
    How many adapter tasks the channel initiator has.
CHIDISPS MQIA_CHINIT_DISPATCHERS integer=1..9999 default=5 zos
    How many dispatchers the channel initiator has.
CHISERVP MQCA_CHINIT_SERVICE_PARM text=32 default= zos
    A parameter for those who service the channel initiator.
CPILEVEL MQIA_CPI_LEVEL integer=0..999999999 zos
    The level of the common programming interface.
DNSGROUP MQCA_DNS_GROUP text=18 default= zos
    The group that the listener joins for dynamic name services.
DNSWLM MQIA_DNS_WLM word default=NO zos NO=MQDNSWLM_NO YES=MQDNSWLM_YES
    Whether the listener registers with the workload manager.
EXPRYINT MQIA_EXPIRY_INTERVAL integer=1..99999999 default=OFF zos OFF=MQEXPI_OFF
    Every how many seconds queues are searched for expired messages.
GROUPUR MQIA_GROUP_UR word default=DISABLED zos DISABLED=MQGUR_DISABLED ENABLED=MQGUR_ENABLED
    Whether applications may have units of recovery of the whole group.
IGQ MQIA_INTRA_GROUP_QUEUING word default=DISABLED zos DISABLED=MQIGQ_DISABLED ENABLED=MQIGQ_ENABLED
    Whether small messages travel inside the group without channels.
IGQAUT MQIA_IGQ_PUT_AUTHORITY word default=DEF zos DEF=MQIGQPA_DEFAULT CTX=MQIGQPA_CONTEXT \
ONLYIGQ=MQIGQPA_ONLY_IGQ ALTIGQ=MQIGQPA_ALTERNATE_OR_IGQ
    Whose authority intra-group queuing uses to put messages.
IGQUSER MQCA_IGQ_USER_ID text=12 default= zos
    The user of intra-group queuing.
IPADDRV MQIA_IP_ADDRESS_VERSION word default=IPV4 zos IPV4=MQIPADDR_IPV4 IPV6=MQIPADDR_IPV6
    Which kind of address a name that has both stands for.
LSTRTMR MQIA_LISTENER_TIMER integer=5..9999 default=60 zos
    After how many seconds a failed listener starts again.
LUGROUP MQCA_LU_GROUP_NAME text=8 default= zos
    The generic logical unit of the listener.
LUNAME MQCA_LU_NAME text=8 default= zos
    The logical unit of outbound channels.
LU62ARM MQCA_LU62_ARM_SUFFIX text=2 default= zos
    The suffix of the member that restarts logical units.
LU62CHL MQIA_LU62_CHANNELS integer=0..9999 default=200 zos
    How many channels may use LU 6.2.
MAXCHL MQIA_MAX_CHANNELS integer=1..9999 default=200 zos
    How many channels may be current at a time.
OPORTMAX MQIA_OUTBOUND_PORT_MAX integer=0..65535 default=0 zos
    The highest port that outbound channels bind to.
OPORTMIN MQIA_OUTBOUND_PORT_MIN integer=0..65535 default=0 zos
    The lowest port that outbound channels bind to.
QSGNAME MQCA_QSG_NAME text=4 zos
    The queue-sharing group that the queue manager belongs to.
CERTQSGL MQCA_QSG_CERT_LABEL text=64 default= zos
    The label of the certificate that the group shares.
RCVTIME MQIA_RECEIVE_TIMEOUT integer=0..999999 default=0 zos
    How long a channel waits for its partner, beside the heartbeat.
RCVTMIN MQIA_RECEIVE_TIMEOUT_MIN integer=0..999999 default=0 zos
    The least number of seconds that a channel waits for its partner.
RCVTTYPE MQIA_RECEIVE_TIMEOUT_TYPE word default=MULTIPLY zos MULTIPLY=MQRCVTIME_MULTIPLY ADD=MQRCVTIME_ADD \
EQUAL=MQRCVTIME_EQUAL
    How RCVTIME and the heartbeat make the time to wait.
SCYCASE MQIA_SECURITY_CASE word default=UPPER zos UPPER=MQSCYC_UPPER MIXED=MQSCYC_MIXED
    Whether security profiles are in capitals or in mixed case.
SQQMNAME MQIA_SHARED_Q_Q_MGR_NAME word default=USE zos USE=MQSQQM_USE IGNORE=MQSQQM_IGNORE
    Whether a shared queue is opened here although another queue manager of the group is named.
SSLTASKS MQIA_SSL_TASKS integer=0..9999 default=0 zos
    How many tasks serve secure channels.
TCPCHL MQIA_TCP_CHANNELS integer=0..9999 default=200 zos
    How many channels may use TCP/IP.
TCPKEEP MQIA_TCP_KEEP_ALIVE word default=NO zos NO=MQTCPKEEP_NO YES=MQTCPKEEP_YES
    Whether TCP checks that the other end is still there.
TCPNAME MQCA_TCP_NAME text=8 default= zos
    The TCP/IP stack to use.
TCPSTACK MQIA_TCP_STACK_TYPE word default=SINGLE zos SINGLE=MQTCPSTACK_SINGLE MULTIPLE=MQTCPSTACK_MULTIPLE
    Whether one TCP/IP stack is used or several.
TRAXSTR MQIA_CHINIT_TRACE_AUTO_START word default=YES zos NO=MQTRAXSTR_NO YES=MQTRAXSTR_YES
    Whether the trace of the channel initiator starts by itself.
TRAXTBL MQIA_CHINIT_TRACE_TABLE_SIZE integer=0..2048 default=2 zos
    How many megabytes the trace of the channel initiator may take.
""")
