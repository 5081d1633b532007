"""Charts are whole SVG files with every point on them."""

from __future__ import annotations

from xml.etree import ElementTree

from ostler.lab.bench.line_chart import svg
from ostler.lab.bench.result import Chart

_SVG = "{http://www.w3.org/2000/svg}"


def test_every_line_and_point_is_drawn() -> None:
    lines = {"ours": [(10.0, 100.0), (1000.0, 200.0), (100_000.0, 150.0)], "bare < ours": [(10.0, 5.0), (1000.0, 7.0)]}
    root = ElementTree.fromstring(svg(Chart("A & B", "depth", "ns", lines)))
    drawn = root.findall(f"{_SVG}polyline")
    assert [len(line.attrib["points"].split()) for line in drawn] == [3, 2]
    assert len(root.findall(f"{_SVG}circle")) == 5
    words = [each.text for each in root.findall(f"{_SVG}text")]
    assert "A & B" in words
    assert "bare < ours" in words


def test_larger_values_are_further_right_and_higher() -> None:
    root = ElementTree.fromstring(svg(Chart("t", "x", "y", {"line": [(10.0, 10.0), (500.0, 90.0)]})))
    first, second = root.findall(f"{_SVG}circle")
    assert float(second.attrib["cx"]) > float(first.attrib["cx"])
    assert float(second.attrib["cy"]) < float(first.attrib["cy"])
