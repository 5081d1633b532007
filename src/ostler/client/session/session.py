"""The session port: a connection as the Python API uses it, wherever its queue manager is.

`in_process` implements it for a queue manager of this process, `remote_session` over a link. The verbs are coroutines;
on the blocking runtime they never suspend, so both flavours of the API use the same ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from ostler.client.session.runtime import Runtime
from ostler.command.admin.objects import Given
from ostler.engine.open import OpenRequest
from ostler.model.attributes import ObjectType, Value
from ostler.server.queue_manager import QueueManager
from ostler.wire.subscribe_frames import LEVEL_HIGHEST, SubscribeArguments, SubscribeReply


class GetOptions(TypedDict, total=False):
    """The keywords of a get or browse.

    wait             seconds to wait for a message; 0, the default, not at all; None for ever
    timeout          another name of wait
    message_id, correlation_id, group_id, sequence_number      get only a message that has these
    selector         get only a message that meets this SQL-92 condition
    syncpoint        take part in the unit of work, or not; unless given: inside a transaction block, yes
    convert          have text and MQ headers converted to UTF-8 and native numbers
    max_bytes        refuse a longer message, which then stays on the queue, with MQRC_TRUNCATED_MSG_FAILED
    truncate         cut a longer message off instead, and lose the rest
    options          further MQGMO options, such as MQGMO_LOGICAL_ORDER
    """

    wait: float | None
    timeout: float | None
    message_id: bytes | None
    correlation_id: bytes | None
    group_id: bytes | None
    sequence_number: int | None
    selector: str | None
    syncpoint: bool | None
    convert: bool
    max_bytes: int | None
    truncate: bool
    options: int


class Put(NamedTuple):
    """The result of a put: the descriptor as stored, and 0 or the reason of a warning."""

    md: bytes
    warning: int


class StoredMessage(NamedTuple):
    """A message that was got or browsed, as it is stored. The warning is 0 or a reason code."""

    md: bytes
    body: bytes
    property_block: bytes
    token: bytes
    warning: int


class BackoutRules(NamedTuple):
    """The backout rules of a queue: its name, BOTHRESH and BOQNAME."""

    queue: str
    threshold: int
    backout_queue: str


class OpenQueue(ABC):
    """A queue that a session has open."""

    __slots__ = ()

    @property
    @abstractmethod
    def number(self) -> int:
        """The object handle."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name it was opened by; for a dynamic queue the name it was created with."""

    @property
    @abstractmethod
    def selection(self) -> str:
        """The selector it was opened with."""

    @property
    @abstractmethod
    def topic(self) -> str:
        """The full topic string of a topic; empty for a queue."""

    @abstractmethod
    async def put(self, md: bytes, options: int, property_block: bytes, body: bytes, level: int = LEVEL_HIGHEST) -> Put:
        """MQPUT. Outside syncpoint a persistent message is durable on return. `level` is the publication level."""

    @abstractmethod
    async def get(self, asked: GetOptions, browse: int = 0) -> StoredMessage | None:
        """MQGET. Returns None when there is no message. `browse` is an MQGMO_BROWSE option; 0 removes the message."""

    @abstractmethod
    async def close(self, options: int = 0) -> int:
        """MQCLOSE. Returns 0 or the reason of a warning. A second call does nothing."""

    @abstractmethod
    async def depth(self) -> int:
        """Return the number of messages on the queue, uncommitted ones included."""

    @abstractmethod
    async def inquire(self, name: str) -> Value | None:
        """Return an attribute by its MQSC name."""

    @abstractmethod
    async def backout_rules(self) -> BackoutRules | None:
        """Return the backout rules; None for a queue of another queue manager."""


class OpenSubscription(ABC):
    """A subscription that a session has created or resumed."""

    __slots__ = ()

    @property
    @abstractmethod
    def number(self) -> int:
        """The subscription handle."""

    @property
    @abstractmethod
    def described(self) -> SubscribeReply:
        """The attributes of the subscription."""

    @property
    @abstractmethod
    def destination(self) -> OpenQueue | None:
        """The managed destination queue; None when the program provides one."""

    @property
    @abstractmethod
    def warning(self) -> int:
        """0, or the reason of the warning of MQSUB."""

    @abstractmethod
    async def request(self, action: int, options: int) -> int:
        """MQSUBRQ. Returns the number of publications sent."""

    @abstractmethod
    async def close(self, options: int = 0) -> int:
        """MQCLOSE. Returns 0 or the reason of a warning. A second call does nothing."""


class Session(ABC):
    """One connection."""

    runtime: Runtime
    closed: bool
    transaction: object  # the transaction block that owns the unit of work

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the queue manager."""

    @property
    @abstractmethod
    def manager(self) -> QueueManager:
        """The queue manager itself. MQError when it is not in this process."""

    @property
    @abstractmethod
    def hconn(self) -> int:
        """The connection handle for the raw verbs. MQError where there is none."""

    @property
    @abstractmethod
    def application(self) -> str: ...

    @property
    @abstractmethod
    def ccsid(self) -> int:
        """The code page of the queue manager."""

    @abstractmethod
    def check(self) -> None:
        """Raise MQError if the connection is closed or broken."""

    @abstractmethod
    async def clone(self) -> Session:
        """Return another connection of the same user and application."""

    @abstractmethod
    async def disconnect(self, commit: bool) -> None:
        """MQDISC. Waiting gets of other threads or tasks end with an error. A second call does nothing."""

    @abstractmethod
    def interrupt(self) -> None:
        """End all waiting gets of this connection, now and later, as if their time were up."""

    # -- messages ------------------------------------------------------------------------------------------------------

    @abstractmethod
    async def open(self, request: OpenRequest) -> OpenQueue:
        """MQOPEN of a queue, or of a topic."""

    @abstractmethod
    async def put1(
        self,
        request: OpenRequest,
        md: bytes,
        options: int,
        property_block: bytes,
        body: bytes,
        source: OpenQueue | None = None,
        level: int = LEVEL_HIGHEST,
    ) -> Put:
        """MQPUT1. `source` has the context to pass on; `level` is the publication level."""

    @abstractmethod
    async def subscribe(self, asked: SubscribeArguments, destination: OpenQueue | None) -> OpenSubscription:
        """MQSUB. `destination` receives the publications, unless the destination is managed."""

    @abstractmethod
    async def dead_letter_queue(self) -> str:
        """DEADQ of the queue manager; empty when it has none."""

    # -- units of work -------------------------------------------------------------------------------------------------

    @abstractmethod
    def has_unit(self) -> bool:
        """Return whether a unit of work is in progress."""

    @abstractmethod
    async def commit(self) -> None:
        """MQCMIT. Raises MQRC_BACKED_OUT when the queue manager had to back the unit of work out."""

    @abstractmethod
    async def back_out(self) -> None:
        """MQBACK."""

    # -- objects -------------------------------------------------------------------------------------------------------

    @abstractmethod
    async def define(
        self, kind: ObjectType, name: str, given: Mapping[str, Given], like: str | None, replace: bool
    ) -> None: ...

    @abstractmethod
    async def alter(self, kind: ObjectType, name: str, given: Mapping[str, Given]) -> None: ...

    @abstractmethod
    async def delete(self, kind: ObjectType, name: str, purge: bool) -> None: ...

    @abstractmethod
    async def clear(self, queue: str) -> None: ...

    @abstractmethod
    async def display(self, word: str, pattern: str, names: Sequence[str]) -> list[dict[str, Value]]:
        """Return the objects whose names match, with NAME, TYPE and the named attributes, or all of them."""
