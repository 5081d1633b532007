"""Attributes that DISPLAY shows of structures of the coupling facility, and of connections to data sets."""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_types import Attribute
from ostler.model.tables.row_reader import read_rows

ATTRIBUTES: Final[tuple[Attribute, ...]] = read_rows("""\
* CFSTATUS
CFSTATUS MQCA_CF_STRUC_NAME name=12
    The name of the coupling facility structure.
TYPE MQIACF_CF_STATUS_TYPE word SUMMARY=MQIACF_CF_STATUS_SUMMARY CONNECT=MQIACF_CF_STATUS_CONNECT \
BACKUP=MQIACF_CF_STATUS_BACKUP SMDS=MQIACF_CF_STATUS_SMDS
    What the figures are about: the structure, a member that is connected, its backup, or a data set.
CFTYPE MQIACF_CF_STRUC_TYPE word for=SUMMARY APPL=MQCFTYPE_APPL ADMIN=MQCFTYPE_ADMIN
    Whether the structure holds messages or the group's own data.
SMDS MQCACF_CF_SMDS text=48 for=SMDS
    The queue manager whose shared message data set this is.
STATUS MQIACF_CF_STRUC_STATUS word NOTFOUND=MQCFSTATUS_NOT_FOUND ACTIVE=MQCFSTATUS_ACTIVE \
INRECOVER=MQCFSTATUS_IN_RECOVER INBACKUP=MQCFSTATUS_IN_BACKUP FAILED=MQCFSTATUS_FAILED NONE=MQCFSTATUS_NONE \
UNKNOWN=MQCFSTATUS_UNKNOWN RECOVERED=MQCFSTATUS_RECOVERED EMPTY=MQCFSTATUS_EMPTY NEW=MQCFSTATUS_NEW
    The state of the structure, of the connection, of the backup or of the data set.
ACCESS MQIACF_CF_STRUC_ACCESS word for=SMDS ENABLED=MQCFACCESS_ENABLED SUSPENDED=MQCFACCESS_SUSPENDED \
DISABLED=MQCFACCESS_DISABLED
    Whether members may use the data set.
OFFLDUSE MQIA_CF_OFFLDUSE word for=SUMMARY NONE=MQCFOFFLD_NONE SMDS=MQCFOFFLD_SMDS DB2=MQCFOFFLD_DB2 \
BOTH=MQCFOFFLD_BOTH
    Where offloaded messages of the structure are now.
SIZEMAX MQIACF_CF_STRUC_SIZE_MAX integer=0..2147483647 for=SUMMARY
    The size of the structure in kilobytes.
SIZEUSED MQIACF_CF_STRUC_SIZE_USED integer=0..100 for=SUMMARY
    How full the structure is, in percent.
ENTSMAX MQIACF_CF_STRUC_ENTRIES_MAX integer=0..2147483647 for=SUMMARY
    How many messages the structure can hold when all of them are offloaded.
ENTSUSED MQIACF_CF_STRUC_ENTRIES_USED integer=0..2147483647 for=SUMMARY
    How many messages are in the structure.
QMNAME MQCA_Q_MGR_NAME name=48 for=CONNECT,BACKUP
    The member that is connected, or that has made the backup.
SYSNAME MQCACF_SYSTEM_NAME text=64 for=CONNECT
    The machine of the member.
BKUPDATE MQCACF_BACKUP_DATE date for=BACKUP
    The day of the last backup.
BKUPTIME MQCACF_BACKUP_TIME time for=BACKUP
    The time of day of the last backup.
BKUPSIZE MQIACF_CF_STRUC_BACKUP_SIZE integer=0..2147483647 for=BACKUP
    The size of the backup in megabytes.
BKUPSRBA MQCACF_CF_STRUC_BACKUP_START text=16 for=BACKUP
    Where the backup begins in the log of the member.
BKUPERBA MQCACF_CF_STRUC_BACKUP_END text=16 for=BACKUP
    Where the backup ends in that log.
LOGS MQCACF_CF_STRUC_LOG_Q_MGRS names=31x48 for=BACKUP
    The members whose logs a recovery needs.
FAILDATE MQCACF_FAIL_DATE date for=SUMMARY,CONNECT,SMDS
    The day of the last failure.
FAILTIME MQCACF_FAIL_TIME time for=SUMMARY,CONNECT,SMDS
    The time of day of the last failure.
RCVDATE MQCACF_RECOVERY_DATE date for=SMDS
    The day of the last recovery.
RCVTIME MQCACF_RECOVERY_TIME time for=SMDS
    The time of day of the last recovery.
* SMDSCONN
SMDSCONN MQCACF_CF_SMDSCONN text=48
    The queue manager whose shared message data set this is.
CFSTRUCT MQCA_CF_STRUC_NAME name=12
    The structure that the data set belongs to.
OPENMODE MQIACF_SMDS_OPENMODE word NONE=MQS_OPENMODE_NONE READONLY=MQS_OPENMODE_READONLY UPDATE=MQS_OPENMODE_UPDATE \
RECOVERY=MQS_OPENMODE_RECOVERY
    How this queue manager has opened the data set.
STATUS MQIACF_SMDS_STATUS word CLOSED=MQS_STATUS_CLOSED CLOSING=MQS_STATUS_CLOSING OPENING=MQS_STATUS_OPENING \
OPEN=MQS_STATUS_OPEN NOTENABLED=MQS_STATUS_NOTENABLED ALLOCFAIL=MQS_STATUS_ALLOCFAIL OPENFAIL=MQS_STATUS_OPENFAIL \
STGFAIL=MQS_STATUS_STGFAIL DATAFAIL=MQS_STATUS_DATAFAIL
    The state of the connection.
AVAIL MQIACF_SMDS_AVAIL word NORMAL=MQS_AVAIL_NORMAL ERROR=MQS_AVAIL_ERROR STOPPED=MQS_AVAIL_STOPPED
    Whether the connection may be used.
EXPANDST MQIACF_SMDS_EXPANDST word NORMAL=MQS_EXPANDST_NORMAL FAILED=MQS_EXPANDST_FAILED MAXIMUM=MQS_EXPANDST_MAXIMUM
    Whether the data set can grow.
""")
