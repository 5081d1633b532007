"""Family `topic-matching`: publications matched against very many subscriptions with wildcards.

Publications go to ever other topics, or what was found for the one before would be found again. Few subscriptions
match, or none. Four subscriptions in five have wildcards for levels, the others for characters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, cycle
from pathlib import Path
from typing import Final

from ostler.client.mqi.objects import MQCLOSE, MQPUT1
from ostler.client.mqi.topics import MQSUB
from ostler.lab.common.embedded import QUEUE, EmbeddedApplication, descriptor, put_options
from ostler.lab.families.micro.tasks import Batch, BatchLoop, Points, QueueManagerLoop, TaskExperiment, limit, ostler
from ostler.lab.runner.contract import Experiment, PointFailed, PointSpec, RunContext
from ostler.lab.runner.queue_managers.child import run_commands
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.consuming import MQSD
from ostler.model.structures.od import MQOD
from ostler.server.config.qm_ini import LogSection

MATCHING: Final = "matching alone"
NO_SUBSCRIBER: Final = "MQPUT1 that nobody gets"
FOUR_SUBSCRIBERS: Final = "MQPUT1 that four get"
SUBSCRIBE: Final = "MQSUB and MQCLOSE"
_TOPICS: Final = 1000
_PER_BATCH: Final = 100
# What takes a few microseconds is done more often, or a thread that comes in between would be measured.
_SHORT_PER_BATCH: Final = 2000
# Wildcards for levels and for characters, at the places where they may be.
_LEVELS: Final = ("stock/{}/+", "stock/+/{}/price", "stock/{}/#", "+/{}/#")
_CHARACTERS: Final = ("stock/{}/pri?e",)
_MATCHING: Final = (("hit/+", False), ("hit/#", False), ("hit/+/#", False), ("hit/*", True))


def experiment(context: RunContext) -> Experiment:
    tasks = {
        ostler("in one process", "subscriptions with one queue as their destination, which is open"): MatchingLoop,
        limit("bare look-up in a dictionary", "matching without wildcards: a topic that is not there"): bare_look_ups,
    }
    return TaskExperiment(context, tasks, lambda points: PointSpec(1, 0, False, main_operation=MATCHING))


def patterns() -> Iterator[tuple[str, bool]]:
    """Yield topics with wildcards without end, all different, and whether the wildcards are for characters."""
    for number in count():
        for each in _LEVELS:
            yield each.format(number), False
        for each in _CHARACTERS:
            yield each.format(number), True


def _unwanted() -> list[str]:
    return [f"stock/none{number}/left/over" for number in range(_TOPICS)]


class MatchingLoop(QueueManagerLoop):
    def __init__(self, points: Points, root: Path) -> None:
        self._subscriptions = int(points["subscriptions"])
        self._patterns = patterns()
        super().__init__(root, LogSection(file_pages=64))

    def batches(self) -> Sequence[Batch]:
        run_commands(self.manager, ["ALTER QMGR MAXHANDS(999999999)"])
        self._application = EmbeddedApplication(self.manager)
        self._queue = self._application.open(QUEUE, mq.MQOO_INPUT_SHARED)
        for topic, is_character in _MATCHING:
            self._subscribe(_sd(topic, is_character))
        for _ in range(self._subscriptions - len(_MATCHING)):
            self._subscribe(_sd(*next(self._patterns)))
        found = self.manager.engine.topics.wildcard_count
        if found != self._subscriptions:
            raise PointFailed(f"there are {found:,} subscriptions, and not {self._subscriptions:,}")
        return (
            Batch(MATCHING, self._matching(), _SHORT_PER_BATCH),
            Batch(NO_SUBSCRIBER, self._publishing(_unwanted(), 0), _PER_BATCH),
            Batch(
                FOUR_SUBSCRIBERS,
                self._publishing([f"hit/other{number}" for number in range(_TOPICS)], len(_MATCHING)),
                _PER_BATCH,
            ),
            Batch(SUBSCRIBE, self._subscribing, _PER_BATCH),
        )

    def _subscribe(self, sd: bytearray) -> int:
        _, hsub, code, reason = MQSUB(self._application.hconn, sd, self._queue)
        if code == mq.MQCC_FAILED:
            raise MQError(reason)
        return hsub

    def _matching(self) -> Callable[[int], int]:
        """Look topics up in the tree that nobody subscribed to."""
        topics = self.manager.engine.topics
        with self.manager.turn:
            nodes = cycle([topics.ensure(topic, 0) for topic in _unwanted()])

        def run(times: int) -> int:
            found = 0
            with self.manager.turn:
                began = time.perf_counter_ns()
                for _ in range(times):
                    found += len(topics.matching(next(nodes)))
                took = time.perf_counter_ns() - began
            if found:
                raise PointFailed(f"{found} subscriptions were found that are for other topics")
            return took

        return run

    def _publishing(self, topics: list[str], copies: int) -> Callable[[int], int]:
        """Publish once to each topic in turn; what arrives is got while no clock runs."""
        descriptors = cycle([_od(topic) for topic in topics])
        md, pmo = descriptor(False), put_options()

        def run(times: int) -> int:
            took = 0
            for _ in range(times):
                od, own_md, own_pmo = bytearray(next(descriptors)), bytearray(md), bytearray(pmo)
                began = time.perf_counter_ns()
                code, reason = MQPUT1(self._application.hconn, od, own_md, own_pmo, b"")
                took += time.perf_counter_ns() - began
                if code == mq.MQCC_FAILED:
                    raise MQError(reason)
            arrived = self._application.drain(self._queue)
            if arrived != times * copies:
                raise PointFailed(f"{arrived} publications arrived, and not {times * copies}")
            return took

        return run

    def _subscribing(self, times: int) -> int:
        made = [_sd(*next(self._patterns)) for _ in range(times)]
        began = time.perf_counter_ns()
        for sd in made:
            MQCLOSE(self._application.hconn, self._subscribe(sd), mq.MQCO_NONE)
        return time.perf_counter_ns() - began


def bare_look_ups(points: Points, root: Path) -> BatchLoop:
    known = {f"stock/{number}/price": [number] for number in range(int(points["subscriptions"]))}
    topics = cycle(_unwanted())

    def run(times: int) -> int:
        found = 0
        began = time.perf_counter_ns()
        for _ in range(times):
            if known.get(next(topics)) is not None:
                found += 1
        took = time.perf_counter_ns() - began
        assert not found, "they are other topics"
        return took

    return BatchLoop(Batch(MATCHING, run, _SHORT_PER_BATCH))


def _od(topic: str) -> bytes:
    """Return an object descriptor whose string follows it."""
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
