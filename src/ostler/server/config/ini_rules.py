"""The values that attributes of a configuration file may have."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rule:
    """The values an attribute may have: a number, or words, or any text. `several`: words joined by commas."""

    stanza: str
    name: str
    minimum: int = 0
    maximum: int = -1
    words: tuple[str, ...] = ()
    several: bool = False
    any_text: bool = False

    def allowed(self) -> str:
        choices: list[str] = []
        if self.maximum >= self.minimum:
            choices.append(f"a number from {self.minimum} to {self.maximum}")
        if self.words:
            choices.append(", ".join(self.words))
        joined = " or ".join(choices)
        return f"{joined}, or several of them joined by commas" if self.several else joined

    def canonical(self, value: str) -> str | None:
        """Return the value in its canonical spelling, or None if it is not allowed."""
        if self.any_text:
            return value
        if self.several:
            parts = [self._word(part.strip()) for part in value.split(",")]
            return None if None in parts else ",".join([part or "" for part in parts])
        if value.isascii() and value.isdigit() and len(value) < 12 and self.minimum <= int(value) <= self.maximum:
            return str(int(value))
        return self._word(value)

    def _word(self, value: str) -> str | None:
        for word in self.words:
            if word.lower() == value.lower():
                return word
        return None


@dataclass
class Values:
    """The valid values of one stanza, by attribute name in lower case."""

    found: dict[str, str] = field(default_factory=dict)

    def number(self, name: str, default: int) -> int:
        value = self.found.get(name.lower())
        return default if value is None else int(value)

    def number_or_off(self, name: str, default: int | None) -> int | None:
        value = self.found.get(name.lower())
        if value is None:
            return default
        return None if value == "OFF" else int(value)

    def text(self, name: str, default: str) -> str:
        return self.found.get(name.lower(), default)

    def words(self, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = self.found.get(name.lower())
        return default if value is None else tuple(value.split(","))
