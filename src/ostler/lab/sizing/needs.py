"""Needs of a planned load, reckoned from the evidence of measured runs by the method of the reports.

Each need names the figure it comes from and the run that measured it. A need without evidence says which scenario would
give it; a figure for another message length or number of clients than was measured is called extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from ostler.lab.sizing.evidence import Evidence, StepEvidence

LIGHT_METRES_PER_SECOND: Final = 3.0e8
REFRACTION: Final = 1.5
"""The appliance report reckons light in a cable with this index."""
HA_SECONDS_MAX: Final = 0.010
"""The longest round trip between two copies that the appliance report advises."""
LOG_FILE_BYTES: Final = 64 << 20
"""The log file of 16,384 pages that the reports use."""
RECORD_BYTES: Final = 512
"""A log record beside the body of its message, where no persistent run shows it."""
SLOT_BYTES: Final = 512
"""A queued message beside its body."""
_MORE_CLIENTS_LEAST: Final = 100
"""Growth of memory with fewer connections more than this shows the allocator, not the connections."""
_LONGER_MOST: Final = 4
"""Rates and processor times of messages that are longer than this many times the longest measured one are unknown."""
_MEGABYTE: Final = 1e6


@dataclass(frozen=True)
class Demand:
    """A planned load."""

    rate_per_second: float
    message_bytes: int
    is_persistent: bool = False
    clients: int = 0
    """Connected applications; 0: not known."""
    depth: int = 0
    """Messages that must wait when nobody gets them."""
    log_seconds: float = 60.0
    """The log holds this much of the load: the longest unit of work, or the time between two checkpoints."""
    channels: bool = False
    """Messages go to another queue manager."""
    distance_km: float = 0.0
    busy_percent_max: float = 70.0
    """The share of processors and of a queue manager's peak that the load may take."""


@dataclass(frozen=True)
class Need:
    """The need for one resource. `value` is None without evidence; then `how` names the scenario that would give it."""

    resource: str
    value: float | None
    unit: str
    how: str
    source: str = ""
    is_extrapolated: bool = False

    def as_json(self) -> dict[str, object]:
        return {
            "resource": self.resource,
            "value": self.value,
            "unit": self.unit,
            "how": self.how,
            "source": self.source,
            "extrapolated": self.is_extrapolated,
        }


def size_load(demand: Demand, evidence: Evidence) -> list[Need]:
    """Return the needs of a load."""
    found = [_queue_managers(demand, evidence), _processors(demand, evidence), _memory(demand, evidence)]
    found += _log(demand, evidence)
    if demand.depth:
        found.append(_queue_storage(demand))
    found.append(_bandwidth(demand, evidence))
    if demand.channels:
        found.append(_channels(demand, evidence))
    if demand.distance_km:
        found.append(_distance(demand))
    return found


def link_seconds(distance_km: float) -> float:
    """Return the least time of one way through a cable: 500 microseconds for 100 km, as the appliance report has it."""
    return distance_km * 1000 / LIGHT_METRES_PER_SECOND * REFRACTION


# -- one need each -----------------------------------------------------------------------------------------------------


def _queue_managers(demand: Demand, evidence: Evidence) -> Need:
    known = [each for each in evidence.round_trips(demand.is_persistent) if each.managers == 1]
    steps = _same_length(known, demand.message_bytes)
    if not steps or _is_far_beyond(steps, demand):
        return _unknown("queue managers", "", demand, steps)
    peak = max(steps, key=lambda each: each.rate_per_second)
    usable = peak.rate_per_second * demand.busy_percent_max / 100
    how = (
        f"{demand.rate_per_second:,.0f} a second, where one made {peak.rate_per_second:,.0f} at its peak with "
        f"{peak.clients:,} clients and {demand.busy_percent_max:.0f} % of that may be used"
    )
    is_far = peak.message_bytes != demand.message_bytes
    return Need("queue managers", ceil(demand.rate_per_second / usable), "", how, _name(peak), is_far)


def _processors(demand: Demand, evidence: Evidence) -> Need:
    steps = evidence.round_trips(demand.is_persistent)
    found = _by_length(steps, demand, lambda each: each.broker_us_each)
    if found is None or _is_far_beyond(steps, demand):
        return _unknown("processors", "cores", demand, steps)
    cost, step, is_far = found
    cores = demand.rate_per_second * cost / 1e6 / (demand.busy_percent_max / 100)
    how = (
        f"{cost:,.1f} us of processor time for each {step.operation}, kept below {demand.busy_percent_max:.0f} % busy; "
        "applications come on top"
    )
    return Need("processors", cores, "cores", how, _name(step), is_far)


def _memory(demand: Demand, evidence: Evidence) -> Need:
    """Memory of connections and queued messages on top of that of an idle queue manager."""
    if not demand.clients:
        return Need("memory", None, "MB", "say how many clients there are: --clients")
    each, source, measured = _connection_bytes(evidence)
    if each is None:
        how = "measure it: ostler lab run client-capacity-c6000 --quick, and name that run"
        return Need("memory", None, "MB", how)
    base = min((step.memory_bytes for step in evidence.steps if step.memory_bytes), default=0.0)
    total = base + demand.clients * each
    how = f"{base / _MEGABYTE:,.0f} MB, and {each / 1024:,.1f} KB for each of {demand.clients:,} connections"
    return Need("memory", total / _MEGABYTE, "MB", how, source, demand.clients > measured)


def _connection_bytes(evidence: Evidence) -> tuple[float | None, str, int]:
    """Return the memory of a connection, its source, and the most connections it was seen with."""
    if evidence.connections:
        most = max(evidence.connections, key=lambda each: each.clients)
        return most.bytes_each, most.run, most.clients
    for run in dict.fromkeys(step.run for step in evidence.steps):
        steps = [each for each in evidence.steps if each.run == run and each.memory_bytes is not None]
        steps = [each for each in steps if each.message_bytes == min(one.message_bytes for one in steps)]
        few, many = min(steps, key=_clients, default=None), max(steps, key=_clients, default=None)
        if few is None or many is None or many.clients - few.clients < _MORE_CLIENTS_LEAST:
            continue
        assert many.memory_bytes is not None
        assert few.memory_bytes is not None
        return max(many.memory_bytes - few.memory_bytes, 0.0) / (many.clients - few.clients), run, many.clients
    return None, "", 0


def _log(demand: Demand, evidence: Evidence) -> list[Need]:
    """Bandwidth of the log's disk, and the size of the log."""
    if not demand.is_persistent:
        return []
    found = _by_length(evidence.round_trips(True), demand, lambda each: each.log_bytes_each, is_bytes=True)
    if found is not None:
        each, step, is_far = found
        how, source = f"{each:,.0f} bytes are written for each {step.operation}", _name(step)
    else:
        # V9.1 report, 6.2: without a persistent run, the rate and the length of messages give the bandwidth.
        each, is_far, source = 2.0 * (demand.message_bytes + RECORD_BYTES), True, ""
        how = f"two records of {demand.message_bytes:,} and {RECORD_BYTES} bytes for each; no persistent run was named"
    per_second = each * demand.rate_per_second
    whole = per_second * demand.log_seconds
    files = max(ceil(whole / LOG_FILE_BYTES), 3)
    size = f"{files} primary files of 16,384 pages hold {demand.log_seconds:g} s of that: crtmqm -lp {files} -lf 16384"
    return [
        Need("log bandwidth", per_second / _MEGABYTE, "MB/s", how, source, is_far),
        Need("log size", files * LOG_FILE_BYTES / _MEGABYTE, "MB", size, source, is_far),
    ]


def _queue_storage(demand: Demand) -> Need:
    total = demand.depth * (demand.message_bytes + SLOT_BYTES)
    how = f"{demand.depth:,} messages of {demand.message_bytes:,} bytes, and {SLOT_BYTES} for each"
    return Need("queue storage", total / _MEGABYTE, "MB", how, "", True)


def _bandwidth(demand: Demand, evidence: Evidence) -> Need:
    # Applications of other steps were bound locally.
    kinds = (demand.is_persistent, not demand.is_persistent)
    with_clients = [
        [each for each in evidence.round_trips(kind) if (each.network_bytes_each or 0.0) > each.message_bytes]
        for kind in kinds
    ]
    steps = with_clients[0] or with_clients[1]
    found = _by_length(steps, demand, lambda each: each.network_bytes_each, is_bytes=True)
    if found is None:
        each = 4.0 * demand.message_bytes
        how = (
            f"request and reply of {demand.message_bytes:,} bytes, from and to both applications; no run with clients "
            "was named"
        )
        return Need("network", each * demand.rate_per_second * 8 / 1e9, "Gbit/s", how, "", True)
    each, step, is_far = found
    how = f"{each:,.0f} bytes for each {step.operation}, both ways, of those applications of that run that were clients"
    return Need("network", each * demand.rate_per_second * 8 / 1e9, "Gbit/s", how, _name(step), is_far)


def _channels(demand: Demand, evidence: Evidence) -> Need:
    steps = _same_length(evidence.between_two(demand.is_persistent), demand.message_bytes)
    if not steps:
        return Need("channels", None, "each way", "measure it: ostler lab run dq-channels --quick, and name that run")
    best = max(steps, key=lambda each: each.rate_per_second / each.channels)
    each = best.rate_per_second / best.channels * demand.busy_percent_max / 100
    peak = max(step.rate_per_second for step in steps)
    which = "the only one" if best.channels == 1 else f"one of {best.channels}"
    how = (
        f"{best.rate_per_second / best.channels:,.0f} a second on {which} each way; the most that two queue managers "
        f"made was {peak:,.0f} a second"
    )
    return Need("channels", ceil(demand.rate_per_second / each), "each way", how, _name(best), False)


def _distance(demand: Demand) -> Need:
    there = link_seconds(demand.distance_km)
    how = (
        f"at least {there * 1e6:,.0f} us each way through {demand.distance_km:,.0f} km of cable; a request and its "
        "reply take it twice, a copy that is waited for four times and more"
    )
    if 2 * there > HA_SECONDS_MAX:
        how += f"; copies should not be more than {HA_SECONDS_MAX * 1000:.0f} ms apart"
    return Need("round trip of the link", 2 * there * 1000, "ms", how)


# -- reading evidence --------------------------------------------------------------------------------------------------

Figure = Callable[[StepEvidence], float | None]


def _clients(step: StepEvidence) -> int:
    return step.clients


def _name(step: StepEvidence) -> str:
    return f"{step.run}, {step.contestant}, step {step.step}"


def _same_length(steps: Sequence[StepEvidence], message_bytes: int) -> list[StepEvidence]:
    """Return the steps with this length of messages, or with the next longer one, or with the longest."""
    lengths = sorted({each.message_bytes for each in steps})
    wanted = next((length for length in lengths if length >= message_bytes), lengths[-1] if lengths else 0)
    return [each for each in steps if each.message_bytes == wanted]


def _by_length(
    steps: Sequence[StepEvidence], demand: Demand, figure: Figure, is_bytes: bool = False
) -> tuple[float, StepEvidence, bool] | None:
    """Return a figure at the demanded length, the nearest step, and True if it is extrapolated.

    Between two measured lengths it is interpolated; beyond them it grows by the last slope. With one measured length,
    bytes grow by the length as often as it is in them, and processor time not at all. Of the steps with one length the
    one whose number of clients is nearest to the demand counts, or without a demand the quickest.
    """
    known = [each for each in steps if figure(each) is not None]
    if not known:
        return None
    chosen: dict[int, StepEvidence] = {}
    for length in sorted({each.message_bytes for each in known}):
        same = [each for each in known if each.message_bytes == length]
        if demand.clients:
            chosen[length] = min(same, key=lambda each: (abs(each.clients - demand.clients), -each.rate_per_second))
        else:
            chosen[length] = max(same, key=lambda each: each.rate_per_second)
    lengths = list(chosen)
    nearest = min(lengths, key=lambda length: abs(length - demand.message_bytes))
    if len(lengths) == 1 or nearest == demand.message_bytes:
        value = figure(chosen[nearest])
        assert value is not None
        if is_bytes and nearest:
            value += value // nearest * (demand.message_bytes - nearest)
        return value, chosen[nearest], nearest != demand.message_bytes
    above = next((at for at, length in enumerate(lengths) if length >= demand.message_bytes), len(lengths) - 1)
    low, high = lengths[max(above, 1) - 1], lengths[max(above, 1)]
    first, second = figure(chosen[low]), figure(chosen[high])
    assert first is not None
    assert second is not None
    value = first + (second - first) * (demand.message_bytes - low) / (high - low)
    is_within = lengths[0] <= demand.message_bytes <= lengths[-1]
    return max(value, 0.0), chosen[nearest], not is_within


def _is_far_beyond(steps: Sequence[StepEvidence], demand: Demand) -> bool:
    """Return True for messages so much longer than all measured ones that their rate cannot be told."""
    return demand.message_bytes > _LONGER_MOST * max(each.message_bytes for each in steps)


def _unknown(resource: str, unit: str, demand: Demand, steps: Sequence[StepEvidence]) -> Need:
    kind = "pm" if demand.is_persistent else "np"
    if not steps:
        return Need(resource, None, unit, f"measure it: ostler lab run client-rr-{kind} --quick, and name that run")
    longest = max(each.message_bytes for each in steps)
    run = f"ostler lab run client-large-{kind} --quick --set message_bytes={demand.message_bytes}"
    return Need(resource, None, unit, f"no message of more than {longest:,} bytes was measured: {run}")
