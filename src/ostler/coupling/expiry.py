"""Messages that have expired while no member is connected.

Members remove what has expired, with the reports and records that belong to it. Without members the facility does it
for messages that need neither: those that are not persistent and ask for no report of their expiry.
"""

from __future__ import annotations

from librt.strings import read_i32_le
from mypy_extensions import i64

from ostler.coupling.facility_state import FacilityState
from ostler.coupling.stored import StoredEntry
from ostler.engine.events.reports import EXPIRATION_OPTIONS
from ostler.engine.message.message import REPORT_AT
from ostler.model.coupling import terms as cf


def drop_expired(state: FacilityState, wall_ms: i64) -> i64:
    """Remove them. Returns the time at which the next one expires, in milliseconds of the wall clock; -1: none."""
    next_ms: i64 = -1
    for structure in state.structures.values():
        if structure.refusal() != cf.OK:
            continue
        for header in structure.headers.values():
            for stored in header.committed.all():
                expiry_ms: i64 = stored.entry.expiry_ms
                if expiry_ms == 0 or not _needs_no_member(stored):
                    continue
                if expiry_ms <= wall_ms:
                    state.remove_entry(structure, header, stored)
                elif next_ms < 0 or expiry_ms < next_ms:
                    next_ms = expiry_ms
    return next_ms


def _needs_no_member(stored: StoredEntry) -> bool:
    entry = stored.entry
    report: i64 = i64(read_i32_le(entry.md, REPORT_AT))
    return entry.flags & cf.PERSISTENT == 0 and report & EXPIRATION_OPTIONS == 0
