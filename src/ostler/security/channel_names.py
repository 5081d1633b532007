"""Generic names: an asterisk matches any characters, or none.

Used for channel profiles, partner queue managers and hosts. A table finds the matching patterns at a cost that does not
grow with their number: they are indexed by their prefix and suffix.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar, final

Item = TypeVar("Item")

_COUNT_BASE: Final = 0x5000
_LENGTH_MAX: Final = 0x4000


@final
class GenericName:
    """A name that may have asterisks. Of the patterns that match a name the smallest `specificity` is the best.

    A character is more specific than an asterisk at the same position; of two asterisks at the same position the one
    with more behind it is more specific. A name without asterisks is more specific than any pattern.
    """

    def __init__(self, text: str) -> None:
        self.text: str = text
        self.pieces: list[str] = text[:_LENGTH_MAX].split("*")
        self.is_generic: bool = len(self.pieces) > 1
        self.prefix: str = self.pieces[0]
        self.suffix: str = self.pieces[-1]
        key = "\1" if self.is_generic else "\0"
        behind = len(text)
        for piece in self.pieces:
            behind -= len(piece) + 1
            key += chr(_COUNT_BASE - len(piece)) + chr(_COUNT_BASE - max(behind, -1))
        self.specificity: str = key

    def matches(self, name: str) -> bool:
        if not self.is_generic:
            return name == self.text
        start = len(self.prefix)
        end = len(name) - len(self.suffix)
        if end < start or not name.startswith(self.prefix) or not name.endswith(self.suffix):
            return False
        for piece in self.pieces[1:-1]:
            found = name.find(piece, start, end)
            if found < 0:
                return False
            start = found + len(piece)
        return True


@final
class NameTable(Generic[Item]):
    """Items by names and generic names."""

    def __init__(self) -> None:
        self.exact: dict[str, Item] = {}
        self.generic: dict[str, Item] = {}
        # Generic names by the text before the first and behind the last asterisk, and the number of names by both
        # lengths.
        self._buckets: dict[tuple[str, str], list[GenericName]] = {}
        self._shapes: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.exact) + len(self.generic)

    def get(self, name: str) -> Item | None:
        """Return the item of exactly this text."""
        return self.generic.get(name) if "*" in name else self.exact.get(name)

    def put(self, name: str, item: Item) -> None:
        if "*" not in name:
            self.exact[name] = item
            return
        if name not in self.generic:
            pattern = GenericName(name)
            bucket = self._buckets.setdefault((pattern.prefix, pattern.suffix), [])
            bucket.append(pattern)
            shape = (len(pattern.prefix), len(pattern.suffix))
            self._shapes[shape] = self._shapes.get(shape, 0) + 1
        self.generic[name] = item

    def remove(self, name: str) -> None:
        if "*" not in name:
            self.exact.pop(name, None)
            return
        if self.generic.pop(name, None) is None:
            return
        pattern = GenericName(name)
        key = (pattern.prefix, pattern.suffix)
        rest = [each for each in self._buckets[key] if each.text != name]
        if rest:
            self._buckets[key] = rest
        else:
            del self._buckets[key]
        shape = (len(pattern.prefix), len(pattern.suffix))
        self._shapes[shape] -= 1
        if not self._shapes[shape]:
            del self._shapes[shape]

    def matching(self, name: str) -> list[Item]:
        """Return the items of all matching names, the most specific first."""
        found: list[Item] = []
        exact = self.exact.get(name)
        if exact is not None:
            found.append(exact)
        if not self._shapes:
            return found
        patterns: list[tuple[str, str]] = []
        length = len(name)
        for shape in self._shapes:
            first, last = shape
            if first + last <= length:
                bucket = self._buckets.get((name[:first], name[length - last :]))
                if bucket is not None:
                    patterns += [(each.specificity, each.text) for each in bucket if each.matches(name)]
        patterns.sort()
        for _, text in patterns:
            found.append(self.generic[text])
        return found


def names_overlap(one: str, other: str) -> bool:
    """Return whether some name matches both, generic or not."""
    # Dynamic programming by rows: whether the rest of `one` and the rest of `other` can match a common name.
    below = [False] * (len(other) + 1)
    for at in range(len(one), -1, -1):
        row = [False] * (len(other) + 1)
        for column in range(len(other), -1, -1):
            if at == len(one) and column == len(other):
                row[column] = True
            elif at < len(one) and one[at] == "*":
                row[column] = below[column] or (column < len(other) and row[column + 1])
            elif column < len(other) and other[column] == "*":
                row[column] = row[column + 1] or (at < len(one) and below[column])
            elif at < len(one) and column < len(other) and one[at] == other[column]:
                row[column] = below[column + 1]
        below = row
    return below[0]
