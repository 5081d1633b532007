"""The attributes of queues, processes and namelists."""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_table_rows import (
    altered,
    date,
    flag,
    integer,
    name_of,
    names,
    one_of,
    table,
    text,
    time,
)
from ostler.model.attribute_types import Attribute, ObjectType, Shown

QLOCAL: Final = (ObjectType.QLOCAL,)
QMODEL: Final = (ObjectType.QMODEL,)
QALIAS: Final = (ObjectType.QALIAS,)
QREMOTE: Final = (ObjectType.QREMOTE,)
HOLDING: Final = QLOCAL + QMODEL  # queues that hold messages, and their models
CLUSTERED: Final = QLOCAL + QALIAS + QREMOTE  # queues that a cluster can know
QUEUES: Final = QLOCAL + QMODEL + QALIAS + QREMOTE

EVENT: Final = "DISABLED=MQEVR_DISABLED ENABLED=MQEVR_ENABLED"
QMGR_OFF_ON: Final = "QMGR=MQMON_Q_MGR OFF=MQMON_OFF ON=MQMON_ON"
NO_YES: Final = "NO=0 YES=1"

_IDENTITY: Final = table(
    name_of(QUEUES, "QUEUE", "MQCA_Q_NAME", 48, None, "The name of the queue.", synonyms="QNAME"),
    one_of(
        QUEUES,
        "TYPE",
        "MQIA_Q_TYPE",
        "QLOCAL=MQQT_LOCAL QMODEL=MQQT_MODEL QALIAS=MQQT_ALIAS QREMOTE=MQQT_REMOTE QCLUSTER=MQQT_CLUSTER",
        None,
        "The type of the queue.",
        synonyms="QTYPE",
    ),
    text(QUEUES, "DESCR", "MQCA_Q_DESC", 64, "", "A comment for people."),
    text(QUEUES, "CUSTOM", "MQCA_CUSTOM", 128, "", "Features that have no attribute of their own yet."),
    date(HOLDING, "CRDATE", "MQCA_CREATION_DATE", "The day on which the queue was made."),
    time(HOLDING, "CRTIME", "MQCA_CREATION_TIME", "The time of day at which the queue was made."),
    *altered(QUEUES),
    one_of(
        QLOCAL,
        "DEFTYPE",
        "MQIA_DEFINITION_TYPE",
        "PREDEFINED=MQQDT_PREDEFINED PERMDYN=MQQDT_PERMANENT_DYNAMIC TEMPDYN=MQQDT_TEMPORARY_DYNAMIC "
        "SHAREDYN=MQQDT_SHARED_DYNAMIC",
        "PREDEFINED",
        "How the queue came about: defined by name, or made from a model.",
        define=False,
    ),
    one_of(
        QMODEL,
        "DEFTYPE",
        "MQIA_DEFINITION_TYPE",
        "PERMDYN=MQQDT_PERMANENT_DYNAMIC TEMPDYN=MQQDT_TEMPORARY_DYNAMIC SHAREDYN=MQQDT_SHARED_DYNAMIC",
        "TEMPDYN",
        "Which kind of dynamic queue is made from the model.",
    ),
)

_PUTTING: Final = table(
    one_of(
        QUEUES,
        "PUT",
        "MQIA_INHIBIT_PUT",
        "ENABLED=MQQA_PUT_ALLOWED DISABLED=MQQA_PUT_INHIBITED",
        "ENABLED",
        "Whether messages may be put.",
        mqset=True,
        set_error="MQRC_INHIBIT_VALUE_ERROR",
    ),
    integer(
        QUEUES,
        "DEFPRTY",
        "MQIA_DEF_PRIORITY",
        "0..9",
        0,
        "The priority of a message that is put without one of its own.",
    ),
    one_of(
        QUEUES,
        "DEFPSIST",
        "MQIA_DEF_PERSISTENCE",
        "NO=MQPER_NOT_PERSISTENT YES=MQPER_PERSISTENT",
        "NO",
        "Whether a message survives a restart when the putter leaves that to the queue.",
    ),
    one_of(
        QUEUES,
        "DEFPRESP",
        "MQIA_DEF_PUT_RESPONSE_TYPE",
        "SYNC=MQPRT_SYNC_RESPONSE ASYNC=MQPRT_ASYNC_RESPONSE",
        "SYNC",
        "Whether a put waits for its answer when the putter leaves that to the queue.",
    ),
    integer(
        QUEUES,
        "CAPEXPRY",
        "MQIA_CAP_EXPIRY",
        "0..999999999",
        "NOLIMIT",
        "The longest time, in tenths of a second, that a message put here may live.",
        words="NOLIMIT=MQCEX_NOLIMIT",
    ),
    integer(
        HOLDING,
        "MAXDEPTH",
        "MQIA_MAX_Q_DEPTH",
        "0..999999999",
        5000,
        "How many messages the queue may hold.",
    ),
    integer(
        HOLDING,
        "MAXMSGL",
        "MQIA_MAX_MSG_LENGTH",
        "0..104857600",
        4194304,
        "The longest message, in bytes, that the queue takes.",
    ),
    integer(
        HOLDING,
        "MAXFSIZE",
        "MQIA_MAX_Q_FILE_SIZE",
        "20..267386880",
        "DEFAULT",
        "How large, in megabytes, the file of the queue may grow.",
        words="DEFAULT=MQQFS_DEFAULT",
    ),
    one_of(
        HOLDING,
        "NPMCLASS",
        "MQIA_NPM_CLASS",
        "NORMAL=MQNPM_CLASS_NORMAL HIGH=MQNPM_CLASS_HIGH",
        "NORMAL",
        "Whether nonpersistent messages survive an orderly restart.",
    ),
    one_of(
        HOLDING,
        "USAGE",
        "MQIA_USAGE",
        "NORMAL=MQUS_NORMAL XMITQ=MQUS_TRANSMISSION",
        "NORMAL",
        "Whether the queue is for applications or holds messages on their way to another queue manager.",
    ),
    one_of(
        HOLDING,
        "DISTL",
        "MQIA_DIST_LISTS",
        "NO=MQDL_NOT_SUPPORTED YES=MQDL_SUPPORTED",
        "NO",
        "Whether the partner takes distribution lists; the channel that serves the queue sets it.",
        mqset=True,
        set_error="MQRC_SELECTOR_ERROR",
    ),
    name_of(
        HOLDING, "STREAMQ", "MQCA_STREAM_QUEUE_NAME", 48, "", "The queue that gets a copy of each message put here."
    ),
    one_of(
        HOLDING,
        "STRMQOS",
        "MQIA_STREAM_QUEUE_QOS",
        "BESTEF=MQST_BEST_EFFORT MUSTDUP=MQST_MUST_DUP",
        "BESTEF",
        "Whether the put fails when its copy cannot be made.",
    ),
)

_GETTING: Final = table(
    one_of(
        HOLDING + QALIAS,
        "GET",
        "MQIA_INHIBIT_GET",
        "ENABLED=MQQA_GET_ALLOWED DISABLED=MQQA_GET_INHIBITED",
        "ENABLED",
        "Whether messages may be got.",
        mqset=True,
        set_error="MQRC_INHIBIT_VALUE_ERROR",
    ),
    one_of(
        HOLDING,
        "MSGDLVSQ",
        "MQIA_MSG_DELIVERY_SEQUENCE",
        "PRIORITY=MQMDS_PRIORITY FIFO=MQMDS_FIFO",
        "PRIORITY",
        "Whether messages come by priority or simply in the order of their arrival.",
    ),
    flag(
        QLOCAL,
        "SHARE",
        "MQIA_SHAREABILITY",
        "SHARE=MQQA_SHAREABLE NOSHARE=MQQA_NOT_SHAREABLE",
        "SHARE",
        "Whether several may have the queue open for input at a time.",
    ),
    flag(
        QMODEL,
        "SHARE",
        "MQIA_SHAREABILITY",
        "SHARE=MQQA_SHAREABLE NOSHARE=MQQA_NOT_SHAREABLE",
        "NOSHARE",
        "Whether several may have the queue open for input at a time.",
    ),
    one_of(
        QLOCAL,
        "DEFSOPT",
        "MQIA_DEF_INPUT_OPEN_OPTION",
        "EXCL=MQOO_INPUT_EXCLUSIVE SHARED=MQOO_INPUT_SHARED",
        "SHARED",
        "How the queue is opened for input when the opener leaves that to the queue.",
    ),
    one_of(
        QMODEL,
        "DEFSOPT",
        "MQIA_DEF_INPUT_OPEN_OPTION",
        "EXCL=MQOO_INPUT_EXCLUSIVE SHARED=MQOO_INPUT_SHARED",
        "EXCL",
        "How the queue is opened for input when the opener leaves that to the queue.",
    ),
    one_of(
        HOLDING + QALIAS,
        "DEFREADA",
        "MQIA_DEF_READ_AHEAD",
        "NO=MQREADA_NO YES=MQREADA_YES DISABLED=MQREADA_DISABLED",
        "NO",
        "Whether nonpersistent messages are sent to a client before it asks for them.",
    ),
    one_of(
        HOLDING + QALIAS,
        "PROPCTL",
        "MQIA_PROPERTY_CONTROL",
        "COMPAT=MQPROP_COMPATIBILITY NONE=MQPROP_NONE ALL=MQPROP_ALL FORCE=MQPROP_FORCE_MQRFH2 "
        "V6COMPAT=MQPROP_V6COMPAT",
        "COMPAT",
        "How a getter that does not say so sees the properties of messages.",
    ),
    integer(
        HOLDING,
        "BOTHRESH",
        "MQIA_BACKOUT_THRESHOLD",
        "0..999999999",
        0,
        "How often a message may be backed out before applications should move it to the back-out queue.",
        synonyms="BOTHRESHOLD",
    ),
    name_of(
        HOLDING, "BOQNAME", "MQCA_BACKOUT_REQ_Q_NAME", 48, "", "The queue for messages that were backed out too often."
    ),
    flag(
        HOLDING,
        "HARDENBO",
        "MQIA_HARDEN_GET_BACKOUT",
        "HARDENBO=MQQA_BACKOUT_HARDENED NOHARDENBO=MQQA_BACKOUT_NOT_HARDENED",
        "HARDENBO",
        "Whether the count of back-outs survives a restart.",
    ),
    one_of(
        HOLDING,
        "INDXTYPE",
        "MQIA_INDEX_TYPE",
        "NONE=MQIT_NONE MSGID=MQIT_MSG_ID CORRELID=MQIT_CORREL_ID MSGTOKEN=MQIT_MSG_TOKEN GROUPID=MQIT_GROUP_ID",
        "NONE",
        "Which identifier getters will mostly ask for.",
    ),
    integer(
        HOLDING,
        "RETINTVL",
        "MQIA_RETENTION_INTERVAL",
        "0..999999999",
        999999999,
        "For how many hours from its making the queue is needed. Nothing is deleted on account of it.",
    ),
)

_TRIGGERING: Final = table(
    flag(
        HOLDING,
        "TRIGGER",
        "MQIA_TRIGGER_CONTROL",
        "NOTRIGGER=MQTC_OFF TRIGGER=MQTC_ON",
        "NOTRIGGER",
        "Whether arriving messages can start an application.",
        mqset=True,
        set_error="MQRC_TRIGGER_CONTROL_ERROR",
    ),
    one_of(
        HOLDING,
        "TRIGTYPE",
        "MQIA_TRIGGER_TYPE",
        "NONE=MQTT_NONE FIRST=MQTT_FIRST EVERY=MQTT_EVERY DEPTH=MQTT_DEPTH",
        "FIRST",
        "Whether the first message, every message or a depth starts the application.",
        mqset=True,
        set_error="MQRC_TRIGGER_TYPE_ERROR",
    ),
    integer(
        HOLDING,
        "TRIGDPTH",
        "MQIA_TRIGGER_DEPTH",
        "1..999999999",
        1,
        "The depth that starts the application with TRIGTYPE(DEPTH).",
        mqset=True,
        set_error="MQRC_TRIGGER_DEPTH_ERROR",
    ),
    integer(
        HOLDING,
        "TRIGMPRI",
        "MQIA_TRIGGER_MSG_PRIORITY",
        "0..9",
        0,
        "The lowest priority that counts for triggering.",
        mqset=True,
        set_error="MQRC_TRIGGER_MSG_PRIORITY_ERR",
    ),
    text(
        HOLDING,
        "TRIGDATA",
        "MQCA_TRIGGER_DATA",
        64,
        "",
        "Text handed to the application in the trigger message.",
        mqset=True,
    ),
    name_of(HOLDING, "PROCESS", "MQCA_PROCESS_NAME", 48, "", "The process definition of the application to start."),
    name_of(HOLDING, "INITQ", "MQCA_INITIATION_Q_NAME", 48, "", "The initiation queue that gets the trigger messages."),
)

_EVENTS: Final = table(
    integer(
        HOLDING,
        "QDEPTHHI",
        "MQIA_Q_DEPTH_HIGH_LIMIT",
        "0..100",
        80,
        "The depth, in percent of MAXDEPTH, that counts as high.",
    ),
    integer(
        HOLDING,
        "QDEPTHLO",
        "MQIA_Q_DEPTH_LOW_LIMIT",
        "0..100",
        20,
        "The depth, in percent of MAXDEPTH, that counts as low.",
    ),
    one_of(HOLDING, "QDPHIEV", "MQIA_Q_DEPTH_HIGH_EVENT", EVENT, "DISABLED", "Whether a high depth is an event."),
    one_of(HOLDING, "QDPLOEV", "MQIA_Q_DEPTH_LOW_EVENT", EVENT, "DISABLED", "Whether a low depth is an event."),
    one_of(HOLDING, "QDPMAXEV", "MQIA_Q_DEPTH_MAX_EVENT", EVENT, "ENABLED", "Whether a full queue is an event."),
    one_of(
        HOLDING,
        "QSVCIEV",
        "MQIA_Q_SERVICE_INTERVAL_EVENT",
        "NONE=MQQSIE_NONE HIGH=MQQSIE_HIGH OK=MQQSIE_OK",
        "NONE",
        "Whether slow or timely service of the queue is an event.",
    ),
    integer(
        HOLDING,
        "QSVCINT",
        "MQIA_Q_SERVICE_INTERVAL",
        "0..999999999",
        999999999,
        "Within how many milliseconds the queue should be served.",
    ),
    one_of(
        HOLDING, "STATQ", "MQIA_STATISTICS_Q", QMGR_OFF_ON, "QMGR", "Whether statistics of the queue are collected."
    ),
    one_of(
        HOLDING, "ACCTQ", "MQIA_ACCOUNTING_Q", QMGR_OFF_ON, "QMGR", "Whether the use of the queue is accounted for."
    ),
    one_of(
        HOLDING,
        "MONQ",
        "MQIA_MONITORING_Q",
        "QMGR=MQMON_Q_MGR OFF=MQMON_OFF LOW=MQMON_LOW MEDIUM=MQMON_MEDIUM HIGH=MQMON_HIGH",
        "QMGR",
        "How closely the queue is watched.",
    ),
    one_of(
        HOLDING,
        "IMGRCOVQ",
        "MQIA_MEDIA_IMAGE_RECOVER_Q",
        "NO=MQIMGRCOV_NO YES=MQIMGRCOV_YES QMGR=MQIMGRCOV_AS_Q_MGR",
        "QMGR",
        "Whether the queue can be rebuilt from a media image.",
    ),
    one_of(
        HOLDING,
        "OTELTRAC",
        "MQIA_OTEL_TRACE",
        "QMGR=MQOTEL_TRACE_QMGR OFF=MQOTEL_TRACE_OFF ON=MQOTEL_TRACE_ON NONE=MQOTEL_TRACE_NONE",
        "QMGR",
        "Whether messages of the queue take part in distributed tracing.",
    ),
    one_of(
        HOLDING,
        "OTELPCTL",
        "MQIA_OTEL_PROPAGATION_CONTROL",
        "QMGR=MQOTEL_PCTL_QMGR MANUAL=MQOTEL_PCTL_MANUAL AUTO=MQOTEL_PCTL_AUTO",
        "QMGR",
        "Who carries the context of distributed tracing from message to message.",
    ),
)

_LIVE: Final = table(
    integer(QLOCAL, "CURDEPTH", "MQIA_CURRENT_Q_DEPTH", "0..999999999", None, "How many messages are on the queue."),
    integer(QLOCAL, "IPPROCS", "MQIA_OPEN_INPUT_COUNT", "0..999999999", None, "How many handles are open for input."),
    integer(QLOCAL, "OPPROCS", "MQIA_OPEN_OUTPUT_COUNT", "0..999999999", None, "How many handles are open for output."),
)

_CLUSTERS: Final = table(
    name_of(CLUSTERED, "CLUSTER", "MQCA_CLUSTER_NAME", 48, "", "The cluster that knows the queue."),
    name_of(CLUSTERED, "CLUSNL", "MQCA_CLUSTER_NAMELIST", 48, "", "The namelist of the clusters that know the queue."),
    one_of(
        CLUSTERED + QMODEL,
        "DEFBIND",
        "MQIA_DEF_BIND",
        "OPEN=MQBND_BIND_ON_OPEN NOTFIXED=MQBND_BIND_NOT_FIXED GROUP=MQBND_BIND_ON_GROUP",
        "OPEN",
        "When one of several queues of a cluster is chosen, if the opener leaves that to the queue.",
    ),
    integer(CLUSTERED, "CLWLPRTY", "MQIA_CLWL_Q_PRIORITY", "0..9", 0, "The priority of the queue when work is spread."),
    integer(CLUSTERED, "CLWLRANK", "MQIA_CLWL_Q_RANK", "0..9", 0, "The rank of the queue when work is spread."),
    one_of(
        QLOCAL,
        "CLWLUSEQ",
        "MQIA_CLWL_USEQ",
        "QMGR=MQCLWL_USEQ_AS_Q_MGR ANY=MQCLWL_USEQ_ANY LOCAL=MQCLWL_USEQ_LOCAL",
        "QMGR",
        "Whether messages put here may also go to queues of that name elsewhere in the cluster.",
    ),
    text(
        QLOCAL,
        "CLCHNAME",
        "MQCA_CLUS_CHL_NAME",
        20,
        "",
        "The cluster-sender channels that use this transmission queue.",
    ),
    one_of(
        CLUSTERED,
        "SCOPE",
        "MQIA_SCOPE",
        "QMGR=MQSCO_Q_MGR CELL=MQSCO_CELL",
        "QMGR",
        "How far the definition is known. Only the queue manager itself is supported.",
    ),
)

_REFERRING: Final = table(
    name_of(
        QALIAS,
        "TARGET",
        "MQCA_BASE_OBJECT_NAME",
        48,
        "",
        "The queue or topic that the alias stands for.",
        synonyms="TARGQ",
    ),
    one_of(
        QALIAS,
        "TARGTYPE",
        "MQIA_BASE_TYPE",
        "QUEUE=MQOT_Q TOPIC=MQOT_TOPIC",
        "QUEUE",
        "Whether the alias stands for a queue or a topic.",
    ),
    name_of(QREMOTE, "RNAME", "MQCA_REMOTE_Q_NAME", 48, "", "The name of the queue on its own queue manager."),
    name_of(QREMOTE, "RQMNAME", "MQCA_REMOTE_Q_MGR_NAME", 48, "", "The queue manager that has the queue."),
    name_of(QREMOTE, "XMITQ", "MQCA_XMIT_Q_NAME", 48, "", "The transmission queue to use on the way there."),
)

_ZOS: Final = table(
    name_of(
        HOLDING,
        "CFSTRUCT",
        "MQCA_CF_STRUC_NAME",
        12,
        "",
        "The coupling facility structure of a shared queue.",
        zos=True,
    ),
    name_of(HOLDING, "STGCLASS", "MQCA_STORAGE_CLASS", 8, "", "The storage class of the queue.", zos=True),
    one_of(
        QUEUES,
        "QSGDISP",
        "MQIA_QSG_DISP",
        "QMGR=MQQSGD_Q_MGR COPY=MQQSGD_COPY SHARED=MQQSGD_SHARED GROUP=MQQSGD_GROUP",
        "QMGR",
        "Where in a queue-sharing group the definition lives.",
        zos=True,
    ),
    integer(QLOCAL, "PSID", "MQIA_PAGESET_ID", "0..99", None, "The page set of the queue.", zos=True),
    text(QLOCAL, "TPIPE", "MQCA_TPIPE_NAME", 8, None, "The pipes to an IMS bridge.", zos=True, shown=Shown.ON_REQUEST),
)

_PROCESS: Final = (ObjectType.PROCESS,)

_PROCESSES: Final = table(
    name_of(_PROCESS, "PROCESS", "MQCA_PROCESS_NAME", 48, None, "The name of the process definition."),
    text(_PROCESS, "DESCR", "MQCA_PROCESS_DESC", 64, "", "A comment for people."),
    integer(
        _PROCESS,
        "APPLTYPE",
        "MQIA_APPL_TYPE",
        "0..999999999",
        "UNIX",
        "The kind of application to start.",
        words="CICS=MQAT_CICS MVS=MQAT_MVS IMS=MQAT_IMS OS2=MQAT_OS2 DOS=MQAT_DOS UNIX=MQAT_UNIX OS400=MQAT_OS400 "
        "WINDOWS=MQAT_WINDOWS WINDOWSNT=MQAT_WINDOWS_NT VMS=MQAT_VMS NSK=MQAT_NSK NOTESAGENT=MQAT_NOTES_AGENT "
        "DEF=MQAT_DEFAULT",
    ),
    text(_PROCESS, "APPLICID", "MQCA_APPL_ID", 256, "", "The application to start, as the trigger monitor knows it."),
    text(_PROCESS, "USERDATA", "MQCA_USER_DATA", 128, "", "Text handed to the application."),
    text(_PROCESS, "ENVRDATA", "MQCA_ENV_DATA", 128, "", "Text handed to the environment of the application."),
    *altered(_PROCESS),
)

_NAMELIST: Final = (ObjectType.NAMELIST,)

_NAMELISTS: Final = table(
    name_of(_NAMELIST, "NAMELIST", "MQCA_NAMELIST_NAME", 48, None, "The name of the namelist."),
    text(_NAMELIST, "DESCR", "MQCA_NAMELIST_DESC", 64, "", "A comment for people."),
    names(_NAMELIST, "NAMES", "MQCA_NAMES", 256, 48, (), "The names in the list."),
    integer(_NAMELIST, "NAMCOUNT", "MQIA_NAME_COUNT", "0..256", None, "How many names the list has."),
    one_of(
        _NAMELIST,
        "NLTYPE",
        "MQIA_NAMELIST_TYPE",
        "NONE=MQNT_NONE QUEUE=MQNT_Q CLUSTER=MQNT_CLUSTER AUTHINFO=MQNT_AUTH_INFO",
        "NONE",
        "What the names in the list are names of.",
        zos=True,
    ),
    *altered(_NAMELIST),
)

ATTRIBUTES: Final[tuple[Attribute, ...]] = (
    _IDENTITY
    + _PUTTING
    + _GETTING
    + _TRIGGERING
    + _EVENTS
    + _LIVE
    + _CLUSTERS
    + _REFERRING
    + _ZOS
    + _PROCESSES
    + _NAMELISTS
)
