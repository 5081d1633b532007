"""Network addresses in channel authentication rules: single addresses and generic ones.

The forms are those of MQ. A part of an IP address may be a range (`192.0.2.1-8`); an asterisk matches one or more whole
parts (`192.0.2.*`, `192.*.2`, `2001:DB8:*:1`). In a host name an asterisk matches any characters. A single asterisk
matches every address and every host.
"""

from __future__ import annotations

from typing import Final, final

from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.security.channel_names import GenericName

EVERYTHING: Final = "*"
IPV4_PARTS: Final = 4
IPV6_PARTS: Final = 8

# Kinds of parts of a pattern.
_NUMBER: Final = 0
_RANGE: Final = 1
_ANY: Final = 2
_ZEROS: Final = 3  # a double colon in a pattern with asterisks: one or more zero parts

_IPV4_LETTERS: Final = "0123456789.*-"
_HOST_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789-_.*"
_HOST_LENGTH_MAX: Final = 255
# Keys of specificity are strings, which compare fast; the more specific key sorts first. A count is encoded as the
# character at this code minus the count, so that higher counts sort first.
_COUNT_BASE: Final = 0x5000


@final
class _Part:
    """One part of a pattern."""

    def __init__(self, kind: int, low: int = 0, high: int = 0) -> None:
        self.kind: int = kind
        self.low: int = low
        self.high: int = high

    def accepts(self, number: int) -> bool:
        return self.low <= number <= self.high

    def key(self, following: int) -> str:
        """Return the sort key: numbers before ranges, small ranges before wide ones, ranges before asterisks.

        Of two asterisks the one with more parts behind it is more specific.
        """
        if self.kind == _RANGE:
            return "\1" + chr(self.high - self.low)
        if self.kind == _ANY:
            return "\2" + chr(_COUNT_BASE - following)
        return "\0"

    def text(self, is_ipv6: bool) -> str:
        if self.kind == _ANY:
            return "*"
        if self.kind == _ZEROS:
            return ""
        low = f"{self.low:x}" if is_ipv6 else str(self.low)
        if self.kind == _NUMBER:
            return low
        return f"{low}-{self.high:x}" if is_ipv6 else f"{low}-{self.high}"


@final
class AddressPattern:
    """One value of ADDRESS or ADDRLIST. Raises MQError if it is invalid.

    `canonical` is the same for all spellings of a pattern. `specificity` orders patterns: of those that match a
    connection the smallest is the most specific. IP addresses sort before host names, and these before `*`.
    """

    def __init__(self, text: str) -> None:
        given = text.strip().lower()
        self.address: tuple[int, ...] = read_address(given)  # a single IP address; empty for anything else
        self.parts: list[_Part] = []
        self.parts_in_address: int = len(self.address)  # 4 or 8; 0 for a host name or `*`
        self.host: GenericName | None = None
        if self.address:
            self.canonical: str = _canonical_address(self.address)
            self.specificity: str = "\0" * (1 + len(self.address))
        elif given == EVERYTHING:
            self.canonical = given
            self.specificity = "\2"
        elif ":" in given or _consists_of(given, _IPV4_LETTERS):
            self.parts_in_address = _read_parts(text, given, self.parts)
            self.canonical = _canonical(self.parts, self.parts_in_address == IPV6_PARTS)
            last = len(self.parts) - 1
            self.specificity = "\0" + "".join([part.key(last - at) for at, part in enumerate(self.parts)])
        else:
            _check_host(text, given)
            self.host = GenericName(given)
            self.canonical = given
            self.specificity = "\1" + self.host.specificity

    @property
    def is_everything(self) -> bool:
        return self.canonical == EVERYTHING

    @property
    def first_numbers(self) -> tuple[int, ...]:
        """The numbers at the beginning of a pattern."""
        return tuple([part.low for part in self.parts[: self.literal_prefix()]])

    @property
    def last_numbers(self) -> tuple[int, ...]:
        """The numbers at the end of a pattern."""
        count = len(self.parts) - self.literal_suffix()
        return tuple([part.low for part in self.parts[count:]])

    def literal_prefix(self) -> int:
        count = 0
        for part in self.parts:
            if part.kind != _NUMBER:
                break
            count += 1
        return count

    def literal_suffix(self) -> int:
        count = 0
        for part in reversed(self.parts):
            if part.kind != _NUMBER:
                break
            count += 1
        return count

    def matches(self, address: tuple[int, ...], host: str = "") -> bool:
        """Return whether the pattern matches a connection from an address (of `read_address`) or a host."""
        if self.address:
            return address == self.address
        if self.parts_in_address:
            return len(address) == self.parts_in_address and _matches(self.parts, 0, address, 0)
        if self.host is not None:
            return host != "" and self.host.matches(host.lower())
        return True

    def overlaps(self, other: AddressPattern) -> bool:
        """Return whether two patterns differ only in ranges that overlap partially."""
        if self.parts_in_address != other.parts_in_address or len(self.parts) != len(other.parts):
            return False
        overlapping = False
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            if mine.kind != theirs.kind:
                return False
            if mine.low == theirs.low and mine.high == theirs.high:
                continue
            if not _overlap(mine, theirs):
                return False
            overlapping = True
        return overlapping


def read_address(text: str) -> tuple[int, ...]:
    """Return the parts of an IP address: four for IPv4, eight for IPv6; empty if it is no IP address.

    An IPv4 address mapped into IPv6 is returned as the IPv4 address.
    """
    if "." in text and ":" not in text:
        return _read_ipv4(text)
    if ":" not in text:
        return ()
    numbers = _read_ipv6(text.partition("%")[0])  # without the zone index
    if len(numbers) == IPV6_PARTS and numbers[5] == 0xFFFF and not any(numbers[:5]):
        return (numbers[6] >> 8, numbers[6] & 0xFF, numbers[7] >> 8, numbers[7] & 0xFF)
    return numbers


def check_addresses(addresses: tuple[str, ...]) -> None:
    """Raise MQError for a value of ADDRLIST that is no IP address or generic IP address."""
    for text in addresses:
        if AddressPattern(text).host is not None:
            raise _address_error(text, "is a host name; ADDRLIST takes only IP addresses")


# -- addresses ---------------------------------------------------------------------------------------------------------


def _read_ipv4(text: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for piece in text.split("."):
        number = _decimal(piece)
        if number < 0:
            return ()
        numbers.append(number)
    return tuple(numbers) if len(numbers) == IPV4_PARTS else ()


def _read_ipv6(text: str) -> tuple[int, ...]:
    head, double, tail = text.partition("::")
    first = _read_groups(head)
    if not double:
        return tuple(first) if first is not None and len(first) == IPV6_PARTS else ()
    last = _read_groups(tail)
    if first is None or last is None or len(first) + len(last) >= IPV6_PARTS:
        return ()
    return tuple(first + [0] * (IPV6_PARTS - len(first) - len(last)) + last)


def _read_groups(text: str) -> list[int] | None:
    """Return the groups of an IPv6 address; the last may be an IPv4 address. None if one is invalid."""
    groups: list[int] = []
    if not text:
        return groups
    pieces = text.split(":")
    for at, piece in enumerate(pieces):
        if "." in piece and at == len(pieces) - 1:
            numbers = _read_ipv4(piece)
            if not numbers:
                return None
            groups += [numbers[0] << 8 | numbers[1], numbers[2] << 8 | numbers[3]]
            continue
        number = _hexadecimal(piece)
        if number < 0:
            return None
        groups.append(number)
    return groups


def _decimal(text: str) -> int:
    """Return a number from 0 to 255; -1 for anything else."""
    if not 1 <= len(text) <= 3 or not text.isascii() or not text.isdecimal():
        return -1
    number = int(text)
    return number if number <= 0xFF else -1


def _hexadecimal(text: str) -> int:
    """Return a number from 0 to FFFF; -1 for anything else."""
    if not 1 <= len(text) <= 4 or not _consists_of(text.lower(), "0123456789abcdef"):
        return -1
    return int(text, 16)


# -- patterns ----------------------------------------------------------------------------------------------------------


def _read_parts(text: str, given: str, parts: list[_Part]) -> int:
    """Parse a pattern into `parts`; returns the number of parts of its addresses."""
    is_ipv6 = ":" in given
    if is_ipv6 and given.startswith("::ffff:") and "." in given:
        given = given[len("::ffff:") :]
        is_ipv6 = False
    if is_ipv6:
        _read_ipv6_parts(text, given, parts)
    else:
        parts += [_part(text, piece, False) for piece in given.split(".")]
    wanted = IPV6_PARTS if is_ipv6 else IPV4_PARTS
    _check_parts(text, parts, wanted)
    return wanted


def _read_ipv6_parts(text: str, given: str, parts: list[_Part]) -> None:
    head, double, tail = given.partition("::")
    if "::" in tail or tail.startswith(":"):
        raise _address_error(text, "has more than one double colon")
    first = [_part(text, piece, True) for piece in head.split(":")] if head else []
    last = [_part(text, piece, True) for piece in tail.split(":")] if tail else []
    parts += first
    if not double:
        return
    if last and last[-1].kind == _ANY:
        raise _address_error(text, "has a double colon and an asterisk at the end, which could mean several things")
    if any(part.kind == _ANY for part in (*first, *last)):
        parts.append(_Part(_ZEROS))
    else:
        for _ in range(IPV6_PARTS - len(first) - len(last)):
            parts.append(_Part(_NUMBER))
    parts += last


def _part(text: str, piece: str, is_ipv6: bool) -> _Part:
    if piece == "*":
        return _Part(_ANY)
    if "*" in piece:
        raise _address_error(text, "has an asterisk that is not a part of its own")
    low_text, hyphen, high_text = piece.partition("-")
    low = _hexadecimal(low_text) if is_ipv6 else _decimal(low_text)
    high = low
    if hyphen:
        high = _hexadecimal(high_text) if is_ipv6 else _decimal(high_text)
    if low < 0 or high < 0:
        numbers = "0 to FFFF" if is_ipv6 else "0 to 255"
        raise _address_error(
            text, f"has the part {piece!r}; a part is a number from {numbers}, a range of them, or '*'"
        )
    if hyphen and low >= high:
        raise MQError(
            mq.MQRCCF_IPADDR_RANGE_ERROR, f"{text!r} has the range {piece}; the first number must be the smaller one."
        )
    return _Part(_RANGE if hyphen else _NUMBER, low, high)


def _check_parts(text: str, parts: list[_Part], wanted: int) -> None:
    """Check the number of parts: an asterisk matches at least one part, and two at the end are redundant."""
    has_asterisk = any(part.kind == _ANY for part in parts)
    if len(parts) > wanted or (len(parts) < wanted and not has_asterisk):
        raise _address_error(text, f"has {len(parts)} parts; {wanted} are needed, or fewer and an asterisk")
    if len(parts) > 1 and parts[-1].kind == _ANY and parts[-2].kind == _ANY:
        raise _address_error(text, "has two asterisks at its end; one is enough")


def _check_host(text: str, given: str) -> None:
    right = given != "" and len(given) <= _HOST_LENGTH_MAX and _consists_of(given, _HOST_LETTERS)
    if not right or ".." in given or "**" in given or given.startswith("."):
        raise _address_error(text, "is neither an IP address nor the name of a host, nor a pattern of one")


def _canonical_address(address: tuple[int, ...]) -> str:
    if len(address) == IPV6_PARTS:
        return ":".join([f"{number:x}" for number in address])
    return ".".join([str(number) for number in address])


def _canonical(parts: list[_Part], is_ipv6: bool) -> str:
    return (":" if is_ipv6 else ".").join([part.text(is_ipv6) for part in parts])


def _matches(parts: list[_Part], at: int, address: tuple[int, ...], start: int) -> bool:
    """Return whether the parts from `at` on match the address from `start` on."""
    while at < len(parts):
        part = parts[at]
        at += 1
        if part.kind in (_NUMBER, _RANGE):
            if start >= len(address) or not part.accepts(address[start]):
                return False
            start += 1
            continue
        for end in range(start + 1, len(address) + 1):
            if part.kind == _ZEROS and address[end - 1] != 0:
                return False
            if _matches(parts, at, address, end):
                return True
        return False
    return start == len(address)


def _overlap(one: _Part, other: _Part) -> bool:
    if one.high < other.low or other.high < one.low:
        return False
    return (one.low < other.low and one.high < other.high) or (other.low < one.low and other.high < one.high)


def _consists_of(text: str, letters: str) -> bool:
    return all(character in letters for character in text)


def _address_error(text: str, why: str) -> MQError:
    return MQError(mq.MQRCCF_IPADDR_ERROR, f"{text[:80]!r} {why}.")
