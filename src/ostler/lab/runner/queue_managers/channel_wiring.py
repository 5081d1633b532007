"""How two queue managers are joined by message channels, and the MQSC that makes it so: text, and nothing else.

Requesters are at the first, responders at the second. There are as many channels one way as the other, and each pair
of them is a route with transmission queues of its own. Remote queues of the first lead to the request queues of the
second by each route, and names for the first queue manager lead back by each route.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ostler.lab.load.mq.client import reply_queue, request_queue, routed_queue, way_back
from ostler.lab.peers.broker_process import LOOPBACK
from ostler.lab.runner.queue_managers.plan import NAME, USER

ASKING: Final = f"{NAME}0"
ANSWERING: Final = f"{NAME}1"
FAST: Final = "FAST"
NORMAL: Final = "NORMAL"
USUAL_BATCH: Final = 50
_DEPTH: Final = "MAXDEPTH(999999999)"
_STATUS: Final = re.compile(r"\bSTATUS\(([A-Z]+)\)")
_CHANNEL: Final = re.compile(r"\bCHANNEL\(([^)]+)\)")


@dataclass(frozen=True)
class Wiring:
    """Routes between two queue managers, and how their channels work."""

    routes: int = 1
    batch_size: int = USUAL_BATCH
    nonpersistent_speed: str = FAST
    cipher_spec: str = ""
    key_reset_bytes: int = 0
    """After so many bytes a channel makes new keys (SSLRKEYC); 0: never."""
    round_trip_ms: int = 0
    """What the distance adds to a round trip between the queue managers."""
    channels_max: int = 0
    """MaxChannels in qm.ini, unless the routes need more; 0: as many as there are."""

    @property
    def stanzas(self) -> dict[str, dict[str, str]]:
        if not self.channels_max:
            return {}
        # Both ways.
        most = str(max(self.channels_max, 2 * self.routes))
        return {"Channels": {"MaxChannels": most, "MaxActiveChannels": most}}


def transmission_queue(to: str, route: int) -> str:
    return f"{to}.{route}"


def channel_name(sender: str, to: str, route: int) -> str:
    return f"{sender}.{to}.{route}"


def asking_commands(wiring: Wiring, pairs: int, own_replies: Sequence[str] = ()) -> tuple[str, ...]:
    """Of the queue manager of requesters: reply queues, remote request queues by route, and what channels need."""
    found = [f"DEFINE QLOCAL({reply_queue(pair)}) {_DEPTH}" for pair in range(pairs)]
    found += [f"DEFINE QLOCAL({name}) {_DEPTH}" for name in own_replies]
    for route in range(wiring.routes):
        queue = transmission_queue(ANSWERING, route)
        found += [
            f"DEFINE QREMOTE({routed_queue(pair, route)}) RNAME({request_queue(pair)}) RQMNAME({ANSWERING}) "
            f"XMITQ({queue})"
            for pair in range(pairs)
        ]
    return (*found, *_channel_commands(wiring, ASKING, ANSWERING))


def answering_commands(wiring: Wiring, pairs: int) -> tuple[str, ...]:
    """Of the queue manager of responders: request queues, names for the other one by route, and what channels need."""
    found = [f"DEFINE QLOCAL({request_queue(pair)}) {_DEPTH}" for pair in range(pairs)]
    found += [
        f"DEFINE QREMOTE({way_back(route)}) RNAME(' ') RQMNAME({ASKING}) XMITQ({transmission_queue(ASKING, route)})"
        for route in range(wiring.routes)
    ]
    return (*found, *_channel_commands(wiring, ANSWERING, ASKING))


def _channel_commands(wiring: Wiring, own: str, other: str) -> list[str]:
    """Transmission queues and the ends that receive. Those that send need the port of the other queue manager."""
    found = []
    if wiring.key_reset_bytes:
        found.append(f"ALTER QMGR SSLRKEYC({wiring.key_reset_bytes})")
    for route in range(wiring.routes):
        found.append(f"DEFINE QLOCAL({transmission_queue(other, route)}) USAGE(XMITQ) {_DEPTH}")
        found.append(
            f"DEFINE CHANNEL({channel_name(other, own, route)}) CHLTYPE(RCVR) TRPTYPE(TCP) MCAUSER('{USER}') "
            f"{_terms(wiring)}"
        )
    return found


def sender_commands(wiring: Wiring, own: str, other: str, port: int) -> list[str]:
    """The ends that send, defined and started."""
    found = []
    for route in range(wiring.routes):
        name = channel_name(own, other, route)
        found.append(
            f"DEFINE CHANNEL({name}) CHLTYPE(SDR) TRPTYPE(TCP) CONNAME('{LOOPBACK}({port})') "
            f"XMITQ({transmission_queue(other, route)}) DISCINT(0) SHORTTMR(1) {_terms(wiring)}"
        )
        found.append(f"START CHANNEL({name})")
    return found


def _terms(wiring: Wiring) -> str:
    """What both ends of a channel say."""
    encrypted = f" SSLCIPH({wiring.cipher_spec})" if wiring.cipher_spec else ""
    return f"BATCHSZ({wiring.batch_size}) NPMSPEED({wiring.nonpersistent_speed}){encrypted}"


def status_command(own: str, other: str) -> str:
    """Shows the channels that send."""
    return f"DISPLAY CHSTATUS({own}.{other}.*) STATUS MSGS BATCHES"


def total(lines: Sequence[str], name: str) -> int:
    """The sum of a figure of all channels, from what the command showed."""
    found = re.findall(rf"\b{name}\(([0-9]+)\)", "\n".join(lines))
    return sum(int(each) for each in found)


def states(lines: Sequence[str]) -> dict[str, str]:
    """The state of each channel, from what the command showed."""
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        for match in _CHANNEL.finditer(line):
            name = match[1]
        for match in _STATUS.finditer(line):
            found[name] = match[1]
    return found
