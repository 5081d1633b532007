"""A member of a queue-sharing group and a queue manager outside it, with channels both ways, faults, and one seed.

    ChannelGroup(7).run(400)

Messages of FAR go to a shared queue of the group, and those of the group wait on a shared transmission queue. Each step
is one possible event: a put, bytes that arrive, a force of a log, a program of the coupling facility, a crash, a cut.
In the end faults cease, and every committed message must have arrived exactly once and in order.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.world.channel_agent import SimulatedAgent
from tests.world.channel_network import LineEnd, new_line
from tests.world.group.group_world import GroupWorld, MemberWorld
from tests.world.world import World

from ostler.channel.delivery import InboundDelivery
from ostler.channel.group.group_sender import GroupSenderPosition, StartedBy
from ostler.channel.group.shared_position import GroupPositions
from ostler.channel.negotiation import ChannelSettings
from ostler.channel.receiver import ReceivingEnd
from ostler.channel.sender import SendingEnd
from ostler.channel.sync_records import GROUP_SYNC_QUEUE, SYNC_QUEUE, SyncRecords
from ostler.engine import objects
from ostler.engine.connection import Connection
from ostler.engine.handle import Handle
from ostler.engine.open import OpenRequest, open_object
from ostler.log import LogSettings
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.coupling import terms as cf
from ostler.model.definitions import new_definition
from ostler.model.errors import MQError
from ostler.wire.channel_frames import decode_channel_hello
from ostler.wire.frames import CHANNEL_HELLO

LOG = LogSettings(primary_files=4, secondary_files=2, file_pages=256)
_ROUNDS_MAX = 4000
_IDLE_ROUNDS = 10

Step = Callable[[], None]


class ChannelEnds(World):
    """The channels of a queue manager of the simulation."""

    def begin_channels(self) -> None:
        self.agents: list[SimulatedAgent] = []
        self.notes: list[str] = []
        self.sync = SyncRecords(self.engine)
        self.sync.load()

    def define_channel(self, name: str, attributes: dict[str, Value]) -> None:
        self.acknowledge(int(objects.define(self.engine, new_definition(ObjectType.CHANNEL, name, attributes))))

    def force(self) -> int:
        durable = super().force()
        for agent in self.__dict__.get("agents", []):
            agent.log_grew()
        return durable

    def _settings(self, channel: str) -> ChannelSettings:
        settings = ChannelSettings(self.engine.of_type(ObjectType.CHANNEL)[channel])
        settings.window = 2
        return settings

    def sending(self, channel: str) -> SimulatedAgent | None:
        return next((each for each in self.agents if each.sender is not None and each.channel == channel), None)

    def start_sending(self, channel: str, line: LineEnd) -> None:
        agent = SimulatedAgent(self, channel, line)  # type: ignore[arg-type]
        connection = self.connect("sender")
        settings = self._settings(channel)
        options = mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_BROWSE
        handle = World.open(self, connection, settings.transmission_queue, options)
        agent.connection = connection
        agent.sender = SendingEnd(self.engine, self.sync, settings, connection, handle, agent)
        agent.sender.waker = agent.schedule_pump
        self.prepare_sender(agent.sender)
        self.agents.append(agent)
        agent.sender.start()

    def frame_came(self, agent: SimulatedAgent, type: int, request: int, buffer: bytes, start: int, end: int) -> None:
        self._set_clock()
        found = agent.end()
        if found is not None:
            found.receive_frame(type, request, buffer, start, end)
            return
        assert type == CHANNEL_HELLO, type
        hello = decode_channel_hello(buffer[start:end])
        for other in [each for each in self.agents if each.channel == hello.channel]:
            self.let_go(other)  # it has not detected that its line is cut
        agent.channel = hello.channel
        connection = self.connect("receiver")
        delivery = InboundDelivery(self.engine, connection, self.engine.of_type(ObjectType.CHANNEL)[hello.channel])
        agent.connection = connection
        agent.receiver = ReceivingEnd(
            self.engine, self.sync, self._settings(hello.channel), connection, delivery, agent
        )
        agent.receiver.waker = agent.schedule_pump
        self.prepare_receiver(agent.receiver)
        agent.receiver.welcome(request, hello)

    def prepare_receiver(self, end: ReceivingEnd) -> None:
        """Change a receiving end before its welcome."""

    def prepare_sender(self, end: SendingEnd) -> None:
        """Change a sending end before its hello."""

    def let_go(self, agent: SimulatedAgent) -> None:
        self._set_clock()
        agent.line.vanish()
        end = agent.end()
        if end is not None:
            end.on_connection_lost()
        if agent.sender is not None and isinstance(agent.sender.position, GroupSenderPosition):
            agent.sender.position.release(None)
        if agent.connection is not None:
            self.disconnect(agent.connection)
            agent.connection = None
        agent.is_over = True
        self.agents.remove(agent)

    def answer_woken(self) -> None:
        woken, self.engine.woken = self.engine.woken, []
        for request in woken:
            if callable(request.waker):
                request.waker()

    def steps(self, chance: Random | None) -> list[Step]:
        """The steps that channels can make now."""
        found: list[Step] = []
        if self.engine.woken:
            found.append(self.answer_woken)
        for agent in self.agents:
            if agent.line.can_transmit():
                found.append(lambda agent=agent: self._transmit(agent, chance))  # type: ignore[misc]
            if agent.is_over and not agent.line.can_transmit():
                found.append(lambda agent=agent: self.let_go(agent))  # type: ignore[misc]
            elif agent.can_receive() and (agent.line.can_receive() or not agent.line.can_hear_end()):
                found.append(lambda agent=agent: agent.receive(chance))  # type: ignore[misc]
            elif agent.line.can_hear_end():
                found.append(lambda agent=agent: self.let_go(agent))  # type: ignore[misc]
            if agent.wants_pump and not agent.is_over:
                found.append(lambda agent=agent: self._pump(agent))  # type: ignore[misc]
            if 0 <= agent.wake_ms <= self.now_ms and not agent.is_over:
                found.append(lambda agent=agent: self._wake(agent))  # type: ignore[misc]
        return found

    def _transmit(self, agent: SimulatedAgent, chance: Random | None) -> None:
        agent.line.transmit(chance)
        agent.wants_pump = True

    def _pump(self, agent: SimulatedAgent) -> None:
        agent.wants_pump = False
        end = agent.end()
        self._set_clock()
        if end is not None and not agent.is_over:
            end.pump()

    def _wake(self, agent: SimulatedAgent) -> None:
        agent.wake_ms = -1
        end = agent.end()
        self._set_clock()
        if end is not None and not agent.is_over:
            end.on_timer()


class ChannelMember(ChannelEnds, MemberWorld):
    """A member of the group with channels."""

    is_group_listener = False  # partners reach the group, not this queue manager
    is_shared_sender = False  # its sending channel has CHLDISP(SHARED)

    def begin_membership(self) -> None:
        self.begin_channels()
        self.positions = GroupPositions(self.engine)
        super().begin_membership()

    def prepare_receiver(self, end: ReceivingEnd) -> None:
        if self.is_group_listener:
            end.position = self.positions.new(end.settings.name, end.port)
            end.manager_name = "QSG1"

    def prepare_sender(self, end: SendingEnd) -> None:
        if self.is_shared_sender:
            position = GroupSenderPosition(self.engine, "QSG1", end.settings.name, "SHARED")
            position.open(StartedBy.OPERATOR)
            end.position = position

    def step(self) -> bool:
        if self.is_up and self.engine.woken:
            self.answer_woken()
        return super().step()


class ChannelGroupWorld(GroupWorld):
    member_type = ChannelMember
    log_settings = LOG


class ChannelGroup:
    """The simulation; see the module's text."""

    def __init__(self, seed: int, is_group_listener: bool = False, is_shared_sender: bool = False) -> None:
        """With `is_group_listener` FAR reaches one of the members at each connection, and knows the group only.

        With `is_shared_sender` either member sends to FAR: the one that gets the lock of the channel.
        """
        self.is_group_listener = is_group_listener
        self.is_shared_sender = is_shared_sender
        self._target = "QSG1" if is_group_listener else "QM1"
        self._chance = chance = Random(seed)
        self._trouble = chance.choice([0.0, 0.01, 0.03])
        self.group = ChannelGroupWorld("QM1", "QM2")
        self.group.define_structure("APP1")
        self.group.define_queue("IN", attributes={"MAXDEPTH": 100_000})
        self.group.define_queue("FAR", attributes={"USAGE": mq.MQUS_TRANSMISSION, "MAXDEPTH": 100_000})
        member = self.group.members[0]
        assert isinstance(member, ChannelMember)
        self.member = member
        peer = self.group.members[1]
        assert isinstance(peer, ChannelMember)
        self.peer = peer
        self.far = ChannelEnds.create(900 + seed, LOG, name="FAR")
        self.far.begin_channels()
        batching: dict[str, Value] = {
            "BATCHSZ": chance.choice([1, 3, 50]),
            "BATCHINT": chance.choice([0, 0, 20]),
            "NPMSPEED": mq.MQNPMS_NORMAL,
            "CONNAME": "simulated",
        }
        self.far.define_queue(self._target, {"USAGE": mq.MQUS_TRANSMISSION})
        self.group.define_queue(GROUP_SYNC_QUEUE, attributes={"INDXTYPE": mq.MQIT_CORREL_ID})
        self.far.define_queue(SYNC_QUEUE)
        self.far.define_queue("HERE", {"MAXDEPTH": 100_000})
        self.far.define_channel("FAR.QM1", {"CHLTYPE": mq.MQCHT_SENDER, "XMITQ": self._target, **batching})
        self.far.define_channel("QM1.FAR", {"CHLTYPE": mq.MQCHT_RECEIVER, "NPMSPEED": mq.MQNPMS_NORMAL})
        for each in self.group.members:
            assert isinstance(each, ChannelMember)
            each.is_group_listener = is_group_listener
            each.is_shared_sender = is_shared_sender
            each.define_queue(SYNC_QUEUE)
            each.define_channel("QM1.FAR", {"CHLTYPE": mq.MQCHT_SENDER, "XMITQ": "FAR", **batching})
            each.define_channel("FAR.QM1", {"CHLTYPE": mq.MQCHT_RECEIVER, "NPMSPEED": mq.MQNPMS_NORMAL})
        self.group.settle()
        self.numbers = {"FAR": 0, "QM1": 0}
        self.sent: dict[str, list[bytes]] = {"FAR": [], "QM1": []}
        self.done: list[str] = []
        self.crashes = 0

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._step()
        self.come_to_rest()
        self.check()

    # -- one step

    def _step(self) -> None:
        chance = self._chance
        if chance.random() < self._trouble:
            self._fault()
            return
        choices: list[tuple[float, str, Step]] = [
            (0.4, "far puts", self._put_far),
            (0.3, "group puts", self._put_group),
            (1.0, "far forces", lambda: _ignore(self.far.force())),
            (1.0, "member forces", lambda: _ignore(self.member.force())),
            (6.0, "facility", lambda: _ignore(self.member.step())),
            (
                6.0 if self.is_group_listener or self.is_shared_sender else 1.0,
                "peer",
                lambda: _ignore(self.peer.step()),
            ),
            (0.3, "time", lambda: self._time(chance.choice([1, 20, 200]))),
            (1.0, "connect", self.connect),
        ]
        choices.extend([(4.0, "far channel", step) for step in self.far.steps(chance)])
        choices.extend([(4.0, "member channel", step) for step in self.member.steps(chance)])
        choices.extend([(4.0, "peer channel", step) for step in self.peer.steps(chance)])
        _, what, step = chance.choices(choices, [each[0] for each in choices])[0]
        self.done.append(what)
        step()

    def _time(self, milliseconds: int) -> None:
        self.far.tick(milliseconds)
        with self.group.hold():
            self.group.tick(milliseconds)

    def _put_far(self) -> None:
        self.numbers["FAR"] += 1
        body = b"%d" % self.numbers["FAR"]
        application = self.far.connect()
        out = open_remote(self.far, application, "IN", self._target)
        done = self.far.put(application, out, body)
        assert done.reason == 0, done.reason
        self.far.acknowledge(done.lsn)
        self.far.disconnect(application)
        self.sent["FAR"].append(body)

    def _put_group(self) -> None:
        peer = self.peer
        self.numbers["QM1"] += 1
        body = b"%d" % self.numbers["QM1"]
        application = peer.connect()
        out = open_remote(peer, application, "HERE", "FAR")
        assert peer.put(application, out, body).reason == 0
        peer.disconnect(application)
        self.sent["QM1"].append(body)

    def connect(self) -> None:
        reached = self._chance.choice([self.member, self.peer]) if self.is_group_listener else self.member
        ways: list[tuple[ChannelEnds, ChannelEnds, str]] = [
            (self.far, reached, "FAR.QM1"),
            (self._sender(), self.far, "QM1.FAR"),
        ]
        for near, far, channel in ways:
            if near.sending(channel) is not None:
                continue
            if isinstance(near, ChannelMember) and not near.port.is_joined():
                continue
            one, other = new_line()
            try:
                near.start_sending(channel, one)
            except MQError as error:
                if error.reason in (mq.MQRC_OBJECT_IN_USE, mq.MQRC_CF_NOT_AVAILABLE):
                    continue
                raise
            far.agents.append(SimulatedAgent(far, "", other))  # type: ignore[arg-type]

    def _uses_peer(self) -> bool:
        return self.is_group_listener or self.is_shared_sender

    def _sender(self) -> ChannelMember:
        return self._chance.choice([self.member, self.peer]) if self.is_shared_sender else self.member

    # -- faults

    def _fault(self) -> None:
        chance = self._chance
        kind = chance.choice(["cut", "cut", "kill", "power", "link", "far", "far power"])
        self.done.append(kind)
        self.crashes += 1
        if kind == "cut":
            agents = self.far.agents + self.member.agents + self.peer.agents
            if agents:
                chance.choice(agents).line.cut(chance)
        elif kind in ("kill", "power"):
            self._crash_member(None if kind == "kill" else chance.randrange(1 << 30))
        elif kind == "link":
            self.member.port.lose()
            self.join()
        else:
            for agent in self.far.agents:
                agent.line.vanish()
            if kind == "far":
                self.far.kill()
            else:
                self.far.lose_power(chance.randrange(1 << 30))
            self.far.restart()
            self.far.begin_channels()

    def _crash_member(self, seed: int | None) -> None:
        for agent in self.member.agents:
            agent.line.vanish()
        self.member.die(seed)
        if self._chance.random() < 0.5:
            self.group.settle()  # the peer recovers first
        self.member.restart()
        with self.group.hold():
            self.member.begin_membership()
        self.join()

    def join(self) -> None:
        """Join again; while a peer recovers its units that is refused."""
        for _ in range(_ROUNDS_MAX):
            if self.member.port.is_joined() or self.member.join() == cf.OK:
                return
            self.group.members[1].step()
        raise AssertionError("the member cannot join again")

    # -- the end

    def come_to_rest(self) -> None:
        self.done.append("rest")
        idle_rounds = 0
        for _ in range(_ROUNDS_MAX):
            self.connect()
            steps = [*self.far.steps(None), *self.member.steps(None), *self.peer.steps(None)]
            for step in steps:
                step()
            self.far.force()
            self.member.force()
            self.peer.force()
            self.group.settle()
            idle_rounds = idle_rounds + 1 if self._is_idle() else 0
            if idle_rounds == _IDLE_ROUNDS:
                return
            self._time(20)
        notes = self.far.notes + self.member.notes
        raise AssertionError(f"channels do not come to rest: {notes[-5:]} {self._depths()}")

    def _depths(self) -> list[int]:
        return [len(self.far.bodies(self._target)), len(self.member.bodies("FAR"))]

    def _is_idle(self) -> bool:
        return self._depths() == [0, 0] and not any(
            agent.sender is not None and (agent.sender.in_flight or agent.sender.current is not None)
            for agent in [*self.far.agents, *self.member.agents, *self.peer.agents]
        )

    def check(self) -> None:
        self.group.settle()
        assert self.member.bodies("IN") == self.sent["FAR"], "messages of FAR on the shared queue"
        assert self.far.bodies("HERE") == self.sent["QM1"], "messages of the shared transmission queue at FAR"
        records = int(self.is_group_listener) + int(self.is_shared_sender and bool(self.sent["QM1"]))
        assert len(self.member.messages(GROUP_SYNC_QUEUE)) == records, "one record for each channel and partner"
        assert self.group.entries()["uncommitted"] == 0
        assert self.group.entries()["got"] == 0


def _ignore(_: object) -> None:
    return None


def open_remote(world: World, connection: Connection, name: str, manager: str) -> Handle:
    """Open a queue of another queue manager for output."""
    request = OpenRequest(mq.MQOT_Q, name, mq.MQOO_OUTPUT)
    request.manager_name = manager
    handle = open_object(world.engine, connection, request)
    if isinstance(world, MemberWorld):
        world.group.settle()
    return handle
