"""The types of the attribute table: object types, kinds of values, attributes.

A value is an int (a number, or the PCF number of a word), a str (text without trailing blanks) or a tuple of str.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, final

Value: TypeAlias = int | str | tuple[str, ...]


class ObjectType(Enum):
    """The types of objects and status that MQSC knows; the value is MQSC's keyword."""

    QMGR = "QMGR"
    QLOCAL = "QLOCAL"
    QALIAS = "QALIAS"
    QREMOTE = "QREMOTE"
    QMODEL = "QMODEL"
    CHANNEL = "CHANNEL"
    CLNTCONN = "CLNTCONN"  # client channels: one may share its name with a channel of another type
    LISTENER = "LISTENER"
    SERVICE = "SERVICE"
    PROCESS = "PROCESS"
    NAMELIST = "NAMELIST"
    TOPIC = "TOPIC"
    SUB = "SUB"
    AUTHINFO = "AUTHINFO"
    CHLAUTH = "CHLAUTH"
    AUTHREC = "AUTHREC"
    CFSTRUCT = "CFSTRUCT"
    SMDS = "SMDS"
    STGCLASS = "STGCLASS"
    COMMINFO = "COMMINFO"
    POLICY = "POLICY"
    QSTATUS = "QSTATUS"
    QMSTATUS = "QMSTATUS"
    CHSTATUS = "CHSTATUS"
    LSSTATUS = "LSSTATUS"
    SVSTATUS = "SVSTATUS"
    CONN = "CONN"
    TPSTATUS = "TPSTATUS"
    SBSTATUS = "SBSTATUS"
    PUBSUB = "PUBSUB"
    CFSTATUS = "CFSTATUS"
    SMDSCONN = "SMDSCONN"


class ValueKind(Enum):
    """The kind of a value: its form in MQSC, its checks and its PCF parameter."""

    INTEGER = "integer"  # a number in a range; some numbers may also be given as a word
    ENUM = "one of several words"
    FLAG = "a word that stands alone"
    OPTIONS = "a number whose bits have names"
    STRING = "text"
    NAME = "a name in MQ's character set"
    STRINGS = "a list of texts"
    NAMES = "a list of names"
    WORDS = "a list of words"
    INTEGERS = "a list of numbers"
    DATE = "a date, yyyy-mm-dd"
    TIME = "a time of day, hh.mm.ss"
    HEX = "bytes in hexadecimal"


class Shown(Enum):
    """When DISPLAY ... ALL shows an attribute."""

    ALWAYS = "always"
    ON_REQUEST = "only when asked for by name"
    MASKED = "as asterisks when it is set"
    NEVER = "never"


@final
@dataclass(frozen=True)
class Attribute:
    """One attribute of one object type.

    `pcf` is 0 when PCF has no parameter for it. `default` is None for values that the queue manager sets itself;
    `subtype_defaults` overrides it, such as for some channel types. `subtypes` is empty when the attribute belongs to
    all of them. `is_ignored`: the value is stored and displayed, but has no effect; `ignored_words` are the words that
    have no effect when others have. The name of an object is ignored when no object of the type has any effect.
    """

    object_type: ObjectType
    name: str
    synonyms: tuple[str, ...]
    pcf_name: str
    pcf: int
    kind: ValueKind
    low: int
    high: int
    length_max: int
    items_max: int
    words: tuple[tuple[str, int], ...]
    default: Value | None
    subtype_defaults: tuple[tuple[str, Value], ...]
    subtypes: tuple[str, ...]
    at_define: bool
    at_alter: bool
    by_mqset: bool
    by_mqinq: bool
    shown: Shown
    zos_only: bool
    is_ignored: bool
    ignored_words: tuple[str, ...]
    value_error: int
    set_error: int
    description: str
