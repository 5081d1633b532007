"""Publications matched against very many subscriptions with wildcards, in the process, beside a bare look-up.

Two queue managers take turns: one has ten subscriptions with wildcards, the other as many as can be. Publications go to
ever other topics, or what was found for the one before would be found again. Few subscriptions match, or none.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import count, cycle
from pathlib import Path

from ostler.client.mqi.objects import MQCLOSE, MQPUT1
from ostler.client.mqi.topics import MQSUB
from ostler.lab.bench.result import Aim, Result
from ostler.lab.common.embedded import QUEUE, EmbeddedApplication, descriptor, fresh, put_options
from ostler.lab.common.own_process import MeasurementFailed, Report, part_of
from ostler.lab.common.samples import Measurement, ratio
from ostler.lab.runner.queue_managers.child import run_commands
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.consuming import MQSD
from ostler.model.structures.od import MQOD
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager

TITLE = "Publications matched against many subscriptions with wildcards"
BARE = "bare look-up in a dictionary"
TIME = "time"
MATCHING = "matching alone"
NONE = "MQPUT1 that nobody wants"
SOME = "MQPUT1 that four get"
SUBSCRIBING = "MQSUB and MQCLOSE"
NEW_RATIO_MAX = 1.3
MATCHES = 4
_FEW = 10
_TOPICS = 1000
# What takes a few microseconds is done so many times as often, or a thread that comes in between is what was measured.
_OFTENER = 20
# Names of levels, of characters, and of both kinds of places where wildcards may stand.
_LEVELS = ("stock/{}/+", "stock/+/{}/price", "stock/{}/#", "+/{}/#")
_CHARACTERS = ("stock/{}/pri?e",)
_MATCHING = (("hit/+", False), ("hit/#", False), ("hit/+/#", False), ("hit/*", True))

Contestant = Callable[[int], int]
"""Does it so often; the nanoseconds it took."""


@dataclass(frozen=True)
class Parameters:
    subscriptions: int = 100_000
    rounds: int = 51
    per_round: int = 500


FULL = Parameters()
QUICK = Parameters(10_000, 15, 200)


def run(parameters: Parameters, scratch: Path, report: Report) -> Result:
    result = Result("topic-matching", TITLE, asdict(parameters))
    sizes = (_FEW, parameters.subscriptions)
    with ExitStack() as stack:
        contestants: dict[tuple[str, int], Contestant] = {(BARE, 0): _bare(parameters.subscriptions)}
        for number, size in enumerate(sizes):
            manager = stack.enter_context(fresh(scratch / str(size), LogSection(file_pages=64)))
            made = _Subscribed(manager, size, part_of(report, number * 0.3, 0.3 + number * 0.3))
            stack.callback(made.application.close)
            contestants |= {(name, size): each for name, each in made.contestants().items()}
        taken = _alternate(contestants, parameters, part_of(report, 0.6, 1.0))
    for (name, size), samples in taken.items():
        where = result.limits if name == BARE else result.measurements
        where.append(Measurement(TIME, "ns", tuple(samples), {"what": name, "subscriptions": size}))
    _compare(result, sizes)
    return result


def patterns() -> Iterator[tuple[str, bool]]:
    """Topics with wildcards without end, all different, and whether the wildcards are for characters."""
    for number in count():
        for each in _LEVELS:
            yield each.format(number), False
        for each in _CHARACTERS:
            yield each.format(number), True


class _Subscribed:
    """A queue manager with so many subscriptions, all with one queue as their destination."""

    def __init__(self, manager: QueueManager, size: int, report: Report) -> None:
        run_commands(manager, ["ALTER QMGR MAXHANDS(999999999)"])
        self.manager = manager
        self.application = EmbeddedApplication(manager)
        self._queue = self.application.open(QUEUE, mq.MQOO_INPUT_SHARED)
        self._patterns = patterns()
        for topic, is_character in _MATCHING:
            self._subscribe(topic, is_character)
        for done in range(size - len(_MATCHING)):
            self._subscribe(*next(self._patterns))
            if done % _TOPICS == 0:
                report(done / size, f"{done:,} of {size:,} subscriptions")
        if manager.engine.topics.wildcard_count != size:
            raise MeasurementFailed(f"there are {manager.engine.topics.wildcard_count} subscriptions, and not {size}")

    def _subscribe(self, topic: str, is_character: bool) -> int:
        _, hsub, code, reason = MQSUB(self.application.hconn, _sd(topic, is_character), self._queue)
        if code == mq.MQCC_FAILED:
            raise MQError(reason)
        return hsub

    def contestants(self) -> dict[str, Contestant]:
        return {
            MATCHING: self._matching(),
            NONE: self._publish([f"stock/none{number}/left/over" for number in range(_TOPICS)], 0),
            SOME: self._publish([f"hit/other{number}" for number in range(_TOPICS)], MATCHES),
            SUBSCRIBING: self._subscribing,
        }

    def _matching(self) -> Contestant:
        """The look-up in the tree, for topics that nobody wants."""
        topics = self.manager.engine.topics
        with self.manager.lock:
            places = [topics.ensure(f"stock/none{number}/left/over", 0) for number in range(_TOPICS)]
        at = cycle(places)

        def contestant(times: int) -> int:
            found = 0
            with self.manager.lock:
                began = time.perf_counter_ns()
                for _ in range(times * _OFTENER):
                    found += len(topics.matching(next(at)))
                taken = time.perf_counter_ns() - began
            if found:
                raise MeasurementFailed(f"{found} subscriptions were found that are for other topics")
            return taken // _OFTENER

        return contestant

    def _publish(self, topics: list[str], copies: int) -> Contestant:
        """Publish once to each topic in turn; what arrives is got behind the clock."""
        descriptors = cycle([_od(topic) for topic in topics])
        hconn = self.application.hconn
        md, pmo = descriptor(False), put_options()

        def contestant(times: int) -> int:
            taken = 0
            for _ in range(times):
                od, own_md, own_pmo = bytearray(next(descriptors)), bytearray(md), bytearray(pmo)
                began = time.perf_counter_ns()
                code, reason = MQPUT1(hconn, od, own_md, own_pmo, b"")
                taken += time.perf_counter_ns() - began
                if code == mq.MQCC_FAILED:
                    raise MQError(reason)
            arrived = self.application.drain(self._queue)
            if arrived != times * copies:
                raise MeasurementFailed(f"{arrived} publications arrived, and not {times * copies}")
            return taken

        return contestant

    def _subscribing(self, times: int) -> int:
        hconn = self.application.hconn
        made = [_sd(*next(self._patterns)) for _ in range(times)]
        began = time.perf_counter_ns()
        for sd in made:
            _, hsub, code, reason = MQSUB(hconn, sd, self._queue)
            if code == mq.MQCC_FAILED:
                raise MQError(reason)
            MQCLOSE(hconn, hsub, mq.MQCO_NONE)
        return time.perf_counter_ns() - began


def _od(topic: str) -> bytes:
    """An object descriptor whose string stands right behind it."""
    text = topic.encode()
    od = MQOD.default(4)
    MQOD.patch(od, "ObjectType", mq.MQOT_TOPIC)
    MQOD.patch(od, "ObjectStringVSOffset", len(od))
    MQOD.patch(od, "ObjectStringVSLength", len(text))
    return bytes(od) + text


def _sd(topic: str, is_character: bool) -> bytearray:
    text = topic.encode()
    sd = MQSD.default()
    MQSD.patch(sd, "Options", mq.MQSO_CREATE | (mq.MQSO_WILDCARD_CHAR if is_character else mq.MQSO_WILDCARD_TOPIC))
    MQSD.patch(sd, "ObjectStringVSOffset", len(sd))
    MQSD.patch(sd, "ObjectStringVSLength", len(text))
    return sd + text


def _bare(size: int) -> Contestant:
    """What matching would be without wildcards: one look-up, for a topic that is not there."""
    known = {f"stock/{number}/price": [number] for number in range(size)}
    topics = cycle([f"stock/none{number}/left/over" for number in range(_TOPICS)])

    def contestant(times: int) -> int:
        found = 0
        began = time.perf_counter_ns()
        for _ in range(times * _OFTENER):
            if known.get(next(topics)) is not None:
                found += 1
        taken = time.perf_counter_ns() - began
        assert not found, "they are other topics"
        return taken // _OFTENER

    return contestant


def _alternate(
    contestants: dict[tuple[str, int], Contestant], parameters: Parameters, report: Report
) -> dict[tuple[str, int], list[float]]:
    for contestant in contestants.values():
        contestant(parameters.per_round)
    taken: dict[tuple[str, int], list[float]] = {key: [] for key in contestants}
    gc.collect()
    gc.freeze()
    try:
        for number in range(parameters.rounds):
            for key, contestant in contestants.items():
                taken[key].append(contestant(parameters.per_round) / parameters.per_round)
            report((number + 1) / parameters.rounds, "publishing and subscribing")
    finally:
        gc.unfreeze()
    return taken


def _compare(result: Result, sizes: tuple[int, int]) -> None:
    few, many = sizes
    bare = result.limits[0]
    result.table.append(["what", f"ns with {few}", f"ns with {many:,}", "times"])
    for name in (MATCHING, NONE, SOME, SUBSCRIBING):
        with_few = result.find(TIME, what=name, subscriptions=few)
        with_many = result.find(TIME, what=name, subscriptions=many)
        times = ratio(with_many.median, with_few.median)
        result.ratios[f"{name}, {many:,} / {few}"] = times
        result.table.append([name, f"{with_few.median:,.0f}", f"{with_many.median:,.0f}", f"{times:.2f}"])
        if name == MATCHING:
            result.ratios[f"{name}, {many:,} / bare"] = ratio(with_many.median, bare.median)
        if name == SUBSCRIBING:
            result.aims.append(Aim(f"{name} with {many:,} subscriptions, times", NEW_RATIO_MAX, times, True))
    result.table.append([BARE, "-", f"{bare.median:,.0f}", "-"])
    result.notes.append("Four subscriptions in five have wildcards for levels, the others for characters.")
