"""Index of channel rules by address, independent of their number.

Single addresses are looked up directly. Patterns are kept in buckets by the numbers they begin and end with; a look-up
visits one bucket for each pair of lengths that occurs, at most a few dozen.
"""

from __future__ import annotations

from typing import Final, final

from ostler.security.addresses import AddressPattern
from ostler.security.channel_names import NameTable
from ostler.security.channel_rule import ChannelRule

_BucketKey = tuple[int, tuple[int, ...], tuple[int, ...]]  # parts of the address, first numbers, last numbers
_NO_NUMBERS: Final[tuple[int, ...]] = ()


@final
class _Entry:
    """A pattern and its rule."""

    def __init__(self, pattern: AddressPattern, rule: ChannelRule) -> None:
        self.pattern: AddressPattern = pattern
        self.rule: ChannelRule = rule


@final
class AddressTable:
    """At most one rule for each address or pattern, and one for all addresses."""

    def __init__(self) -> None:
        self.count: int = 0
        self.without_address: ChannelRule | None = None
        self.everything: ChannelRule | None = None
        self.exact: dict[tuple[int, ...], ChannelRule] = {}
        self.hosts: NameTable[ChannelRule] | None = None
        self._buckets: dict[tuple[int, tuple[int, ...], tuple[int, ...]], list[_Entry]] = {}
        self._shapes: dict[tuple[int, int, int], int] = {}

    def put(self, pattern: AddressPattern | None, rule: ChannelRule) -> None:
        """Add a rule; its pattern must not be in the table."""
        self.count += 1
        if pattern is None:
            self.without_address = rule
        elif pattern.is_everything:
            self.everything = rule
        elif pattern.host is not None:
            if self.hosts is None:
                self.hosts = NameTable()
            self.hosts.put(pattern.canonical, rule)
        elif pattern.address:
            self.exact[pattern.address] = rule
        else:
            entries = self._buckets.setdefault(_bucket_key(pattern), [])
            entries.append(_Entry(pattern, rule))
            shape = _shape(pattern)
            self._shapes[shape] = self._shapes.get(shape, 0) + 1

    def remove(self, pattern: AddressPattern | None) -> None:
        """Remove the rule of a pattern, which must be in the table."""
        self.count -= 1
        if pattern is None:
            self.without_address = None
        elif pattern.is_everything:
            self.everything = None
        elif pattern.host is not None:
            if self.hosts is not None:
                self.hosts.remove(pattern.canonical)
        elif pattern.address:
            del self.exact[pattern.address]
        else:
            self._remove_generic(pattern)

    def _remove_generic(self, pattern: AddressPattern) -> None:
        key = _bucket_key(pattern)
        rest = [each for each in self._buckets[key] if each.pattern.canonical != pattern.canonical]
        if rest:
            self._buckets[key] = rest
        else:
            del self._buckets[key]
        shape = _shape(pattern)
        self._shapes[shape] -= 1
        if not self._shapes[shape]:
            del self._shapes[shape]

    def best(self, address: tuple[int, ...], host: str, skips_warnings: bool) -> ChannelRule | None:
        """Return the rule with the most specific matching pattern. Rules with WARN(YES) can be skipped."""
        found = self.exact.get(address)
        if found is not None and not (skips_warnings and found.only_warns):
            return found
        if self._shapes:
            found = self._best_generic(address, skips_warnings)
            if found is not None:
                return found
        if host and self.hosts is not None:
            for rule in self.hosts.matching(host.lower()):
                if not (skips_warnings and rule.only_warns):
                    return rule
        found = self.everything
        if found is not None and not (skips_warnings and found.only_warns):
            return found
        found = self.without_address
        if found is not None and not (skips_warnings and found.only_warns):
            return found
        return None

    def _best_generic(self, address: tuple[int, ...], skips_warnings: bool) -> ChannelRule | None:
        best: _Entry | None = None
        length = len(address)
        for shape in self._shapes:
            parts, first, last = shape
            if parts != length:
                continue
            entries = self._buckets.get((parts, address[:first], address[length - last :] if last else _NO_NUMBERS))
            if entries is None:
                continue
            for entry in entries:
                if (
                    (best is None or entry.pattern.specificity < best.pattern.specificity)
                    and not (skips_warnings and entry.rule.only_warns)
                    and entry.pattern.matches(address)
                ):
                    best = entry
        return best.rule if best is not None else None


def _bucket_key(pattern: AddressPattern) -> _BucketKey:
    return (pattern.parts_in_address, pattern.first_numbers, pattern.last_numbers)


def _shape(pattern: AddressPattern) -> tuple[int, int, int]:
    return (pattern.parts_in_address, pattern.literal_prefix(), pattern.literal_suffix())
