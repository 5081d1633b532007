"""Smaller batches for a partner whose log has no space; in the end all messages arrive."""

from __future__ import annotations

from tests.world.channel_site import ChannelSite
from tests.world.channel_world import ChannelWorld
from tests.world.world_lives import SMALL_LOG

from ostler.channel.batch_limits import BatchLimit, BatchLimits
from ostler.model import constants as mq


def test_each_refusal_halves_a_batch_down_to_one_message() -> None:
    limits = BatchLimits()
    assert limits.find("A") is None
    assert limits.lower("A", 50)
    sizes = []
    for _ in range(7):
        limit = limits.find("A")
        assert limit is not None
        sizes.append(int(limit.messages))
        assert not limits.lower("A", limit.messages), "it is no news any more"
    assert sizes == [25, 12, 6, 3, 1, 1, 1]
    assert limits.find("B") is None


def test_a_single_message_that_does_not_fit_is_no_reason_for_smaller_batches() -> None:
    limits = BatchLimits()
    assert not limits.lower("A", 1)
    assert limits.find("A") is None


def test_what_is_refused_counts_not_what_would_be_allowed() -> None:
    limit = BatchLimit(40)
    limit.lower(8)
    assert limit.messages == 4


def batches_until_it_grows(limit: BatchLimit) -> int:
    count = 1
    while not limit.count_success(limit.messages):
        count += 1
    return count


def test_larger_ones_are_tried_after_a_while_which_gets_longer() -> None:
    limit = BatchLimit(10)
    first = batches_until_it_grows(limit)
    assert limit.messages == 20
    limit.lower(20)
    assert limit.messages == 10
    assert batches_until_it_grows(limit) > first


def test_batches_that_are_not_full_say_nothing() -> None:
    limit = BatchLimit(10)
    assert not any(limit.count_success(9) for _ in range(1000))


def test_forgotten_when_it_is_as_large_as_agreed() -> None:
    limits = BatchLimits()
    limits.lower("A", 8)
    confirmed = 0
    while limits.find("A") is not None:
        limits.count_success("A", 4, 8)
        confirmed += 1
        assert confirmed < 1000
    assert confirmed > 1
    limits.count_success("A", 4, 8)
    assert limits.find("A") is None


def put_long_ones(site: ChannelSite, count: int) -> None:
    putter = site.connect("putter")
    handle = site.open(putter, "TO.IN", mq.MQOO_OUTPUT)
    for number in range(count):
        site.messages_made += 1
        body = f"{site.name}{site.messages_made} ".encode() + bytes([number]) * 40_000
        message = site.outgoing.put(body, True, ("long ones",), (body,))
        done = site.put(putter, handle, body)
        assert done.reason == 0
        site.outgoing.committed([message], done.lsn)
        site.settle(done.lsn)


def test_batches_become_smaller_until_they_fit_into_the_log_of_the_partner() -> None:
    """Thirty messages of 40 KB, and a log of 768 KB."""
    world = ChannelWorld(
        3, {"BATCHSZ": 50, "BATCHLIM": 0, "BATCHINT": 0, "BATCHHB": 0, "MAXMSGL": 4_194_304}, SMALL_LOG
    )
    here = world.sites[0]
    put_long_ones(here, 30)
    world.come_to_rest()
    refusals = [each for each in world.done if "the log was full" in each]
    assert refusals, "the log was large enough"
    notes = [text for text in here.notes if text.startswith("AMQ9509W")]
    assert len(notes) == 1, "once is enough"
    assert "the log of B has no room for a batch of" in notes[0]
    limit = here.sync.batch_limits.find("A.B")
    assert limit is not None
    assert 1 <= limit.messages < 30
    world.check()
