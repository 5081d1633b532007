"""Index of channel rules by certificate.

Each subject pattern is indexed by one of its values: the first, in MQ's order of importance, that is more than an
asterisk. A look-up uses each value of the certificate, and prefixes and suffixes of the lengths that occur in patterns.
"""

from __future__ import annotations

from typing import Final, final

from ostler.model.distinguished_names import DistinguishedName, PeerPattern
from ostler.security.channel_addresses import AddressTable

# Precedence of the attributes of a distinguished name: an earlier one is more specific.
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
# Index kinds of a value: as a whole, by its beginning, or by its end.
_WHOLE: Final = 0
_BEGINNING: Final = 1
_END: Final = 2

_IndexKey = tuple[int, str, str]  # how, the attribute, the value in lower case
_UNINDEXED: Final[_IndexKey] = (3, "", "")


@final
class CertificateRules:
    """The rules for one pair of subject and issuer patterns, by address."""

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
    """The subject patterns of the rules of a profile."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str], CertificateRules] = {}
        self._by_key: dict[tuple[int, str, str], list[CertificateRules]] = {}
        # Number of index entries by kind, attribute and length, for beginnings and ends.
        self._lengths: dict[tuple[int, str, int], int] = {}

    def require(self, subject: str, issuer: str) -> CertificateRules:
        """Return the rules for a pair of patterns, and create them if necessary."""
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
        """Remove a pair of patterns without rules."""
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
        """Return the rules whose patterns match a certificate, the most specific first."""
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
    """Return a sort key for a name pattern: the smallest is the most specific.

    Compared are the most important attribute; then the number of units; then, unit by unit from the largest, a value
    without an asterisk, with one, with two, and an asterisk alone; then the longer value; then the alphabet.
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
            values.reverse()  # the first one is the smallest unit
        key += "\0" + chr(_COUNT_BASE - len(values))
        for value in values:
            stars = int(value.open_start) + int(value.open_end)
            key += chr(stars if value.core or not stars else 3) + chr(_COUNT_BASE - len(value.core))
            cores += value.core + "\0"
    return key + cores
