"""Two sites judge each other: who is refused, what is a partition, who may begin to work."""

from __future__ import annotations

import pytest

from ostler.model.log_life import Life
from ostler.replica.lag import NO_LIMIT, LagLimits, LagMeter
from ostler.replica.pedigree import Pedigree
from ostler.replica.site_side import MAY, MUST_NOT, MUST_WAIT, SiteSide
from ostler.wire.replica_frames import (
    PURPOSE_DR,
    REFUSED_PARTITIONED,
    REFUSED_QUEUE_MANAGER,
    REFUSED_STATE,
    REFUSED_TERM,
    SITE_ACTIVE,
    SITE_LIVE,
    SITE_PENDING_LIVE,
    SITE_PENDING_RECOVERY,
    SITE_RECOVERY,
    ReplicaHello,
)

NORTH_1 = Life(1, 0, "n", 5, 0)
NORTH_2 = Life(2, 500, "n", 9, 0)
SOUTH_2 = Life(2, 500, "s", 1, 0)
SOUTH_3 = Life(3, 900, "s", 1, 0)


def south(role: int) -> SiteSide:
    return SiteSide("south", "north", frozenset({"s"}), role)


def hello_of_north(role: int, lives: list[Life], end_lsn: int, acknowledged: int) -> ReplicaHello:
    hello = ReplicaHello()
    hello.purpose, hello.group, hello.instance, hello.site_role = PURPOSE_DR, "north", "n", role
    hello.lives, hello.end_lsn, hello.group_lsn = lives, end_lsn, acknowledged
    return hello


@pytest.mark.parametrize("role", [SITE_RECOVERY, SITE_PENDING_LIVE])
def test_a_beginning_is_continued(role: int) -> None:
    own = Pedigree([NORTH_1], 400)
    assert south(role).hear(hello_of_north(SITE_ACTIVE, [NORTH_1], 600, 600), own, 400) == (0, "")
    assert south(role).hear(hello_of_north(SITE_PENDING_RECOVERY, [NORTH_1, NORTH_2], 600, 600), own, 400) == (0, "")


def test_a_tail_that_nobody_was_told_of_is_no_partition() -> None:
    """The old leader of the other site sent more than its successor there knows."""
    site = south(SITE_RECOVERY)
    own = Pedigree([NORTH_1], 800)
    assert site.hear(hello_of_north(SITE_ACTIVE, [NORTH_1, NORTH_2], 600, 600), own, 500) == (0, "")
    assert not site.is_partitioned()


def test_acknowledged_messages_that_the_live_site_lacks_are_a_partition() -> None:
    site = south(SITE_RECOVERY)
    refused, detail = site.hear(
        hello_of_north(SITE_ACTIVE, [NORTH_1, NORTH_2], 600, 600), Pedigree([NORTH_1], 800), 501
    )
    assert (refused, site.fork_lsn) == (REFUSED_PARTITIONED, 500), detail


def test_what_this_site_wrote_itself_may_have_been_acknowledged() -> None:
    """A killed leader has not noted how far its replies went: all that it forced counts."""
    site = south(SITE_RECOVERY)
    own = Pedigree([NORTH_1, SOUTH_2], 700)
    assert site.acknowledged(own, 510) == 700
    refused, _ = site.hear(hello_of_north(SITE_ACTIVE, [NORTH_1, Life(3, 500, "n", 12, 0)], 900, 900), own, 500)
    assert (refused, site.fork_lsn) == (REFUSED_PARTITIONED, 500)


def test_the_sender_sees_the_same_partition() -> None:
    site = south(SITE_ACTIVE)
    own = Pedigree([NORTH_1, SOUTH_2], 700)
    refused, _ = site.hear(hello_of_north(SITE_RECOVERY, [NORTH_1], 650, 650), own, 700)
    assert (refused, site.fork_lsn) == (REFUSED_PARTITIONED, 500)


def test_two_live_sites_are_a_partition_and_the_later_one_does_not_begin() -> None:
    working, starting = south(SITE_ACTIVE), south(SITE_LIVE)
    own = Pedigree([NORTH_1, SOUTH_2], 700)
    assert working.hear(hello_of_north(SITE_LIVE, [NORTH_1], 500, 500), own, 700)[0] == REFUSED_PARTITIONED
    assert (working.is_held, working.reason_to_hold()) == (False, "")
    starting.hear(hello_of_north(SITE_ACTIVE, [NORTH_1, NORTH_2], 700, 700), Pedigree([NORTH_1], 500), 500)
    assert starting.is_held
    assert "makedrsecondary makes this site follow it" in starting.reason_to_hold()
    both = south(SITE_LIVE)
    both.hear(hello_of_north(SITE_LIVE, [NORTH_1], 500, 500), Pedigree([NORTH_1], 500), 500)
    assert not both.is_partitioned()


def test_a_known_partition_does_not_hold_a_site_that_worked() -> None:
    site = south(SITE_LIVE)
    site.fork_lsn = 500
    site.hear(hello_of_north(SITE_ACTIVE, [NORTH_1, NORTH_2], 700, 700), Pedigree([NORTH_1, SOUTH_2], 700), 700)
    assert (site.is_partitioned(), site.is_held) == (True, False)


def test_a_side_that_was_given_up_ends_the_partition() -> None:
    site = south(SITE_ACTIVE)
    site.fork_lsn = 500
    own = Pedigree([NORTH_1, SOUTH_2], 700)
    assert site.hear(hello_of_north(SITE_RECOVERY, [NORTH_1], 600, 600), own, 700)[0] == REFUSED_PARTITIONED
    site.hear(hello_of_north(SITE_RECOVERY, [], 0, 0), own, 700)
    assert not site.is_partitioned()


def test_a_leader_that_was_replaced_at_its_site_is_refused_and_parts_nothing() -> None:
    site = south(SITE_RECOVERY)
    own = Pedigree([NORTH_1, NORTH_2], 800)
    assert site.hear(hello_of_north(SITE_ACTIVE, [NORTH_1], 700, 700), own, 800)[0] == REFUSED_TERM
    assert not site.is_partitioned()


def test_a_leader_that_was_replaced_learns_it_from_the_other_site_and_parts_nothing() -> None:
    """It slept while another instance of its site was elected, and its log is older than the copy's."""
    site = SiteSide("south", "north", frozenset({"s", "t"}), SITE_ACTIVE)
    own = Pedigree([NORTH_1, SOUTH_2], 700)
    later = Life(3, 650, "t", 8, 0)
    refused, detail = site.hear(hello_of_north(SITE_RECOVERY, [NORTH_1, SOUTH_2, later], 900, 900), own, 650)
    assert (refused, site.is_partitioned()) == (REFUSED_TERM, False), detail
    # The same instance cannot lead twice at once: it has lost what it wrote, and a person decides.
    site.hear(hello_of_north(SITE_RECOVERY, [NORTH_1, SOUTH_2, Life(3, 650, "s", 8, 0)], 900, 900), own, 650)
    assert site.is_partitioned()


def test_strangers_and_questions_are_refused() -> None:
    site = south(SITE_RECOVERY)
    own = Pedigree([NORTH_1], 400)
    stranger = hello_of_north(SITE_ACTIVE, [NORTH_1], 400, 400)
    stranger.group = "west"
    assert site.hear(stranger, own, 400)[0] == REFUSED_QUEUE_MANAGER
    assert site.hear(hello_of_north(SITE_RECOVERY, [NORTH_1], 400, 400), own, 400)[0] == REFUSED_STATE
    assert south(SITE_ACTIVE).hear(hello_of_north(SITE_RECOVERY, [NORTH_1], 400, 400), own, 400)[0] == REFUSED_STATE


@pytest.mark.parametrize(
    ("role", "lives", "end_lsn", "kind", "word"),
    [
        (SITE_ACTIVE, [NORTH_1], 400, MUST_NOT, "Run makedrsecondary there first"),
        (SITE_LIVE, [NORTH_1], 400, MUST_NOT, "--force"),
        (SITE_PENDING_RECOVERY, [NORTH_1], 450, MUST_WAIT, "sends the rest"),
        (SITE_RECOVERY, [NORTH_1], 400, MAY, "nothing that is not here"),
        (SITE_RECOVERY, [NORTH_1], 300, MAY, "nothing that is not here"),
        (SITE_RECOVERY, [NORTH_1], 450, MUST_NOT, "Run makedrprimary there"),
    ],
)
def test_who_may_begin_to_work(role: int, lives: list[Life], end_lsn: int, kind: str, word: str) -> None:
    site = south(SITE_RECOVERY)
    own = Pedigree([NORTH_1], 400)
    site.hear(hello_of_north(role, lives, end_lsn, end_lsn), own, 400)
    answer = site.may_work(own, True, False)
    assert (answer.kind, word in answer.reason) == (kind, True), answer.reason
    assert site.may_work(own, True, True).kind == MAY
    assert site.may_work(own, False, False).kind == MAY


def test_lag_is_measured_in_seconds_and_bounds_replies() -> None:
    meter = LagMeter()
    for second in range(5):
        meter.note(float(second), 100 * (second + 1), 0)
    assert meter.seconds(5.0) == 5.0
    assert meter.reach(1.0, 2) == NO_LIMIT
    assert meter.reach(5.0, 2) == 300
    meter.note(5.0, 600, 300)
    assert (meter.seconds(5.0), meter.reach(5.0, 2)) == (2.0, NO_LIMIT)
    meter.note(6.0, 600, 600)
    assert meter.seconds(7.0) == 0.0


def test_limits_are_exceeded_in_bytes_or_in_seconds() -> None:
    assert not LagLimits(NO_LIMIT, NO_LIMIT, False).is_exceeded(1 << 40, 1e9)
    assert LagLimits(100, NO_LIMIT, False).is_exceeded(101, 0.0)
    assert not LagLimits(100, 5, True).is_exceeded(100, 5.0)
    assert LagLimits(100, 5, True).is_exceeded(0, 5.1)
