"""One instance of a message channel, as the queue manager keeps it, and what DISPLAY CHSTATUS shows of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from mypy_extensions import i64

from ostler.channel import sync_records
from ostler.channel.batch import Figures
from ostler.channel.compression import METHODS
from ostler.channel.retrying import Retries
from ostler.channel.states import INACTIVE, NAMES, RETRYING, STOPPED, STOPPING, after
from ostler.channel.sync_records import InDoubt, SyncRecord, SyncRecords
from ostler.channel.terms import number_of, text_of
from ostler.command.channel_status import SAVED, ChannelStatus
from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.constants import MQMON_OFF
from ostler.model.definitions import Definition
from ostler.server.channel_connector import Attempt
from ostler.server.channel_measures import measures
from ostler.server.message_agent import MessageAgent
from ostler.server.timers import Timer

if TYPE_CHECKING:
    from collections.abc import Callable

# Types of channels: that connect by themselves, that send, that receive.
CALLING: Final = ("SDR", "SVR", "RQSTR")
SENDING: Final = ("SDR", "SVR")
RECEIVING: Final = ("RCVR", "RQSTR")
# States in which nothing goes on.
AT_REST: Final = (INACTIVE, STOPPED, RETRYING)

_NO_FIGURES: Final = Figures()
_WELL_MS: Final = 10_000
_METHOD_WORDS: Final = {number: word for word, number in METHODS.items()}


class RetryTimer(Timer):
    """Wakes a channel that waits to be tried again."""

    def __init__(self, due: Callable[[], None]) -> None:
        super().__init__()
        self._due = due

    def fire(self, now_ms: i64) -> None:
        self._due()


class Instance:
    """A channel that runs, tries to, waits or was stopped."""

    def __init__(self, definition: Definition, is_called: bool) -> None:
        self.definition = definition
        self.name = definition.name
        self.kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
        self.is_called = is_called  # the partner has connected to it
        self.state: int = INACTIVE
        self.retries = Retries(
            number_of(definition, "SHORTRTY", 0),
            number_of(definition, "SHORTTMR", 60),
            number_of(definition, "LONGRTY", 0),
            number_of(definition, "LONGTMR", 1200),
        )
        self.timer: RetryTimer | None = None
        self.attempt: Attempt | None = None
        self.agent: MessageAgent | None = None
        self.connection: Connection | None = None  # a sending end's, with its transmission queue
        self.partner = ""
        self.address = ""
        self.user = ""
        self.monitoring: int = MQMON_OFF
        self.started_ms = 0
        self.status_after = ""  # a stop was asked for: STOPPED or INACTIVE
        self.was_told = False  # that it started

    def happens(self, event: int) -> None:
        """Go where an event leads."""
        self.state = after(self.state, event)

    def went_well(self) -> bool:
        """Whether it did what it is there for, or ran for a while: to have connected is not enough.

        What ends a channel right after each start, such as a message that nobody takes, uses up its retries.
        """
        return self.figures().batches > 0 or (self.started_ms > 0 and now_ms() - self.started_ms > _WELL_MS)

    @property
    def host(self) -> str:
        return self.address.partition("(")[0]

    def figures(self) -> Figures:
        agent = self.agent
        if agent is None:
            return _NO_FIGURES
        if agent.sending is not None:
            return agent.sending.figures
        return agent.receiving.figures if agent.receiving is not None else _NO_FIGURES


def instance_status(instance: Instance, engine: Engine, records: SyncRecords, doubt: InDoubt | None) -> ChannelStatus:
    """What goes on in a channel now. `doubt` is the first batch that it is in doubt about."""
    agent = instance.agent
    figures = instance.figures()
    definition = instance.definition
    queue_name = text_of(definition, "XMITQ")
    link = agent.link if agent is not None else None
    tls = link.tls if link is not None else None
    sending = agent.sending if agent is not None else None
    receiving = agent.receiving if agent is not None else None
    end = sending or receiving
    agreed = end.agreed if end is not None else None
    record = _record(instance, records)
    batch = sending.current if sending is not None else None
    open_batches = list(receiving.batches.values()) if receiving is not None else []
    sequence = end.sequence if end is not None else record.sequence
    header = _words(agreed.header_methods if agreed is not None else [])
    method = _words(agreed.message_methods if agreed is not None else [])
    measured = measures(instance, engine)
    return ChannelStatus(
        instance.name,
        channel_type=instance.kind,
        status=NAMES[instance.state],
        substate=_substate(instance),
        connection_name=instance.address or text_of(definition, "CONNAME"),
        local_address=_local_address(agent),
        user=instance.user,
        started_ms=instance.started_ms,
        bytes_received=int(link.received_bytes) if link is not None else 0,
        bytes_sent=int(link.sent_bytes) if link is not None else 0,
        buffers_received=int(link.calls) if link is not None else 0,
        buffers_sent=int(figures.messages) if sending is not None else int(figures.batches),
        heartbeat_seconds=int(link.heartbeat_ms) // 1000 if link is not None else 0,
        remote_product="OSTL" if agreed is not None and end is not None and end.partner else "",
        remote_manager=instance.partner,
        security_protocol=(tls.protocol or "NONE") if tls is not None else "NONE",
        cipher_spec=tls.cipher if tls is not None else "",
        peer_name=str(tls.peer_subject()) if tls is not None and tls.has_certificate else "",
        certificate_issuer=str(tls.peer_issuer()) if tls is not None and tls.has_certificate else "",
        is_stopping=instance.state == STOPPING or bool(instance.status_after),
        key_resets=int(figures.key_resets),
        key_reset_ms=int(figures.key_reset_ms),
        transmission_queue=queue_name,
        last_message_ms=int(figures.last_message_ms),
        messages=int(figures.messages),
        batches=int(figures.batches),
        batch_size=int(agreed.batch_size) if agreed is not None else number_of(definition, "BATCHSZ", 50),
        current_messages=int(batch.messages) if batch is not None else sum(int(each.messages) for each in open_batches),
        current_luwid=doubt.luwid if doubt is not None else record.luwid,
        current_sequence=int(sequence),
        last_luwid=record.luwid,
        last_sequence=int(record.sequence),
        in_doubt=doubt is not None,
        nonpersistent_speed="FAST" if agreed is None or agreed.is_fast else "NORMAL",
        short_retries_left=int(instance.retries.short_left),
        long_retries_left=int(instance.retries.long_left),
        message_bytes_max=int(agreed.message_bytes_max) if agreed is not None else 0,
        keep_alive_seconds=number_of(definition, "KAINT", -1),
        header_compression=(header, header),
        message_compression=(method, method),
        **measured._asdict(),
    )


def saved_status(record: SyncRecord, definition: Definition | None, is_in_doubt: bool) -> ChannelStatus:
    """What was saved of an end when a batch was last agreed on."""
    attributes = definition.attributes if definition is not None else {}
    return ChannelStatus(
        record.channel,
        channel_type=subtype_of(ObjectType.CHANNEL, attributes) if definition is not None else "SDR",
        status="INACTIVE",
        substate="",
        connection_name=text_of(definition, "CONNAME") if definition is not None else "",
        remote_manager=record.partner,
        instance=SAVED,
        transmission_queue=text_of(definition, "XMITQ") if definition is not None else "",
        current_luwid=record.luwid,
        current_sequence=int(record.sequence),
        last_luwid=record.luwid,
        last_sequence=int(record.sequence),
        in_doubt=is_in_doubt,
    )


def now_ms() -> int:
    return int(time.time() * 1000)


def _record(instance: Instance, records: SyncRecords) -> SyncRecord:
    if instance.agent is not None and instance.agent.receiving is not None:
        return records.find(sync_records.RECEIVING, instance.name, instance.partner)
    return records.find(sync_records.SENDING, instance.name)


def _substate(instance: Instance) -> str:
    agent = instance.agent
    if agent is None:
        return ""
    if agent.sending is not None:
        if agent.sending.in_flight:
            return "ENDBATCH"
        return "SEND" if agent.sending.current is not None else "MQGET"
    return "RECEIVE"


def _words(methods: list[int]) -> str:
    return _METHOD_WORDS.get(methods[0], "NONE") if methods else "NONE"


def _local_address(agent: MessageAgent | None) -> str:
    if agent is None:
        return ""
    try:
        name = agent.link.sock.getsockname()
    except OSError:
        return ""
    return f"{name[0]}({name[1]})" if isinstance(name, tuple) else ""
