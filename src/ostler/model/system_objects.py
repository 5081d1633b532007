"""The objects that every new queue manager has.

Each line is one object: its type, its name, attributes that differ from the defaults in MQSC, and after the colon its
description.
"""

from __future__ import annotations

import re
from typing import Final

from ostler.model.attributes import ObjectType, Value, find, from_text, require
from ostler.model.definitions import Definition, new_definition

_ATTRIBUTE: Final = re.compile(r"([A-Z]+)(?:\(([^)]*)\))?")

_QUEUES: Final = """\
QALIAS SYSTEM.DEFAULT.ALIAS.QUEUE : Defaults of alias queues
QLOCAL SYSTEM.DEFAULT.LOCAL.QUEUE : Defaults of local queues
QMODEL SYSTEM.DEFAULT.MODEL.QUEUE : Defaults of model queues
QREMOTE SYSTEM.DEFAULT.REMOTE.QUEUE : Defaults of remote queues
QLOCAL SYSTEM.ADMIN.ACCOUNTING.QUEUE MAXDEPTH(3000) : Accounting messages
QLOCAL SYSTEM.ADMIN.ACTIVITY.QUEUE : Activity reports
QLOCAL SYSTEM.ADMIN.CHANNEL.EVENT MAXDEPTH(3000) : Channel events
QLOCAL SYSTEM.ADMIN.COMMAND.EVENT MAXDEPTH(3000) : Command events
QLOCAL SYSTEM.ADMIN.COMMAND.QUEUE MAXDEPTH(3000) : Commands in the form of messages
QLOCAL SYSTEM.ADMIN.CONFIG.EVENT MAXDEPTH(3000) : Configuration events
QLOCAL SYSTEM.ADMIN.LOGGER.EVENT MAXDEPTH(3000) : Logger events
QLOCAL SYSTEM.ADMIN.PERFM.EVENT MAXDEPTH(3000) : Performance events
QLOCAL SYSTEM.ADMIN.PUBSUB.EVENT MAXDEPTH(3000) : Publish and subscribe events
QLOCAL SYSTEM.ADMIN.QMGR.EVENT MAXDEPTH(3000) : Queue manager events
QLOCAL SYSTEM.ADMIN.STATISTICS.QUEUE MAXDEPTH(3000) : Statistics messages
QLOCAL SYSTEM.ADMIN.TRACE.ACTIVITY.QUEUE MAXDEPTH(3000) : Activity trace
QLOCAL SYSTEM.ADMIN.TRACE.ROUTE.QUEUE : Trace-route replies
QLOCAL SYSTEM.AMQP.COMMAND.QUEUE : Commands of the AMQP service
QLOCAL SYSTEM.AUTH.DATA.QUEUE DEFPSIST(YES) : Authority records
QLOCAL SYSTEM.BROKER.ADMIN.STREAM : Queued publish and subscribe, administration
QLOCAL SYSTEM.BROKER.CONTROL.QUEUE DEFPSIST(YES) : Queued publish and subscribe, control messages
QLOCAL SYSTEM.BROKER.DEFAULT.STREAM DEFPSIST(YES) : Queued publish and subscribe, default stream
QLOCAL SYSTEM.BROKER.INTER.BROKER.COMMUNICATIONS DEFPSIST(YES) : Queued publish and subscribe, between brokers
QLOCAL SYSTEM.CHANNEL.INITQ : Initiation queue of the channel initiator
QLOCAL SYSTEM.CHANNEL.SYNCQ DEFPSIST(YES) MAXDEPTH(999999999) INDXTYPE(MSGID) : States of channels
QLOCAL SYSTEM.CHLAUTH.DATA.QUEUE DEFPSIST(YES) : Channel authentication records
QLOCAL SYSTEM.CICS.INITIATION.QUEUE : Initiation queue for CICS
QLOCAL SYSTEM.CLUSTER.COMMAND.QUEUE DEFPSIST(YES) MAXDEPTH(999999999) : Messages to the cluster repository
QLOCAL SYSTEM.CLUSTER.HISTORY.QUEUE DEFPSIST(YES) : History of the cluster repository
QLOCAL SYSTEM.CLUSTER.REPOSITORY.QUEUE DEFPSIST(YES) MAXDEPTH(999999999) : Cluster repository
QLOCAL SYSTEM.CLUSTER.TRANSMIT.QUEUE USAGE(XMITQ) DEFPSIST(YES) MAXDEPTH(999999999) INDXTYPE(CORRELID) \
: Messages to clusters
QLOCAL SYSTEM.DDELAY.LOCAL.QUEUE DEFPSIST(YES) : Messages with a delivery delay
QLOCAL SYSTEM.DEAD.LETTER.QUEUE MAXDEPTH(999999999) : Messages that could not be delivered
QLOCAL SYSTEM.DEFAULT.INITIATION.QUEUE : Default initiation queue
QLOCAL SYSTEM.DOTNET.XARECOVERY.QUEUE DEFPSIST(YES) : Recovery of .NET transactions
QLOCAL SYSTEM.DURABLE.SUBSCRIBER.QUEUE DEFPSIST(YES) MAXDEPTH(999999999) : Durable subscriptions
QLOCAL SYSTEM.HIERARCHY.STATE DEFPSIST(YES) : State of the publish and subscribe hierarchy
QLOCAL SYSTEM.INTER.QMGR.CONTROL DEFPSIST(YES) : Publish and subscribe between queue managers, control
QLOCAL SYSTEM.INTER.QMGR.FANREQ DEFPSIST(YES) : Publish and subscribe between queue managers, subscriptions
QLOCAL SYSTEM.INTER.QMGR.PUBS : Publish and subscribe between queue managers, publications
QLOCAL SYSTEM.INTERNAL.REPLY.QUEUE : Replies to the queue manager itself
QLOCAL SYSTEM.JMS.ADMIN.QUEUE DEFPSIST(YES) : Administration of JMS subscriptions
QLOCAL SYSTEM.JMS.PS.STATUS.QUEUE DEFPSIST(YES) : Status of JMS subscriptions
QLOCAL SYSTEM.JMS.REPORT.QUEUE : Reports on JMS publications
QLOCAL SYSTEM.PENDING.DATA.QUEUE DEFPSIST(YES) : Deferred messages
QLOCAL SYSTEM.PROTECTION.ERROR.QUEUE DEFPSIST(YES) : Messages that protection refused
QLOCAL SYSTEM.PROTECTION.POLICY.QUEUE DEFPSIST(YES) : Message protection policies
QLOCAL SYSTEM.REST.REPLY.QUEUE : Replies to the REST interface
QLOCAL SYSTEM.RETAINED.PUB.QUEUE DEFPSIST(YES) MAXDEPTH(999999999) : Retained publications
QLOCAL SYSTEM.SELECTION.EVALUATION.QUEUE : Evaluation of selectors
QLOCAL SYSTEM.SELECTION.VALIDATION.QUEUE : Validation of selectors
QMODEL SYSTEM.CLUSTER.TRANSMIT.MODEL.QUEUE DEFTYPE(PERMDYN) USAGE(XMITQ) DEFPSIST(YES) MAXDEPTH(999999999) SHARE \
DEFSOPT(SHARED) INDXTYPE(CORRELID) : Transmission queues of cluster-sender channels
QMODEL SYSTEM.DURABLE.MODEL.QUEUE DEFTYPE(PERMDYN) SHARE DEFSOPT(SHARED) : Managed queues of durable subscriptions
QMODEL SYSTEM.NDURABLE.MODEL.QUEUE SHARE DEFSOPT(SHARED) : Managed queues of other subscriptions
QMODEL SYSTEM.JMS.MODEL.QUEUE DEFTYPE(PERMDYN) SHARE DEFSOPT(SHARED) : Queues of JMS subscribers
QMODEL SYSTEM.JMS.TEMPQ.MODEL SHARE DEFSOPT(SHARED) : Temporary queues of JMS programs
QMODEL SYSTEM.MQEXPLORER.REPLY.MODEL SHARE DEFSOPT(SHARED) : Replies to graphical administration
QMODEL SYSTEM.MQSC.REPLY.QUEUE MAXMSGL(32768) : Replies to MQSC commands
PROCESS SYSTEM.DEFAULT.PROCESS : Defaults of process definitions
NAMELIST SYSTEM.DEFAULT.NAMELIST : Defaults of namelists
NAMELIST SYSTEM.QPUBSUB.QUEUE.NAMELIST NAMES(SYSTEM.BROKER.DEFAULT.STREAM,SYSTEM.BROKER.ADMIN.STREAM) : Streams
NAMELIST SYSTEM.QPUBSUB.SUBPOINT.NAMELIST NAMES(SYSTEM.BROKER.DEFAULT.SUBPOINT) : Subscription points
"""

_OTHERS: Final = """\
CHANNEL SYSTEM.DEF.SENDER CHLTYPE(SDR) : Defaults of sender channels
CHANNEL SYSTEM.DEF.SERVER CHLTYPE(SVR) : Defaults of server channels
CHANNEL SYSTEM.DEF.RECEIVER CHLTYPE(RCVR) : Defaults of receiver channels
CHANNEL SYSTEM.DEF.REQUESTER CHLTYPE(RQSTR) : Defaults of requester channels
CHANNEL SYSTEM.DEF.SVRCONN CHLTYPE(SVRCONN) : Defaults of server-connection channels
CHANNEL SYSTEM.DEF.CLNTCONN CHLTYPE(CLNTCONN) : Defaults of client-connection channels
CHANNEL SYSTEM.DEF.CLUSSDR CHLTYPE(CLUSSDR) : Defaults of cluster-sender channels
CHANNEL SYSTEM.DEF.CLUSRCVR CHLTYPE(CLUSRCVR) : Defaults of cluster-receiver channels
CHANNEL SYSTEM.DEF.AMQP CHLTYPE(AMQP) : Defaults of AMQP channels
CHANNEL SYSTEM.AUTO.RECEIVER CHLTYPE(RCVR) : Model of receiver channels that define themselves
CHANNEL SYSTEM.AUTO.SVRCONN CHLTYPE(SVRCONN) : Model of server-connection channels that define themselves
LISTENER SYSTEM.DEFAULT.LISTENER.TCP : Defaults of TCP listeners
SERVICE SYSTEM.DEFAULT.SERVICE : Defaults of services
TOPIC SYSTEM.BASE.TOPIC CAPEXPRY(NOLIMIT) DEFPRTY(0) DEFPSIST(NO) DEFPRESP(SYNC) DURSUB(YES) MCAST(DISABLED) \
MDURMDL(SYSTEM.DURABLE.MODEL.QUEUE) MNDURMDL(SYSTEM.NDURABLE.MODEL.QUEUE) NPMSGDLV(ALLAVAIL) PMSGDLV(ALLDUR) \
PUB(ENABLED) PUBSCOPE(ALL) SUB(ENABLED) SUBSCOPE(ALL) USEDLQ(YES) OTELTRAC(QMGR) OTELPCTL(QMGR) \
: What topics have when nobody above them says so
TOPIC SYSTEM.DEFAULT.TOPIC : Defaults of topic objects
TOPIC SYSTEM.ADMIN.TOPIC TOPICSTR($SYS/MQ) WILDCARD(BLOCK) SUBSCOPE(QMGR) PUBSCOPE(QMGR) : Figures of the queue manager
TOPIC SYSTEM.BROKER.ADMIN.STREAM TOPICSTR(SYSTEM.BROKER.ADMIN.STREAM) WILDCARD(BLOCK) : Administration stream
TOPIC SYSTEM.BROKER.DEFAULT.STREAM TOPICSTR(SYSTEM.BROKER.DEFAULT.STREAM) WILDCARD(BLOCK) : Default stream
TOPIC SYSTEM.BROKER.DEFAULT.SUBPOINT TOPICSTR(SYSTEM.BROKER.DEFAULT.SUBPOINT) : Default subscription point
SUB SYSTEM.DEFAULT.SUB SUBTYPE(ADMIN) : Defaults of subscriptions
AUTHINFO SYSTEM.DEFAULT.AUTHINFO.CRLLDAP AUTHTYPE(CRLLDAP) : Defaults for lists of revoked certificates
AUTHINFO SYSTEM.DEFAULT.AUTHINFO.OCSP AUTHTYPE(OCSP) : Defaults for asking after certificates
AUTHINFO SYSTEM.DEFAULT.AUTHINFO.IDPWOS AUTHTYPE(IDPWOS) : Users and passwords of the operating system
AUTHINFO SYSTEM.DEFAULT.AUTHINFO.IDPWLDAP AUTHTYPE(IDPWLDAP) : Users and passwords of an LDAP server
COMMINFO SYSTEM.DEFAULT.COMMINFO.MULTICAST : Defaults of multicast communication
"""

_TEXTS: Final = (_QUEUES, _OTHERS)


def system_definitions(date: str = "", time: str = "") -> list[Definition]:
    """The definitions of all SYSTEM objects, made at that date (yyyy-mm-dd) and time (hh.mm.ss)."""
    lines = [line for text in _TEXTS for line in text.strip().split("\n")]
    return [_definition(line, date, time) for line in lines]


def _definition(line: str, date: str, time: str) -> Definition:
    heading, _, description = line.partition(" : ")
    kind, name, *rest = heading.strip().split(maxsplit=2)
    object_type = ObjectType(kind)
    given: dict[str, Value] = {}
    if find(object_type, "DESCR") is not None:
        given["DESCR"] = description
    for match in _ATTRIBUTE.finditer(rest[0] if rest else ""):
        word, value = match.group(1), match.group(2)
        attribute = require(object_type, word)
        given[attribute.name] = from_text(attribute, word if value is None else value)
    return new_definition(object_type, name, given, date=date, time=time)
