"""The link of a member to the coupling facility: an agent on a link of the reactor, and the port of the engine over it.

    FacilityPort    lives as long as the queue manager: connects, joins, connects again after a pause
    FacilityAgent   one link: CF_HELLO, JOIN, then programs and their answers

Programs of one pass of the reactor go out in one write. Those that need records durable are gated like replies to
applications, so one force of the log serves both.
"""

from __future__ import annotations

import threading
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, final

from mypy_extensions import i64, mypyc_attr

from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, JoinAnswer
from ostler.model.coupling.port import Continuation, CouplingPort, EventListener
from ostler.model.coupling.programs import JoinProgram, LeaveProgram, Program
from ostler.server.net.link import CLOSING, ServerLink
from ostler.server.net.link_agent import LinkAgent
from ostler.server.net.timers import Timer
from ostler.wire.coupling_answers import decode_answer
from ostler.wire.coupling_frames import (
    COUPLING_FRAME_BYTES_MAX,
    CouplingHello,
    decode_coupling_hello,
    decode_event,
)
from ostler.wire.coupling_programs import encode_program
from ostler.wire.frames import CF_EVENT, CF_HELLO, CF_PROGRAM, FAREWELL, HEARTBEAT, REPLY, MalformedFrame
from ostler.wire.payload_codec import PayloadReader
from ostler.wire.replies import decode_reason

if TYPE_CHECKING:
    from ostler.server.net.reactor import Reactor

_PAUSE_MS_FIRST: Final = 50
_PAUSE_MS_MAX: Final = 5_000
_RECOVERY_PAUSE_MS: Final = 100  # peers recover this member: that takes no longer
_TICK_MS: Final = 1_000
_JOIN_REQUEST: Final = 1
_MILLISECONDS: Final = 1_000


@mypyc_attr(allow_interpreted_subclasses=True)
class FacilityConnector(metaclass=ABCMeta):
    """Makes connections to the facility, and writes messages to the operator."""

    @abstractmethod
    def connect(self, then: Callable[[ServerLink], None], failed: Callable[[str], None]) -> None:
        """Connect, and call one of both later, on the reactor's thread."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Write an operator message."""

    @abstractmethod
    def on_tick(self) -> None:
        """Called about once a second, in a turn on the reactor's thread."""


@final
class Submitted:
    """A program that is not sent yet."""

    def __init__(self, program: Program, after_lsn: i64, continuation: Continuation | None) -> None:
        self.program = program
        self.after_lsn: i64 = after_lsn
        self.continuation = continuation


@final
class FacilityTimer(Timer):
    """Ticks once a second, and connects again after pauses."""

    def __init__(self, port: FacilityPort, is_tick: bool) -> None:
        super().__init__()
        self.port = port
        self.is_tick = is_tick

    def fire(self, now_ms: i64) -> None:
        if self.is_tick:
            self.port.on_tick(now_ms)
        else:
            self.port.connect()


class CouplingAgent(LinkAgent):
    """One link to a facility of any engine. `fence` is 0 until the member has joined."""

    def __init__(self, reactor: Reactor, link: ServerLink) -> None:
        super().__init__(reactor)
        self.link = link
        self.fence: i64 = 0
        self.refusal: i64 = cf.OK  # with which JOIN was refused
        self._outbox: list[Submitted] = []
        self._thread: i64 = threading.get_ident()  # the reactor's

    def begin(self) -> None:
        """Say hello: the link is new."""
        raise NotImplementedError

    def submit(self, submitted: Submitted) -> None:
        """Send a program at the end of this pass, or wake the reactor for it."""
        self._outbox.append(submitted)
        self.mark()
        if threading.get_ident() != self._thread:
            self.reactor.wake()

    def send_program(self, data: bytes, lsn: i64) -> None:
        """Send a program when the log is durable up to an LSN. Those that wait do not overtake each other."""
        reactor = self.reactor
        link = self.link
        if lsn == 0 or lsn <= reactor.released_lsn or (link.gated == 0 and lsn <= reactor.durable_lsn()):
            link.send(data)
        else:
            reactor.send_when_durable(lsn, link, data)

    def take_asked(self) -> list[Continuation | None]:
        """Return the continuations of programs without an answer, and forget them."""
        raise NotImplementedError

    def answer_lost(self) -> None:
        """Answer all programs that have no answer: the link is gone."""
        asked = self.take_asked()
        outbox = self._outbox
        self._outbox = []
        for continuation in asked:
            if continuation is not None:
                continuation.answered(Answer(cf.LINK_LOST))
        for each in outbox:
            if each.continuation is not None:
                each.continuation.answered(Answer(cf.LINK_LOST))

    def has_instance(self) -> bool:
        return False

    def fire(self, now_ms: i64) -> None:
        """Do nothing: the timers are the port's."""


class FacilityPort(CouplingPort):
    """The port of one member. All methods are called in turns of the engine; from any thread only `submit`."""

    pause_ms_max = _PAUSE_MS_MAX

    def __init__(self, reactor: Reactor, connector: FacilityConnector, number: i64, start: i64, name: str) -> None:
        self.reactor = reactor
        self.connector = connector
        self.number: i64 = number
        self.start: i64 = start
        self.name = name  # of the queue manager
        self.facility_name = ""  # wanted; empty: any
        self.listener: EventListener | None = None
        self.agent: CouplingAgent | None = None
        self.is_closed = False
        self._unsent: list[Submitted] = []  # submitted without a link
        self._pause_ms: i64 = _PAUSE_MS_FIRST
        self._retry = FacilityTimer(self, False)
        self._tick = FacilityTimer(self, True)
        self._refusal: i64 = 0  # the last status of JOIN that the operator was told

    # -- the port ------------------------------------------------------------------------------------------------------

    def submit(self, program: Program, after_lsn: i64, continuation: Continuation | None) -> None:
        agent = self.agent
        if agent is not None and agent.fence != 0:
            agent.submit(Submitted(program, after_lsn, continuation))
            return
        self._unsent.append(Submitted(program, after_lsn, continuation))
        if len(self._unsent) == 1:
            self.reactor.post(self.answer_unsent)

    def is_joined(self) -> bool:
        agent = self.agent
        return agent is not None and agent.fence != 0

    def fence(self) -> i64:
        agent = self.agent
        return agent.fence if agent is not None else 0

    def listen(self, listener: EventListener) -> None:
        self.listener = listener

    def answer_unsent(self) -> None:
        """Answer programs that were submitted while there was no link."""
        unsent = self._unsent
        self._unsent = []
        for each in unsent:
            continuation = each.continuation
            if continuation is not None:
                continuation.answered(Answer(cf.LINK_LOST))

    # -- the link ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Connect for the first time, and tick from now on. On the reactor's thread."""
        self.reactor.wheel.add(self._tick, self.reactor.now_ms + _TICK_MS)
        self.connect()

    def connect(self) -> None:
        if self.agent is None and not self.is_closed:
            self.connector.connect(self.on_connected, self.on_not_connected)

    def on_connected(self, link: ServerLink) -> None:
        """Use a new link: say hello."""
        if self.is_closed or self.agent is not None:
            link.sock.close()
            return
        agent = self.new_agent(link)
        self.agent = agent
        link.agent = agent
        self.reactor.add(link)
        agent.begin()

    def new_agent(self, link: ServerLink) -> CouplingAgent:
        return FacilityAgent(self.reactor, self, link)

    def on_not_connected(self, text: str) -> None:
        self.retry(self._pause_ms, f"AMQ7493W: The coupling facility cannot be reached: {text}")

    def retry(self, pause_ms: i64, text: str) -> None:
        """Connect again after a pause."""
        if self.is_closed:
            return
        if text:
            self.connector.note(text)
        self.reactor.wheel.add(self._retry, self.reactor.now_ms + pause_ms)
        self._pause_ms = min(self._pause_ms * 2, self.pause_ms_max)

    def on_joined(self, answer: JoinAnswer) -> None:
        self._pause_ms = _PAUSE_MS_FIRST
        self._refusal = 0
        self.answer_unsent()
        self.connector.note(f"AMQ7494I: Queue manager {self.name} has joined its queue-sharing group.")
        if self.listener is not None:
            self.listener.on_joined(answer)

    def on_refused(self, status: i64) -> None:
        """Note why the facility does not let this member join."""
        if status != self._refusal:
            self._refusal = status
            name = cf.STATUS_NAMES[status]
            self.connector.note(
                f"AMQ7495W: The coupling facility did not let queue manager {self.name} join as member {self.number}: "
                f"{name}. It is tried again. MEMBER_ACTIVE: another queue manager runs with this number. STALE_START: "
                "the log of this queue manager is older than what the facility knows of it."
            )

    def on_closed(self, agent: CouplingAgent, why: str) -> None:
        """The link has ended."""
        if self.agent is not agent:
            return
        self.agent = None
        was_joined: bool = agent.fence != 0
        agent.fence = 0
        agent.answer_lost()
        self.answer_unsent()
        if was_joined and self.listener is not None:
            self.listener.on_link_lost()
            self.answer_unsent()
        if agent.refusal == cf.IN_RECOVERY or agent.refusal == cf.MEMBER_ACTIVE:
            self.retry(_RECOVERY_PAUSE_MS, "")
        else:
            text = f"AMQ7493W: The link to the coupling facility is lost: {why}. It is connected again."
            self.retry(self._pause_ms, text if was_joined else "")

    def on_tick(self, now_ms: i64) -> None:
        if not self.is_closed:
            self.reactor.wheel.add(self._tick, now_ms + _TICK_MS)
            self.connector.on_tick()

    def leave(self, continuation: Continuation) -> bool:
        """Leave the group in order. Returns False when there is no link."""
        agent = self.agent
        if agent is None or agent.fence == 0:
            return False
        agent.submit(Submitted(LeaveProgram(), 0, continuation))
        return True

    def close(self) -> None:
        """Connect no more."""
        self.is_closed = True
        self.reactor.wheel.remove(self._retry)
        self.reactor.wheel.remove(self._tick)


@final
class FacilityAgent(CouplingAgent):
    """One link to the facility."""

    def __init__(self, reactor: Reactor, port: FacilityPort, link: ServerLink) -> None:
        super().__init__(reactor, link)
        self.port = port
        self._asked: dict[int, Continuation | None] = {}  # by request number
        self._last_request: i64 = _JOIN_REQUEST

    # -- sending -------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self.link.send(CouplingHello(self.port.facility_name, self.port.name).encode(_JOIN_REQUEST))

    def pump(self) -> None:
        outbox = self._outbox
        self._outbox = []
        for each in outbox:
            self._last_request += 1
            number: i64 = self._last_request & 0x7FFFFFFF
            self._asked[number] = each.continuation
            each.program.fence = self.fence
            self.send_program(encode_program(each.program, number), each.after_lsn)

    # -- receiving -----------------------------------------------------------------------------------------------------

    def receive_frame(self, type: i64, request: i64, buffer: bytes, start: i64, end: i64) -> None:
        if type == CF_PROGRAM | REPLY:
            answer = decode_answer(buffer, start, end)
            if self.fence == 0:
                self._on_join_answer(answer)
                return
            if request not in self._asked:
                raise MalformedFrame(f"an answer to request {request}, which was not made")
            continuation = self._asked.pop(request)
            if continuation is not None:
                continuation.answered(answer)
        elif type == CF_EVENT:
            listener = self.port.listener
            if self.fence != 0 and listener is not None:
                listener.on_event(decode_event(buffer, start, end))
        elif type == CF_HELLO | REPLY:
            self._on_hello(buffer, start, end)
        elif type == FAREWELL:
            self.link.close(decode_reason(PayloadReader(buffer, start, end))[1])
        elif type != HEARTBEAT | REPLY:
            raise MalformedFrame(f"a frame of type {type} from a coupling facility")

    def _on_hello(self, buffer: bytes, start: i64, end: i64) -> None:
        hello = decode_coupling_hello(buffer, start, end, True)
        seconds: i64 = max(hello.heartbeat_ms // _MILLISECONDS, 1)
        self.link.apply_negotiated(COUPLING_FRAME_BYTES_MAX, COUPLING_FRAME_BYTES_MAX, seconds)
        port = self.port
        self.link.send(encode_program(JoinProgram(port.number, port.start, port.name), _JOIN_REQUEST))

    def _on_join_answer(self, answer: Answer) -> None:
        if isinstance(answer, JoinAnswer):
            self.fence = answer.fence
            self.port.on_joined(answer)
            return
        self.refusal = answer.status
        self.port.on_refused(answer.status)
        self.link.close_after_flush(f"the facility has refused the member: {cf.STATUS_NAMES[answer.status]}")

    # -- the end -------------------------------------------------------------------------------------------------------

    def take_asked(self) -> list[Continuation | None]:
        asked = list(self._asked.values())
        self._asked = {}
        return asked

    def on_closed(self, why: str) -> None:
        self.port.on_closed(self, why)

    def on_internal_error(self, error: Exception) -> None:
        self.port.connector.note(
            f"AMQ6109E: The link to the coupling facility ended because of an internal error: {error!r}."
        )
        if self.link.state < CLOSING:
            self.link.close(f"an internal error: {error!r}")
