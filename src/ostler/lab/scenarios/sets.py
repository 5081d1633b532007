"""Named sets of scenarios, for `ostler lab run @NAME`: what is measured together again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

SIGN: Final = "@"
"""The first character of the name of a set, where names of scenarios are expected."""

Points = Mapping[str, tuple[str, ...]]
"""Points of sweeps by name, as they are typed after --set."""
_AS_USUAL: Final[Points] = MappingProxyType({})


@dataclass(frozen=True)
class Windows:
    """The quick form with windows of another length: the shortest with which a ratio is sound. Limits of the machine
    are probed where they are asked for."""

    warm_up_seconds: float
    measured_seconds: float
    repetitions: int
    limits: bool = True


@dataclass(frozen=True)
class Member:
    """A scenario, with the points and windows it has in a set; without them it is run as it is by itself."""

    scenario: str
    points: Points = field(default_factory=lambda: _AS_USUAL)
    windows: Windows | None = None


@dataclass(frozen=True)
class ScenarioSet:
    name: str
    title: str
    members: tuple[Member, ...]

    @property
    def scenarios(self) -> tuple[str, ...]:
        return tuple(each.scenario for each in self.members)


def _plain(*names: str) -> tuple[Member, ...]:
    return tuple(Member(name) for name in names)


_MICRO: Final = _plain(
    "micro-put-get",
    "micro-verbs",
    "micro-queue-depth",
    "micro-group-commit",
    "micro-restart",
    "micro-mqsc-define",
    "micro-mqsc-display",
    "micro-topic-matching",
    "micro-driver-overhead",
)
_WHOLE: Final = _plain(
    "client-rr-np",
    "client-rr-pm",
    "mqi-response-time",
    "appl-connection-scaling",
    "chlauth-connect-cost",
    "chlauth-restart",
)
# Three repetitions are the fewest with an interval. Scenarios with events have the window that these need.
_SHORT: Final = Windows(1.0, 3.0, 3)
_WITHOUT_LIMITS: Final = replace(_SHORT, limits=False)
_REPOSITORIES: Final = ("SQLite", "PostgreSQL")
_SIZES: Final = ("256", "2048", "20480", "204800")
_ONE_AND_MANY: Final = ("1", "50")


def _copied(name: str, sizes: tuple[str, ...], windows: Windows = _SHORT) -> Member:
    """Return a scenario with and without copies: one requester for the response time, many for the rate."""
    return Member(name, {"requesters": _ONE_AND_MANY, "message_bytes": sizes}, windows)


_REPLICATION: Final = (
    _copied("appl-ha1", _SIZES),
    _copied("appl-ha2", _SIZES),
    Member(
        "appl-ha2-latency",
        {"requesters": ("1",), "message_bytes": ("2048",), "added_latency_ms": ("0", "1", "2", "5", "10")},
        _SHORT,
    ),
    # Nobody waits for a copy there.
    _copied("appl-dr1", _SIZES, _WITHOUT_LIMITS),
    _copied("appl-dr2", ("2048",), _WITHOUT_LIMITS),
    Member("ha-three-copies", {"requesters": ("1", "10", "50")}, _SHORT),
    Member("ha-three-copies-one-way", {"requesters": ("1", "10", "50")}, _SHORT),
    Member("ha-failover", {"clients": ("4",), "instances": ("3",), "arbiter": ("etcd",)}, _SHORT),
    Member("dr-switch", {"clients": ("4",), "added_latency_ms": ("0",)}, _SHORT),
)
_BRIEF: Final = Windows(0.5, 2.0, 3, limits=False)
_TWICE: Final = Windows(0.5, 2.0, 2, limits=False)
_ONCE: Final = Windows(0.5, 3.0, 1, limits=False)
_SHARING: Final = (
    Member(
        "sq-shared-private",
        {
            "requesters": ("10",),
            "message_bytes": ("64", "2048", "65536", "1048576"),
            "persistence": ("nonpersistent", "persistent"),
        },
        _BRIEF,
    ),
    Member("sq-members", {"queue_managers": ("1", "2", "3"), "layout": ("common",)}, _BRIEF),
    Member("sq-facility-engines", {"queue_managers": ("1",), "message_bytes": ("2048",)}, _BRIEF),
    Member("smds-cf4-vs-cf5-rate", {"message_bytes": ("65536", "1048576"), "repository": _REPOSITORIES}, _BRIEF),
    Member("smds-dsbufs", {"buffers": ("4", "8", "16", "32")}, _BRIEF),
    Member("smds-dsblock", {"block_bytes": ("8192", "16384", "131072")}, _BRIEF),
    Member("smds-expansion", {"megabytes": ("1024",)}, _TWICE),
    Member("smds-backup", {"message_bytes": ("1024", "5120", "32768")}, _TWICE),
    Member("smds-space-map-rebuild", {"structures": ("1",), "messages": ("50000",)}, _TWICE),
    Member("sq-wake-up", {}, _ONCE),
    Member("sq-take-over", {"clients": ("3",), "event": ("killed",), "queue_managers": ("3",)}, _ONCE),
)
_ALL: Final = (
    ScenarioSet("micro", "parts of the queue manager by themselves", _MICRO),
    ScenarioSet("bench", "this installation: its parts, and what clients do with it", _MICRO + _WHOLE),
    ScenarioSet("spark", "queues in Spark and the steps of the pipeline", _plain("spark-queues", "spark-steps")),
    ScenarioSet("replication", "copies of queue managers: ratios, distances, failovers, peers", _REPLICATION),
    ScenarioSet("sharing", "queue-sharing groups: ratios, members, losses, data sets", _SHARING),
)
SETS: Final[dict[str, ScenarioSet]] = {each.name: each for each in _ALL}


class UnknownSet(Exception):
    """No set has that name."""


def expand(names: Sequence[str]) -> list[Member]:
    """Return scenarios, with each set replaced by its members; each scenario once, as it stands first. Raises
    UnknownSet."""
    found: dict[str, Member] = {}
    for name in names:
        if not name.startswith(SIGN):
            found.setdefault(name, Member(name))
            continue
        known = SETS.get(name.removeprefix(SIGN))
        if known is None:
            raise UnknownSet(f"there is no set {name!r}. There are: {', '.join(SIGN + each for each in SETS)}.")
        for member in known.members:
            found.setdefault(member.scenario, member)
    return list(found.values())
