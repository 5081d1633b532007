"""Prepared units of work across restarts, and their treatment by later checkpoints."""

from __future__ import annotations

import pytest
from tests.world.world import World

from ostler.engine.unit_of_work import UnitOfWork
from ostler.model.constants import MQGMO_SYNCPOINT, MQOO_INPUT_SHARED, MQOO_OUTPUT


def with_prepared_gets() -> World:
    """Two messages were got, and the unit of work was prepared."""
    world = World.create()
    world.define_queue("Q")
    application = world.connect()
    out = world.open(application, "Q", MQOO_OUTPUT)
    for body in (b"one", b"two"):
        world.acknowledge(world.put(application, out, body).lsn)
    handle = world.open(application, "Q", MQOO_INPUT_SHARED)
    for _ in range(2):
        world.get(application, handle, MQGMO_SYNCPOINT)
    _, lsn = world.prepare(application, b"xid")
    world.acknowledge(lsn)
    return world


def in_doubt(world: World) -> UnitOfWork:
    (unit,) = world.engine.units_of_work.values()
    return unit


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("orderly", [True, False])
def test_gets_that_end_during_a_checkpoint_after_a_restart(orderly: bool, committed: bool) -> None:
    world = with_prepared_gets()
    if orderly:
        world.end()
    else:
        world.checkpoint()
        world.kill()
    world.restart()
    # The queue has not changed in this life: the checkpoint does not look at it.
    assert world.step_checkpoint() == "begun"
    world.acknowledge(world.resolve(in_doubt(world), committed))
    world.finish_checkpoint()
    left = [] if committed else [b"one", b"two"]
    assert world.bodies("Q") == left
    # The log before the checkpoint is gone now, but what it says of the messages is not.
    for seed in range(5):
        world.lose_power(seed)
        world.restart()
        assert world.bodies("Q") == left
        world.checkpoint()


def test_gets_are_still_in_doubt_after_several_restarts() -> None:
    world = with_prepared_gets()
    for seed in range(4):
        world.checkpoint()
        world.lose_power(seed)
        world.restart()
        assert world.bodies("Q") == []
    world.acknowledge(world.resolve(in_doubt(world), False))
    assert world.bodies("Q") == [b"one", b"two"]


def test_the_first_record_behind_a_checkpoint_may_be_that_of_a_unit() -> None:
    """The log is needed from there on, and not from its very beginning."""
    world = with_prepared_gets()
    for _ in range(2):
        world.checkpoint()  # the unit is written again, and nothing else
    restart_lsn = world.log.writer.restart_lsn
    assert restart_lsn == in_doubt(world).first_lsn > 0
    world.kill()
    world.restart()
    assert in_doubt(world).first_lsn == restart_lsn
