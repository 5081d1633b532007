"""The tables of the lake, for the page on the pipeline.

    PYTHONPATH=src python -m tests.docs.pipeline_tables

writes that part of the page again.
"""

from __future__ import annotations

from pathlib import Path

from ostler.lab.store.schema import KEY
from ostler.pipeline.lake.live_tables import LIVE_TABLES
from ostler.pipeline.lake.tables import BRONZE, TABLES, LakeTable, Layer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "pipeline.md"
ALL_TABLES = TABLES | LIVE_TABLES
BEGINNING = "<!-- tables: made by tests/docs/pipeline_tables.py -->\n"
_EMPTY = "; may be empty"
_TITLES = {
    Layer.BRONZE: "Bronze: what was measured, as it came",
    Layer.SILVER: "Silver: one row for each measured point",
    Layer.GOLD: "Gold: what a report tells",
    Layer.QUARANTINE: "Quarantine: what breaks a rule",
}
_SAMPLES = f"""
The tables {", ".join(f"[{name}](#{name})" for name in BRONZE)} are those of the laboratory's
[samples](sample-schema.md), with all their columns. Each begins with the key of its phase, which is left out below:
{", ".join(f"`{column.name}`" for column in KEY)}.
"""


def tables_text() -> str:
    """All tables, by layer, in the words of their descriptions."""
    parts = [BEGINNING]
    for layer, title in _TITLES.items():
        parts.append(f"\n## {title}\n")
        parts.append(_SAMPLES if layer is Layer.BRONZE else "")
        parts += [_table(table) for table in ALL_TABLES.values() if table.layer is layer]
    return "".join(parts)


def _table(table: LakeTable) -> str:
    lines = [f"\n### {table.name}\n", f"{table.text} Key: {_names(table.key)}.{_partitions(table)}\n"]
    lines += ["| column | type | what it holds |", "|---|---|---|"]
    lines += [
        f"| `{column.name}` | `{column.type}` | {column.text or 'likewise'}{_EMPTY if column.optional else ''} |"
        for column in table.columns[_left_out(table) :]
    ]
    return "\n".join(lines) + "\n"


def _left_out(table: LakeTable) -> int:
    """The key of phases stands once, above the tables of samples."""
    return len(KEY) if table.name in BRONZE else 0


def _partitions(table: LakeTable) -> str:
    return f" A directory for each {_names(table.partitions)}." if table.partitions else ""


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def without_tables() -> str:
    """The page up to its tables."""
    return PAGE.read_text().partition(BEGINNING)[0]


if __name__ == "__main__":
    PAGE.write_text(without_tables() + tables_text())
