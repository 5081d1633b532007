"""The rules for ratios of published figures, and for the same ratios of ours.

The reports' machines were others, so their figures are not comparable with ours; ratios on the same machine, such as
persistent to non-persistent or 20 KB to 2 KB, are. The rules are data: reports and runs are searched by them in the
same way. Scenarios have the same names in both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ostler.lab.store.courses import RATE_AFTER_GROWTH, RATE_BEFORE_GROWTH, RATE_IN_GROWTH, RATES_OF_OFFLOAD
from ostler.pipeline.steps.contestants import ONE_QUEUE_MANAGER

SMALL_BYTES: Final = 2048
"""The size that others are compared with: every report has it."""
MODEL: Final = "model"


@dataclass(frozen=True)
class Side:
    """Figures of one scenario. Ours may be a step of another one: `our_scenario`, when it is not empty. Of ours all
    contestants but one queue manager in the place of two count, or only `our_contestant`.

    A `variant` of the published figure and a `parameter` of our step may distinguish figures of a scenario: they must
    have the value, or, with `is_other`, any but this. Empty ones are ignored.
    """

    scenario: str
    our_scenario: str = ""
    message_bytes: int | None = None
    variant: str = ""
    published_value: str = ""
    parameter: str = ""
    our_value: str = ""
    is_other: bool = False
    our_contestant: str = ""


@dataclass(frozen=True)
class RatioRule:
    """The peak of the right side to that of the left one, with messages of the same size unless `is_size`.

    Both are from one product, release and platform. Clusters are other platforms by nature: with `is_by_section` both
    are from one section. Models of a product are other products and platforms: with `is_model` they are told apart by
    the variant `model`. With `is_api` the sides may have programs in other languages. With `is_memory` the rule is for
    memory alone, with `is_backup` for megabytes backed up: other metrics of such scenarios say nothing. `source` is the
    location in the report, if it prints no figures. `printed` is the ratio of rates where its text has one; else 0.
    """

    subject: str
    left: Side
    right: Side
    is_size: bool = False
    is_by_section: bool = False
    is_api: bool = False
    is_model: bool = False
    is_memory: bool = False
    is_backup: bool = False
    source: str = ""
    printed: float = 0.0


def _persistence() -> list[RatioRule]:
    pairs = [
        *((f"{binding}-{kind}-np", f"{binding}-{kind}-pm") for binding in _BINDINGS for kind in ("rr", "large")),
        *(("rr-bb-np", "rr-bb-pm"), ("appl-c1", "appl-c2"), ("appl-c3", "appl-c4")),
        *(("client-rated-np", "client-rated-pm"), ("dq-rated-np", "dq-rated-pm")),
        *(("pubsub-1n-np", "pubsub-1n-pm"), ("pubsub-multi-np", "pubsub-multi-pm"), ("p2p-multi-np", "p2p-multi-pm")),
    ]
    return [
        *(RatioRule(_PERSISTENCE, Side(left), Side(right)) for left, right in pairs),
        *(
            RatioRule(_PERSISTENCE, _trusted_side(f"{binding}-trusted-np"), _trusted_side(f"{binding}-trusted-pm"))
            for binding in _BINDINGS
        ),
    ]


def _sizes() -> list[RatioRule]:
    pairs = [
        *((f"{binding}-rr-{kind}", f"{binding}-large-{kind}") for binding in _BINDINGS for kind in ("np", "pm")),
        *((each, each) for each in ("rr-cb-np", "rr-dq-bb-np", "rr-cc-jms-np", "rr-bb-np", "rr-bb-pm")),
        *((each, each) for each in ("appl-c1", "appl-c2", "appl-c3", "appl-c4")),
    ]
    return [
        RatioRule("size to size", Side(left, message_bytes=SMALL_BYTES), Side(right), is_size=True)
        for left, right in pairs
    ]


def _trusted() -> list[RatioRule]:
    """Reports compare with the scenario without; ours sweep both in one."""
    found = []
    for binding in _BINDINGS:
        for kind in ("np", "pm"):
            ours = f"{binding}-trusted-{kind}"
            left = Side(f"{binding}-rr-{kind}", ours, parameter="responder_binding", our_value="local")
            found.append(RatioRule("trusted to standard", left, _trusted_side(ours)))
    return found


def _trusted_side(scenario: str) -> Side:
    return Side(scenario, parameter="responder_binding", our_value="trusted")


def _tls() -> list[RatioRule]:
    plain = Side("rr-cc-tls-np", variant="cipher", published_value="none", parameter="cipher_spec", our_value="none")
    source = "WebSphere MQ for z/OS V7.1.0: channels with and without SSL are charts there, without printed figures"
    channels = ("zos-chl-1-4", "zos-chl-10-50")
    return [
        RatioRule(_TLS, plain, replace(plain, is_other=True)),
        *(RatioRule(_TLS, Side(each), Side(f"{each}-ssl"), source=source) for each in channels),
    ]


def _logging() -> list[RatioRule]:
    circular = Side("linear-vs-circular-logging", variant="log", parameter="log", our_value="circular")
    source = "IBM MQ V9.1 for Windows: linear against circular logging is a chart there, without printed figures"
    return [RatioRule("linear to circular", circular, replace(circular, is_other=True), source=source)]


def _queue_managers() -> list[RatioRule]:
    found = [
        RatioRule("ten queue managers to one", Side("appl-c1"), Side("appl-c3")),
        RatioRule("ten queue managers to one", Side("appl-c2"), Side("appl-c4")),
    ]
    clusters = (
        ("two", "2", "pubsub-1n-np", "pubsub-1n-cluster2-np"),
        ("two", "2", "pubsub-1n-pm", "pubsub-1n-cluster2-pm"),
        ("four", "4", "pubsub-1n-np", "pubsub-1n-cluster4-np"),
    )
    for words, number, single, cluster in clusters:
        left = Side(single, cluster, parameter="queue_managers", our_value="1")
        right = Side(cluster, parameter="queue_managers", our_value=number)
        found.append(RatioRule(f"{words} queue managers to one", left, right, is_by_section=True))
    return found


def _models() -> list[RatioRule]:
    """The smaller model of the appliance, which has a quarter of the cores."""
    found = []
    for name in ("appl-c1", "appl-c2", "appl-c3", "appl-c4"):
        large, small = (
            Side(name, variant=MODEL, published_value=model, parameter=MODEL, our_value=model) for model in ("A", "B")
        )
        found.append(RatioRule("model B to A", large, small, is_model=True))
    return found


def _replication() -> list[RatioRule]:
    kinds = (
        ("replicated at once to standalone", "ha", "synchronous"),
        ("replicated later to standalone", "dr", "asynchronous"),
        ("replicated both ways to standalone", "hadr", "both"),
    )
    found = []
    for subject, name, value in kinds:
        for number, single in ((1, "appl-c2"), (2, "appl-c4")):
            ours = f"appl-{name}{number}"
            left = Side(single, ours, parameter="replication", our_value="none")
            found.append(RatioRule(subject, left, Side(ours, parameter="replication", our_value=value)))
    return found


def _distances() -> list[RatioRule]:
    found = []
    for kind in ("np", "pm"):
        found.append(RatioRule("clients to local", Side(f"local-rr-{kind}"), Side(f"client-rr-{kind}")))
        found.append(_joined(f"local-rr-{kind}", f"dq-rr-{kind}"))
        found.append(_joined(f"local-large-{kind}", f"dq-large-{kind}"))
    found.append(RatioRule("clients to local", Side("rr-bb-np"), Side("rr-cb-np")))
    found.append(_joined("rr-bb-np", "rr-dq-bb-np"))
    for name in ("appl-ha2", "appl-dr2"):
        far = f"{name}-latency"
        left = Side(name, far, parameter="added_latency_ms", our_value="0")
        right = Side(far, variant="latency_ms", parameter="added_latency_ms", our_value="0", is_other=True)
        found.append(RatioRule("milliseconds of distance to none", left, right))
    return found


def _programs() -> list[RatioRule]:
    """Cores, languages, reply queues and patterns of applications."""
    mqi = Side("rr-cc-tls-np", variant="cipher", published_value="none", parameter="cipher_spec", our_value="none")
    # The fewest that the report prints of each.
    two, four = (
        Side(name, variant="cores", published_value=fewest, parameter="cores", our_value=fewest)
        for name, fewest in (("pubsub-multi-cores-np", "2"), ("pubsub-1n-cores-np", "4"))
    )
    unique = Side("client-capacity-cmax-unique-reply", parameter="reply_queues", our_value="own")
    return [
        RatioRule("cores to two", two, replace(two, is_other=True)),
        RatioRule("cores to four", four, replace(four, is_other=True)),
        RatioRule("JMS to MQI", mqi, Side("rr-cc-jms-np"), is_api=True),
        RatioRule("publish/subscribe to point-to-point", Side("p2p-multi-np"), Side("pubsub-multi-np")),
        RatioRule("publish/subscribe to point-to-point", Side("p2p-multi-pm"), Side("pubsub-multi-pm")),
        RatioRule("own reply queues to a common one", Side("client-capacity-cmax"), unique),
    ]


def _footprints() -> list[RatioRule]:
    """Memory of channels: by shared conversations, and by the size of messages."""
    shared = Side(
        "zos-svrconn-footprint",
        variant="sharecnv",
        published_value="1",
        parameter="shared_conversations",
        our_value="1",
    )
    small = 1024
    return [
        RatioRule("SHARECNV to SHARECNV(1)", shared, replace(shared, is_other=True), is_memory=True),
        RatioRule("size to size", replace(shared, message_bytes=small), shared, is_size=True, is_memory=True),
        RatioRule(
            "size to size",
            Side("zos-channel-footprint", message_bytes=small),
            Side("zos-channel-footprint"),
            is_size=True,
            is_memory=True,
        ),
    ]


def _sharing() -> list[RatioRule]:
    """Shared queues: levels of structures, and places of large messages. Ratios of rates are in the report's text."""
    level = "level"
    found = []
    alike, large = (1024, 4096, 16384, 32768, 64512), (65536, 102400, 1048576, 4194304)
    for size in (*alike, *large):
        left, right = (
            Side("smds-cf4-vs-cf5-rate", message_bytes=size, parameter=level, our_value=value)
            for value in ("CFLEVEL(4)", "CFLEVEL(5)")
        )
        source = f"{_ZOS}: CFLEVEL(5), performance of large messages, Chart 3; {_IN_TEXT}"
        found.append(RatioRule(_LEVELS, left, right, source=source, printed=3.0 if size in large else 1.0))
    ring = Side("sq-3qm-ds-pm-in", message_bytes=4194304, parameter=level, our_value="CFLEVEL(4)")
    source = f"{_ZOS}: three queue managers, persistent messages of 4 MB; {_IN_TEXT}"
    found.append(
        RatioRule(_LEVELS, ring, replace(ring, our_value="CFLEVEL(5), all offloaded"), source=source, printed=2.0)
    )
    for size in (32768, 64512):
        left, right = (
            Side("smds-offload-all-remote-cf", message_bytes=size, parameter="offload", our_value=value)
            for value in ("none", "all")
        )
        source = f"{_ZOS}: is there benefit in offloading all messages, from 32 KB on; {_IN_TEXT}"
        found.append(RatioRule("all offloaded to none", left, right, source=source, printed=1.0))
    few, many = (Side("smds-dsbufs", parameter="buffers", our_value=value) for value in ("4", "32"))
    source = f"{_ZOS}: DSBUFS, from 1,500 to 4,100 a second; {_IN_TEXT}"
    found.append(RatioRule("32 buffers to 4", few, many, source=source, printed=4100 / 1500))
    small, *others = (
        Side("smds-dsblock", variant="DSBLOCK", published_value=name, parameter="block_bytes", our_value=value)
        for name, value in (("8K", "8192"), ("16K", "16384"), ("128K", "131072"))
    )
    found += [RatioRule(f"DSBLOCK({each.published_value}) to DSBLOCK(8K)", small, each) for each in others]
    backup = Side("smds-backup", message_bytes=1024)
    return [*found, RatioRule("size to size", backup, Side("smds-backup"), is_size=True, is_backup=True)]


def _joined(local: str, distributed: str) -> RatioRule:
    """Reports have a scenario of its own for one queue manager; ours puts the same load on one in the same run."""
    left = Side(local, distributed, our_contestant=ONE_QUEUE_MANAGER)
    return RatioRule("two queue managers to local", left, Side(distributed, our_contestant=_OSTLER))


_OSTLER: Final = "Ostler"
_LEVELS: Final = "CFLEVEL(5) to CFLEVEL(4)"
_ZOS: Final = "WebSphere MQ for z/OS V7.1.0"
_IN_TEXT: Final = "the ratio is in the text, without printed figures"
_TLS: Final = "TLS to plain"
_BINDINGS: Final = ("local", "client", "dq")
_PERSISTENCE: Final = "persistent to nonpersistent"

RATIO_RULES: Final = (
    *_persistence(),
    *_sizes(),
    *_tls(),
    *_logging(),
    *_trusted(),
    *_queue_managers(),
    *_models(),
    *_replication(),
    *_distances(),
    *_programs(),
    *_footprints(),
    *_sharing(),
)


@dataclass(frozen=True)
class PhaseRule:
    """The rate of the right phase to that of the left one. `printed` is the ratio in a report, where it has one."""

    subject: str
    left: str
    right: str
    printed: float | None = None
    source: str | None = None


PHASE_RULES: Final = (
    PhaseRule(
        "puts while a data set grows to those before",
        RATE_BEFORE_GROWTH,
        RATE_IN_GROWTH,
        780 / 1980,
        "WebSphere MQ for z/OS V7.1.0: Should I allow SMDS to expand, 1,980 and 780 messages a second in the text",
    ),
    PhaseRule("puts after a data set has grown to those before", RATE_BEFORE_GROWTH, RATE_AFTER_GROWTH),
    PhaseRule("OFFLOAD(DB2) to OFFLOAD(SMDS), changed under load", *RATES_OF_OFFLOAD[:2]),
    PhaseRule("OFFLOAD(SMDS) again to before", RATES_OF_OFFLOAD[0], RATES_OF_OFFLOAD[2]),
)
