"""Attributes that DISPLAY shows of a status, but for channels. The queue manager supplies their values."""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_types import Attribute
from ostler.model.tables.row_reader import read_rows

_QUEUES: Final = read_rows("""\
* QSTATUS
QUEUE MQCA_Q_NAME name=48
    The name of the queue.
TYPE MQIACF_Q_STATUS_TYPE word QUEUE=MQIACF_Q_STATUS HANDLE=MQIACF_Q_HANDLE
    Whether this is about the queue or about one of its handles.
CURDEPTH MQIA_CURRENT_Q_DEPTH integer=0..999999999 for=QUEUE
    How many messages are on the queue.
CURFSIZE MQIACF_CUR_Q_FILE_SIZE integer=0..999999999 for=QUEUE
    How large, in megabytes, the file of the queue is.
CURMAXFS MQIACF_CUR_MAX_FILE_SIZE integer=0..999999999 for=QUEUE
    How large, in megabytes, the file of the queue may grow as it is now.
IPPROCS MQIA_OPEN_INPUT_COUNT integer=0..999999999 for=QUEUE
    How many handles are open for input.
OPPROCS MQIA_OPEN_OUTPUT_COUNT integer=0..999999999 for=QUEUE
    How many handles are open for output.
LGETDATE MQCACF_LAST_GET_DATE date for=QUEUE
    The day on which a message was last got.
LGETTIME MQCACF_LAST_GET_TIME time for=QUEUE
    The time of day at which a message was last got.
LPUTDATE MQCACF_LAST_PUT_DATE date for=QUEUE
    The day on which a message was last put.
LPUTTIME MQCACF_LAST_PUT_TIME time for=QUEUE
    The time of day at which a message was last put.
MEDIALOG MQCACF_MEDIA_LOG_EXTENT_NAME text=24 for=QUEUE
    The oldest log extent needed to rebuild the queue.
MONQ MQIA_MONITORING_Q word for=QUEUE @levels
    How closely the queue is watched.
MSGAGE MQIACF_OLDEST_MSG_AGE integer=-1..999999999 for=QUEUE
    How many seconds old the oldest message is.
QTIME MQIACF_Q_TIME_INDICATOR integers=2 for=QUEUE
    How many microseconds messages spend on the queue: lately, and over a longer time.
UNCOM MQIACF_UNCOMMITTED_MSGS integer=0..999999999 for=QUEUE
    How many changes of the queue are not committed.
APPLDESC MQCACF_APPL_DESC text=64 for=HANDLE
    What the application is.
APPLTAG MQCACF_APPL_TAG text=28 for=HANDLE
    The name of the application.
APPLTYPE MQIA_APPL_TYPE word for=HANDLE BATCH=MQAT_BATCH RRSBATCH=MQAT_RRS_BATCH CICS=MQAT_CICS IMS=MQAT_IMS \
CHINIT=MQAT_CHANNEL_INITIATOR SYSTEM=MQAT_QMGR SYSTEMEXT=MQAT_SYSTEM_EXTENSION USER=MQAT_USER
    The kind of application.
ASTATE MQIACF_ASYNC_STATE word for=HANDLE NONE=MQAS_NONE STARTED=MQAS_STARTED STARTWAIT=MQAS_START_WAIT \
STOPPED=MQAS_STOPPED SUSPENDED=MQAS_SUSPENDED SUSPTEMP=MQAS_SUSPENDED_TEMPORARY ACTIVE=MQAS_ACTIVE \
INACTIVE=MQAS_INACTIVE
    How its asynchronous consumer is doing.
BROWSE MQIACF_OPEN_BROWSE word for=HANDLE NO=MQQSO_NO YES=MQQSO_YES
    Whether the handle is for browsing.
CHANNEL MQCACH_CHANNEL_NAME text=20 for=HANDLE
    The channel through which the application came.
CONNAME MQCACH_CONNECTION_NAME text=264 for=HANDLE
    The address from which the application came.
HSTATE MQIACF_HANDLE_STATE word for=HANDLE ACTIVE=MQHSTATE_ACTIVE INACTIVE=MQHSTATE_INACTIVE
    Whether a verb is under way on the handle.
INPUT MQIACF_OPEN_INPUT_TYPE word for=HANDLE NO=MQQSO_NO SHARED=MQQSO_SHARED EXCL=MQQSO_EXCLUSIVE
    Whether and how the handle is for input.
INQUIRE MQIACF_OPEN_INQUIRE word for=HANDLE NO=MQQSO_NO YES=MQQSO_YES
    Whether the handle is for inquiring attributes.
OUTPUT MQIACF_OPEN_OUTPUT word for=HANDLE NO=MQQSO_NO YES=MQQSO_YES
    Whether the handle is for output.
SET MQIACF_OPEN_SET word for=HANDLE NO=MQQSO_NO YES=MQQSO_YES
    Whether the handle is for setting attributes.
PID MQIACF_PROCESS_ID integer=0..2147483647 for=HANDLE
    The process of the application.
TID MQIACF_THREAD_ID integer=0..2147483647 for=HANDLE
    The thread of the application.
QMURID MQBACF_Q_MGR_UOW_ID hex=16 for=HANDLE
    The unit of work, as the queue manager numbers it.
URID MQBACF_EXTERNAL_UOW_ID hex=128 for=HANDLE
    The unit of work, as its coordinator names it.
URTYPE MQIACF_UOW_TYPE word for=HANDLE CICS=MQUOWT_CICS XA=MQUOWT_XA RRS=MQUOWT_RRS IMS=MQUOWT_IMS QMGR=MQUOWT_Q_MGR
    Who coordinates the unit of work.
USERID MQCACF_USER_IDENTIFIER text=64 for=HANDLE
    The user of the application.
ASID MQCACF_ASID text=4 zos for=HANDLE
    The address space of the application.
PSBNAME MQCACF_PSB_NAME text=8 zos for=HANDLE
    The program specification block of an IMS application.
PSTID MQCACF_PST_ID text=4 zos for=HANDLE
    The region of an IMS application.
TASKNO MQCACF_TASK_NUMBER text=8 zos for=HANDLE
    The task of a CICS application.
TRANSID MQCACF_TRANSACTION_ID text=4 zos for=HANDLE
    The transaction of a CICS application.
QSGDISP MQIA_QSG_DISP word zos @group
    Where in a queue-sharing group the queue lives.
""")

_MANAGER: Final = read_rows("""\
* QMSTATUS
QMNAME MQCA_Q_MGR_NAME name=48
    The name of the queue manager.
TYPE MQIACF_Q_MGR_STATUS_INFO_TYPE word QMGR=MQIACF_Q_MGR_STATUS_INFO_Q_MGR NATIVEHA=MQIACF_Q_MGR_STATUS_INFO_NHA \
LOG=MQIACF_Q_MGR_STATUS_LOG
    What the figures are about: the queue manager, its copies or its log.
STATUS MQIACF_Q_MGR_STATUS word STARTING=MQQMSTA_STARTING RUNNING=MQQMSTA_RUNNING QUIESCING=MQQMSTA_QUIESCING \
STANDBY=MQQMSTA_STANDBY
    What the queue manager is doing.
CHINIT MQIACF_CHINIT_STATUS word for=QMGR STOPPED=MQSVC_STATUS_STOPPED STARTING=MQSVC_STATUS_STARTING \
RUNNING=MQSVC_STATUS_RUNNING STOPPING=MQSVC_STATUS_STOPPING
    What the channel initiator is doing.
CMDSERV MQIACF_CMD_SERVER_STATUS word for=QMGR STOPPED=MQSVC_STATUS_STOPPED STARTING=MQSVC_STATUS_STARTING \
RUNNING=MQSVC_STATUS_RUNNING STOPPING=MQSVC_STATUS_STOPPING
    What the command server is doing.
CONNS MQIACF_CONNECTION_COUNT integer=0..999999999 for=QMGR
    How many connections there are.
HOSTNAME MQCACF_HOST_NAME text=256 for=QMGR
    The machine that the queue manager runs on.
INSTDESC MQCA_INSTALLATION_DESC text=64 for=QMGR
    The description of the installation.
INSTNAME MQCA_INSTALLATION_NAME text=16 for=QMGR
    The name of the installation.
INSTPATH MQCA_INSTALLATION_PATH text=256 for=QMGR
    Where the installation is.
LDAPCONN MQIACF_LDAP_CONNECTION_STATUS word for=QMGR CONNECTED=MQLDAPC_CONNECTED ERROR=MQLDAPC_ERROR \
INACTIVE=MQLDAPC_INACTIVE
    How the connection to the LDAP server is doing.
LONGPASS - integer=0..2147483647 for=QMGR
    The longest pass of the loop that serves applications, in microseconds, in the last one to two minutes.
STANDBY MQIACF_PERMIT_STANDBY word for=QMGR NOPERMIT=MQSTDBY_NOT_PERMITTED PERMIT=MQSTDBY_PERMITTED
    Whether another instance may stand by.
STARTDA MQCACF_Q_MGR_START_DATE date for=QMGR
    The day on which the queue manager started.
STARTTI MQCACF_Q_MGR_START_TIME time for=QMGR
    The time of day at which the queue manager started.
AUTOCLUS MQIACF_AUTO_CLUSTER_TYPE word for=QMGR NONE=0 UNIFORM=1
    Whether the queue manager keeps itself in a cluster of equals.
UNICLUS MQCACF_UNIFORM_CLUSTER_NAME text=48 for=QMGR
    The cluster of equals that the queue manager is in.
DATPATH MQCACF_Q_MGR_DATA_PATH text=1024 for=QMGR
    Where the data of the queue manager is.
DATFSSZ MQIACF_DATA_FS_SIZE integer=0..2147483647 for=QMGR
    How large, in megabytes, the file system of the data is.
DATFSUSE MQIACF_DATA_FS_IN_USE integer=0..100 for=QMGR
    How full, in percent, the file system of the data is.
QMFSENC MQIACF_Q_MGR_FS_ENCRYPTED word for=QMGR NO=MQFSENC_NO YES=MQFSENC_YES UNKNOWN=MQFSENC_UNKNOWN
    Whether the file system of the queue manager is encrypted.
QMFSSZ MQIACF_Q_MGR_FS_SIZE integer=0..2147483647 for=QMGR
    How large, in megabytes, the file system of the queue manager is.
QMFSUSE MQIACF_Q_MGR_FS_IN_USE integer=0..100 for=QMGR
    How full, in percent, the file system of the queue manager is.
CHKPTCNT MQIACF_CHECKPOINT_COUNT integer=0..2147483647 for=LOG,QMGR
    How many checkpoints were taken since the start.
CHKPTOPS MQIACF_CHECKPOINT_OPERATIONS integer=0..2147483647 for=LOG,QMGR
    How many operations were logged since the last checkpoint.
CHKPTSZ MQIACF_CHECKPOINT_SIZE integer=0..2147483647 for=LOG,QMGR
    How many megabytes were logged since the last checkpoint.
LOGTYPE MQIACF_LOG_TYPE word for=LOG,QMGR CIRCULAR=MQLOGTYPE_CIRCULAR LINEAR=MQLOGTYPE_LINEAR \
REPLICATED=MQLOGTYPE_REPLICATED
    How the log uses its extents.
LOGPATH MQCACF_LOG_PATH text=1024 for=LOG,QMGR
    Where the log is.
LOGEXTSZ MQIACF_LOG_EXTENT_SIZE integer=0..2147483647 for=LOG,QMGR
    How large, in kilobytes, an extent of the log is.
LOGPRIM MQIACF_LOG_PRIMARIES integer=0..999999999 for=LOG,QMGR
    How many primary extents the log has.
LOGSEC MQIACF_LOG_SECONDARIES integer=0..999999999 for=LOG,QMGR
    How many secondary extents the log may have.
LOGINUSE MQIACF_LOG_IN_USE integer=0..999999999 for=LOG,QMGR
    How much of the primary log space, in percent, a restart would need now.
LOGUTIL MQIACF_LOG_UTILIZATION integer=0..999999999 for=LOG,QMGR
    How well, in percent, the log space fits the work.
LOGWRSZ - integer=0..2147483647 for=LOG,QMGR
    How many bytes the log writes at a time, on average lately.
LOGWRLAT - integer=0..2147483647 for=LOG,QMGR
    How many microseconds a write of the log takes until it is on disk, on average lately.
LOGFSSZ MQIACF_LOG_FS_SIZE integer=0..2147483647 for=LOG,QMGR
    How large, in megabytes, the file system of the log is.
LOGFSUSE MQIACF_LOG_FS_IN_USE integer=0..100 for=LOG,QMGR
    How full, in percent, the file system of the log is.
LOGSTRDA MQCACF_LOG_START_DATE date for=LOG,QMGR
    The day on which the oldest needed record was written.
LOGSTRTI MQCACF_LOG_START_TIME time for=LOG,QMGR
    The time of day at which the oldest needed record was written.
LOGSTRL MQCACF_LOG_START_LSN text=32 for=LOG,QMGR
    The number of the oldest needed record.
CURRLOG MQCACF_CURRENT_LOG_EXTENT_NAME text=24 for=LOG,QMGR
    The extent that is being written.
RECLOG MQCACF_RESTART_LOG_EXTENT_NAME text=24 for=LOG,QMGR
    The oldest extent that a restart needs.
MEDIALOG MQCACF_MEDIA_LOG_EXTENT_NAME text=24 for=LOG,QMGR
    The oldest extent that the recovery of an object needs.
ARCHLOG MQCACF_ARCHIVE_LOG_EXTENT_NAME text=24 for=LOG,QMGR
    The oldest extent that waits to be archived.
RECSZ MQIACF_RESTART_LOG_SIZE integer=0..2147483647 for=LOG,QMGR
    How many megabytes of log a restart needs.
MEDIASZ MQIACF_MEDIA_LOG_SIZE integer=0..2147483647 for=LOG,QMGR
    How many megabytes of log the recovery of objects needs.
ARCHSZ MQIACF_ARCHIVE_LOG_SIZE integer=0..2147483647 for=LOG,QMGR
    How many megabytes of log wait to be archived.
REUSESZ MQIACF_REUSABLE_LOG_SIZE integer=0..2147483647 for=LOG,QMGR
    How many megabytes of log can be used again.
NHATYPE MQIACF_NHA_TYPE word for=NATIVEHA INSTANCE=MQNHATYPE_INSTANCE GROUP=MQNHATYPE_GROUP ALL=MQNHATYPE_ALL
    Whether this is about an instance or about a group.
INSTANCE MQCACF_NHA_INSTANCE_NAME text=48 for=NATIVEHA,QMGR
    The name of the copy.
QUORUM - text=16 for=QMGR
    How many copies are in sync, of how many.
GRPLSN MQCACF_NHA_GROUP_LSN text=32 for=NATIVEHA,QMGR
    How far enough copies have the log.
GRPNAME MQCACF_NHA_GROUP_NAME text=48 for=NATIVEHA,QMGR
    The name of the group of copies.
GRPROLE MQIACF_NHA_GROUP_ROLE word for=NATIVEHA,QMGR UNKNOWN=MQNHAGRPROLE_UNKNOWN \
NOTCONFIGURED=MQNHAGRPROLE_NOT_CONFIGURED LIVE=MQNHAGRPROLE_LIVE RECOVERY=MQNHAGRPROLE_RECOVERY \
PENDINGLIVE=MQNHAGRPROLE_PENDING_LIVE PENDINGRECOVERY=MQNHAGRPROLE_PENDING_RECOVERY
    What the group does.
GRPADDR MQCACF_NHA_GROUP_ADDRESS text=264 for=NATIVEHA
    The address of the group.
GRPVER - text=48 for=NATIVEHA
    The version of the group's leader.
GRSTATUS MQIACF_NHA_GROUP_STATUS word for=NATIVEHA UNKNOWN=MQNHASTATUS_UNKNOWN NORMAL=MQNHASTATUS_NORMAL \
CHECKING=MQNHASTATUS_CHECKING SYNCHRONIZING=MQNHASTATUS_SYNCHRONIZING REBASING=MQNHASTATUS_REBASING \
DISKFULL=MQNHASTATUS_DISK_FULL DISCONNECTED=MQNHASTATUS_DISCONNECTED PARTITIONED=MQNHASTATUS_PARTITIONED \
SYNCFAILED=MQNHASTATUS_SYNC_FAILED
    How the group is doing.
CONNGRP MQIACF_NHA_GROUP_CONNECTED word for=NATIVEHA NO=MQNHACONNGRP_NO YES=MQNHACONNGRP_YES \
SUSPENDED=MQNHACONNGRP_SUSPENDED
    Whether the group is connected to this one.
INITTIME MQCACF_NHA_GROUP_INIT_ISOTIME text=32 for=NATIVEHA
    The time of the last log record when the group first became active.
LIVETIME MQCACF_NHA_GROUP_LIVE_ISOTIME text=32 for=NATIVEHA
    The time at which the group became live.
RCOVLSN MQCACF_NHA_GROUP_RECOV_LSN text=32 for=NATIVEHA
    How far the group has the log.
RCOVTIME MQCACF_NHA_GROUP_RECOV_ISOTIME text=32 for=NATIVEHA
    The time of the last log record that the group has.
SYNCTIME MQCACF_NHA_SYNC_ISOTIME text=32 for=NATIVEHA
    The last time that the copy or the group was in sync.
ACKLSN MQCACF_NHA_ACKNOWLEDGED_LSN text=32 for=NATIVEHA
    How far the copy has acknowledged the log.
HAINITDA MQCACF_NHA_GROUP_INITIAL_DATE date for=NATIVEHA
    The day of the last log record when the group first became active.
HAINITTI MQCACF_NHA_GROUP_INITIAL_TIME time for=NATIVEHA
    The time of day of the last log record when the group first became active.
HAINITL MQCACF_NHA_GROUP_INITIAL_LSN text=32 for=NATIVEHA
    The last log record when the group first became active.
ROLE MQIACF_NHA_INSTANCE_ROLE word for=NATIVEHA,QMGR UNKNOWN=MQNHAROLE_UNKNOWN ACTIVE=MQNHAROLE_ACTIVE \
REPLICA=MQNHAROLE_REPLICA LEADER=MQNHAROLE_LEADER
    What the copy does.
REPLADDR MQCACF_NHA_REPL_ADDRESS text=264 for=NATIVEHA
    The address to which the log is sent.
CONNACTV MQIACF_NHA_INSTANCE_ACTV_CONNS word for=NATIVEHA NO=MQNHACONNACTV_NO YES=MQNHACONNACTV_YES
    Whether the copy is connected to the active one.
INSYNC MQIACF_NHA_INSTANCE_IN_SYNC word for=NATIVEHA,QMGR NO=MQNHAINSYNC_NO YES=MQNHAINSYNC_YES
    Whether the copy could take over without losing anything.
BACKLOG MQIACF_NHA_INSTANCE_BACKLOG integer=-1..2147483647 for=NATIVEHA
    How many kilobytes the copy is behind.
HASTATUS MQIACF_NHA_INSTANCE_STATUS word for=NATIVEHA UNKNOWN=MQNHASTATUS_UNKNOWN NORMAL=MQNHASTATUS_NORMAL \
CHECKING=MQNHASTATUS_CHECKING SYNCHRONIZING=MQNHASTATUS_SYNCHRONIZING REBASING=MQNHASTATUS_REBASING \
DISKFULL=MQNHASTATUS_DISK_FULL DISCONNECTED=MQNHASTATUS_DISCONNECTED PARTITIONED=MQNHASTATUS_PARTITIONED \
SYNCFAILED=MQNHASTATUS_SYNC_FAILED
    How the copy is doing.
* PUBSUB
TYPE MQIACF_PS_STATUS_TYPE word ALL=MQPSST_ALL LOCAL=MQPSST_LOCAL PARENT=MQPSST_PARENT CHILD=MQPSST_CHILD
    Whether this is about the queue manager, its parent or a child.
QMNAME MQCA_Q_MGR_NAME name=48
    The queue manager in question.
STATUS MQIACF_PUBSUB_STATUS word ACTIVE=MQPS_STATUS_ACTIVE COMPAT=MQPS_STATUS_COMPAT ERROR=MQPS_STATUS_ERROR \
INACTIVE=MQPS_STATUS_INACTIVE STARTING=MQPS_STATUS_STARTING STOPPING=MQPS_STATUS_STOPPING REFUSED=MQPS_STATUS_REFUSED
    How publish and subscribe is doing there.
SUBCOUNT MQIA_SUB_COUNT integer=0..999999999
    How many subscriptions there are.
TPCOUNT MQIA_TOPIC_NODE_COUNT integer=0..999999999
    How many topics the tree has.
""")

_APPLICATIONS: Final = read_rows("""\
* CONN
CONN MQBACF_CONNECTION_ID hex=24
    What tells the connection from all others.
EXTCONN - hex=16
    The part of it that all connections of the queue manager share.
TYPE MQIACF_CONN_INFO_TYPE word CONN=MQIACF_CONN_INFO_CONN HANDLE=MQIACF_CONN_INFO_HANDLE ALL=MQIACF_CONN_INFO_ALL
    Whether this is about the connection or about one of its handles.
PID MQIACF_PROCESS_ID integer=0..2147483647 for=CONN
    The process of the application.
TID MQIACF_THREAD_ID integer=0..2147483647 for=CONN
    The thread of the application.
APPLDESC MQCACF_APPL_DESC text=64 for=CONN
    What the application is.
APPLTAG MQCACF_APPL_TAG text=28 for=CONN
    The name of the application.
APPLTYPE MQIA_APPL_TYPE word for=CONN BATCH=MQAT_BATCH RRSBATCH=MQAT_RRS_BATCH CICS=MQAT_CICS IMS=MQAT_IMS \
CHINIT=MQAT_CHANNEL_INITIATOR SYSTEM=MQAT_QMGR SYSTEMEXT=MQAT_SYSTEM_EXTENSION USER=MQAT_USER
    The kind of application.
ASTATE MQIACF_ASYNC_STATE word NONE=MQAS_NONE STARTED=MQAS_STARTED STARTWAIT=MQAS_START_WAIT STOPPED=MQAS_STOPPED \
SUSPENDED=MQAS_SUSPENDED SUSPTEMP=MQAS_SUSPENDED_TEMPORARY ACTIVE=MQAS_ACTIVE INACTIVE=MQAS_INACTIVE
    How asynchronous consumers are doing.
CHANNEL MQCACH_CHANNEL_NAME text=20 for=CONN
    The channel through which the application came.
CLIENTID MQCACF_AMQP_CLIENT_ID text=256 for=CONN
    The identifier of an AMQP client.
CONNAME MQCACH_CONNECTION_NAME text=264 for=CONN
    The address from which the application came.
CONNOPTS MQIACF_CONNECT_OPTIONS options for=CONN MQCNO_FASTPATH_BINDING=MQCNO_FASTPATH_BINDING \
MQCNO_HANDLE_SHARE_NONE=MQCNO_HANDLE_SHARE_NONE MQCNO_HANDLE_SHARE_BLOCK=MQCNO_HANDLE_SHARE_BLOCK \
MQCNO_HANDLE_SHARE_NO_BLOCK=MQCNO_HANDLE_SHARE_NO_BLOCK MQCNO_SHARED_BINDING=MQCNO_SHARED_BINDING \
MQCNO_ISOLATED_BINDING=MQCNO_ISOLATED_BINDING MQCNO_LOCAL_BINDING=MQCNO_LOCAL_BINDING \
MQCNO_CLIENT_BINDING=MQCNO_CLIENT_BINDING MQCNO_ACCOUNTING_MQI_ENABLED=MQCNO_ACCOUNTING_MQI_ENABLED \
MQCNO_ACCOUNTING_MQI_DISABLED=MQCNO_ACCOUNTING_MQI_DISABLED MQCNO_ACCOUNTING_Q_ENABLED=MQCNO_ACCOUNTING_Q_ENABLED \
MQCNO_ACCOUNTING_Q_DISABLED=MQCNO_ACCOUNTING_Q_DISABLED MQCNO_RECONNECT=MQCNO_RECONNECT \
MQCNO_RECONNECT_DISABLED=MQCNO_RECONNECT_DISABLED MQCNO_RECONNECT_Q_MGR=MQCNO_RECONNECT_Q_MGR
    The options that the application connected with.
CONNTAG MQBACF_CONN_TAG hex=128 for=CONN
    The tag that the application connected with.
EXTURID MQBACF_EXTERNAL_UOW_ID hex=128 for=CONN
    The unit of work, as its coordinator names it.
QMURID MQBACF_Q_MGR_UOW_ID hex=16 for=CONN
    The unit of work, as the queue manager numbers it.
URTYPE MQIACF_UOW_TYPE word for=CONN CICS=MQUOWT_CICS XA=MQUOWT_XA RRS=MQUOWT_RRS IMS=MQUOWT_IMS QMGR=MQUOWT_Q_MGR
    Who coordinates the unit of work.
USERID MQCACF_USER_IDENTIFIER text=64 for=CONN
    The user of the application.
UOWLOG MQCACF_UOW_LOG_EXTENT_NAME text=24 for=CONN
    The log extent in which the unit of work began.
UOWLOGDA MQCACF_UOW_LOG_START_DATE date for=CONN
    The day on which the unit of work first wrote to the log.
UOWLOGTI MQCACF_UOW_LOG_START_TIME time for=CONN
    The time of day at which the unit of work first wrote to the log.
UOWSTATE MQIACF_UOW_STATE word for=CONN NONE=MQUOWST_NONE ACTIVE=MQUOWST_ACTIVE PREPARED=MQUOWST_PREPARED \
UNRESOLVED=MQUOWST_UNRESOLVED
    How far the unit of work is.
UOWSTDA MQCACF_UOW_START_DATE date for=CONN
    The day on which the unit of work began.
UOWSTTI MQCACF_UOW_START_TIME time for=CONN
    The time of day at which the unit of work began.
OBJNAME MQCACF_OBJECT_NAME text=48 for=HANDLE
    The object that is open.
OBJTYPE MQIACF_OBJECT_TYPE word for=HANDLE QUEUE=MQOT_Q NAMELIST=MQOT_NAMELIST PROCESS=MQOT_PROCESS QMGR=MQOT_Q_MGR \
CHANNEL=MQOT_CHANNEL AUTHINFO=MQOT_AUTH_INFO TOPIC=MQOT_TOPIC
    The type of the object that is open.
OPENOPTS MQIACF_OPEN_OPTIONS options for=HANDLE MQOO_INPUT_AS_Q_DEF=MQOO_INPUT_AS_Q_DEF \
MQOO_INPUT_SHARED=MQOO_INPUT_SHARED MQOO_INPUT_EXCLUSIVE=MQOO_INPUT_EXCLUSIVE MQOO_BROWSE=MQOO_BROWSE \
MQOO_OUTPUT=MQOO_OUTPUT MQOO_INQUIRE=MQOO_INQUIRE MQOO_SET=MQOO_SET \
MQOO_SAVE_ALL_CONTEXT=MQOO_SAVE_ALL_CONTEXT MQOO_PASS_IDENTITY_CONTEXT=MQOO_PASS_IDENTITY_CONTEXT \
MQOO_PASS_ALL_CONTEXT=MQOO_PASS_ALL_CONTEXT MQOO_SET_IDENTITY_CONTEXT=MQOO_SET_IDENTITY_CONTEXT \
MQOO_SET_ALL_CONTEXT=MQOO_SET_ALL_CONTEXT MQOO_ALTERNATE_USER_AUTHORITY=MQOO_ALTERNATE_USER_AUTHORITY \
MQOO_FAIL_IF_QUIESCING=MQOO_FAIL_IF_QUIESCING MQOO_BIND_ON_OPEN=MQOO_BIND_ON_OPEN \
MQOO_BIND_NOT_FIXED=MQOO_BIND_NOT_FIXED MQOO_RESOLVE_NAMES=MQOO_RESOLVE_NAMES MQOO_CO_OP=MQOO_CO_OP \
MQOO_RESOLVE_LOCAL_Q=MQOO_RESOLVE_LOCAL_Q MQOO_NO_READ_AHEAD=MQOO_NO_READ_AHEAD MQOO_READ_AHEAD=MQOO_READ_AHEAD \
MQOO_NO_MULTICAST=MQOO_NO_MULTICAST MQOO_BIND_ON_GROUP=MQOO_BIND_ON_GROUP
    The options that it was opened with.
HSTATE MQIACF_HANDLE_STATE word for=HANDLE ACTIVE=MQHSTATE_ACTIVE INACTIVE=MQHSTATE_INACTIVE
    Whether a verb is under way on the handle.
READA MQIA_READ_AHEAD word for=HANDLE NO=MQREADA_NO YES=MQREADA_YES BACKLOG=MQREADA_BACKLOG INHIBITED=MQREADA_INHIBITED
    Whether messages are sent to the client before it asks for them.
DEST MQCACF_DESTINATION text=48 for=HANDLE
    The queue of a subscription.
DESTQMGR MQCACF_DESTINATION_Q_MGR text=48 for=HANDLE
    The queue manager of that queue.
SUBID MQBACF_SUB_ID hex=24 for=HANDLE
    What tells the subscription from all others.
SUBNAME MQCACF_SUB_NAME text=10240 for=HANDLE
    The name of the subscription.
TOPICSTR MQCA_TOPIC_STRING text=10240 for=HANDLE
    The topic string of the subscription or publisher.
ASID MQCACF_ASID text=4 zos for=CONN
    The address space of the application.
NID MQCACF_ORIGIN_NAME text=8 zos for=CONN
    Where the unit of work came from.
PSBNAME MQCACF_PSB_NAME text=8 zos for=CONN
    The program specification block of an IMS application.
PSTID MQCACF_PST_ID text=4 zos for=CONN
    The region of an IMS application.
TASKNO MQCACF_TASK_NUMBER text=8 zos for=CONN
    The task of a CICS application.
TRANSID MQCACF_TRANSACTION_ID text=4 zos for=CONN
    The transaction of a CICS application.
URDISP MQIA_UR_DISP word zos for=CONN QMGR=MQQSGD_Q_MGR GROUP=MQQSGD_GROUP
    Whether the unit of work is of the queue manager or of the group.
""")

_TOPICS: Final = read_rows("""\
* TPSTATUS
TOPICSTR MQCA_TOPIC_STRING text=10240
    The topic string.
TYPE MQIACF_TOPIC_STATUS_TYPE word TOPIC=MQIACF_TOPIC_STATUS SUB=MQIACF_TOPIC_SUB PUB=MQIACF_TOPIC_PUB
    Whether this is about the topic, a subscriber or a publisher.
ADMIN MQCA_ADMIN_TOPIC_NAME text=48 for=TOPIC
    The topic object of exactly this place, if there is one.
CAPEXPRY MQIA_CAP_EXPIRY integer=0..999999999 for=TOPIC NOLIMIT=MQCEX_NOLIMIT
    The longest time, in tenths of a second, that a publication may live.
CLROUTE MQIA_CLUSTER_PUB_ROUTE word for=TOPIC DIRECT=MQCLROUTE_DIRECT TOPICHOST=MQCLROUTE_TOPIC_HOST \
NONE=MQCLROUTE_NONE
    Which way publications take through the cluster.
CLUSTER MQCA_CLUSTER_NAME text=48 for=TOPIC
    The cluster that knows the topic.
COMMINFO MQCA_COMM_INFO_NAME text=48 for=TOPIC
    The communication information object for multicast.
DEFPRESP MQIA_DEF_PUT_RESPONSE_TYPE word for=TOPIC SYNC=MQPRT_SYNC_RESPONSE ASYNC=MQPRT_ASYNC_RESPONSE
    Whether a publisher waits for its answer when it leaves that to the topic.
DEFPRTY MQIA_DEF_PRIORITY integer=0..9 for=TOPIC
    The priority of a message that is published without one of its own.
DEFPSIST MQIA_TOPIC_DEF_PERSISTENCE word for=TOPIC NO=MQPER_NOT_PERSISTENT YES=MQPER_PERSISTENT
    Whether a publication survives a restart when the publisher leaves that to the topic.
DURSUB MQIA_DURABLE_SUB word for=TOPIC YES=MQSUB_DURABLE_ALLOWED NO=MQSUB_DURABLE_INHIBITED
    Whether subscriptions may be durable.
MCAST MQIA_MULTICAST word for=TOPIC DISABLED=MQMC_DISABLED ENABLED=MQMC_ENABLED ONLY=MQMC_ONLY
    Whether publications go by multicast.
MDURMDL MQCA_MODEL_DURABLE_Q text=48 for=TOPIC
    The model of managed queues for durable subscriptions.
MNDURMDL MQCA_MODEL_NON_DURABLE_Q text=48 for=TOPIC
    The model of managed queues for other subscriptions.
NPMSGDLV MQIA_NPM_DELIVERY word for=TOPIC ALL=MQDLV_ALL ALLDUR=MQDLV_ALL_DUR ALLAVAIL=MQDLV_ALL_AVAIL
    Who must get a nonpersistent publication for the publish to succeed.
PMSGDLV MQIA_PM_DELIVERY word for=TOPIC ALL=MQDLV_ALL ALLDUR=MQDLV_ALL_DUR ALLAVAIL=MQDLV_ALL_AVAIL
    Who must get a persistent publication for the publish to succeed.
PUB MQIA_INHIBIT_PUB word for=TOPIC ENABLED=MQTA_PUB_ALLOWED DISABLED=MQTA_PUB_INHIBITED
    Whether messages may be published.
PUBCOUNT MQIA_PUB_COUNT integer=0..999999999 for=TOPIC
    How many handles are open for publishing.
PUBSCOPE MQIA_PUB_SCOPE word for=TOPIC QMGR=MQSCOPE_QMGR ALL=MQSCOPE_ALL
    Whether publications leave the queue manager.
RETAINED MQIACF_RETAINED_PUBLICATION word for=TOPIC @no-yes
    Whether there is a retained publication.
SUB MQIA_INHIBIT_SUB word for=TOPIC ENABLED=MQTA_SUB_ALLOWED DISABLED=MQTA_SUB_INHIBITED
    Whether applications may subscribe.
SUBCOUNT MQIA_SUB_COUNT integer=0..999999999 for=TOPIC
    How many subscribers there are.
SUBSCOPE MQIA_SUB_SCOPE word for=TOPIC QMGR=MQSCOPE_QMGR ALL=MQSCOPE_ALL
    Whether subscriptions reach other queue managers.
USEDLQ MQIA_USE_DEAD_LETTER_Q word for=TOPIC NO=MQUSEDLQ_NO YES=MQUSEDLQ_YES
    Whether publications that cannot be delivered go to the dead-letter queue.
LPUBDATE MQCACF_LAST_PUB_DATE date for=PUB
    The day on which the publisher last published.
LPUBTIME MQCACF_LAST_PUB_TIME time for=PUB
    The time of day at which the publisher last published.
NUMPUBS MQIACF_PUBLISH_COUNT integer=0..999999999 for=PUB
    How much the publisher published.
* TPSTATUS SBSTATUS
SUBID MQBACF_SUB_ID hex=24 for=SUB
    What tells the subscription from all others.
SUBUSER MQCACF_SUB_USER_ID text=64 for=SUB
    The user that the subscription belongs to.
SUBTYPE MQIACF_SUB_TYPE word for=SUB ADMIN=MQSUBTYPE_ADMIN API=MQSUBTYPE_API PROXY=MQSUBTYPE_PROXY
    How the subscription was made.
DURABLE MQIACF_DURABLE_SUBSCRIPTION word for=SUB YES=MQSUB_DURABLE_YES NO=MQSUB_DURABLE_NO
    Whether the subscription outlives the connection that made it.
ACTCONN MQBACF_CONNECTION_ID hex=24 for=SUB,PUB
    The connection that has it open.
LMSGDATE MQCACF_LAST_MSG_DATE date for=SUB
    The day on which the last message was delivered.
LMSGTIME MQCACF_LAST_MSG_TIME time for=SUB
    The time of day at which the last message was delivered.
MCASTREL MQIACF_MCAST_REL_INDICATOR integers=2 for=SUB,PUB
    How reliable multicast is, in percent: lately, and over a longer time.
NUMMSGS MQIACF_MESSAGE_COUNT integer=0..999999999 for=SUB
    How many messages were delivered.
RESMDATE MQCA_RESUME_DATE date for=SUB
    The day on which the subscription was last taken up.
RESMTIME MQCA_RESUME_TIME time for=SUB
    The time of day at which the subscription was last taken up.
* SBSTATUS
SUB MQCACF_SUB_NAME text=10240
    The name of the subscription.
TOPICSTR MQCA_TOPIC_STRING text=10240
    The topic string.
""")

ATTRIBUTES: Final[tuple[Attribute, ...]] = _QUEUES + _MANAGER + _APPLICATIONS + _TOPICS
