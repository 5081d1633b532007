"""After a cut: what became of the batches that were under way, by what the partner committed last.

When the two cannot meet again, people say what became of them (RESOLVE CHANNEL).
"""

from __future__ import annotations

from ostler.channel.sync_records import SENDING, InDoubtBatch, SyncRecords, batches_in_doubt, commit_batch
from ostler.engine.core import Engine
from ostler.engine.syncpoint import back_out_unit
from ostler.wire.channel_frames import ChannelHello


def describe_position(engine: Engine, records: SyncRecords, hello: ChannelHello) -> None:
    """What a sending end says of itself: what was committed last, and what is in doubt."""
    record = records.find(SENDING, hello.channel)
    hello.sequence = record.sequence
    hello.luwid = record.luwid
    hello.is_reset = record.is_reset
    hello.batch_size = min(hello.batch_size, max(1, engine.uncommitted_max - 1))
    hello.in_doubt = [(each.luwid, each.last) for each in batches_in_doubt(engine, hello.channel)]


def resynchronize(engine: Engine, records: SyncRecords, name: str, agreed: ChannelHello) -> str:
    """Commit what the partner has, and back out what it has not. A text when that does not fit together."""
    doubts = batches_in_doubt(engine, name)
    for batch in doubts:
        if batch.partner != agreed.queue_manager:
            return (
                f"AMQ9526E: Channel {name} is in doubt with queue manager {batch.partner}, and {agreed.queue_manager} "
                f"has answered. Have CONNAME lead to {batch.partner}, or RESOLVE CHANNEL({name}) at {engine.name}."
            )
    if doubts and resolve_up_to(engine, records, name, agreed.luwid) < 0:
        return (
            f"AMQ9526E: Channel {name} is in doubt about {len(doubts)} batches, and {agreed.queue_manager} "
            f"knows none of them. See what arrived there; RESOLVE CHANNEL({name}) and RESET it at {engine.name}."
        )
    record = records.find(SENDING, name)
    if record.sequence != agreed.sequence:
        return (
            f"AMQ9526E: Message sequence number error for channel {name}: {agreed.queue_manager} has "
            f"{agreed.sequence}, {engine.name} {record.sequence}. See that no message is missing or there twice, "
            f"then RESET CHANNEL({name}) at {engine.name}."
        )
    return ""


def resolve_up_to(engine: Engine, records: SyncRecords, name: str, luwid: bytes) -> int:
    """Commit the batches in doubt up to one, which the partner has committed last; back out those behind it.

    The partner may as well have none of them: then it knows the batch before the first. How many are committed;
    -1 when the partner's batch is none of these, and nothing was done.
    """
    doubts = batches_in_doubt(engine, name)
    committed = 0 if luwid == records.find(SENDING, name).luwid else -1
    for index, batch in enumerate(doubts):
        if batch.luwid == luwid:
            committed = index + 1
    if committed >= 0:
        _settle(engine, records, doubts, committed)
    return committed


def resolve_all(engine: Engine, records: SyncRecords, name: str, is_commit: bool) -> None:
    """Commit all batches in doubt, or back them out."""
    doubts = batches_in_doubt(engine, name)
    _settle(engine, records, doubts, len(doubts) if is_commit else 0)


def _settle(engine: Engine, records: SyncRecords, doubts: list[InDoubtBatch], committed: int) -> None:
    """Commit so many of the batches in doubt, the oldest ones, and back out the others."""
    for batch in doubts[:committed]:
        commit_batch(engine, records, batch)
    for batch in reversed(doubts[committed:]):
        back_out_unit(engine, batch.unit)
