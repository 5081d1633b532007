"""The description of a load: the clients a driver runs, the broker, and the protocol."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ostler.lab.load.link import Address
from ostler.lab.load.pacing import Pacing
from ostler.lab.runner.contract import PUT, ROUND_TRIP, SESSION

BARE = "bare"
NATS = "NATS"
JETSTREAM = "JetStream"
AMQP = "AMQP"
MQTT = "MQTT"
REDIS = "Redis"
STOMP = "STOMP"
MQ_VERBS = "MQI verb by verb"
MQ_PIPELINED = "MQI pipelined"
PIKA = "pika"
NATS_PY = "nats-py"
PAHO = "paho-mqtt"
REDIS_PY = "redis-py"
STOMP_PY = "stomp.py"
OSTLER_API = "ostler.connect"
TRUSTED = "MQI inside the queue manager"
# Limits that need no broker.
GROUP_COMMIT = "group commit"
REPLICATED_FORCE = "replicated force"
MEMORY_COPY = "memory copy"


# Kinds of load.
REQUEST_REPLY = "request-reply"
ONE_WAY = "one-way"
SESSIONS = "sessions"
PUBLISH = "publish-subscribe"

_MAIN_OPERATIONS = {REQUEST_REPLY: ROUND_TRIP, ONE_WAY: PUT, SESSIONS: SESSION, PUBLISH: PUT}

# Clients that work in units of work.
BY_PERSISTENCE = "by-persistence"
NOBODY = "out"
RESPONDERS = "server-in"
EVERYBODY = "in"

# Message formats.
PLAIN = "plain"
JMS = "jms"


@dataclass(frozen=True)
class TlsSpec:
    """The TLS settings of a load: the CipherSpec, and the file with the certificate of the authority that signed the
    broker's."""

    cipher_spec: str
    authority_file: str


@dataclass(frozen=True)
class LoadSpec:
    """A load of one contestant. Clients are numbered, so that several drivers can share a load.

    In a load of `kind` ONE_WAY the requesters are producers and the responders consumers, and producer and consumer
    with the same number modulo `pairs` share the request queue of that pair. In SESSIONS a requester connects, makes
    `session_round_trips` and disconnects, repeatedly. In PUBLISH requesters are publishers and responders are
    subscribers: client n publishes, or subscribes, to topic n modulo `pairs`, and each subscriber gets everything.
    """

    protocol: str
    address: Address
    requesters: range
    responders: range
    pairs: int
    body_bytes: int
    persistent: bool
    channel: str = ""
    kind: str = REQUEST_REPLY
    rate_per_second: float = 0.0
    """The rate of each requester or producer; 0: the next follows the one before at once."""
    since_put: bool = False
    """A requester is due a period after its last put, and not on a fixed schedule."""
    responder_protocol: str = ""
    """Empty: as requesters. The range of responders is empty when no driver of this load runs them."""
    responder_address: Address | None = None
    units: str = BY_PERSISTENCE
    """BY_PERSISTENCE: responders work in units of work when messages are persistent, requesters never."""
    goes_round: bool = True
    """Requesters use the pairs of queues in turn; otherwise each uses the pair of its number modulo `pairs`."""
    own_replies: bool = False
    """Each requester has a reply queue of its own."""
    messages: str = PLAIN
    session_round_trips: int = 0
    tls: TlsSpec | None = None
    conversations: int = 1
    """The number of clients that share a connection (SHARECNV); 0 and 1: none do."""
    async_put: bool = False
    """Producers do not wait for the answer to a put of a non-persistent message, or of one in a unit of work."""
    read_ahead: bool = False
    """Consumers use read-ahead; never in units of work."""
    other_addresses: tuple[Address, ...] = ()
    """More queue managers: client n of m of them uses address n modulo m, `address` being the first, and there the pair
    n / m modulo `pairs`."""

    responder_others: tuple[Address, ...] = ()
    """More queue managers of responders, where these have a `responder_address`."""
    is_shared: bool = False
    """All queue managers share all queues: client n uses pair n modulo `pairs`, at whichever queue manager it is."""

    drivers: int = 1
    """The number of drivers that share the whole load."""
    subscribers: int = 0
    """The number of subscribers of each topic, in all parts of the load."""
    consumer_unit: int = 1
    """The number of messages that consumers get in a unit of work, where they use one."""
    producer_unit: int = 1
    """The number of messages that producers put in a unit of work, where they use one."""
    requester_ccsid: int = 0
    """The CCSID of requests, which are text then, and the one that requesters have replies converted to; 0: nothing is
    converted."""
    responder_ccsid: int = 0
    """The CCSID that responders have requests converted to, and that of replies."""
    routes: int = 0
    """Channels in each direction, where responders are at another queue manager; 0: there is only one. Client n uses
    route n modulo this number; one that goes round, for pair p, route n + p modulo this number."""
    line: str = ""
    """The prefix of route names, where brokers need one."""
    copies: int = 1
    """The number of brokers that have a copy of each queue, where a peer's queues say so: 1 for those of a single
    broker. The copies of a queue manager are a matter of the queue manager."""
    window: int = 0
    """The number of one-way messages in flight at which producers wait; 0: unlimited. Not with several drivers, since
    none has the counts of the others."""

    def part(self, number: int, parts: int) -> LoadSpec:
        """Return the part of the driver with this number, of so many."""
        return replace(
            self,
            requesters=self.requesters[number::parts],
            responders=self.responders[number::parts],
            drivers=self.drivers * parts,
        )

    def pacing(self) -> Pacing:
        """Return the pace of this part. Requesters of several drivers are due one after the other, too."""
        step = abs(self.requesters.step)
        offset = self.requesters.start % step / step
        return Pacing(_MAIN_OPERATIONS[self.kind], self.rate_per_second, offset, self.drivers > 1, self.since_put)

    def address_of(self, number: int) -> Address:
        """Return the address for a client of this number."""
        return (self.address, *self.other_addresses)[number % (1 + len(self.other_addresses))]


def pair_of(spec: LoadSpec, number: int, turn: int) -> int:
    """Return the pair of queues that a requester uses for the nth time; with turn 0 the pair of a client that has only
    one."""
    first = number if spec.is_shared else number // (1 + len(spec.other_addresses))
    return (first + turn if spec.goes_round else first) % spec.pairs


def host_and_port(spec: LoadSpec) -> tuple[str, int]:
    """Return the address of a load that must go over TCP."""
    if isinstance(spec.address, str):
        raise ValueError(f"{spec.protocol} is driven over TCP only")
    return spec.address
