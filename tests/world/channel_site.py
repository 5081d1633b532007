"""A queue manager of a simulation of channels: its engine, its ends of channels, its applications. See `world`.

The simulation drives what the server does with sockets, a reactor and threads.
"""

from __future__ import annotations

from random import Random

from tests.world.channel_account import GONE, Account, SentMessage
from tests.world.channel_agent import SimulatedAgent
from tests.world.channel_network import LineEnd
from tests.world.world import World

from ostler.channel.delivery import InboundDelivery
from ostler.channel.negotiation import ChannelSettings
from ostler.channel.port import EndReason
from ostler.channel.receiver import ReceivingEnd
from ostler.channel.sender import SendingEnd
from ostler.channel.sync_records import SYNC_QUEUE, SyncRecords
from ostler.engine import objects
from ostler.engine.unit_of_work import PREPARED
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQCHT_RECEIVER,
    MQCHT_SENDER,
    MQOO_INPUT_AS_Q_DEF,
    MQOO_INPUT_EXCLUSIVE,
    MQOO_OUTPUT,
    MQRC_NO_MSG_AVAILABLE,
    MQUS_TRANSMISSION,
)
from ostler.model.definitions import new_definition
from ostler.wire.channel_frames import decode_channel_hello
from ostler.wire.frames import CHANNEL_HELLO

DEAD_LETTERS = "DLQ"
TARGETS = ("IN", "SMALL")
SMALL_DEPTH = 3
_ARRIVAL_QUEUES = (*TARGETS, DEAD_LETTERS)
_DEAD_LETTER_HEADER_BYTES = 172


class Application:
    """A program that puts messages for the other queue manager, in and out of units of work."""

    def __init__(self, site: ChannelSite, number: int) -> None:
        self._site = site
        self._group = (site.name, number, site.lives)
        self._connection = site.connect(f"putter {number}")
        self._handles = [site.open(self._connection, f"TO.{target}", MQOO_OUTPUT) for target in TARGETS]
        self._unit: list[SentMessage] = []
        self._units = 0

    def put(self, chance: Random, syncpoint: bool) -> None:
        site = self._site
        account = site.outgoing
        is_persistent = chance.random() < 0.6
        priority = chance.choice([0, 0, 0, 5])
        target = chance.choice([0, 0, 0, 1])
        body = site.new_body(chance)
        unit = (*self._group, self._units) if syncpoint else (body,)
        group = (*self._group, priority, is_persistent, syncpoint, target)
        message = account.put(body, is_persistent, group, unit)
        done = site.put(
            self._connection,
            self._handles[target],
            body,
            syncpoint=syncpoint,
            persistence=int(is_persistent),
            priority=priority,
        )
        if done.reason != 0:
            message.state = GONE
        elif syncpoint:
            self._unit.append(message)
        else:
            account.committed([message], done.lsn)

    def commit(self) -> None:
        messages, self._unit = self._unit, []
        self._units += 1
        reason, lsn = self._site.commit(self._connection)
        if reason == 0:
            self._site.outgoing.committed(messages, lsn)
        else:
            _gone(messages)

    def back_out(self) -> None:
        _gone(self._unit)
        self._unit = []
        self._units += 1
        self._site.back_out(self._connection)


def _gone(messages: list[SentMessage]) -> None:
    for message in messages:
        message.state = GONE


class ChannelSite(World):
    """Made by `open_site`. Its name and that of the partner are set before the first start."""

    partner = ""
    outgoing: Account
    incoming: Account

    def open_site(
        self, partner: str, channel: dict[str, Value], receiving: dict[str, Value], dead_letters_max: int
    ) -> None:
        """Define the objects for channels to and from a partner."""
        self.partner = partner
        self.messages_made = 0
        self.agents: list[SimulatedAgent] = []
        self.notes: list[str] = []
        self.define_queue(SYNC_QUEUE)
        self.define_queue(partner, {"USAGE": MQUS_TRANSMISSION})
        self.define_queue(DEAD_LETTERS, {"MAXDEPTH": dead_letters_max})
        self.define_queue("IN", {"MAXDEPTH": 100_000})
        self.define_queue("SMALL", {"MAXDEPTH": SMALL_DEPTH})
        manager = self.engine.manager.with_changes({"DEADQ": DEAD_LETTERS})
        objects.define(self.engine, manager, True)
        for target in TARGETS:
            attributes: dict[str, Value] = {"RNAME": target, "RQMNAME": partner, "XMITQ": partner}
            objects.define(self.engine, new_definition(ObjectType.QREMOTE, f"TO.{target}", attributes))
        sending: dict[str, Value] = {"CHLTYPE": MQCHT_SENDER, "XMITQ": partner, "CONNAME": "simulated", **channel}
        objects.define(self.engine, new_definition(ObjectType.CHANNEL, f"{self.name}.{partner}", sending))
        received: dict[str, Value] = {"CHLTYPE": MQCHT_RECEIVER, **receiving}
        self.acknowledge(
            objects.define(self.engine, new_definition(ObjectType.CHANNEL, f"{partner}.{self.name}", received))
        )
        self.window = 1
        self.longest = 40_000
        self.begin_life()

    # -- lives ---------------------------------------------------------------------------------------------------------

    @property
    def lives(self) -> int:
        return self._lives

    def begin_life(self) -> None:
        self.agents = []
        self.sync = SyncRecords(self.engine)
        self.sync.load()
        self.applications = [Application(self, number) for number in range(2)]

    def crash(self, chance: Random, kind: str) -> None:
        """End immediately or normally, and restart."""
        for agent in self.agents:
            agent.line.vanish()
        if kind == "end":
            for agent in self.agents:
                self._let_go(agent)
            for application in self.applications:
                application.back_out()
            self.end()
        self.outgoing.sender_crashed(self.log.durable_lsn())
        self.incoming.crashed()
        if kind in ("power", "garbage"):
            self.lose_power(chance.randrange(1 << 30), garbage=kind == "garbage")
        else:
            self.kill()
        self.restart()
        self.begin_life()

    # -- the log -------------------------------------------------------------------------------------------------------

    def force(self) -> int:
        durable = super().force()
        self.outgoing.durable(durable)
        for agent in self.agents:
            agent.log_grew()
        return durable

    # -- channels ------------------------------------------------------------------------------------------------------

    def sending_agent(self) -> SimulatedAgent | None:
        for agent in self.agents:
            if agent.sender is not None:
                return agent
        return None

    def _settings(self, channel: str) -> ChannelSettings:
        settings = ChannelSettings(self.engine.of_type(ObjectType.CHANNEL)[channel])
        settings.window = self.window
        return settings

    def start_sending(self, line: LineEnd) -> SimulatedAgent:
        """Start the sending end on a new connection."""
        channel = f"{self.name}.{self.partner}"
        agent = SimulatedAgent(self, channel, line)
        connection = self.connect("sender")
        handle = self.open(connection, self.partner, MQOO_INPUT_EXCLUSIVE)
        agent.connection = connection
        agent.sender = SendingEnd(self.engine, self.sync, self._settings(channel), connection, handle, agent)
        agent.sender.waker = agent.schedule_pump
        self.agents.append(agent)
        agent.sender.start()
        return agent

    def accept(self, line: LineEnd) -> None:
        """Accept a connection."""
        self.agents.append(SimulatedAgent(self, "", line))

    def frame_came(self, agent: SimulatedAgent, type: int, request: int, buffer: bytes, start: int, end: int) -> None:
        self._set_clock()
        found = agent.end()
        if found is not None:
            found.receive_frame(type, request, buffer, start, end)
            return
        assert type == CHANNEL_HELLO, type
        hello = decode_channel_hello(buffer[start:end])
        for other in [each for each in self.agents if each.channel == hello.channel]:
            # It has not detected that its line is cut, and must not commit any more.
            self.lost(other)
        agent.channel = hello.channel
        connection = self.connect("receiver")
        settings = self._settings(hello.channel)
        delivery = InboundDelivery(self.engine, connection, self.engine.of_type(ObjectType.CHANNEL)[hello.channel])
        agent.connection = connection
        agent.receiver = ReceivingEnd(self.engine, self.sync, settings, connection, delivery, agent)
        agent.receiver.welcome(request, hello)

    def lost(self, agent: SimulatedAgent) -> None:
        """Handle the loss of an agent's line."""
        if not agent.is_over:
            (self.outgoing if agent.sender is not None else self.incoming).cut()
        agent.line.vanish()
        self._let_go(agent)

    def finished(self, agent: SimulatedAgent) -> None:
        """Handle the end of a channel end: its last frames are sent, and the line is closed."""
        if agent.end_reason is not EndReason.NORMAL:
            (self.outgoing if agent.sender is not None else self.incoming).cut()
        self._let_go(agent)

    def _let_go(self, agent: SimulatedAgent) -> None:
        self._set_clock()
        end = agent.end()
        if end is not None:
            end.on_connection_lost()
        if agent.connection is not None:
            self.disconnect(agent.connection)
            agent.connection = None
        agent.is_over = True
        self.agents.remove(agent)

    def answer_woken(self) -> None:
        """Wake the agents whose waiting gets are satisfied."""
        woken, self.engine.woken = self.engine.woken, []
        for request in woken:
            if callable(request.waker):
                request.waker()

    # -- messages ------------------------------------------------------------------------------------------------------

    def new_body(self, chance: Random) -> bytes:
        self.messages_made += 1
        size = chance.choice([0, 0, 10, 100, 100, 1000, 5000, 0])
        if chance.random() < 0.03:
            size = chance.choice([40_000, 40_000, self.longest])
        return f"{self.name}{self.messages_made} ".encode() + bytes(size)

    def has_arrivals(self) -> bool:
        return any(self.engine.queues[name].depth for name in _ARRIVAL_QUEUES)

    def consume(self, count: int) -> int:
        """Get messages durably, and record their arrival."""
        filled = [name for name in _ARRIVAL_QUEUES if self.engine.queues[name].depth]
        if not filled:
            return 0
        reader = self.connect("reader")
        taken = 0
        for name in filled:
            handle = self.open(reader, name, MQOO_INPUT_AS_Q_DEF)
            for _ in range(count):
                request = self.get(reader, handle)
                if request.reason == MQRC_NO_MSG_AVAILABLE:
                    break
                assert request.reason == 0, request.reason
                body = request.body[_DEAD_LETTER_HEADER_BYTES:] if name == DEAD_LETTERS else request.body
                # Messages that could not be sent are on the dead-letter queue here.
                is_own = body.startswith(self.name.encode())
                if is_own:
                    self.outgoing.returned(body)
                else:
                    self.incoming.got(name, body)
                taken += 1
        self.disconnect(reader)
        if taken:
            self.settle(self.log.end_lsn())
        return taken

    def units_in_doubt(self) -> int:
        return sum(1 for unit in self.engine.units_of_work.values() if unit.state == PREPARED)

    def is_amid_batches(self) -> bool:
        """Return True if a batch is open, in flight or in doubt."""
        if self.units_in_doubt():
            return True
        return any(agent.receiver is not None and agent.receiver.batches for agent in self.agents)

    def waiting_to_go(self) -> int:
        return self.engine.queues[self.partner].depth
