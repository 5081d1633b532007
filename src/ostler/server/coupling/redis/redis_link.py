"""The links of a member to a facility in Redis: one for programs, one for events, and the port of the engine over them.

    RedisPort     lives as long as the queue manager, with the session that outlives links
    RedisAgent    the link of programs: checks of the server, scripts, JOIN; then programs, pipelined, and beats
    EventsAgent   the link of events. When it breaks, it is made anew while programs go on; then the member looks for
                  what it may have missed

A program that is answered FENCED ends the link: the member was given up, and joins anew.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING, Any, Final

from hiredis import HiredisError, Reader, ReplyError
from mypy_extensions import i64

from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, GetAnswer, JoinAnswer, MembersAnswer, StatusAnswer
from ostler.model.coupling.events import Event, FencedOut, MemberChanged, QueueNotEmpty, StructureChanged
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import (
    JOIN,
    JoinProgram,
    MembersProgram,
    Program,
    QueueProgram,
    StatusProgram,
)
from ostler.server.coupling.facility_link import CouplingAgent, FacilityConnector, FacilityPort, Submitted
from ostler.server.coupling.redis.address import RedisAddress
from ostler.server.coupling.redis.commands import pack
from ostler.server.coupling.redis.event_order import EventOrder
from ostler.server.coupling.redis.redis_errors import RedisFailed
from ostler.server.coupling.redis.replies import decode_published
from ostler.server.coupling.redis.scripts import BEAT_MS, LEASE_MS, scripts
from ostler.server.coupling.redis.server_facts import ASK_FORCES, INFO, ServerFacts, read_facts
from ostler.server.coupling.redis.session import RedisSession, check_loaded, load_commands
from ostler.server.net.link import CLOSING, ServerLink
from ostler.server.net.link_agent import LinkAgent
from ostler.server.net.timers import Timer

if TYPE_CHECKING:
    from ostler.server.net.reactor import Reactor

_PAUSE_MS_MAX: Final = 1_000
_RESUBSCRIBE_MS: Final = 100
_REPLY_BYTES_MAX: Final = 64 << 20
_FRAME_BYTES: Final = 1 << 20
_FENCE_SHIFT: Final = 12  # of seconds: later facilities begin with higher fences
_BEAT: Final = 0
_WAKE: Final = -1
_JOIN_REQUEST: Final = 1

# What a timer is for.
_FOR_BEAT: Final = 0
_FOR_WAKES: Final = 1
_FOR_EVENTS: Final = 2


class RedisPort(FacilityPort):
    """The port of one member over Redis. The group's name is that of the facility, unless the address has another."""

    pause_ms_max = _PAUSE_MS_MAX

    def __init__(
        self,
        reactor: Reactor,
        connector: FacilityConnector,
        number: i64,
        start: i64,
        name: str,
        address: RedisAddress,
        group: str,
    ) -> None:
        super().__init__(reactor, connector, number, start, name)
        self.address = address
        self.session = RedisSession(address.facility or group)
        self._noted = ""

    def new_agent(self, link: ServerLink) -> CouplingAgent:
        self.session.fence = 0
        return RedisAgent(self.reactor, self, link)

    def note_once(self, text: str) -> None:
        """Write an operator message, unless it is the last one again."""
        if text != self._noted:
            self._noted = text
            self.connector.note(text)


class RedisTimer(Timer):
    def __init__(self, agent: RedisAgent, purpose: int) -> None:
        super().__init__()
        self.agent = agent
        self.purpose = purpose

    def fire(self, now_ms: i64) -> None:
        if self.purpose == _FOR_BEAT:
            self.agent.beat(now_ms)
        elif self.purpose == _FOR_WAKES:
            self.agent.send_wakes()
        else:
            self.agent.connect_events()


class ReplyReader:
    """Splits bytes into replies, within a limit for one that does not end."""

    def __init__(self) -> None:
        self._reader = Reader()
        self._bytes = 0

    def feed(self, data: bytes) -> list[Any]:
        """Return the replies that are complete. Raises RedisFailed."""
        replies = []
        self._bytes += len(data)
        try:
            self._reader.feed(data)
            while (reply := self._reader.gets()) is not False:
                replies.append(reply)
                self._bytes = 0
        except HiredisError as error:
            raise RedisFailed(f"the server does not speak Redis: {error}") from None
        if self._bytes > _REPLY_BYTES_MAX:
            raise RedisFailed(f"a reply of more than {_REPLY_BYTES_MAX} bytes")
        return replies


class RedisAgent(CouplingAgent):
    """The link of programs. Replies have their numbers, because programs that wait for the log go out later."""

    def __init__(self, reactor: Reactor, port: RedisPort, link: ServerLink) -> None:
        super().__init__(reactor, link)
        self.takes_bytes = True
        self.port = port
        self.session = port.session
        self.events: EventsAgent | None = None
        self._reader = ReplyReader()
        self._greetings: list[Any] = []
        self._expected = 0
        self._is_loading = False
        self._facts: ServerFacts | None = None
        self._joined: JoinAnswer | None = None
        self._asked: dict[int, Submitted] = {}
        self._order = EventOrder()
        self._last_request = _JOIN_REQUEST
        self._is_over = False
        self._unanswered = 0  # beats
        self._changes = -1
        self._wakes: dict[tuple[str, str], int] = {}
        self._beats = RedisTimer(self, _FOR_BEAT)
        self._wake_timer = RedisTimer(self, _FOR_WAKES)
        self._events_timer = RedisTimer(self, _FOR_EVENTS)

    # -- the beginning -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        digests = [each.digest for each in scripts().values()]
        commands = _greeting(self.port.address)
        commands += [INFO, ASK_FORCES, pack("SCRIPT", "EXISTS", *digests)]
        self._expected = len(commands)
        self.link.send(b"".join(commands))

    def _on_greeting(self, reply: Any) -> None:
        self._greetings.append(reply)
        if len(self._greetings) < self._expected:
            return
        replies, self._greetings = self._greetings, []
        if self._is_loading:
            check_loaded(replies)
            self._join()
            return
        *greetings, info, forces, known = replies
        for reply in (*greetings, info, known):
            if isinstance(reply, ReplyError):
                raise RedisFailed(f"the server refused the link: {reply}")
        facts = read_facts(info, forces)
        facts.check()
        self._facts = facts
        if facts.warning:
            self.port.note_once(f"AMQ7497W: Redis as coupling facility: {facts.warning}.")
        # From here on the link has no heartbeats of our protocol: beats take their place.
        self.link.apply_negotiated(_FRAME_BYTES, _FRAME_BYTES, 0)
        if 0 not in known:
            self._join()
            return
        commands = load_commands()
        self._is_loading = True
        self._expected = len(commands)
        self.link.send(b"".join(commands))

    def _join(self) -> None:
        assert self._facts is not None
        self._expected = 0
        port = self.port
        program = JoinProgram(port.number, port.start, port.name)
        identity = secrets.token_bytes(cf.IDENTITY_BYTES)
        first_fence = int(time.time()) << _FENCE_SHIFT
        self.link.send(self.session.join(program, _JOIN_REQUEST, self._facts, identity, first_fence))

    def _on_join_reply(self, reply: list[Any]) -> None:
        before = self.session.identity
        answer = self.session.answer(JOIN, reply)
        if not isinstance(answer, JoinAnswer):
            self.refusal = answer.status
            self.port.on_refused(answer.status)
            self.link.close(f"the facility has refused the member: {cf.STATUS_NAMES[answer.status]}")
            return
        if before and before != answer.facility:
            self.port.connector.note(
                "AMQ7498E: The coupling facility in Redis has lost work that it had confirmed, as after a power "
                "failure of its machine. Its structures have failed: recover them (RECOVER CFSTRUCT)."
            )
        self._joined = answer
        self._arm_beat()
        self.connect_events()

    # -- the link of events --------------------------------------------------------------------------------------------

    def connect_events(self) -> None:
        """Connect for events, for the first time or again."""
        if not self._is_over and self.events is None:
            self.port.connector.connect(self._on_events_connected, self._on_events_failed)

    def _on_events_connected(self, link: ServerLink) -> None:
        if self._is_over or self.events is not None:
            link.sock.close()
            return
        self.events = EventsAgent(self.reactor, self, link)
        link.agent = self.events
        self.reactor.add(link)
        self.events.begin()

    def _on_events_failed(self, text: str) -> None:
        if not self._is_over:
            self.reactor.wheel.add(self._events_timer, self.reactor.now_ms + _RESUBSCRIBE_MS)

    def on_events_closed(self) -> None:
        self.events = None
        self._on_events_failed("")

    def on_subscribed(self) -> None:
        """Events come from now on."""
        joined = self._joined
        if joined is None:
            self._look()
            return
        self._joined = None
        self.fence = self.session.fence
        self.port.on_joined(joined)

    def on_published(self, payload: bytes) -> None:
        published = decode_published(payload)
        event = published.event
        if isinstance(event, FencedOut):
            self.link.close("the member was given up")
            return
        if published.wake and isinstance(event, QueueNotEmpty):
            if not self._wakes:
                self.reactor.wheel.add(self._wake_timer, self.reactor.now_ms + cf.WAKE_MS)
            self._wakes[event.structure, event.queue] = published.wake
        if isinstance(event, QueueNotEmpty) and self._order.holds(event, self._asked):
            return
        self._tell(event)

    def _tell(self, event: Event) -> None:
        listener = self.port.listener
        if self.fence != 0 and listener is not None:
            listener.on_event(event)

    def _look(self) -> None:
        """Find out what events would have told."""
        for program in (MembersProgram(), StatusProgram()):
            self.submit(Submitted(program, 0, Looked(self)))
        self.port.connector.on_tick()

    def on_looked(self, answer: Answer) -> None:
        listener = self.port.listener
        if listener is None:
            return
        if isinstance(answer, MembersAnswer):
            for member in answer.members:
                if member.state == cf.MEMBER_FAILED and member.number != self.port.number:
                    listener.on_event(MemberChanged(member.number, member.name, member.state))
        elif isinstance(answer, StatusAnswer):
            for structure in answer.structures:
                if self.port.number in structure.members:
                    listener.on_event(StructureChanged(structure.name, structure.state))

    # -- sending -------------------------------------------------------------------------------------------------------

    def pump(self) -> None:
        outbox = self._outbox
        self._outbox = []
        session = self.session
        for each in outbox:
            self._last_request += 1
            number = self._last_request
            self._asked[number] = each
            each.program.fence = self.fence
            self.send_program(session.command(each.program, number), each.after_lsn)

    def beat(self, now_ms: i64) -> None:
        """Say that this member lives, and see that the server does."""
        if self._is_over or self.port.is_closed:
            return
        self._unanswered += 1
        if self._unanswered > LEASE_MS // BEAT_MS:  # not by the clock: this process may have stood still
            self.link.close(f"the server has not answered for {LEASE_MS // 1000} seconds")
            return
        self.link.send(self.session.beat(_BEAT))
        self._arm_beat()

    def _arm_beat(self) -> None:
        self.reactor.wheel.add(self._beats, self.reactor.now_ms + BEAT_MS)

    def send_wakes(self) -> None:
        """Have the next ones told that wait for queues which still have something."""
        wakes, self._wakes = self._wakes, {}
        for (structure, queue), wake in wakes.items():
            self.link.send(self.session.wake(_WAKE, structure, queue, wake))

    # -- receiving -----------------------------------------------------------------------------------------------------

    def receive_bytes(self, data: bytes) -> None:
        try:
            for reply in self._reader.feed(data):
                if self._is_over:
                    return
                self._on_reply(reply)
        except RedisFailed as error:
            self._fail(str(error))

    def _on_reply(self, reply: Any) -> None:
        if self._expected:
            self._on_greeting(reply)
            return
        if not isinstance(reply, list):
            raise RedisFailed(f"the server answered: {reply}")
        number = reply[0]
        if number > _JOIN_REQUEST:
            self._on_answer(number, reply)
        elif number == _JOIN_REQUEST:
            self._on_join_reply(reply)
        elif reply[1] == cf.FENCED:
            self.link.close("the member was given up")
        elif number == _BEAT:
            self._on_beat(reply)

    def _on_answer(self, number: int, reply: list[Any]) -> None:
        asked = self._asked.get(number)
        if asked is None:
            raise RedisFailed(f"an answer to request {number}, which was not made")
        if reply[1] == cf.FENCED:
            self.link.close("the member was given up")
            return
        del self._asked[number]
        program: Program = asked.program
        answer = self.session.answer(program.kind, reply)
        if self._wakes and isinstance(answer, GetAnswer) and answer.depth == 0 and isinstance(program, QueueProgram):
            self._wakes.pop((program.structure, program.queue), None)
        if asked.continuation is not None:
            asked.continuation.answered(answer)
        for event in self._order.answered(number):
            self._tell(event)

    def _on_beat(self, reply: list[Any]) -> None:
        self._unanswered = 0
        for name in reply[6]:
            self.port.connector.note(
                f"AMQ3854W: Queue manager {name.decode(errors='replace')} is lost: nothing was heard of it. It is "
                "fenced; a peer, or itself when it comes back, settles its units of work."
            )
        if reply[5] != self._changes:
            is_first = self._changes < 0
            self._changes = reply[5]
            if not is_first and self.fence != 0:
                self._look()

    # -- the end -------------------------------------------------------------------------------------------------------

    def _fail(self, text: str) -> None:
        """Close the link, because the server cannot be used."""
        self.port.note_once(f"AMQ7496E: Redis cannot be used as coupling facility: {text}.")
        if self.link.state < CLOSING:
            self.link.close(text)

    def take_asked(self) -> list[Continuation | None]:
        asked = [each.continuation for each in self._asked.values()]
        self._asked = {}
        return asked

    def on_closed(self, why: str) -> None:
        self._is_over = True
        for timer in (self._beats, self._wake_timer, self._events_timer):
            self.reactor.wheel.remove(timer)
        events = self.events
        if events is not None:
            events.end()
        self.port.on_closed(self, why)

    def on_internal_error(self, error: Exception) -> None:
        self._fail(f"an internal error: {error!r}")


class EventsAgent(LinkAgent):
    """The link of events: it subscribes to the channel of the other link, and reads."""

    def __init__(self, reactor: Reactor, agent: RedisAgent, link: ServerLink) -> None:
        super().__init__(reactor)
        self.takes_bytes = True
        self.link = link
        self._agent = agent
        self._reader = ReplyReader()
        self._is_over = False

    def begin(self) -> None:
        commands = _greeting(self._agent.port.address)
        self.link.send(b"".join((*commands, pack("SUBSCRIBE", self._agent.session.channel))))

    def has_instance(self) -> bool:
        return False

    def receive_bytes(self, data: bytes) -> None:
        try:
            for reply in self._reader.feed(data):
                if self._is_over:
                    return
                self._on_reply(reply)
        except RedisFailed as error:
            self.link.close(str(error))

    def _on_reply(self, reply: Any) -> None:
        if isinstance(reply, ReplyError):
            raise RedisFailed(f"the server refused events: {reply}")
        if not isinstance(reply, list):
            return  # the greeting was accepted
        if reply[0] == b"subscribe":
            self.link.apply_negotiated(_FRAME_BYTES, _FRAME_BYTES, 0)
            self._agent.on_subscribed()
        elif reply[0] == b"message":
            self._agent.on_published(reply[2])

    def pump(self) -> None:
        """Do nothing: nothing is sent behind the greeting."""

    def end(self) -> None:
        """The other link is gone."""
        self._is_over = True
        self.link.close("the link of programs has ended")

    def on_closed(self, why: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._agent.on_events_closed()

    def on_internal_error(self, error: Exception) -> None:
        self.link.close(f"an internal error: {error!r}")

    def fire(self, now_ms: i64) -> None:
        """Do nothing: there are no timers."""


class Looked(Continuation):
    def __init__(self, agent: RedisAgent) -> None:
        self._agent = agent

    def answered(self, answer: Answer) -> None:
        self._agent.on_looked(answer)


def _greeting(address: RedisAddress) -> list[bytes]:
    """Return the commands that begin each link."""
    commands = []
    credentials = address.credentials()
    if credentials:
        commands.append(pack("AUTH", *credentials))
    if address.database:
        commands.append(pack("SELECT", address.database))
    return commands
