"""Generates the tables of docs/reference/pcf.md from the descriptions of the commands."""

from __future__ import annotations

from typing import Final

from ostler.command.pcf.command import PcfCommand, PcfField
from ostler.command.pcf.dispatch import COMMANDS
from ostler.model.attributes import ObjectType

BEGIN: Final = "<!-- commands -->"
END: Final = "<!-- end of commands -->"


def reference() -> str:
    """Returns a table with a row for each command, sorted by name."""
    lines = ["| command | parameters | beside those |", "|---|---|---|"]
    lines += [_row(command) for command in sorted(COMMANDS.values(), key=_name)]
    return "\n".join(lines)


def _name(command: PcfCommand) -> str:
    return command.constant


def _row(command: PcfCommand) -> str:
    fields = "<br>".join([_field(field) for field in command.fields]) or "none"
    more: list[str] = []
    if command.settable:
        more.append(f"attributes of {_kinds(command.settable)}")
    if command.filtered:
        more.append(f"a filter on an attribute of {_kinds(command.filtered)}")
    return f"| {command.constant} | {fields} | {'; '.join(more)} |"


def _kinds(kinds: tuple[ObjectType, ...]) -> str:
    return ", ".join([kind.value for kind in kinds])


def _field(field: PcfField) -> str:
    size = f" {field.length_max}" if field.length_max else ""
    values = f": {', '.join(field.values)}" if field.values else ""
    shown = f"{field.constant} ({field.kind.value}{size}){values}"
    return f"**{shown}**" if field.required else shown


def page_with_tables(page: str) -> str:
    """Returns the page with current tables."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{reference()}\n{END}{tail}"
