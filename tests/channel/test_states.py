"""The table of the states of message channels."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.channel import states
from ostler.channel.states import (
    CALLBACK_PROMISED,
    CALLBACK_REQUESTED,
    CALLED,
    CALLED_BACK,
    CONNECTED,
    DISPATCHED,
    ENABLED,
    END_DUE,
    ENDED,
    EVENTS,
    FAILED,
    FAILED_PERMANENTLY,
    INACTIVE,
    MESSAGE_RETRY,
    NAMES,
    NEGOTIATED,
    RETRIES_EXHAUSTED,
    RETRY_DUE,
    RETRY_OVER,
    START,
    STOP_COMPLETE,
    STOP_REQUESTED,
    SWITCH,
    SWITCHED,
    TRANSITIONS,
    TRIGGERED,
    accepts,
    as_text,
    next_state,
)
from ostler.model import constants as mq

GOLDEN = Path(__file__).parent / "golden" / "states.txt"

STORIES = {
    "a sender that has nothing more to send": (
        [TRIGGERED, DISPATCHED, CONNECTED, NEGOTIATED, END_DUE, ENDED],
        "STARTING INITIALIZING BINDING RUNNING STOPPING INACTIVE",
    ),
    "a sender whose partner comes back": (
        [START, DISPATCHED, FAILED, RETRY_DUE, DISPATCHED, CONNECTED, NEGOTIATED],
        "STARTING INITIALIZING RETRYING STARTING INITIALIZING BINDING RUNNING",
    ),
    "a sender whose partner never comes back": (
        [START, DISPATCHED, FAILED, RETRY_DUE, DISPATCHED, FAILED, RETRIES_EXHAUSTED, START],
        "STARTING INITIALIZING RETRYING STARTING INITIALIZING RETRYING STOPPED STARTING",
    ),
    "a receiver whose queue was full for a while": (
        [CALLED, NEGOTIATED, MESSAGE_RETRY, RETRY_OVER, ENDED],
        "BINDING RUNNING PAUSED RUNNING INACTIVE",
    ),
    "a receiver that is stopped, and started": (
        [CALLED, NEGOTIATED, STOP_REQUESTED, STOP_COMPLETE, ENABLED, CALLED],
        "BINDING RUNNING STOPPING STOPPED INACTIVE BINDING",
    ),
    "a requester of a server": (
        [START, DISPATCHED, CONNECTED, NEGOTIATED],
        "STARTING INITIALIZING BINDING RUNNING",
    ),
    "a requester of a sender": (
        [START, DISPATCHED, CONNECTED, CALLBACK_PROMISED, CALLED_BACK, NEGOTIATED],
        "STARTING INITIALIZING BINDING REQUESTING BINDING RUNNING",
    ),
    "the sender that was requested": (
        [CALLED, CALLBACK_REQUESTED, DISPATCHED, CONNECTED, NEGOTIATED],
        "BINDING STARTING INITIALIZING BINDING RUNNING",
    ),
    "a sender with a wrong sequence number": (
        [START, DISPATCHED, CONNECTED, FAILED_PERMANENTLY],
        "STARTING INITIALIZING BINDING STOPPED",
    ),
    "a sender with another transmission queue": (
        [START, SWITCH, SWITCHED, DISPATCHED],
        "STARTING SWITCHING STARTING INITIALIZING",
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_stories(story: str) -> None:
    events, words = STORIES[story]
    state = INACTIVE
    seen = []
    for event in events:
        state = next_state(state, event)
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
        assert accepts(state, STOP_COMPLETE), NAMES[state]
        assert accepts(state, ENDED) or accepts(state, ENABLED), NAMES[state]


@given(st.integers(-3, 30), st.integers(-3, 30))
def test_every_state_and_event_has_an_answer(state: int, event: int) -> None:
    if accepts(state, event):
        assert next_state(state, event) in NAMES
    else:
        with pytest.raises(ValueError, match="is not possible in the channel state"):
            next_state(state, event)


def test_the_refusal_names_state_and_event() -> None:
    with pytest.raises(ValueError, match=r"^The event TRIGGERED is not possible in the channel state STOPPED\.$"):
        next_state(states.STOPPED, TRIGGERED)


def test_states_are_those_of_mq() -> None:
    for state, name in NAMES.items():
        assert getattr(mq, f"MQCHS_{name}") == state


def test_the_table_for_people() -> None:
    assert as_text() == GOLDEN.read_text()
