"""The rules of MaxChannels, MaxActiveChannels and AdoptNewMCA, without any channel."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.channel import states
from ostler.model import constants as mq
from ostler.server.channels.limits import (
    ChannelCounts,
    ChannelLimits,
    McaAdoption,
    check_instance_limits,
    count_channels,
)
from ostler.server.config.qm_ini import QueueManagerIni

WAITING = {states.STARTING, states.RETRYING, states.STOPPED}


def test_who_is_current_and_who_is_active() -> None:
    for state in states.NAMES:
        is_current = state != states.INACTIVE
        assert count_channels([state]) == (int(is_current), int(is_current and state not in WAITING)), states.NAMES[
            state
        ]


@given(st.lists(st.sampled_from(list(states.NAMES))), st.lists(st.sampled_from(list(states.NAMES))))
def test_channels_are_counted_one_by_one(some: list[int], others: list[int]) -> None:
    together = count_channels([*some, *others])
    assert together == count_channels(some).plus(count_channels(others))
    assert 0 <= together.active <= together.current <= len(some) + len(others)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 9), st.integers(0, 9))
def test_nobody_gets_a_place_that_there_is_not(most: int, most_active: int, active: int, waiting: int) -> None:
    limits = ChannelLimits(most, most_active)
    others = ChannelCounts(active + waiting, active)
    called = limits.limit_reached("C", others)
    calling = limits.limit_reached("C", others, is_outbound=True)
    assert (called is None) == (others.current < most and others.active < most_active)
    assert (calling is None) == (others.current < most)
    if others.current < limits.lower:
        assert called is None
        assert limits.may_be_active(others)


def test_a_shortage_says_which_limit_it_is_and_what_to_do() -> None:
    limits = ChannelLimits(7, 3)
    current = limits.limit_reached("TO.HERE", ChannelCounts(7, 1), is_outbound=True)
    assert current is not None
    assert current[:2] == (mq.MQRQ_MAX_CHANNELS, 7)
    assert current.text.startswith("AMQ9513E: Maximum number of channels reached: TO.HERE is refused, as 7 are current")
    assert "raise MaxChannels in qm.ini" in current.text
    active = limits.limit_reached("TO.HERE", ChannelCounts(4, 3))
    assert active is not None
    assert active[:2] == (mq.MQRQ_MAX_ACTIVE_CHANNELS, 3)
    assert "3 are active" in active.text
    assert "raise MaxActiveChannels in qm.ini" in active.text
    assert "TO.HERE waits: 3 channels are active" in limits.waiting_text("TO.HERE")


def test_instances_of_clients_have_limits_of_their_own() -> None:
    assert check_instance_limits("C", "10.0.0.1", 4, 5, 1, 2) is None
    whole = check_instance_limits("C", "10.0.0.1", 5, 5, 1, 2)
    each = check_instance_limits("C", "10.0.0.1", 4, 5, 2, 2)
    assert whole is not None
    assert each is not None
    assert whole[:2] == (mq.MQRQ_SVRCONN_INST_LIMIT, 5)
    assert each[:2] == (mq.MQRQ_CLIENT_INST_LIMIT, 2)
    assert "10.0.0.1" in each.text


# kinds, checks, type, same queue manager, same address: whether the old connection is given up
ADOPTIONS = [
    ("ALL", "ALL", "RCVR", True, True, True),
    ("ALL", "ALL", "RQSTR", True, True, True),
    ("ALL", "ALL", "RCVR", False, True, False),
    ("ALL", "ALL", "RCVR", True, False, False),
    ("NO", "ALL", "RCVR", True, True, False),
    ("FASTPATH", "ALL", "RCVR", True, True, False),
    ("RCVR,FASTPATH", "ALL", "RCVR", True, True, True),
    ("RCVR", "ALL", "RQSTR", True, True, False),
    ("SVR,SDR", "ALL", "RCVR", True, True, False),
    ("SVR,SDR", "ALL", "SVR", True, True, True),
    ("SVR,SDR", "ALL", "SDR", True, True, True),
    ("ALL", "QM", "RCVR", True, False, True),
    ("ALL", "QM", "RCVR", False, False, False),
    ("ALL", "ADDRESS", "RCVR", False, True, True),
    ("ALL", "ADDRESS", "RCVR", False, False, False),
    ("ALL", "NAME", "RCVR", False, False, True),
    ("ALL", "NAME,ADDRESS,QM", "RCVR", True, False, False),
]


@pytest.mark.parametrize(("kinds", "checks", "kind", "manager", "address", "adopts"), ADOPTIONS)
def test_who_takes_over_a_connection(
    kinds: str, checks: str, kind: str, manager: bool, address: bool, adopts: bool
) -> None:
    ini = QueueManagerIni(f"Channels:\n AdoptNewMCA={kinds}\n AdoptNewMCACheck={checks}\n").settings.channels
    why = McaAdoption(ini.adopt_new_mca, ini.adopt_new_mca_check).refusal_reason(kind, manager, address)
    assert (why == "") == adopts
    assert adopts or "AdoptNewMCA" in why


def test_what_holds_unless_somebody_says_otherwise() -> None:
    ini = QueueManagerIni("").settings.channels
    usual = McaAdoption(ini.adopt_new_mca, ini.adopt_new_mca_check)
    assert [usual.refusal_reason(kind, True, True) for kind in ("RCVR", "RQSTR", "SVR", "SDR")] == ["", "", "", ""]
    assert usual.refusal_reason("RCVR", False, True)
    assert usual.refusal_reason("RCVR", True, False)
    assert ChannelLimits(ini.channels_max, ini.active_channels_max).lower == 999_999_999
