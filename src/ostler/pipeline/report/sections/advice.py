"""Tuning advice, capacity planning, and questions that readers ask: answered from the figures of this report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from ostler.lab.scenarios.loader import catalogue
from ostler.lab.scenarios.model import Scenario, ScenarioKind
from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.curves import middle
from ostler.pipeline.report.charts.spreads import spread
from ostler.pipeline.report.context import Context
from ostler.pipeline.report.html.document import (
    Bullets,
    Code,
    Hyperlink,
    Inline,
    Paragraph,
    Section,
    Strong,
    TermList,
    Text,
)
from ostler.pipeline.report.peak_points import peak_points
from ostler.pipeline.report.rows import LIMIT, OSTLER, UNKNOWN
from ostler.pipeline.steps.contestants import LEAN, LIBRARY, driver_of

_SECONDS_A_DAY: Final = 86_400
_GIGABYTE: Final = 1024**3
_MICROSECONDS: Final = 1e6
_BUSY: Final = 0.7
_ADVICE: Final = {
    "driver": "the load came from too few drivers: the broker could do more. Use more driver processes, or a library "
    "that does less.",
    "broker": "the queue manager used the cores it can use. Spread applications over several queue managers, send "
    "larger units of work, or have fewer calls for each message.",
    "log": "forces of the log were waited for. Put the log on a faster device, put several messages into a unit of "
    "work, let more applications work at once so that they share forces, and use persistence where it is needed.",
    "network": "connections carried all they could. Use fewer and larger messages, shared conversations or read-ahead, "
    "more channels, larger batches, and no TLS where the network is trusted.",
    "machine": "all processors were busy, drivers and peers included. On a machine of its own the queue manager would "
    "do more; compare processor time for each operation rather than rates.",
    UNKNOWN: "nothing was full: more clients, or a longer sweep, would have reached more.",
}


def advice_section(context: Context) -> Section:
    made = (_tuning(context), _capacity(context), _questions(context), _notes(context))
    inner = tuple(each for each in made if each is not None)
    text = "What follows from the figures for somebody who has to tune or to plan."
    return Section("advice", "Tuning and capacity planning", (Paragraph(text),), inner)


# -- tuning ------------------------------------------------------------------------------------------------------------


def _tuning(context: Context) -> Section:
    """Return the guidance of the reports whose scenarios are shown, and all of it where none is."""
    guidance = [each for each in catalogue().scenarios.values() if each.kind is ScenarioKind.GUIDANCE]
    shown = _shown_reports(context)
    items = _terms([each for each in guidance if each.report.name in shown] or guidance)
    text = "Advice of the published reports in our words; what this machine lacks is listed by "
    return Section(
        "advice-tuning",
        "Tuning advice",
        (Paragraph((text, Code("ostler lab doctor"), ".")), TermList(items)),
    )


def _shown_reports(context: Context) -> set[str]:
    return {scenario.report.name for name in context.speaking if (scenario := context.scenario(name)) is not None}


def _terms(entries: Iterable[Scenario]) -> tuple[tuple[Text, Text], ...]:
    return tuple((each.title, (f"{_words(each)} ", _place(each))) for each in entries)


def _notes(context: Context) -> Section | None:
    """Return calculations, behaviours and configurations of the reports whose scenarios are shown."""
    shown = _shown_reports(context)
    kept = [
        each
        for each in catalogue().scenarios.values()
        if not each.is_measured and each.kind is not ScenarioKind.GUIDANCE and each.report.name in shown
    ]
    if not kept:
        return None
    text = "Calculations, behaviours, configurations and messages that the reports describe, and that have no curve."
    return Section("advice-notes", "What else the reports say", (Paragraph(text), TermList(_terms(kept))))


def _words(scenario: Scenario) -> str:
    return " ".join(scenario.summary.split())


def _place(scenario: Scenario) -> str:
    return f"({scenario.report.title}, {scenario.source.sections})"


# -- capacity ----------------------------------------------------------------------------------------------------------


def _capacity(context: Context) -> Section:
    """Return how to plan with the figures, with an example from the first scenario that has them."""
    text = (
        "Take the processor time of an operation from the costs, at a load like yours; a core has 1,000,000 µs a "
        f"second, and should not be planned above {_BUSY:.0%} for response times that stay even. Add the network: "
        "messages go in and out, so count their size twice. Persistent messages need the log: bytes for each "
        "operation, times the rate, is what its disk must write, and the log must hold what is written between two "
        "checkpoints. Memory grows with connections and with what waits in queues."
    ).replace("70%", "70 %")
    return Section("advice-capacity", "Capacity planning", (Paragraph(text), Bullets(tuple(_examples(context)))))


def _examples(context: Context) -> list[Text]:
    found: list[Text] = []
    for name, run in context.speaking.items():
        own = [each for each in context.points_of[run] if each.kind == OSTLER and each.message_bytes]
        for points in peak_points(own)[:1]:
            cost = middle(points, lambda point: point.broker_cpu_us)
            if not cost:
                continue
            rate = _BUSY * _MICROSECONDS / cost
            logged = middle(
                points, lambda point: point.log_bytes / point.count if point.log_bytes and point.count else None
            )
            disk = (
                f"; its log then grows by {numbers.figure(rate * logged / 1024**2)} MB a second, "
                f"{numbers.figure(rate * logged * _SECONDS_A_DAY / _GIGABYTE)} GB a day"
                if logged
                else ""
            )
            words = (
                f": an operation took {numbers.figure(cost)} µs of the broker at the peak, so a core that is "
                f"{_BUSY * 100:.0f} % busy carries {numbers.figure(rate)} a second{disk} ("
            )
            found.append((context.scenario_link(name), words, context.report.run(run), ")."))
    return found or ["No run has processor times yet."]


# -- questions ---------------------------------------------------------------------------------------------------------


def _questions(context: Context) -> Section:
    items: list[tuple[Text, Text]] = [("What limits my scenario?", _limits(context))]
    library = _library_cost(context)
    if library:
        items.append(("Why is a library slower than the rates in the charts?", library))
    items += [
        (
            "May I compare these rates with those of the published reports?",
            "No: other processors, other disks, and separate machines for load and queue managers. Compare ratios of "
            "figures that one machine gave, such as persistent to nonpersistent.",
        ),
        (
            "How many clients can be served?",
            (
                "As many as keep their mean response time within what the application needs: see ",
                Hyperlink("connection scaling and limits", "scaling"),
                ".",
            ),
        ),
        (
            "Are two figures really different?",
            "Only where the change is beyond the tolerance and the confidence interval does not include no change. "
            "The same work differs from minute to minute: see the noise of the runs.",
        ),
    ]
    return Section("advice-questions", "Questions", (TermList(tuple(items)),))


def _limits(context: Context) -> Text:
    """Return what limited the curves of Ostler in this report, and what helps."""
    runs = set(context.speaking.values())
    scenarios: dict[str, list[str]] = defaultdict(list)
    for row in context.tables.scalings:
        if row.run in runs and row.kind == OSTLER and row.limited_by:
            scenarios[row.limited_by].append(row.scenario)
    if not scenarios:
        return "Each scenario has what limited it below its figures, once a run has enough steps."
    text: list[Inline] = ["Below the figures of each scenario is what limited it. In this report: "]
    counts = Counter({name: len(found) for name, found in scenarios.items()})
    for number, (name, count) in enumerate(counts.most_common()):
        links: list[Inline] = []
        for each in dict.fromkeys(scenarios[name]):
            links += [", ", context.scenario_link(each)] if links else [context.scenario_link(each)]
        text += [" " if number else "", Strong("nothing" if name == UNKNOWN else name)]
        text += [f" ({numbers.count(count, 'curve')}: ", *links, f"): {_ADVICE.get(name, '')}"]
    return tuple(text)


def _library_cost(context: Context) -> Text:
    """Return what Ostler's own library reaches of the lean driver, over the curves of both."""
    ratios: list[float] = []
    runs: list[str] = []
    for run in context.speaking.values():
        peaks = [peak for peak in context.own_peaks(run) if peak.kind != LIMIT and peak.peak_rate]
        lean = {peak.series: peak.peak_rate for peak in reversed(peaks) if driver_of(peak.contestant, peak.kind) == LEAN
                and peak.contestant == context.main_contestant(run)}  # fmt: skip
        for peak in peaks:
            if driver_of(peak.contestant, peak.kind) == LIBRARY and peak.series in lean:
                ratios.append(peak.peak_rate / lean[peak.series])
                runs.append(run)
    found = spread(ratios)
    if found is None:
        return ""
    words = (
        "The lean driver makes one process do the work of all clients with as few instructions as possible, which "
        "shows the queue manager. A library has a thread and a Python call for each client and verb: Ostler's own "
        f"reached {numbers.times(found.middle)} the lean driver's peak here ("
    )
    return (words, *context.report.runs(runs), ").")
