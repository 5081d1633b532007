"""Who sent what through the channels of a simulation, what has arrived, and what must and may have.

A persistent message of a committed unit of work arrives exactly once, and in order. One whose commit was not durable
before a crash may be gone, with its whole unit. A message that is not persistent may be lost by a crash that came after
it was put, and by a cut where the channel is fast; never otherwise, and none comes twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field

# What is known of a message.
OPEN = "open"  # put in a unit of work that has not ended
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
    """Messages of a group keep their order: those of one application, priority and kind."""
    unit: tuple[object, ...]
    crashes: int
    cuts: int
    state: str = OPEN
    lsn: int = 0
    rank: int = 0
    """Where it stands among all messages, by the time of its commit."""


@dataclass
class Account:
    """Of messages that go one way: from one queue manager to the other."""

    is_fast: bool
    may_discard: bool = False
    """Whether a message that is not persistent may be gone because no queue had room for it."""
    sent: dict[bytes, SentMessage] = field(default_factory=dict)
    undecided: list[SentMessage] = field(default_factory=list)
    """Those that are done and not yet certain, by LSN."""
    arrived: dict[str, list[bytes]] = field(default_factory=dict)
    """By queue, in the order in which they were got there."""
    back: list[bytes] = field(default_factory=list)
    """On the dead-letter queue of the sending side, in no order: they were in batches that ended at different times."""
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
        """The log of the sending side is durable so far: what was promised behind it holds."""
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
        """One of the two sides."""
        self.crashes += 1

    def cut(self) -> None:
        """A connection of the channel ended otherwise than in good order."""
        self.cuts += 1

    # -- at the receiving side

    def got(self, queue: str, body: bytes) -> None:
        self.arrived.setdefault(queue, []).append(body)

    def returned(self, body: bytes) -> None:
        """It could not be sent, and was found at the sending side."""
        self.back.append(body)

    # -- at the end

    def missing(self) -> set[bytes]:
        """What has not come, and must."""
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
        """A unit of work that was in doubt at a crash arrives as a whole or not at all."""
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
        """Messages that were committed for certain, and those that arrived."""
        certain = sum(1 for message in self.sent.values() if message.state in (CERTAIN, DONE))
        return certain, sum(len(bodies) for bodies in self.arrived.values())


def _some(bodies: set[bytes]) -> list[bytes]:
    return sorted(body.split()[0] for body in bodies)[:10]
