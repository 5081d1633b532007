"""The table of the states of message channels."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.channel import states
from ostler.channel.states import (
    AGREED,
    CALLED,
    CALLED_BACK,
    CALLS_BACK,
    CONNECTED,
    ENABLED,
    END_DUE,
    ENDED,
    EVENTS,
    FAILED,
    GAVE_UP,
    INACTIVE,
    MESSAGE_RETRY,
    NAMES,
    REFUSED,
    REQUESTED,
    RETRY_DUE,
    RETRY_OVER,
    START,
    STOP_ASKED,
    STOPPED_NOW,
    SWITCH,
    SWITCHED,
    TAKEN_UP,
    TRANSITIONS,
    TRIGGERED,
    after,
    as_text,
    takes,
)
from ostler.model import constants as mq

GOLDEN = Path(__file__).parent / "golden" / "states.txt"

STORIES = {
    "a sender that has nothing more to send": (
        [TRIGGERED, TAKEN_UP, CONNECTED, AGREED, END_DUE, ENDED],
        "STARTING INITIALIZING BINDING RUNNING STOPPING INACTIVE",
    ),
    "a sender whose partner comes back": (
        [START, TAKEN_UP, FAILED, RETRY_DUE, TAKEN_UP, CONNECTED, AGREED],
        "STARTING INITIALIZING RETRYING STARTING INITIALIZING BINDING RUNNING",
    ),
    "a sender whose partner never comes back": (
        [START, TAKEN_UP, FAILED, RETRY_DUE, TAKEN_UP, FAILED, GAVE_UP, START],
        "STARTING INITIALIZING RETRYING STARTING INITIALIZING RETRYING STOPPED STARTING",
    ),
    "a receiver whose queue was full for a while": (
        [CALLED, AGREED, MESSAGE_RETRY, RETRY_OVER, ENDED],
        "BINDING RUNNING PAUSED RUNNING INACTIVE",
    ),
    "a receiver that is stopped, and started": (
        [CALLED, AGREED, STOP_ASKED, STOPPED_NOW, ENABLED, CALLED],
        "BINDING RUNNING STOPPING STOPPED INACTIVE BINDING",
    ),
    "a requester of a server": (
        [START, TAKEN_UP, CONNECTED, AGREED],
        "STARTING INITIALIZING BINDING RUNNING",
    ),
    "a requester of a sender": (
        [START, TAKEN_UP, CONNECTED, REQUESTED, CALLED_BACK, AGREED],
        "STARTING INITIALIZING BINDING REQUESTING BINDING RUNNING",
    ),
    "the sender that was requested": (
        [CALLED, CALLS_BACK, TAKEN_UP, CONNECTED, AGREED],
        "BINDING STARTING INITIALIZING BINDING RUNNING",
    ),
    "a sender with a wrong sequence number": (
        [START, TAKEN_UP, CONNECTED, REFUSED],
        "STARTING INITIALIZING BINDING STOPPED",
    ),
    "a sender with another transmission queue": (
        [START, SWITCH, SWITCHED, TAKEN_UP],
        "STARTING SWITCHING STARTING INITIALIZING",
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_stories(story: str) -> None:
    events, words = STORIES[story]
    state = INACTIVE
    seen = []
    for event in events:
        state = after(state, event)
        seen.append(NAMES[state])
    assert " ".join(seen) == words


def test_every_state_and_so_every_row_is_reached() -> None:
    reached = {INACTIVE}
    while True:
        further = {next_state for (state, _), next_state in TRANSITIONS.items() if state in reached}
        if further <= reached:
            break
        reached |= further
    assert reached == set(NAMES)
    assert {state for state, _ in TRANSITIONS} == reached
    assert {event for _, event in TRANSITIONS} == set(EVENTS)


def test_a_channel_can_end_and_be_stopped_wherever_it_is() -> None:
    for state in NAMES:
        assert takes(state, STOPPED_NOW), NAMES[state]
        assert takes(state, ENDED) or takes(state, ENABLED), NAMES[state]


@given(st.integers(-3, 30), st.integers(-3, 30))
def test_every_state_and_event_has_an_answer(state: int, event: int) -> None:
    if takes(state, event):
        assert after(state, event) in NAMES
    else:
        with pytest.raises(ValueError, match="A channel that is"):
            after(state, event)


def test_the_refusal_names_state_and_event() -> None:
    with pytest.raises(ValueError, match=r"^A channel that is STOPPED has no TRIGGERED\.$"):
        after(states.STOPPED, TRIGGERED)


def test_states_are_those_of_mq() -> None:
    for state, name in NAMES.items():
        assert getattr(mq, f"MQCHS_{name}") == state


def test_the_table_for_people() -> None:
    assert as_text() == GOLDEN.read_text()
