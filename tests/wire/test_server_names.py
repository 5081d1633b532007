"""Channel names in SNI."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.wire.server_names import SUFFIX, channel_name, server_name

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./_%"


@pytest.mark.parametrize(
    ("channel", "name"),
    [
        ("TO.QM1", "to2e-qm1.chl.ostler"),
        ("SYSTEM.DEF.SVRCONN", "system2e-def2e-svrconn.chl.ostler"),
        ("app1", "61-70-70-1.chl.ostler"),
        ("12.", "122e-.chl.ostler"),
        ("%/_", "25-2f-5f-.chl.ostler"),
    ],
)
def test_names_and_back(channel: str, name: str) -> None:
    assert server_name(channel) == name
    assert channel_name(name) == channel
    assert channel_name(name.upper()) == channel


@given(st.text(LETTERS, min_size=1, max_size=20))
def test_every_channel_has_one_name_that_fits_a_label(channel: str) -> None:
    name = server_name(channel)
    assert channel_name(name) == channel
    assert len(name) - len(SUFFIX) <= 63


@pytest.mark.parametrize("channel", ["", "A" * 21, "A B", "A-B", "É", "A\0"])
def test_what_is_no_channel_name_has_none(channel: str) -> None:
    with pytest.raises(ValueError, match="is no channel name"):
        server_name(channel)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "localhost",
        ".chl.ostler",
        "qm1.chl.mq.ibm.com",
        "41-.chl.ostler",  # A capital is written as a small letter, not as a number.
        "31-.chl.ostler",
        "zz-.chl.ostler",
        "-.chl.ostler",
        "a-.chl.ostler",
        "a.b.chl.ostler",
        "00-.chl.ostler",
        "a" * 21 + ".chl.ostler",
        "é.chl.ostler",
    ],
)
def test_what_is_no_server_name_of_ours_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="does not name a channel"):
        channel_name(name)


@given(st.text(max_size=70))
def test_any_other_name_is_refused_or_has_one_spelling(text: str) -> None:
    name = text + SUFFIX
    try:
        channel = channel_name(name)
    except ValueError:
        return
    assert server_name(channel) == name.lower()
