"""Resynchronization: resolves in-doubt batches by the LUWID that the partner committed last.

If the partner cannot be reached any more, an operator resolves them (RESOLVE CHANNEL).
"""

from __future__ import annotations

from ostler.channel.sync_records import SENDING, InDoubtBatch, SyncRecords, batches_in_doubt, commit_batch
from ostler.engine.core import Engine
from ostler.engine.syncpoint import back_out_unit
from ostler.wire.channel_frames import ChannelHello


def describe_position(engine: Engine, records: SyncRecords, hello: ChannelHello) -> None:
    """Fill in the position of a sending end: the sequence number and LUWID committed last, and the in-doubt batches."""
    record = records.find(SENDING, hello.channel)
    hello.sequence = record.sequence
    hello.luwid = record.luwid
    hello.is_reset = record.is_reset
    hello.batch_size = min(hello.batch_size, max(1, engine.uncommitted_max - 1))
    hello.in_doubt = [(each.luwid, each.last) for each in batches_in_doubt(engine, hello.channel)]


def resynchronize(engine: Engine, records: SyncRecords, name: str, agreed: ChannelHello) -> str:
    """Commit the in-doubt batches that the partner has, and back out the others.

    Return an operator message if the positions of both ends do not match.
    """
    in_doubt = batches_in_doubt(engine, name)
    for batch in in_doubt:
        if batch.partner != agreed.queue_manager:
            return (
                f"AMQ9526E: Channel {name} is in doubt with queue manager {batch.partner}, and {agreed.queue_manager} "
                f"has answered. Have CONNAME lead to {batch.partner}, or RESOLVE CHANNEL({name}) at {engine.name}."
            )
    if in_doubt and resolve_up_to(engine, records, name, agreed.luwid) < 0:
        return (
            f"AMQ9526E: Channel {name} is in doubt about {len(in_doubt)} batches, and {agreed.queue_manager} "
            f"knows none of them. See what arrived there; RESOLVE CHANNEL({name}) and RESET it at {engine.name}."
        )
    record = records.find(SENDING, name)
    if record.sequence != agreed.sequence:
        return (
            f"AMQ9526E: Message sequence number error for channel {name}: {agreed.queue_manager} has "
            f"{agreed.sequence}, {engine.name} {record.sequence}. See that no message is missing or duplicated, "
            f"then RESET CHANNEL({name}) at {engine.name}."
        )
    return ""


def resolve_up_to(engine: Engine, records: SyncRecords, name: str, luwid: bytes) -> int:
    """Commit the in-doubt batches up to the one with this LUWID, and back out those after it.

    The LUWID of the batch before the first one in doubt backs out all. Return the number of committed batches, or -1
    without any change if the LUWID is unknown.
    """
    in_doubt = batches_in_doubt(engine, name)
    committed = 0 if luwid == records.find(SENDING, name).luwid else -1
    for index, batch in enumerate(in_doubt):
        if batch.luwid == luwid:
            committed = index + 1
    if committed >= 0:
        _resolve(engine, records, in_doubt, committed)
    return committed


def resolve_all(engine: Engine, records: SyncRecords, name: str, is_commit: bool) -> None:
    """Commit or back out all in-doubt batches."""
    in_doubt = batches_in_doubt(engine, name)
    _resolve(engine, records, in_doubt, len(in_doubt) if is_commit else 0)


def _resolve(engine: Engine, records: SyncRecords, in_doubt: list[InDoubtBatch], committed: int) -> None:
    """Commit the oldest `committed` batches, and back out the others."""
    for batch in in_doubt[:committed]:
        commit_batch(engine, records, batch)
    for batch in reversed(in_doubt[committed:]):
        back_out_unit(engine, batch.unit)
