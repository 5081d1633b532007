"""The workload of a scenario in words: applications, messages, units of work, load, sweeps and the end of a sweep.

The input is the scenario with plain values, as manifests keep it, so that an old run is described as it was run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ostler.pipeline.report import numbers

_BINDINGS: Final = {
    "local": "bound locally to the queue manager",
    "client": "connected as clients over TCP",
    "trusted": "inside the process of the queue manager (trusted)",
}
_LOADS: Final = {
    "closed": "Each sends the next message as soon as it has the reply to the last one.",
    "flat-out": "Messages go one way, as fast as they are accepted.",
    "sequential": "A single application makes one call after another.",
    "idle": "No messages are sent while it is measured.",
}
_SYNCPOINTS: Final = {
    "out": "outside units of work",
    "in": "inside units of work for all applications",
    "server-in": "inside units of work for responders only",
    "implicit": "with units of work that the queue manager makes of persistent puts",
}
_STOPS: Final = {
    "sweep": "A sweep ends with its last point",
    "peak": "A sweep ends when the rate no longer rises",
    "capacity": "A sweep ends when nothing more fits",
}
_BYTES: Final = "bytes"
# Parameters that sentences on queues and logs are made of.
_PARAMETERS: Final = {
    "queue_pairs": "{} of queues for requests and replies",
    "channel_pairs": "{} of message channels, one each way",
}
_ONE_AND_MORE: Final = {"queue_pairs": ("pair", "pairs"), "channel_pairs": ("pair", "pairs")}
_SECOND: Final = 1.0


def workload_sentences(
    workload: Mapping[str, Any], measured: Mapping[str, Sequence[object]] | None = None
) -> list[str]:
    """Return the workload as sentences. `measured` has the points of this run by the name of a sweep."""
    made = [
        *(_role(each) for each in listed(workload, "roles")),
        _messages(workload),
        _load(workload.get("load")),
        *_places(workload),
        *(_sweep(each, (measured or {}).get(str(each.get("name", "")), ())) for each in listed(workload, "sweeps")),
        _stop(workload.get("stop")),
        _compared(workload),
    ]
    return [each for each in made if each]


def listed(workload: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the tables of a list, such as roles."""
    found = workload.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def texts(workload: Mapping[str, Any], name: str) -> list[str]:
    found = workload.get(name)
    return [str(each) for each in found] if isinstance(found, list) else []


def join_words(words: Sequence[str], last: str = "and") -> str:
    """Return a, b and c."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def role_count(role: Mapping[str, Any]) -> str:
    """Return the number of applications of a role: 5, 20 or 40, 1 for each triplet; empty where it is swept."""
    counts = join_words([f"{each:,}" for each in role.get("counts") or [] if isinstance(each, int)], "or")
    per = str(role.get("per") or "")
    return f"{counts} for each {per}" if counts and per else counts


def _role(role: Mapping[str, Any]) -> str:
    name, does = str(role.get("name", "applications")), str(role.get("does", "")).rstrip(".")
    count = role_count(role)
    number, _, per = count.partition(" for each ")
    subject = f"{number} {_singular(name) if number == '1' else name}" if number else name
    subject += f" for each {per}" if per else ""
    binding = _BINDINGS.get(str(role.get("binding") or ""), "")
    if number == "1":
        binding = binding.replace("as clients", "as a client")
    where = f", {binding}" if binding else ""
    return f"{_capital(subject)}{where}: {does}."


def _singular(name: str) -> str:
    return name.removesuffix("s")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _messages(workload: Mapping[str, Any]) -> str:
    sizes = [numbers.size(each) for each in workload.get("message_bytes") or [] if isinstance(each, int)]
    kinds = texts(workload, "persistence")
    units = [_SYNCPOINTS.get(each, each) for each in texts(workload, "syncpoint")]
    if not (sizes or kinds or units):
        return ""
    of_size = f"of {join_words(sizes)}" if sizes else ""
    is_kind = f"are {join_words(kinds)}" if kinds else "are put and got"
    made = " ".join(each for each in ("Messages", of_size, is_kind) if each)
    return f"{made}, {join_words(units, 'or')}." if units else f"{made}."


def _load(load: object) -> str:
    if not isinstance(load, dict):
        return ""
    kind, rate = str(load.get("kind", "")), load.get("per_second") or 0
    if kind != "rated" or not isinstance(rate, int | float) or rate <= 0:
        return _LOADS.get(kind, "")
    often = f"{numbers.figure(rate)} a second" if rate > _SECOND else f"one every {_seconds(1 / rate)}"
    if load.get("since"):
        return f"Each sends {often}: when it has its reply, and that time has passed since its last put."
    return f"Each sends {often}, on a fixed schedule; one that is late sends at once until it has caught up."


def _seconds(seconds: float) -> str:
    return "second" if seconds == 1 else f"{seconds:,.4g} seconds"


def _places(workload: Mapping[str, Any]) -> list[str]:
    """Return the number of queue managers, and of queues and channels where the scenario fixes them."""
    managers = [f"{each:,}" for each in workload.get("queue_managers") or [] if isinstance(each, int)]
    words = f"{join_words(managers, 'or')} queue manager{'' if managers == ['1'] else 's'}" if managers else ""
    parameters = workload.get("parameters")
    found = [words] if words else []
    for name, text in _PARAMETERS.items():
        value = parameters.get(name) if isinstance(parameters, dict) else None
        if isinstance(value, int):
            one, more = _ONE_AND_MORE[name]
            found.append(text.format(f"{value:,} {one if value == 1 else more}"))
    return [f"There {'is' if found[0].startswith('1 ') else 'are'} {join_words(found)}."] if found else []


def _sweep(sweep: Mapping[str, Any], measured: Sequence[object]) -> str:
    name = str(sweep.get("name", "")).replace("_", " ")
    if name == "message bytes":
        name = "the size of messages"
    text = f"Swept: {name} {_values(sweep, sweep.get('values'))}"
    printed = _values(sweep, sweep.get("printed"))
    text += f"; the report prints {printed}" if printed else ""
    text += f"; measured here: {_values(sweep, list(measured))}" if measured else ""
    return f"{text}."


def _values(sweep: Mapping[str, Any], values: object) -> str:
    if not isinstance(values, list) or not values:
        return ""
    unit = str(sweep.get("unit") or "")
    if unit == _BYTES:
        return join_words([numbers.size(each) if isinstance(each, int) else str(each) for each in values])
    words = [f"{each:,}" if isinstance(each, int) else str(each) for each in values]
    # Texts may have commas of their own.
    found = " | ".join(words) if any("," in each and not each.replace(",", "").isdigit() for each in words) else ""
    found = found or join_words(words)
    return f"{found} {unit}".rstrip()


def _stop(stop: object) -> str:
    if not isinstance(stop, dict):
        return ""
    kind, limit, text = str(stop.get("kind", "")), stop.get("limit") or 0, str(stop.get("text") or "")
    if kind == "response-time":
        made = f"A sweep ends when the mean response time passes {limit:g} s{_passed(stop)}"
    elif kind == "samples":
        made = f"The report takes {limit:,.0f} measurements of each point"
    elif kind == "event":
        return f"A sweep ends when {text}." if text else ""
    else:
        made = _STOPS.get(kind, "")
    if not made:
        return ""
    return f"{made} ({text})." if text else f"{made}."


def _passed(stop: Mapping[str, Any]) -> str:
    """Return how often a limit has to be passed, and at which points of other sweeps."""
    after, only = stop.get("after") or 1, stop.get("only")
    often = f" at {after} successive points" if after > 1 else ""
    if not isinstance(only, dict) or not only:
        return often
    words = [
        f"messages of {numbers.size(value)}" if name == "message_bytes" and isinstance(value, int)
        else f"{name.replace('_', ' ')} {value}"
        for name, value in only.items()
    ]  # fmt: skip
    return f"{often}, with {join_words(words)} only"


def _compared(workload: Mapping[str, Any]) -> str:
    found = texts(workload, "compared")
    return f"The report also varies what cannot be varied here: {join_words(found)}." if found else ""
