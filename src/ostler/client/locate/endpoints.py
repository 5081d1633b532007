"""The endpoints of a client connection: the addresses to try, in order.

The parameters of the program come first: a connection name, then a CCDT. Then the environment: MQSERVER, then the CCDT
of MQCCDTURL or MQCHLLIB and MQCHLTAB. Only the first source that is set is used.

Queue manager names. "QM1": the queue manager must be QM1; of a CCDT, the channels for QM1 are tried. "*GROUP": the
channels for GROUP are tried, and any queue manager is accepted. Blank, or an asterisk alone: the channels with a blank
queue manager name are tried, and any queue manager is accepted.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from ostler.client.locate import ccdt
from ostler.client.locate.ccdt import ClientChannel
from ostler.client.locate.connect_parameters import CHANNEL, ConnectParameters, Endpoint, TlsSettings
from ostler.model import constants as mq
from ostler.model.connection_names import PORT, Address, parse_connection_names
from ostler.model.errors import MQError

_GROUP: Final = "*"
_CHANNEL_LENGTH_MAX: Final = 20


def endpoints(
    parameters: ConnectParameters,
    environment: Mapping[str, str],
    chance: random.Random | None = None,
    host_name: str | None = None,
) -> list[Endpoint]:
    """Return the addresses to try, in order; none when no source names any and the binding is not "client".

    `chance` draws the order of channels that have weights (CLNTWGHT) and no affinity; the order of channels with
    affinity depends on the host name alone, so that all programs of a host agree on it. Raises MQError for invalid
    settings.
    """
    if parameters.binding in ("local", "embedded"):
        return []
    if parameters.connection_name.strip():
        channel = _channel_name(parameters.channel or CHANNEL)
        return _from_names(parameters, channel, parse_connection_names(parameters.connection_name))
    server = environment.get("MQSERVER", "").strip()
    if server and not parameters.ccdt_url:
        channel, addresses = parse_mqserver(server)
        return _from_names(parameters, channel, addresses)
    path = ccdt.location(parameters.ccdt_url, environment)
    if path is not None:
        seed = socket.gethostname() if host_name is None else host_name
        return _from_ccdt(parameters, path, chance or random.Random(), seed)
    if parameters.binding == "client" or parameters.channel:
        raise MQError(
            mq.MQRC_Q_MGR_NAME_ERROR,
            "No address of the queue manager is known. Give a connection name such as host(1414), or set MQSERVER "
            "or MQCCDTURL.",
        )
    return []


def parse_mqserver(text: str) -> tuple[str, list[Address]]:
    """Parse channel and addresses of MQSERVER: CHANNEL/TCP/host(port),host2(port)."""
    parts = text.split("/", 2)
    if len(parts) != 3 or not all(part.strip() for part in parts):
        raise MQError(
            mq.MQRC_CHANNEL_CONFIG_ERROR, f"MQSERVER is {text[:100]!r}; it is written CHANNEL/TCP/host(port)."
        )
    channel, transport, names = (part.strip() for part in parts)
    if transport.upper() != "TCP":
        raise MQError(mq.MQRC_CHANNEL_CONFIG_ERROR, f"MQSERVER asks for transport {transport[:20]}; there is TCP only.")
    return _channel_name(channel), parse_connection_names(names)


def tls_settings(
    parameters: ConnectParameters, endpoint: Endpoint, environment: Mapping[str, str]
) -> TlsSettings | None:
    """Return the TLS settings for an endpoint; None for no TLS.

    Settings of the program override the channel definition, which overrides MQSSLKEYR, MQCERTLABL and
    MQSSLRESET.
    """
    own = parameters.tls or TlsSettings()
    cipher_spec = own.cipher_spec or endpoint.cipher_spec
    if not cipher_spec and parameters.tls is None:
        return None
    return replace(
        own,
        cipher_spec=cipher_spec,
        peer_name=own.peer_name or endpoint.peer_name,
        certificate_label=own.certificate_label or endpoint.certificate_label or environment.get("MQCERTLABL", ""),
        key_repository=own.key_repository or environment.get("MQSSLKEYR", ""),
        key_reset_bytes=own.key_reset_bytes or _key_reset_of(environment.get("MQSSLRESET", "")),
    )


def _key_reset_of(text: str) -> int:
    """Return the number in MQSSLRESET. Raises MQError."""
    if text.strip() and not text.strip().isdecimal():
        raise MQError(mq.MQRC_SSL_KEY_RESET_ERROR, f"MQSSLRESET is {text[:100]!r}; it is a number of bytes.")
    return int(text.strip() or 0)


def required_name(queue_manager: str) -> str:
    """Return the name that the queue manager must have; empty when any is accepted."""
    name = queue_manager.strip()
    return "" if name.startswith(_GROUP) else name


def _channel_name(name: str) -> str:
    if len(name) > _CHANNEL_LENGTH_MAX:
        raise MQError(mq.MQRC_CHANNEL_CONFIG_ERROR, f"{name[:100]!r} is not a valid channel name: it is too long.")
    return name


def _from_names(parameters: ConnectParameters, channel: str, addresses: list[Address]) -> list[Endpoint]:
    return [
        Endpoint(
            host=address.host,
            port=address.port,
            channel=channel,
            queue_manager=required_name(parameters.queue_manager),
            heartbeat_seconds=parameters.heartbeat_seconds,
            sharing_conversations=parameters.sharing_conversations,
            message_bytes_max=parameters.message_bytes_max,
            local_address=parameters.local_address,
        )
        for address in addresses
    ]


# -- tables ------------------------------------------------------------------------------------------------------------


def _from_ccdt(parameters: ConnectParameters, path: Path, chance: random.Random, seed: str) -> list[Endpoint]:
    group = parameters.queue_manager.strip().removeprefix(_GROUP)
    matching = [each for each in ccdt.read(path) if each.queue_manager == group]
    if not matching:
        whom = f"queue manager {group}" if group else "a blank queue manager name"
        raise MQError(mq.MQRC_Q_MGR_NAME_ERROR, f"{path} has no client channel for {whom[:80]}.")
    if parameters.channel:
        matching = [each for each in matching if each.name == parameters.channel]
    if not matching:
        raise MQError(
            mq.MQRC_UNKNOWN_CHANNEL_NAME, f"{path} has no client channel {parameters.channel[:80]} for {group}."
        )
    with_exits = [each for each in matching if each.exits]
    if with_exits:
        first = with_exits[0]
        names = ", ".join(first.exits)[:200]
        raise MQError(
            mq.MQRC_CLIENT_EXIT_LOAD_ERROR, f"{path}: {first.name} has exits ({names}); none can be loaded here."
        )
    return [
        _from_channel(parameters, channel, address)
        for channel in order_channels(matching, chance, f"{seed}/{group}")
        for address in channel.addresses or (Address("localhost", PORT),)
    ]


def order_channels(channels: Sequence[ClientChannel], chance: random.Random, seed: str) -> list[ClientChannel]:
    """Return channels in the order to try them: those without weight by name, then the others drawn by weight.

    Channels of one name stay in the order of the table. The seed determines the draw if all channels have
    AFFINITY(PREFERRED), otherwise `chance` does.
    """
    ordered = sorted((each for each in channels if not each.weight), key=lambda each: each.name)
    weighted = [each for each in channels if each.weight]
    draw = random.Random(seed) if all(each.is_preferred for each in weighted) else chance
    while weighted:
        position = draw.choices(range(len(weighted)), [each.weight for each in weighted])[0]
        ordered.append(weighted.pop(position))
    return ordered


def _from_channel(parameters: ConnectParameters, channel: ClientChannel, address: Address) -> Endpoint:
    return Endpoint(
        host=address.host,
        port=address.port,
        channel=channel.name,
        queue_manager=required_name(parameters.queue_manager),
        cipher_spec=channel.cipher_spec,
        peer_name=channel.peer_name,
        certificate_label=channel.certificate_label,
        weight=channel.weight,
        heartbeat_seconds=_given(channel.heartbeat_seconds, parameters.heartbeat_seconds),
        sharing_conversations=_given(channel.sharing_conversations, parameters.sharing_conversations),
        message_bytes_max=min(channel.message_bytes_max or parameters.message_bytes_max, parameters.message_bytes_max),
        local_address=parameters.local_address or channel.local_address,
        reconnect=channel.reconnect,
    )


def _given(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
