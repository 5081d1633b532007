"""The workload algorithm: each step, the exact claims that follow, and a naive twin."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cluster.naive_workload import NaiveChooser

from ostler.cluster.workload import (
    CHOSEN,
    NO_DESTINATION,
    PUT_INHIBITED,
    Candidate,
    Counters,
    WorkloadOptions,
    choose,
    eligible,
    pick,
)
from ostler.model import constants as mq

ANY = mq.MQCLWL_USEQ_ANY
LOCAL = mq.MQCLWL_USEQ_LOCAL
STATUSES = [
    mq.MQCHS_INACTIVE,
    mq.MQCHS_RUNNING,
    mq.MQCHS_BINDING,
    mq.MQCHS_INITIALIZING,
    mq.MQCHS_STARTING,
    mq.MQCHS_STOPPING,
    mq.MQCHS_SWITCHING,
    mq.MQCHS_RETRYING,
    mq.MQCHS_REQUESTING,
    mq.MQCHS_PAUSED,
    mq.MQCHS_STOPPED,
]


def member(number: int, change: Callable[[Candidate], Candidate] = lambda each: each) -> Candidate:
    return change(Candidate(f"QM{number}_ID", f"TO.QM{number}"))


def spread(candidates: list[Candidate], count: int, options: WorkloadOptions | None = None) -> Counter[int]:
    """Choose so many times, and count by candidate; outcomes other than CHOSEN count as themselves."""
    counters, found = Counters(), Counter[int]()
    for _ in range(count):
        choice = choose(candidates, options or WorkloadOptions(), counters)
        counters.count(choice)
        found[choice.index if choice.outcome == CHOSEN else choice.outcome] += 1
    return found


def test_equal_weights_rotate_strictly() -> None:
    counters, order = Counters(), []
    candidates = [member(1), member(2), member(3)]
    for _ in range(9):
        choice = choose(candidates, WorkloadOptions(), counters)
        counters.count(choice)
        order.append(choice.index)
    assert order == [0, 1, 2] * 3


@pytest.mark.parametrize("count", [600, 6000])
def test_weights_25_75_50_split_as_they_say(count: int) -> None:
    candidates = [dataclasses.replace(member(n), weight=weight) for n, weight in enumerate([25, 75, 50])]
    found = spread(candidates, count)
    for index, share in enumerate([1 / 6, 3 / 6, 2 / 6]):
        assert abs(found[index] - share * count) <= 0.02 * share * count, found


def test_a_reset_of_factors_gives_no_channel_a_backlog() -> None:
    counters = Counters()
    two = [dataclasses.replace(member(1), weight=60), dataclasses.replace(member(2), weight=60)]
    for _ in range(1000):
        counters.count(choose(two, WorkloadOptions(), counters))
    three = [*two, dataclasses.replace(member(3), weight=60)]
    counters.reset_factors()
    found = Counter[int]()
    for _ in range(300):
        choice = choose(three, WorkloadOptions(), counters)
        counters.count(choice)
        found[choice.index] += 1
    assert found == {0: 100, 1: 100, 2: 100}


def test_factors_count_all_traffic_of_a_channel() -> None:
    """A channel that carries another queue's messages gets fewer of this one's."""
    counters = Counters()
    both = [dataclasses.replace(member(1), weight=60), dataclasses.replace(member(2), weight=60)]
    for _ in range(10):
        counters.count(choose(both[:1], WorkloadOptions(), counters))
    for _ in range(10):
        choice = choose(both, WorkloadOptions(), counters)
        counters.count(choice)
        assert choice.index == 1


def test_rank_is_looked_at_before_status() -> None:
    high = dataclasses.replace(member(1), channel_rank=1, status=mq.MQCHS_STOPPED)
    assert spread([high, dataclasses.replace(member(2), status=mq.MQCHS_RUNNING)], 10) == {0: 10}
    queue = dataclasses.replace(member(1), queue_rank=1, status=mq.MQCHS_RETRYING)
    assert spread([member(2), queue], 10) == {1: 10}


def test_the_rank_of_channels_goes_before_that_of_queues() -> None:
    assert spread(
        [dataclasses.replace(member(1), channel_rank=1), dataclasses.replace(member(2), queue_rank=9)], 4
    ) == {0: 4}


def test_priority_fails_over() -> None:
    first = dataclasses.replace(member(1), channel_priority=1)
    assert spread([first, member(2)], 10) == {0: 10}
    assert spread([dataclasses.replace(first, status=mq.MQCHS_RETRYING), member(2)], 10) == {1: 10}
    queue = dataclasses.replace(member(1), queue_priority=1)
    assert spread([queue, member(2)], 10) == {0: 10}


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (better, worse)
        for number, better in enumerate([STATUSES[:2], STATUSES[2:7], STATUSES[7:8]])
        for worse in [STATUSES[2:7], STATUSES[7:8], STATUSES[8:]][number:]
    ],
)
def test_the_best_class_of_status_is_kept(better: list[int], worse: list[int]) -> None:
    for status in better:
        for other in worse:
            one, two = dataclasses.replace(member(1), status=other), dataclasses.replace(member(2), status=status)
            assert spread([one, two], 4) == {1: 4}


def test_statuses_of_one_class_share() -> None:
    for group in (STATUSES[:2], STATUSES[2:7], STATUSES[8:]):
        candidates = [dataclasses.replace(member(n), status=status) for n, status in enumerate(group)]
        assert set(spread(candidates, len(group) * 3).values()) == {3}


def test_suspended_queue_managers_get_messages_only_if_all_are() -> None:
    suspended = dataclasses.replace(member(1), is_suspended=True)
    assert spread([suspended, dataclasses.replace(member(2), status=mq.MQCHS_STOPPED)], 10) == {1: 10}
    assert spread([suspended], 10) == {0: 10}


def test_net_priority_is_compared_for_each_queue_manager() -> None:
    slow, fast = member(1), dataclasses.replace(member(1), channel="TO.QM1.FAST", net_priority=2)
    assert spread([slow, fast, member(2)], 10) == {1: 5, 2: 5}


@pytest.mark.parametrize(
    ("queue", "manager", "is_taken"),
    [
        (LOCAL, ANY, True),
        (ANY, LOCAL, False),
        (mq.MQCLWL_USEQ_AS_Q_MGR, LOCAL, True),
        (mq.MQCLWL_USEQ_AS_Q_MGR, ANY, False),
    ],
)
def test_the_local_instance(queue: int, manager: int, is_taken: bool) -> None:
    here = dataclasses.replace(member(1), is_local=True, use_queue=queue)
    found = spread([member(2), here], 10, WorkloadOptions(use_queue=manager))
    assert found == ({1: 10} if is_taken else {0: 5, 1: 5})
    came = WorkloadOptions(use_queue=manager, is_from_cluster_channel=True)
    assert spread([member(2), here], 10, came) == {1: 10}


def test_the_local_instance_uses_no_channel() -> None:
    choice = choose([dataclasses.replace(member(1), is_local=True), member(2)], WorkloadOptions(), Counters())
    assert (choice.outcome, choice.index, choice.channel) == (CHOSEN, 0, "")


def test_each_local_receiver_competes() -> None:
    """Four CLUSRCVRs here and one sender: four of five messages stay."""
    here = [dataclasses.replace(member(1), channel=f"TO.QM1.{n}", is_local=True) for n in range(4)]
    found = spread([*here, member(2)], 100, WorkloadOptions(use_queue=ANY))
    assert found[4] == 20


def test_put_disabled() -> None:
    disabled = dataclasses.replace(member(1), is_put_enabled=False)
    assert spread([disabled, member(2)], 4) == {1: 4}
    assert spread([disabled], 4) == {PUT_INHIBITED: 4}
    here = dataclasses.replace(disabled, is_local=True)
    assert spread([here], 4) == {0: 4}, "a local instance is opened, and its put fails there"
    assert spread([here, member(2)], 4) == {1: 4}, "CLWLUSEQ(LOCAL) needs an enabled queue"


def test_clusters() -> None:
    ours = Candidate("QM1_ID", "TO.QM1", "DEV", "DEV")
    foreign = Candidate("QM2_ID", "TO.QM2", "PROD", "PROD")
    crossed = Candidate("QM3_ID", "TO.QM3", "DEV", "PROD")
    options = WorkloadOptions(frozenset(["DEV"]))
    assert spread([foreign, crossed, ours], 4, options) == {2: 4}
    assert spread([foreign, crossed], 1, options) == {NO_DESTINATION: 1}
    assert spread([], 1, options) == {NO_DESTINATION: 1}


def test_most_recently_used_channels() -> None:
    options = WorkloadOptions(most_recent=2)
    assert spread([member(1), member(2), member(3)], 10, options) == {0: 5, 1: 5}
    counters = Counters()
    counters.count(choose([member(3)], options, counters))
    found = Counter[int]()
    for _ in range(10):
        choice = choose([member(1), member(2), member(3)], options, counters)
        counters.count(choice)
        found[choice.index] += 1
    assert found == {0: 5, 2: 5}


def test_choosing_changes_nothing_and_what_was_found_can_be_kept() -> None:
    counters, candidates = Counters(), [member(1), member(2)]
    assert choose(candidates, WorkloadOptions(), counters) == choose(candidates, WorkloadOptions(), counters)
    kept = eligible(candidates, WorkloadOptions())
    order = []
    for _ in range(4):
        choice = pick(candidates, kept, 5, counters)
        counters.count(choice)
        order.append(choice.channel)
    assert order == ["TO.QM1", "TO.QM2"] * 2
    counters.forget("TO.QM1")
    assert pick(candidates, kept, 5, counters).channel == "TO.QM1"


small = st.integers(0, 1)
any_candidate = st.builds(
    Candidate,
    qmid=st.sampled_from(["QM1_ID", "QM2_ID", "QM3_ID"]),
    channel=st.sampled_from(["TO.QM1", "TO.QM2", "TO.QM3", "TO.QM3.B"]),
    cluster=st.sampled_from(["DEV", "DEV", "DEV", "TEST"]),
    channel_cluster=st.sampled_from(["DEV", "DEV", "DEV", "TEST"]),
    is_local=st.sampled_from([False, False, True]),
    is_put_enabled=st.sampled_from([True, True, False]),
    is_suspended=st.sampled_from([False, False, True]),
    status=st.sampled_from(STATUSES + STATUSES[:2] * 4),
    channel_rank=st.sampled_from([0, 0, 0, 1]),
    channel_priority=small,
    weight=st.sampled_from([50, 50, 25, 75, 1, 99]),
    net_priority=small,
    queue_rank=st.sampled_from([0, 0, 0, 1]),
    queue_priority=small,
    use_queue=st.sampled_from([mq.MQCLWL_USEQ_AS_Q_MGR, ANY, LOCAL]),
)
rounds = st.lists(
    st.tuples(
        st.lists(any_candidate, max_size=6),
        st.sampled_from([ANY, LOCAL]),
        st.sampled_from([1, 2, 999999999]),
        st.booleans(),
        st.sampled_from([frozenset(["DEV"]), frozenset(["DEV", "TEST"])]),
        st.integers(1, 4),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=600, deadline=None)
@given(rounds)
def test_the_naive_twin_chooses_the_same(
    given_rounds: list[tuple[list[Candidate], int, int, bool, frozenset[str], int, bool]],
) -> None:
    counters, twin = Counters(), NaiveChooser()
    for candidates, use_queue, most_recent, came, clusters, times, is_reset in given_rounds:
        if is_reset:
            counters.reset_factors()
            twin.reset()
        for _ in range(times):
            choice = choose(candidates, WorkloadOptions(clusters, use_queue, most_recent, came), counters)
            counters.count(choice)
            wanted = twin.choose(candidates, clusters, use_queue, most_recent, came)
            found = choice.index if choice.outcome == CHOSEN else choice.outcome
            assert found == (getattr(mq, wanted) if isinstance(wanted, str) else wanted)
