"""The exception that carries a completion code and a reason code."""

from __future__ import annotations

from ostler.model.reasons import describe


class MQError(Exception):
    """A verb or command was refused or only partly done. `completion` and `reason` are MQ's numbers."""

    def __init__(self, reason: int, detail: str = "", completion: int = 2) -> None:
        self.completion = completion
        self.reason = reason
        self.detail = detail
        super().__init__(completion, reason, detail)

    def __str__(self) -> str:
        entry = describe(self.reason)
        text = f"{entry.name} ({self.reason}): {self.detail or entry.text}"
        return f"{text} {entry.action}" if entry.action else text
