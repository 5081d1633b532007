"""The exception that carries a completion code and a reason code."""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from ostler.model.reasons import describe

_OWN: Final = ("completion", "reason", "detail")


@mypyc_attr(allow_interpreted_subclasses=True)
class MQError(Exception):
    """A verb or command failed or ended with a warning. `completion` and `reason` are MQ's codes."""

    def __init__(self, reason: int, detail: str = "", completion: int = 2) -> None:
        self.completion = completion
        self.reason = reason
        self.detail = detail
        super().__init__(completion, reason, detail)

    def __reduce__(self) -> tuple[object, ...]:
        # The exception's args differ from its constructor's. Attributes of a subclass are pickled, too.
        state = {name: value for name, value in vars(self).items() if name not in _OWN}
        return _rebuild, (type(self), self.reason, self.detail, self.completion), state or None

    def __str__(self) -> str:
        entry = describe(self.reason)
        text = f"{entry.name} ({self.reason}): {self.detail or entry.text}"
        return f"{text} {entry.action}" if entry.action else text


def _rebuild(kind: type[MQError], reason: int, detail: str, completion: int) -> MQError:
    """Rebuild a pickled error without calling the constructor of a subclass."""
    error = kind.__new__(kind, completion, reason, detail)
    MQError.__init__(error, reason, detail, completion)
    return error
