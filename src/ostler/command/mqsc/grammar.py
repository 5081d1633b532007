"""The grammar of MQSC: verbs, nouns, abbreviations, and the numbers of the messages that answer them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.model.attributes import ObjectType

PRODUCT: Final = "Ostler"

VERBS: Final[dict[str, str]] = {
    "ALTER": "ALTER",
    "ALT": "ALTER",
    "ARCHIVE": "ARCHIVE",
    "ARC": "ARCHIVE",
    "BACKUP": "BACKUP",
    "CLEAR": "CLEAR",
    "DEFINE": "DEFINE",
    "DEF": "DEFINE",
    "DELETE": "DELETE",
    "DEL": "DELETE",
    "DISPLAY": "DISPLAY",
    "DIS": "DISPLAY",
    "MOVE": "MOVE",
    "PING": "PING",
    "PURGE": "PURGE",
    "RECOVER": "RECOVER",
    "REC": "RECOVER",
    "REFRESH": "REFRESH",
    "REF": "REFRESH",
    "RESET": "RESET",
    "RESOLVE": "RESOLVE",
    "RES": "RESOLVE",
    "RESUME": "RESUME",
    "RVERIFY": "RVERIFY",
    "REV": "RVERIFY",
    "SET": "SET",
    "START": "START",
    "STA": "START",
    "STOP": "STOP",
    "SUSPEND": "SUSPEND",
}
# The commands that end a script.
ENDING: Final = frozenset(("END", "QUIT", "EXIT"))


@dataclass(frozen=True)
class Noun:
    """A type of object as MQSC names it.

    `label` is its name in messages. `created`, `changed`, `deleted` and `displayed` are the numbers of the answers;
    a verb without a number is not allowed. `heads` are the attributes that every DISPLAY shows first.
    """

    word: str
    synonyms: tuple[str, ...]
    types: tuple[ObjectType, ...]
    label: str
    created: str = ""
    changed: str = ""
    deleted: str = ""
    displayed: str = ""
    title: str = ""
    heads: tuple[str, ...] = ()
    exists: str = "AMQ8150E"

    @property
    def name_attribute(self) -> str:
        return self.heads[0]


def _queue(word: str, synonym: str, kind: ObjectType) -> Noun:
    return Noun(
        word,
        (synonym,),
        (kind,),
        "queue",
        "AMQ8006I",
        "AMQ8008I",
        "AMQ8007I",
        "AMQ8409I",
        "Queue details.",
        ("QUEUE", "TYPE"),
    )


QUEUE_TYPES: Final = (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL)

_NOUNS: Final[tuple[Noun, ...]] = (
    Noun(
        "QMGR",
        (),
        (ObjectType.QMGR,),
        "queue manager",
        changed="AMQ8005I",
        displayed="AMQ8408I",
        title="Queue manager details.",
        heads=("QMNAME",),
    ),
    _queue("QLOCAL", "QL", ObjectType.QLOCAL),
    _queue("QALIAS", "QA", ObjectType.QALIAS),
    _queue("QREMOTE", "QR", ObjectType.QREMOTE),
    _queue("QMODEL", "QM", ObjectType.QMODEL),
    Noun(
        "QUEUE",
        ("Q",),
        QUEUE_TYPES,
        "queue",
        displayed="AMQ8409I",
        title="Queue details.",
        heads=("QUEUE", "TYPE"),
    ),
    Noun(
        "CHANNEL",
        ("CHL",),
        (ObjectType.CHANNEL,),
        "channel",
        "AMQ8014I",
        "AMQ8016I",
        "AMQ8015I",
        "AMQ8414I",
        "Channel details.",
        ("CHANNEL", "CHLTYPE"),
        "AMQ8226E",
    ),
    Noun(
        "LISTENER",
        ("LSTR",),
        (ObjectType.LISTENER,),
        "listener",
        "AMQ8626I",
        "AMQ8623I",
        "AMQ8628I",
        "AMQ8630I",
        "Listener details.",
        ("LISTENER",),
    ),
    Noun(
        "SERVICE",
        (),
        (ObjectType.SERVICE,),
        "service",
        "AMQ8625I",
        "AMQ8624I",
        "AMQ8627I",
        "AMQ8629I",
        "Service details.",
        ("SERVICE",),
    ),
    Noun(
        "PROCESS",
        ("PRO", "PROC"),
        (ObjectType.PROCESS,),
        "process",
        "AMQ8010I",
        "AMQ8012I",
        "AMQ8011I",
        "AMQ8407I",
        "Process details.",
        ("PROCESS",),
    ),
    Noun(
        "NAMELIST",
        ("NL",),
        (ObjectType.NAMELIST,),
        "namelist",
        "AMQ8552I",
        "AMQ8551I",
        "AMQ8553I",
        "AMQ8550I",
        "Namelist details.",
        ("NAMELIST",),
    ),
    Noun(
        "TOPIC",
        ("TPC",),
        (ObjectType.TOPIC,),
        "topic",
        "AMQ8690I",
        "AMQ8691I",
        "AMQ8692I",
        "AMQ8633I",
        "Topic details.",
        ("TOPIC", "TYPE", "TOPICSTR"),
    ),
    Noun(
        "AUTHINFO",
        (),
        (ObjectType.AUTHINFO,),
        "authentication information object",
        "AMQ8563I",
        "AMQ8567I",
        "AMQ8564I",
        "AMQ8566I",
        "Authentication information details.",
        ("AUTHINFO", "AUTHTYPE"),
    ),
    Noun(
        "COMMINFO",
        (),
        (ObjectType.COMMINFO,),
        "communication information object",
        "AMQ8858I",
        "AMQ8857I",
        "AMQ8859I",
        "AMQ8860I",
        "Communication information details.",
        ("COMMINFO", "TYPE"),
    ),
    Noun(
        "CFSTRUCT",
        (),
        (ObjectType.CFSTRUCT,),
        "coupling facility structure",
        "AMQ8890I",
        "AMQ8891I",
        "AMQ8892I",
        "AMQ8893I",
        "Coupling facility structure details.",
        ("CFSTRUCT",),
    ),
    Noun(
        "STGCLASS",
        ("STC",),
        (ObjectType.STGCLASS,),
        "storage class",
        "AMQ8894I",
        "AMQ8895I",
        "AMQ8896I",
        "AMQ8897I",
        "Storage class details.",
        ("STGCLASS",),
    ),
)
# Subscriptions are named by name or identifier, so their commands have a parser of their own (subscriptions.py).
SUBSCRIPTION: Final = Noun(
    "SUB",
    (),
    (ObjectType.SUB,),
    "subscription",
    "AMQ8094I",
    "AMQ8095I",
    "AMQ8097I",
    "AMQ8096I",
    "Subscription details.",
    ("SUBID", "SUB"),
)

_STATUSES: Final[tuple[Noun, ...]] = (
    Noun(
        "QSTATUS",
        ("QS",),
        (ObjectType.QSTATUS,),
        "queue",
        displayed="AMQ8450I",
        title="Queue status.",
        heads=("QUEUE", "TYPE"),
    ),
    Noun(
        "QMSTATUS",
        (),
        (ObjectType.QMSTATUS,),
        "queue manager",
        displayed="AMQ8705I",
        title="Queue manager status.",
        heads=("QMNAME", "TYPE", "STATUS"),
    ),
    Noun(
        "CHSTATUS",
        ("CHS",),
        (ObjectType.CHSTATUS,),
        "channel",
        displayed="AMQ8417I",
        title="Channel status.",
        heads=("CHANNEL", "CHLTYPE"),
    ),
    Noun(
        "LSSTATUS",
        (),
        (ObjectType.LSSTATUS,),
        "listener",
        displayed="AMQ8631I",
        title="Listener status.",
        heads=("LISTENER", "STATUS", "PID"),
    ),
    Noun(
        "CONN",
        (),
        (ObjectType.CONN,),
        "connection",
        displayed="AMQ8276I",
        title="Connection details.",
        heads=("CONN", "EXTCONN", "TYPE"),
    ),
    Noun(
        "SVSTATUS",
        (),
        (ObjectType.SVSTATUS,),
        "service",
        displayed="AMQ8632I",
        title="Service status.",
        heads=("SERVICE", "STATUS", "PID"),
    ),
    Noun(
        "TPSTATUS",
        ("TPS",),
        (ObjectType.TPSTATUS,),
        "topic",
        displayed="AMQ8754I",
        title="Topic status.",
        heads=("TOPICSTR",),
    ),
    Noun(
        "SBSTATUS",
        ("SBS",),
        (ObjectType.SBSTATUS,),
        "subscription",
        displayed="AMQ8099I",
        title="Subscription status.",
        heads=("SUB", "SUBID"),
    ),
    Noun(
        "PUBSUB",
        (),
        (ObjectType.PUBSUB,),
        "queue manager",
        displayed="AMQ8723I",
        title="Publish and subscribe status.",
        heads=("QMNAME", "TYPE"),
    ),
    Noun(
        "CFSTATUS",
        (),
        (ObjectType.CFSTATUS,),
        "coupling facility structure",
        displayed="AMQ7537I",
        title="Coupling facility structure status.",
        heads=("CFSTATUS", "TYPE", "SMDS"),
    ),
)


def _by_word(nouns: tuple[Noun, ...]) -> dict[str, Noun]:
    return {word: noun for noun in nouns for word in (noun.word, *noun.synonyms)}


OBJECT_NOUNS: Final = _by_word(_NOUNS)
STATUS_NOUNS: Final = _by_word(_STATUSES)


def message(number: str, text: str) -> str:
    """Returns a message line that begins with its number."""
    return f"{number}: {text}"
