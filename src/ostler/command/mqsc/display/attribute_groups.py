"""Keywords of DISPLAY for groups of attributes, and attributes whose values select objects."""

from __future__ import annotations

from typing import Final

from ostler.model.attributes import ObjectType

_CLUSTER_VIEW: Final = "CLUSDATE CLUSQMGR CLUSQT CLUSTIME QMID"
# The groups include attributes of other platforms, which are shown if an object has them.
_GROUPS: Final[dict[ObjectType, dict[str, str]]] = {
    ObjectType.QMGR: {
        "SYSTEM": "ACCTCONO ACCTINT ACCTMQI ACCTQ ACTIVREC ACTVCONO ACTVTRC ADVCAP ALTDATE ALTTIME AMQPCAP CCSID "
        "CFCONLOS CMDLEVEL COMMANDQ CONNAUTH CPILEVEL CRDATE CRTIME CUSTOM DEADQ DESCR DISTL EXPRYINT GROUPUR "
        "IMGINTVL IMGLOGLN IMGRCOVO IMGRCOVQ IMGSCHED INITKEY MARKINT MAXHANDS MAXMSGL MAXPROPL MAXPRTY MAXUMSGS MONQ "
        "OTELPCTL OTELTRAC PLATFORM QMNAME QSGNAME ROUTEREC SCMDSERV SCYCASE SPLCAP SQQMNAME STATINT STATMQI STATQ "
        "SYNCPT TRIGINT VERSION XRCAP",
        "EVENT": "AUTHOREV BRIDGEEV CHADEV CHLEV CMDEV CONFIGEV INHIBTEV LOCALEV LOGGEREV PERFMEV REMOTEEV SSLEV "
        "STRSTPEV",
        "CHINIT": "ACTCHL ADOPTCHK ADOPTMCA CERTLABL CERTQSGL CERTVPOL CHAD CHADEV CHADEXIT CHIADAPS CHIDISPS CHISERVP "
        "CHLAUTH CHLEV DEADQ DEFXMITQ DNSGROUP DNSWLM IGQ IGQAUT IGQUSER IPADDRV KEYRPWD LSTRTMR LUGROUP LUNAME "
        "LU62ARM LU62CHL MAXCHL MONACLS MONCHL OPORTMAX OPORTMIN QMID RCVTIME RCVTMIN RCVTTYPE REVDNS SCHINIT SSLCRLNL "
        "SSLCRYP SSLEV SSLFIPS SSLKEYR SSLRKEYC SSLTASKS STATACLS STATCHL SUITEB TCPCHL TCPKEEP TCPNAME TCPSTACK "
        "TRAXSTR TRAXTBL",
        "CLUSTER": "CLWLDATA CLWLEXIT CLWLLEN CLWLMRUC CLWLUSEQ DEFCLXQ MONACLS QMID REPOS REPOSNL STATACLS",
        "PUBSUB": "PARENT PSCLUS PSMODE PSNPMSG PSNPRES PSRTYCNT PSSYNCPT TREELIFE",
    },
    ObjectType.QLOCAL: {"CLUSINFO": _CLUSTER_VIEW},
    ObjectType.TOPIC: {"CLUSINFO": "CLUSDATE CLUSQMGR CLUSTIME QMID"},
    ObjectType.QSTATUS: {"MONITOR": "LGETDATE LGETTIME LPUTDATE LPUTTIME MONQ MSGAGE QTIME"},
    ObjectType.CHSTATUS: {"MONITOR": "COMPRATE COMPTIME EXITTIME MONCHL NETTIME XBATCHSZ XQMSGSA XQTIME"},
}
# Attributes whose value in brackets selects objects, by type of object.
_SELECTING: Final[dict[ObjectType, tuple[str, ...]]] = {
    ObjectType.QLOCAL: ("TYPE", "CLUSTER", "CLUSNL", "CFSTRUCT", "STGCLASS", "PSID", "TARGTYPE"),
    ObjectType.CHANNEL: ("CHLTYPE", "TYPE"),
    ObjectType.AUTHINFO: ("AUTHTYPE",),
    ObjectType.LISTENER: ("TRPTYPE",),
    ObjectType.TOPIC: ("TYPE", "CLUSTER"),
    ObjectType.SUB: ("SUBTYPE", "DURABLE", "SUBID"),
    ObjectType.SBSTATUS: ("SUBTYPE", "DURABLE", "SUBID"),
    ObjectType.COMMINFO: ("TYPE",),
    ObjectType.STGCLASS: ("PSID",),
    ObjectType.NAMELIST: ("NLTYPE",),
    ObjectType.CHSTATUS: ("XMITQ",),
}
_SAME: Final = {(ObjectType.CHANNEL, "TYPE"): "CHLTYPE", (ObjectType.QLOCAL, "QTYPE"): "TYPE"}
_QUEUES: Final = (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL)
# The attributes whose value may end with an asterisk.
_GENERIC: Final = frozenset(("CLUSTER", "CLUSNL", "CFSTRUCT", "STGCLASS", "XMITQ"))
# Attributes that WHERE does not take: lists of readings, and those with a keyword of their own.
_NOT_FILTERED: Final[dict[ObjectType, str]] = {
    ObjectType.QSTATUS: "QTIME TYPE URID",
    ObjectType.CHSTATUS: "COMPRATE COMPTIME EXITTIME MCASTAT NETTIME XBATCHSZ XQTIME",
    ObjectType.CONN: "EXTCONN EXTURID TYPE",
}


def group(kinds: tuple[ObjectType, ...], word: str) -> tuple[str, ...]:
    """Returns the attributes of a group keyword; empty for other words."""
    return tuple(_groups_of(kinds).get(word, "").split())


def group_words(kinds: tuple[ObjectType, ...]) -> tuple[str, ...]:
    return tuple(_groups_of(kinds))


def _groups_of(kinds: tuple[ObjectType, ...]) -> dict[str, str]:
    return _GROUPS.get(_main(kinds), {})


def _main(kinds: tuple[ObjectType, ...]) -> ObjectType:
    """Returns the type that the tables use: QLOCAL for all queues."""
    return ObjectType.QLOCAL if kinds[0] in _QUEUES else kinds[0]


def selecting_attribute(kinds: tuple[ObjectType, ...], word: str) -> str:
    """Returns the attribute whose value in brackets selects objects; empty for other words."""
    first = _main(kinds)
    name = _SAME.get((first, word), word)
    return name if name in _SELECTING.get(first, ()) else ""


def may_be_generic(name: str) -> bool:
    return name in _GENERIC


def is_filtered(kind: ObjectType, name: str) -> bool:
    """Returns whether WHERE takes an attribute."""
    return name not in _NOT_FILTERED.get(kind, "").split()
