"""The client channel definition table (CCDT) in JSON, the format of MQ 9.1.2 and later.

    {"channel": [{"name": "APP.SVRCONN", "type": "clientConnection",
                  "clientConnection": {"connection": [{"host": "h", "port": 1414}], "queueManager": "QM1"}}]}

Unknown keys are ignored, as in MQ, so they can hold comments. Values of known keys are checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from ostler.client.locate.connect_parameters import RECONNECTS, Reconnect
from ostler.model import constants as mq
from ostler.model.connection_names import PORT, PORT_MAX, Address
from ostler.model.errors import MQError

BYTES_MAX: Final = 16 * 1024 * 1024
_DEFAULT_FILE: Final = "AMQCLCHL.TAB"
_CLIENT: Final = "clientConnection"
_NAME_LENGTH_MAX: Final = 20
_WEIGHT_MAX: Final = 99
_SECONDS_MAX: Final = 999_999
_NUMBER_MAX: Final = 999_999_999
_AFFINITIES: Final = ("preferred", "none")
_RECONNECTS: Final[dict[str, Reconnect]] = {
    "no": "no",
    "yes": "yes",
    "queuemanager": "qmgr",
    "qmgr": "qmgr",
    "disabled": "disabled",
}
assert set(_RECONNECTS.values()) == set(RECONNECTS)


@dataclass(frozen=True)
class ClientChannel:
    """One client channel definition. None: not set in the table."""

    name: str
    addresses: tuple[Address, ...]
    queue_manager: str = ""
    weight: int = 0
    is_preferred: bool = True
    cipher_spec: str = ""
    certificate_label: str = ""
    peer_name: str = ""
    heartbeat_seconds: int | None = None
    sharing_conversations: int | None = None
    message_bytes_max: int | None = None
    disconnect_seconds: int | None = None
    local_address: str = ""
    reconnect: Reconnect = "no"
    exits: tuple[str, ...] = ()
    """Names of exits. A channel that has exits is refused, as none can be loaded."""


# -- location ----------------------------------------------------------------------------------------------------------


def location(ccdt_url: str, environment: Mapping[str, str]) -> Path | None:
    """Return the file of the table: `ccdt_url`, else MQCCDTURL, else MQCHLTAB in MQCHLLIB; None when none is set.

    Raises MQRC_CCDT_URL_ERROR for a URL that is not a file: tables are not fetched over the network.
    """
    if ccdt_url.strip():
        return _file(ccdt_url.strip())
    if environment.get("MQCCDTURL", "").strip():
        return _file(environment["MQCCDTURL"].strip())
    library, table = environment.get("MQCHLLIB", "").strip(), environment.get("MQCHLTAB", "").strip()
    if library:
        return _file(library) / (table or _DEFAULT_FILE)
    return _file(table) if table else None


def _file(url: str) -> Path:
    scheme, colon, _ = url.partition("://")
    if not colon:
        return Path(url)
    if scheme.lower() != "file":
        raise MQError(
            mq.MQRC_CCDT_URL_ERROR,
            f"{url[:200]}: tables are read from files only; fetch it first, and give file:///...",
        )
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise MQError(
            mq.MQRC_CCDT_URL_ERROR, f"{url[:200]} names host {parts.netloc}; a file has three slashes: file:///"
        )
    return Path(unquote(parts.path))


def read(path: Path) -> list[ClientChannel]:
    """Read the definitions of a table in a file."""
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise MQError(mq.MQRC_CCDT_URL_ERROR, f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > BYTES_MAX:
        raise _unusable(str(path), f"it is longer than {BYTES_MAX} bytes")
    return parse(data, str(path))


# -- contents ----------------------------------------------------------------------------------------------------------


def parse(data: bytes, source: str = "the CCDT") -> list[ClientChannel]:
    """Parse the client channels of a table in JSON. Raises MQRC_CHANNEL_CONFIG_ERROR with the path of the error."""
    if data.startswith(b"AMQR"):
        raise _unusable(source, "it is a binary table; write it as JSON")
    try:
        table = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _unusable(source, f"it is no JSON: {str(error)[:100]}") from None
    if not isinstance(table, dict) or not isinstance(table.get("channel"), list):
        raise _unusable(source, 'it has no list "channel"')
    channels: list[ClientChannel] = []
    for number, entry in enumerate(table["channel"]):
        if not isinstance(entry, dict):
            raise _unusable(source, f"channel[{number}] is no object")
        reader = _JsonObject(entry, f"channel[{number}]", source)
        if reader.text("type") == _CLIENT:
            channels.append(_channel(reader))
    return channels


def _channel(entry: _JsonObject) -> ClientChannel:
    name = entry.text("name")
    if not name or len(name) > _NAME_LENGTH_MAX:
        raise entry.invalid("name", f"is no name of 1 to {_NAME_LENGTH_MAX} characters")
    connection = entry.part(_CLIENT)
    managing = entry.part("connectionManagement")
    security = entry.part("transmissionSecurity")
    heartbeat = "heartInterval" if managing.has("heartInterval") else "heartbeatInterval"
    return ClientChannel(
        name=name,
        addresses=tuple(_address(each) for each in connection.parts("connection")),
        queue_manager=connection.text("queueManager"),
        weight=managing.number("clientWeight", _WEIGHT_MAX) or 0,
        is_preferred=managing.word("affinity", _AFFINITIES) != "none",
        cipher_spec=security.text("cipherSpecification"),
        certificate_label=security.text("certificateLabel"),
        peer_name=security.text("certificatePeerName"),
        heartbeat_seconds=managing.number(heartbeat, _SECONDS_MAX),
        sharing_conversations=managing.number("sharingConversations", _NUMBER_MAX),
        message_bytes_max=entry.part("general").number("maximumMessageLength", _NUMBER_MAX),
        disconnect_seconds=managing.number("disconnectInterval", _SECONDS_MAX),
        local_address=_local_addresses(managing),
        exits=_exits(entry.part("exits")),
        reconnect=_RECONNECTS[managing.word("defaultReconnect", tuple(_RECONNECTS)) or "no"],
    )


def _exits(entry: _JsonObject) -> tuple[str, ...]:
    named = [each.text("name") for kind in ("security", "send", "receive") for each in entry.parts(kind)]
    return tuple(name for name in named if name)


def _address(entry: _JsonObject) -> Address:
    host = entry.text("host")
    if not host:
        raise entry.invalid("host", "is missing")
    port = entry.number("port", PORT_MAX)
    return Address(host, PORT if port is None else port)


def _local_addresses(managing: _JsonObject) -> str:
    """Return the list of local addresses in the format of LOCLADDR."""
    written: list[str] = []
    for entry in managing.parts("localAddress"):
        host, port = entry.text("host"), entry.number("port", PORT_MAX)
        if entry.has("portRange"):
            ports = entry.part("portRange")
            low, high = ports.number("low", PORT_MAX), ports.number("high", PORT_MAX)
            if low is None or high is None:
                raise entry.invalid("portRange", "needs low and high")
            written.append(f"{host}({low},{high})")
        else:
            written.append(host if port is None else f"{host}({port})")
    return ",".join(written)


class _JsonObject:
    """The values of one JSON object. Errors name its path in the table."""

    def __init__(self, values: Mapping[str, object], path_in_table: str, source: str) -> None:
        self._values = values
        self._path = path_in_table
        self._source = source

    def has(self, key: str) -> bool:
        return self._values.get(key) is not None

    def text(self, key: str) -> str:
        value = self._values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.invalid(key, "is no text")
        return value.strip()

    def word(self, key: str, words: tuple[str, ...]) -> str:
        word = self.text(key).lower()
        if word and word not in words:
            raise self.invalid(key, f"is {word[:40]!r}, not one of {', '.join(words)}")
        return word

    def number(self, key: str, most: int) -> int | None:
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            raise self.invalid(key, f"is no number from 0 to {most}")
        return value

    def part(self, key: str) -> _JsonObject:
        value = self._values.get(key)
        if value is not None and not isinstance(value, dict):
            raise self.invalid(key, "is no object")
        return _JsonObject(value or {}, f"{self._path}.{key}", self._source)

    def parts(self, key: str) -> list[_JsonObject]:
        """Return a list of objects. A single object counts as a list of one."""
        value = self._values.get(key)
        entries = value if isinstance(value, list) else [] if value is None else [value]
        readers: list[_JsonObject] = []
        for number, entry in enumerate(entries):
            if not isinstance(entry, dict):
                raise self.invalid(f"{key}[{number}]", "is no object")
            readers.append(_JsonObject(entry, f"{self._path}.{key}[{number}]", self._source))
        return readers

    def invalid(self, key: str, why: str) -> MQError:
        return _unusable(self._source, f"{self._path}.{key} {why}")


def _unusable(source: str, why: str) -> MQError:
    return MQError(mq.MQRC_CHANNEL_CONFIG_ERROR, f"{source} cannot be used: {why}.")
