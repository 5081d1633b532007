"""Eleven kinds of neighbours: authorised clients that do what they may, and as much of it as they can.

Each is a process of its own, with its own connections and queues, over TCP through a server-connection channel. It
continues until its time is over: rejected operations are counted, and repeated.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, cycle
from typing import Final

import ostler
from ostler.client.api.connection import Connection
from ostler.engine.selectors.selector import compile_selector
from ostler.lab.families.task import RESULT, Task, wait_until
from ostler.lab.load.client import LoadFailed
from ostler.lab.load.mq.blocking_link import BlockingMqLink, half_open
from ostler.lab.load.mq.client import OUTPUT, MqTerms, descriptor, hello_frame
from ostler.lab.load.mq.frames import GET_REQUEST, NO_ID, NO_IDS, PUT_REQUEST, PutFrames
from ostler.lab.load.mq.mqsc_by_message import MqscByMessage
from ostler.lab.load.mq.queue_filler import PROPERTY
from ostler.lab.load.progress import ReportProgress
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.lab.runner.contract import Metric
from ostler.lab.runner.queue_managers.plan import CHANNEL
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire import frames, put_get_frames

NONE: Final = "none"
DEEP_BROWSE: Final = "deep browse"
COLD: Final = "cold queue on a slow disk"
SELECTOR: Final = "selector"
LARGE: Final = "large messages"
TOPICS: Final = "topics"
WILDCARD: Final = "wildcard subscription"
STORM: Final = "connection storm"
DISPLAY: Final = "display"
PURGE: Final = "purge"
UNIT: Final = "huge unit of work"
UNREAD: Final = "never reading"

STORE: Final = "LAB.NEIGHBOUR.STORE"
"""The queue that is filled before, and browsed, selected from or cleared."""
WORK: Final = "LAB.NEIGHBOUR.WORK"
DISPLAYED_QUEUES: Final = "LAB.NEIGHBOUR.SHOWN"

OPERATIONS: Final = "neighbour's operations"
ERRORS: Final = "neighbour's errors"
UNFINISHED: Final = "neighbour's operations without an end"
FEWER_WHEN_QUICK: Final = 10
_GRACE_SECONDS: Final = 3.0
"""An operation in flight at the end may take this long, and is abandoned then."""
_PAUSE_SECONDS: Final = 0.05
_COMMAND_SECONDS_MAX: Final = 60.0
_UNIT_SECONDS_MAX: Final = 90.0
_LEVELS: Final = 8
_PUTS_AT_ONCE: Final = 500
_UNREAD_REQUESTS: Final = 40
_SMALL_BYTES: Final = 100
_MIDDLE_IN_TURN: Final = 8

Address = tuple[str, int]


@dataclass(frozen=True)
class Sizes:
    """The amounts a neighbour works with. The quick form has a tenth of the counted ones."""

    browse_messages: int
    selector_messages: int
    selector_bytes: int
    waiting_gets: int
    large_bytes: int
    middle_bytes: int
    topics: int
    retained: int
    half_open: int
    queues: int
    displayed_topics: int
    purged_messages: int
    unit_messages: int
    unread_links: int
    unread_messages: int

    @classmethod
    def of(cls, parameters: dict[str, int], is_quick: bool) -> Sizes:
        """Return the amounts from the parameters of the scenario."""
        fewer = FEWER_WHEN_QUICK if is_quick else 1
        kept = ("selector_bytes", "middle_bytes", "unread_messages")
        return cls(**{
            name: parameters[name] if name in kept else max(parameters[name] // fewer, 1)
            for name in cls.__dataclass_fields__
        })  # fmt: skip


class OperationCounts:
    """The operations of a neighbour, counted by all its threads until it is closed."""

    def __init__(self, recorder: PhaseRecorder) -> None:
        self._recorder = recorder
        self._lock = threading.Lock()
        self._is_closed = False
        timeline = recorder.timeline
        self.middle_ns = (timeline.measured_ns + timeline.cool_ns) // 2
        self.end_ns = timeline.end_ns
        self.operations = 0
        self.errors = 0

    @property
    def is_over(self) -> bool:
        return time.perf_counter_ns() >= self.end_ns

    def done(self, operation: str, began_ns: int) -> None:
        now = time.perf_counter_ns()
        with self._lock:
            if not self._is_closed:
                self.operations += 1
                self._recorder.operation(operation).record(began_ns, now)

    def failed(self, operation: str) -> None:
        with self._lock:
            if not self._is_closed:
                self.errors += 1
                self._recorder.operation(operation).fail(time.perf_counter_ns())

    def close(self) -> None:
        with self._lock:
            self._is_closed = True


Part = Callable[[OperationCounts], None]
"""The work of one thread of a neighbour until its time is over. It is repeated after a failure."""


class Neighbour(Task):
    """One of them. `operation` is the name its failures count under. It begins with the window: the warm-up is
    quiet, and a long operation has its whole effect in the window."""

    operation = ""

    def __init__(self, address: Address, sizes: Sizes) -> None:
        self.address = address
        self.sizes = sizes

    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """Return the work of its threads."""

    def connect(self) -> Connection:
        host, port = self.address
        return ostler.connect("", f"{host}({port})", channel=CHANNEL, application="neighbour")

    def run(self, recorder: PhaseRecorder, report: ReportProgress) -> list[Metric]:
        timeline = recorder.timeline
        counts = OperationCounts(recorder)
        threads = [
            threading.Thread(target=self._keep_on, args=(part, counts, timeline), daemon=True) for part in self.parts()
        ]
        for thread in threads:
            thread.start()
        deadline = timeline.end_ns / 1e9 + _GRACE_SECONDS
        for thread in threads:
            thread.join(max(deadline - time.perf_counter(), 0.0))
        counts.close()
        metrics = (
            (OPERATIONS, counts.operations),
            (ERRORS, counts.errors),
            (UNFINISHED, sum(thread.is_alive() for thread in threads)),
        )
        return [Metric(RESULT, name, float(value)) for name, value in metrics]

    def _keep_on(self, part: Part, counts: OperationCounts, timeline: Timeline) -> None:
        wait_until(timeline.measured_ns)
        while not counts.is_over:
            try:
                part(counts)
            except (MQError, LoadFailed, OSError):
                counts.failed(self.operation)
                time.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Do nothing: its process ends, and with it whatever is open."""


class DeepBrowse(Neighbour):
    """Browses a deep queue from the first message to the last, repeatedly, twice at the same time."""

    operation = "browse"

    def parts(self) -> Sequence[Part]:
        return [self._browse, self._browse]

    def _browse(self, counts: OperationCounts) -> None:
        with self.connect() as connection, connection.open(STORE, "b") as queue:
            while not counts.is_over:
                with queue.browse() as browser:
                    began = time.perf_counter_ns()
                    while browser.next() is not None and not counts.is_over:
                        counts.done(self.operation, began)
                        began = time.perf_counter_ns()


class ColdQueue(DeepBrowse):
    """Browses a deep queue whose messages are in its file, on a disk that takes long for each read."""

    operation = "browse of a cold queue"


class Selecting(Neighbour):
    """Searches for messages that do not exist, and has hundreds of gets wait with selectors of their own.

    These begin in the middle of the window, so that both have their effect. All are connected when it is made.
    """

    operation = "browse with selector"
    waiting = "waiting get"
    put = "put to waiting gets"

    def __init__(self, address: Address, sizes: Sizes) -> None:
        super().__init__(address, sizes)
        self._browsing: Connection | None = self.connect()
        conversations = range(1, sizes.waiting_gets + 1)
        self._link: BlockingMqLink | None = BlockingMqLink(address, CHANNEL, sizes.waiting_gets)
        self._handles = self._link.open(WORK, mq.MQOO_FAIL_IF_QUIESCING | mq.MQOO_INPUT_SHARED, conversations)

    def parts(self) -> Sequence[Part]:
        return [self._browse, self._wait]

    def selectors(self) -> list[str]:
        """Return selectors: plain, with much to calculate, with much to compare. No message matches, and all are as
        expensive as allowed."""
        room = self.sizes.selector_bytes
        return [f"{PROPERTY} > 9", dearest(_sum, room), dearest(_choices, room)]

    def _browse(self, counts: OperationCounts) -> None:
        connection, self._browsing = self._browsing or self.connect(), None
        with connection, connection.open(STORE, "b") as queue:
            for selector in cycle(self.selectors()):
                if counts.is_over:
                    return
                began = time.perf_counter_ns()
                try:
                    with queue.browse(selector=selector) as browser:
                        browser.next()
                except MQError:
                    # This one may be too expensive for the queue manager, and the next one not.
                    counts.failed(self.operation)
                    time.sleep(_PAUSE_SECONDS)
                    continue
                counts.done(self.operation, began)

    def _wait(self, counts: OperationCounts) -> None:
        wait_until(counts.middle_ns)
        link, self._link = self._link, None
        if link is None:
            # The waiting gets are gone: whatever ended their link would end another one.
            wait_until(counts.end_ns)
            return
        try:
            own = f"{PROPERTY}={{}} AND "
            dear = dearest(lambda terms: own.format(0) + _sum(terms), self.sizes.selector_bytes - len(own))
            for conversation, hobj in self._handles.items():
                if counts.is_over:
                    return
                # No two selectors are alike, so that nothing is shared.
                selector = dear.replace(own.format(0), own.format(conversation + 10), 1)
                began = time.perf_counter_ns()
                link.send(_waiting_get(conversation, hobj, selector))
                counts.done(self.waiting, began)
            with self.connect() as connection, connection.open(WORK, "rw") as queue:
                for number in cycle(range(10)):
                    if counts.is_over:
                        return
                    began = time.perf_counter_ns()
                    queue.put(b"", persistent=False, properties={PROPERTY: number})
                    counts.done(self.put, began)
                    queue.get()
                    time.sleep(_PAUSE_SECONDS)
        finally:
            link.close()


class LargeMessages(Neighbour):
    """Puts and gets messages of 100 MB and of 4 MB."""

    operation = "put and get, large"
    middle = "put and get, 4 MB"

    def parts(self) -> Sequence[Part]:
        return [self._large, self._middle]

    def _large(self, counts: OperationCounts) -> None:
        self._there_and_back(counts, self.operation, self.sizes.large_bytes, 1)

    def _middle(self, counts: OperationCounts) -> None:
        self._there_and_back(counts, self.middle, self.sizes.middle_bytes, _MIDDLE_IN_TURN)

    def _there_and_back(self, counts: OperationCounts, operation: str, size: int, in_turn: int) -> None:
        body = bytes(size)
        with self.connect() as connection, connection.open(WORK, "rw") as queue:
            while not counts.is_over:
                began = time.perf_counter_ns()
                sent = [queue.put(body, persistent=False).message_id for _ in range(in_turn)]
                for message_id in sent:
                    queue.get(message_id=message_id)
                counts.done(operation, began)


class NewTopics(Neighbour):
    """Publishes to new topics of eight levels; when all are used, to the same ones again."""

    operation = "publish"

    def parts(self) -> Sequence[Part]:
        return [self._publish]

    def _publish(self, counts: OperationCounts) -> None:
        with self.connect() as connection:
            for number in cycle(range(self.sizes.topics)):
                if counts.is_over:
                    return
                began = time.perf_counter_ns()
                connection.publish(self._topic(number), b"", persistent=False)
                counts.done(self.operation, began)

    def _topic(self, number: int) -> str:
        return "/".join([f"neighbour{os.getpid()}", str(number), *map(str, range(3, _LEVELS + 1))])


class WildcardSubscription(Neighbour):
    """Subscribes to everything, is sent all retained publications, gets one and ends the subscription."""

    operation = "subscribe to #"

    def parts(self) -> Sequence[Part]:
        return [self._subscribe]

    def _subscribe(self, counts: OperationCounts) -> None:
        with self.connect() as connection:
            while not counts.is_over:
                began = time.perf_counter_ns()
                with connection.subscribe("#") as subscription:
                    subscription.get(wait=1.0)
                counts.done(self.operation, began)


class ConnectionStorm(Neighbour):
    """Connects and disconnects as fast as it can, and keeps sockets on which it never completes its first frame."""

    operation = "connect and disconnect"
    silent = "half-open socket"

    def __init__(self, address: Address, sizes: Sizes) -> None:
        super().__init__(address, sizes)
        self._links = count()

    def parts(self) -> Sequence[Part]:
        return [self._connect, self._connect, self._connect, self._half_open]

    def _connect(self, counts: OperationCounts) -> None:
        while not counts.is_over:
            began = time.perf_counter_ns()
            BlockingMqLink(self.address, CHANNEL, number=next(self._links)).leave()
            counts.done(self.operation, began)

    def _half_open(self, counts: OperationCounts) -> None:
        kept: deque[socket.socket] = deque()
        words = hello_frame(CHANNEL, 1)
        try:
            for first in cycle((b"", words[: len(words) // 2], words)):
                if counts.is_over:
                    return
                began = time.perf_counter_ns()
                kept.append(half_open(self.address, next(self._links), first))
                counts.done(self.silent, began)
                if len(kept) > self.sizes.half_open:
                    kept.popleft().close()
        finally:
            for sock in kept:
                sock.close()


class DisplayAll(Neighbour):
    """Displays everything: queues, connections, topics, open handles."""

    operation = "display"
    commands = (
        "DISPLAY QLOCAL(*) ALL",
        "DISPLAY CONN(*) ALL",
        "DISPLAY TPSTATUS('#')",
        "DISPLAY QSTATUS(*) ALL",
    )

    def parts(self) -> Sequence[Part]:
        return [self._display]

    def _display(self, counts: OperationCounts) -> None:
        with self.connect() as connection:
            commands = MqscByMessage(connection)
            for command in cycle(self.commands):
                if counts.is_over:
                    return
                began = time.perf_counter_ns()
                try:
                    commands.run(command, _COMMAND_SECONDS_MAX)
                except LoadFailed:
                    counts.failed(self.operation)
                    time.sleep(_PAUSE_SECONDS)
                    continue
                counts.done(self.operation, began)


class Purge(Neighbour):
    """Clears a deep queue, puts a few thousand messages on it, and clears it again."""

    operation = "clear"

    def parts(self) -> Sequence[Part]:
        return [self._clear]

    def _clear(self, counts: OperationCounts) -> None:
        with self.connect() as connection:
            commands = MqscByMessage(connection)
            while not counts.is_over:
                began = time.perf_counter_ns()
                commands.run(f"CLEAR QLOCAL({STORE})", _COMMAND_SECONDS_MAX)
                counts.done(self.operation, began)
                link = BlockingMqLink(self.address, CHANNEL)
                try:
                    hobj = link.open(STORE, OUTPUT)[1]
                    put_many(link, hobj, max(self.sizes.purged_messages // 100, 1), is_in_unit=False)
                    link.leave()
                finally:
                    link.close()


class HugeUnit(Neighbour):
    """Prepares two units of work of 100,000 messages: one is committed, the other backed out. Then it prepares others.

    The first are ready when it is made, so that their end is measured, and not only their construction.
    """

    operation = "commit"
    back_out = "back out"
    unit_put = "put of the unit"

    def __init__(self, address: Address, sizes: Sizes) -> None:
        super().__init__(address, sizes)
        self._ready: deque[tuple[BlockingMqLink, int]] = deque(self._unit() for _ in range(2))

    def parts(self) -> Sequence[Part]:
        return [self._end_units]

    def _end_units(self, counts: OperationCounts) -> None:
        ends = cycle(((frames.COMMIT, self.operation), (frames.BACK, self.back_out)))
        for kind, operation in ends:
            if counts.is_over:
                return
            link, hobj = self._ready.popleft() if self._ready else self._unit()
            try:
                began = time.perf_counter_ns()
                link.ask(kind, 1)
                counts.done(operation, began)
                began = time.perf_counter_ns()
                put_many(link, hobj, self.sizes.unit_messages, goes_on=lambda: not counts.is_over)
                counts.done(self.unit_put, began)
            except BaseException:
                link.close()
                raise
            self._ready.append((link, hobj))

    def _unit(self) -> tuple[BlockingMqLink, int]:
        """Return a link with a unit of work that only has to be ended."""
        link = BlockingMqLink(self.address, CHANNEL, seconds_max=_UNIT_SECONDS_MAX)
        try:
            hobj = link.open(WORK, OUTPUT)[1]
            put_many(link, hobj, self.sizes.unit_messages)
        except BaseException:
            link.close()
            raise
        return link, hobj


class NeverReading(Neighbour):
    """Many links that get messages of 4 MB repeatedly, and read no answer."""

    operation = "browse, not read"

    def parts(self) -> Sequence[Part]:
        return [self._ask]

    def _ask(self, counts: OperationCounts) -> None:
        links: dict[int, BlockingMqLink] = {}
        gone = select.poll()
        try:
            for number in count():
                if counts.is_over:
                    return
                if len(links) < self.sizes.unread_links:
                    link = self._unread(counts, number)
                    links[link.sock.fileno()] = link
                    # Only the end of a link is of interest.
                    gone.register(link.sock.fileno(), select.POLLRDHUP)
                for descriptor, _ in gone.poll(0 if len(links) < self.sizes.unread_links else 100):
                    gone.unregister(descriptor)
                    links.pop(descriptor).close()
                    counts.failed(self.operation)
        finally:
            for link in links.values():
                link.close()

    def _unread(self, counts: OperationCounts, number: int) -> BlockingMqLink:
        link = BlockingMqLink(self.address, CHANNEL, number=number)
        try:
            hobj = link.open(STORE, mq.MQOO_FAIL_IF_QUIESCING | mq.MQOO_BROWSE)[1]
            link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            options = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_FAIL_IF_QUIESCING
            payload = _get_payload(hobj, options, 0, self.sizes.middle_bytes, b"")
            for request in range(1, _UNREAD_REQUESTS + 1):
                began = time.perf_counter_ns()
                link.send(put_get_frames.get_frame(1, request, payload))
                counts.done(self.operation, began)
        except BaseException:
            link.close()
            raise
        return link


NEIGHBOURS: Final[dict[str, type[Neighbour]]] = {
    DEEP_BROWSE: DeepBrowse,
    COLD: ColdQueue,
    SELECTOR: Selecting,
    LARGE: LargeMessages,
    TOPICS: NewTopics,
    WILDCARD: WildcardSubscription,
    STORM: ConnectionStorm,
    DISPLAY: DisplayAll,
    PURGE: Purge,
    UNIT: HugeUnit,
    UNREAD: NeverReading,
}


def make_neighbour(kind: str, address: Address, sizes: Sizes) -> Neighbour:
    """Make a neighbour, in its process."""
    return NEIGHBOURS[kind](address, sizes)


def put_many(
    link: BlockingMqLink,
    hobj: int,
    messages: int,
    is_in_unit: bool = True,
    goes_on: Callable[[], bool] = lambda: True,
) -> None:
    """Put small messages, persistent ones in a unit of work, as fast as they are accepted: only the last is answered.

    Raises LoadFailed when a put is rejected. With `goes_on` the last may come earlier.
    """
    terms = MqTerms(1, _SMALL_BYTES, persistent=is_in_unit)
    md, body = descriptor(terms, ""), bytes(_SMALL_BYTES)
    options = mq.MQPMO_NEW_MSG_ID | (mq.MQPMO_SYNCPOINT if is_in_unit else mq.MQPMO_NO_SYNCPOINT)
    unanswered = PutFrames(1, 0, hobj, options | mq.MQPMO_ASYNC_RESPONSE, md, _SMALL_BYTES).filled(NO_IDS, body)
    left = messages - 1
    while left > 0 and goes_on():
        at_once = min(left, _PUTS_AT_ONCE)
        link.send(unanswered * at_once)
        left -= at_once
    link.send(PutFrames(1, PUT_REQUEST, hobj, options, md, _SMALL_BYTES).filled(NO_IDS, body))
    link.reply(frames.PUT)


def _sum(terms: int) -> str:
    """Return a condition that is false and takes long to evaluate."""
    return PROPERTY + f"+{PROPERTY}" * terms + "=-1"


def _choices(terms: int) -> str:
    return " OR ".join(f"{PROPERTY}={number}" for number in range(10, 10 + terms))


def dearest(make: Callable[[int], str], room: int) -> str:
    """Return the selector with the most terms that takes at most `room` bytes and that the queue manager allows."""
    low, high = 1, room
    while low < high:
        middle = (low + high + 1) // 2
        if _is_allowed(make(middle), room):
            low = middle
        else:
            high = middle - 1
    return make(low)


def _is_allowed(selector: str, room: int) -> bool:
    if len(selector) > room:
        return False
    try:
        compile_selector(selector)
    except MQError:
        return False
    return True


def _waiting_get(conversation: int, hobj: int, selector: str) -> bytes:
    options = mq.MQGMO_WAIT | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_FAIL_IF_QUIESCING
    payload = _get_payload(hobj, options, mq.MQWI_UNLIMITED, _SMALL_BYTES, selector.encode())
    return put_get_frames.get_frame(conversation, GET_REQUEST, payload)


def _get_payload(hobj: int, options: int, wait_ms: int, data_bytes: int, selector: bytes) -> bytes:
    ids = (NO_ID, NO_ID, put_get_frames.NO_GROUP, 0, 0, put_get_frames.NO_TOKEN, selector)
    return put_get_frames.get_payload(hobj, options, wait_ms, mq.MQMO_NONE, data_bytes, 0, 0, 0, *ids)
