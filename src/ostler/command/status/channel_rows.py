"""What is known of the instances of channels, by the names of the attributes that MQSC and PCF show it under."""

from __future__ import annotations

from typing import Final

from ostler.command.admin.objects import date_and_time, matches
from ostler.command.status.channel_status import CURRENT, SAVED, ChannelStatus
from ostler.model.attributes import Value

SHORT: Final = "SHORT"

_SENDING: Final = ("SDR", "SVR", "CLUSSDR")
_NOT_RUNNING: Final = ("INACTIVE", "STARTING", "STOPPED", "RETRYING", "DISCONNECTED")
_LUWID_DIGITS: Final = 16
_COUNT_MAX: Final = 999_999_999
# What DISPLAY shows in any case, where the channel has it.
_ALWAYS: Final = ("CONNAME", "INSTTYPE", "RQMNAME", "STATUS", "SUBSTATE", "XMITQ")


def always_shown(row: dict[str, Value]) -> list[str]:
    """What DISPLAY CHSTATUS shows without being asked. A client's channel has no partner queue manager to name."""
    return [name for name in _ALWAYS if name != "RQMNAME" or row["CHLTYPE"] != "SVRCONN" or row.get(name)]


def is_about(status: ChannelStatus, instance: str, pattern: str, address: str) -> bool:
    """Whether a display of instances of one sort asks for this one. Names may end with an asterisk.

    The address of a partner may be given without its port.
    """
    if status.instance != (SAVED if instance == SAVED else CURRENT) or not matches(status.name, pattern):
        return False
    return matches(status.connection_name, address) or status.connection_name.partition("(")[0] == address


def ordered(statuses: list[ChannelStatus]) -> list[ChannelStatus]:
    return sorted(statuses, key=_name_and_start)


def _name_and_start(status: ChannelStatus) -> tuple[str, int, str]:
    return status.name, status.started_ms, status.remote_manager


def channel_row(status: ChannelStatus, instance: str = CURRENT, manager: str = "") -> dict[str, Value]:
    """CHSTATUS of one instance. `instance` is what was asked for; `manager` is this queue manager's name."""
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


def _pair(figures: tuple[int, int]) -> tuple[str, str]:
    return str(min(figures[0], _COUNT_MAX)), str(min(figures[1], _COUNT_MAX))


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
    """What is kept of a message channel, also while it does not run."""
    return {
        "CURLUWID": _luwid(status.current_luwid),
        "CURMSGS": status.current_messages,
        "CURSEQNO": status.current_sequence,
        "INDOUBT": _yes(status.in_doubt),
        "LSTLUWID": _luwid(status.last_luwid),
        "LSTSEQNO": status.last_sequence,
    }


def _current(status: ChannelStatus) -> dict[str, Value]:
    """What every channel has that does something."""
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
