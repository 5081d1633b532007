"""Charts as SVG within a page."""

from __future__ import annotations

from ostler.pipeline.report.charts.charts import BarChart, Chart, LineChart
from ostler.pipeline.report.charts.svg_lines import line_chart
from ostler.pipeline.report.charts.svg_rows import bar_chart, dot_chart
from ostler.pipeline.report.charts.topology import TopologyDrawing, topology_svg


def chart_svg(chart: Chart, anchor: str) -> str:
    """Return a chart as SVG. `anchor` makes the names inside unique on the page."""
    if isinstance(chart, LineChart):
        return line_chart(chart, anchor)
    if isinstance(chart, TopologyDrawing):
        return topology_svg(chart, anchor)
    return bar_chart(chart, anchor) if isinstance(chart, BarChart) else dot_chart(chart, anchor)
