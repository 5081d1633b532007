"""Errors of the pipeline: each is a sentence with a remedy."""

from __future__ import annotations


class PipelineError(Exception):
    """An operation failed. Tables are unchanged. The text has the reason and the remedy."""


class LakeBusy(PipelineError):
    """Another process is changing the lake. The operation may be retried."""


def count_text(number: int, what: str) -> str:
    """Return a count as text: 1 row, 2,000 rows."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
