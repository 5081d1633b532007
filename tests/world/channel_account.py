"""Account of the messages sent through the channels of a simulation, and of those that must or may arrive.

A persistent message of a committed unit of work arrives exactly once, and in order. One whose commit was not durable
before a crash may be lost with its whole unit. A non-persistent message may be lost by a crash after its put, and by a
broken connection of a fast channel; never otherwise, and none is duplicated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# What is known of a message.
OPEN = "open"  # put in an open unit of work
DONE = "done"  # committed, but perhaps not durable
CERTAIN = "certain"
MAYBE = "maybe"  # a crash came before it was durable
GONE = "gone"  # backed out


@dataclass
class SentMessage:
    """One message, from its put on."""

    body: bytes
    is_persistent: bool
    group: tuple[object, ...]
    """Messages of one group (application, priority and kind) keep their order."""
    unit: tuple[object, ...]
    crashes: int
    cuts: int
    state: str = OPEN
    lsn: int = 0
    rank: int = 0
    """Its position among all messages, by the time of its commit."""


@dataclass
class Account:
    """The account of one direction, from one queue manager to the other."""

    is_fast: bool
    may_discard: bool = False
    """True if non-persistent messages may be discarded because a queue is full."""
    sent: dict[bytes, SentMessage] = field(default_factory=dict)
    undecided: list[SentMessage] = field(default_factory=list)
    """Messages that are done but not yet certain, by LSN."""
    arrived: dict[str, list[bytes]] = field(default_factory=dict)
    """Arrived messages by queue, in the order of their gets."""
    back: list[bytes] = field(default_factory=list)
    """Messages on the dead-letter queue of the sending side, in no order: their batches ended at different times."""
    crashes: int = 0
    cuts: int = 0
    _rank: int = 0

    # -- at the sending side

    def put(self, body: bytes, is_persistent: bool, group: tuple[object, ...], unit: tuple[object, ...]) -> SentMessage:
        message = SentMessage(body, is_persistent, group, unit, self.crashes, self.cuts)
        self.sent[body] = message
        return message

    def committed(self, messages: list[SentMessage], lsn: int) -> None:
        for message in messages:
            self._rank += 1
            message.rank = self._rank
            message.state = DONE
            message.lsn = lsn
        self.undecided += messages

    def durable(self, lsn: int) -> None:
        """Mark messages as certain up to the durable LSN of the sending side."""
        later: list[SentMessage] = []
        for message in self.undecided:
            if message.lsn <= lsn:
                message.state = CERTAIN
            else:
                later.append(message)
        self.undecided = later

    def sender_crashed(self, durable_lsn: int) -> None:
        self.durable(durable_lsn)
        for message in self.undecided:
            message.state = MAYBE
        self.undecided = []
        self.crashed()

    def crashed(self) -> None:
        """Record a crash of one side."""
        self.crashes += 1

    def cut(self) -> None:
        """Record a connection that did not end normally."""
        self.cuts += 1

    # -- at the receiving side

    def got(self, queue: str, body: bytes) -> None:
        self.arrived.setdefault(queue, []).append(body)

    def returned(self, body: bytes) -> None:
        """Record a message that was dead-lettered at the sending side."""
        self.back.append(body)

    # -- at the end

    def missing(self) -> set[bytes]:
        """Return the messages that must arrive and have not."""
        found = set(self._everything())
        return {body for body, message in self.sent.items() if body not in found and self._must_arrive(message)}

    def _everything(self) -> list[bytes]:
        return self.back + [body for bodies in self.arrived.values() for body in bodies]

    def check(self) -> None:
        everything = self._everything()
        found = set(everything)
        assert len(found) == len(everything), f"twice: {_some({b for b in found if everything.count(b) > 1})}"
        assert found <= self.sent.keys(), f"never sent: {_some(found - self.sent.keys())}"
        wrong = {body for body in found if self.sent[body].state in (OPEN, GONE)}
        assert not wrong, f"backed out and arrived: {_some(wrong)}"
        lost = self.missing()
        assert not lost, f"lost: {_some(lost)}"
        self._check_units(found)
        for queue, bodies in self.arrived.items():
            self._check_order(queue, bodies)

    def _must_arrive(self, message: SentMessage) -> bool:
        if message.state not in (CERTAIN, DONE):
            return False
        if message.is_persistent or self.may_discard:
            return message.is_persistent
        return message.crashes == self.crashes and (not self.is_fast or message.cuts == self.cuts)

    def _check_units(self, found: set[bytes]) -> None:
        """Check that a unit of work in doubt at a crash arrives completely or not at all."""
        units: dict[tuple[object, ...], set[bool]] = {}
        for body, message in self.sent.items():
            if message.is_persistent and message.state == MAYBE:
                units.setdefault(message.unit, set()).add(body in found)
        torn = [unit for unit, fates in units.items() if len(fates) > 1]
        assert not torn, f"units of which only a part arrived: {torn}"

    def _check_order(self, queue: str, bodies: list[bytes]) -> None:
        last: dict[tuple[object, ...], SentMessage] = {}
        for body in bodies:
            message = self.sent[body]
            before = last.get(message.group)
            assert before is None or before.rank < message.rank, (
                f"on {queue} {body.split()[0]!r} came after {before.body.split()[0]!r}"
            )
            last[message.group] = message

    def counts(self) -> tuple[int, int]:
        """Return the numbers of certainly committed and of arrived messages."""
        certain = sum(1 for message in self.sent.values() if message.state in (CERTAIN, DONE))
        return certain, sum(len(bodies) for bodies in self.arrived.values())


def _some(bodies: set[bytes]) -> list[bytes]:
    return sorted(body.split()[0] for body in bodies)[:10]
