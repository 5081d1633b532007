"""Queue managers in this process, and message channels between them over real sockets."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from ostler.client.api.message import Message
from ostler.command.status.channel_status import CURRENT, SAVED, ChannelStatus
from ostler.model.structures.headers import MQDLH
from ostler.model.structures.layout import trim
from ostler.testing import MqscError, RunningQueueManager, queue_manager

PATIENCE_SECONDS = 30.0
DEAD = "DEAD.LETTERS"
_numbers = itertools.count(1)


@contextmanager
def queue_managers(*names: str, guarded: bool = False) -> Iterator[list[RunningQueueManager]]:
    """Queue managers that run for the time of a block, each with a dead-letter queue."""
    with ExitStack() as stack:
        made = [stack.enter_context(queue_manager(name, guarded=guarded)) for name in names]
        for each in made:
            each.mqsc(f"DEFINE QLOCAL({DEAD})\nALTER QMGR DEADQ({DEAD})")
        yield made


def eventually(condition: Callable[[], bool], what: str = "it") -> None:
    """Wait until a condition set by other threads is true."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"{what} has not happened"
        pause.wait(0.003)


@dataclass
class Route:
    """A channel from one queue manager to another, with queues of its own on both sides."""

    here: RunningQueueManager
    there: RunningQueueManager
    channel: str
    kinds: tuple[str, str] = ("SDR", "RCVR")

    @property
    def transmission(self) -> str:
        return f"{self.channel}.XMITQ"

    @property
    def out(self) -> str:
        """The remote queue to put to."""
        return f"{self.channel}.OUT"

    @property
    def target(self) -> str:
        """The queue that messages arrive on."""
        return f"{self.channel}.IN"

    # -- channels ------------------------------------------------------------------------------------------------------

    def start(self) -> Route:
        self.here.mqsc(f"START CHANNEL({self.channel})")
        return self

    def limit_end_wait(self) -> None:
        """Start the channel without waiting for the next retry."""
        with contextlib.suppress(MqscError):  # it may have begun
            self.start()

    def run(self) -> Route:
        """Start the channel, and wait until both ends run."""
        self.start()
        return self.until("RUNNING").until("RUNNING", self.there)

    def stop(self, options: str = "", where: RunningQueueManager | None = None) -> None:
        (where or self.here).mqsc(f"STOP CHANNEL({self.channel}) {options}")

    def status(self, where: RunningQueueManager | None = None) -> ChannelStatus | None:
        found = [each for each in self._statuses(where) if each.instance == CURRENT]
        return found[0] if found else None

    def saved(self, where: RunningQueueManager | None = None) -> ChannelStatus:
        (found,) = [each for each in self._statuses(where) if each.instance == SAVED]
        return found

    def _statuses(self, where: RunningQueueManager | None) -> list[ChannelStatus]:
        return [each for each in (where or self.here).server.channel_status() if each.name == self.channel]

    def chstatus(self, where: RunningQueueManager | None = None) -> ChannelStatus:
        found = self.status(where)
        assert found is not None
        return found

    def refused(self, command: str, where: RunningQueueManager | None = None) -> str:
        """Return the error of a command that is refused; {} in it is the channel."""
        with pytest.raises(MqscError) as caught:
            (where or self.here).mqsc(command.format(self.channel))
        return str(caught.value)

    def state(self, where: RunningQueueManager | None = None) -> str:
        found = self.status(where)
        return found.status if found is not None else "INACTIVE"

    def until(self, state: str, where: RunningQueueManager | None = None) -> Route:
        """Wait until an end, by default the sending one, is in a state."""
        qm = where or self.here
        try:
            eventually(lambda: self.state(qm) == state)
        except AssertionError:
            raise AssertionError(f"{self.channel} is {self.state(qm)}, not {state}: {self.notes(qm)}") from None
        return self

    def notes(self, where: RunningQueueManager | None = None) -> str:
        """Return the error messages of a queue manager about this channel."""
        return "\n".join(note for note in (where or self.here).manager.notices if self.channel in note)

    def until_noted(self, part: str, where: RunningQueueManager | None = None) -> str:
        """Wait for an error message about this channel, and return all of them."""
        try:
            eventually(lambda: part in self.notes(where))
        except AssertionError:
            raise AssertionError(f"{part} was not said: {self.notes(where)}") from None
        return self.notes(where)

    def alter(self, attributes: str, where: RunningQueueManager | None = None) -> None:
        qm = where or self.here
        kind = self.kinds[0 if qm is self.here else 1]
        qm.mqsc(f"ALTER CHANNEL({self.channel}) CHLTYPE({kind}) {attributes}")

    # -- messages ------------------------------------------------------------------------------------------------------

    def put(self, *bodies: bytes | str, persistent: bool = True) -> None:
        """Put messages, all at once."""
        with self.here.connect() as connection, connection.transaction():
            for body in bodies:
                connection.put(self.out, body, persistent=persistent)

    def get(self, queue: str = "", where: RunningQueueManager | None = None) -> Message:
        """The next message on a queue of the other side."""
        message = (where or self.there).get(queue or self.target, wait=PATIENCE_SECONDS)
        assert message is not None, f"nothing comes: {self.notes()}\n{self.notes(self.there)}"
        return message

    def bodies(self, count: int, queue: str = "", where: RunningQueueManager | None = None) -> list[bytes]:
        found: list[bytes] = []
        with (where or self.there).connect() as connection, connection.open(queue or self.target, "r") as opened:
            while len(found) < count:
                message = opened.get(wait=PATIENCE_SECONDS)
                assert message is not None, f"{len(found)} came: {self.notes()}\n{self.notes(self.there)}"
                found.append(message.data)
        return found

    def is_empty(self) -> bool:
        """Return True if all batches are committed and the transmission queue is empty."""
        return self.here.depth(self.transmission) == 0

    def settled(self) -> Route:
        """Wait until all messages have arrived and are committed."""
        eventually(lambda: self.is_empty() and not (self.status() is not None and self.chstatus().in_doubt))
        return self

    def close(self) -> None:
        for qm in (self.here, self.there):
            with contextlib.suppress(MqscError, AssertionError):  # one of them may not run
                qm.mqsc(f"STOP CHANNEL({self.channel}) MODE(FORCE) STATUS(INACTIVE)")


@dataclass(frozen=True)
class DeadLetter:
    reason: int
    queue: str
    manager: str
    body: bytes


def dead_letter(where: RunningQueueManager) -> DeadLetter:
    """The next message that could not be delivered."""
    message = where.get(DEAD, wait=PATIENCE_SECONDS)
    assert message is not None, "nothing comes"
    data = message.data
    assert message.format == "MQDEAD"
    names = [trim(MQDLH.read_bytes(data, each)).decode() for each in ("DestQName", "DestQMgrName")]
    return DeadLetter(MQDLH.read_int(data, "Reason"), names[0], names[1], data[MQDLH.size() :])


class Routes:
    """Makes routes, and stops them in the end."""

    def __init__(self, here: RunningQueueManager, there: RunningQueueManager) -> None:
        self.here = here
        self.there = there
        self._made: list[Route] = []

    def __call__(
        self,
        sender: str = "",
        receiver: str = "",
        *,
        kinds: tuple[str, str] = ("SDR", "RCVR"),
        port: int = 0,
        here: RunningQueueManager | None = None,
        there: RunningQueueManager | None = None,
    ) -> Route:
        """Define a route. `sender` and `receiver` are further attributes of the channel's ends."""
        first, second = here or self.here, there or self.there
        for qm in (first, second):
            qm.server.notes.forget()  # tests write more messages than the rate limit allows
        route = Route(first, second, f"{first.name}.{second.name}.{next(_numbers)}", kinds)
        called = {"SDR": True, "SVR": kinds[1] != "RQSTR"}.get(kinds[0], False)
        address = f"CONNAME('{second.host}({port or second.port})')" if called and "CONNAME" not in sender else ""
        first.mqsc(f"""
            DEFINE QLOCAL({route.transmission}) USAGE(XMITQ)
            DEFINE QREMOTE({route.out}) RNAME({route.target}) RQMNAME({second.name}) XMITQ({route.transmission})
            DEFINE CHANNEL({route.channel}) CHLTYPE({kinds[0]}) XMITQ({route.transmission}) {address} {sender}
        """)
        back = f"CONNAME('{first.host}({first.port})')" if kinds[1] == "RQSTR" and "CONNAME" not in receiver else ""
        second.mqsc(f"""
            DEFINE QLOCAL({route.target})
            DEFINE CHANNEL({route.channel}) CHLTYPE({kinds[1]}) {back} {receiver}
        """)
        self._made.append(route)
        return route

    def close(self) -> None:
        for route in self._made:
            route.close()
