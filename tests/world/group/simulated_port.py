"""The port of a simulated member to a facility in the same process: programs and answers go one step at a time."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ostler.coupling.machine import CouplingMachine
from ostler.coupling.put_get import copy_entry
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, DumpAnswer, GetAnswer, JoinAnswer, ListAnswer
from ostler.model.coupling.events import Event
from ostler.model.coupling.port import Continuation, CouplingPort, EventListener
from ostler.model.coupling.programs import DecideProgram, JoinProgram, Program


class Submitted(NamedTuple):
    program: Program
    after_lsn: int
    continuation: Continuation | None


class Facility:
    """A facility and the links to it."""

    def __init__(self, seed: int = 1) -> None:
        self.machine = CouplingMachine(seed.to_bytes(16, "big"))
        self.late: list[tuple[int, Program]] | None = None  # not None: no fence keeps late programs out
        self.ports: dict[int, SimulatedPort] = {}
        self.decides_early = False  # DECIDE does not wait for the log
        self._links = 0

    def new_link(self, port: SimulatedPort) -> int:
        self._links += 1
        self.ports[self._links] = port
        return self._links

    def cut(self, link: int) -> None:
        self.ports.pop(link, None)
        self.machine.on_link_lost(link)
        self.push()

    def run(self, link: int, program: Program) -> Answer:
        return self.machine.run(link, program)

    def lose_programs(self, link: int, member: int, fence: int, programs: list[Program]) -> None:
        """A link broke before these programs arrived: here they never do."""

    def stir(self) -> None:
        """A step of a day passes."""

    def push(self) -> None:
        for push in self.machine.take_pushes():
            port = self.ports.get(push.link)
            if port is not None:
                port.received.append(push.event)

    def run_late(self) -> None:
        """Run a program of an earlier link as if no fence had been raised."""
        for number, program in self.late or ():
            for link, member in self.machine.state.by_link.items():
                if member.number == number and self.late is not None:
                    self.late.remove((number, program))
                    program.fence = member.fence
                    self.machine.run(link, program)
                    self.push()
                    return

    def tick(self, now_ms: int) -> None:
        self.machine.tick(now_ms)
        self.push()


class SimulatedPort(CouplingPort):
    """What a member sends waits in `outgoing`, what it has not heard yet in `received`."""

    def __init__(self, facility: Facility, number: int, name: str) -> None:
        self.facility = facility
        self.number = number
        self.name = name
        self.link = 0
        self.listener: EventListener | None = None
        self.outgoing: list[Submitted] = []
        self.received: deque[Event | tuple[Continuation | None, Answer]] = deque()
        self.sent: list[Program] = []
        self.durable_lsn = 0
        self._fence = 0

    # -- the port

    def submit(self, program: Program, after_lsn: int, continuation: Continuation | None) -> None:
        if self.facility.decides_early and isinstance(program, DecideProgram):
            after_lsn = 0
        if self.link == 0:
            self.received.append((continuation, Answer(cf.LINK_LOST)))
        else:
            self.outgoing.append(Submitted(program, after_lsn, continuation))

    def is_joined(self) -> bool:
        return self._fence != 0

    def fence(self) -> int:
        return self._fence

    def listen(self, listener: EventListener) -> None:
        self.listener = listener

    # -- the link

    def join(self, start: int) -> int:
        """Connect and join. Returns the status; OK: the listener has been told."""
        self.hear_all()
        link = self.facility.new_link(self)
        answer = self.facility.machine.run(link, JoinProgram(self.number, start, self.name))
        if not isinstance(answer, JoinAnswer):
            self.facility.cut(link)
            return int(answer.status)
        self.link = link
        self._fence = int(answer.fence)
        self.facility.push()
        assert self.listener is not None
        self.listener.on_joined(answer)
        return cf.OK

    def lose(self, told: bool = True, unheard: int = 0) -> None:
        """Cut the link. With `told` the member notices it. The last `unheard` answers on their way are lost with it."""
        if self.link == 0:
            return
        for _ in range(unheard):
            heard = self.received.pop()
            assert isinstance(heard, tuple)
            self.outgoing.append(Submitted(self.sent[-1], 0, heard[0]))
        self.facility.lose_programs(self.link, self.number, self._fence, [each.program for each in self.outgoing])
        self.facility.cut(self.link)
        self.link = 0
        self._fence = 0
        # What was answered is heard; what was not sent or not answered is lost.
        for submitted in self.outgoing:
            if self.facility.late is not None:
                self.facility.late.append((self.number, submitted.program))
            self.received.append((submitted.continuation, Answer(cf.LINK_LOST)))
        self.outgoing = []
        if told:
            self.hear_all()
            assert self.listener is not None
            self.listener.on_link_lost()
            self.hear_all()

    # -- steps

    def next_index(self) -> int:
        """The place of the next program that may be sent, or -1."""
        is_gated = False
        for index, submitted in enumerate(self.outgoing):
            if submitted.after_lsn == 0:
                return index
            if not is_gated and submitted.after_lsn <= self.durable_lsn:
                return index
            is_gated = True
        return -1

    def send_one(self) -> bool:
        """Run the next program in the facility. Its answer is not heard yet."""
        index = self.next_index()
        if index < 0:
            return False
        submitted = self.outgoing.pop(index)
        submitted.program.fence = self._fence
        self.sent.append(submitted.program)
        answer = _copied(self.facility.run(self.link, submitted.program))
        self.received.append((submitted.continuation, answer))
        self.facility.push()
        return True

    def hear_one(self) -> bool:
        """Hear the next answer or event."""
        if not self.received:
            return False
        heard = self.received.popleft()
        if isinstance(heard, Event):
            assert self.listener is not None
            self.listener.on_event(heard)
        elif heard[0] is not None:
            heard[0].answered(heard[1])
        return True

    def hear_all(self) -> None:
        while self.hear_one():
            pass


def _copied(answer: Answer) -> Answer:
    """The entries of an answer are those of the facility: a wire would copy them."""
    if isinstance(answer, GetAnswer) and answer.entry is not None:
        answer.entry = copy_entry(answer.entry, answer.entry.body)
    elif isinstance(answer, DumpAnswer):
        for dumped in answer.entries:
            dumped.entry = copy_entry(dumped.entry, dumped.entry.body)
    elif isinstance(answer, ListAnswer):
        answer.entries = [copy_entry(entry, entry.body) for entry in answer.entries]
    return answer
