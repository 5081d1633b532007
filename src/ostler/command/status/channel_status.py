"""What is known of an instance of a channel: what DISPLAY CHSTATUS and Inquire Channel Status show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

CURRENT: Final = "CURRENT"
SAVED: Final = "SAVED"


@dataclass(frozen=True)
class ChannelStatus:
    """One instance of a channel, a channel that was stopped, or what was saved of one.

    Words are those that CHSTATUS shows. Times of day are milliseconds since 1970, 0 for never; pairs of figures are
    lately and over a longer time.
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
    key_resets: int = 0
    key_reset_ms: int = 0

    # Whether this is what goes on, or what was saved when a batch was last agreed on. SAVED needs only the names, the
    # transmission queue, and the units of work and numbers of messages.
    instance: str = CURRENT

    # What message channels have beside.
    transmission_queue: str = ""
    last_message_ms: int = 0
    messages: int = 0  # since it started
    batches: int = 0  # completed since it started
    batch_size: int = 0  # as agreed
    current_messages: int = 0  # of the batch under way
    current_luwid: bytes = b""  # 8 bytes, as last_luwid
    current_sequence: int = 0
    last_luwid: bytes = b""  # of the last batch that both have committed
    last_sequence: int = 0
    in_doubt: bool = False
    nonpersistent_speed: str = "FAST"  # a word of NPMSPEED, as agreed
    short_retries_left: int = 0
    long_retries_left: int = 0
    message_bytes_max: int = 0  # as agreed
    keep_alive_seconds: int = -1  # -1: AUTO
    header_compression: tuple[str, str] = ("NONE", "NONE")  # as agreed, and of the last message
    message_compression: tuple[str, str] = ("NONE", "NONE")
    compression_rate: tuple[int, int] = (0, 0)  # percent
    compression_time: tuple[int, int] = (0, 0)  # microseconds a message
    network_time: tuple[int, int] = (0, 0)  # microseconds there and back
    exit_time: tuple[int, int] = (0, 0)
    batch_fill: tuple[int, int] = (0, 0)  # messages a batch
    transmission_time: tuple[int, int] = (0, 0)  # microseconds that messages waited on the transmission queue
    transmission_messages: int = 0  # that wait there
    monitoring: str = "OFF"  # a word of MONCHL, with the queue manager's when the channel leaves it to that
