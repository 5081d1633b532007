"""MQCONN and MQCONNX for every binding: the structures of a program become connection parameters.

MQCNO refers to an MQCD (channel), MQSCO (TLS) and MQCSP (user and password), each at an address of this process or at
an offset from the MQCNO.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Final

from ostler.client.locate import registry
from ostler.client.locate.binding import connect_handle
from ostler.client.locate.connect_parameters import SHARING_CONVERSATIONS, Binding, ConnectParameters, Reconnect
from ostler.client.mqi import connect as mqi_connect
from ostler.client.mqi.channel_descriptor import MQCD, MQSCO, ChannelDescriptor, text_of, tls_of_channel
from ostler.client.mqi.connect import Connected
from ostler.client.mqi.put_get import error_result
from ostler.client.mqi.remote.connections import FIRST_REMOTE, remote_connection
from ostler.engine.connection import generated_tag
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQCNO, MQCSP
from ostler.model.structures.layout import Layout

_LOCAL_OPTIONS: Final = mqi_connect.LOCAL_BINDINGS
_EXCLUSIVE: Final = mqi_connect.EXCLUSIVE_OPTIONS
_ALL_OPTIONS: Final = reduce(or_, _EXCLUSIVE) | mq.MQCNO_GENERATE_CONN_TAG
_SHARED: Final = mq.MQCNO_HANDLE_SHARE_BLOCK | mq.MQCNO_HANDLE_SHARE_NO_BLOCK
_RECONNECT: Final[dict[int, Reconnect]] = {
    mq.MQCNO_RECONNECT: "yes",
    mq.MQCNO_RECONNECT_Q_MGR: "qmgr",
    mq.MQCNO_RECONNECT_DISABLED: "disabled",
}
_URL_LENGTH_MAX: Final = 10240
_CCDT_VERSION: Final = 6
_APPLICATION_NAME_VERSION: Final = 7


def MQCONN(name: str | bytes) -> Connected:
    """Connect to a queue manager over any binding; a blank name means the default one."""
    return MQCONNX(name, None)


def MQCONNX(name: str | bytes, cno: bytearray | None) -> Connected:
    """Connect with options. An MQCNO of version 5 or later returns the connection id."""
    try:
        version = MQCNO.validate_header(cno) if cno is not None else 0
        options = MQCNO.read_int(cno, "Options") if cno is not None else 0
        check_options(options)
        manager_name = mqi_connect.manager_name(name)
        parameters = connect_parameters(manager_name, cno, version, options)
        if parameters.binding == "client":
            hconn = connect_handle(parameters)
        else:
            try:
                registry.find(manager_name)
                return mqi_connect.MQCONNX(name, cno)
            except MQError as unknown:
                hconn = _connect_elsewhere(parameters, unknown)
    except MQError as error:
        return mq.MQHC_UNUSABLE_HCONN, *error_result(error)
    if cno is not None:
        _fill_in(cno, version, options, hconn)
    return hconn, mq.MQCC_OK, mq.MQRC_NONE


def _connect_elsewhere(parameters: ConnectParameters, unknown: MQError) -> int:
    """Connect to a queue manager that is not in this process. `unknown` is the error of the search in this process."""
    try:
        return connect_handle(parameters)
    except MQError as error:
        # If no binding knows the name either, the error of this process says more.
        raise unknown if error.reason == mq.MQRC_Q_MGR_NAME_ERROR else error from None


def check_options(options: int) -> None:
    if options & ~_ALL_OPTIONS:
        raise MQError(mq.MQRC_OPTIONS_ERROR, "MQCNO has options that do not exist, or that only z/OS has.")
    for group in _EXCLUSIVE:
        chosen = options & group
        if chosen & (chosen - 1):
            raise MQError(mq.MQRC_OPTIONS_ERROR, "MQCNO has options that exclude one another.")


def connect_parameters(name: str, cno: bytearray | None, version: int, options: int) -> ConnectParameters:
    """Convert the structures of MQCONNX to connection parameters."""
    cd = _structure(cno, version, 2, "ClientConn", MQCD)
    channel = ChannelDescriptor(cd) if cd and not options & mq.MQCNO_CD_FOR_OUTPUT_ONLY else None
    sco = _structure(cno, version, 4, "SSLConfig", MQSCO)
    user, password = _credentials(_structure(cno, version, 5, "SecurityParms", MQCSP))
    binding = _binding(options, channel)
    tag_options, tag = mqi_connect.connection_tag(cno, version, options)
    parameters = ConnectParameters(
        queue_manager=name,
        binding=binding,
        user=user,
        password=password,
        application=_application(cno, version),
        tls=tls_of_channel(channel, sco) if binding != "local" else None,
        reconnect=next((word for bit, word in _RECONNECT.items() if options & bit), "no"),
        sharing_conversations=1 if options & mq.MQCNO_NO_CONV_SHARING else SHARING_CONVERSATIONS,
        ccdt_url=_ccdt_url(cno, version),
        is_shared=bool(options & _SHARED),
        accounting=options & mqi_connect.ACCOUNTING_OPTIONS,
        tag_options=tag_options,
        connection_tag=tag,
    )
    return parameters if channel is None else _over(channel, parameters, options)


def _over(channel: ChannelDescriptor, parameters: ConnectParameters, options: int) -> ConnectParameters:
    """Add the fields of the program's channel descriptor (MQCD) to the parameters."""
    is_client = parameters.binding == "client"
    return replace(
        parameters,
        connection_name=channel.connection_name if is_client else "",
        channel=channel.name if is_client else "",
        reconnect=parameters.reconnect if any(options & bit for bit in _RECONNECT) else channel.reconnect,
        heartbeat_seconds=channel.heartbeat_seconds,
        sharing_conversations=1 if options & mq.MQCNO_NO_CONV_SHARING else channel.sharing_conversations,
        message_bytes_max=channel.message_bytes_max,
        local_address=channel.local_address if is_client else "",
    )


def _binding(options: int, channel: ChannelDescriptor | None) -> Binding:
    """Return the binding. A channel descriptor with an address means client, unless the options select local."""
    if options & mq.MQCNO_CLIENT_BINDING:
        return "client"
    if options & _LOCAL_OPTIONS:
        return "local"
    if channel is not None and channel.connection_name:
        return "client"
    wanted = os.environ.get("MQ_CONNECT_TYPE", "").strip().upper()
    if wanted == "CLIENT":
        return "client"
    return "local" if wanted in ("LOCAL", "STANDARD") else "auto"


def _structure(cno: bytearray | None, version: int, since: int, field: str, layout: Layout) -> bytes:
    """Return a structure that the MQCNO refers to, with the rest of the caller's buffer; empty when there is none."""
    if cno is None or version < since:
        return b""
    pointer = MQCNO.read_int(cno, f"{field}Ptr")
    offset = MQCNO.read_int(cno, f"{field}Offset")
    if pointer and offset:
        raise MQError(mq.MQRC_CNO_ERROR, f"{field} has a pointer and an offset; give one of them.")
    if offset:
        if not 0 < offset < len(cno):
            raise MQError(layout.reason, f"The offset of {field} lies outside the structure.")
        return bytes(cno[offset:])
    return ctypes.string_at(pointer, _size_at(pointer, layout)) if pointer else b""


def _size_at(pointer: int, layout: Layout) -> int:
    """Return the length of the structure at an address, by its version: no more may be read."""
    head = ctypes.string_at(pointer, layout.offset("Version") + 4)
    size = layout.sizes.get(layout.read_int(head, "Version")) if head.startswith(layout.identifier) else None
    if size is None:
        raise MQError(layout.reason, f"The connect options point to something that is not an {layout.name}.")
    return size


def _credentials(csp: bytes) -> tuple[str | None, str | None]:
    """Return user and password of an MQCSP; None where it has none."""
    if not csp:
        return None, None
    MQCSP.validate_header(csp)
    kind = MQCSP.read_int(csp, "AuthenticationType")
    if kind == mq.MQCSP_AUTH_NONE:
        return None, None
    if kind == mq.MQCSP_AUTH_ID_TOKEN:
        raise MQError(mq.MQRC_FUNCTION_NOT_SUPPORTED, "Authentication tokens are not supported.")
    if kind != mq.MQCSP_AUTH_USER_ID_AND_PWD:
        raise MQError(mq.MQRC_CSP_ERROR, f"{kind} is not an authentication type.")
    user = _string(csp, MQCSP, "CSPUserId", mq.MQ_CLIENT_USER_ID_LENGTH).rstrip()
    return user or None, _string(csp, MQCSP, "CSPPassword", mq.MQ_CSP_PASSWORD_LENGTH) or None


def _string(structure: bytes | bytearray, layout: Layout, field: str, length_max: int) -> str:
    """Return the text that a field refers to by address or by offset; empty when its length is 0."""
    pointer, offset, length = (layout.read_int(structure, field + end) for end in ("Ptr", "Offset", "Length"))
    if length == 0:
        return ""
    is_inside = 0 < offset <= len(structure) - length
    if not 0 < length <= length_max or bool(pointer) == bool(offset) or not (pointer or is_inside):
        raise MQError(layout.reason, f"{field} of {layout.name} is not valid: check pointer, offset and length.")
    data = ctypes.string_at(pointer, length) if pointer else bytes(structure[offset : offset + length])
    return data.decode("utf-8", "replace")


def _application(cno: bytearray | None, version: int) -> str:
    return text_of(MQCNO, cno, "ApplName") if cno is not None and version >= _APPLICATION_NAME_VERSION else ""


def _ccdt_url(cno: bytearray | None, version: int) -> str:
    return _string(cno, MQCNO, "CCDTUrl", _URL_LENGTH_MAX) if cno is not None and version >= _CCDT_VERSION else ""


def _fill_in(cno: bytearray, version: int, options: int, hconn: int) -> None:
    if hconn < FIRST_REMOTE:
        return
    remote = remote_connection(hconn)
    if version >= 5:
        MQCNO.patch(cno, "ConnectionId", remote.connection_id)
    if version >= 3 and options & mq.MQCNO_GENERATE_CONN_TAG:
        name = remote.queue_manager.encode("latin-1", "replace").ljust(48)
        MQCNO.patch(cno, "ConnTag", generated_tag(remote.connection_id, name))
