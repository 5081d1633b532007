"""Reading a page of a protocol: its tables, and payloads by what the tables say."""

from __future__ import annotations

from pathlib import Path

Row = list[str]


class ProtocolPage:
    def __init__(self, path: Path) -> None:
        self.path = path

    def text(self) -> str:
        return self.path.read_text()

    def tables(self) -> list[tuple[str, list[Row]]]:
        """Each with the first line of the paragraph before it; the first row is the heading."""
        found: list[tuple[str, list[Row]]] = []
        before, rows, is_over = "", list[Row](), True
        for line in [*self.text().splitlines(), ""]:
            if line.startswith("|"):
                cells = [cell.strip() for cell in line.strip("|").split("|")]
                if not set("".join(cells)) <= {"-"}:
                    rows.append(cells)
            elif rows:
                found.append((before, rows))
                rows = []
            elif line:
                before = line if is_over else before
                is_over = False
            else:
                is_over = True
        return found

    def table(self, *columns: str, after: str = "") -> list[Row]:
        """The rows of the one table with these first columns, behind a paragraph that begins so."""
        found = [
            rows[1:]
            for before, rows in self.tables()
            if tuple(rows[0][: len(columns)]) == columns and before.startswith(after)
        ]
        assert len(found) == 1, f"{len(found)} tables {columns} after {after!r}"
        return found[0]

    def layout(self, title: str) -> list[Row]:
        return self.table("offset", "bytes", "field", after=title)

    def layouts(self) -> list[str]:
        """What stands before each table of a payload."""
        return [before for before, rows in self.tables() if rows[0][:3] == ["offset", "bytes", "field"]]

    def limits(self) -> dict[str, int]:
        return {row[0]: int(row[1].replace(",", "")) for row in self.table("limit", "value")}


def walk(rows: list[Row], payload: bytes) -> dict[str, bytes]:
    """Read a payload as a table says; the bytes of each field. Every byte must belong to one."""
    at = 0
    read: dict[str, bytes] = {}
    for offset, width, field, *_ in rows:
        assert offset in (str(at), "then"), f"{field} is at {at}, the page says {offset}"
        start = at
        times, of, kind = width.rpartition(" \u00d7 ")
        repeats = 1
        if of:
            repeats, kind = number(read[kind.strip("*")]), times
        elif kind.startswith("*"):
            kind = str(number(read[kind.strip("*")]))
        for _ in range(repeats):
            if kind == "rest":
                at = len(payload)
            elif kind in ("text", "counted"):
                at += 4 + number(payload[at : at + 4])
            else:
                at += int(kind)
        read[field] = payload[start:at]
    assert at == len(payload), f"the page tells of {at} bytes, there are {len(payload)}"
    return read


def number(data: bytes) -> int:
    assert len(data) <= 4
    return int.from_bytes(data, "little")


def value(data: bytes, like: object) -> object:
    """A field as what it is expected to be."""
    if isinstance(like, int):
        return number(data)
    if isinstance(like, str):
        text = data.decode("latin-1")
        return text.rstrip() if len(like) != number(data[:4]) else data[4:].decode()
    return data
