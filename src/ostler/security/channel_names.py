"""Generic names: an asterisk anywhere stands for any characters, none included.

So are the profiles of channels, the names of partner queue managers and those of hosts. A table finds the patterns
that match a name at a cost that does not grow with how many there are: they are kept by what they begin and end with.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar, final

Kept = TypeVar("Kept")

_NOTHING: Final = 0x5000
_LENGTH_MAX: Final = 0x4000


@final
class NamePattern:
    """A name that may have asterisks. Of the patterns that match a name the smallest `specificity` is the best.

    A character is more specific than an asterisk at the same place; of two asterisks at the same place the one with
    more behind it is more specific. A name without asterisks is more specific than any pattern.
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
            key += chr(_NOTHING - len(piece)) + chr(_NOTHING - max(behind, -1))
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
class NameTable(Generic[Kept]):
    """What is kept by names and generic names."""

    def __init__(self) -> None:
        self.exact: dict[str, Kept] = {}
        self.generic: dict[str, Kept] = {}
        # Generic names by their text before the first asterisk and behind the last, and how many have such lengths.
        self._buckets: dict[tuple[str, str], list[NamePattern]] = {}
        self._shapes: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.exact) + len(self.generic)

    def get(self, name: str) -> Kept | None:
        """What is kept by exactly this text."""
        return self.generic.get(name) if "*" in name else self.exact.get(name)

    def put(self, name: str, kept: Kept) -> None:
        if "*" not in name:
            self.exact[name] = kept
            return
        if name not in self.generic:
            pattern = NamePattern(name)
            bucket = self._buckets.setdefault((pattern.prefix, pattern.suffix), [])
            bucket.append(pattern)
            shape = (len(pattern.prefix), len(pattern.suffix))
            self._shapes[shape] = self._shapes.get(shape, 0) + 1
        self.generic[name] = kept

    def remove(self, name: str) -> None:
        if "*" not in name:
            self.exact.pop(name, None)
            return
        if self.generic.pop(name, None) is None:
            return
        pattern = NamePattern(name)
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

    def matching(self, name: str) -> list[Kept]:
        """What is kept by names that match, the most specific first."""
        found: list[Kept] = []
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


def names_meet(one: str, other: str) -> bool:
    """Whether there is a name that both match, be they generic or not."""
    # For each place in one, whether the rest of it and the rest of the other can meet: the classic table, by rows.
    below = [False] * (len(other) + 1)
    for at in range(len(one), -1, -1):
        row = [False] * (len(other) + 1)
        for place in range(len(other), -1, -1):
            if at == len(one) and place == len(other):
                row[place] = True
            elif at < len(one) and one[at] == "*":
                row[place] = below[place] or (place < len(other) and row[place + 1])
            elif place < len(other) and other[place] == "*":
                row[place] = row[place + 1] or (at < len(one) and below[place])
            elif at < len(one) and place < len(other) and one[at] == other[place]:
                row[place] = below[place + 1]
        below = row
    return below[0]
