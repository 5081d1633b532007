"""A receiving end that waits for a queue or for log space reports that to its partner, which then waits, too."""

from __future__ import annotations

from random import Random

from tests.world.channel_agent import SimulatedAgent
from tests.world.channel_world import ChannelWorld

from ostler.channel import receiver as receiving
from ostler.channel import sender as sending
from ostler.model import constants as mq
from ostler.wire.channel_frames import HEARTBEAT_PAUSED, HEARTBEAT_RESUMED
from ostler.wire.frames import HEADER_BYTES, HEARTBEAT, REPLY

HEARTBEAT_SECONDS = 5
HOUR_MS = 3_600_000


class Way:
    """A channel from A to B whose messages nobody takes at B."""

    def __init__(self, quiet_ms: int = 0) -> None:
        self.world = ChannelWorld(
            1, {"BATCHINT": 0, "BATCHHB": quiet_ms, "DISCINT": 0, "BATCHSZ": 2, "MAXMSGL": 4_194_304}
        )
        self.here, self.there = self.world.sites
        self.here.window = self.there.window = 4
        self.inhibit(True)
        self.world.connect(0)
        self.sender, self.receiver = self.here.agents[-1], self.there.agents[-1]
        self.carry()
        self.there.force()
        self.carry()
        assert self.sender.sender is not None
        assert self.receiver.receiver is not None
        self.sending, self.receiving = self.sender.sender, self.receiver.receiver
        self.receiving.settings.retry_count = 1000
        self.receiving.settings.retry_ms = HOUR_MS
        self.receiving.agreed.heartbeat_seconds = HEARTBEAT_SECONDS

    def inhibit(self, is_inhibited: bool) -> None:
        for name in ("IN", "SMALL"):
            self.there.engine.queues[name].put_allowed = not is_inhibited

    def put(self, count: int = 1) -> None:
        """So many persistent messages, for certain."""
        sent = self.here.outgoing.sent
        there_are = sum(message.is_persistent for message in sent.values())
        while sum(message.is_persistent for message in sent.values()) < there_are + count:
            self.here.applications[0].put(Random(len(sent)), False)
        self.here.force()
        self.here.answer_woken()
        self.sending.pump()
        self.here.force()
        self.sender.log_grew()

    def carry(self) -> None:
        """What both have sent arrives, as far as it is read."""
        for one, other in ((self.sender, self.receiver), (self.receiver, self.sender)):
            while one.line.can_transmit():
                one.line.transmit(None)
            while other.can_receive():
                other.receive(None)

    def time_passes(self, milliseconds: int) -> None:
        for site, agent in ((self.here, self.sender), (self.there, self.receiver)):
            site.tick(milliseconds)
            if 0 <= agent.wake_ms <= site.now_ms:
                agent.wake_ms = -1
                end = agent.end()
                assert end is not None
                end.on_timer()

    def end(self) -> None:
        self.inhibit(False)
        self.receiving.settings.retry_ms = 50
        while self.receiving.state == receiving.PAUSED:
            self.time_passes(HEARTBEAT_SECONDS * 1000)
            self.carry()
        self.world.come_to_rest()
        self.world.check()


def signs(agent: SimulatedAgent) -> list[int]:
    """The heartbeat replies that lie in the socket of an agent."""
    found = []
    data = bytes(agent.line.unsent)
    while data:
        size = int.from_bytes(data[:4], "little")
        if data[4] == HEARTBEAT | REPLY:
            found.append(int.from_bytes(data[HEADER_BYTES - 4 : HEADER_BYTES], "little"))
        data = data[size:]
    return found


def test_who_waits_gives_a_sign_at_each_heartbeat_interval() -> None:
    way = Way()
    way.put()
    way.carry()
    assert way.receiving.state == receiving.PAUSED
    for _ in range(3 * 3600 // HEARTBEAT_SECONDS):
        way.time_passes(HEARTBEAT_SECONDS * 1000)
        way.carry()
        assert way.sender.silence_ms() <= HEARTBEAT_SECONDS * 1000
        assert way.receiving.state == receiving.PAUSED
    assert way.receiving.counters.put_retries == 1
    assert way.sending.state == sending.RUNNING
    way.end()


def test_the_time_of_a_retry_is_kept() -> None:
    way = Way()
    way.put()
    way.carry()
    way.inhibit(False)
    way.time_passes(HOUR_MS - 1)  # far behind the next sign of life: one tick is due
    assert way.receiving.state == receiving.PAUSED
    for _ in range(3600 // HEARTBEAT_SECONDS - 2):
        way.time_passes(HEARTBEAT_SECONDS * 1000)
        assert way.receiving.state == receiving.PAUSED
    way.time_passes(HEARTBEAT_SECONDS * 1000)
    assert way.receiving.state == receiving.RUNNING


def test_it_says_when_it_begins_to_wait_and_when_it_goes_on() -> None:
    way = Way()
    way.put()
    way.sender.line.transmit(None)
    way.receiver.receive(None)
    assert signs(way.receiver) == [HEARTBEAT_PAUSED]
    way.receiver.line.transmit(None)
    way.inhibit(False)
    way.receiving.agreed.heartbeat_seconds = 0
    way.time_passes(HEARTBEAT_SECONDS * 1000)
    assert signs(way.receiver) == [HEARTBEAT_PAUSED]
    way.time_passes(HOUR_MS)
    assert signs(way.receiver) == [HEARTBEAT_PAUSED, HEARTBEAT_RESUMED]


def test_without_heartbeats_only_the_retry_wakes_it() -> None:
    way = Way()
    way.receiving.agreed.heartbeat_seconds = 0
    way.put()
    way.carry()
    assert way.receiver.wake_ms == way.there.now_ms + HOUR_MS


def test_who_waits_for_room_in_the_log_is_not_tried_again_by_time() -> None:
    way = Way()
    way.inhibit(False)
    somebody = way.there.connect("somebody")
    handle = way.there.open(somebody, "IN", mq.MQOO_OUTPUT)
    while way.there.engine.journal.room_bytes() >= 4 * 4096:  # as much as the end of a batch wants
        assert way.there.put(somebody, handle, bytes(1000), syncpoint=True).reason == 0
    way.put()
    way.carry()
    assert way.receiver.wants_room
    for _ in range(20):
        way.time_passes(HEARTBEAT_SECONDS * 1000)
        way.carry()
        assert way.sender.silence_ms() <= HEARTBEAT_SECONDS * 1000
        assert way.receiving.state == receiving.PAUSED
    way.there.back_out(somebody)
    way.receiver.wants_room = False
    way.there.make_room()
    way.receiving.on_room_made()
    assert way.receiving.state == receiving.RUNNING
    way.end()


def test_batchhb_does_not_break_a_channel_whose_partner_waits() -> None:
    """Nor does it bring a batch in doubt: it is prepared when the partner reads again."""
    way = Way(quiet_ms=500)
    way.put()
    way.carry()
    assert way.receiving.state == receiving.PAUSED
    before = way.here.units_in_doubt()
    way.put(2)
    for _ in range(2 * 3600 // HEARTBEAT_SECONDS):
        way.time_passes(HEARTBEAT_SECONDS * 1000)
        way.carry()
        assert way.sending.state == sending.BATCH_HEARTBEAT
    way.put(4)
    assert way.here.units_in_doubt() == before
    way.end()


def test_batchhb_breaks_a_channel_whose_partner_is_gone() -> None:
    way = Way(quiet_ms=500)
    way.inhibit(False)
    way.put()
    way.carry()
    way.there.force()
    way.carry()
    way.time_passes(600)
    way.put()
    assert way.sending.state == sending.BATCH_HEARTBEAT
    way.time_passes(600)
    assert way.sending.state == sending.ENDED
    assert "did not answer within BATCHHB" in way.sender.text
