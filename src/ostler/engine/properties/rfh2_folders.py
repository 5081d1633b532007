"""The XML-like text of one MQRFH2 folder: parsed into properties and written from them.

    <usr><colour>red</colour><count dt='i4'>7</count></usr>

This is not XML: comments, declarations and namespaces are format errors. Names are joined by dots; the folder usr is
omitted. The text may come from any application, so depth and number of elements are limited, and every fault raises
MQError.
"""

from __future__ import annotations

import re
from typing import Final

from ostler.engine.properties.properties import Property
from ostler.engine.properties.property_names import KEYWORDS, PROPERTY_FOLDERS, canonical_name, folder_of
from ostler.engine.properties.property_values import Value, check_range, text_of, to_single
from ostler.model import constants as mq
from ostler.model.errors import MQError

DEPTH_MAX: Final = 32
ELEMENTS_MAX: Final = 16_384
_ATTRIBUTES_MAX: Final = 16

_TYPES: Final[dict[str, int]] = {
    "string": mq.MQTYPE_STRING,
    "boolean": mq.MQTYPE_BOOLEAN,
    "bin.hex": mq.MQTYPE_BYTE_STRING,
    "i1": mq.MQTYPE_INT8,
    "i2": mq.MQTYPE_INT16,
    "i4": mq.MQTYPE_INT32,
    "i8": mq.MQTYPE_INT64,
    "int": mq.MQTYPE_INT64,
    "r4": mq.MQTYPE_FLOAT32,
    "r8": mq.MQTYPE_FLOAT64,
}
_TYPE_TEXTS: Final[dict[int, str]] = {number: text for text, number in _TYPES.items() if text != "int"}
_COPY_WORDS: Final[dict[str, int]] = {
    "forward": mq.MQCOPY_FORWARD,
    "publish": mq.MQCOPY_PUBLISH,
    "reply": mq.MQCOPY_REPLY,
    "report": mq.MQCOPY_REPORT,
    "all": mq.MQCOPY_ALL,
    "none": mq.MQCOPY_NONE,
    "default": mq.MQCOPY_DEFAULT,
}
_ENTITIES: Final[dict[str, str]] = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ENTITY: Final = re.compile(r"&([^;&<]{0,10})(;?)")
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}\Z")
_FLOAT: Final = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?|inf(?:inity)?|nan)\Z", re.I)
_NO_ATTRIBUTES: Final[dict[str, str]] = {}
_BLANKS: Final = " \t\r\n"
_NAME_ENDS: Final = frozenset(" \t\r\n<>/=\"'&")


def format_error(problem: str, at: int) -> MQError:
    return MQError(mq.MQRC_RFH_FORMAT_ERROR, f"MQRFH2 folder, position {at}: {problem}.")


class Tag:
    """A start tag. `empty` if it closed itself; `parent` if it has child elements.

    `path` is the name of its property or group; `hidden` if no property call can use that name.
    """

    def __init__(self, name: str, attributes: dict[str, str], empty: bool) -> None:
        self.name = name
        self.attributes = attributes
        self.empty = empty
        self.parent = False
        self.path = name
        self.hidden = False


class _FolderReader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _BLANKS:
            self.at += 1

    def expect(self, sign: str) -> None:
        if not self.text.startswith(sign, self.at):
            raise format_error(f"{sign} is expected", self.at)
        self.at += len(sign)

    def name(self) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in _NAME_ENDS:
            self.at += 1
        name = self.text[start : self.at]
        if not name or not (name[0].isalpha() or name[0] == "_" or name[0] == "$"):
            raise format_error("a name is expected", start)
        return name

    def start_tag(self) -> Tag:
        end = self.text.find(">", self.at)
        plain = self.text[self.at + 1 : end]
        if plain.isidentifier() and self.text[self.at] == "<":
            # The common case: no attributes.
            self.at = end + 1
            return Tag(plain, _NO_ATTRIBUTES, False)
        self.expect("<")
        name = self.name()
        attributes: dict[str, str] = {}
        while True:
            self.skip_blanks()
            if self.text.startswith("/>", self.at):
                self.at += 2
                return Tag(name, attributes, True)
            if self.text.startswith(">", self.at):
                self.at += 1
                return Tag(name, attributes, False)
            if len(attributes) == _ATTRIBUTES_MAX:
                raise format_error("a tag has too many attributes", self.at)
            key = self.name()
            self.skip_blanks()
            self.expect("=")
            self.skip_blanks()
            attributes[key] = self.quoted()

    def quoted(self) -> str:
        quote = self.text[self.at : self.at + 1]
        end = self.text.find(quote, self.at + 1) if quote in ("'", '"') else -1
        if end < 0:
            raise format_error("a value in quotation marks is expected", self.at)
        value = self.text[self.at + 1 : end]
        self.at = end + 1
        return value

    def end_tag(self, name: str) -> None:
        whole = "</" + name + ">"
        if self.text.startswith(whole, self.at):
            self.at += len(whole)
            return
        self.expect("</")
        if self.name() != name:
            raise format_error(f"the end of {name[:40]} is expected", self.at)
        self.skip_blanks()
        self.expect(">")


def folder_head(text: str) -> Tag:
    """Return the start tag of a folder, which is enough to tell its kind."""
    reader = _FolderReader(text)
    reader.skip_blanks()
    return reader.start_tag()


def holds_properties(head: Tag) -> bool:
    return head.name in PROPERTY_FOLDERS or head.attributes.get("content") == "properties"


def read_folder(text: str) -> list[Property]:
    """Return the properties of a folder. Elements whose names no property can have are skipped.

    The folder mq must be in its restricted form.
    """
    reader = _FolderReader(text)
    reader.skip_blanks()
    root = reader.start_tag()
    restricted = root.name == "mq"
    if restricted and ("&" in text or "content" in root.attributes):
        raise _restricted_error()
    properties: list[Property] = []
    stack = [] if root.empty else [root]
    elements = 0
    while stack:
        opening = reader.text.find("<", reader.at)
        if opening < 0:
            raise format_error(f"{stack[-1].name[:40]} has no end tag", len(text))
        content = reader.text[reader.at : opening]
        reader.at = opening
        tag = stack[-1]
        if text.startswith("</", opening):
            reader.end_tag(tag.name)
            leaf = len(stack) > 1 and not tag.parent
            if leaf:
                _collect(properties, tag, content, root.name)
            stack.pop()
        else:
            leaf = False
            tag.parent = True
            if restricted and len(stack) > 1:
                raise _restricted_error()
            elements += 1
            if len(stack) == DEPTH_MAX or elements > ELEMENTS_MAX:
                raise format_error("elements are nested too deep, or there are too many", opening)
            child = reader.start_tag()
            child.path = tag.path + "." + child.name
            child.hidden = tag.hidden or _is_hidden(child.name, len(stack) == 1 and root.name == "usr")
            if restricted and "xsi:nil" in child.attributes:
                raise _restricted_error()
            if child.empty:
                _collect(properties, child, "", root.name)
            else:
                stack.append(child)
        if not leaf and content.strip(_BLANKS):
            raise format_error("text and elements are mixed", opening)
    if reader.text[reader.at :].strip(_BLANKS + "\0"):
        raise format_error("data follows the folder", reader.at)
    return properties


def _restricted_error() -> MQError:
    return MQError(
        mq.MQRC_RFH_RESTRICTED_FORMAT_ERR, "The folder mq has no groups, escapes, nulls or content attribute."
    )


def _collect(properties: list[Property], tag: Tag, content: str, folder: str) -> None:
    """Add the property of an element."""
    if tag.hidden:
        return
    name = canonical_name(tag.path)
    if not tag.attributes:
        properties.append(Property(name, mq.MQTYPE_STRING, unescape(content)))
        return
    type_text = tag.attributes.get("dt", "string")
    property_type = _TYPES.get(type_text, mq.MQTYPE_STRING)
    if tag.attributes.get("xsi:nil") == "true":
        property_type = mq.MQTYPE_NULL
    added = Property(name, property_type, _value_of(property_type, content))
    if type_text not in _TYPES and property_type != mq.MQTYPE_NULL:
        added.type_text = type_text[:8]
    _describe(added, tag.attributes, folder)
    properties.append(added)


def _is_hidden(name: str, in_usr: bool) -> bool:
    """Return whether no property can have this element name: names have no dots, and usr has no reserved words."""
    return "." in name or (in_usr and (name.startswith("JMS") or name.upper() in KEYWORDS))


def _value_of(type: int, content: str) -> Value:
    if type == mq.MQTYPE_NULL:
        return None
    if type == mq.MQTYPE_STRING:
        return unescape(content)
    text = content.strip(_BLANKS)
    if type == mq.MQTYPE_BOOLEAN:
        word = text.lower()
        if word not in ("0", "1", "true", "false"):
            raise format_error(f"{text[:40]!r} is no boolean", 0)
        return word in ("1", "true")
    if type == mq.MQTYPE_BYTE_STRING:
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise format_error("a byte string has pairs of hexadecimal digits", 0) from None
    real = type in (mq.MQTYPE_FLOAT32, mq.MQTYPE_FLOAT64)
    if (_FLOAT if real else _INTEGER).match(text) is None:
        raise format_error(f"{text[:40]!r} is no number", 0)
    try:
        if not real:
            return check_range(type, int(text))
        return to_single(float(text)) if type == mq.MQTYPE_FLOAT32 else float(text)
    except MQError as error:
        raise format_error(error.detail.rstrip("."), 0) from None


def unescape(text: str) -> str:
    """Return the text with its entities replaced."""
    if "&" not in text:
        return text
    parts: list[str] = []
    at = 0
    for match in _ENTITY.finditer(text):
        parts.append(text[at : match.start()])
        parts.append(_entity(match.group(1), match.group(2)))
        at = match.end()
    parts.append(text[at:])
    return "".join(parts)


def _entity(name: str, end: str) -> str:
    if end and name in _ENTITIES:
        return _ENTITIES[name]
    digits = name[2:] if name[:2] in ("#x", "#X") else name[1:]
    base = 16 if name[:2] in ("#x", "#X") else 10
    if end and name[:1] == "#" and digits.isalnum() and digits.isascii():
        try:
            code = int(digits, base)
        except ValueError:
            code = -1
        if 0 <= code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
    raise format_error(f"&{name[:20]} is no entity", 0)


def escape(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;").replace("'", "&apos;")


def _describe(added: Property, attributes: dict[str, str], folder: str) -> None:
    """Set the property descriptor from the attributes of an element; unknown words are ignored."""
    added.context = mq.MQPD_USER_CONTEXT if attributes.get("context") == "user" else mq.MQPD_NO_CONTEXT
    copy = attributes.get("copy")
    if copy is not None:
        added.copy_options = mq.MQCOPY_NONE
        for word in copy.split(","):
            added.copy_options |= _COPY_WORDS.get(word.strip(_BLANKS), mq.MQCOPY_NONE)
    if folder == "mq":
        if "sr" in attributes:
            added.support = mq.MQPD_SUPPORT_REQUIRED
        elif "sx" in attributes:
            added.support = mq.MQPD_SUPPORT_REQUIRED_IF_LOCAL


def _attributes(described: Property) -> str:
    text = ""
    if described.type_text:
        text += f" dt='{escape(described.type_text)}'"
    elif described.type == mq.MQTYPE_NULL:
        text += " xsi:nil='true'"
    elif described.type != mq.MQTYPE_STRING:
        text += f" dt='{_TYPE_TEXTS[described.type]}'"
    if described.support != mq.MQPD_SUPPORT_OPTIONAL and folder_of(described.name) == "mq":
        required = described.support == mq.MQPD_SUPPORT_REQUIRED
        text += " sr='required'" if required else " sx='local'"
    if described.context == mq.MQPD_USER_CONTEXT:
        text += " context='user'"
    if described.copy_options != mq.MQCOPY_DEFAULT:
        text += f" copy='{_copy_words(described.copy_options)}'"
    return text


def _copy_words(options: int) -> str:
    if options & mq.MQCOPY_ALL:
        return "all"
    words = [word for word in ("forward", "publish", "reply", "report") if options & _COPY_WORDS[word]]
    return ",".join(words) or "none"


def write_folders(properties: list[Property]) -> list[str]:
    """Return the folders of these properties, in the order of their first property."""
    folders: dict[str, list[Property]] = {}
    for each in properties:
        folders.setdefault(folder_of(each.name), []).append(each)
    return [_folder_text(name, held) for name, held in folders.items()]


def _folder_text(folder: str, properties: list[Property]) -> str:
    marked = "" if folder in PROPERTY_FOLDERS else " content='properties'"
    parts = [f"<{folder}{marked}>"]
    open_groups: list[str] = []
    for each in properties:
        path = each.name.split(".") if "." in each.name else ["usr", each.name]
        groups = path[1:-1]
        same = 0
        while same < min(len(groups), len(open_groups)) and groups[same] == open_groups[same]:
            same += 1
        parts.extend([f"</{group}>" for group in reversed(open_groups[same:])])
        parts.extend([f"<{group}>" for group in groups[same:]])
        open_groups = groups
        parts.append(f"<{path[-1]}{_attributes(each)}>{_content(each)}</{path[-1]}>")
    parts.extend([f"</{group}>" for group in reversed(open_groups)])
    parts.append(f"</{folder}>")
    return "".join(parts)


def _content(written: Property) -> str:
    value = written.value
    if isinstance(value, bool):
        return "1" if value else "0"
    return escape(value) if isinstance(value, str) else text_of(written.type, value)
