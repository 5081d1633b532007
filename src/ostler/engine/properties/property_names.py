"""Names of message properties: rules, folders, and the JMS names that stand for others.

A name without a dot belongs to the folder `usr`; the canonical form of such a name omits the folder. All other names
are `folder.name` or `folder.group.name`.
"""

from __future__ import annotations

from typing import Final, final

from ostler.model import constants as mq
from ostler.model.errors import MQError

KEYWORDS: Final = frozenset(
    {"NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE"},
)
DESCRIPTOR_PREFIX: Final = "Root.MQMD."
# The JMS names that an MQI program may use, and their types.
JMS_TYPES: Final[dict[str, int]] = {
    "JMSCorrelationID": mq.MQTYPE_STRING,
    "JMSDeliveryMode": mq.MQTYPE_INT32,
    "JMSDestination": mq.MQTYPE_STRING,
    "JMSExpiration": mq.MQTYPE_INT64,
    "JMSMessageID": mq.MQTYPE_STRING,
    "JMSPriority": mq.MQTYPE_INT32,
    "JMSRedelivered": mq.MQTYPE_BOOLEAN,
    "JMSReplyTo": mq.MQTYPE_STRING,
    "JMSTimestamp": mq.MQTYPE_INT64,
    "JMSType": mq.MQTYPE_STRING,
    "JMSXAppID": mq.MQTYPE_STRING,
    "JMSXDeliveryCount": mq.MQTYPE_INT32,
    "JMSXGroupID": mq.MQTYPE_STRING,
    "JMSXGroupSeq": mq.MQTYPE_INT32,
    "JMSXUserID": mq.MQTYPE_STRING,
}
# The JMS names that MQSETMP can set, and the properties they stand for.
JMS_SETTABLE: Final[dict[str, str]] = {
    "JMSCorrelationID": "jms.Cid",
    "JMSReplyTo": "jms.Rto",
    "JMSType": "mcd.Type",
    "JMSXGroupID": "jms.Gid",
    "JMSXGroupSeq": "jms.Seq",
}
# Synonyms for the properties of publications.
PUBLICATION_SYNONYMS: Final[dict[str, str]] = {
    "MQTopicString": "mqps.Top",
    "MQSubUserData": "mqps.Sud",
    "MQIsRetained": "mqps.Ret",
    "MQPubOptions": "mqps.Pub",
    "MQPubLevel": "mqps.Pbl",
    "MQPubTime": "mqpse.Pts",
    "MQPubSeqNum": "mqpse.Seq",
    "MQPubStrIntData": "mqpse.Sid",
    "MQPubFormat": "mqpse.Pfmt",
}
# Folders of an MQRFH2 that hold message properties implicitly; other folders need content='properties'.
GROUPED_FOLDERS: Final = frozenset({"jms", "mcd", "mq_usr", "sib", "sib_context", "sib_usr", "usr"})
UNGROUPED_FOLDERS: Final = frozenset({"ibm", "mq", "mqema", "mqext", "mqps", "mq_svc", "mqtt"})
PROPERTY_FOLDERS: Final = GROUPED_FOLDERS | UNGROUPED_FOLDERS
# With MQPROP_COMPATIBILITY, a property in one of these makes all properties visible.
COMPATIBILITY_FOLDERS: Final = frozenset({"mcd", "jms", "usr", "mqext"})
# Characters that cannot be part of an element name of an MQRFH2.
_BREAKING: Final = frozenset("<>&'\"/= \t\r\n%")


def canonical_name(name: str) -> str:
    """Return the form in which a name is stored and looked up: `usr.colour` becomes `colour`."""
    if name.startswith("usr.") and "." not in name[4:]:
        return name[4:]
    return name


def stored_name(name: str) -> str:
    """Return the stored name of a property: the canonical form, with synonyms resolved."""
    return PUBLICATION_SYNONYMS.get(name) or canonical_name(name)


def folder_of(name: str) -> str:
    dot = name.find(".")
    return "usr" if dot < 0 else name[:dot]


def groups_of(name: str) -> list[str]:
    """Return the folder and the groups of a name, outermost first: a.b.c is in a and a.b."""
    if "." not in name:
        return ["usr"]
    groups: list[str] = []
    dot = name.find(".")
    while dot >= 0:
        groups.append(name[:dot])
        dot = name.find(".", dot + 1)
    return groups


@final
class NameCounts:
    """Number of occurrences of each name, and of each group of names, among properties."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}
        self.groups: dict[str, int] = {}

    def change(self, name: str, change: int) -> None:
        _adjust(self.names, name, change)
        for group in groups_of(name):
            _adjust(self.groups, group, change)

    def would_mix(self, name: str) -> bool:
        """Return whether this name would make something both a value and a group."""
        if (name if "." in name else "usr." + name) in self.groups:
            return True
        # The first group is the folder, and a folder is no property: usr.a and a.b may coexist.
        return any(canonical_name(group) in self.names for group in groups_of(name)[1:])


def _adjust(counts: dict[str, int], key: str, change: int) -> None:
    count = counts.get(key, 0) + change
    if count:
        counts[key] = count
    else:
        counts.pop(key, None)


def check_length(name: str) -> None:
    if not 0 < len(name) <= mq.MQ_MAX_PROPERTY_NAME_LENGTH:
        raise MQError(
            mq.MQRC_PROPERTY_NAME_LENGTH_ERR,
            f"A property name has 1 to {mq.MQ_MAX_PROPERTY_NAME_LENGTH} characters, not {len(name)}.",
        )


def check_name(name: str) -> None:
    """Raise MQError if MQ does not allow a property name."""
    check_length(name)
    fault = name_fault(name)
    if fault:
        raise MQError(mq.MQRC_PROPERTY_NAME_ERROR, f"{name[:80]!r}: {fault}.")


def check_storable(name: str) -> None:
    """Raise MQError if a name, even unvalidated, cannot be stored."""
    check_length(name)
    if "" in name.split(".") or not _BREAKING.isdisjoint(name):
        raise MQError(mq.MQRC_PROPERTY_NAME_ERROR, f"{name[:80]!r} cannot be written as an element of an MQRFH2.")


def name_fault(name: str) -> str:
    """Return why a property name is invalid; empty if it is valid. Existing JMS and Root.MQMD names are valid."""
    if name.startswith(DESCRIPTOR_PREFIX):
        return ""
    if name.startswith(("Body", "Root")):
        return "names may not begin with Body or Root, except Root.MQMD"
    short = canonical_name(name)
    if short.startswith("JMS"):
        known = short in JMS_TYPES and short == name
        return "" if known else "names that begin with JMS are reserved, and this is none of them"
    if short.upper() in KEYWORDS:
        return "it is a keyword of selection strings"
    if short.startswith("usr."):
        return "the folder usr has no groups"
    if _is_mq_defined(name) and name.count(".") > 1:
        return "names that begin with mq have at most one dot"
    for part in name.split("."):
        if not part:
            return "a dot stands between two parts, never first, last or beside another"
        if not part.replace("$", "_").isidentifier():
            return "it holds a character that is not allowed, or a part begins with a digit"
    if max(name) > "\uffff":
        return "characters beyond U+FFFF are not allowed"
    return ""


@final
class PropertyNamePattern:
    """A full name, or a prefix followed by %. Names in the folder usr match with and without it."""

    def __init__(self, text: str) -> None:
        check_length(text)
        self._wild = text.endswith("%")
        self._wanted = text[:-1] if self._wild else stored_name(text)
        if "%" in self._wanted:
            raise MQError(mq.MQRC_PROPERTY_NAME_ERROR, "The wildcard % stands only at the end of a name.")

    def matches(self, name: str) -> bool:
        if not self._wild:
            return name == self._wanted
        return name.startswith(self._wanted) or ("." not in name and ("usr." + name).startswith(self._wanted))


def _is_mq_defined(name: str) -> bool:
    start = name[:6].lower()
    return start.startswith("mq") and start != "mq_usr"
