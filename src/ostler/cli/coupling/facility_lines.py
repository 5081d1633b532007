"""What dspcf shows of a facility, whichever engine it has."""

from __future__ import annotations

from collections.abc import Iterator

from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, MembersAnswer, MemberStatus, StatusAnswer, StructureStatus


def facility_lines(status: Answer, members: Answer) -> Iterator[str]:
    """Yields the lines below the name of a facility."""
    assert isinstance(status, StatusAnswer)
    assert isinstance(members, MembersAnswer)
    yield f"   IDENTITY({status.facility.hex().upper()})"
    for structure in status.structures:
        yield structure_line(structure)
    for member in members.members:
        yield _member_line(member)


def structure_line(status: StructureStatus) -> str:
    """Returns the line of one structure, with its fullness."""
    percent = status.used_bytes * 100 // status.limit_bytes if status.limit_bytes else 0
    connected = ",".join(str(number) for number in status.members)
    return (
        f"   CFSTRUCT({status.name}) STATUS({cf.STRUCTURE_STATES[status.state]}) CFLEVEL({status.level}) "
        f"SIZEMAX({status.size_bytes >> 10}) SIZEUSED({percent}) ENTSUSED({status.entries}) "
        f"OFFLOADED({status.offloaded}) QUEUES({status.queues}) MEMBERS({connected})"
    )


def _member_line(status: MemberStatus) -> str:
    recoverer = f" RECOVERER({status.recoverer})" if status.recoverer else ""
    return (
        f"   MEMBER({status.number}) QMNAME({status.name}) STATUS({cf.MEMBER_STATES[status.state]}) "
        f"STARTS({status.start}) INFLIGHT({status.in_flight}) INDOUBT({status.in_doubt}) COUNT({status.count})"
        f"{recoverer}"
    )
