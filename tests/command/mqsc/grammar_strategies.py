"""Commands made up from the table of attributes: every one is right, and known by its words."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from ostler.command.mqsc.grammar import OBJECT_NOUNS, STATUS_NOUNS, Noun
from ostler.model.attribute_types import Shown
from ostler.model.attributes import Attribute, ObjectType, ValueKind, attributes_of, find, has

NAMES = st.text(alphabet="ABCXYZ019./_%", min_size=1, max_size=12)
TEXTS = st.text(alphabet="abAB 0,;()'\"*+-=&%/.äß", max_size=12)
COMPARING = ("EQ", "NE", "LT", "GT", "LE", "GE")
SUBTYPES = {ObjectType.CHANNEL: "CHLTYPE", ObjectType.AUTHINFO: "AUTHTYPE", ObjectType.LISTENER: "TRPTYPE"}
NAMELESS = (ObjectType.QMGR, ObjectType.QMSTATUS, ObjectType.PUBSUB)
OWN_GRAMMAR = (ObjectType.SUB, ObjectType.CHLAUTH, ObjectType.AUTHREC)
LISTS = (ValueKind.STRINGS, ValueKind.NAMES, ValueKind.WORDS, ValueKind.INTEGERS)


@dataclass(frozen=True)
class Part:
    """A keyword with its values as they are written, None when it stands alone."""

    keyword: str
    values: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Command:
    """A command by its parts; the first is the verb, the second the noun with the name."""

    parts: tuple[Part, ...]

    def text(self) -> str:
        return " ".join(written(part) for part in self.parts)


def written(part: Part) -> str:
    return part.keyword if part.values is None else f"{part.keyword}({','.join(part.values)})"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _words(attribute: Attribute) -> list[str]:
    return [word for word, _ in attribute.words]


@st.composite
def values(draw: st.DrawFn, attribute: Attribute) -> tuple[str, ...]:
    """Values that the attribute takes, as they are written."""
    kind = attribute.kind
    words = _words(attribute)
    if kind == ValueKind.INTEGER:
        number = draw(st.integers(attribute.low, attribute.high))
        return (draw(st.sampled_from(words)) if words and draw(st.booleans()) else str(number),)
    if kind == ValueKind.ENUM:
        return (draw(st.sampled_from(words)),)
    if kind == ValueKind.OPTIONS:
        return tuple(draw(st.lists(st.sampled_from(words), min_size=1, max_size=3, unique=True)))
    if kind == ValueKind.WORDS:
        return tuple(draw(st.lists(st.sampled_from(words), max_size=min(3, attribute.items_max), unique=True)))
    if kind == ValueKind.NAME:
        return (draw(st.one_of(NAMES, NAMES.map(str.lower).map(quoted), st.just("' '"), st.just("''")))[:14],)
    if kind in LISTS:
        items = NAMES if kind == ValueKind.NAMES else NAMES.map(quoted)
        if kind == ValueKind.INTEGERS:
            items = st.integers(0, 99).map(str)
        length = min(4, attribute.items_max)
        return tuple(item for item in draw(st.lists(items, max_size=length)) if _fits(attribute, item))
    if kind == ValueKind.DATE:
        return ("'2024-02-29'",)
    if kind == ValueKind.TIME:
        return ("'12.34.56'",)
    if kind == ValueKind.HEX:
        return (draw(st.sampled_from(("00", "'AB'", "' '"))),)
    text = draw(TEXTS)
    while len(text.encode()) > attribute.length_max:
        text = text[:-1]
    return (quoted(text),)


def _fits(attribute: Attribute, item: str) -> bool:
    return not attribute.length_max or len(item.strip("'")) <= attribute.length_max


def _name_length(noun: Noun) -> int:
    attribute = find(noun.types[0], noun.name_attribute)
    return attribute.length_max if attribute is not None and attribute.length_max else 48


@st.composite
def named_nouns(draw: st.DrawFn, noun: Noun, is_generic: bool = False) -> Part:
    word = draw(st.sampled_from((noun.word, *noun.synonyms)))
    if noun.types[0] in NAMELESS:
        return Part(word)
    name = draw(NAMES)[: min(8, _name_length(noun))].lstrip("%") or "A"
    if is_generic:
        name = draw(st.sampled_from((name, f"{name}*", "*", quoted(f"{name}*"))))
    return Part(word, (name,))


def _given(attribute: Attribute, subtype: str, verb: str) -> bool:
    allowed = attribute.at_define if verb == "DEFINE" else attribute.at_alter
    return allowed and has(attribute, subtype) and not attribute.zos_only and attribute.name != "QSGDISP"


@st.composite
def assignments(draw: st.DrawFn, kind: ObjectType, verb: str) -> list[Part]:
    parts: list[Part] = []
    subtype = ""
    taken: set[str] = set()
    if kind in SUBTYPES:
        keyword = SUBTYPES[kind]
        attribute = find(kind, keyword)
        assert attribute is not None
        subtype = draw(st.sampled_from(_words(attribute)))
        parts.append(Part(keyword, (subtype,)))
        taken.add(keyword)
    possible = [each for each in attributes_of(kind) if _given(each, subtype, verb) and each.name not in taken]
    if possible:
        for attribute in draw(st.lists(st.sampled_from(possible), max_size=5, unique_by=lambda each: each.name)):
            if attribute.kind == ValueKind.FLAG:
                parts.append(Part(draw(st.sampled_from(_words(attribute)))))
            else:
                parts.append(Part(attribute.name, draw(values(attribute))))
    return draw(st.permutations(parts))


@st.composite
def filters(draw: st.DrawFn, kind: ObjectType) -> Part:
    banned = ("TYPE", "QTIME", "URID", "EXTCONN", "EXTURID", "COMPRATE", "COMPTIME", "EXITTIME", "MCASTAT", "NETTIME")
    banned += ("XBATCHSZ", "XQTIME", "CHLTYPE")
    known = [each for each in attributes_of(kind) if each.name not in banned and each.shown != Shown.MASKED]
    attribute = draw(st.sampled_from(known))
    if attribute.kind in LISTS:
        operator = draw(st.sampled_from(("CT", "EX", "CTG", "EXG")))
        value = draw(st.sampled_from(("A", "'b'", "A*" if "G" in operator else "C")))
    elif attribute.kind == ValueKind.OPTIONS:
        operator, value = draw(st.sampled_from(("CT", "EX"))), draw(st.sampled_from(_words(attribute)))
    elif attribute.kind in (ValueKind.ENUM, ValueKind.FLAG):
        operator, value = draw(st.sampled_from(("EQ", "NE"))), draw(st.sampled_from(_words(attribute)))
    elif attribute.kind == ValueKind.INTEGER:
        operator, value = draw(st.sampled_from(COMPARING)), str(draw(st.integers(attribute.low, attribute.high)))
    else:
        operator = draw(st.sampled_from((*COMPARING, "LK", "NL")))
        value = draw(st.sampled_from(("A", "'b c'", "' '", "'x*'" if operator in ("LK", "NL") else "X")))
    return Part("WHERE", (attribute.name, operator, value))


@st.composite
def changes(draw: st.DrawFn) -> Command:
    """DEFINE or ALTER of any type of object."""
    verb = draw(st.sampled_from(("DEFINE", "ALTER")))
    nouns = [each for each in OBJECT_NOUNS.values() if (each.created if verb == "DEFINE" else each.changed)]
    noun = draw(st.sampled_from([each for each in nouns if each.types[0] not in OWN_GRAMMAR]))
    kind = noun.types[0]
    parts = draw(assignments(kind, verb))
    if verb == "DEFINE":
        parts += [Part(word) for word in draw(st.sampled_from(((), ("REPLACE",), ("NOREPLACE",))))]
        parts += [Part("LIKE", values) for values in draw(st.sampled_from(((), (("OTHER",),))))]
    return Command((Part(verb), draw(named_nouns(noun)), *draw(st.permutations(parts))))


@st.composite
def displays(draw: st.DrawFn) -> Command:
    """DISPLAY of any type of object or status."""
    known = [each for each in (*OBJECT_NOUNS.values(), *STATUS_NOUNS.values()) if each.types[0] not in OWN_GRAMMAR]
    noun = draw(st.sampled_from(known))
    kind = noun.types[0]
    # TYPE of a status is not shown when asked for: it chooses what is.
    hidden = ("TYPE",) if noun.word in STATUS_NOUNS else ()
    possible = [each.name for each in attributes_of(kind) if each.kind != ValueKind.FLAG and each.name not in hidden]
    parts = [Part(name) for name in draw(st.lists(st.sampled_from(possible), max_size=4, unique=True))]
    parts += draw(st.sampled_from(([], [Part("ALL")])))
    if draw(st.booleans()) and kind != ObjectType.QMGR:
        parts.append(draw(filters(kind)))
    return Command((Part("DISPLAY"), draw(named_nouns(noun, True)), *draw(st.permutations(parts))))


COMMANDS = st.one_of(changes(), displays())


@st.composite
def spellings(draw: st.DrawFn, command: Command) -> list[str]:
    """The same command otherwise: other case, blanks and commas, and split over lines."""
    pieces: list[str] = []
    for part in command.parts:
        pieces.append(draw(cased(part.keyword)))
        if part.values is not None:
            pieces.append("(")
            for at, value in enumerate(part.values):
                if at:
                    pieces.append(draw(gaps(1)))
                pieces.append(value if value.startswith("'") else draw(cased(value)))
            pieces.append(")")
        pieces.append(draw(gaps(1)))
    lines = [""]
    for piece in pieces:
        if piece.startswith("*") and not lines[-1]:
            lines[-1] = " "  # in the first column it would begin a comment
        lines[-1] += draw(gaps(0)) + piece if piece in "()" else piece
        if draw(st.integers(0, 5)) == 0:
            # What begins the next line does not count behind a plus, so there is a blank before it.
            lines[-1] += draw(st.sampled_from((" +", " -", " +  ")))
            lines += draw(st.sampled_from(([], ["* a comment"], [""])))
            lines.append("")
    return lines


@st.composite
def splits(draw: st.DrawFn, text: str) -> list[str]:
    """The same text over several lines, split anywhere: inside words, numbers and quotes, too."""
    lines: list[str] = []
    rest = text
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(rest)))
        following = rest[at : at + 1]
        if not following.strip() or following == "*":
            continue  # a blank would be lost behind a plus, and an asterisk would begin a comment
        lines.append(rest[:at] + draw(st.sampled_from("+-")))
        rest = rest[at:]
    return [*lines, rest]


@st.composite
def cased(draw: st.DrawFn, word: str) -> str:
    return draw(st.sampled_from((word, word.lower(), word.title(), word.swapcase())))


def gaps(least: int) -> st.SearchStrategy[str]:
    return st.text(alphabet=" ,\t", min_size=least, max_size=3)
