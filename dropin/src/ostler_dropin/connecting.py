"""From the structures that a program connects with to the parameters of a connection.

The packages pass MQCNO, MQCD, MQCSP and MQSCO as separate buffers. Strings inside them stand at addresses of this
process, where the packages keep them for the time of the call.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

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
from ostler.model.constants import (
    MQ_CLIENT_USER_ID_LENGTH,
    MQ_CSP_PASSWORD_LENGTH,
    MQCC_OK,
    MQCHT_CLNTCONN,
    MQCNO_ACCOUNTING_MQI_DISABLED,
    MQCNO_ACCOUNTING_MQI_ENABLED,
    MQCNO_ACCOUNTING_Q_DISABLED,
    MQCNO_ACCOUNTING_Q_ENABLED,
    MQCNO_ACTIVITY_TRACE_DISABLED,
    MQCNO_ACTIVITY_TRACE_ENABLED,
    MQCNO_ALL_CONVS_SHARE,
    MQCNO_CD_FOR_OUTPUT_ONLY,
    MQCNO_CLIENT_BINDING,
    MQCNO_FASTPATH_BINDING,
    MQCNO_GENERATE_CONN_TAG,
    MQCNO_HANDLE_SHARE_BLOCK,
    MQCNO_HANDLE_SHARE_NO_BLOCK,
    MQCNO_HANDLE_SHARE_NONE,
    MQCNO_ISOLATED_BINDING,
    MQCNO_LOCAL_BINDING,
    MQCNO_NO_CONV_SHARING,
    MQCNO_RECONNECT,
    MQCNO_RECONNECT_DISABLED,
    MQCNO_RECONNECT_Q_MGR,
    MQCNO_SHARED_BINDING,
    MQCNO_USE_CD_SELECTION,
    MQCSP_AUTH_ID_TOKEN,
    MQCSP_AUTH_NONE,
    MQCSP_AUTH_USER_ID_AND_PWD,
    MQHC_UNUSABLE_HCONN,
    MQRC_CD_ERROR,
    MQRC_CLIENT_EXIT_LOAD_ERROR,
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
from ostler.model.structures.layout import Layout, trim
from ostler_dropin.sharing import announce_shared
from ostler_dropin.structures import MQBNO, MQCD, MQSCO

Connected = tuple[int, int, int]
"""A connection handle, completion and reason."""

SHARED: Final = MQCNO_HANDLE_SHARE_BLOCK | MQCNO_HANDLE_SHARE_NO_BLOCK
_LOCAL: Final = MQCNO_LOCAL_BINDING | MQCNO_FASTPATH_BINDING | MQCNO_SHARED_BINDING | MQCNO_ISOLATED_BINDING
# Of each of these at most one may be given.
_EXCLUSIVE: Final = (
    SHARED | MQCNO_HANDLE_SHARE_NONE,
    MQCNO_FASTPATH_BINDING | MQCNO_SHARED_BINDING | MQCNO_ISOLATED_BINDING | MQCNO_CLIENT_BINDING,
    MQCNO_LOCAL_BINDING | MQCNO_CLIENT_BINDING,
    MQCNO_ACCOUNTING_MQI_ENABLED | MQCNO_ACCOUNTING_MQI_DISABLED,
    MQCNO_ACCOUNTING_Q_ENABLED | MQCNO_ACCOUNTING_Q_DISABLED,
    MQCNO_ACTIVITY_TRACE_ENABLED | MQCNO_ACTIVITY_TRACE_DISABLED,
    MQCNO_NO_CONV_SHARING | MQCNO_ALL_CONVS_SHARE,
    MQCNO_CD_FOR_OUTPUT_ONLY | MQCNO_USE_CD_SELECTION,
    MQCNO_RECONNECT | MQCNO_RECONNECT_DISABLED | MQCNO_RECONNECT_Q_MGR,
)
_ALL_OPTIONS: Final = reduce(or_, _EXCLUSIVE) | MQCNO_GENERATE_CONN_TAG
_RECONNECT_OPTIONS: Final[dict[int, Reconnect]] = {
    MQCNO_RECONNECT: "yes",
    MQCNO_RECONNECT_Q_MGR: "qmgr",
    MQCNO_RECONNECT_DISABLED: "disabled",
}
_DEFAULT_RECONNECT: Final[tuple[Reconnect, ...]] = ("no", "yes", "qmgr", "disabled")
_NAME_LENGTH: Final = 48
_PEER_NAME_LENGTH_MAX: Final = 1024
_URL_LENGTH_MAX: Final = 10240
_KEY_PASSWORD_LENGTH_MAX: Final = 1024


@dataclass
class Structures:
    """What a program passes when it connects, beside the name. Buffers that it did not pass are None."""

    options: int = 0
    cno: bytes | None = None
    cd: bytes | None = None
    csp: bytes | None = None
    sco: bytes | None = None
    bno: bytes | None = None
    user: str | None = None  # for packages that give them outside of an MQCSP
    password: str | None = None


def connect(name: str | bytes, given: Structures) -> Connected:
    """Connect a program; completion and reason come last."""
    try:
        parameters, options = connect_parameters(name, given)
        hconn = connect_handle(parameters)
    except MQError as error:
        return MQHC_UNUSABLE_HCONN, error.completion, error.reason
    if options & MQCNO_HANDLE_SHARE_BLOCK:
        announce_shared(hconn)
    return hconn, MQCC_OK, MQRC_NONE


def connect_parameters(name: str | bytes, given: Structures) -> tuple[ConnectParameters, int]:
    """The parameters of a connection and the connect options that they came with."""
    options = given.options
    if given.cno is not None:
        MQCNO.validate_header(given.cno)
        options |= MQCNO.read_int(given.cno, "Options")
    _check_options(options)
    if given.bno is not None:
        # Who balances whom is a matter of uniform clusters; here the options need only be right.
        MQBNO.validate_header(given.bno)
    channel = ChannelDescriptor(given.cd) if given.cd and not options & MQCNO_CD_FOR_OUTPUT_ONLY else None
    user, password = _credentials(given)
    binding = _binding(options, channel)
    over_network = channel is not None and binding == "client"
    parameters = ConnectParameters(
        queue_manager=_manager_name(name),
        binding=binding,
        connection_name=channel.connection_name if channel is not None and over_network else "",
        channel=channel.name if channel is not None and over_network else "",
        user=user,
        password=password,
        application=_application(given.cno),
        tls=_tls(channel, given.sco) if binding != "local" else None,
        reconnect=_reconnect(options, channel),
        heartbeat_seconds=channel.heartbeat_seconds if channel is not None else HEARTBEAT_SECONDS,
        sharing_conversations=_sharing(options, channel),
        message_bytes_max=channel.message_bytes_max if channel is not None else MESSAGE_BYTES_MAX,
        ccdt_url=_ccdt_url(given.cno),
        local_address=channel.local_address if channel is not None else "",
        is_shared=bool(options & SHARED),
    )
    return parameters, options


class ChannelDescriptor:
    """The fields of an MQCD that say how to reach a queue manager. Fields of later versions have their first values."""

    def __init__(self, cd: bytes) -> None:
        size = MQCD.sizes.get(MQCD.read_int(cd, "Version")) if len(cd) >= MQCD.sizes[1] else None
        if size is None or len(cd) < size:
            raise MQError(MQRC_CD_ERROR, "The channel descriptor has no known version, or is too short for it.")
        self._cd = cd
        self._version = MQCD.read_int(cd, "Version")
        if self._number("ChannelType") != MQCHT_CLNTCONN:
            raise MQError(MQRC_CD_ERROR, "The channel descriptor is not that of a client connection.")
        if self._number("TransportType") != MQXPT_TCP:
            raise MQError(MQRC_CD_ERROR, "The channel descriptor asks for another transport than TCP.")
        if any(self._text(field) for field in ("SecurityExit", "SendExit", "ReceiveExit")):
            raise MQError(MQRC_CLIENT_EXIT_LOAD_ERROR, "The channel descriptor names exits; none can be loaded here.")
        self.name = self._text("ChannelName")
        self.connection_name = self._text("ConnectionName" if self._version > 1 else "ShortConnectionName")
        self.message_bytes_max = min(max(self._number("MaxMsgLength"), 0), MESSAGE_BYTES_MAX) or MESSAGE_BYTES_MAX
        self.heartbeat_seconds = self._number("HeartbeatInterval")
        self.cipher_spec = self._text("SSLCipherSpec")
        self.local_address = self._text("LocalAddress")
        self.sharing_conversations = self._number("SharingConversations")
        self.default_reconnect = self._number("DefReconnect")
        self.certificate_label = self._text("CertificateLabel")
        self.peer_name = ""
        if self._version >= MQCD.by_name["SSLPeerNamePtr"].version:
            self.peer_name = text_at(
                self._number("SSLPeerNamePtr"), self._number("SSLPeerNameLength"), _PEER_NAME_LENGTH_MAX, MQRC_CD_ERROR
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
        return _text(MQCD, self._cd, field) if self._has(field) else ""


def text_at(pointer: int, length: int, length_max: int, reason: int) -> str:
    """The text at an address of this process; empty when there is none."""
    if not pointer or not length:
        return ""
    if not 0 < length <= length_max:
        raise MQError(reason, f"A length of {length} is not between 0 and {length_max}.")
    return ctypes.string_at(pointer, length).decode("utf-8", "replace")


def _text(layout: Layout, structure: bytes, field: str) -> str:
    return trim(layout.read_bytes(structure, field)).decode("utf-8", "replace")


def _manager_name(name: str | bytes) -> str:
    text = trim(name.encode("utf-8", "replace") if isinstance(name, str) else bytes(name))
    if len(text) > _NAME_LENGTH:
        raise MQError(MQRC_Q_MGR_NAME_ERROR, f"A queue manager name has at most {_NAME_LENGTH} characters.")
    return text.decode("utf-8", "replace").strip()


def _check_options(options: int) -> None:
    if options & ~_ALL_OPTIONS:
        raise MQError(MQRC_OPTIONS_ERROR, "MQCNO has options that do not exist, or that only z/OS has.")
    for group in _EXCLUSIVE:
        chosen = options & group
        if chosen & (chosen - 1):
            raise MQError(MQRC_OPTIONS_ERROR, "MQCNO has options that exclude one another.")


def _binding(options: int, channel: ChannelDescriptor | None) -> Binding:
    """A channel descriptor with an address is meant for the network, unless the options say otherwise."""
    if options & MQCNO_CLIENT_BINDING:
        return "client"
    if options & _LOCAL:
        return "local"
    if channel is not None and channel.connection_name:
        return "client"
    wanted = os.environ.get("MQ_CONNECT_TYPE", "").strip().upper()
    if wanted == "CLIENT":
        return "client"
    return "local" if wanted in ("LOCAL", "STANDARD") else "auto"


def _credentials(given: Structures) -> tuple[str | None, str | None]:
    if given.user:
        return given.user, given.password
    csp = given.csp
    if csp is None:
        return None, None
    MQCSP.validate_header(csp)
    kind = MQCSP.read_int(csp, "AuthenticationType")
    if kind == MQCSP_AUTH_NONE:
        return None, None
    if kind == MQCSP_AUTH_ID_TOKEN:
        raise MQError(MQRC_FUNCTION_NOT_SUPPORTED, "Connections with authentication tokens are not supported.")
    if kind != MQCSP_AUTH_USER_ID_AND_PWD:
        raise MQError(MQRC_CSP_ERROR, f"{kind} is no type of authentication.")
    user = _security_text(csp, "CSPUserId", MQ_CLIENT_USER_ID_LENGTH)
    password = _security_text(csp, "CSPPassword", MQ_CSP_PASSWORD_LENGTH)
    return user or None, password


def _security_text(csp: bytes, field: str, length_max: int) -> str:
    if MQCSP.read_int(csp, field + "Offset"):
        raise MQError(MQRC_CSP_ERROR, f"{field} is given by offset; the packages give pointers.")
    return text_at(
        MQCSP.read_int(csp, field + "Ptr"), MQCSP.read_int(csp, field + "Length"), length_max, MQRC_CSP_ERROR
    )


def _tls(channel: ChannelDescriptor | None, sco: bytes | None) -> TlsSettings | None:
    """How the connection is secured: by the channel's cipher, or by one that a CCDT will name."""
    key_repository = label = key_password = ""
    if sco:
        version = MQSCO.validate_header(sco)
        key_repository = _text(MQSCO, sco, "KeyRepository")
        label = _text(MQSCO, sco, "CertificateLabel") if version >= MQSCO.by_name["CertificateLabel"].version else ""
        if len(sco) >= MQSCO.sizes[MQSCO.by_name["KeyRepoPasswordPtr"].version]:
            # ibmmq sets the password and leaves the version as it is, so the room for it decides.
            pointer = MQSCO.read_int(sco, "KeyRepoPasswordPtr")
            length = MQSCO.read_int(sco, "KeyRepoPasswordLength")
            key_password = text_at(pointer, length, _KEY_PASSWORD_LENGTH_MAX, MQRC_SCO_ERROR)
    if channel is None:
        if not key_repository:
            return None
        return TlsSettings(key_repository=key_repository, certificate_label=label, key_password=key_password)
    if not channel.cipher_spec:
        return None
    return TlsSettings(
        cipher_spec=channel.cipher_spec,
        key_repository=key_repository,
        certificate_label=label or channel.certificate_label,
        peer_name=channel.peer_name,
        key_password=key_password,
    )


def _reconnect(options: int, channel: ChannelDescriptor | None) -> Reconnect:
    for option, word in _RECONNECT_OPTIONS.items():
        if options & option:
            return word
    if channel is not None and 0 <= channel.default_reconnect < len(_DEFAULT_RECONNECT):
        return _DEFAULT_RECONNECT[channel.default_reconnect]
    return "no"


def _sharing(options: int, channel: ChannelDescriptor | None) -> int:
    if options & MQCNO_NO_CONV_SHARING:
        return 1
    return channel.sharing_conversations if channel is not None else SHARING_CONVERSATIONS


def _application(cno: bytes | None) -> str:
    """The name that the program gives itself. The packages fill the field in whatever the version says."""
    field = MQCNO.by_name["ApplName"]
    if cno is None or len(cno) < field.offset + field.length:
        return ""
    return _text(MQCNO, cno, "ApplName")


def _ccdt_url(cno: bytes | None) -> str:
    if cno is None or len(cno) < MQCNO.size(MQCNO.by_name["CCDTUrlPtr"].version):
        return ""
    return text_at(
        MQCNO.read_int(cno, "CCDTUrlPtr"), MQCNO.read_int(cno, "CCDTUrlLength"), _URL_LENGTH_MAX, MQRC_CNO_ERROR
    )
