"""The structures of a client channel: MQCD (channel definition) and MQSCO (TLS configuration).

Only the fields that are used have names. The size of a version is the end of its last field, as programs that pack
structures without a compiler add no trailing padding. Strings are at addresses of this process.
"""

from __future__ import annotations

import ctypes
from typing import Final

from ostler.client.locate.connect_parameters import MESSAGE_BYTES_MAX, Reconnect, TlsSettings
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.layout import CHAR, INT32, POINTER, Field, Layout, trim

_RECONNECT: Final[tuple[Reconnect, ...]] = ("no", "yes", "qmgr", "disabled")
_PEER_NAME_LENGTH_MAX: Final = 1024
_KEY_PASSWORD_LENGTH_MAX: Final = 1024

# A channel descriptor has no structure identifier, only a version.
MQCD: Final = Layout(
    "MQCD",
    b"",
    mq.MQRC_CD_ERROR,
    {
        1: 984,
        2: 1312,
        3: 1480,
        4: 1568,
        5: 1584,
        6: 1688,
        7: 1792,
        8: 1884,
        9: 1908,
        10: 1920,
        11: 1984,
        12: 1988,
        13: 2000,
    },
    [
        Field("ChannelName", CHAR, 0, 20, b"", 1),
        Field("Version", INT32, 20, 4, 0, 1),
        Field("ChannelType", INT32, 24, 4, mq.MQCHT_CLNTCONN, 1),
        Field("TransportType", INT32, 28, 4, mq.MQXPT_TCP, 1),
        Field("QMgrName", CHAR, 96, 48, b"", 1),
        Field("ShortConnectionName", CHAR, 192, 20, b"", 1),
        Field("SecurityExit", CHAR, 328, 128, b"", 1),
        Field("SendExit", CHAR, 584, 128, b"", 1),
        Field("ReceiveExit", CHAR, 712, 128, b"", 1),
        Field("MaxMsgLength", INT32, 844, 4, 4194304, 1),
        Field("ConnectionName", CHAR, 1024, 264, b"", 2),
        Field("HeartbeatInterval", INT32, 1480, 4, 300, 4),
        Field("SSLCipherSpec", CHAR, 1688, 32, b"", 7),
        Field("SSLPeerNamePtr", POINTER, 1720, 8, 0, 7),
        Field("SSLPeerNameLength", INT32, 1728, 4, 0, 7),
        Field("LocalAddress", CHAR, 1740, 48, b"", 7),
        Field("SharingConversations", INT32, 1884, 4, 10, 9),
        Field("DefReconnect", INT32, 1916, 4, 0, 10),
        Field("CertificateLabel", CHAR, 1920, 64, b"", 11),
    ],
)

MQSCO: Final = Layout(
    "MQSCO",
    mq.MQSCO_STRUC_ID,
    mq.MQRC_SCO_ERROR,
    {1: 536, 2: 544, 3: 560, 4: 564, 5: 628, 6: 648, 7: 672},
    [
        Field("StrucId", CHAR, 0, 4, mq.MQSCO_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("KeyRepository", CHAR, 8, 256, b"", 1),
        Field("CryptoHardware", CHAR, 264, 256, b"", 1),
        Field("KeyResetCount", INT32, 536, 4, 0, 2),
        Field("FipsRequired", INT32, 540, 4, 0, 2),
        Field("CertificateLabel", CHAR, 564, 64, b"", 5),
        Field("KeyRepoPasswordPtr", POINTER, 632, 8, 0, 6),
        Field("KeyRepoPasswordOffset", INT32, 640, 4, 0, 6),
        Field("KeyRepoPasswordLength", INT32, 644, 4, 0, 6),
    ],
)


class ChannelDescriptor:
    """The fields of an MQCD. Fields of later versions than that of the structure have their default values."""

    def __init__(self, cd: bytes) -> None:
        size = MQCD.sizes.get(MQCD.read_int(cd, "Version")) if len(cd) >= MQCD.sizes[1] else None
        if size is None or len(cd) < size:
            raise MQError(mq.MQRC_CD_ERROR, "The channel descriptor has no known version, or is too short for it.")
        self._cd = cd
        self._version = MQCD.read_int(cd, "Version")
        if self._number("ChannelType") != mq.MQCHT_CLNTCONN or self._number("TransportType") != mq.MQXPT_TCP:
            raise MQError(mq.MQRC_CD_ERROR, "The channel descriptor is not that of a client connection over TCP.")
        if any(self._text(field) for field in ("SecurityExit", "SendExit", "ReceiveExit")):
            raise MQError(
                mq.MQRC_CLIENT_EXIT_LOAD_ERROR, "The channel descriptor names exits; none can be loaded here."
            )
        self.name = self._text("ChannelName")
        self.connection_name = self._text("ConnectionName" if self._version > 1 else "ShortConnectionName")
        self.message_bytes_max = min(max(self._number("MaxMsgLength"), 0), MESSAGE_BYTES_MAX) or MESSAGE_BYTES_MAX
        self.heartbeat_seconds = max(0, self._number("HeartbeatInterval"))
        self.sharing_conversations = max(0, self._number("SharingConversations"))
        self.cipher_spec = self._text("SSLCipherSpec")
        self.certificate_label = self._text("CertificateLabel")
        self.local_address = self._text("LocalAddress")
        wanted = self._number("DefReconnect")
        self.reconnect = _RECONNECT[wanted] if 0 <= wanted < len(_RECONNECT) else "no"
        self.peer_name = text_at(
            self._number("SSLPeerNamePtr"), self._number("SSLPeerNameLength"), _PEER_NAME_LENGTH_MAX, mq.MQRC_CD_ERROR
        )

    def _has(self, field: str) -> bool:
        return MQCD.by_name[field].version <= self._version

    def _number(self, field: str) -> int:
        if self._has(field):
            return MQCD.read_int(self._cd, field)
        default = MQCD.by_name[field].default
        assert isinstance(default, int), f"{field} is not a number"
        return default

    def _text(self, field: str) -> str:
        return text_of(MQCD, self._cd, field) if self._has(field) else ""


def tls_of_channel(channel: ChannelDescriptor | None, sco: bytes) -> TlsSettings | None:
    """Return the TLS settings: with the CipherSpec of the channel or, without a descriptor, of a CCDT."""
    repository = label = password = ""
    key_reset_bytes = 0
    if sco:
        version = MQSCO.validate_header(sco)
        repository = text_of(MQSCO, sco, "KeyRepository")
        label = text_of(MQSCO, sco, "CertificateLabel") if version >= MQSCO.by_name["CertificateLabel"].version else ""
        if version >= MQSCO.by_name["KeyResetCount"].version:
            key_reset_bytes = MQSCO.read_int(sco, "KeyResetCount")
        if version >= MQSCO.by_name["KeyRepoPasswordPtr"].version:
            pointer = MQSCO.read_int(sco, "KeyRepoPasswordPtr")
            length = MQSCO.read_int(sco, "KeyRepoPasswordLength")
            password = text_at(pointer, length, _KEY_PASSWORD_LENGTH_MAX, mq.MQRC_SCO_ERROR)
    if channel is None:
        if not repository:
            return None
        return TlsSettings(
            key_repository=repository,
            certificate_label=label,
            key_password=password,
            key_reset_bytes=key_reset_bytes,
        )
    if not channel.cipher_spec:
        return None
    return TlsSettings(
        cipher_spec=channel.cipher_spec,
        key_repository=repository,
        certificate_label=label or channel.certificate_label,
        peer_name=channel.peer_name,
        key_password=password,
        key_reset_bytes=key_reset_bytes,
    )


def text_of(layout: Layout, structure: bytes | bytearray, field: str) -> str:
    return trim(layout.read_bytes(structure, field)).decode("utf-8", "replace")


def text_at(pointer: int, length: int, length_max: int, reason: int) -> str:
    """Return the text at an address of this process; empty when there is none. Raises MQError when it is too long."""
    if not pointer or not length:
        return ""
    if not 0 < length <= length_max:
        raise MQError(reason, f"A length of {length} is not between 0 and {length_max}.")
    return ctypes.string_at(pointer, length).decode("utf-8", "replace")
