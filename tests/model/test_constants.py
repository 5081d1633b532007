"""MQ's constants: their types, and facts that programs rely on."""

from __future__ import annotations

import pytest

from ostler.model import constants

NAMED = {name: value for name, value in vars(constants).items() if name.startswith("MQ")}


def test_there_are_all_of_them_as_numbers_or_bytes() -> None:
    assert len(NAMED) > 5000
    assert {type(value) for value in NAMED.values()} == {int, bytes}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MQCC_FAILED", 2),
        ("MQRC_NO_MSG_AVAILABLE", 2033),
        ("MQENC_NATIVE", 546),
        ("MQAT_DEFAULT", 6),
        ("MQGMO_WAIT", 1),
        ("MQGMO_SYNCPOINT", 2),
        ("MQGMO_CONVERT", 0x4000),
        ("MQPMO_SYNCPOINT", 2),
        ("MQOO_OUTPUT", 16),
        ("MQEI_UNLIMITED", -1),
        ("MQPER_PERSISTENT", 1),
        ("MQIA_CURRENT_Q_DEPTH", 3),
        ("MQCA_Q_NAME", 2016),
        ("MQCMD_INQUIRE_Q", 13),
        ("MQCFT_COMMAND_XR", 16),
        ("MQFMT_STRING", b"MQSTR   "),
        ("MQMI_NONE", bytes(24)),
        ("MQCHT_SVRCONN", 7),
        ("MQRCCF_CHANNEL_NOT_FOUND", 4032),
    ],
)
def test_facts(name: str, value: int | bytes) -> None:
    assert NAMED[name] == value


def test_bytes_have_the_width_of_their_fields() -> None:
    widths = {"MQFMT_": 8, "MQMI_": 24, "MQCI_": 24, "MQGI_": 24, "MQMTOK_": 16, "MQACT_NONE": 32, "MQSID_": 40}
    for prefix, width in widths.items():
        found = [value for name, value in NAMED.items() if name.startswith(prefix) and isinstance(value, bytes)]
        assert found
        assert {len(value) for value in found} == {width}
    # MQCACF_STRUC_ID and its like are selectors of commands, not identifiers.
    identifiers = [v for name, v in NAMED.items() if name.endswith("_STRUC_ID") and "ACF_" not in name]
    assert len(identifiers) > 30
    assert {len(value) if isinstance(value, bytes) else 0 for value in identifiers} == {4}
