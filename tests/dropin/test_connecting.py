"""Structures that the packages pass when they connect are put together, or refused with the reason of the structure."""

from __future__ import annotations

import ctypes

import pytest
from ostler_dropin.connecting import Memory, Structures, connect, security_parameters

from ostler.client.mqi.channel_descriptor import MQCD, MQSCO
from ostler.model import constants as mqc
from ostler.model.structures.connecting import MQCNO, MQCSP
from ostler.model.structures.layout import Layout

BNO = b"BNO \1\0\0\0" + bytes(12)


def structure(layout: Layout, version: int = 0, **fields: int | str | bytes) -> bytes:
    made = layout.default(version)
    for name, value in fields.items():
        layout.patch(made, name, value)
    return bytes(made)


def refused(**structures: bytes) -> int:
    """The reason for which a connection is refused; with structures that are right there is no such queue manager."""
    hconn, code, reason = connect("NO.SUCH.MANAGER", Structures(options=mqc.MQCNO_LOCAL_BINDING, **structures))
    assert (hconn, code) == (mqc.MQHC_UNUSABLE_HCONN, mqc.MQCC_FAILED)
    return reason


@pytest.mark.parametrize(
    ("field", "whole", "reason"),
    [
        ("cno", structure(MQCNO), mqc.MQRC_CNO_ERROR),
        ("cd", structure(MQCD), mqc.MQRC_CD_ERROR),
        ("csp", structure(MQCSP), mqc.MQRC_CSP_ERROR),
        ("sco", structure(MQSCO), mqc.MQRC_SCO_ERROR),
        ("bno", BNO, mqc.MQRC_BNO_ERROR),
    ],
)
def test_structures_that_end_too_early(field: str, whole: bytes, reason: int) -> None:
    assert refused(**{field: whole}) == mqc.MQRC_Q_MGR_NAME_ERROR
    for length in range(1, len(whole)):
        assert refused(**{field: whole[:length]}) == reason


_TWO_TAG_OPTIONS = mqc.MQCNO_SERIALIZE_CONN_TAG_QSG | mqc.MQCNO_RESTRICT_CONN_TAG_QSG


@pytest.mark.parametrize(
    ("reason", "structures"),
    [
        (mqc.MQRC_OPTIONS_ERROR, {"cno": structure(MQCNO, Options=mqc.MQCNO_CLIENT_BINDING)}),
        (mqc.MQRC_OPTIONS_ERROR, {"cno": structure(MQCNO, Options=_TWO_TAG_OPTIONS)}),
        (mqc.MQRC_CNO_ERROR, {"cno": structure(MQCNO, Version=9)}),
        (mqc.MQRC_CD_ERROR, {"cd": structure(MQCD, Version=77)}),
        (mqc.MQRC_CSP_ERROR, {"csp": structure(MQCSP, AuthenticationType=9)}),
        (mqc.MQRC_BNO_ERROR, {"bno": bytes(20)}),
    ],
)
def test_structures_that_are_wrong(reason: int, structures: dict[str, bytes]) -> None:
    assert refused(**structures) == reason


@pytest.mark.parametrize("version", MQSCO.sizes)
def test_a_password_of_the_key_repository_counts_in_every_version(version: int) -> None:
    """Its length shows that it was looked at."""
    sco = bytearray(structure(MQSCO, KeyRepoPasswordPtr=1, KeyRepoPasswordLength=-1))
    MQSCO.patch(sco, "Version", version)
    given = Structures(options=mqc.MQCNO_CLIENT_BINDING, sco=bytes(sco))
    assert connect("NO.SUCH.MANAGER", given)[2] == mqc.MQRC_SCO_ERROR


def test_a_name_that_is_too_long() -> None:
    assert connect("Q" * 49, Structures())[2] == mqc.MQRC_Q_MGR_NAME_ERROR


def test_user_and_password() -> None:
    memory = Memory()
    csp = security_parameters(b"application", b"secret", memory)
    MQCSP.validate_header(csp)
    pointer, length = MQCSP.read_int(csp, "CSPPasswordPtr"), MQCSP.read_int(csp, "CSPPasswordLength")
    assert ctypes.string_at(pointer, length) == b"secret"
    assert ctypes.string_at(MQCSP.read_int(csp, "CSPUserIdPtr"), 11) == b"application"
