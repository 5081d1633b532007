"""The preface: the audience, how to read the report, and where readers of IBM's reports find their sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ostler.lab.scenarios.loader import catalogue
from ostler.pipeline.report import numbers
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

# Sections of published reports, and the sections here that have the same content.
_SECTIONS: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    ("Preface, audience, how the document is used", (("this section", "preface"),)),
    ("Summary of changes", (("summary of changes", "changes"),)),
    ("Release highlights", (("highlights", "highlights"),)),
    ("Overview, peak throughput", (("peak rates", "peaks"), ("scenarios", "scenarios"))),
    ("Workloads, topologies, test names", (("scenarios", "scenarios"), ("names of tests", "tests"))),
    ("Large messages", (("large messages", "sizes"),)),
    ("Processor time, cost of a message, verbs", (("costs", "costs"), ("verbs", "costs-verbs"))),
    ("Log, disk and input/output", (("log and disk", "costs-storage"),)),
    ("Clients served, capacity, connections", (("connection scaling and limits", "scaling"),)),
    ("Bottlenecks: what limits a workload", (("where the limit is", "scaling-law"), ("questions", "advice-questions"))),
    ("Comparison of releases, generations and options", (("comparisons", "comparisons"),)),
    ("Frequently asked questions", (("questions", "advice-questions"),)),
    ("Tuning recommendations", (("tuning advice", "advice-tuning"),)),
    ("Capacity planning", (("capacity planning", "advice-capacity"), ("predictions", "scaling-predictions"))),
    ("Measurement environment, hardware, software", (("machine and versions", "machine"),)),
    ("Queue manager configuration", (("scenarios, below each workload", "scenarios"), ("runs", "runs"))),
    ("Resources, glossary, trademarks", (("resources", "resources"), ("glossary", "glossary"))),
)
# Sections of published reports about one kind of work, and the families of scenarios that have the same content.
_TOPICS: Final = (
    ("Trusted applications", ("trusted",)),
    ("Short sessions, triggered applications", ("short-session", "triggered")),
    ("Message channels, distributed queuing", ("distributed",)),
    ("Publish/subscribe, point-to-point", ("publish-subscribe", "point-to-point")),
    ("Logging, implicit syncpoint, file systems", ("logging", "implicit-syncpoint", "file-systems", "log-disks")),
    ("TLS", ("tls",)),
    ("High availability, disaster recovery", ("replication",)),
    ("Shared queues, shared message data sets", ("shared-queues", "shared-data-sets")),
    ("Storage of connections, channels and objects", ("storage",)),
    ("Channel authentication rules", ("chlauth-connect", "chlauth-restart")),
    ("Topic tree, topic scavenger", ("topic-tree",)),
)


def preface_section(context: Context, made: Sequence[Section]) -> Section:
    """Return the preface of a report with these sections. It has no numbered table, so it may be made last."""
    known = {"preface", *_anchors(made)}
    scenarios, runs = len(context.speaking), len(context.tables.runs)
    audience = (
        "This report is for people who plan, run or develop queue managers: it has rates, response times, processor "
        f"time and storage of {numbers.count(scenarios, 'scenario')}, measured in {numbers.count(runs, 'run')}. Most "
        "scenarios follow published performance reports of IBM MQ: same loads, sizes, sweeps and names of tests. "
        "Differences stand beside the figures of each scenario."
    )
    items = tuple(
        (theirs, _links(found))
        for theirs, places in _SECTIONS
        if (found := [(words, anchor) for words, anchor in places if anchor in known])
    )
    items += topic_terms(name for name in context.speaking if f"scenario-{name}" in known)
    return Section(
        "preface",
        "Preface",
        (Paragraph(audience),),
        (
            Section("preface-reading", "How to read the figures", (Bullets(_reading(known)),)),
            Section(
                "preface-sections",
                "For readers of IBM's reports",
                (Paragraph("Sections of the published reports, and where their content is here."), TermList(items)),
            ),
        ),
    )


def topic_terms(names: Iterable[str]) -> tuple[tuple[str, Text], ...]:
    """Return the topics that scenarios of a report are about, each with links to these."""
    families: dict[str, list[str]] = {}
    for name in names:
        scenario = catalogue().scenarios.get(name)
        if scenario is not None:
            families.setdefault(scenario.family, []).append(name)
    found = ((theirs, [name for each in ours for name in families.get(each, [])]) for theirs, ours in _TOPICS)
    return tuple((theirs, _links([(name, f"scenario-{name}") for name in which])) for theirs, which in found if which)


def _reading(known: Iterable[str]) -> tuple[Text, ...]:
    has = set(known)
    items: list[Text] = [
        (Strong("Rates"), " are completed operations a second: a round trip is two puts and two gets."),
        (
            Strong("Like with like: "),
            "a lean driver speaks a protocol with as little work as possible, a library is what applications use. Lean "
            "drivers are compared with lean drivers, and libraries with libraries; what an acknowledgement promises "
            "differs between products, and is said with each comparison.",
        ),
        (
            Strong("Response times"),
            " count from the request, and at fixed rates from when it was due, so that waiting counts, or from "
            "the put where the published report counts so. Tables of operations have both.",
        ),
        (
            Strong("Runs"),
            " have short names, R1 is the oldest. Broker, drivers and peers share one machine: a rate is that of all.",
        ),
        (
            Strong("Doubts"),
            " are on top of the highlights and of each scenario: quick forms, runs that ended early, noise, flags.",
        ),
    ]
    if "published" in has:
        items.append(
            (
                Strong("Published figures"),
                " are from other machines: ratios stand beside ours, others only where variant and metric agree. See ",
                Hyperlink("published figures", "published"),
                ".",
            )
        )
    if "reproduce" in has:
        repeat: tuple[Inline, ...] = ("Each figure names its run, and ", Code("ostler lab run"), " repeats it: see ")
        items.append((*repeat, Hyperlink("how to reproduce each figure", "reproduce"), "."))
    return tuple(items)


def _links(places: Sequence[tuple[str, str]]) -> Text:
    found: list[Inline] = []
    for words, anchor in places:
        found += [", ", Hyperlink(words, anchor)] if found else [Hyperlink(words, anchor)]
    return tuple(found)


def _anchors(sections: Iterable[Section]) -> Iterator[str]:
    for each in sections:
        yield each.anchor
        yield from _anchors(each.sections)
