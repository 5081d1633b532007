"""The end of in-doubt batches of this queue manager: by a LUWID, or as an operator says (RESOLVE CHANNEL)."""

from __future__ import annotations

from ostler.channel.sync_records import SENDING, InDoubtBatch, SyncRecords, batches_in_doubt, commit_batch
from ostler.engine.core import Engine
from ostler.engine.syncpoint import back_out_unit
from ostler.engine.unit_of_work import ENDED, UnitOfWork


def can_resolve(engine: Engine, in_doubt: list[InDoubtBatch]) -> bool:
    """Return True unless in-doubt batches have messages of shared queues, and the facility is not there to decide."""
    sharing = engine.sharing
    for batch in in_doubt:
        is_shared: bool = batch.unit.shared_start != 0 or batch.unit.shared is not None
        if is_shared and (batch.unit.shared is None or sharing is None or not sharing.is_joined):
            return False
    return True


def are_resolved(units: list[UnitOfWork]) -> bool:
    """Return True when the coupling facility has decided on all units that are being resolved."""
    for unit in units:
        part = unit.shared
        task = part.end_task if part is not None else None
        if unit.state != ENDED or (task is not None and not task.is_done):
            return False
    return True


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
        end_batches(engine, records, in_doubt, committed)
    return committed


def resolve_all(engine: Engine, records: SyncRecords, name: str, is_commit: bool) -> None:
    """Commit or back out all in-doubt batches."""
    in_doubt = batches_in_doubt(engine, name)
    end_batches(engine, records, in_doubt, len(in_doubt) if is_commit else 0)


def end_batches(engine: Engine, records: SyncRecords, in_doubt: list[InDoubtBatch], committed: int) -> None:
    """Commit the oldest `committed` batches, and back out the others."""
    for batch in in_doubt[:committed]:
        commit_batch(engine, records, batch)
    for batch in reversed(in_doubt[committed:]):
        back_out_unit(engine, batch.unit)
