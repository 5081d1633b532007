"""A simulation of two queue managers with channels both ways, a network and faults, all derived from one seed.

Each step is one possible event: work of an application, bytes that arrive, a force of the log, a cut, a crash of one
side. In the end the faults cease, all messages arrive, and they are compared with those that were sent.

    ChannelWorld(7).run(400)
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.world.channel_account import Account
from tests.world.channel_agent import SimulatedAgent
from tests.world.channel_network import new_line
from tests.world.channel_site import ChannelSite
from tests.world.world_lives import SMALL_LOG

from ostler.channel.in_doubt import resolve_up_to
from ostler.channel.port import EndReason
from ostler.channel.sync_records import RECEIVING, SENDING, batches_in_doubt
from ostler.log import LogSettings
from ostler.model.attributes import Value
from ostler.model.constants import MQNPMS_FAST, MQNPMS_NORMAL
from ostler.testing.simulation.crashing_disk import PowerLost

BIG_LOG = LogSettings(primary_files=3, secondary_files=1, file_pages=256)
_ROUNDS_TO_REST_MAX = 4000
# Room for all messages of a batch, or the channel could not get on at all.
_DEAD_LETTERS_MAX = [100_000, 100_000, 60]
_CRASHES = ["kill", "power", "power", "garbage", "end"]

_FULL = "AMQ9544E"
_PACES = [0.05, 0.5, 1.0, 1.0, 3.0]
_PACED = ("work", "log", "files", "consume", "connect", "transmit", "receive", "hear", "pump")

Step = Callable[[], None]


class ChannelWorld:
    """The simulation; see the module docstring."""

    def __init__(self, seed: int, attributes: dict[str, Value] | None = None, log: LogSettings | None = None) -> None:
        """`attributes` of the sending channels and the log sizes override random choices."""
        self._chance = Random(seed)
        self._pieces: Random | None = self._chance
        chance = self._chance
        self.is_fast = chance.random() < 0.5
        self._trouble = chance.choice([0.0, 0.005, 0.02, 0.05])
        # Speeds of disk, network and detection of cuts differ between worlds.
        self._pace = [{what: chance.choice(_PACES) for what in _PACED} for _ in range(2)]
        wrap = chance.choice([100, 999_999_999])
        heartbeat = chance.choice([1, 300])
        by_chance = chance.choice([SMALL_LOG, BIG_LOG])
        log = log or by_chance
        self.sites = [ChannelSite.create(2 * seed + n, log, name=name) for n, name in enumerate(("A", "B"))]
        accounts = [Account(self.is_fast), Account(self.is_fast)]
        speed = MQNPMS_FAST if self.is_fast else MQNPMS_NORMAL
        for number, site in enumerate(self.sites):
            site.outgoing, site.incoming = accounts[number], accounts[1 - number]
            sending: dict[str, Value] = {
                "BATCHSZ": chance.choice([1, 2, 5, 50]),
                "BATCHINT": chance.choice([0, 0, 20, 200]),
                # Some batches do not fit into the log of the other side: they become smaller.
                "BATCHLIM": chance.choice([0, 5000, 60, 8]),
                "HBINT": heartbeat,
                "BATCHHB": chance.choice([0, 0, 500]),
                "DISCINT": chance.choice([0, 0, 3]),
                "NPMSPEED": speed,
                "SEQWRAP": wrap,
                "COMPHDR": chance.choice([("NONE",), ("SYSTEM", "NONE")]),
                "COMPMSG": chance.choice([("NONE",), ("NONE",), ("RLE",), ("ZLIBFAST",)]),
                # Longer messages go to the dead-letter queue of the sending queue manager.
                "MAXMSGL": chance.choice([4_194_304, 4_194_304, 2_000]),
                **(attributes or {}),
            }
            receiving: dict[str, Value] = {
                "MRRTY": chance.choice([0, 2]),
                "MRTMR": chance.choice([50, 50, 1500]),
                "HBINT": heartbeat,
                "NPMSPEED": speed,
                "SEQWRAP": wrap,
                "COMPHDR": ("SYSTEM", "NONE"),
                "COMPMSG": ("RLE", "ZLIBFAST", "NONE"),
            }
            dead_letters_max = chance.choice(_DEAD_LETTERS_MAX)
            site.open_site(self.sites[1 - number].name, sending, receiving, dead_letters_max)
            if dead_letters_max < max(_DEAD_LETTERS_MAX):
                # A dead-letter queue that is full takes no message, and a fast channel does not stop for one.
                for account in accounts:
                    account.may_discard = self.is_fast
            site.window = chance.choice([1, 2, 4, 8])
            site.longest = 200_000 if log is BIG_LOG else 40_000
        self.wants_running = [True, True]
        self.done: list[str] = []
        """Return the steps so far, for the analysis of a failure."""
        self.crashes = 0
        self.cuts = 0
        self.resets = 0
        self.resolves = 0

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._step()
        self.come_to_rest()
        self.check()

    # -- one step ------------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        number = self._chance.randrange(2)
        site = self.sites[number]
        # Faults are most likely while a batch is in flight.
        likely = 3 * self._trouble if any(each.is_amid_batches() for each in self.sites) else self._trouble
        if self._chance.random() < likely:
            what, step = self._trouble_of(number)
        else:
            what, step = self._work_of(number)
        self.done.append(f"{site.name}: {what}")
        try:
            step()
            self._look_at_agents(site)
        except PowerLost:
            self._power_lost(number)

    def _work_of(self, number: int) -> tuple[str, Step]:
        site = self.sites[number]
        pace = self._pace[number]
        # These force the log, too, and so must not come often where that is slow.
        slowly = min(1.0, pace["log"])
        choices: list[tuple[float, str, Step]] = [
            (0.4 * pace["work"], "work", lambda: self._work(site)),
            (0.1 * pace["files"] * slowly, "checkpoint step", lambda: _ignore(site.step_checkpoint())),
            (0.05 * pace["files"], "housekeep", site.housekeep),
            (0.15, "time", lambda: self._time_passes(self._chance.choice([1, 5, 20, 60, 300, 3100]))),
        ]
        if site.log.durable_lsn() < site.log.end_lsn():
            choices.append((4 * pace["log"], "force", lambda: _ignore(site.force())))
            choices.append((pace["log"], "write log", site.write_log))
        if site.has_arrivals():
            choices.append((pace["consume"] * slowly, "consume", lambda: self._consume(number)))
        if self.wants_running[number] and site.sending_agent() is None:
            choices.append((4 * pace["connect"], "connect", lambda: self.connect(number)))
        for agent in site.agents:
            choices += self._agent_steps(site, agent)
        if site.engine.woken:
            choices.append((2 * pace["pump"], "wake", site.answer_woken))
        weights = [each[0] for each in choices]
        _, what, step = self._chance.choices(choices, weights)[0]
        return what, step

    def _agent_steps(self, site: ChannelSite, agent: SimulatedAgent) -> list[tuple[float, str, Step]]:
        name = "sender" if agent.sender is not None else "receiver"
        pace = self._pace[self.sites.index(site)]
        steps: list[tuple[float, str, Step]] = []
        if agent.line.can_transmit():
            steps.append((4 * pace["transmit"], f"{name} transmits", lambda: self._transmit(agent)))
        if agent.can_receive():
            haste = agent.line.haste
            steps.append((4 * pace["receive"] * haste, f"{name} receives", lambda: self._receive(site, agent)))
        if agent.line.can_hear_end():
            steps.append((pace["hear"] * agent.line.haste, f"{name} hears the end", lambda: site.lost(agent)))
        if agent.wants_pump:
            steps.append((4 * pace["pump"], f"{name} pumps", lambda: self._pump(site, agent)))
        if agent.wants_room:
            steps.append((2, f"{name} gets room", lambda: self._make_room(site, agent)))
        if 0 <= agent.wake_ms <= site.now_ms:
            steps.append((4, f"{name} ticks", lambda: self._wake(site, agent)))
        return steps

    def _transmit(self, agent: SimulatedAgent) -> None:
        agent.line.transmit(self._pieces)
        if not agent.line.unsent:
            agent.wants_pump = True

    def _receive(self, site: ChannelSite, agent: SimulatedAgent) -> None:
        site.tick(0)
        agent.receive(self._pieces)

    def _pump(self, site: ChannelSite, agent: SimulatedAgent) -> None:
        agent.wants_pump = False
        end = agent.end()
        if end is not None and not agent.is_over:
            site.tick(0)
            end.pump()

    def _make_room(self, site: ChannelSite, agent: SimulatedAgent) -> None:
        agent.wants_room = False
        site.make_room()
        end = agent.end()
        if end is not None and not agent.is_over:
            site.tick(0)
            end.on_room_made()

    def _wake(self, site: ChannelSite, agent: SimulatedAgent) -> None:
        if 0 <= agent.wake_ms <= site.now_ms:  # it may have been set again
            agent.wake_ms = -1
            end = agent.end()
            if end is not None and not agent.is_over:
                site.tick(0)
                end.on_timer()

    def _look_at_agents(self, site: ChannelSite) -> None:
        """Remove agents that have ended and sent their last frame."""
        for agent in list(site.agents):
            if agent.is_over and agent in site.agents and not agent.line.can_transmit():
                # Only a full queue is a temporary condition.
                assert agent.end_reason != EndReason.PERMANENT or agent.text.startswith(_FULL), agent.text
                self.done.append(f"{site.name}: {'sender' if agent.sender else 'receiver'} is over: {agent.text}")
                site.finished(agent)

    def _work(self, site: ChannelSite) -> None:
        application = self._chance.choice(site.applications)
        draw = self._chance.random()
        if draw < 0.25:
            application.commit()
        elif draw < 0.32:
            application.back_out()
        else:
            in_unit = self._chance.random() < 0.5
            for _ in range(self._chance.choice([1, 1, 2, 6])):
                application.put(self._chance, in_unit)

    def _time_passes(self, milliseconds: int) -> None:
        for site in self.sites:
            site.tick(milliseconds)

    def _consume(self, number: int) -> None:
        site = self.sites[number]
        site.disk.lose_power_after(-1)
        site.consume(self._chance.choice([1, 5, 100]))

    def connect(self, number: int) -> None:
        """Start a channel, unless it runs."""
        site, other = self.sites[number], self.sites[1 - number]
        if site.sending_agent() is None:
            near, far = new_line()
            other.accept(far)
            site.start_sending(near)

    # -- faults --------------------------------------------------------------------------------------------------------

    def _trouble_of(self, number: int) -> tuple[str, Step]:
        site = self.sites[number]
        chance = self._chance
        kind = chance.choices(
            ["cut", "crash", "crash both", "power", "stop", "start", "reset", "resolve"], [12, 10, 2, 6, 4, 6, 1, 3]
        )[0]
        if kind == "cut":
            return kind, lambda: self._cut(site)
        if kind == "crash":
            how = chance.choice(_CRASHES)
            return f"crash {how}", lambda: self._crash(number, how)
        if kind == "crash both":
            return kind, self._crash_both
        if kind == "power":
            changes = chance.randrange(12)
            return f"power fails after {changes} changes", lambda: site.disk.lose_power_after(changes)
        if kind == "stop":
            return kind, lambda: self._stop(number)
        if kind == "reset":
            return kind, lambda: self._reset(number)
        if kind == "resolve":
            return kind, lambda: self._resolve(number)
        return kind, lambda: self._start(number)

    def _cut(self, site: ChannelSite) -> None:
        if site.agents:
            self.cuts += 1
            self._chance.choice(site.agents).line.cut(self._chance)

    def _crash(self, number: int, how: str) -> None:
        self.crashes += 1
        site = self.sites[number]
        while True:
            try:
                site.crash(self._chance, how)
                return
            except PowerLost:
                # The power may fail again before it is up.
                how = "power"

    def _crash_both(self) -> None:
        for number in (0, 1):
            self._crash(number, self._chance.choice(_CRASHES))

    def _power_lost(self, number: int) -> None:
        self.done.append(f"{self.sites[number].name}: power lost")
        self._crash(number, "power")

    def _stop(self, number: int) -> None:
        """STOP CHANNEL at either end, quiescing; or as FORCE does it."""
        site = self.sites[number]
        if not site.agents:
            return
        agent = self._chance.choice(site.agents)
        end = agent.end()
        if end is None or agent.is_over:
            return
        if agent.sender is not None:
            self.wants_running[number] = False
        if self._chance.random() < 0.7:
            end.stop()
        else:
            site.lost(agent)

    def _start(self, number: int) -> None:
        self.wants_running[number] = True
        self.connect(number)

    def _reset(self, number: int) -> None:
        """RESET CHANNEL, which is refused while the channel runs or is in doubt."""
        site = self.sites[number]
        channel = f"{site.name}.{site.partner}"
        if site.sending_agent() is None and not batches_in_doubt(site.engine, channel):
            record = site.sync.find(SENDING, channel).successor()
            record.sequence = self._chance.choice([0, 41, 99])
            record.is_reset = True
            site.sync.write(record)
            self.resets += 1

    def _resolve(self, number: int) -> None:
        """RESOLVE CHANNEL with what the partner has committed last, when both ends are stopped."""
        site, other = self.sites[number], self.sites[1 - number]
        channel = f"{site.name}.{other.name}"
        if not batches_in_doubt(site.engine, channel):
            return
        for where in self.sites:
            for agent in [each for each in where.agents if (each.sender is None) != (where is site)]:
                where.lost(agent)
        other.disk.lose_power_after(-1)
        while other.force() < other.engine.journal.end_lsn():  # a force that was under way does only its own part
            pass
        last = other.sync.find(RECEIVING, channel, site.name).luwid
        assert resolve_up_to(site.engine, site.sync, channel, last) >= 0, channel
        self.resolves += 1

    # -- the end -------------------------------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """Run without faults until all committed messages have arrived."""
        self.done.append("come to rest")
        self.wants_running = [True, True]
        self._pieces = None
        for site in self.sites:
            site.disk.lose_power_after(-1)
            for application in site.applications:
                application.commit()
        for _ in range(_ROUNDS_TO_REST_MAX):
            busy = False
            for number in (0, 1):
                busy = self._one_round(number) or busy
            self._time_passes(50)
            if not busy and self._is_at_rest():
                return
        raise AssertionError(f"no rest: {[self._describe(site) for site in self.sites]}")

    def _one_round(self, number: int) -> bool:
        """Run each possible step of a site once. Return True if there was one."""
        site = self.sites[number]
        site.finish_checkpoint()
        site.force()
        site.housekeep()
        self.connect(number)
        site.answer_woken()
        busy = False
        for agent in list(site.agents):
            for _, _, step in self._agent_steps(site, agent):
                if agent in site.agents:
                    step()
                    busy = True
            self._look_at_agents(site)
        return bool(site.consume(100)) or busy

    def _is_at_rest(self) -> bool:
        return all(not site.waiting_to_go() and not site.engine.units_of_work for site in self.sites)

    def _describe(self, site: ChannelSite) -> str:
        ends = [
            (agent.channel, getattr(agent.end(), "state", None), agent.is_over, agent.text) for agent in site.agents
        ]
        return (
            f"{site.name}: {site.waiting_to_go()} wait, {len(site.engine.units_of_work)} units of work, "
            f"{site.units_in_doubt()} in doubt, {ends}"
        )

    def check(self) -> None:
        for site in self.sites:
            site.outgoing.check()
        self._check_sync_records()
        # The same holds after a loss of power.
        for number in (0, 1):
            self._crash(number, "power")
            assert not self.sites[number].engine.units_of_work
            assert not self.sites[number].waiting_to_go()
        self._check_sync_records()

    def _check_sync_records(self) -> None:
        for site, other in (self.sites, self.sites[::-1]):
            channel = f"{site.name}.{other.name}"
            sent = site.sync.find(SENDING, channel)
            received = other.sync.find(RECEIVING, channel, site.name)
            assert (sent.sequence, sent.luwid) == (received.sequence, received.luwid), channel


def _ignore(_: object) -> None:
    return None
