"""The progress bar of `ostler pipeline run`: on a terminal only, and lines stay readable above it."""

from __future__ import annotations

from io import StringIO

from ostler.cli.pipeline.table_progress import TableProgress


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def shown_by(stream: StringIO) -> str:
    with TableProgress(stream) as view:
        view.say("120 rows of phase.")
        view.advance(3, 12)
        view.say("[3 rows] of run.")
    return stream.getvalue()


def test_elsewhere_there_are_lines_and_no_bar() -> None:
    assert shown_by(StringIO()) == "120 rows of phase.\n[3 rows] of run.\n"


def test_on_a_terminal_a_bar_counts_tables() -> None:
    shown = shown_by(Terminal())
    assert "120 rows of phase." in shown
    assert "[3 rows] of run." in shown, "brackets are no markup"
    assert "Starting Spark" in shown or "Making tables" in shown
    assert "3/12" in shown
