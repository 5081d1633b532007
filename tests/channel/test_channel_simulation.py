"""Two queue managers, channels both ways, and all the trouble there can be: each world from one number.

A world that goes wrong names its number; the same number gives the same world.
"""

from __future__ import annotations

import pytest

from ostler.testing.channel_account import CERTAIN, Account
from ostler.testing.channel_world import ChannelWorld

IN_A_ROW = 10


def live_through(seed: int, steps: int) -> ChannelWorld:
    world = ChannelWorld(seed)
    try:
        world.run(steps)
    except BaseException as error:
        error.add_note(f"world {seed} of {steps} steps went wrong after {len(world.done)}: {world.done[-12:]}")
        raise
    return world


@pytest.mark.parametrize("first", range(0, 150, IN_A_ROW))
def test_exactly_once_whatever_happens(first: int) -> None:
    arrived = 0
    for seed in range(first, first + IN_A_ROW):
        world = live_through(seed, 300)
        arrived += sum(site.outgoing.counts()[1] for site in world.sites)
    assert arrived > 100


def test_the_worlds_have_trouble_enough() -> None:
    worlds = [live_through(seed, 300) for seed in range(200, 215)]
    assert sum(world.crashes for world in worlds) > 20
    assert sum(world.cuts for world in worlds) > 20


@pytest.mark.stress
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(4))
def test_thousands_of_worlds(part: int) -> None:
    for seed in range(10_000 + part, 14_000, 4):
        live_through(seed, 500)


class TestAccount:
    """What the worlds are held against finds fault where there is some."""

    @staticmethod
    def account(*bodies: bytes, is_fast: bool = False) -> Account:
        account = Account(is_fast)
        for body in bodies:
            account.committed([account.put(body, True, ("application",), (body,))], 1)
        account.durable(1)
        assert all(message.state == CERTAIN for message in account.sent.values())
        return account

    def test_all_is_well(self) -> None:
        account = self.account(b"1", b"2")
        account.got("IN", b"1")
        account.got("IN", b"2")
        account.check()

    def test_one_is_lost(self) -> None:
        account = self.account(b"1", b"2")
        account.got("IN", b"1")
        with pytest.raises(AssertionError, match="lost"):
            account.check()

    def test_one_comes_twice(self) -> None:
        account = self.account(b"1")
        account.got("IN", b"1")
        account.got("DLQ", b"1")
        with pytest.raises(AssertionError, match="twice"):
            account.check()

    def test_two_come_in_the_wrong_order(self) -> None:
        account = self.account(b"1", b"2")
        account.got("IN", b"2")
        account.got("IN", b"1")
        with pytest.raises(AssertionError, match="came after"):
            account.check()

    def test_one_was_backed_out(self) -> None:
        account = self.account()
        account.put(b"1", True, (), ())
        account.got("IN", b"1")
        with pytest.raises(AssertionError, match="backed out"):
            account.check()

    def test_half_a_unit_arrives(self) -> None:
        account = self.account()
        account.committed([account.put(body, True, (), ("unit",)) for body in (b"1", b"2")], 2)
        account.sender_crashed(1)
        account.got("IN", b"2")
        with pytest.raises(AssertionError, match="only a part"):
            account.check()

    @pytest.mark.parametrize("is_fast", [True, False])
    def test_what_is_not_persistent_may_be_lost_by_a_crash_or_a_fast_cut(self, is_fast: bool) -> None:
        account = self.account(is_fast=is_fast)
        account.committed([account.put(b"1", False, (), ())], 0)
        with pytest.raises(AssertionError, match="lost"):
            account.check()
        account.cut()
        if is_fast:
            account.check()
        else:
            with pytest.raises(AssertionError, match="lost"):
                account.check()
        account.crashed()
        account.check()
