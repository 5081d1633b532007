"""What the pipeline says when it cannot do something: a sentence that tells what to do."""

from __future__ import annotations


class PipelineError(Exception):
    """It cannot be done. Tables are as they were. The text says why, and what to do."""


class LakeBusy(PipelineError):
    """Somebody else is changing the lake. Whoever can wait may try again."""


def counted(number: int, what: str) -> str:
    """1 row, 2,000 rows."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
