"""Doubts on the runs of a report, for the top of the page: quick forms, runs that are not complete, noise and flags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.context import Context
from ostler.pipeline.report.html.document import Hyperlink, Inline, Paragraph
from ostler.pipeline.report.rows import RunRow

NOISE_PERCENT_MOST: Final = 15.0
# Full processors are the purpose of a sweep, not a doubt.
_EXPECTED_FLAGS: Final = frozenset({"machine-full"})


def doubts_paragraph(context: Context) -> Paragraph | None:
    """Return the doubts on the runs whose figures are shown; None where there are none."""
    runs = [context.runs[run] for run in context.speaking.values()]
    found: list[tuple[Inline, ...]] = []
    for words, doubtful in (
        ("the quick form, too short for figures to be quoted", [run for run in runs if run.is_quick]),
        ("not complete, so that points are missing", [run for run in runs if not run.is_complete]),
        (
            f"noisy, with the same work differing by more than {NOISE_PERCENT_MOST:.0f} %",
            [run for run in runs if (run.noise_percent or 0.0) > NOISE_PERCENT_MOST],
        ),
        (
            "interpreted, so that Ostler is several times slower than compiled",
            [run for run in runs if not run.compiled],
        ),
        ("flagged in some of its points", [run for run in runs if _flags(context, run)]),
    ):
        if doubtful:
            found.append(_clause(context, words, doubtful, len(runs)))
    if not found:
        return None
    text: tuple[Inline, ...] = ("Read with care: ",)
    for number, clause in enumerate(found):
        text += ("; ",) * (number > 0) + clause
    return Paragraph((*text, ". See ", Hyperlink("data quality and noise", "quality"), "."), "doubt")


def _clause(context: Context, words: str, doubtful: list[RunRow], total: int) -> tuple[Inline, ...]:
    if len(doubtful) == total and total > 1:
        many = words.replace("the quick form", "quick forms").replace("its points", "their points")
        return (f"all {total} runs shown are {many}",)
    count = numbers.count(len(doubtful), "run")
    is_one = len(doubtful) == 1
    verb = "is" if is_one else "are"
    many = words if is_one else words.replace("the quick form", "quick forms").replace("its points", "their points")
    return (f"{count} {verb} {many} (", *context.report.runs(each.run for each in doubtful), ")")


def _flags(context: Context, run: RunRow) -> set[str]:
    return {flag for point in context.points_of[run.run] for flag in point.flags} - _EXPECTED_FLAGS


def doubt_words(runs: Iterable[RunRow]) -> str:
    """Return the doubts on some runs in two or three words, for a sentence with their figures; empty without any."""
    known = list(runs)
    words = []
    if any(run.is_quick for run in known):
        words.append("quick run")
    if any(not run.is_complete for run in known):
        words.append("not complete")
    if any((run.noise_percent or 0.0) > NOISE_PERCENT_MOST for run in known):
        words.append("noisy")
    return ", ".join(words)
