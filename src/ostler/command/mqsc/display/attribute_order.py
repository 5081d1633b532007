"""The order in which DISPLAY shows the attributes of an object."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ostler.model.attributes import Attribute, ObjectType, Shown, Value, ValueKind, attributes_of, find, has, to_text

# Attributes are in alphabetical order, except for these, which have another sort key.
_SORTED_AS: Final = {
    "CHLAUTH": "CHLEV~",
    "PSCLUS": "PSMODE~",
    "KEYRPWD": "SSLKEYQ",
    "CLCHNAME": "CLUSTER~",
    "DEFPRESP": "DEFPSIST~",
    "PROPCTL": "PUT~",
    "SHORTRTS": "SECO",
    "CURSHCNV": "~1",
    "MAXSHCNV": "~2",
    "RVERSION": "~3",
    "RPRODUCT": "~4",
}
# Types of objects with an order of their own; other attributes follow.
_OWN_ORDER: Final[dict[ObjectType, str]] = {
    ObjectType.LISTENER: "CONTROL TRPTYPE PORT IPADDR BACKLOG DESCR ALTDATE ALTTIME",
    ObjectType.SERVICE: "CONTROL SERVTYPE STARTCMD STARTARG STOPCMD STOPARG STDOUT STDERR DESCR ALTDATE ALTTIME",
    ObjectType.NAMELIST: "NAMCOUNT NAMES DESCR ALTDATE ALTTIME",
    ObjectType.TOPIC: "DESCR CLUSTER CLROUTE DURSUB PUB SUB DEFPSIST DEFPRTY DEFPRESP ALTDATE ALTTIME PMSGDLV NPMSGDLV "
    "PUBSCOPE SUBSCOPE PROXYSUB WILDCARD MDURMDL MNDURMDL MCAST COMMINFO USEDLQ CUSTOM",
    ObjectType.SUB: "SUB TOPICSTR TOPICOBJ DISTYPE DEST DESTQMGR PUBAPPID SELECTOR SELTYPE USERDATA PUBACCT DESTCORL "
    "DESTCLAS DURABLE EXPIRY PSPROP PUBPRTY REQONLY SUBSCOPE SUBLEVEL SUBTYPE VARUSER WSCHEMA SUBUSER CRDATE CRTIME "
    "ALTDATE ALTTIME",
    ObjectType.CHLAUTH: "DESCR CUSTOM SSLPEER SSLCERTI CLNTUSER QMNAME ADDRESS ADDRLIST USERLIST MCAUSER USERSRC "
    "CHCKCLNT WARN ALTDATE ALTTIME",
    ObjectType.AUTHREC: "PROFILE ENTITY ENTTYPE OBJTYPE AUTHLIST",
    ObjectType.LSSTATUS: "PID STARTDA STARTTI DESCR TRPTYPE CONTROL IPADDR PORT BACKLOG",
    ObjectType.SVSTATUS: "PID SERVTYPE STARTDA STARTTI CONTROL STARTCMD STARTARG STOPCMD STOPARG DESCR STDOUT STDERR",
    ObjectType.CONN: "PID TID",
}
# The number of first attributes that have lines of their own, by type.
_LONE_HEADS: Final = {ObjectType.CONN: 3, ObjectType.SUB: 1}


def lone_heads(kind: ObjectType, heads: int) -> int:
    """Returns the number of first attributes that have lines of their own."""
    return min(heads, _LONE_HEADS.get(kind, 0))


def in_order(
    kind: ObjectType, subtype: str, row: dict[str, Value], heads: tuple[str, ...], wanted: frozenset[str], is_all: bool
) -> tuple[Attribute, ...]:
    """Returns the attributes that a DISPLAY shows after its heads, in order: the wanted ones, or all.

    A flag is sorted by the word that is shown: NOTRIGGER comes long before TRIGGER.
    """
    flags = tuple([row.get(name) for name in _flags(kind)])
    return _shown(kind, subtype, flags, heads, wanted, is_all)


@lru_cache(maxsize=256)
def _shown(
    kind: ObjectType,
    subtype: str,
    flags: tuple[Value | None, ...],
    heads: tuple[str, ...],
    wanted: frozenset[str],
    is_all: bool,
) -> tuple[Attribute, ...]:
    return tuple(
        each
        for each in _ordered(kind, subtype, flags)
        if each.name not in heads and (each.name in wanted or (is_all and each.shown in (Shown.ALWAYS, Shown.MASKED)))
    )


@lru_cache(maxsize=64)
def _flags(kind: ObjectType) -> tuple[str, ...]:
    found = [each.name for each in attributes_of(kind) if each.kind == ValueKind.FLAG or each.name == "INSTTYPE"]
    return tuple(found)


@lru_cache(maxsize=256)
def _ordered(kind: ObjectType, subtype: str, flags: tuple[Value | None, ...]) -> tuple[Attribute, ...]:
    own = _OWN_ORDER.get(kind, "").split()
    words: dict[str, str] = {}
    for name, value in zip(_flags(kind), flags, strict=True):
        attribute = find(kind, name)
        if attribute is not None and value is not None:
            words[name] = to_text(attribute, value)

    def sort_key(attribute: Attribute) -> tuple[int, str]:
        name = attribute.name
        if name in own:
            return own.index(name), ""
        return len(own), _SORTED_AS.get(name, words.get(name, name))

    return tuple(sorted((each for each in attributes_of(kind) if has(each, subtype)), key=sort_key))
