"""The notation of the attribute table, and the reader that turns rows into Attributes.

A line that begins with `*` names the object types of the rows after it. A row is two lines. The first has the MQSC name
with its synonyms (`TARGET/TARGQ`), the constant of its PCF parameter (`-` for none), the kind of value, and then in any
order:

    WORD=CONSTANT    a word that may be written for that number; a plain number will do as the constant
    @set             one of the word sets below
    default=...      the value of a new object; without it only the queue manager sets the value
    SDR.default=...  the same for one subtype
    for=SDR,SVR      the subtypes that have the attribute, when not all do
    given            may be given when the object is made, though it has no default
    lasting          may be given when the object is made, and not altered later
    fixed            has a default that cannot be changed
    mqset[=REASON]   MQSET can change it, and gives that reason for a wrong value
    noinq            MQINQ does not return it, although it has a selector
    masked, request, never      when DISPLAY shows it
    zos              a queue manager on z/OS has it, others keep it only when it is given
    ignored          is stored and displayed, but has no effect: setting a value other than the default gives a warning
    ignored=W,W      the same for these words alone
    error=REASON     the reason code of a wrong value

The second line, indented, describes the attribute for people.
"""

from __future__ import annotations

from typing import Final

from ostler.model import constants
from ostler.model import constants as mq
from ostler.model.attribute_types import Attribute, ObjectType, Shown, Value, ValueKind

# Words that several attributes share.
WORD_SETS: Final[dict[str, str]] = {
    "@event": "DISABLED=MQEVR_DISABLED ENABLED=MQEVR_ENABLED",
    "@off-on": "OFF=MQMON_OFF ON=MQMON_ON",
    "@levels": "OFF=MQMON_OFF LOW=MQMON_LOW MEDIUM=MQMON_MEDIUM HIGH=MQMON_HIGH",
    "@on-allowed": "DISABLED=MQMON_DISABLED ENABLED=MQMON_ENABLED",
    "@recording": "DISABLED=MQRECORDING_DISABLED QUEUE=MQRECORDING_Q MSG=MQRECORDING_MSG",
    "@capability": "NO=MQCAP_NOT_SUPPORTED YES=MQCAP_SUPPORTED",
    "@start": "QMGR=MQSVC_CONTROL_Q_MGR MANUAL=MQSVC_CONTROL_MANUAL",
    "@group": "QMGR=MQQSGD_Q_MGR COPY=MQQSGD_COPY SHARED=MQQSGD_SHARED GROUP=MQQSGD_GROUP",
    "@no-yes": "NO=0 YES=1",
}

_KINDS: Final = {
    "integer": ValueKind.INTEGER,
    "word": ValueKind.ENUM,
    "flag": ValueKind.FLAG,
    "options": ValueKind.OPTIONS,
    "text": ValueKind.STRING,
    "name": ValueKind.NAME,
    "texts": ValueKind.STRINGS,
    "names": ValueKind.NAMES,
    "words": ValueKind.WORDS,
    "integers": ValueKind.INTEGERS,
    "date": ValueKind.DATE,
    "time": ValueKind.TIME,
    "hex": ValueKind.HEX,
}
_LISTS: Final = (ValueKind.STRINGS, ValueKind.NAMES, ValueKind.WORDS, ValueKind.INTEGERS)
_NUMBERS: Final = (ValueKind.INTEGER, ValueKind.ENUM, ValueKind.FLAG, ValueKind.OPTIONS)
_SHOWN: Final = {"masked": Shown.MASKED, "request": Shown.ON_REQUEST, "never": Shown.NEVER}
_SWITCHES: Final = frozenset(
    ("given", "lasting", "fixed", "mqset", "noinq", "zos", "ignored", "masked", "request", "never")
)

# The object types that MQINQ reaches.
_INQUIRED: Final = frozenset(
    (
        ObjectType.QMGR,
        ObjectType.QLOCAL,
        ObjectType.QALIAS,
        ObjectType.QREMOTE,
        ObjectType.QMODEL,
        ObjectType.PROCESS,
        ObjectType.NAMELIST,
    )
)


def read_rows(rows: str) -> tuple[Attribute, ...]:
    """Return the attributes of some rows, one for each object type they belong to."""
    attributes: list[Attribute] = []
    object_types: list[ObjectType] = []
    lines = iter(rows.strip().split("\n"))
    for line in lines:
        if line.startswith("*"):
            object_types = [ObjectType(word) for word in line[1:].split()]
            continue
        description = next(lines)
        assert description.startswith("    "), f"no description behind {line}"
        row = _Row(line)
        attributes += [row.attribute(object_type, description.strip()) for object_type in object_types]
    return tuple(attributes)


def number(name: str) -> int:
    """Return the number of a constant's name, or of plain digits."""
    if name.lstrip("-").isdigit():
        return int(name)
    value = getattr(constants, name)
    assert isinstance(value, int), name
    return value


class _Row:
    """The first line of a row, parsed."""

    def __init__(self, line: str) -> None:
        names, self.pcf_name, kind, *rest = line.split()
        self.name, *self.synonyms = names.split("/")
        self.kind, self.size = self._kind(kind)
        self.words: list[tuple[str, int]] = []
        self.default: str | None = None
        self.subtype_defaults: list[tuple[str, str]] = []
        self.settings: dict[str, str] = {}
        for token in rest:
            self._read(token)

    @staticmethod
    def _kind(token: str) -> tuple[ValueKind, str]:
        word, _, size = token.partition("=")
        return _KINDS[word], size

    def _read(self, token: str) -> None:
        key, equals, value = token.partition("=")
        if token in WORD_SETS:
            for pair in WORD_SETS[token].split():
                self._read(pair)
        elif key == "default":
            self.default = value
        elif key.endswith(".default"):
            self.subtype_defaults.append((key.removesuffix(".default"), value))
        elif key in _SWITCHES or (equals and key in ("for", "error")):
            self.settings[key] = value
        else:
            assert key == key.upper(), f"{token} in the row of {self.name}"
            self.words.append((key, number(value)))

    def value(self, text: str) -> Value:
        """Return a default value in its stored form."""
        if self.kind in _LISTS:
            return tuple(text.split(",")) if text else ()
        if self.kind not in _NUMBERS:
            return text
        words = dict(self.words)
        return words[text] if text in words else int(text)

    def limits(self) -> tuple[int, int]:
        if self.kind is ValueKind.INTEGERS:
            return -(2**31), 2**31 - 1
        if self.kind is not ValueKind.INTEGER:
            return 0, 0
        low, _, high = self.size.partition("..")
        return int(low), int(high)

    def lengths(self) -> tuple[int, int]:
        """Return the longest text in bytes and the most items of a list. MQINQ returns dates in twelve characters."""
        if self.kind is ValueKind.DATE:
            return 12, 0
        if self.kind is ValueKind.TIME:
            return 8, 0
        if self.kind in _LISTS:
            items, _, length = self.size.partition("x")
            return int(length or 0), int(items)
        if self.kind in _NUMBERS:
            return 0, 0
        return int(self.size), 0

    def shown(self) -> Shown:
        for word, shown in _SHOWN.items():
            if word in self.settings:
                return shown
        return Shown.ALWAYS

    def attribute(self, object_type: ObjectType, description: str) -> Attribute:
        settings = self.settings
        pcf_name = "" if self.pcf_name == "-" else self.pcf_name
        low, high = self.limits()
        length_max, items_max = self.lengths()
        at_define = (self.default is not None and "fixed" not in settings) or "given" in settings
        inquired = pcf_name.startswith(("MQIA_", "MQCA_")) and object_type in _INQUIRED
        return Attribute(
            object_type=object_type,
            name=self.name,
            synonyms=tuple(self.synonyms),
            pcf_name=pcf_name,
            pcf=number(pcf_name) if pcf_name else 0,
            kind=self.kind,
            low=low,
            high=high,
            length_max=length_max,
            items_max=items_max,
            words=tuple(self.words),
            default=None if self.default is None else self.value(self.default),
            subtype_defaults=tuple((subtype, self.value(text)) for subtype, text in self.subtype_defaults),
            subtypes=tuple(settings["for"].split(",")) if "for" in settings else (),
            at_define=at_define,
            at_alter=at_define and "lasting" not in settings,
            by_mqset="mqset" in settings,
            by_mqinq=inquired and "noinq" not in settings,
            shown=self.shown(),
            zos_only="zos" in settings,
            is_ignored=settings.get("ignored") == "" or "zos" in settings,
            ignored_words=tuple(each for each in settings.get("ignored", "").split(",") if each),
            value_error=number(settings["error"]) if "error" in settings else mq.MQRCCF_ATTR_VALUE_ERROR,
            set_error=number(settings["mqset"]) if settings.get("mqset") else 0,
            description=description,
        )
