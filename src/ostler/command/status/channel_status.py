"""The status of a channel instance, and its rows for DISPLAY CHSTATUS and Inquire Channel Status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ostler.command.admin.objects import date_and_time, matches
from ostler.model.attributes import Value

CURRENT: Final = "CURRENT"
SAVED: Final = "SAVED"


@dataclass(frozen=True)
class ChannelStatus:
    """A channel instance, a stopped channel, or the saved status of a channel.

    Words are those of CHSTATUS. Times of day are milliseconds since 1970, 0 for never; pairs of numbers are short
    and long term values.
    """

    name: str
    channel_type: str = "SVRCONN"
    status: str = "RUNNING"  # a word of STATUS
    substate: str = "RECEIVE"  # a word of SUBSTATE
    connection_name: str = ""  # the address of the partner
    local_address: str = ""  # such as 127.0.0.1(1414)
    application: str = ""
    user: str = ""
    started_ms: int = 0
    last_verb_ms: int = 0  # of a client
    verbs: int = 0  # of a client
    bytes_received: int = 0
    bytes_sent: int = 0
    buffers_received: int = 0
    buffers_sent: int = 0
    conversations: int = 0
    conversations_max: int = 0
    heartbeat_seconds: int = 0
    job_name: str = ""
    remote_product: str = ""
    remote_version: str = ""
    remote_manager: str = ""
    security_protocol: str = "NONE"  # a word of SECPROT
    cipher_spec: str = ""
    peer_name: str = ""
    certificate_issuer: str = ""
    certificate_user: str = ""
    is_stopping: bool = False
    disposition: str = ""  # CHLDISP: PRIVATE, SHARED, FIXSHARED; empty: in no queue-sharing group
    key_resets: int = 0
    key_reset_ms: int = 0

    # CURRENT, or SAVED: the status at the last committed batch. SAVED needs only the names, the transmission queue,
    # LUWIDs and sequence numbers.
    instance: str = CURRENT

    # Of message channels only.
    transmission_queue: str = ""
    last_message_ms: int = 0
    messages: int = 0  # since it started
    batches: int = 0  # completed since it started
    batch_size: int = 0  # as negotiated
    current_messages: int = 0  # of the batch under way
    current_luwid: bytes = b""  # 8 bytes, as last_luwid
    current_sequence: int = 0
    last_luwid: bytes = b""  # of the last batch committed at both ends
    last_sequence: int = 0
    in_doubt: bool = False
    nonpersistent_speed: str = "FAST"  # a value of NPMSPEED, as negotiated
    short_retries_left: int = 0
    long_retries_left: int = 0
    message_bytes_max: int = 0  # as negotiated
    keep_alive_seconds: int = -1  # -1: AUTO
    header_compression: tuple[str, str] = ("NONE", "NONE")  # as negotiated, and of the last message
    message_compression: tuple[str, str] = ("NONE", "NONE")
    compression_rate: tuple[int, int] = (0, 0)  # percent
    compression_time: tuple[int, int] = (0, 0)  # microseconds a message
    network_time: tuple[int, int] = (0, 0)  # microseconds there and back
    exit_time: tuple[int, int] = (0, 0)
    batch_fill: tuple[int, int] = (0, 0)  # messages a batch
    transmission_time: tuple[int, int] = (0, 0)  # microseconds that messages waited on the transmission queue
    transmission_messages: int = 0  # that wait there
    monitoring: str = "OFF"  # a value of MONCHL; the queue manager's if the channel has QMGR


# -- rows --------------------------------------------------------------------------------------------------------------


SHORT: Final = "SHORT"

_SENDING: Final = ("SDR", "SVR", "CLUSSDR")
_NOT_RUNNING: Final = ("INACTIVE", "STARTING", "STOPPED", "RETRYING", "DISCONNECTED")
_LUWID_DIGITS: Final = 16
_COUNT_MAX: Final = 999_999_999
# Attributes that DISPLAY always shows, if the channel has them.
_ALWAYS: Final = ("CONNAME", "INSTTYPE", "RQMNAME", "STATUS", "SUBSTATE", "XMITQ")


def always_shown(row: dict[str, Value]) -> list[str]:
    """Returns the attributes that DISPLAY CHSTATUS always shows. A SVRCONN channel has no partner queue manager."""
    return [name for name in _ALWAYS if name != "RQMNAME" or row["CHLTYPE"] != "SVRCONN" or row.get(name)]


def is_selected_instance(
    status: ChannelStatus, instance: str, pattern: str, address: str, disposition: str = ""
) -> bool:
    """Returns whether a display of CURRENT, SAVED or SHORT instances selects this one. Names may be generic.

    The address of a partner may be given without its port. `disposition` is CHLDISP; empty: any.
    """
    if disposition not in ("", status.disposition or "PRIVATE"):
        return False
    if status.instance != (SAVED if instance == SAVED else CURRENT) or not matches(status.name, pattern):
        return False
    return matches(status.connection_name, address) or status.connection_name.partition("(")[0] == address


def in_display_order(statuses: list[ChannelStatus]) -> list[ChannelStatus]:
    return sorted(statuses, key=_name_and_start)


def _name_and_start(status: ChannelStatus) -> tuple[str, int, str]:
    return status.name, status.started_ms, status.remote_manager


def channel_row(status: ChannelStatus, instance: str = CURRENT, manager: str = "") -> dict[str, Value]:
    """Returns CHSTATUS of one instance. `instance` is CURRENT, SAVED or SHORT; `manager` is this queue manager."""
    row = _names(status, instance)
    if instance == SHORT:
        row["QMNAME"] = manager
        return row
    if status.channel_type != "SVRCONN":
        row.update(_common(status))
    if instance == SAVED:
        return row
    row.update(_current(status))
    if status.channel_type == "SVRCONN":
        row.update(_of_clients(status))
    else:
        row.update(_of_messages(status))
    if status.channel_type in _SENDING:
        row.update(_of_sending(status))
    return row


def _yes(truth: bool) -> str:
    return "YES" if truth else "NO"


def _pair(numbers: tuple[int, int]) -> tuple[str, str]:
    return str(min(numbers[0], _COUNT_MAX)), str(min(numbers[1], _COUNT_MAX))


def _names(status: ChannelStatus, instance: str) -> dict[str, Value]:
    row: dict[str, Value] = {
        "CHANNEL": status.name,
        "CHLTYPE": status.channel_type,
        "CONNAME": status.connection_name,
        "INSTTYPE": instance,
        "RQMNAME": status.remote_manager,
        "STATUS": status.status,
    }
    if status.channel_type in _SENDING:
        row["XMITQ"] = status.transmission_queue
    return row


def _luwid(identifier: bytes) -> str:
    return identifier.hex().upper()[:_LUWID_DIGITS].ljust(_LUWID_DIGITS, "0")


def _common(status: ChannelStatus) -> dict[str, Value]:
    """Returns the attributes that a message channel keeps while it is stopped."""
    return {
        "CURLUWID": _luwid(status.current_luwid),
        "CURMSGS": status.current_messages,
        "CURSEQNO": status.current_sequence,
        "INDOUBT": _yes(status.in_doubt),
        "LSTLUWID": _luwid(status.last_luwid),
        "LSTSEQNO": status.last_sequence,
    }


def _current(status: ChannelStatus) -> dict[str, Value]:
    """Returns the attributes of every active channel."""
    started_date, started_time = date_and_time(status.started_ms)
    key_date, key_time = date_and_time(status.key_reset_ms)
    runs = status.status not in _NOT_RUNNING
    return {
        "BUFSRCVD": status.buffers_received,
        "BUFSSENT": status.buffers_sent,
        "BYTSRCVD": status.bytes_received,
        "BYTSSENT": status.bytes_sent,
        "CHSTADA": started_date,
        "CHSTATI": started_time,
        "COMPHDR": status.header_compression,
        "COMPMSG": status.message_compression,
        "COMPRATE": _pair(status.compression_rate),
        "COMPTIME": _pair(status.compression_time),
        "EXITTIME": _pair(status.exit_time),
        "HBINT": status.heartbeat_seconds,
        "JOBNAME": status.job_name,
        "KAINT": status.keep_alive_seconds,
        "LOCLADDR": status.local_address,
        "MCASTAT": "RUNNING" if runs else "STOPPED",
        "MONCHL": status.monitoring,
        "SECPROT": status.security_protocol,
        "SSLCERTI": status.certificate_issuer,
        "SSLCERTU": status.certificate_user,
        "SSLCIPH": status.cipher_spec,
        "SSLKEYDA": key_date,
        "SSLKEYTI": key_time,
        "SSLPEER": status.peer_name,
        "SSLRKEYS": status.key_resets,
        "STOPREQ": _yes(status.is_stopping),
        "SUBSTATE": status.substate if runs else "",
        "RVERSION": status.remote_version,
        "RPRODUCT": status.remote_product,
        **({"CHLDISP": status.disposition} if status.disposition else {}),
    }


def _of_clients(status: ChannelStatus) -> dict[str, Value]:
    date, time = date_and_time(status.last_verb_ms)
    return {
        "LSTMSGDA": date,
        "LSTMSGTI": time,
        "MCAUSER": status.user,
        "MSGS": status.verbs,
        "RAPPLTAG": status.application[-28:],
        "CURSHCNV": status.conversations,
        "MAXSHCNV": status.conversations_max,
    }


def _of_messages(status: ChannelStatus) -> dict[str, Value]:
    date, time = date_and_time(status.last_message_ms)
    row: dict[str, Value] = {
        "BATCHES": status.batches,
        "BATCHSZ": status.batch_size,
        "LSTMSGDA": date,
        "LSTMSGTI": time,
        "MSGS": status.messages,
        "NPMSPEED": status.nonpersistent_speed,
        "XBATCHSZ": _pair(status.batch_fill),
    }
    if status.message_bytes_max:
        row["MAXMSGL"] = status.message_bytes_max
    if status.channel_type not in _SENDING:
        row["MCAUSER"] = status.user
    return row


def _of_sending(status: ChannelStatus) -> dict[str, Value]:
    return {
        "LONGRTS": status.long_retries_left,
        "NETTIME": _pair(status.network_time),
        "SHORTRTS": status.short_retries_left,
        "XQMSGSA": status.transmission_messages,
        "XQTIME": _pair(status.transmission_time),
    }
