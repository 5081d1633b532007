"""Text tables: fitted to the width of a terminal; elsewhere complete lines, which programs can parse too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_GAP = 2


@dataclass(frozen=True)
class TextColumn:
    """A column. `keep` ranks columns that are dropped for lack of room: the lowest first, 0 never. A `group` column is
    not repeated on a terminal while it and those before it are unchanged. A column with `least` may be narrowed to that
    width, and its text wrapped, before a column is dropped."""

    heading: str
    right: bool = True
    keep: int = 0
    group: bool = False
    least: int = 0
    style: str = ""


@dataclass(frozen=True)
class TextTable:
    title: str
    columns: tuple[TextColumn, ...]
    rows: tuple[tuple[str, ...], ...]

    def widths(self) -> list[int]:
        return [
            max(len(column.heading), *(len(row[number]) for row in self.rows)) if self.rows else len(column.heading)
            for number, column in enumerate(self.columns)
        ]

    def without_empty(self) -> TextTable:
        """Return the table without columns that are empty in all rows."""
        kept = [n for n in range(len(self.columns)) if any(row[n] for row in self.rows)]
        return self._of(kept)

    def within(self, width: int) -> tuple[TextTable, tuple[str, ...]]:
        """Return the table with as many columns as fit, and the headings of the others."""
        columns = self.columns
        widths = [min(each, column.least or each) for each, column in zip(self.widths(), columns, strict=True)]
        kept = list(range(len(columns)))
        droppable = sorted((n for n in kept if columns[n].keep), key=lambda n: columns[n].keep)
        left_out: list[int] = []
        # The box has a space at both ends.
        while droppable and sum(widths[n] + _GAP for n in kept) - _GAP + 2 > width:
            left_out.append(droppable.pop(0))
            kept.remove(left_out[-1])
        return self._of(kept), tuple(columns[n].heading for n in sorted(left_out))

    def _of(self, numbers: Sequence[int]) -> TextTable:
        columns = tuple(self.columns[n] for n in numbers)
        return TextTable(self.title, columns, tuple(tuple(row[n] for n in numbers) for row in self.rows))


def show(table: TextTable, console: Console) -> None:
    """Print a table. Off a terminal all columns are printed and nothing is truncated."""
    if console.is_terminal:
        _show_on_terminal(table.without_empty(), console)
        return
    table = table.without_empty()
    widths = table.widths()
    for cells in ([column.heading for column in table.columns], *table.rows):
        aligned = (
            text.rjust(width) if column.right else text.ljust(width)
            for text, width, column in zip(cells, widths, table.columns, strict=True)
        )
        console.print((" " * _GAP).join(aligned).rstrip(), markup=False, highlight=False, soft_wrap=True)


def _show_on_terminal(whole: TextTable, console: Console) -> None:
    table, left_out = whole.within(console.width)
    drawn = Table(
        title=table.title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for column in table.columns:
        drawn.add_column(
            column.heading,
            justify="right" if column.right else "left",
            no_wrap=column.right,
            overflow="fold",
            style=column.style or None,
        )
    before: tuple[str, ...] = ()
    for row in table.rows:
        drawn.add_row(*(Text(text) for text in _grouped(table, row, before)))
        before = row
    console.print(drawn)
    if left_out:
        text = f"Not shown for want of room: {', '.join(left_out)}. A wider terminal has them."
        console.print(Text(text, style="dim"), soft_wrap=True)


def _grouped(table: TextTable, row: tuple[str, ...], before: tuple[str, ...]) -> list[str]:
    """Return a row without the cells that repeat the row above."""
    cells = list(row)
    for number, column in enumerate(table.columns):
        if not column.group or not before or row[number] != before[number]:
            break
        cells[number] = ""
    return cells
