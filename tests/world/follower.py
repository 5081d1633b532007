"""A follower: an engine that knows nothing but the journal of another one, and what of both must be equal.

follower = FollowingEngine(world)
...                                 # verbs, commands, checkpoints in the world
assert follower.state() == durable_state(world.engine)
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.world.world_lives import WorldLives

from ostler.engine.core import Engine
from ostler.engine.pubsub.publication_properties import topic_in
from ostler.engine.queue.queue import RETAINED_QUEUE, Queue
from ostler.engine.queue.slots import AVAILABLE, FREE, NONE, PERSISTENT, lasting_flags
from ostler.engine.recovery.replay import JournalReplay
from ostler.engine.unit_of_work import PREPARED, UnitOfWork
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.testing.simulation.crashing_disk import SimulatedDisk

State = dict[str, object]


class FollowingEngine:
    """An engine on an empty disk of its own, fed with every record of a world that has just been created."""

    def __init__(self, world: WorldLives) -> None:
        manager = new_definition(ObjectType.QMGR, world.name, {})
        self.engine = Engine(world.name, SimulatedDisk(), world.engine.journal, manager)
        # Its own buffers are small: it spills when the other one does not.
        self.engine.buffer_bytes_persistent = 10_000
        self._replay = JournalReplay(self.engine)
        self._replay.begin(world.engine.identity, 0, 0)
        self.records = 0
        world.followers.append(self.follow)

    def follow(self, kind: int, lsn: int, payload: bytes) -> None:
        self.records += 1
        self._replay.record(kind, lsn, payload)

    def state(self) -> State:
        return durable_state(self.engine, self._replay.units.values())


def durable_state(engine: Engine, units: Iterable[UnitOfWork] | None = None) -> State:
    """Return everything that must survive: definitions, persistent messages in order with their state, prepared units,
    subscriptions and retained publications."""
    queues = {each.queue_id: each for each in engine.queues_by_id.values() if not each.is_temporary}
    return {
        "definitions": {
            kind.value: {name: each.attributes for name, each in table.items() if not _is_temporary(engine, kind, name)}
            for kind, table in engine.definitions.items()
            if table
        },
        "manager": engine.manager.attributes,
        "messages": {number: _messages(queue) for number, queue in queues.items()},
        "uncommitted": {number: _uncommitted(queue) for number, queue in queues.items()},
        "prepared": {
            unit.number: (unit.xid, _entries(unit))
            for unit in (engine.units_of_work.values() if units is None else units)
            if unit.state == PREPARED
        },
        "subscriptions": sorted(name for name, each in engine.topics.by_name.items() if each.is_durable),
        "retained": _retained(engine),
    }


def _is_temporary(engine: Engine, kind: ObjectType, name: str) -> bool:
    return kind is ObjectType.QLOCAL and engine.queues[name].is_temporary


def _messages(queue: Queue) -> list[tuple[object, ...]]:
    """Return the persistent messages that can be got, in the order of delivery."""
    slots = queue.slots
    found: list[tuple[object, ...]] = []
    slot = slots.first()
    while slot != NONE:
        if slots.flags[slot] & PERSISTENT:
            message = queue.load(slot)
            held = (message.md, message.properties, message.body)
            found.append((message.seq, lasting_flags(slots.flags[slot]), slots.expiries[slot], *held))
        slot = slots.following(slot)
    return found


def _uncommitted(queue: Queue) -> list[tuple[int, int]]:
    """Return sequence numbers and states of persistent messages that belong to units of work."""
    slots = queue.slots
    return sorted(
        (slots.seqs[slot], slots.state(slot))
        for slot in range(len(slots.resident))
        if slots.state(slot) not in (FREE, AVAILABLE) and slots.flags[slot] & PERSISTENT
    )


def _entries(unit: UnitOfWork) -> list[tuple[int, int, bool]]:
    return [(each.queue.queue_id, each.seq, each.is_put) for each in unit.entries if each.is_persistent]


def _retained(engine: Engine) -> dict[str, int]:
    """Return the sequence number of the persistent retained publication of each topic, as the queue has it."""
    queue = engine.queues.get(RETAINED_QUEUE)
    if queue is None:
        return {}
    found: dict[str, int] = {}
    for seq, _, _, _, properties, _ in _messages(queue):
        assert isinstance(properties, bytes)
        assert isinstance(seq, int)
        topic = topic_in(properties)
        assert topic not in found, f"{topic} has two retained publications"
        found[topic] = seq
    return found
