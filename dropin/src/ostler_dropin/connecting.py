"""Connecting: the packages pass MQCNO, MQCD, MQCSP and MQSCO separately; here they are linked as in a C program."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Final

from ostler import mqi
from ostler.client.mqi.channel_descriptor import MQCD, MQSCO
from ostler.model.constants import (
    MQBNO_STRUC_ID,
    MQCC_FAILED,
    MQCNO_HANDLE_SHARE_BLOCK,
    MQCSP_AUTH_USER_ID_AND_PWD,
    MQHC_UNUSABLE_HCONN,
    MQRC_BNO_ERROR,
    MQRC_CD_ERROR,
)
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQCNO, MQCSP
from ostler_dropin.sharing import serialize_verbs

Connected = tuple[int, int, int]
"""A connection handle, completion and reason."""

_BNO_BYTES: Final = 20
_KEY_PASSWORD_VERSION: Final = 6


@dataclass
class Structures:
    """The structures of MQCONNX as the packages pass them. Structures that were not passed are None."""

    options: int = 0
    cno: bytes | None = None
    cd: bytes | None = None
    csp: bytes | None = None
    sco: bytes | None = None
    bno: bytes | None = None


def connect(name: str | bytes, given: Structures) -> Connected:
    """Connect a program."""
    try:
        memory = Memory()
        cno = _connect_options(given, memory)
    except MQError as error:
        return MQHC_UNUSABLE_HCONN, error.completion, error.reason
    hconn, code, reason = mqi.MQCONNX(name, cno)
    if code != MQCC_FAILED and MQCNO.read_int(cno, "Options") & MQCNO_HANDLE_SHARE_BLOCK:
        serialize_verbs(hconn)
    return hconn, code, reason


class Memory:
    """Buffers at fixed addresses, which live as long as this object."""

    def __init__(self) -> None:
        self._kept: list[ctypes.Array[ctypes.c_char]] = []

    def address(self, data: bytes) -> int:
        buffer = ctypes.create_string_buffer(data)
        self._kept.append(buffer)
        return ctypes.addressof(buffer)


def _connect_options(given: Structures, memory: Memory) -> bytearray:
    """Return an MQCNO of the newest version that points to all other structures.

    The packages set fields of later versions than the version in the structure, so that version is ignored.
    """
    cno = MQCNO.default()
    if given.cno is not None:
        MQCNO.validate_header(given.cno)
        cno[: len(given.cno)] = given.cno[: len(cno)]
        MQCNO.patch(cno, "Version", MQCNO.current_version)
    MQCNO.patch(cno, "Options", MQCNO.read_int(cno, "Options") | given.options)
    if given.bno is not None and (len(given.bno) < _BNO_BYTES or given.bno[:4] != MQBNO_STRUC_ID):
        # Balancing options are for uniform clusters; they are checked and otherwise ignored.
        raise MQError(MQRC_BNO_ERROR)
    if given.cd:
        _check_channel(given.cd)
        MQCNO.patch(cno, "ClientConnPtr", memory.address(given.cd))
    if given.csp is not None:
        MQCSP.validate_header(given.csp)
        MQCNO.patch(cno, "SecurityParmsPtr", memory.address(given.csp))
    if given.sco:
        MQCNO.patch(cno, "SSLConfigPtr", memory.address(_tls_options(given.sco)))
    return cno


def _check_channel(cd: bytes) -> None:
    """Raise MQError unless a channel descriptor has a known version and the length of that version."""
    size = MQCD.sizes.get(MQCD.read_int(cd, "Version")) if len(cd) >= MQCD.sizes[1] else None
    if size is None or len(cd) < size:
        raise MQError(MQRC_CD_ERROR)


def _tls_options(sco: bytes) -> bytes:
    """Return the TLS options, with a version that includes the password of the key repository if there is one."""
    version = MQSCO.validate_header(sco)
    if version >= _KEY_PASSWORD_VERSION or len(sco) < MQSCO.size(_KEY_PASSWORD_VERSION):
        return sco
    made = bytearray(sco)
    if MQSCO.read_int(made, "KeyRepoPasswordPtr"):
        MQSCO.patch(made, "Version", _KEY_PASSWORD_VERSION)
    return bytes(made)


def security_parameters(user: bytes, password: bytes, memory: Memory) -> bytes:
    """Return an MQCSP with a user and a password."""
    csp = MQCSP.default()
    MQCSP.patch(csp, "AuthenticationType", MQCSP_AUTH_USER_ID_AND_PWD)
    MQCSP.patch(csp, "CSPUserIdPtr", memory.address(user))
    MQCSP.patch(csp, "CSPUserIdLength", len(user))
    MQCSP.patch(csp, "CSPPasswordPtr", memory.address(password))
    MQCSP.patch(csp, "CSPPasswordLength", len(password))
    return bytes(csp)
