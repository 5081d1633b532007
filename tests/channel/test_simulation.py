"""Simulations of two queue managers with channels both ways and faults, each derived from one seed.

A failure names its seed, which reproduces the simulation.
"""

from __future__ import annotations

from random import Random

import pytest
from tests.world.channel_account import CERTAIN, Account
from tests.world.channel_agent import SimulatedAgent
from tests.world.channel_world import ChannelWorld

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
    assert sum(world.resolves for world in worlds) > 3


@pytest.mark.stress
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(4))
def test_thousands_of_worlds(part: int) -> None:
    for seed in range(10_000 + part, 14_000, 4):
        live_through(seed, 500)


class Step:
    """A world without chance: its channel from A to B, one thing at a time."""

    def __init__(self) -> None:
        self.world = ChannelWorld(1, {"BATCHINT": 0, "BATCHHB": 0, "DISCINT": 0, "BATCHSZ": 5, "MAXMSGL": 4_194_304})
        self.here, self.there = self.world.sites

    def put(self) -> None:
        """A persistent message, for certain."""
        application = self.here.applications[0]
        before = len(self.here.outgoing.sent)
        while not any(message.is_persistent for message in list(self.here.outgoing.sent.values())[before:]):
            application.put(Random(len(self.here.outgoing.sent)), False)
        self.here.force()

    def call(self) -> tuple[SimulatedAgent, SimulatedAgent]:
        """The sending end and the receiving one, which have agreed."""
        self.world.connect(0)
        sender, receiver = self.here.agents[-1], self.there.agents[-1]
        carry(sender, receiver)
        self.there.force()
        carry(receiver, sender)
        return sender, receiver

    def end(self) -> None:
        self.world.come_to_rest()
        self.world.check()


def carry(one: SimulatedAgent, other: SimulatedAgent) -> None:
    """What an end has sent arrives."""
    while one.line.can_transmit():
        one.line.transmit(None)
    while other.can_receive():
        other.receive(None)


def test_what_was_committed_is_not_told_before_it_is_durable() -> None:
    step = Step()
    step.put()
    sender, receiver = step.call()
    step.here.force()
    carry(sender, receiver)
    assert step.here.units_in_doubt() == 1
    assert receiver.receiver is not None
    assert receiver.receiver.batches == {}, "it was committed"
    # The line is cut before the log of the receiving side is forced; the next one is up soon.
    step.here.lost(sender)
    step.world.connect(0)
    again, anew = step.here.agents[-1], step.there.agents[-1]
    carry(again, anew)
    carry(anew, again)
    assert step.here.units_in_doubt() == 1, "the sending side knows more than the log of the other one"
    step.there.crash(Random(1), "kill")
    step.end()


def test_a_connection_that_was_given_up_commits_nothing_more() -> None:
    step = Step()
    step.put()
    sender, receiver = step.call()
    step.here.force()
    sender.line.transmit(None)
    # All is on its way, with the question whether to commit, when the sending side thinks that the line is cut.
    step.here.lost(sender)
    step.call()
    # The other side has said that it has nothing, and it is sent again.
    while receiver.can_receive():
        receiver.receive(None)
    step.end()


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
