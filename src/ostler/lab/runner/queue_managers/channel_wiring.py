"""The MQSC that joins two queue managers by message channels. Only text is made here.

Requesters connect to the first queue manager, responders to the second. There are as many channels in each direction,
and each pair of them is a route with transmission queues of its own. Remote queues of the first lead to the request
queues of the second by each route, and queue manager aliases lead back by each route.
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
    """The routes between two queue managers, and the attributes of their channels."""

    routes: int = 1
    batch_size: int = USUAL_BATCH
    nonpersistent_speed: str = FAST
    cipher_spec: str = ""
    key_reset_bytes: int = 0
    """The number of bytes after which a channel negotiates new keys (SSLRKEYC); 0: never."""
    round_trip_ms: int = 0
    """The round-trip time added between the queue managers."""
    channels_max: int = 0
    """MaxChannels in qm.ini, unless the routes need more; 0: the default."""
    asking_ccsid: int = 0
    """The CCSID of the requesters' queue manager; 0: the default."""
    answering_ccsid: int = 0

    @property
    def stanzas(self) -> dict[str, dict[str, str]]:
        if not self.channels_max:
            return {}
        # Channels of both directions count.
        most = str(max(self.channels_max, 2 * self.routes))
        return {"Channels": {"MaxChannels": most, "MaxActiveChannels": most}}


def transmission_queue(to: str, route: int) -> str:
    return f"{to}.{route}"


def channel_name(sender: str, to: str, route: int) -> str:
    return f"{sender}.{to}.{route}"


def asking_commands(wiring: Wiring, pairs: int, own_replies: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the commands of the requesters' queue manager: reply queues, remote request queues by route, and
    channels."""
    found = _ccsid_commands(wiring.asking_ccsid)
    found += [f"DEFINE QLOCAL({reply_queue(pair)}) {_DEPTH}" for pair in range(pairs)]
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
    """Return the commands of the responders' queue manager: request queues, aliases of the other one by route, and
    channels."""
    found = _ccsid_commands(wiring.answering_ccsid)
    found += [f"DEFINE QLOCAL({request_queue(pair)}) {_DEPTH}" for pair in range(pairs)]
    found += [
        f"DEFINE QREMOTE({way_back(route)}) RNAME(' ') RQMNAME({ASKING}) XMITQ({transmission_queue(ASKING, route)})"
        for route in range(wiring.routes)
    ]
    return (*found, *_channel_commands(wiring, ANSWERING, ASKING))


def _ccsid_commands(ccsid: int) -> list[str]:
    return [f"ALTER QMGR CCSID({ccsid})"] if ccsid else []


def _channel_commands(wiring: Wiring, own: str, other: str) -> list[str]:
    """Return the transmission queues and receiver channels. Senders follow later: they need the port of the other queue
    manager."""
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
    """Return the commands that define and start the sender channels."""
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
    """Return the attributes that both ends of a channel have."""
    encrypted = f" SSLCIPH({wiring.cipher_spec})" if wiring.cipher_spec else ""
    return f"BATCHSZ({wiring.batch_size}) NPMSPEED({wiring.nonpersistent_speed}){encrypted}"


def status_command(own: str, other: str) -> str:
    """Return the command that displays the sender channels."""
    return f"DISPLAY CHSTATUS({own}.{other}.*) STATUS MSGS BATCHES"


def total(lines: Sequence[str], name: str) -> int:
    """Return the sum of an attribute over all channels, from the output of the command."""
    found = re.findall(rf"\b{name}\(([0-9]+)\)", "\n".join(lines))
    return sum(int(each) for each in found)


def states(lines: Sequence[str]) -> dict[str, str]:
    """Return the status of each channel, from the output of the command."""
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        for match in _CHANNEL.finditer(line):
            name = match[1]
        for match in _STATUS.finditer(line):
            found[name] = match[1]
    return found
