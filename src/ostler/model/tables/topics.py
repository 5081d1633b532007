"""The attributes of topics, subscriptions and multicast communication."""

from __future__ import annotations

from typing import Final

from ostler.model.attribute_types import Attribute
from ostler.model.tables.row_reader import read_rows

ATTRIBUTES: Final[tuple[Attribute, ...]] = read_rows("""\
* TOPIC
TOPIC MQCA_TOPIC_NAME name=48
    The name of the topic object.
TYPE/TOPICTYPE MQIA_TOPIC_TYPE word default=LOCAL lasting error=MQRCCF_TOPIC_TYPE_ERROR LOCAL=MQTOPT_LOCAL \
CLUSTER=MQTOPT_CLUSTER
    Whether the topic object is defined here or known through a cluster.
TOPICSTR MQCA_TOPIC_STRING text=10240 default= lasting
    The place in the topic tree that the object is for.
DESCR MQCA_TOPIC_DESC text=64 default=
    A comment for people.
CUSTOM MQCA_CUSTOM text=128 ignored default=
    Features that have no attribute of their own yet.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the definition was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the definition was last changed.
CAPEXPRY MQIA_CAP_EXPIRY integer=0..999999999 default=ASPARENT NOLIMIT=MQCEX_NOLIMIT ASPARENT=MQCEX_AS_PARENT
    The longest time, in tenths of a second, that a publication may live.
CLROUTE MQIA_CLUSTER_PUB_ROUTE word ignored default=DIRECT DIRECT=MQCLROUTE_DIRECT TOPICHOST=MQCLROUTE_TOPIC_HOST \
NONE=MQCLROUTE_NONE
    Which way publications take through the cluster.
CLUSTER MQCA_CLUSTER_NAME name=48 ignored default=
    The cluster that knows the topic.
COMMINFO MQCA_COMM_INFO_NAME name=48 ignored default=
    The communication information object for multicast.
DEFPRTY MQIA_DEF_PRIORITY integer=0..9 default=ASPARENT ASPARENT=MQPRI_PRIORITY_AS_PARENT
    The priority of a message that is published without one of its own.
DEFPSIST MQIA_TOPIC_DEF_PERSISTENCE word default=ASPARENT ASPARENT=MQPER_PERSISTENCE_AS_PARENT \
NO=MQPER_NOT_PERSISTENT YES=MQPER_PERSISTENT
    Whether a publication survives a restart when the publisher leaves that to the topic.
DEFPRESP MQIA_DEF_PUT_RESPONSE_TYPE word default=ASPARENT ASPARENT=MQPRT_RESPONSE_AS_PARENT \
SYNC=MQPRT_SYNC_RESPONSE ASYNC=MQPRT_ASYNC_RESPONSE
    Whether a publisher waits for its answer when it leaves that to the topic.
DURSUB MQIA_DURABLE_SUB word default=ASPARENT ASPARENT=MQSUB_DURABLE_AS_PARENT YES=MQSUB_DURABLE_ALLOWED \
NO=MQSUB_DURABLE_INHIBITED
    Whether subscriptions may be durable.
MCAST MQIA_MULTICAST word ignored=ENABLED,ONLY default=ASPARENT ASPARENT=MQMC_AS_PARENT DISABLED=MQMC_DISABLED \
ENABLED=MQMC_ENABLED \
ONLY=MQMC_ONLY
    Whether publications go by multicast.
MDURMDL MQCA_MODEL_DURABLE_Q name=48 default=
    The model of managed queues for durable subscriptions.
MNDURMDL MQCA_MODEL_NON_DURABLE_Q name=48 default=
    The model of managed queues for other subscriptions.
NPMSGDLV MQIA_NPM_DELIVERY word default=ASPARENT ASPARENT=MQDLV_AS_PARENT ALL=MQDLV_ALL ALLDUR=MQDLV_ALL_DUR \
ALLAVAIL=MQDLV_ALL_AVAIL
    Who must get a nonpersistent publication for the publish to succeed.
PMSGDLV MQIA_PM_DELIVERY word default=ASPARENT ASPARENT=MQDLV_AS_PARENT ALL=MQDLV_ALL ALLDUR=MQDLV_ALL_DUR \
ALLAVAIL=MQDLV_ALL_AVAIL
    Who must get a persistent publication for the publish to succeed.
PROXYSUB MQIA_PROXY_SUB word ignored default=FIRSTUSE FIRSTUSE=MQTA_PROXY_SUB_FIRSTUSE FORCE=MQTA_PROXY_SUB_FORCE
    Whether other queue managers are told of the topic before there is a subscription.
PUB MQIA_INHIBIT_PUB word default=ASPARENT ASPARENT=MQTA_PUB_AS_PARENT ENABLED=MQTA_PUB_ALLOWED \
DISABLED=MQTA_PUB_INHIBITED
    Whether messages may be published.
PUBSCOPE MQIA_PUB_SCOPE word default=ASPARENT ASPARENT=MQSCOPE_AS_PARENT QMGR=MQSCOPE_QMGR ALL=MQSCOPE_ALL
    Whether publications leave the queue manager.
SUB MQIA_INHIBIT_SUB word default=ASPARENT ASPARENT=MQTA_SUB_AS_PARENT ENABLED=MQTA_SUB_ALLOWED \
DISABLED=MQTA_SUB_INHIBITED
    Whether applications may subscribe.
SUBSCOPE MQIA_SUB_SCOPE word default=ASPARENT ASPARENT=MQSCOPE_AS_PARENT QMGR=MQSCOPE_QMGR ALL=MQSCOPE_ALL
    Whether subscriptions reach other queue managers.
USEDLQ MQIA_USE_DEAD_LETTER_Q word default=ASPARENT ASPARENT=MQUSEDLQ_AS_PARENT NO=MQUSEDLQ_NO YES=MQUSEDLQ_YES
    Whether publications that cannot be delivered go to the dead-letter queue.
WILDCARD MQIA_WILDCARD_OPERATION word default=PASSTHRU PASSTHRU=MQTA_PASSTHRU BLOCK=MQTA_BLOCK
    Whether wildcard subscriptions made higher up see the topics below.
OTELTRAC MQIA_OTEL_TRACE word ignored default=ASPARENT ASPARENT=MQOTEL_TRACE_AS_PARENT QMGR=MQOTEL_TRACE_QMGR \
OFF=MQOTEL_TRACE_OFF ON=MQOTEL_TRACE_ON NONE=MQOTEL_TRACE_NONE
    Whether publications take part in distributed tracing.
OTELPCTL MQIA_OTEL_PROPAGATION_CONTROL word ignored default=ASPARENT ASPARENT=MQOTEL_PCTL_AS_PARENT \
QMGR=MQOTEL_PCTL_QMGR \
MANUAL=MQOTEL_PCTL_MANUAL AUTO=MQOTEL_PCTL_AUTO
    Who carries the context of distributed tracing from message to message.
QSGDISP MQIA_QSG_DISP word default=QMGR zos QMGR=MQQSGD_Q_MGR COPY=MQQSGD_COPY GROUP=MQQSGD_GROUP
    Where in a queue-sharing group the definition lives.
* SUB
SUB MQCACF_SUB_NAME text=10240
    The name of the subscription.
SUBID MQBACF_SUB_ID hex=24 given lasting
    What tells the subscription from all others.
TOPICSTR MQCA_TOPIC_STRING text=10240 default= lasting
    The topic string, or the part of it below the topic object.
TOPICOBJ MQCA_TOPIC_NAME name=48 default= lasting
    The topic object that the subscription starts from.
DEST MQCACF_DESTINATION name=48 default= error=MQRCCF_DEST_NAME_ERROR
    The queue that gets the publications.
DESTQMGR MQCACF_DESTINATION_Q_MGR name=48 default=
    The queue manager of that queue.
DESTCLAS MQIACF_DESTINATION_CLASS word default=PROVIDED lasting MANAGED=MQDC_MANAGED PROVIDED=MQDC_PROVIDED
    Whether the queue manager makes the queue or it is named.
DESTCORL MQBACF_DESTINATION_CORREL_ID hex=24 default=
    The correlation identifier of the publications.
DURABLE MQIACF_DURABLE_SUBSCRIPTION word default=YES lasting YES=MQSUB_DURABLE_YES NO=MQSUB_DURABLE_NO
    Whether the subscription outlives the connection that made it.
EXPIRY MQIACF_EXPIRY integer=1..999999999 default=UNLIMITED UNLIMITED=MQEI_UNLIMITED
    After how many tenths of a second the subscription ends.
PSPROP MQIACF_PUBSUB_PROPERTIES word default=MSGPROP NONE=MQPSPROP_NONE COMPAT=MQPSPROP_COMPAT RFH2=MQPSPROP_RFH2 \
MSGPROP=MQPSPROP_MSGPROP
    In which form publications carry what the queue manager adds.
PUBACCT MQBACF_ACCOUNTING_TOKEN hex=32 default=
    The accounting token of the publications.
PUBAPPID MQCACF_APPL_IDENTITY_DATA text=32 default=
    The application identity data of the publications.
PUBPRTY MQIACF_PUB_PRIORITY integer=0..9 default=ASPUB ASPUB=MQPRI_PRIORITY_AS_PUBLISHED ASQDEF=MQPRI_PRIORITY_AS_Q_DEF
    The priority of the publications.
REQONLY MQIACF_REQUEST_ONLY word default=NO lasting NO=MQRU_PUBLISH_ALL YES=MQRU_PUBLISH_ON_REQUEST
    Whether publications come only when they are asked for.
SELECTOR MQCACF_SUB_SELECTOR text=10240 default= lasting
    Which publications are wanted.
SELTYPE MQIACF_SELECTOR_TYPE word NONE=MQSELTYPE_NONE STANDARD=MQSELTYPE_STANDARD EXTENDED=MQSELTYPE_EXTENDED
    Whether the selector looks at properties or at the content.
SUBLEVEL MQIACF_SUB_LEVEL integer=0..9 default=1 lasting
    At which level of interception the subscription stands.
SUBSCOPE MQIACF_SUBSCRIPTION_SCOPE word default=ALL lasting ALL=MQTSCOPE_ALL QMGR=MQTSCOPE_QMGR
    Whether publications of other queue managers are wanted.
SUBTYPE MQIACF_SUB_TYPE word given lasting ADMIN=MQSUBTYPE_ADMIN API=MQSUBTYPE_API PROXY=MQSUBTYPE_PROXY
    How the subscription was made.
SUBUSER MQCACF_SUB_USER_ID text=64 default=
    The user that the subscription belongs to.
USERDATA MQCACF_SUB_USER_DATA text=10240 default=
    Text that the publications carry.
VARUSER MQIACF_VARIABLE_USER_ID word default=ANY ANY=MQVU_ANY_USER FIXED=MQVU_FIXED_USER
    Whether other users may take the subscription over.
WSCHEMA MQIACF_WILDCARD_SCHEMA word default=TOPIC lasting TOPIC=MQWS_TOPIC CHAR=MQWS_CHAR
    Whether wildcards stand for levels of topics or for characters.
CRDATE MQCA_CREATION_DATE date
    The day on which the subscription was made.
CRTIME MQCA_CREATION_TIME time
    The time of day at which the subscription was made.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the subscription was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the subscription was last changed.
* COMMINFO
COMMINFO MQCA_COMM_INFO_NAME name=48 ignored
    The name of the communication information object.
TYPE MQIA_COMM_INFO_TYPE word default=MULTICAST lasting error=MQRCCF_COMM_INFO_TYPE_ERROR MULTICAST=MQCIT_MULTICAST
    The kind of communication.
DESCR MQCA_COMM_INFO_DESC text=64 default=
    A comment for people.
ALTDATE MQCA_ALTERATION_DATE date
    The day on which the definition was last changed.
ALTTIME MQCA_ALTERATION_TIME time
    The time of day at which the definition was last changed.
BRIDGE MQIA_MCAST_BRIDGE word default=ENABLED DISABLED=MQMCB_DISABLED ENABLED=MQMCB_ENABLED
    Whether publications that did not come by multicast are passed on to it.
CCSID MQIA_CODED_CHAR_SET_ID integer=1..65535 default=ASPUB ASPUB=MQCCSI_AS_PUBLISHED
    The code page in which messages are sent.
COMMEV MQIA_COMM_EVENT word default=DISABLED @event EXCEPTION=MQEVR_EXCEPTION
    Which happenings of multicast are events.
ENCODING MQIACF_ENCODING integer=0..4095 default=ASPUB ASPUB=MQENC_AS_PUBLISHED NORMAL=MQENC_NORMAL \
REVERSED=MQENC_REVERSED S390=MQENC_S390 TNS=MQENC_TNS
    The encoding in which messages are sent.
GRPADDR MQCACH_GROUP_ADDRESS text=264 default=239.0.0.0
    The multicast group.
MCHBINT MQIACH_MC_HB_INTERVAL integer=0..999999 default=2000
    Every how many milliseconds the sender shows that it is still there.
MCPROP MQIACH_MULTICAST_PROPERTIES word default=ALL ALL=MQMCP_ALL REPLY=MQMCP_REPLY USER=MQMCP_USER NONE=MQMCP_NONE \
COMPAT=MQMCP_COMPAT
    Which properties messages keep.
MONINT MQIA_MONITOR_INTERVAL integer=0..999999 default=60
    Every how many seconds figures are written.
MSGHIST MQIACH_MSG_HISTORY integer=0..999999999 default=100
    How many kilobytes of messages are kept to be sent again.
NSUBHIST MQIACH_NEW_SUBSCRIBER_HISTORY word default=NONE NONE=MQNSH_NONE ALL=MQNSH_ALL
    How much a subscriber that joins late gets.
PORT MQIACH_PORT integer=0..65535 default=1414 error=MQRCCF_PORT_NUMBER_ERROR
    The port of the multicast group.
""")
