"""Descriptions of a run for the manifest: the configuration of its queue managers, and what differs from the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ostler.lab.families.load_points import LoadPoint
from ostler.lab.families.set_up.queue_manager_plans import BUFFER_PAGES_LEAST, PAGE_BYTES
from ostler.lab.runner.queue_managers.plan import LISTENER, QueueManagerPlan, channel_commands
from ostler.lab.scenarios.model import Binding, Deviation, Scenario
from ostler.lab.scenarios.steps import Step
from ostler.server.config.qm_ini import LogSection, LogType

_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"\(([^)]*)\)")
_GIGABYTE = 1 << 30


def configuration_of(
    points: Mapping[int, LoadPoint], steps: Sequence[Step], texts: Callable[[LoadPoint], Mapping[str, str]]
) -> dict[str, str]:
    """Return the configuration texts of all steps by name. Where steps differ, a name says which ones have a text."""
    found: dict[tuple[str, str], list[Step]] = {}
    for step in steps:
        for named in texts(points[step.number]).items():
            found.setdefault(named, []).append(step)
    several = {name for name, _ in found if sum(each == name for each, _ in found) > 1}
    return {
        f"{name} ({_steps_text(having, steps)})" if name in several else name: text
        for (name, text), having in found.items()
    }


def manager_texts(point: LoadPoint) -> dict[str, str]:
    """Return the configuration of the queue managers of a step, which are all alike."""
    name = "queue manager" if point.managers == 1 else f"each of {point.managers} queue managers"
    return {name: plan_text(point.manager)}


def _steps_text(found: Sequence[Step], steps: Sequence[Step]) -> str:
    """Return the sweeps whose values tell these steps from others."""
    words = []
    for sweep in steps[0].points:
        values = dict.fromkeys(step.points[sweep] for step in found)
        if len(values) < len({step.points[sweep] for step in steps}):
            words.append(f"{sweep} {' | '.join(map(str, values))}")
    return ", ".join(words) or f"step {found[0].number}"


def plan_text(plan: QueueManagerPlan) -> str:
    """Return crtmqm with its options, the stanzas of qm.ini and the MQSC of a queue manager."""
    log = plan.log
    kind = "-ll" if log.type is LogType.LINEAR else "-lc"
    lines = [f"crtmqm {kind} -lp {log.primary_files} -ls {log.secondary_files} -lf {log.file_pages} {plan.name}"]
    if plan.log_directory:
        lines.append("The log is on another file system than the queues.")
    if plan.cores:
        lines.append(f"The queue manager may use {plan.cores} core{'' if plan.cores == 1 else 's'}.")
    lines.append("")
    for stanza, values in {"Log": _log_values(log), **plan.stanzas}.items():
        lines.append(f"{stanza}:")
        lines += [f"   {name}={value}" for name, value in values.items()]
    commands = [f"DEFINE LISTENER({LISTENER}) TRPTYPE(TCP) CONTROL(QMGR)", *channel_commands(plan), *plan.commands]
    return "\n".join([*lines, "", *shortened(commands)])


def _log_values(log: LogSection) -> dict[str, str]:
    return {
        "LogType": log.type.value,
        "LogManagement": log.management.value,
        "LogBufferPages": str(log.buffer_pages),
        "LogWriteIntegrity": log.write_integrity.value,
    }


def shortened(commands: Sequence[str]) -> list[str]:
    """Return the commands; of those that differ in numbers only, the first, and how many more there are."""
    forms: dict[str, list[str]] = {}
    for command in commands:
        forms.setdefault(_NUMBER.sub("#", command), []).append(command)
    lines = []
    for found in forms.values():
        lines.append(found[0])
        if len(found) > 1:
            last = _NAME.search(found[-1])
            lines.append(f"* ... and {len(found) - 1:,} more, to {last[1] if last else found[-1]}")
    return lines


# -- deviations --------------------------------------------------------------------------------------------------------


def log_deviations(wanted: Mapping[int, LoadPoint], used: Mapping[int, LoadPoint], is_quick: bool) -> list[Deviation]:
    """Return the logs that are smaller than the report's."""
    found = {}
    for number, point in wanted.items():
        log, files = point.manager.log, used[number].manager.log.primary_files
        if files == log.primary_files:
            continue
        whose = "The log" if point.managers == 1 else f"The log of each of {point.managers} queue managers"
        what = f"{whose} has {files} primary files of {log.file_pages:,} pages, the report's has {log.primary_files}"
        total = point.logs * log.primary_files * log.file_pages * PAGE_BYTES / _GIGABYTE
        why = f"All logs together would take {total:.1f} GB"
        why += ", which a quick run does not wait for." if is_quick else ", more than this laboratory gives to logs."
        found[what] = Deviation(what, why)
    return list(found.values())


def parameter_deviations(scenario: Scenario) -> list[Deviation]:
    """Return parameters of the report that a queue manager refuses today."""
    pages = scenario.parameters.get("log_buffer_pages")
    if isinstance(pages, int) and 0 < pages < BUFFER_PAGES_LEAST:
        what = f"LogBufferPages is {BUFFER_PAGES_LEAST}, the report has {pages}"
        return [Deviation(what, f"{BUFFER_PAGES_LEAST} pages are the minimum today.")]
    return []


def window_deviations(points: Mapping[int, LoadPoint], window_seconds: float) -> list[Deviation]:
    """Return that clients send nothing in the window, where it is shorter than the time between two requests."""
    rates = [point.rate_per_second for point in points.values() if point.rate_per_second]
    if not rates or window_seconds * min(rates) >= 1.0:
        return []
    share = 100 * window_seconds * min(rates)
    what = f"About {share:.0f} % of the clients send a request within the window; the others are connected and idle"
    return [
        Deviation(what, f"A client sends every {1 / min(rates):.0f} s, and the window is {window_seconds:g} s long.")
    ]


def trusted_deviations(points: Mapping[int, LoadPoint]) -> list[Deviation]:
    """Return whose processor time is within that of the queue manager, where applications run inside its process."""
    asking = any(point.requester_binding is Binding.TRUSTED for point in points.values())
    answering = any(point.responder_binding is Binding.TRUSTED for point in points.values())
    if not asking and not answering:
        return []
    who = "Requesters and responders" if asking and answering else "Requesters" if asking else "Responders"
    what = f"{who} that run trusted are threads of the queue manager, and their processor time is within its own"
    why = "A trusted application of MQ is a process of its own that does the work of the queue manager, too; here the "
    return [Deviation(what, f"{why}queue manager is one process. Libraries, where they take part, are bound locally.")]


def model_deviations(scenario: Scenario, points: Mapping[int, LoadPoint], cores: int) -> list[Deviation]:
    """Return the cores that stand for the models of the appliance."""
    used = sorted({point.manager.cores for point in points.values() if point.manager.cores})
    if not used or not any(sweep.name == "model" for sweep in scenario.sweeps):
        return []
    what = f"Model A is a queue manager on all {cores} cores, model B one on {used[0]} of them; drivers run on the same"
    return [Deviation(what, "The models have 32 and 8 cores, and drivers on other machines.")]
