"""MQCONN and MQCONNX for every binding: what the structures of a program ask for, as the parameters of a connection.

MQCNO leads to an MQCD (channel), MQSCO (TLS) and MQCSP (user and password), each at an address of this process or at
an offset behind the MQCNO.
"""

from __future__ import annotations

import ctypes
import struct
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from ostler.client import mqi_connect, running
from ostler.client.binding import connect_handle
from ostler.client.connect_parameters import (
    HEARTBEAT_SECONDS,
    MESSAGE_BYTES_MAX,
    SHARING_CONVERSATIONS,
    Binding,
    ConnectParameters,
    Reconnect,
    TlsSettings,
)
from ostler.client.mqi import failed
from ostler.client.mqi_connect import Connected
from ostler.client.remote_verbs import FIRST_REMOTE, remote_connection
from ostler.model.constants import (
    MQ_CLIENT_USER_ID_LENGTH,
    MQ_CSP_PASSWORD_LENGTH,
    MQCC_OK,
    MQCHT_CLNTCONN,
    MQCNO_CD_FOR_OUTPUT_ONLY,
    MQCNO_CLIENT_BINDING,
    MQCNO_GENERATE_CONN_TAG,
    MQCNO_HANDLE_SHARE_BLOCK,
    MQCNO_HANDLE_SHARE_NO_BLOCK,
    MQCNO_NO_CONV_SHARING,
    MQCNO_RECONNECT,
    MQCNO_RECONNECT_DISABLED,
    MQCNO_RECONNECT_Q_MGR,
    MQCSP_AUTH_ID_TOKEN,
    MQCSP_AUTH_NONE,
    MQCSP_AUTH_USER_ID_AND_PWD,
    MQHC_UNUSABLE_HCONN,
    MQRC_CD_ERROR,
    MQRC_CNO_ERROR,
    MQRC_CSP_ERROR,
    MQRC_FUNCTION_NOT_SUPPORTED,
    MQRC_NONE,
    MQRC_OPTIONS_ERROR,
    MQRC_Q_MGR_NAME_ERROR,
    MQRC_SCO_ERROR,
    MQXPT_TCP,
)
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQCNO, MQCSP
from ostler.model.structures.layout import trim

_LOCAL_OPTIONS: Final = mqi_connect.LOCAL_BINDINGS
_EXCLUSIVE: Final = mqi_connect.EXCLUSIVE_OPTIONS
_ALL_OPTIONS: Final = reduce(or_, _EXCLUSIVE) | MQCNO_GENERATE_CONN_TAG
_SHARED: Final = MQCNO_HANDLE_SHARE_BLOCK | MQCNO_HANDLE_SHARE_NO_BLOCK
_RECONNECT: Final[dict[int, Reconnect]] = {
    MQCNO_RECONNECT: "yes",
    MQCNO_RECONNECT_Q_MGR: "qmgr",
    MQCNO_RECONNECT_DISABLED: "disabled",
}
_DEFAULT_RECONNECT: Final[tuple[Reconnect, ...]] = ("no", "yes", "qmgr", "disabled")
_TEXT_MAX: Final = 10240


class _Place(NamedTuple):
    """A field of MQCD or MQSCO: where it stands, how long it is, and from which version on it is there."""

    at: int
    size: int
    version: int


_CD_BYTES: Final = {
    1: 984, 2: 1312, 3: 1480, 4: 1568, 5: 1584, 6: 1688, 7: 1792, 8: 1840, 9: 1864, 10: 1920, 11: 1984, 12: 2048
}  # fmt: skip
_CD: Final = {
    "ChannelName": _Place(0, 20, 1),
    "ShortConnectionName": _Place(192, 20, 1),
    "ConnectionName": _Place(1024, 264, 2),
    "SSLCipherSpec": _Place(1688, 32, 7),
    "LocalAddress": _Place(1740, 48, 7),
    "CertificateLabel": _Place(1920, 64, 11),
}
_CD_VERSION: Final = 20
_CD_CHANNEL_TYPE: Final = 24
_CD_TRANSPORT: Final = 28
_CD_MESSAGE_BYTES: Final = 844
_CD_HEARTBEAT: Final = _Place(1480, 4, 4)
_CD_PEER_NAME: Final = _Place(1720, 8, 7)
_CD_PEER_NAME_LENGTH: Final = _Place(1728, 4, 7)
_CD_SHARING: Final = _Place(1884, 4, 9)
_CD_RECONNECT: Final = _Place(1916, 4, 10)
_SCO_BYTES: Final = {1: 536, 2: 544, 3: 560, 4: 564, 5: 628, 6: 648, 7: 672}
_SCO_REPOSITORY: Final = _Place(8, 256, 1)
_SCO_LABEL: Final = _Place(564, 64, 5)


def MQCONN(name: str | bytes) -> Connected:
    """Connect to a queue manager, wherever it is; a blank name means the default one."""
    return MQCONNX(name, None)


def MQCONNX(name: str | bytes, cno: bytearray | None) -> Connected:
    """Connect, with options. An MQCNO of version 5 or later gets the connection id filled in."""
    try:
        version = MQCNO.validate_header(cno) if cno is not None else 0
        options = MQCNO.read_int(cno, "Options") if cno is not None else 0
        check_options(options)
        manager_name = mqi_connect.manager_name(name)
        if not options & MQCNO_CLIENT_BINDING:
            try:
                running.find(manager_name)
                return mqi_connect.MQCONNX(name, cno)
            except MQError as error:
                unknown = error
        parameters = connect_parameters(manager_name, cno, version, options)
        try:
            hconn = connect_handle(parameters)
        except MQError as error:
            # Nothing else is known of such a queue manager: then what this process knows is the better answer.
            if parameters.binding != "client" and not parameters.connection_name:
                raise unknown if error.reason == MQRC_Q_MGR_NAME_ERROR else error from None
            raise
    except MQError as error:
        return MQHC_UNUSABLE_HCONN, *failed(error)
    if cno is not None:
        _fill_in(cno, version, options, hconn)
    return hconn, MQCC_OK, MQRC_NONE


def check_options(options: int) -> None:
    if options & ~_ALL_OPTIONS:
        raise MQError(MQRC_OPTIONS_ERROR, "MQCNO has options that do not exist, or that only z/OS has.")
    for group in _EXCLUSIVE:
        chosen = options & group
        if chosen & (chosen - 1):
            raise MQError(MQRC_OPTIONS_ERROR, "MQCNO has options that exclude one another.")


def connect_parameters(name: str, cno: bytearray | None, version: int, options: int) -> ConnectParameters:
    """What the structures ask for."""
    cd = _ChannelDescriptor(_structure(cno, version, 2, "ClientConn", MQRC_CD_ERROR), options)
    sco = _structure(cno, version, 4, "SSLConfig", MQRC_SCO_ERROR)
    user, password = _credentials(_structure(cno, version, 5, "SecurityParms", MQRC_CSP_ERROR))
    binding: Binding = "auto"
    if options & MQCNO_CLIENT_BINDING or (cd.is_given and not options & _LOCAL_OPTIONS):
        binding = "client"
    elif options & _LOCAL_OPTIONS:
        binding = "local"
    is_client = binding == "client"
    return ConnectParameters(
        queue_manager=name,
        binding=binding,
        connection_name=cd.connection_name if is_client else "",
        channel=cd.channel if is_client else "",
        user=user,
        password=password,
        application=_application(cno, version),
        tls=_tls(cd, sco) if is_client else None,
        reconnect=next((word for bit, word in _RECONNECT.items() if options & bit), cd.reconnect),
        heartbeat_seconds=cd.heartbeat_seconds,
        sharing_conversations=1 if options & MQCNO_NO_CONV_SHARING else cd.sharing_conversations,
        message_bytes_max=cd.message_bytes_max,
        ccdt_url=_ccdt_url(cno, version),
        local_address=cd.local_address if is_client else "",
        is_shared=bool(options & _SHARED),
    )


def _structure(cno: bytearray | None, version: int, since: int, field: str, reason: int) -> bytes:
    """A structure that the MQCNO leads to, with what stands behind it; empty when there is none."""
    if cno is None or version < since:
        return b""
    pointer = MQCNO.read_int(cno, f"{field}Ptr")
    offset = MQCNO.read_int(cno, f"{field}Offset")
    if pointer and offset:
        raise MQError(MQRC_CNO_ERROR, f"{field} has a pointer and an offset; give one of them.")
    if offset:
        if not 0 < offset < len(cno):
            raise MQError(reason, f"The offset of {field} lies outside the structure.")
        return bytes(cno[offset:])
    return ctypes.string_at(pointer, _size_at(pointer, reason)) if pointer else b""


def _size_at(pointer: int, reason: int) -> int:
    """How long the structure at an address is, by its version: no more may be read."""
    if reason == MQRC_CD_ERROR:
        version = int.from_bytes(ctypes.string_at(pointer + _CD_VERSION, 4), "little")
        size = _CD_BYTES.get(version)
    else:
        head = ctypes.string_at(pointer, 8)
        sizes = _SCO_BYTES if reason == MQRC_SCO_ERROR else MQCSP.sizes
        identifier = b"SCO " if reason == MQRC_SCO_ERROR else MQCSP.identifier
        size = sizes.get(int.from_bytes(head[4:], "little")) if head[:4] == identifier else None
    if size is None:
        raise MQError(reason, "What the connect options point to is not what it should be.")
    return size


class _ChannelDescriptor:
    """The fields of an MQCD that say how to reach a queue manager."""

    def __init__(self, cd: bytes, options: int) -> None:
        self.is_given = bool(cd) and not options & MQCNO_CD_FOR_OUTPUT_ONLY
        self.channel = self.connection_name = self.cipher_spec = self.local_address = ""
        self.certificate_label = self.peer_name = ""
        self.heartbeat_seconds = HEARTBEAT_SECONDS
        self.sharing_conversations = SHARING_CONVERSATIONS
        self.message_bytes_max = MESSAGE_BYTES_MAX
        self.reconnect: Reconnect = "no"
        if self.is_given:
            self._read(cd)

    def _read(self, cd: bytes) -> None:
        self._cd = cd
        version = _integer(cd, _CD_VERSION) if len(cd) >= _CD_BYTES[1] else 0
        if len(cd) < _CD_BYTES.get(version, 1 << 30):
            raise MQError(MQRC_CD_ERROR, "The channel descriptor has no known version, or is too short for it.")
        self._version = version
        if _integer(cd, _CD_CHANNEL_TYPE) != MQCHT_CLNTCONN or _integer(cd, _CD_TRANSPORT) != MQXPT_TCP:
            raise MQError(MQRC_CD_ERROR, "The channel descriptor is not that of a client connection over TCP.")
        self.channel = self._text("ChannelName")
        self.connection_name = self._text("ConnectionName" if version > 1 else "ShortConnectionName")
        self.cipher_spec = self._text("SSLCipherSpec")
        self.local_address = self._text("LocalAddress")
        self.certificate_label = self._text("CertificateLabel")
        self.message_bytes_max = min(max(_integer(cd, _CD_MESSAGE_BYTES), 0), MESSAGE_BYTES_MAX) or MESSAGE_BYTES_MAX
        self.heartbeat_seconds = max(0, self._number(_CD_HEARTBEAT, HEARTBEAT_SECONDS))
        self.sharing_conversations = max(0, self._number(_CD_SHARING, SHARING_CONVERSATIONS))
        wanted = self._number(_CD_RECONNECT, 0)
        self.reconnect = _DEFAULT_RECONNECT[wanted] if 0 <= wanted < len(_DEFAULT_RECONNECT) else "no"
        length = self._number(_CD_PEER_NAME_LENGTH, 0)
        pointer = struct.unpack_from("<Q", cd, _CD_PEER_NAME.at)[0] if version >= _CD_PEER_NAME.version else 0
        if pointer and 0 < length <= _TEXT_MAX:
            self.peer_name = _decoded(ctypes.string_at(pointer, length))

    def _text(self, field: str) -> str:
        place = _CD[field]
        return _decoded(self._cd[place.at : place.at + place.size]) if self._version >= place.version else ""

    def _number(self, place: _Place, otherwise: int) -> int:
        return _integer(self._cd, place.at) if self._version >= place.version else otherwise


def _integer(structure: bytes, at: int) -> int:
    return int.from_bytes(structure[at : at + 4], "little", signed=True)


def _decoded(data: bytes) -> str:
    return trim(data).decode("utf-8", "replace")


def _tls(cd: _ChannelDescriptor, sco: bytes) -> TlsSettings | None:
    if not cd.cipher_spec:
        return None
    repository = label = ""
    if sco:
        version = int.from_bytes(sco[4:8], "little")
        if sco[:4] != b"SCO " or len(sco) < _SCO_BYTES.get(version, 1 << 30):
            raise MQError(MQRC_SCO_ERROR, "The TLS options are no MQSCO.")
        repository = _decoded(sco[_SCO_REPOSITORY.at : _SCO_REPOSITORY.at + _SCO_REPOSITORY.size])
        if version >= _SCO_LABEL.version:
            label = _decoded(sco[_SCO_LABEL.at : _SCO_LABEL.at + _SCO_LABEL.size])
    return TlsSettings(
        cipher_spec=cd.cipher_spec,
        key_repository=repository,
        certificate_label=label or cd.certificate_label,
        peer_name=cd.peer_name,
    )


def _credentials(csp: bytes) -> tuple[str | None, str | None]:
    """User and password of an MQCSP; None where it has none."""
    if not csp:
        return None, None
    MQCSP.validate_header(csp)
    kind = MQCSP.read_int(csp, "AuthenticationType")
    if kind == MQCSP_AUTH_NONE:
        return None, None
    if kind == MQCSP_AUTH_ID_TOKEN:
        raise MQError(MQRC_FUNCTION_NOT_SUPPORTED, "Authentication tokens are not taken.")
    if kind != MQCSP_AUTH_USER_ID_AND_PWD:
        raise MQError(MQRC_CSP_ERROR, f"{kind} is no type of authentication.")
    user = _part(csp, "CSPUserId", MQ_CLIENT_USER_ID_LENGTH)
    return user or None, _part(csp, "CSPPassword", MQ_CSP_PASSWORD_LENGTH) or None


def _part(csp: bytes, field: str, length_max: int) -> str:
    pointer, offset, length = (MQCSP.read_int(csp, field + end) for end in ("Ptr", "Offset", "Length"))
    if length == 0:
        return ""
    if not 0 < length <= length_max or bool(pointer) == bool(offset):
        raise MQError(MQRC_CSP_ERROR, f"{field} of the security parameters is not given as it should be.")
    if pointer:
        return _decoded(ctypes.string_at(pointer, length))
    if not 0 < offset <= len(csp) - length:
        raise MQError(MQRC_CSP_ERROR, f"{field} lies outside the security parameters.")
    return _decoded(csp[offset : offset + length])


def _application(cno: bytearray | None, version: int) -> str:
    return _decoded(bytes(MQCNO.read_bytes(cno, "ApplName"))) if cno is not None and version >= 7 else ""


def _ccdt_url(cno: bytearray | None, version: int) -> str:
    if cno is None or version < 6:
        return ""
    pointer, offset, length = (MQCNO.read_int(cno, f"CCDTUrl{end}") for end in ("Ptr", "Offset", "Length"))
    if length == 0 or not (pointer or offset):
        return ""
    if not 0 < length <= _TEXT_MAX or (pointer and offset) or offset < 0 or offset + length > max(len(cno), offset):
        raise MQError(MQRC_CNO_ERROR, "The address of the CCDT is not given as it should be.")
    return _decoded(ctypes.string_at(pointer, length) if pointer else bytes(cno[offset : offset + length]))


def _fill_in(cno: bytearray, version: int, options: int, hconn: int) -> None:
    if hconn < FIRST_REMOTE:
        return
    remote = remote_connection(hconn)
    if version >= 5:
        MQCNO.patch(cno, "ConnectionId", remote.connection_id)
    if version >= 3 and options & MQCNO_GENERATE_CONN_TAG:
        name = remote.queue_manager.encode("latin-1", "replace").ljust(48)
        MQCNO.patch(cno, "ConnTag", b"MQCT" + remote.connection_id + name)
