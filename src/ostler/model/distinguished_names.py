"""Distinguished names in certificates, and SSLPEER patterns that match them.

The rules are those of MQ (SSLPEER). Every attribute of the pattern must be in the certificate; other attributes may be
there or not, in any order. Case is ignored. A value may begin and end with an asterisk that matches any characters.
Several OU or DC are compared in the order of the certificate, the largest unit first. Any other attribute that is in
the certificate more than once cannot be matched, because it would be ambiguous.
"""

from __future__ import annotations

from typing import Final, final

# Names of attributes in patterns, and the canonical name.
_TYPES: Final[dict[str, str]] = {
    "SERIALNUMBER": "SERIALNUMBER",
    "MAIL": "MAIL",
    "E": "MAIL",
    "UID": "UID",
    "USERID": "UID",
    "CN": "CN",
    "T": "T",
    "OU": "OU",
    "DC": "DC",
    "O": "O",
    "STREET": "STREET",
    "L": "L",
    "ST": "ST",
    "SP": "ST",
    "S": "ST",
    "PC": "PC",
    "C": "C",
    "UNSTRUCTUREDNAME": "UNSTRUCTUREDNAME",
    "UNSTRUCTUREDADDRESS": "UNSTRUCTUREDADDRESS",
    "DNQ": "DNQ",
}
# Names in certificates, in OpenSSL's long form.
_OF_CERTIFICATES: Final[dict[str, str]] = {
    "emailAddress": "MAIL",
    "rfc822Mailbox": "MAIL",
    "userId": "UID",
    "commonName": "CN",
    "title": "T",
    "organizationalUnitName": "OU",
    "domainComponent": "DC",
    "organizationName": "O",
    "streetAddress": "STREET",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "postalCode": "PC",
    "countryName": "C",
    "unstructuredName": "UNSTRUCTUREDNAME",
    "unstructuredAddress": "UNSTRUCTUREDADDRESS",
    "dnQualifier": "DNQ",
}
# The order in which MQ displays them.
_ORDER: Final = tuple(dict.fromkeys(_TYPES.values()))
_HIERARCHIES: Final = ("OU", "DC")
_SEPARATORS: Final = ",;"


@final
class DistinguishedName:
    """The subject or the issuer of a certificate: types as in SSLPEER, values in the order of the certificate."""

    def __init__(self, attributes: list[tuple[str, str]], serial_number: str = "") -> None:
        self.attributes: list[tuple[str, str]] = list(attributes)
        if serial_number:
            self.attributes.append(("SERIALNUMBER", _with_colons(serial_number)))

    def values(self, kind: str) -> list[str]:
        return [value for known, value in self.attributes if known == kind]

    def __str__(self) -> str:
        """Return the name as in DISPLAY CHSTATUS: SERIALNUMBER first, then from the common name to the country."""
        shown: list[str] = []
        for kind in _ORDER:
            shown += [f"{kind}={_quoted(value)}" for value in self.values(kind)]
        return ",".join(shown)


@final
class PeerPattern:
    """A parsed SSLPEER value. Raises ValueError for an invalid pattern."""

    def __init__(self, text: str) -> None:
        self.text: str = text
        self.wanted: dict[str, list[_ValuePattern]] = {}
        for piece in _pieces(text):
            known, value = _type_and_value(piece)
            values = self.wanted.setdefault(known, [])
            if values and known not in _HIERARCHIES:
                raise ValueError(f"{known} is given twice; only OU and DC can be")
            if known == "SERIALNUMBER" and ":" not in value and "*" not in value:
                value = _with_colons(value.strip().strip('"'))
            values.append(_ValuePattern(value))
        if not self.wanted:
            raise ValueError("it is empty")

    def matches(self, name: DistinguishedName) -> bool:
        for kind, patterns in self.wanted.items():
            values = name.values(kind)
            if len(values) < len(patterns) or (len(values) > 1 and kind not in _HIERARCHIES):
                return False
            for pattern, value in zip(patterns, values, strict=False):
                if not pattern.matches(value):
                    return False
        return True


@final
class _ValuePattern:
    """A value with or without an asterisk at either end; `\\*` there is a plain asterisk."""

    def __init__(self, text: str) -> None:
        value = _unquoted(text)
        self.open_start: bool = value.startswith("*")
        if self.open_start:
            value = value[1:]
        self.open_end: bool = value.endswith("*") and not value.endswith("\\*")
        if self.open_end:
            value = value[:-1]
        self.core: str = value.replace("\\*", "*").lower()

    def matches(self, value: str) -> bool:
        folded = value.lower()
        if self.open_start and self.open_end:
            return self.core in folded
        if self.open_start:
            return folded.endswith(self.core)
        if self.open_end:
            return folded.startswith(self.core)
        return folded == self.core


def from_certificate(pairs: list[tuple[str, str]], serial_number: str = "") -> DistinguishedName:
    """Return the name for the pairs of a certificate, with OpenSSL's long types. Others than SSLPEER's are dropped.

    SERIALNUMBER is the certificate's own serial number, not one in the subject.
    """
    known = [(_OF_CERTIFICATES[kind], value) for kind, value in pairs if kind in _OF_CERTIFICATES]
    return DistinguishedName(known, serial_number)


def matches(pattern: str, name: DistinguishedName) -> bool:
    """Return True when a name matches. A blank pattern matches all. Raises ValueError for an invalid pattern."""
    return not pattern.strip() or PeerPattern(pattern).matches(name)


def check_pattern(pattern: str) -> None:
    """Raise ValueError for an invalid SSLPEER value. A blank one is valid."""
    if pattern.strip():
        PeerPattern(pattern)


def parse_name(text: str) -> DistinguishedName:
    """Return the name for text in SSLPEER's form, without patterns. Raises ValueError."""
    pairs = [_type_and_value(piece) for piece in _pieces(text)]
    if not pairs:
        raise ValueError("it is empty")
    return DistinguishedName([(kind, _unquoted(value)) for kind, value in pairs])


def _type_and_value(piece: str) -> tuple[str, str]:
    kind, equals, value = piece.partition("=")
    if not equals or kind not in _TYPES:
        raise ValueError(f"{piece!r} is not one of {', '.join(_TYPES)}, in capitals, '=' and a value")
    return _TYPES[kind], value


def _unquoted(text: str) -> str:
    value = text.strip()
    if len(value) >= 2 and value.startswith('"') and value.endswith('"'):
        value = value[1:-1]
    if '"' in value:
        raise ValueError(f"a quotation mark within {text.strip()!r}; they enclose a whole value")
    if not value:
        raise ValueError("a value is missing behind '='")
    return value


def _pieces(text: str) -> list[str]:
    """Split at separators outside quotation marks."""
    pieces: list[str] = []
    start = 0
    quoted = False
    for at in range(len(text)):
        character = text[at]
        if character == '"':
            quoted = not quoted
        elif character in _SEPARATORS and not quoted:
            pieces.append(text[start:at].strip())
            start = at + 1
    if quoted:
        raise ValueError("a quotation mark is not closed")
    last = text[start:].strip()
    if last or pieces:
        pieces.append(last)
    return pieces


def _with_colons(serial_number: str) -> str:
    """Return a serial number in pairs of hexadecimal digits, as MQ displays it."""
    digits = serial_number.upper()
    if len(digits) % 2:
        digits = "0" + digits
    return ":".join([digits[at : at + 2] for at in range(0, len(digits), 2)])


def _quoted(value: str) -> str:
    """Return a value for display, without characters that could forge lines of an error log."""
    shown = value if value.isprintable() else "".join([each if each.isprintable() else "?" for each in value])
    for character in shown:
        if character in _SEPARATORS or character == '"':
            escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
    return shown
