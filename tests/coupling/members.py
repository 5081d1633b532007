"""Members of a group that submit programs one by one, for tests."""

from __future__ import annotations

from tests.coupling.facility_under_test import FacilityUnderTest

from ostler.model.coupling import programs as p
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, JoinAnswer, PutAnswer
from ostler.model.coupling.entries import Entry, make_id

SIZE = 64 << 20


def entry_with(
    message_id: bytes = bytes(24),
    correlation_id: bytes = bytes(24),
    group_id: bytes = bytes(24),
    body: bytes = b"body",
    priority: int = 5,
) -> Entry:
    """Return an entry with these identifiers; its own identifier is for the member to set."""
    md = bytearray(364)
    md[48:72], md[72:96], md[324:348] = message_id, correlation_id, group_id
    return Entry(b"", priority, bytes(md), b"", body)


class TestMember:
    """A member on a link of its own, joined and connected to structure APPL1."""

    __test__ = False

    def __init__(self, facility: FacilityUnderTest, number: int, link: int = 0, start: int = 1) -> None:
        self.facility = facility
        self.number = number
        self.link = link or number
        self.start = start
        self.fence = 0
        self.last_id = 0

    def join(self) -> Answer:
        answer = self.facility.run(self.link, p.JoinProgram(self.number, self.start, f"QM{self.number}"))
        if isinstance(answer, JoinAnswer):
            self.fence = answer.fence
        return answer

    def run(self, program: p.Program) -> Answer:
        program.fence = self.fence
        return self.facility.run(self.link, program)

    def ok(self, program: p.Program) -> Answer:
        answer = self.run(program)
        assert answer.status == cf.OK, cf.STATUS_NAMES[answer.status]
        return answer

    def new_id(self) -> bytes:
        self.last_id += 1
        return make_id(self.number, self.start, self.last_id)

    def put(self, queue: str, entry: Entry | None = None, unit: bytes = b"", structure: str = "APPL1") -> PutAnswer:
        entry = entry_with() if entry is None else entry
        entry.id = self.new_id()
        answer = self.ok(p.PutProgram(structure, queue, entry, unit))
        assert isinstance(answer, PutAnswer)
        return answer


def join_members(facility: FacilityUnderTest, count: int) -> list[TestMember]:
    """Return members with the numbers and links 1, 2, ... Events of their coming are gone."""
    members = [TestMember(facility, number) for number in range(1, count + 1)]
    for member in members:
        assert member.join().status == cf.OK
        member.ok(p.ConnectProgram("APPL1", SIZE, 5))
    facility.events()
    return members
