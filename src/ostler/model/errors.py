"""The exceptions of the queue manager: one carries a completion code and a reason code, one stops everything."""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from ostler.model.reasons import describe

_OWN: Final = ("completion", "reason", "detail")
_RESOURCE_PROBLEM: Final = 2102


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


class LogFull(MQError):
    """The recovery log has no room for the records of a verb. Nothing has changed: make room, and call again."""

    def __init__(self, detail: str = "The recovery log is full.") -> None:
        super().__init__(_RESOURCE_PROBLEM, detail)


class InvariantFailed(BaseException):
    """The state of the queue manager contradicts itself: only a defect, or damaged memory, can be the cause.

    No request handler may go on after this, so it is not an Exception: the queue manager stops at the end of the turn
    (`server.turn`), writes a report for support, and acknowledges nothing any more. A restart recovers from the log.
    """


def _rebuild(kind: type[MQError], reason: int, detail: str, completion: int) -> MQError:
    """Rebuild a pickled error without calling the constructor of a subclass."""
    error = kind.__new__(kind, completion, reason, detail)
    MQError.__init__(error, reason, detail, completion)
    return error
