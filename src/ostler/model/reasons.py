"""Every reason code of a verb or command: its number, its name, what happened and what to do next.

There is one table. Its text is in `tables/reasons_mqi.py` and `tables/reasons_pcf.py`, three lines a reason: number,
name and usual completion code (`failed` unless given), then what happened, then what to do next. A reason that
MQ returns with a warning in one case and a failure in another is listed as a warning; the verb that returns it sets the
completion code.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ostler.model import constants as mq
from ostler.model.tables.reasons_mqi import SENTENCES as MQI_SENTENCES
from ostler.model.tables.reasons_pcf import SENTENCES as PCF_SENTENCES

__all__ = ["TABLE", "WARNINGS", "Reason", "describe", "name_of"]

_COMPLETIONS: Final = {"ok": mq.MQCC_OK, "warning": mq.MQCC_WARNING, "failed": mq.MQCC_FAILED}


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

WARNINGS: Final[frozenset[int]] = frozenset(row.number for row in TABLE.values() if row.completion == mq.MQCC_WARNING)


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
        mq.MQCC_FAILED,
    )


def name_of(number: int) -> str:
    """Give MQ's name of a reason, such as MQRC_Q_FULL."""
    return describe(number).name
