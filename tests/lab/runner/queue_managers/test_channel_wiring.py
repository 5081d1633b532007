"""MQSC that joins two queue managers, and what is read from the states of their channels."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostler.client.locate.embedded import start
from ostler.lab.load.mq.client import reply_manager_alias, request_queue, routed_queue
from ostler.lab.runner.queue_managers import channel_wiring as wires
from ostler.lab.runner.queue_managers.channel_wiring import ANSWERING, ASKING, NORMAL, Wiring
from ostler.lab.runner.queue_managers.child import run_commands
from ostler.model.attributes import ObjectType
from ostler.server.config.qm_ini import LogSection

KINDS = (ObjectType.CHANNEL, ObjectType.QLOCAL, ObjectType.QREMOTE)


@pytest.fixture(params=[1, 3], ids=["one route", "three routes"])
def wiring(request: pytest.FixtureRequest) -> Wiring:
    return Wiring(routes=request.param, batch_size=10, nonpersistent_speed=NORMAL, key_reset_bytes=1_000_000)


def test_queue_managers_take_all_of_it(wiring: Wiring, tmp_path: Path) -> None:
    """Both ends of every channel, every transmission queue, and remote queues that name what is there."""
    made = {
        ASKING: (*wires.asking_commands(wiring, 2, ("LAB.REPLY.OWN.0",)), *senders(wiring, ASKING, ANSWERING)),
        ANSWERING: (*wires.answering_commands(wiring, 2), *senders(wiring, ANSWERING, ASKING)),
    }
    found = {name: objects(tmp_path, name, commands) for name, commands in made.items()}
    routes = range(wiring.routes)
    for own, other in ((ASKING, ANSWERING), (ANSWERING, ASKING)):
        channels = {wires.channel_name(*ends, route) for route in routes for ends in ((own, other), (other, own))}
        assert channels <= found[own][ObjectType.CHANNEL]
        assert {wires.transmission_queue(other, route) for route in routes} <= found[own][ObjectType.QLOCAL]
    assert {"LAB.REPLY.0", "LAB.REPLY.1", "LAB.REPLY.OWN.0"} <= found[ASKING][ObjectType.QLOCAL]
    assert {routed_queue(pair, route) for pair in range(2) for route in routes} <= found[ASKING][ObjectType.QREMOTE]
    assert {request_queue(pair) for pair in range(2)} <= found[ANSWERING][ObjectType.QLOCAL]
    assert {reply_manager_alias(route) for route in routes} <= found[ANSWERING][ObjectType.QREMOTE]


def senders(wiring: Wiring, own: str, other: str) -> list[str]:
    """Without their start, for which the queue manager would have to run."""
    return [each for each in wires.sender_commands(wiring, own, other, 1414) if not each.startswith("START")]


def objects(root: Path, name: str, commands: tuple[str, ...]) -> dict[ObjectType, set[str]]:
    manager = start(name, root, True, LogSection(primary_files=2, file_pages=64), False)
    try:
        run_commands(manager, commands)
        return {each: set(manager.engine.of_type(each)) for each in KINDS}
    finally:
        manager.end("preemptive")


def test_channels_say_how_they_work() -> None:
    wiring = Wiring(batch_size=7, nonpersistent_speed=NORMAL, cipher_spec="ECDHE_RSA_AES_256_GCM_SHA384")
    ends = [each for each in wires.asking_commands(wiring, 1) if "CHLTYPE(RCVR)" in each]
    ends += [each for each in wires.sender_commands(wiring, ASKING, ANSWERING, 4711) if "CHLTYPE(SDR)" in each]
    assert len(ends) == 2
    for each in ends:
        assert "BATCHSZ(7) NPMSPEED(NORMAL) SSLCIPH(ECDHE_RSA_AES_256_GCM_SHA384)" in each
    assert "CONNAME('127.0.0.1(4711)')" in ends[1]
    assert f"XMITQ({ANSWERING}.0)" in ends[1]


def test_every_channel_is_started_once() -> None:
    started = [each for each in wires.sender_commands(Wiring(routes=4), ASKING, ANSWERING, 1) if "START" in each]
    assert started == [f"START CHANNEL({wires.channel_name(ASKING, ANSWERING, route)})" for route in range(4)]


def test_there_are_as_many_channels_as_routes_need() -> None:
    assert Wiring(routes=1000).stanzas == {}
    assert Wiring(routes=1000, channels_max=100).stanzas["Channels"]["MaxChannels"] == "2000"
    assert Wiring(routes=10, channels_max=5000).stanzas["Channels"]["MaxActiveChannels"] == "5000"


SHOWN = """
AMQ8417I: Display Channel Status details.
   CHANNEL(LAB0.LAB1.0)                    CHLTYPE(SDR)
   CONNAME(127.0.0.1(33221))               CURRENT
   MSGS(120)                               BATCHES(3)
   RQMNAME(LAB1)                           STATUS(RUNNING)
   SUBSTATE(MQGET)                         XMITQ(LAB1.0)
AMQ8417I: Display Channel Status details.
   CHANNEL(LAB0.LAB1.1)                    CHLTYPE(SDR)
   MSGS(5)                                 BATCHES(1)
   STATUS(RETRYING)
"""


def test_states_and_figures_are_read() -> None:
    lines = SHOWN.splitlines()
    assert wires.states(lines) == {"LAB0.LAB1.0": "RUNNING", "LAB0.LAB1.1": "RETRYING"}
    assert (wires.total(lines, "MSGS"), wires.total(lines, "BATCHES")) == (125, 4)
    assert wires.states(["AMQ8420I: Channel Status not found."]) == {}
