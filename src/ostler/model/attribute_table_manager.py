"""The attributes of the queue manager itself."""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_table_rows import (
    altered,
    date,
    flag,
    integer,
    name_of,
    one_of,
    several,
    table,
    text,
    time,
)
from ostler.model.attribute_types import Attribute, ObjectType, Shown

QMGR: Final = (ObjectType.QMGR,)

_EVENT: Final = "DISABLED=MQEVR_DISABLED ENABLED=MQEVR_ENABLED"
_OFF_ON: Final = "OFF=MQMON_OFF ON=MQMON_ON"
_NONE_OFF_ON: Final = "NONE=MQMON_NONE OFF=MQMON_OFF ON=MQMON_ON"
_DISABLED_ENABLED: Final = "DISABLED=MQMON_DISABLED ENABLED=MQMON_ENABLED"
_LEVELS: Final = "LOW=MQMON_LOW MEDIUM=MQMON_MEDIUM HIGH=MQMON_HIGH"
_START: Final = "QMGR=MQSVC_CONTROL_Q_MGR MANUAL=MQSVC_CONTROL_MANUAL"
_NOT_SUPPORTED: Final = "NO=MQCAP_NOT_SUPPORTED YES=MQCAP_SUPPORTED"

# The level of MQ whose commands are understood, and the version that programs ask for.
COMMAND_LEVEL: Final = 940
VERSION: Final = "09040000"

_IDENTITY: Final = table(
    name_of(QMGR, "QMNAME", "MQCA_Q_MGR_NAME", 48, None, "The name of the queue manager."),
    text(
        QMGR,
        "QMID",
        "MQCA_Q_MGR_IDENTIFIER",
        48,
        None,
        "What tells the queue manager from others of its name.",
        define=True,
        alter=False,
    ),
    text(QMGR, "DESCR", "MQCA_Q_MGR_DESC", 64, "", "A comment for people."),
    date(QMGR, "CRDATE", "MQCA_CREATION_DATE", "The day on which the queue manager was made.", mqinq=False),
    time(QMGR, "CRTIME", "MQCA_CREATION_TIME", "The time of day at which the queue manager was made.", mqinq=False),
    *altered(QMGR),
    text(QMGR, "CUSTOM", "MQCA_CUSTOM", 128, "", "Features that have no attribute of their own yet."),
    integer(
        QMGR,
        "CMDLEVEL",
        "MQIA_COMMAND_LEVEL",
        "100..999",
        COMMAND_LEVEL,
        "The level of the commands that are understood.",
        alter=False,
    ),
    text(
        QMGR, "VERSION", "MQCA_VERSION", 8, VERSION, "The version whose behaviour programs may count on.", alter=False
    ),
    one_of(
        QMGR,
        "PLATFORM",
        "MQIA_PLATFORM",
        "UNIX=MQPL_UNIX MVS=MQPL_ZOS OS400=MQPL_OS400 WINDOWSNT=MQPL_WINDOWS_NT NSK=MQPL_NSK APPLIANCE=MQPL_APPLIANCE",
        "UNIX",
        "The kind of machine the queue manager runs on.",
        alter=False,
    ),
    integer(
        QMGR, "CCSID", "MQIA_CODED_CHAR_SET_ID", "1..65535", 1208, "The code page of the queue manager's own text."
    ),
    integer(QMGR, "MAXPRTY", "MQIA_MAX_PRIORITY", "0..9", 9, "The highest priority of messages.", alter=False),
    flag(
        QMGR,
        "SYNCPT",
        "MQIA_SYNCPOINT",
        "SYNCPT=MQSP_AVAILABLE NOSYNCPT=MQSP_NOT_AVAILABLE",
        "SYNCPT",
        "Whether units of work are available.",
        alter=False,
    ),
    one_of(
        QMGR,
        "DISTL",
        "MQIA_DIST_LISTS",
        "NO=MQDL_NOT_SUPPORTED YES=MQDL_SUPPORTED",
        "YES",
        "Whether distribution lists are available.",
        alter=False,
    ),
    name_of(
        QMGR,
        "COMMANDQ",
        "MQCA_COMMAND_INPUT_Q_NAME",
        48,
        "SYSTEM.ADMIN.COMMAND.QUEUE",
        "The queue that takes commands in the form of messages.",
        alter=False,
    ),
)

_LIMITS: Final = table(
    name_of(QMGR, "DEADQ", "MQCA_DEAD_LETTER_Q_NAME", 48, "", "The queue for messages that cannot be delivered."),
    name_of(
        QMGR,
        "DEFXMITQ",
        "MQCA_DEF_XMIT_Q_NAME",
        48,
        "",
        "The transmission queue to queue managers that have none of their own.",
    ),
    integer(
        QMGR, "MAXHANDS", "MQIA_MAX_HANDLES", "0..999999999", 256, "How many handles one connection may have open."
    ),
    integer(
        QMGR,
        "MAXUMSGS",
        "MQIA_MAX_UNCOMMITTED_MSGS",
        "1..999999999",
        10000,
        "How many messages one unit of work may hold.",
    ),
    integer(
        QMGR,
        "MAXMSGL",
        "MQIA_MAX_MSG_LENGTH",
        "32768..104857600",
        4194304,
        "The longest message, in bytes, on any queue.",
    ),
    integer(
        QMGR,
        "MAXPROPL",
        "MQIA_MAX_PROPERTIES_LENGTH",
        "0..104857600",
        "NOLIMIT",
        "How many bytes the properties of one message may take.",
        words="NOLIMIT=MQPROP_UNRESTRICTED_LENGTH",
    ),
    integer(
        QMGR,
        "MARKINT",
        "MQIA_MSG_MARK_BROWSE_INTERVAL",
        "0..999999999",
        5000,
        "For how many milliseconds a message marked by a browser stays marked.",
        words="NOLIMIT=MQMMBI_UNLIMITED",
    ),
    integer(
        QMGR,
        "TRIGINT",
        "MQIA_TRIGGER_INTERVAL",
        "0..999999999",
        999999999,
        "After how many milliseconds the first message triggers again.",
    ),
    integer(
        QMGR,
        "TREELIFE",
        "MQIA_TREE_LIFE_TIME",
        "0..604000",
        1800,
        "After how many seconds an unused topic made by applications is forgotten.",
    ),
)

_EVENTS: Final = table(
    one_of(
        QMGR,
        "AUTHOREV",
        "MQIA_AUTHORITY_EVENT",
        _EVENT,
        "DISABLED",
        "Whether a refusal for want of authority is an event.",
    ),
    one_of(
        QMGR,
        "INHIBTEV",
        "MQIA_INHIBIT_EVENT",
        _EVENT,
        "DISABLED",
        "Whether a put or get on an inhibited queue is an event.",
    ),
    one_of(
        QMGR,
        "LOCALEV",
        "MQIA_LOCAL_EVENT",
        _EVENT,
        "DISABLED",
        "Whether a local name that cannot be resolved is an event.",
    ),
    one_of(
        QMGR,
        "REMOTEEV",
        "MQIA_REMOTE_EVENT",
        _EVENT,
        "DISABLED",
        "Whether a remote name that cannot be resolved is an event.",
    ),
    one_of(
        QMGR,
        "PERFMEV",
        "MQIA_PERFORMANCE_EVENT",
        _EVENT,
        "DISABLED",
        "Whether depths and service intervals of queues are events.",
    ),
    one_of(
        QMGR,
        "STRSTPEV",
        "MQIA_START_STOP_EVENT",
        _EVENT,
        "ENABLED",
        "Whether start and stop of the queue manager are events.",
    ),
    one_of(
        QMGR,
        "CHLEV",
        "MQIA_CHANNEL_EVENT",
        _EVENT + " EXCEPTION=MQEVR_EXCEPTION",
        "DISABLED",
        "Which changes of channels are events.",
    ),
    one_of(QMGR, "SSLEV", "MQIA_SSL_EVENT", _EVENT, "DISABLED", "Whether a failed secure handshake is an event."),
    one_of(
        QMGR,
        "CHADEV",
        "MQIA_CHANNEL_AUTO_DEF_EVENT",
        _EVENT,
        "DISABLED",
        "Whether an automatic channel definition is an event.",
    ),
    one_of(
        QMGR, "CONFIGEV", "MQIA_CONFIGURATION_EVENT", _EVENT, "DISABLED", "Whether a change of an object is an event."
    ),
    one_of(
        QMGR,
        "CMDEV",
        "MQIA_COMMAND_EVENT",
        _EVENT + " NODISPLAY=MQEVR_NO_DISPLAY",
        "DISABLED",
        "Which commands are events.",
    ),
    one_of(
        QMGR,
        "LOGGEREV",
        "MQIA_LOGGER_EVENT",
        _EVENT,
        "DISABLED",
        "Whether the recovery log tells of its extents by events.",
    ),
)

_MONITORING: Final = table(
    one_of(QMGR, "STATMQI", "MQIA_STATISTICS_MQI", _OFF_ON, "OFF", "Whether statistics of the verbs are collected."),
    one_of(QMGR, "STATQ", "MQIA_STATISTICS_Q", _NONE_OFF_ON, "OFF", "Whether statistics of queues are collected."),
    one_of(
        QMGR,
        "STATCHL",
        "MQIA_STATISTICS_CHANNEL",
        f"NONE=MQMON_NONE OFF=MQMON_OFF {_LEVELS}",
        "OFF",
        "How closely statistics of channels are collected.",
    ),
    one_of(
        QMGR,
        "STATACLS",
        "MQIA_STATISTICS_AUTO_CLUSSDR",
        f"QMGR=MQMON_Q_MGR OFF=MQMON_OFF {_LEVELS}",
        "QMGR",
        "How closely statistics of automatic cluster-sender channels are collected.",
    ),
    integer(
        QMGR, "STATINT", "MQIA_STATISTICS_INTERVAL", "1..604800", 1800, "Every how many seconds statistics are written."
    ),
    one_of(
        QMGR, "ACCTMQI", "MQIA_ACCOUNTING_MQI", _OFF_ON, "OFF", "Whether the verbs of applications are accounted for."
    ),
    one_of(QMGR, "ACCTQ", "MQIA_ACCOUNTING_Q", _NONE_OFF_ON, "OFF", "Whether the use of queues is accounted for."),
    integer(
        QMGR, "ACCTINT", "MQIA_ACCOUNTING_INTERVAL", "1..604800", 1800, "Every how many seconds accounts are written."
    ),
    one_of(
        QMGR,
        "ACCTCONO",
        "MQIA_ACCOUNTING_CONN_OVERRIDE",
        _DISABLED_ENABLED,
        "DISABLED",
        "Whether applications may choose their own accounting.",
    ),
    one_of(QMGR, "ACTVTRC", "MQIA_ACTIVITY_TRACE", _OFF_ON, "OFF", "Whether the activity of applications is traced."),
    one_of(
        QMGR,
        "ACTVCONO",
        "MQIA_ACTIVITY_CONN_OVERRIDE",
        _DISABLED_ENABLED,
        "DISABLED",
        "Whether applications may choose their own activity trace.",
    ),
    one_of(
        QMGR,
        "MONQ",
        "MQIA_MONITORING_Q",
        f"NONE=MQMON_NONE OFF=MQMON_OFF {_LEVELS}",
        "OFF",
        "How closely queues are watched.",
    ),
    one_of(
        QMGR,
        "MONCHL",
        "MQIA_MONITORING_CHANNEL",
        f"NONE=MQMON_NONE OFF=MQMON_OFF {_LEVELS}",
        "OFF",
        "How closely channels are watched.",
    ),
    one_of(
        QMGR,
        "MONACLS",
        "MQIA_MONITORING_AUTO_CLUSSDR",
        f"QMGR=MQMON_Q_MGR OFF=MQMON_OFF {_LEVELS}",
        "QMGR",
        "How closely automatic cluster-sender channels are watched.",
    ),
    one_of(
        QMGR,
        "ACTIVREC",
        "MQIA_ACTIVITY_RECORDING",
        "DISABLED=MQRECORDING_DISABLED QUEUE=MQRECORDING_Q MSG=MQRECORDING_MSG",
        "MSG",
        "Where activity reports go.",
    ),
    one_of(
        QMGR,
        "ROUTEREC",
        "MQIA_TRACE_ROUTE_RECORDING",
        "DISABLED=MQRECORDING_DISABLED QUEUE=MQRECORDING_Q MSG=MQRECORDING_MSG",
        "MSG",
        "Where the reports of trace-route messages go.",
    ),
    one_of(
        QMGR,
        "OTELTRAC",
        "MQIA_OTEL_TRACE",
        "OFF=MQOTEL_TRACE_OFF ON=MQOTEL_TRACE_ON NONE=MQOTEL_TRACE_NONE",
        "OFF",
        "Whether messages take part in distributed tracing.",
    ),
    one_of(
        QMGR,
        "OTELPCTL",
        "MQIA_OTEL_PROPAGATION_CONTROL",
        "MANUAL=MQOTEL_PCTL_MANUAL AUTO=MQOTEL_PCTL_AUTO",
        "MANUAL",
        "Who carries the context of distributed tracing from message to message.",
    ),
)

_RECOVERY: Final = table(
    one_of(
        QMGR,
        "IMGSCHED",
        "MQIA_MEDIA_IMAGE_SCHEDULING",
        "MANUAL=MQMEDIMGSCHED_MANUAL AUTO=MQMEDIMGSCHED_AUTO",
        "MANUAL",
        "Whether media images are taken automatically.",
    ),
    integer(
        QMGR,
        "IMGINTVL",
        "MQIA_MEDIA_IMAGE_INTERVAL",
        "1..999999999",
        60,
        "Every how many minutes a media image is taken.",
        words="OFF=MQMEDIMGINTVL_OFF",
    ),
    integer(
        QMGR,
        "IMGLOGLN",
        "MQIA_MEDIA_IMAGE_LOG_LENGTH",
        "1..999999999",
        "OFF",
        "After how many megabytes of log a media image is taken.",
        words="OFF=MQMEDIMGLOGLN_OFF",
    ),
    one_of(
        QMGR,
        "IMGRCOVO",
        "MQIA_MEDIA_IMAGE_RECOVER_OBJ",
        "NO=MQIMGRCOV_NO YES=MQIMGRCOV_YES",
        "YES",
        "Whether objects other than queues can be rebuilt from a media image.",
    ),
    one_of(
        QMGR,
        "IMGRCOVQ",
        "MQIA_MEDIA_IMAGE_RECOVER_Q",
        "NO=MQIMGRCOV_NO YES=MQIMGRCOV_YES",
        "YES",
        "Whether queues that leave it to the queue manager can be rebuilt from a media image.",
    ),
)

_CHANNELS: Final = table(
    one_of(
        QMGR,
        "CHAD",
        "MQIA_CHANNEL_AUTO_DEF",
        "DISABLED=MQCHAD_DISABLED ENABLED=MQCHAD_ENABLED",
        "DISABLED",
        "Whether receiving channels are defined when a partner asks for them.",
    ),
    text(
        QMGR, "CHADEXIT", "MQCA_CHANNEL_AUTO_DEF_EXIT", 128, "", "The exit that looks at automatic channel definitions."
    ),
    one_of(
        QMGR,
        "CHLAUTH",
        "MQIA_CHLAUTH_RECORDS",
        "DISABLED=MQCHLA_DISABLED ENABLED=MQCHLA_ENABLED",
        "ENABLED",
        "Whether channel authentication records are applied.",
    ),
    name_of(
        QMGR,
        "CONNAUTH",
        "MQCA_CONN_AUTH",
        48,
        "SYSTEM.DEFAULT.AUTHINFO.IDPWOS",
        "The object that says how users and passwords are checked.",
    ),
    one_of(
        QMGR,
        "REVDNS",
        "MQIA_REVERSE_DNS_LOOKUP",
        "ENABLED=MQRDNS_ENABLED DISABLED=MQRDNS_DISABLED",
        "ENABLED",
        "Whether the host name of a partner is looked up.",
    ),
    one_of(
        QMGR,
        "SCHINIT",
        "MQIA_CHINIT_CONTROL",
        _START,
        "QMGR",
        "Whether the channel initiator starts with the queue manager.",
    ),
    one_of(
        QMGR,
        "SCMDSERV",
        "MQIA_CMD_SERVER_CONTROL",
        _START,
        "QMGR",
        "Whether the command server starts with the queue manager.",
    ),
    one_of(
        QMGR,
        "CERTVPOL",
        "MQIA_CERT_VAL_POLICY",
        "ANY=MQ_CERT_VAL_POLICY_ANY RFC5280=MQ_CERT_VAL_POLICY_RFC5280 NONE=MQ_CERT_VAL_POLICY_NONE",
        "ANY",
        "By which rules the certificates of partners are judged.",
    ),
    text(QMGR, "CERTLABL", "MQCA_CERT_LABEL", 64, "", "The label of the queue manager's certificate."),
    text(QMGR, "SSLKEYR", "MQCA_SSL_KEY_REPOSITORY", 256, "", "Where keys and certificates are kept."),
    text(
        QMGR,
        "KEYRPWD",
        "MQCA_SSL_KEY_REPO_PASSWORD",
        1536,
        "",
        "The password of the key repository.",
        shown=Shown.MASKED,
        mqinq=False,
    ),
    text(
        QMGR,
        "INITKEY",
        "MQCA_INITIAL_KEY",
        256,
        "",
        "The key that protects stored passwords.",
        shown=Shown.MASKED,
        mqinq=False,
    ),
    name_of(
        QMGR, "SSLCRLNL", "MQCA_SSL_CRL_NAMELIST", 48, "", "The namelist of the places that know revoked certificates."
    ),
    text(QMGR, "SSLCRYP", "MQCA_SSL_CRYPTO_HARDWARE", 256, "", "How to reach cryptographic hardware."),
    one_of(
        QMGR,
        "SSLFIPS",
        "MQIA_SSL_FIPS_REQUIRED",
        "NO=MQSSL_FIPS_NO YES=MQSSL_FIPS_YES",
        "NO",
        "Whether only FIPS-certified algorithms may be used.",
    ),
    integer(
        QMGR,
        "SSLRKEYC",
        "MQIA_SSL_RESET_COUNT",
        "0..999999999",
        0,
        "After how many bytes a secure channel agrees on a new key.",
    ),
    several(
        QMGR,
        "SUITEB",
        "MQIA_SUITE_B_STRENGTH",
        4,
        "NONE=MQ_SUITE_B_NONE 128_BIT=MQ_SUITE_B_128_BIT 192_BIT=MQ_SUITE_B_192_BIT",
        ("NONE",),
        "Which strengths of Suite B cryptography are asked for.",
        value_error="MQRCCF_SUITE_B_ERROR",
        mqinq=False,
    ),
)

_CLUSTERS: Final = table(
    name_of(
        QMGR,
        "REPOS",
        "MQCA_REPOSITORY_NAME",
        48,
        "",
        "The cluster that this queue manager keeps a full repository for.",
    ),
    name_of(
        QMGR,
        "REPOSNL",
        "MQCA_REPOSITORY_NAMELIST",
        48,
        "",
        "The namelist of the clusters it keeps full repositories for.",
    ),
    text(QMGR, "CLWLDATA", "MQCA_CLUSTER_WORKLOAD_DATA", 32, "", "Text handed to the workload exit."),
    text(
        QMGR,
        "CLWLEXIT",
        "MQCA_CLUSTER_WORKLOAD_EXIT",
        128,
        "",
        "The exit that chooses where the messages of a cluster go.",
    ),
    integer(
        QMGR,
        "CLWLLEN",
        "MQIA_CLUSTER_WORKLOAD_LENGTH",
        "0..999999999",
        100,
        "How many bytes of a message the workload exit sees.",
    ),
    integer(
        QMGR,
        "CLWLMRUC",
        "MQIA_CLWL_MRU_CHANNELS",
        "1..999999999",
        999999999,
        "Among how many most recently used channels work is spread.",
    ),
    one_of(
        QMGR,
        "CLWLUSEQ",
        "MQIA_CLWL_USEQ",
        "LOCAL=MQCLWL_USEQ_LOCAL ANY=MQCLWL_USEQ_ANY",
        "LOCAL",
        "Whether messages for a local queue may also go to queues of that name elsewhere in the cluster.",
    ),
    one_of(
        QMGR,
        "DEFCLXQ",
        "MQIA_DEF_CLUSTER_XMIT_Q_TYPE",
        "SCTQ=MQCLXQ_SCTQ CHANNEL=MQCLXQ_CHANNEL",
        "SCTQ",
        "Whether cluster-sender channels share one transmission queue or have one each.",
    ),
)

_PUBLISHING: Final = table(
    one_of(
        QMGR,
        "PSMODE",
        "MQIA_PUBSUB_MODE",
        "DISABLED=MQPSM_DISABLED COMPAT=MQPSM_COMPAT ENABLED=MQPSM_ENABLED",
        "ENABLED",
        "Which publish and subscribe interfaces run.",
    ),
    one_of(
        QMGR,
        "PSCLUS",
        "MQIA_PUBSUB_CLUSTER",
        "DISABLED=MQPSCLUS_DISABLED ENABLED=MQPSCLUS_ENABLED",
        "ENABLED",
        "Whether publications travel through clusters.",
    ),
    one_of(
        QMGR,
        "PSNPMSG",
        "MQIA_PUBSUB_NP_MSG",
        "DISCARD=MQUNDELIVERED_DISCARD KEEP=MQUNDELIVERED_KEEP",
        "DISCARD",
        "What becomes of a queued nonpersistent publication that cannot be handled.",
    ),
    one_of(
        QMGR,
        "PSNPRES",
        "MQIA_PUBSUB_NP_RESP",
        "NORMAL=MQUNDELIVERED_NORMAL SAFE=MQUNDELIVERED_SAFE DISCARD=MQUNDELIVERED_DISCARD KEEP=MQUNDELIVERED_KEEP",
        "NORMAL",
        "What becomes of a nonpersistent answer that cannot be delivered.",
    ),
    integer(
        QMGR,
        "PSRTYCNT",
        "MQIA_PUBSUB_MAXMSG_RETRY_COUNT",
        "0..999999999",
        5,
        "How often a failing queued publication is tried again.",
    ),
    one_of(
        QMGR,
        "PSSYNCPT",
        "MQIA_PUBSUB_SYNC_PT",
        "YES=MQSYNCPOINT_YES IFPER=MQSYNCPOINT_IFPER",
        "IFPER",
        "Whether queued publications are handled in units of work.",
    ),
    name_of(QMGR, "PARENT", "MQCA_PARENT", 48, "", "The parent in a hierarchy of queue managers."),
)

_CAPABILITIES: Final = table(
    one_of(
        QMGR,
        "ADVCAP",
        "MQIA_ADVANCED_CAPABILITY",
        "ENABLED=MQCAP_SUPPORTED DISABLED=MQCAP_NOT_SUPPORTED",
        "ENABLED",
        "Whether the advanced capabilities are there.",
        alter=False,
    ),
    one_of(
        QMGR, "AMQPCAP", "MQIA_AMQP_CAPABILITY", _NOT_SUPPORTED, "NO", "Whether AMQP channels are there.", alter=False
    ),
    one_of(
        QMGR,
        "SPLCAP",
        "MQIA_PROT_POLICY_CAPABILITY",
        "DISABLED=MQCAP_NOT_SUPPORTED ENABLED=MQCAP_SUPPORTED",
        "DISABLED",
        "Whether message protection policies are there.",
        alter=False,
    ),
    one_of(
        QMGR, "XRCAP", "MQIA_XR_CAPABILITY", _NOT_SUPPORTED, "NO", "Whether telemetry channels are there.", alter=False
    ),
)

ATTRIBUTES: Final[tuple[Attribute, ...]] = (
    _IDENTITY + _LIMITS + _EVENTS + _MONITORING + _RECOVERY + _CHANNELS + _CLUSTERS + _PUBLISHING + _CAPABILITIES
)
