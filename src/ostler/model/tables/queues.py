"""The attributes of queues, processes and namelists."""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_types import Attribute
from ostler.model.tables.row_reader import read_rows

ATTRIBUTES: Final[tuple[Attribute, ...]] = read_rows("""\
* QLOCAL QMODEL QALIAS QREMOTE
QUEUE/QNAME MQCA_Q_NAME name=48
    The name of the queue.
TYPE/QTYPE MQIA_Q_TYPE word QLOCAL=MQQT_LOCAL QMODEL=MQQT_MODEL QALIAS=MQQT_ALIAS QREMOTE=MQQT_REMOTE \
QCLUSTER=MQQT_CLUSTER
    The type of the queue.
DESCR MQCA_Q_DESC text=64 default=
    A comment for people.
CUSTOM MQCA_CUSTOM text=128 ignored default=
    Features that have no attribute of their own yet.
PUT MQIA_INHIBIT_PUT word default=ENABLED mqset=MQRC_INHIBIT_VALUE_ERROR ENABLED=MQQA_PUT_ALLOWED \
DISABLED=MQQA_PUT_INHIBITED
    Whether messages may be put.
DEFPRTY MQIA_DEF_PRIORITY integer=0..9 default=0
    The priority of a message that is put without one of its own.
DEFPSIST MQIA_DEF_PERSISTENCE word default=NO NO=MQPER_NOT_PERSISTENT YES=MQPER_PERSISTENT
    Whether a message survives a restart when the putter leaves that to the queue.
DEFPRESP MQIA_DEF_PUT_RESPONSE_TYPE word default=SYNC SYNC=MQPRT_SYNC_RESPONSE ASYNC=MQPRT_ASYNC_RESPONSE
    Whether a put waits for its answer when the putter leaves that to the queue.
CAPEXPRY MQIA_CAP_EXPIRY integer=0..999999999 default=NOLIMIT NOLIMIT=MQCEX_NOLIMIT
    The longest time, in tenths of a second, that a message put here may live.
QSGDISP MQIA_QSG_DISP word default=QMGR zos @group
    Where in a queue-sharing group the definition lives.
* QLOCAL QMODEL
CRDATE MQCA_CREATION_DATE date
    The day on which the queue was made.
CRTIME MQCA_CREATION_TIME time
    The time of day at which the queue was made.
MAXDEPTH MQIA_MAX_Q_DEPTH integer=0..999999999 default=5000
    How many messages the queue may hold.
MAXMSGL MQIA_MAX_MSG_LENGTH integer=0..104857600 default=4194304
    The longest message, in bytes, that the queue takes.
MAXFSIZE MQIA_MAX_Q_FILE_SIZE integer=20..267386880 ignored default=DEFAULT DEFAULT=MQQFS_DEFAULT
    How large, in megabytes, the file of the queue may grow.
NPMCLASS MQIA_NPM_CLASS word default=NORMAL NORMAL=MQNPM_CLASS_NORMAL HIGH=MQNPM_CLASS_HIGH
    Whether nonpersistent messages survive an orderly restart.
USAGE MQIA_USAGE word default=NORMAL NORMAL=MQUS_NORMAL XMITQ=MQUS_TRANSMISSION
    Whether the queue is for applications or holds messages on their way to another queue manager.
DISTL MQIA_DIST_LISTS word ignored default=NO mqset=MQRC_SELECTOR_ERROR NO=MQDL_NOT_SUPPORTED YES=MQDL_SUPPORTED
    Whether the partner takes distribution lists; the channel that serves the queue sets it.
STREAMQ MQCA_STREAM_QUEUE_NAME name=48 ignored default=
    The queue that gets a copy of each message put here.
STRMQOS MQIA_STREAM_QUEUE_QOS word ignored default=BESTEF BESTEF=MQST_BEST_EFFORT MUSTDUP=MQST_MUST_DUP
    Whether the put fails when its copy cannot be made.
MSGDLVSQ MQIA_MSG_DELIVERY_SEQUENCE word default=PRIORITY PRIORITY=MQMDS_PRIORITY FIFO=MQMDS_FIFO
    Whether messages come by priority or simply in the order of their arrival.
BOTHRESH/BOTHRESHOLD MQIA_BACKOUT_THRESHOLD integer=0..999999999 default=0
    How often a message may be backed out before applications should move it to the back-out queue.
BOQNAME MQCA_BACKOUT_REQ_Q_NAME name=48 default=
    The queue for messages that were backed out too often.
HARDENBO MQIA_HARDEN_GET_BACKOUT flag default=HARDENBO HARDENBO=MQQA_BACKOUT_HARDENED \
NOHARDENBO=MQQA_BACKOUT_NOT_HARDENED
    Whether the count of back-outs survives a restart.
INDXTYPE MQIA_INDEX_TYPE word default=NONE NONE=MQIT_NONE MSGID=MQIT_MSG_ID CORRELID=MQIT_CORREL_ID \
MSGTOKEN=MQIT_MSG_TOKEN GROUPID=MQIT_GROUP_ID
    Which identifier getters will mostly ask for.
RETINTVL MQIA_RETENTION_INTERVAL integer=0..999999999 default=999999999
    For how many hours from its making the queue is needed. Nothing is deleted on account of it.
TRIGGER MQIA_TRIGGER_CONTROL flag default=NOTRIGGER mqset=MQRC_TRIGGER_CONTROL_ERROR NOTRIGGER=MQTC_OFF \
TRIGGER=MQTC_ON
    Whether arriving messages can start an application.
TRIGTYPE MQIA_TRIGGER_TYPE word default=FIRST mqset=MQRC_TRIGGER_TYPE_ERROR NONE=MQTT_NONE FIRST=MQTT_FIRST \
EVERY=MQTT_EVERY DEPTH=MQTT_DEPTH
    Whether the first message, every message or a depth starts the application.
TRIGDPTH MQIA_TRIGGER_DEPTH integer=1..999999999 default=1 mqset=MQRC_TRIGGER_DEPTH_ERROR
    The depth that starts the application with TRIGTYPE(DEPTH).
TRIGMPRI MQIA_TRIGGER_MSG_PRIORITY integer=0..9 default=0 mqset=MQRC_TRIGGER_MSG_PRIORITY_ERR
    The lowest priority that counts for triggering.
TRIGDATA MQCA_TRIGGER_DATA text=64 default= mqset
    Text handed to the application in the trigger message.
PROCESS MQCA_PROCESS_NAME name=48 default=
    The process definition of the application to start.
INITQ MQCA_INITIATION_Q_NAME name=48 default=
    The initiation queue that gets the trigger messages.
QDEPTHHI MQIA_Q_DEPTH_HIGH_LIMIT integer=0..100 default=80
    The depth, in percent of MAXDEPTH, that counts as high.
QDEPTHLO MQIA_Q_DEPTH_LOW_LIMIT integer=0..100 default=20
    The depth, in percent of MAXDEPTH, that counts as low.
QDPHIEV MQIA_Q_DEPTH_HIGH_EVENT word default=DISABLED @event
    Whether a high depth is an event.
QDPLOEV MQIA_Q_DEPTH_LOW_EVENT word default=DISABLED @event
    Whether a low depth is an event.
QDPMAXEV MQIA_Q_DEPTH_MAX_EVENT word default=ENABLED @event
    Whether a full queue is an event.
QSVCIEV MQIA_Q_SERVICE_INTERVAL_EVENT word default=NONE NONE=MQQSIE_NONE HIGH=MQQSIE_HIGH OK=MQQSIE_OK
    Whether slow or timely service of the queue is an event.
QSVCINT MQIA_Q_SERVICE_INTERVAL integer=0..999999999 default=999999999
    Within how many milliseconds the queue should be served.
STATQ MQIA_STATISTICS_Q word default=QMGR QMGR=MQMON_Q_MGR @off-on
    Whether statistics of the queue are collected.
ACCTQ MQIA_ACCOUNTING_Q word default=QMGR QMGR=MQMON_Q_MGR @off-on
    Whether the use of the queue is accounted for.
MONQ MQIA_MONITORING_Q word default=QMGR QMGR=MQMON_Q_MGR @levels
    How closely the queue is watched.
IMGRCOVQ MQIA_MEDIA_IMAGE_RECOVER_Q word ignored default=QMGR NO=MQIMGRCOV_NO YES=MQIMGRCOV_YES QMGR=MQIMGRCOV_AS_Q_MGR
    Whether the queue can be rebuilt from a media image.
OTELTRAC MQIA_OTEL_TRACE word ignored default=QMGR QMGR=MQOTEL_TRACE_QMGR OFF=MQOTEL_TRACE_OFF ON=MQOTEL_TRACE_ON \
NONE=MQOTEL_TRACE_NONE
    Whether messages of the queue take part in distributed tracing.
OTELPCTL MQIA_OTEL_PROPAGATION_CONTROL word ignored default=QMGR QMGR=MQOTEL_PCTL_QMGR MANUAL=MQOTEL_PCTL_MANUAL \
AUTO=MQOTEL_PCTL_AUTO
    Who carries the context of distributed tracing from message to message.
CFSTRUCT MQCA_CF_STRUC_NAME name=12 default= zos
    The coupling facility structure of a shared queue.
STGCLASS MQCA_STORAGE_CLASS name=8 default= zos
    The storage class of the queue.
* QLOCAL QMODEL QALIAS QREMOTE PROCESS NAMELIST
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the definition was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the definition was last changed.
* QLOCAL
DEFTYPE MQIA_DEFINITION_TYPE word default=PREDEFINED fixed PREDEFINED=MQQDT_PREDEFINED \
PERMDYN=MQQDT_PERMANENT_DYNAMIC TEMPDYN=MQQDT_TEMPORARY_DYNAMIC SHAREDYN=MQQDT_SHARED_DYNAMIC
    How the queue came about: defined by name, or made from a model.
SHARE MQIA_SHAREABILITY flag default=SHARE SHARE=MQQA_SHAREABLE NOSHARE=MQQA_NOT_SHAREABLE
    Whether several may have the queue open for input at a time.
DEFSOPT MQIA_DEF_INPUT_OPEN_OPTION word default=SHARED EXCL=MQOO_INPUT_EXCLUSIVE SHARED=MQOO_INPUT_SHARED
    How the queue is opened for input when the opener leaves that to the queue.
CURDEPTH MQIA_CURRENT_Q_DEPTH integer=0..999999999
    How many messages are on the queue.
IPPROCS MQIA_OPEN_INPUT_COUNT integer=0..999999999
    How many handles are open for input.
OPPROCS MQIA_OPEN_OUTPUT_COUNT integer=0..999999999
    How many handles are open for output.
CLWLUSEQ MQIA_CLWL_USEQ word ignored default=QMGR QMGR=MQCLWL_USEQ_AS_Q_MGR ANY=MQCLWL_USEQ_ANY LOCAL=MQCLWL_USEQ_LOCAL
    Whether messages put here may also go to queues of that name elsewhere in the cluster.
CLCHNAME MQCA_CLUS_CHL_NAME text=20 ignored default=
    The cluster-sender channels that use this transmission queue.
PSID MQIA_PAGESET_ID integer=0..99 zos
    The page set of the queue.
TPIPE MQCA_TPIPE_NAME text=8 request zos
    The pipes to an IMS bridge.
* QMODEL
DEFTYPE MQIA_DEFINITION_TYPE word default=TEMPDYN PERMDYN=MQQDT_PERMANENT_DYNAMIC TEMPDYN=MQQDT_TEMPORARY_DYNAMIC \
SHAREDYN=MQQDT_SHARED_DYNAMIC
    Which kind of dynamic queue is made from the model.
SHARE MQIA_SHAREABILITY flag default=NOSHARE SHARE=MQQA_SHAREABLE NOSHARE=MQQA_NOT_SHAREABLE
    Whether several may have the queue open for input at a time.
DEFSOPT MQIA_DEF_INPUT_OPEN_OPTION word default=EXCL EXCL=MQOO_INPUT_EXCLUSIVE SHARED=MQOO_INPUT_SHARED
    How the queue is opened for input when the opener leaves that to the queue.
* QLOCAL QMODEL QALIAS
GET MQIA_INHIBIT_GET word default=ENABLED mqset=MQRC_INHIBIT_VALUE_ERROR ENABLED=MQQA_GET_ALLOWED \
DISABLED=MQQA_GET_INHIBITED
    Whether messages may be got.
DEFREADA MQIA_DEF_READ_AHEAD word default=NO NO=MQREADA_NO YES=MQREADA_YES DISABLED=MQREADA_DISABLED
    Whether nonpersistent messages are sent to a client before it asks for them.
PROPCTL MQIA_PROPERTY_CONTROL word default=COMPAT COMPAT=MQPROP_COMPATIBILITY NONE=MQPROP_NONE ALL=MQPROP_ALL \
FORCE=MQPROP_FORCE_MQRFH2 V6COMPAT=MQPROP_V6COMPAT
    How a getter that does not say so sees the properties of messages.
* QLOCAL QALIAS QREMOTE
CLUSTER MQCA_CLUSTER_NAME name=48 ignored default=
    The cluster that knows the queue.
CLUSNL MQCA_CLUSTER_NAMELIST name=48 ignored default=
    The namelist of the clusters that know the queue.
CLWLPRTY MQIA_CLWL_Q_PRIORITY integer=0..9 ignored default=0
    The priority of the queue when work is spread.
CLWLRANK MQIA_CLWL_Q_RANK integer=0..9 ignored default=0
    The rank of the queue when work is spread.
SCOPE MQIA_SCOPE word ignored default=QMGR QMGR=MQSCO_Q_MGR CELL=MQSCO_CELL
    How far the definition is known. Only the queue manager itself is supported.
* QLOCAL QALIAS QREMOTE QMODEL
DEFBIND MQIA_DEF_BIND word ignored default=OPEN OPEN=MQBND_BIND_ON_OPEN NOTFIXED=MQBND_BIND_NOT_FIXED \
GROUP=MQBND_BIND_ON_GROUP
    When one of several queues of a cluster is chosen, if the opener leaves that to the queue.
* QALIAS
TARGET/TARGQ MQCA_BASE_OBJECT_NAME name=48 default=
    The queue or topic that the alias stands for.
TARGTYPE MQIA_BASE_TYPE word default=QUEUE QUEUE=MQOT_Q TOPIC=MQOT_TOPIC
    Whether the alias stands for a queue or a topic.
* QREMOTE
RNAME MQCA_REMOTE_Q_NAME name=48 default=
    The name of the queue on its own queue manager.
RQMNAME MQCA_REMOTE_Q_MGR_NAME name=48 default=
    The queue manager that has the queue.
XMITQ MQCA_XMIT_Q_NAME name=48 default=
    The transmission queue to use on the way there.
* PROCESS
PROCESS MQCA_PROCESS_NAME name=48
    The name of the process definition.
DESCR MQCA_PROCESS_DESC text=64 default=
    A comment for people.
APPLTYPE MQIA_APPL_TYPE integer=0..999999999 default=UNIX CICS=MQAT_CICS MVS=MQAT_MVS IMS=MQAT_IMS OS2=MQAT_OS2 \
DOS=MQAT_DOS UNIX=MQAT_UNIX OS400=MQAT_OS400 WINDOWS=MQAT_WINDOWS WINDOWSNT=MQAT_WINDOWS_NT VMS=MQAT_VMS NSK=MQAT_NSK \
NOTESAGENT=MQAT_NOTES_AGENT DEF=MQAT_DEFAULT
    The kind of application to start.
APPLICID MQCA_APPL_ID text=256 default=
    The application to start, as the trigger monitor knows it.
USERDATA MQCA_USER_DATA text=128 default=
    Text handed to the application.
ENVRDATA MQCA_ENV_DATA text=128 default=
    Text handed to the environment of the application.
QSGDISP MQIA_QSG_DISP word default=QMGR zos QMGR=MQQSGD_Q_MGR COPY=MQQSGD_COPY GROUP=MQQSGD_GROUP
    Where in a queue-sharing group the definition lives.
* NAMELIST
NAMELIST MQCA_NAMELIST_NAME name=48
    The name of the namelist.
DESCR MQCA_NAMELIST_DESC text=64 default=
    A comment for people.
NAMES MQCA_NAMES names=256x48 default=
    The names in the list.
NAMCOUNT MQIA_NAME_COUNT integer=0..256
    How many names the list has.
NLTYPE MQIA_NAMELIST_TYPE word default=NONE zos NONE=MQNT_NONE QUEUE=MQNT_Q CLUSTER=MQNT_CLUSTER \
AUTHINFO=MQNT_AUTH_INFO
    What the names in the list are names of.
QSGDISP MQIA_QSG_DISP word default=QMGR zos QMGR=MQQSGD_Q_MGR COPY=MQQSGD_COPY GROUP=MQQSGD_GROUP
    Where in a queue-sharing group the definition lives.
""")
