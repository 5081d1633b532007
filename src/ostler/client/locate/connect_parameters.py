"""Connection parameters of all bindings, and the endpoints that they lead to."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final, Literal

from ostler.model import constants as mq
from ostler.model.connection_names import PORT
from ostler.model.errors import MQError
from ostler.wire.connect_frames import KEY_RESET_BYTES_MAX

Binding = Literal["auto", "local", "client", "embedded"]
"""local: over the Unix socket; client: over the network; embedded: in this process; auto: the first that applies."""

Reconnect = Literal["no", "yes", "qmgr", "disabled"]
"""Reconnection. qmgr: only to the same queue manager; disabled: not even if the channel definition asks for it."""

BINDINGS: Final = ("auto", "local", "client", "embedded")
RECONNECTS: Final = ("no", "yes", "qmgr", "disabled")
CHANNEL: Final = "SYSTEM.DEF.SVRCONN"
HEARTBEAT_SECONDS: Final = 300
SHARING_CONVERSATIONS: Final = 10
MESSAGE_BYTES_MAX: Final = 104_857_600
_HEARTBEAT_SECONDS_MAX: Final = 999_999
_SHARING_CONVERSATIONS_MAX: Final = 999_999_999


@dataclass(frozen=True)
class TlsSettings:
    """The TLS settings of a client.

    `cipher_spec` is a CipherSpec such as ANY_TLS12_OR_HIGHER. Certificates come from a key repository with a label, or
    from PEM files. `peer_name` is a pattern for the server's distinguished name (SSLPEER). After `key_reset_bytes`,
    sent and received, the client asks for new keys (KeyResetCount of MQSCO), at least 32,768; 0: the queue manager's
    SSLRKEYC decides.
    """

    cipher_spec: str = ""
    key_repository: str = ""
    certificate_label: str = ""
    peer_name: str = ""
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""
    key_password: str = field(default="", repr=False)
    key_reset_bytes: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.key_reset_bytes <= KEY_RESET_BYTES_MAX:
            raise MQError(
                mq.MQRC_SSL_KEY_RESET_ERROR,
                f"key_reset_bytes is {self.key_reset_bytes}; it is a number from 0 to {KEY_RESET_BYTES_MAX}.",
            )


@dataclass(frozen=True)
class ConnectParameters:
    """The parameters of a connection. Raises MQError for values out of range and for contradictions.

    `connection_name` is a list such as "host(1414),host2(1415)". Without it MQSERVER and the CCDT name the address; see
    `endpoints`. `data` is the directory of the queue managers, for the local and embedded bindings.
    """

    queue_manager: str = ""
    binding: Binding = "auto"
    connection_name: str = ""
    channel: str = ""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    application: str = ""
    tls: TlsSettings | None = None
    reconnect: Reconnect = "no"
    heartbeat_seconds: int = HEARTBEAT_SECONDS
    sharing_conversations: int = SHARING_CONVERSATIONS
    message_bytes_max: int = MESSAGE_BYTES_MAX
    ccdt_url: str = ""
    local_address: str = ""
    is_shared: bool = False
    accounting: int = 0  # MQCNO options that switch accounting for this connection
    tag_options: int = 0  # MQCNO_SERIALIZE_CONN_TAG_* or MQCNO_RESTRICT_CONN_TAG_*
    connection_tag: bytes = b""  # ConnTag of MQCNO, 128 bytes
    data: str | Path | None = None

    def __post_init__(self) -> None:
        _check_word("binding", self.binding, BINDINGS)
        _check_word("reconnect", self.reconnect, RECONNECTS)
        _check_number("heartbeat_seconds", self.heartbeat_seconds, _HEARTBEAT_SECONDS_MAX)
        _check_number("sharing_conversations", self.sharing_conversations, _SHARING_CONVERSATIONS_MAX)
        _check_number("message_bytes_max", self.message_bytes_max, MESSAGE_BYTES_MAX)
        if self.connection_name and self.binding in ("local", "embedded"):
            raise MQError(mq.MQRC_OPTIONS_ERROR, f"A connection name needs the client binding, not {self.binding}.")


@dataclass(frozen=True)
class Endpoint:
    """One address to try, with the channel name and the attributes of the client channel definition.

    `queue_manager` is the name that the queue manager must have; empty accepts any. `reconnect` is the default of the
    channel definition for programs that do not set it.
    """

    host: str
    port: int = PORT
    channel: str = CHANNEL
    queue_manager: str = ""
    cipher_spec: str = ""
    peer_name: str = ""
    certificate_label: str = ""
    weight: int = 0
    heartbeat_seconds: int = HEARTBEAT_SECONDS
    sharing_conversations: int = SHARING_CONVERSATIONS
    message_bytes_max: int = MESSAGE_BYTES_MAX
    local_address: str = ""
    reconnect: Reconnect = "no"

    @property
    def is_this_machine(self) -> bool:
        """True for loopback addresses: data sent there does not cross the network."""
        if self.host.lower() in ("localhost", "localhost."):
            return True
        try:
            return ip_address(self.host.partition("%")[0]).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"{self.channel} at {self.host}({self.port})"


def _check_word(name: str, value: str, words: tuple[str, ...]) -> None:
    if value not in words:
        raise MQError(mq.MQRC_OPTIONS_ERROR, f"{name} is {value!r}; it is one of {', '.join(words)}.")


def _check_number(name: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise MQError(mq.MQRC_OPTIONS_ERROR, f"{name} is {value}; it is a number from 0 to {most}.")
