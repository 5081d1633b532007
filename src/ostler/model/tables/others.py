"""The attributes of services and of the objects of queue-sharing groups."""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_types import Attribute
from ostler.model.tables.row_reader import read_rows

ATTRIBUTES: Final[tuple[Attribute, ...]] = read_rows("""\
* SERVICE
SERVICE MQCA_SERVICE_NAME name=48
    The name of the service.
DESCR MQCA_SERVICE_DESC text=64 default=
    A comment for people.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the definition was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the definition was last changed.
CONTROL MQIA_SERVICE_CONTROL word default=MANUAL MANUAL=MQSVC_CONTROL_MANUAL QMGR=MQSVC_CONTROL_Q_MGR \
STARTONLY=MQSVC_CONTROL_Q_MGR_START
    Whether the service starts and stops with the queue manager.
SERVTYPE MQIA_SERVICE_TYPE word default=COMMAND COMMAND=MQSVC_TYPE_COMMAND SERVER=MQSVC_TYPE_SERVER
    Whether the program runs once in a while or all the time.
STARTCMD MQCA_SERVICE_START_COMMAND text=255 default=
    The program that starts the service.
STARTARG MQCA_SERVICE_START_ARGS text=255 default=
    The arguments of that program.
STOPCMD MQCA_SERVICE_STOP_COMMAND text=255 default=
    The program that stops the service.
STOPARG MQCA_SERVICE_STOP_ARGS text=255 default=
    The arguments of that program.
STDOUT MQCA_STDOUT_DESTINATION text=255 default=
    The file that the output goes to.
STDERR MQCA_STDERR_DESTINATION text=255 default=
    The file that error output goes to.
* CFSTRUCT
CFSTRUCT MQCA_CF_STRUC_NAME name=12 ignored
    The name of the coupling facility structure.
DESCR MQCA_CF_STRUC_DESC text=64 default=
    A comment for people.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the definition was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the definition was last changed.
CFLEVEL MQIA_CF_LEVEL integer=1..5 default=3
    What the structure can do.
RECOVER MQIA_CF_RECOVER word default=NO NO=MQCFR_NO YES=MQCFR_YES
    Whether the structure can be backed up and recovered.
CFCONLOS MQIA_CF_CFCONLOS word default=ASQMGR TERMINATE=MQCFCONLOS_TERMINATE TOLERATE=MQCFCONLOS_TOLERATE \
ASQMGR=MQCFCONLOS_ASQMGR
    Whether queue managers live on when they lose the structure.
RECAUTO MQIA_CF_RECAUTO word default=YES NO=MQRECAUTO_NO YES=MQRECAUTO_YES
    Whether the structure is recovered automatically.
OFFLOAD MQIA_CF_OFFLOAD word default=SMDS NONE=MQCFOFFLD_NONE SMDS=MQCFOFFLD_SMDS DB2=MQCFOFFLD_DB2
    Where the data of messages that are too large or too many goes.
OFFLD1SZ MQCACF_CF_OFFLOAD_SIZE1 text=3 default=32K
    The size from which messages are offloaded at the first threshold.
OFFLD1TH MQIA_CF_OFFLOAD_THRESHOLD1 integer=0..100 default=70
    The first threshold, in percent of the structure.
OFFLD2SZ MQCACF_CF_OFFLOAD_SIZE2 text=3 default=4K
    The size from which messages are offloaded at the second threshold.
OFFLD2TH MQIA_CF_OFFLOAD_THRESHOLD2 integer=0..100 default=80
    The second threshold, in percent of the structure.
OFFLD3SZ MQCACF_CF_OFFLOAD_SIZE3 text=3 default=0K
    The size from which messages are offloaded at the third threshold.
OFFLD3TH MQIA_CF_OFFLOAD_THRESHOLD3 integer=0..100 default=90
    The third threshold, in percent of the structure.
DSGROUP MQCACF_CF_SMDS_GENERIC_NAME text=44 default=
    The names of the shared message data sets, with an asterisk for the queue manager.
DSBLOCK MQIACF_CF_SMDS_BLOCK_SIZE word default=256K 8K=MQDSB_8K 16K=MQDSB_16K 32K=MQDSB_32K 64K=MQDSB_64K \
128K=MQDSB_128K 256K=MQDSB_256K 512K=MQDSB_512K 1M=MQDSB_1M
    The unit in which space of the data sets is given out.
DSBUFS MQIA_CF_SMDS_BUFFERS integer=1..9999 default=100
    How many buffers each queue manager has for its data set.
DSEXPAND MQIACF_CF_SMDS_EXPAND word default=YES NO=MQDSE_NO YES=MQDSE_YES
    Whether a data set grows when it is nearly full.
* SMDS
SMDS MQCACF_CF_SMDS text=48
    The queue manager whose shared message data set this is.
CFSTRUCT MQCA_CF_STRUC_NAME name=12 default= lasting
    The coupling facility structure that the data set belongs to.
DSBUFS MQIA_CF_SMDS_BUFFERS integer=1..9999 default=DEFAULT DEFAULT=MQDSB_DEFAULT
    How many buffers the queue manager has for the data set, if not as many as the structure says.
DSEXPAND MQIACF_CF_SMDS_EXPAND word default=DEFAULT DEFAULT=MQDSE_DEFAULT NO=MQDSE_NO YES=MQDSE_YES
    Whether the data set grows when it is nearly full, if not as the structure says.
* STGCLASS
STGCLASS MQCA_STORAGE_CLASS name=8 ignored
    The name of the storage class.
DESCR MQCA_STORAGE_CLASS_DESC text=64 default=
    A comment for people.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the definition was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the definition was last changed.
PSID MQIA_PAGESET_ID integer=0..99 default=0
    The page set that the queues of the class use.
PASSTKTA MQCA_PASS_TICKET_APPL text=8 default=
    The application for which pass tickets are made.
XCFGNAME MQCA_XCF_GROUP_NAME text=8 default=
    The group of the IMS bridge.
XCFMNAME MQCA_XCF_MEMBER_NAME text=16 default=
    The member of the IMS bridge.
QSGDISP MQIA_QSG_DISP word default=QMGR QMGR=MQQSGD_Q_MGR COPY=MQQSGD_COPY GROUP=MQQSGD_GROUP
    Where in a queue-sharing group the definition lives.
""")
