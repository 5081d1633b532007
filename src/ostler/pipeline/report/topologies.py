"""The topology of a scenario as a drawing, from its roles, bindings, counts and queue managers.

Everything runs on one machine here, whatever the report had; the frame of each drawing says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from ostler.pipeline.report import numbers
from ostler.pipeline.report.charts.topology import Box, BoxKind, Link, TopologyDrawing
from ostler.pipeline.report.workload import listed, role_count, texts

_FRAME: Final = "one machine: applications, queue managers and the disk of the log share it"
# Roles that send, roles that answer or receive, and roles that only connect or command.
_SENDERS: Final = ("requesters", "producers", "publishers", "putters", "clients", "connections", "application",
                   "administrator", "channels", "channel", "neighbour")  # fmt: skip
_RECEIVERS: Final = ("responders", "servers", "consumers", "subscribers", "getters")
_ONE_WAY: Final = ("producers", "publishers", "putters")
_PUBLISHERS: Final = "publishers"
_APPLICATION: Final = "application"
_BINDINGS: Final = {"local": "local binding", "client": "client channels", "trusted": "trusted, in process"}
_SHARED_QUEUE: Final = "shared-queue"
_PUBLISH_SUBSCRIBE: Final = ("publish-subscribe", "publish-subscribe-cluster")
_JOINED: Final = {
    "distributed": "message channels",
    "cluster": "cluster channels",
    "publish-subscribe-cluster": "cluster channels",
}
_COPIES: Final = {
    "high-availability": ("standby", "copied synchronously"),
    "disaster-recovery": ("recovery site", "copied asynchronously"),
}
_BRIDGE: Final = "bridge"
_CLIENT: Final = "client"
_CIPHER: Final = "cipher_spec"
_TLS: Final = "TLS"
_PUTS_OR_GETS: Final = re.compile(r"\b(put|get|verb|messages?)\b")


Measured = Mapping[str, Sequence[object]]
"""The points of a run by the name of a sweep."""


def topology_of(workload: Mapping[str, Any], measured: Measured | None = None) -> TopologyDrawing | None:
    """Return the drawing of a scenario, with the counts that a run measured; None where it has neither applications nor
    queue managers."""
    kinds = texts(workload, "topology")
    roles = listed(workload, "roles")
    managers = [each for each in workload.get("queue_managers") or [] if isinstance(each, int)]
    if not roles and not managers:
        return None
    senders = [each for each in roles if each.get("name") not in _RECEIVERS]
    receivers = [each for each in roles if each.get("name") in _RECEIVERS]
    sender = senders[0] if senders else None
    if not receivers:
        # An application that is started by what others send.
        receivers = [each for each in senders[1:] if each.get("name") == _APPLICATION]
    receiver = receivers[0] if receivers else None
    chain = _managers(workload, kinds, max(managers, default=1), sender)
    boxes: list[Box] = [_application(workload, sender, measured or {})] if sender else []
    boxes += chain
    boxes += [_application(workload, receiver, measured or {})] if receiver else []
    if _BRIDGE in kinds:
        boxes.append(Box(BoxKind.STORE, "IMS", ("behind the bridge",)))
    links = tuple(_links(workload, kinds, boxes, sender, receiver))
    return TopologyDrawing("Topology", tuple(boxes), links, _FRAME, _below(kinds))


def _application(workload: Mapping[str, Any], role: Mapping[str, Any], measured: Measured) -> Box:
    name = str(role.get("name", "applications"))
    count = role_count(role) or _swept_count(workload, name, measured)
    if count == "1":
        return Box(BoxKind.APPLICATION, name.capitalize().removesuffix("s"))
    return Box(BoxKind.APPLICATION, name.capitalize(), (count,) if count else (), is_many=True)


def _swept_count(workload: Mapping[str, Any], name: str, measured: Measured) -> str:
    for sweep in listed(workload, "sweeps"):
        if sweep.get("name") == name:
            known = measured.get(name) or sweep.get("values") or []
            values = [each for each in known if isinstance(each, int)]
            return f"{min(values):,} to {max(values):,}" if len(set(values)) > 1 else "".join(map(str, values[:1]))
    return ""


def _managers(
    workload: Mapping[str, Any], kinds: Sequence[str], managers: int, sender: Mapping[str, Any] | None
) -> list[Box]:
    """Return the queue managers: one, two with channels between them, or one for many alike."""
    near, far = _queues(workload, kinds, sender)
    if any(kind in _JOINED for kind in kinds) and managers > 1:
        others = managers - 1
        title = "Queue manager 2" if others == 1 else f"{others} more queue managers"
        return [
            Box(BoxKind.MANAGER, "Queue manager 1", (), near),
            Box(BoxKind.MANAGER, title, (), far, is_many=others > 1),
        ]
    title = "Queue manager" if managers == 1 else f"{managers:,} queue managers"
    inside = tuple(dict.fromkeys((*far, *near))) if _has_one(kinds) else near
    return [Box(BoxKind.MANAGER, title, (), inside, is_many=managers > 1)]


def _has_one(kinds: Sequence[str]) -> bool:
    return not any(kind in _JOINED for kind in kinds)


def _queues(
    workload: Mapping[str, Any], kinds: Sequence[str], sender: Mapping[str, Any] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the queues of the near and of the far queue manager; of one, near and far together."""
    role = str(sender.get("name", "")) if sender else ""
    if role == _PUBLISHERS or any(kind in _PUBLISH_SUBSCRIBE for kind in kinds):
        return ("topic", "subscribers' queues"), ("topic", "subscribers' queues")
    pairs = _number(workload, "queue_pairs")
    many = f" {numbers.TIMES} {pairs:,}" if pairs > 1 else ""
    if not listed(workload, "roles"):
        return (), ()
    if role in _ONE_WAY:
        queue = f"queue{many}"
        return (queue,) if _has_one(kinds) else ("transmission queue",), () if _has_one(kinds) else (queue,)
    if role in ("requesters", "clients") and _has_receivers(workload):
        request, reply = f"requests{many}", f"replies{many}"
        if _has_one(kinds):
            return (reply,), (request,)
        return ("transmission queue", reply), (request, "transmission queue")
    does = str(sender.get("does", "")) if sender else ""
    return (("queue",), ()) if _PUTS_OR_GETS.search(does) else ((), ())


def _has_receivers(workload: Mapping[str, Any]) -> bool:
    return any(each.get("name") in (*_RECEIVERS, _APPLICATION) for each in listed(workload, "roles"))


def _number(workload: Mapping[str, Any], name: str) -> int:
    parameters = workload.get("parameters")
    value = parameters.get(name) if isinstance(parameters, dict) else None
    return value if isinstance(value, int) else 0


def _below(kinds: Sequence[str]) -> Box | None:
    if _SHARED_QUEUE in kinds:
        return Box(BoxKind.STORE, "Coupling facility", ("shared queues",))
    copies = [_COPIES[kind] for kind in kinds if kind in _COPIES]
    if not copies:
        return None
    return Box(
        BoxKind.STORE, " and ".join(title for title, _ in copies).capitalize(), tuple(text for _, text in copies)
    )


def _links(
    workload: Mapping[str, Any],
    kinds: Sequence[str],
    boxes: Sequence[Box],
    sender: Mapping[str, Any] | None,
    receiver: Mapping[str, Any] | None,
) -> list[Link]:
    is_one_way = sender is not None and sender.get("name") in _ONE_WAY
    found: list[Link] = []
    for left, right in pairwise(boxes):
        if left.kind is BoxKind.APPLICATION:
            found.append(Link(_binding(workload, sender), True, not is_one_way))
        elif right.kind is BoxKind.APPLICATION:
            found.append(Link(_binding(workload, receiver), True, not is_one_way))
        elif right.kind is BoxKind.STORE:
            found.append(Link("bridge", True, True))
        else:
            found.append(Link(_channels(workload, kinds), True, not is_one_way))
    return found


def _binding(workload: Mapping[str, Any], role: Mapping[str, Any] | None) -> str:
    binding = str(role.get("binding") or "") if role else ""
    name = _BINDINGS.get(binding, "")
    return f"{name}, {_TLS}" if binding == _CLIENT and _has_tls(workload) else name


def _has_tls(workload: Mapping[str, Any]) -> bool:
    parameters = workload.get("parameters")
    return any(each.get("name") == _CIPHER for each in listed(workload, "sweeps")) or (
        isinstance(parameters, dict) and _CIPHER in parameters
    )


def _channels(workload: Mapping[str, Any], kinds: Sequence[str]) -> str:
    name = next((_JOINED[kind] for kind in kinds if kind in _JOINED), "channels")
    pairs = _number(workload, "channel_pairs")
    parts = (name, f"{pairs:,} each way" if pairs else "", _TLS if _has_tls(workload) else "")
    return ", ".join(part for part in parts if part)
