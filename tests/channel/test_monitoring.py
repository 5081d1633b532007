"""Monitoring of channels: averages, network time and the counters behind statistics."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world.world import World

from ostler.channel.batch import ChannelCounters, SenderBatch
from ostler.channel.monitoring import ChannelMonitor
from ostler.channel.port import ChannelPort
from ostler.engine.queue.queue import Queue
from ostler.model import constants as mq
from ostler.wire.channel_frames import HEARTBEAT_TIMED
from ostler.wire.frames import HEADER_BYTES, HEARTBEAT


class Bench(ChannelPort):
    """A port without a partner, and a clock that is moved by hand."""

    def __init__(self) -> None:
        self.clock_us = 5_000_000
        self.frames: list[bytes] = []

    def now_us(self) -> int:
        return self.clock_us

    def send(self, data: bytes) -> None:
        self.frames.append(data)

    def send_after(self, lsn: int, data: bytes) -> None:
        raise AssertionError("nothing of this has to wait")

    def backlog_bytes(self) -> int:
        return 0

    def schedule_pump(self) -> None:
        raise AssertionError

    def set_timer(self, milliseconds: int) -> None:
        raise AssertionError

    def pause(self, is_paused: bool) -> None:
        raise AssertionError

    def make_room(self) -> None:
        raise AssertionError

    def rekey(self) -> None:
        raise AssertionError

    def traffic_bytes(self) -> int:
        return 0

    def silence_ms(self) -> int:
        return 0

    def finish(self, end_reason: object, reason: int, text: str) -> None:
        raise AssertionError

    def note(self, text: str) -> None:
        raise AssertionError

    def notify_changed(self) -> None:
        raise AssertionError


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def queue() -> Queue:
    return World.create().define_queue("XMIT", {"USAGE": mq.MQUS_TRANSMISSION})


def begun(bench: Bench, queue: Queue, level: int = mq.MQMON_HIGH) -> ChannelMonitor:
    monitor = ChannelMonitor(bench, level)
    monitor.begin(queue)
    return monitor


def answer(bench: Bench, monitor: ChannelMonitor, after_us: int) -> None:
    bench.clock_us += after_us
    monitor.on_heartbeat_reply()


# -- the network -------------------------------------------------------------------------------------------------------


def test_the_network_is_measured_by_heartbeats(bench: Bench, queue: Queue) -> None:
    monitor = begun(bench, queue)
    assert [(data[4], int.from_bytes(data[HEADER_BYTES - 4 : HEADER_BYTES], "little")) for data in bench.frames] == [
        (HEARTBEAT, HEARTBEAT_TIMED)
    ]
    answer(bench, monitor, 250)
    assert (monitor.network.short_term(), monitor.network.long_term()) == (250, 250)


def test_the_short_average_follows_faster(bench: Bench, queue: Queue) -> None:
    monitor = begun(bench, queue)
    answer(bench, monitor, 1000)
    for _ in range(60):
        bench.clock_us += 20_000
        monitor.on_batch(1, True)
        answer(bench, monitor, 5000)
    assert 4200 < monitor.network.short_term() < 5000
    assert 1000 < monitor.network.long_term() < 1300
    spread = monitor.take_network_spread()
    assert (spread.count, spread.lowest, spread.highest) == (61, 1000, 5000)
    assert spread.total == 1000 + 60 * 5000
    assert monitor.take_network_spread().count == 0
    assert monitor.network.count == 61


def test_one_question_at_a_time(bench: Bench, queue: Queue) -> None:
    monitor = begun(bench, queue)
    for _ in range(5):
        bench.clock_us += 1_000_000
        monitor.on_batch(1, True)
    assert len(bench.frames) == 1
    monitor.on_heartbeat_reply()
    monitor.on_batch(1, True)
    assert len(bench.frames) == 2


def test_an_answer_that_nobody_asked_for_counts_for_nothing(bench: Bench, queue: Queue) -> None:
    monitor = begun(bench, queue)
    answer(bench, monitor, 10)
    answer(bench, monitor, 10)
    assert monitor.network.count == 1


@pytest.mark.parametrize(("level", "pause_us"), [("LOW", 1_000_000), ("MEDIUM", 100_000), ("HIGH", 10_000)])
def test_levels_are_how_often(bench: Bench, queue: Queue, level: str, pause_us: int) -> None:
    monitor = begun(bench, queue, getattr(mq, f"MQMON_{level}"))
    answer(bench, monitor, 1)
    bench.clock_us += pause_us - 2
    monitor.on_batch(1, True)
    assert len(bench.frames) == 1
    bench.clock_us += 1
    monitor.on_batch(1, True)
    assert len(bench.frames) == 2


def test_a_channel_without_rest_is_asked_seldom(bench: Bench, queue: Queue) -> None:
    monitor = begun(bench, queue)
    answer(bench, monitor, 1)
    bench.clock_us += 1_000_000
    monitor.on_batch(1, False)
    assert len(bench.frames) == 1
    bench.clock_us += 10_000
    monitor.on_batch(1, False)
    assert len(bench.frames) == 2


def test_without_batches_messages_ask(bench: Bench, queue: Queue) -> None:
    monitor = begun(bench, queue)
    answer(bench, monitor, 1)
    bench.clock_us += 20_000
    monitor.on_send(False)
    assert len(bench.frames) == 1
    monitor.on_send(True)
    assert len(bench.frames) == 2


def test_a_receiving_end_asks_nothing(bench: Bench) -> None:
    monitor = ChannelMonitor(bench, mq.MQMON_HIGH)
    monitor.on_batch(7, True)
    assert bench.frames == []
    assert monitor.batch_sizes.short_term() == 7


# -- messages ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 10_000)), min_size=1, max_size=20))
def test_times_in_the_queue_come_from_its_counters(gets: list[tuple[int, int]]) -> None:
    bench = Bench()
    queue = World.create().define_queue("XMIT")
    queue.counters.gets = 1000
    queue.counters.age_total_ms = 77_777
    monitor = begun(bench, queue)
    ages = []
    for count, age_ms in gets:
        queue.counters.gets += count
        queue.counters.age_total_ms += count * age_ms
        monitor.on_send(False)
        monitor.on_send(False)  # nothing was got in between
        ages.append(age_ms * 1000)
    assert monitor.queue_times.count == len(gets)
    assert min(ages) - 1 <= monitor.queue_times.short_term() <= max(ages)
    assert min(ages) - 1 <= monitor.queue_times.long_term() <= max(ages)


def test_compression_is_timed_and_compared(bench: Bench) -> None:
    monitor = ChannelMonitor(bench, mq.MQMON_LOW)
    began = bench.clock_us
    bench.clock_us += 40
    monitor.on_packed(began, 1000, 250)
    assert (monitor.packing_times.short_term(), monitor.savings.short_term()) == (40, 75)
    monitor.on_packed(bench.clock_us, 0, 0)
    assert monitor.savings.count == 2


# -- counters ----------------------------------------------------------------------------------------------------------


def batch(messages: int, size_bytes: int, size: int = 3, bytes_max: int = 0) -> SenderBatch:
    made = SenderBatch(1, World.create().engine.new_unit_of_work(), 1, 1000, size, bytes_max)
    for number in range(messages):
        made.add(number + 1, size_bytes)
    return made


@pytest.mark.parametrize(
    ("made", "is_full"),
    [
        (batch(2, 100), False),
        (batch(3, 100), True),
        (batch(1, 100, bytes_max=101), False),
        (batch(1, 101, bytes_max=101), True),
    ],
)
def test_batches_are_full_by_number_or_length(made: SenderBatch, is_full: bool) -> None:
    assert made.is_full() is is_full


def test_figures_of_a_channel() -> None:
    counters = ChannelCounters()
    counters.count_message(5, 100, True)
    counters.count_message(6, 50, False)
    assert (counters.messages, counters.persistent) == (2, 1)
    assert (counters.plain_bytes, counters.persistent_bytes, counters.last_message_ms) == (150, 100, 6)
    first = batch(3, 10)
    first.confirm_ms = 1000
    counters.count_confirmed(first, 1008)
    counters.count_batch(1, False)
    assert (counters.batches, counters.full_batches, counters.batch_messages, counters.confirm_ms) == (2, 1, 4, 8)
