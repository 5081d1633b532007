"""The interface to a library: one small adapter for each, over which all patterns of messaging are written once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Final, Generic

from ostler.lab.load.drivers.load_worker import Done
from ostler.lab.load.spec import ONE_WAY, REQUEST_REPLY, LoadSpec, pair_of

REQUESTER: Final = "requester"
RESPONDER: Final = "responder"
PRODUCER: Final = "producer"
CONSUMER: Final = "consumer"


class LibraryAdapter(ABC, Generic[Done]):
    """One connection through a library, in one role. All methods are called in the thread of its client.

    Methods of a blocking library return when they are done, those of an asynchronous one return something to await.
    """

    kinds: ClassVar[tuple[str, ...]] = (REQUEST_REPLY, ONE_WAY)
    """The kinds of load that it has methods for."""
    window: int = 0
    """The number of messages in flight at which a producer waits; 0: unlimited."""

    def __init__(self, spec: LoadSpec, number: int, role: str) -> None:
        self.spec = spec
        self.number = number
        self.role = role
        self.pair = pair_of(spec, number, 0)
        self.received: Callable[[bytes, Any], Done] = self.reply
        """Called for each message of a responder or a consumer, with its body and what the library knows it by."""

    @abstractmethod
    def queue(self, purpose: str, number: int) -> str:
        """Return the name of a queue for requests, replies or one-way messages."""

    @property
    def own_queue(self) -> str:
        """The queue that it receives from; that of a producer is the one it sends to."""
        if self.role == REQUESTER:
            return self.queue("reply", self.number)
        return self.queue("one-way" if self.spec.kind == ONE_WAY else "request", self.pair)

    @abstractmethod
    def connect(self) -> Done:
        """Connect, and be ready to send and to receive."""

    @abstractmethod
    def request(self, pair: int, sequence: int, body: bytes) -> Done:
        """Send a request to a pair of queues, and wait for its reply. Raises LoadFailed for a reply to another."""

    @abstractmethod
    def reply(self, body: bytes, message: Any) -> Done:
        """Reply to a request, and acknowledge it when the reply is safe."""

    def send(self, body: bytes) -> Done:
        """Send a one-way message, and wait until the broker has it."""
        raise NotImplementedError

    def acknowledge(self, message: Any) -> Done:
        """Acknowledge a one-way message, where the broker waits for that."""
        raise NotImplementedError

    def serve(self) -> Done:
        """Wait shortly for a message, and pass it to `received`. Asynchronous libraries call back by themselves."""
        raise NotImplementedError

    @abstractmethod
    def close(self) -> Done: ...

    def abandon(self) -> None:
        """Release what a failed client holds. Most brokers notice when its process ends."""
