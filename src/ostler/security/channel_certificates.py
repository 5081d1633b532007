"""Rules by the certificates that they are for, found by one value that a certificate must have.

Each pattern of subjects is kept under one of its values: the first, in MQ's order of importance, that says more than
an asterisk. A certificate looks under each of its values, and under beginnings and ends of them where patterns ask.
"""

from __future__ import annotations

from typing import Final, final

from ostler.model.distinguished_names import DistinguishedName, PeerPattern
from ostler.security.channel_addresses import AddressTable

# The order in which the attributes of a name count: an earlier one is more specific.
IMPORTANCE: Final = (
    "SERIALNUMBER",
    "MAIL",
    "UID",
    "CN",
    "T",
    "OU",
    "DC",
    "O",
    "STREET",
    "L",
    "ST",
    "PC",
    "C",
    "UNSTRUCTUREDNAME",
    "UNSTRUCTUREDADDRESS",
    "DNQ",
)
_COUNT_BASE: Final = 0x5000
# How a value is found: whole, by its beginning, by its end, or not at all.
_WHOLE: Final = 0
_BEGINNING: Final = 1
_END: Final = 2

_IndexKey = tuple[int, str, str]  # how, the attribute, the value in small letters
_UNINDEXED: Final[_IndexKey] = (3, "", "")


@final
class CertificateRules:
    """The rules for one pattern of subjects and one of issuers, by address."""

    def __init__(self, subject: str, issuer: str) -> None:
        self.key: tuple[str, str] = (subject, issuer)
        self.subject: PeerPattern = PeerPattern(subject)
        self.issuer: PeerPattern | None = PeerPattern(issuer) if issuer else None
        self.addresses: AddressTable = AddressTable()
        self.specificity: str = name_specificity(self.subject) + "\2" + name_specificity(self.issuer)

    def matches(self, subject: DistinguishedName, issuer: DistinguishedName | None) -> bool:
        if not self.subject.matches(subject):
            return False
        return self.issuer is None or (issuer is not None and self.issuer.matches(issuer))


@final
class CertificateTable:
    """All patterns of subjects that the rules of a profile name."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str], CertificateRules] = {}
        self._by_key: dict[tuple[int, str, str], list[CertificateRules]] = {}
        # Which attributes are looked for by beginnings or ends of these lengths, and how often.
        self._lengths: dict[tuple[int, str, int], int] = {}

    def require(self, subject: str, issuer: str) -> CertificateRules:
        """The rules for two patterns, made when there are none yet."""
        found = self.all.get((subject, issuer))
        if found is None:
            found = CertificateRules(subject, issuer)
            self.all[found.key] = found
            key = _index_key(found.subject)
            self._by_key.setdefault(key, []).append(found)
            if key[0] in (_BEGINNING, _END):
                length = (key[0], key[1], len(key[2]))
                self._lengths[length] = self._lengths.get(length, 0) + 1
        return found

    def get(self, subject: str, issuer: str) -> CertificateRules | None:
        return self.all.get((subject, issuer))

    def drop(self, rules: CertificateRules) -> None:
        """Forget two patterns that have no rules left."""
        del self.all[rules.key]
        key = _index_key(rules.subject)
        rest = [each for each in self._by_key[key] if each is not rules]
        if rest:
            self._by_key[key] = rest
        else:
            del self._by_key[key]
        if key[0] in (_BEGINNING, _END):
            length = (key[0], key[1], len(key[2]))
            self._lengths[length] -= 1
            if not self._lengths[length]:
                del self._lengths[length]

    def matching(self, subject: DistinguishedName, issuer: DistinguishedName | None) -> list[CertificateRules]:
        """The rules for patterns that match a certificate, the most specific first."""
        found = list(self._matching_key(_UNINDEXED, subject, issuer))
        for kind, value in subject.attributes:
            folded = value.lower()
            found += self._matching_key((_WHOLE, kind, folded), subject, issuer)
            for how, wanted, length in self._lengths:
                if wanted == kind and length <= len(folded):
                    piece = folded[:length] if how == _BEGINNING else folded[len(folded) - length :]
                    found += self._matching_key((how, kind, piece), subject, issuer)
        if len(found) > 1:
            found.sort(key=_specificity)
        return found

    def _matching_key(
        self, key: _IndexKey, subject: DistinguishedName, issuer: DistinguishedName | None
    ) -> list[CertificateRules]:
        kept = self._by_key.get(key)
        if kept is None:
            return []
        return [each for each in kept if each.matches(subject, issuer)]


def _specificity(rules: CertificateRules) -> str:
    return rules.specificity


def _index_key(pattern: PeerPattern) -> _IndexKey:
    for kind in IMPORTANCE:
        for value in pattern.wanted.get(kind, ()):
            if not value.open_start and not value.open_end:
                return (_WHOLE, kind, value.core)
            if value.core and not value.open_start:
                return (_BEGINNING, kind, value.core)
            if value.core and not value.open_end:
                return (_END, kind, value.core)
    return _UNINDEXED


def name_specificity(pattern: PeerPattern | None) -> str:
    """Texts that order patterns of names: the smallest is the most specific.

    An attribute that counts for more wins; then more units; then, unit by unit from the largest, a value without an
    asterisk, with one, with two, and an asterisk alone; then the longer value; then the alphabet.
    """
    if pattern is None:
        return "\3"
    key = ""
    cores = ""
    for kind in IMPORTANCE:
        values = list(pattern.wanted.get(kind, ()))
        if not values:
            key += "\1"
            continue
        if kind == "DC":
            values.reverse()  # the first of them is the smallest unit
        key += "\0" + chr(_COUNT_BASE - len(values))
        for value in values:
            stars = int(value.open_start) + int(value.open_end)
            key += chr(stars if value.core or not stars else 3) + chr(_COUNT_BASE - len(value.core))
            cores += value.core + "\0"
    return key + cores
