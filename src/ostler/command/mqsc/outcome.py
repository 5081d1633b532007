"""The outcome of one MQSC command."""

from __future__ import annotations

from enum import Enum


class CommandOutcome(Enum):
    DONE = "done"
    SYNTAX_ERROR = "syntax error"
    FAILED = "valid, but failed"
