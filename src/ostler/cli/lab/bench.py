"""`ostler bench`: measures this installation, shows tables, and writes result files."""

from __future__ import annotations

import argparse
import difflib
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ostler.lab.bench.catalogue import Benchmark
    from ostler.lab.bench.result import Aim, Conditions, Result

_DESCRIPTION = """\
Measure this installation. Every benchmark runs in a process of its own, shows a table, and writes a result file with
all samples, the limit that was probed beside, and how quiet the machine was meanwhile. Without names, all are run."""

_WIDTH_WITHOUT_TERMINAL = 132


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "bench", help="measure this installation and write result files", description=_DESCRIPTION
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark; --list shows them")
    parser.add_argument(
        "--quick", action="store_true", help="fewer and smaller rounds: minutes instead of a quarter of an hour"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("results"), metavar="DIR", help="where result files go (%(default)s)"
    )
    parser.add_argument(
        "--scratch", type=Path, metavar="DIR", help="where queue managers are made; the disk that is measured"
    )
    parser.add_argument("--list", action="store_true", dest="is_list", help="show the benchmarks and end")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if find_spec("hdrh") is None:
        print("ostler bench needs the laboratory's packages: pip install 'ostler[lab]'", file=sys.stderr)
        return 1
    from ostler.lab.bench.catalogue import all_benchmarks

    known = all_benchmarks()
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _WIDTH_WITHOUT_TERMINAL
    if arguments.is_list:
        for each in known.values():
            console.print(f"{each.name:<22}{each.title}", soft_wrap=True)
        return 0
    for name in arguments.names:
        if name not in known:
            close = difflib.get_close_matches(name, list(known), 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            print(f"ostler bench: there is no benchmark {name}{hint} --list shows all.", file=sys.stderr)
            return 2
    chosen = [known[name] for name in arguments.names or known]
    return _run_all(chosen, arguments.quick, arguments.output, arguments.scratch, console)


def _run_all(chosen: list[Benchmark], quick: bool, output: Path, scratch: Path | None, console: Console) -> int:
    from ostler.lab.common.machine import flavour, is_compiled
    from ostler.lab.common.probes import bare_pair_ns

    console.print(f"Ostler runs {flavour()} here." + ("" if is_compiled() else " Aims are for the compiled flavour."))
    if scratch is not None:
        scratch.mkdir(parents=True, exist_ok=True)
    first = bare_pair_ns()
    aims: list[tuple[str, Aim]] = []
    failed: list[str] = []
    for benchmark in chosen:
        found = _run_one(benchmark, quick, output, scratch, console)
        if found is None:
            failed.append(benchmark.name)
        else:
            aims += [(benchmark.name, aim) for aim in found.aims]
    last = bare_pair_ns()
    _show_aims(aims, console)
    difference = 100 * abs(last - first) / min(first, last)
    console.print(
        f"\nThe bare probe took {first:.0f} ns first and {last:.0f} ns last: {difference:.0f}% apart.", end=" "
    )
    console.print("Differences below 15% mean nothing on a shared machine.")
    if failed:
        console.print(f"[red]Not measured: {', '.join(failed)}.[/red]")
    return 1 if failed else 0


def _run_one(benchmark: Benchmark, quick: bool, output: Path, scratch: Path | None, console: Console) -> Result | None:
    from ostler.lab.bench.catalogue import measure
    from ostler.lab.bench.result import write_result
    from ostler.lab.common.own_process import MeasurementFailed

    columns = (TextColumn("{task.fields[name]}"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with (
        tempfile.TemporaryDirectory(prefix="ostler-bench-", dir=scratch) as directory,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar,
    ):
        task = bar.add_task("starting", total=1.0, name=benchmark.name)

        def on_progress(fraction: float, what: str) -> None:
            bar.update(task, completed=fraction, description=what)

        try:
            result, conditions = measure(benchmark, quick, Path(directory), on_progress)
        except MeasurementFailed as failure:
            console.print(Text.assemble((f"\n{benchmark.name} has no result: ", "red"), str(failure)))
            return None
    path = write_result(output, result, conditions)
    written = [str(path)]
    if result.chart is not None:
        from ostler.lab.bench.line_chart import svg

        chart = path.with_suffix(".svg")
        chart.write_text(svg(result.chart), encoding="utf-8")
        written.append(str(chart))
    _show_result(result, conditions, written, console)
    return result


def _show_result(result: Result, conditions: Conditions, written: list[str], console: Console) -> None:
    table = _table(f"{result.name}: {result.title}")
    headings, *rows = result.table
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    for note in result.notes:
        console.print(note, soft_wrap=True)
    cpu = conditions.cpu
    console.print(
        f"{conditions.seconds:.0f} s; others used {cpu['others_percent']:.0f}% of the machine, "
        f"{cpu['steal_percent']:.1f}% was stolen; the bare probe differed by {conditions.noise_percent():.0f}%; "
        f"{' and '.join(written)}",
        style="dim",
        soft_wrap=True,
    )
    if not conditions.is_quiet():
        console.print("[yellow]The machine was busy: these results are not reliable.[/yellow]")


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)


def _show_aims(aims: list[tuple[str, Aim]], console: Console) -> None:
    if not aims:
        return
    table = _table("Aims")
    for heading in ("benchmark", "aim", "measured", "limit", ""):
        table.add_column(heading, justify="right" if heading in ("measured", "limit") else "left")
    for name, aim in aims:
        limit = f"{'at most' if aim.at_most else 'at least'} {aim.limit:,g}"
        met = "[green]met[/green]" if aim.met else "[red]missed[/red]"
        table.add_row(
            name, aim.text, f"{aim.measured:,.3g}" if aim.measured < 1000 else f"{aim.measured:,.0f}", limit, met
        )
    console.print(table)
