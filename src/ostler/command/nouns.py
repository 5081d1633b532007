"""The verbs and nouns of MQSC, their abbreviations, and the numbers of the messages that answer them."""

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
# Words that end a script.
ENDING: Final = frozenset(("END", "QUIT", "EXIT"))


@dataclass(frozen=True)
class Noun:
    """A type of object as commands name it.

    `label` is what people call it. `created`, `changed`, `deleted` and `displayed` are the numbers of the answers;
    a command without a number is none. `heads` are the attributes that every DISPLAY shows first.
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
        ("PRO",),
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
        (),
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
)


def _by_word(nouns: tuple[Noun, ...]) -> dict[str, Noun]:
    return {word: noun for noun in nouns for word in (noun.word, *noun.synonyms)}


OBJECT_NOUNS: Final = _by_word(_NOUNS)
STATUS_NOUNS: Final = _by_word(_STATUSES)


def message(number: str, text: str) -> str:
    """A line that begins with the number of its message."""
    return f"{number}: {text}"
