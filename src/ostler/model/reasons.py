"""Every reason a verb or command can give: its number, its name, what happened and what to do next.

There is one table. The sentences stand in `reasons_mqi` and `reasons_pcf`, three lines to a reason: a line with the
number, the name and the completion it usually comes with (nothing said means failed), then what happened, then what
to do next. Reasons that MQ pairs with a warning in one case and a failure in another stand with the milder one; the
verb that gives them says which it is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ostler.model.constants import MQCC_FAILED, MQCC_OK, MQCC_WARNING
from ostler.model.reasons_mqi import SENTENCES as MQI_SENTENCES
from ostler.model.reasons_pcf import SENTENCES as PCF_SENTENCES

_COMPLETIONS: Final = {"ok": MQCC_OK, "warning": MQCC_WARNING, "failed": MQCC_FAILED}


class Reason(NamedTuple):
    """One row of the table. `completion` is the completion code that MQ usually pairs with the reason."""

    number: int
    name: str
    text: str
    action: str
    completion: int


def _rows(sentences: str) -> list[Reason]:
    """Read the stanzas of one module of sentences."""
    rows: list[Reason] = []
    lines = sentences.strip().split("\n")
    assert len(lines) % 3 == 0, "a reason is three lines"
    for at in range(0, len(lines), 3):
        heading = lines[at].split()
        completion = _COMPLETIONS[heading[2] if len(heading) > 2 else "failed"]
        rows.append(Reason(int(heading[0]), heading[1], lines[at + 1], lines[at + 2], completion))
    return rows


TABLE: Final[dict[int, Reason]] = {row.number: row for row in _rows(MQI_SENTENCES) + _rows(PCF_SENTENCES)}

WARNINGS: Final[frozenset[int]] = frozenset(row.number for row in TABLE.values() if row.completion == MQCC_WARNING)


def describe(number: int) -> Reason:
    """Give the row of a reason. A number that is not in the table gets a row that says so."""
    row = TABLE.get(number)
    if row is not None:
        return row
    return Reason(
        number,
        f"MQRC_{number}",
        "The queue manager gave a reason that this release has no text for.",
        "Look the number up in the manual of the program that gave it.",
        MQCC_FAILED,
    )


def name_of(number: int) -> str:
    """Give MQ's name of a reason, such as MQRC_Q_FULL."""
    return describe(number).name
