"""DISPLAY CHSTATUS of message channels: current status of instances, and saved status from the sync records."""

from __future__ import annotations

from typing import Final

from ostler.channel import states, sync_records
from ostler.channel.compression import METHODS
from ostler.channel.negotiation import number_of, text_of
from ostler.channel.sender import BATCH_HEARTBEAT
from ostler.channel.states import NAMES, STOPPED, STOPPING
from ostler.channel.sync_records import DesiredState, InDoubtBatch, SyncRecord, SyncRecords, batches_in_doubt
from ostler.command.status.channel_status import SAVED, ChannelStatus
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, subtype_of
from ostler.model.definitions import Definition
from ostler.server.channels.instance import ChannelInstance
from ostler.server.channels.mca import ChannelAgent
from ostler.server.channels.monitoring import monitoring_values
from ostler.server.channels.service import ChannelService

_METHOD_NAMES: Final = {number: word for word, number in METHODS.items()}


def all_statuses(channels: ChannelService) -> list[ChannelStatus]:
    """Return the status of every instance that is not INACTIVE, and all saved statuses. Requires the engine's lock."""
    engine, records = channels.engine, channels.records
    in_doubt: dict[str, list[InDoubtBatch]] = {}
    for batch in [*batches_in_doubt(engine), *batches_in_doubt(engine, "", True)]:
        in_doubt.setdefault(batch.channel, []).append(batch)
    found = [
        instance_status(each, engine, records, [] if each.is_receiving else in_doubt.get(each.name, []))
        for each in [*channels.outbound_instances.values(), *channels.inbound_instances.values()]
        if each.state != states.INACTIVE
    ]
    listed = {each.name for each in found}
    for name in sorted(channels.stopped - listed):
        definition = channels.find(name)
        if definition is not None:
            instance = ChannelInstance(definition, True)
            instance.state = STOPPED
            found.append(instance_status(instance, engine, records, []))
    for name, state in sorted(channels.groups.desired.items()):
        definition = channels.find(name)
        if state is DesiredState.STOPPED and name not in listed and definition is not None:
            instance = ChannelInstance(definition, False)
            instance.state = STOPPED
            instance.disposition = "SHARED"
            found.append(instance_status(instance, engine, records, in_doubt.get(name, [])))
    saved = [each for each in records.all() if each.kind != sync_records.DESIRED_STATE]
    # A channel that is in doubt about its first batch has no record yet.
    known = {each.channel for each in saved if each.kind == sync_records.SENDING}
    saved += [SyncRecord(sync_records.SENDING, name, "") for name in in_doubt if name not in known]
    for record in saved:
        of_record = in_doubt.get(record.channel, []) if record.kind == sync_records.SENDING else []
        found.append(saved_status(record, channels.find(record.channel), of_record))
    return found


def instance_status(
    instance: ChannelInstance, engine: Engine, records: SyncRecords, in_doubt: list[InDoubtBatch]
) -> ChannelStatus:
    """Return the current status of an instance. `in_doubt` are its in-doubt batches."""
    agent = instance.agent
    counters = instance.counters()
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
    uncommitted = sum(each.messages for each in in_doubt) + sum(each.messages for each in open_batches)
    uncommitted += batch.messages if batch is not None else 0
    sequence = end.sequence if end is not None else record.sequence
    header = _method_name(agreed.header_methods if agreed is not None else [])
    method = _method_name(agreed.message_methods if agreed is not None else [])
    monitored = monitoring_values(instance, engine)
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
        buffers_sent=int(link.sent_frames) if link is not None else 0,
        heartbeat_seconds=int(link.heartbeat_ms) // 1000 if link is not None else 0,
        remote_product="OSTL" if agreed is not None and end is not None and end.partner else "",
        remote_manager=instance.partner,
        security_protocol=tls.security_protocol if tls is not None else "NONE",
        cipher_spec=tls.cipher if tls is not None else "",
        peer_name=str(tls.peer_subject()) if tls is not None and tls.has_certificate else "",
        certificate_issuer=str(tls.peer_issuer()) if tls is not None and tls.has_certificate else "",
        disposition=instance.disposition if instance.is_group or engine.sharing is not None else "",
        is_stopping=instance.state == STOPPING or bool(instance.status_after),
        key_resets=int(counters.key_resets),
        key_reset_ms=int(counters.key_reset_ms),
        transmission_queue=queue_name,
        last_message_ms=int(counters.last_message_ms),
        messages=int(counters.messages),
        batches=int(counters.batches),
        batch_size=int(agreed.batch_size) if agreed is not None else number_of(definition, "BATCHSZ", 50),
        current_messages=int(uncommitted),
        current_luwid=in_doubt[-1].luwid if in_doubt else record.luwid,
        current_sequence=int(sequence),
        last_luwid=record.luwid,
        last_sequence=int(record.sequence),
        in_doubt=bool(in_doubt),
        nonpersistent_speed="FAST" if agreed is None or agreed.is_fast else "NORMAL",
        short_retries_left=int(instance.retries.short_left),
        long_retries_left=int(instance.retries.long_left),
        message_bytes_max=int(agreed.message_bytes_max) if agreed is not None else 0,
        keep_alive_seconds=number_of(definition, "KAINT", -1),
        header_compression=(header, header),
        message_compression=(method, method),
        **monitored._asdict(),
    )


def saved_status(record: SyncRecord, definition: Definition | None, in_doubt: list[InDoubtBatch]) -> ChannelStatus:
    """Return the saved status of an end, as of its last committed batch."""
    attributes = definition.attributes if definition is not None else {}
    return ChannelStatus(
        record.channel,
        channel_type=subtype_of(ObjectType.CHANNEL, attributes) if definition is not None else "SDR",
        status="INACTIVE",
        substate="",
        connection_name=text_of(definition, "CONNAME") if definition is not None else "",
        remote_manager=record.partner or (in_doubt[-1].partner if in_doubt else ""),
        instance=SAVED,
        transmission_queue=text_of(definition, "XMITQ") if definition is not None else "",
        current_messages=int(sum(each.messages for each in in_doubt)),
        current_luwid=in_doubt[-1].luwid if in_doubt else record.luwid,
        current_sequence=int(in_doubt[-1].last if in_doubt else record.sequence),
        last_luwid=record.luwid,
        last_sequence=int(record.sequence),
        in_doubt=bool(in_doubt),
    )


def _record(instance: ChannelInstance, records: SyncRecords) -> SyncRecord:
    if instance.agent is not None and instance.agent.receiving is not None:
        return instance.agent.receiving.position.find()
    if instance.position is not None:
        return instance.position.find()
    return records.find(sync_records.SENDING, instance.name)


def _substate(instance: ChannelInstance) -> str:
    agent = instance.agent
    if agent is None:
        return "NETCONNECT" if instance.state == states.INITIALIZING else ""
    if instance.state == states.BINDING:
        is_in_handshake = agent.link.tls is not None and not agent.link.tls.is_ready
        return "SSLHANDSHK" if is_in_handshake else "RESYNCH"
    if agent.sending is not None:
        if agent.sending.state == BATCH_HEARTBEAT:
            return "HEARTBEAT"
        if agent.sending.in_flight:
            return "ENDBATCH"
        return "SEND" if agent.sending.current is not None else "MQGET"
    return "RECEIVE"


def _method_name(methods: list[int]) -> str:
    return _METHOD_NAMES.get(methods[0], "NONE") if methods else "NONE"


def _local_address(agent: ChannelAgent | None) -> str:
    if agent is None:
        return ""
    try:
        name = agent.link.sock.getsockname()
    except OSError:
        return ""
    return f"{name[0]}({name[1]})" if isinstance(name, tuple) else ""
