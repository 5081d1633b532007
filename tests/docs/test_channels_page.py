"""The page on message channels has the attributes, states, status fields, events and commands that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.protocol_page import ProtocolPage

from ostler.channel import states
from ostler.command.status.channel_status import ChannelStatus, channel_row
from ostler.model import constants
from ostler.model.attributes import ObjectType
from ostler.model.tables.channels import ATTRIBUTES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ProtocolPage(ROOT / "docs" / "reference" / "channels.md")
TYPES = ("SDR", "SVR", "RCVR", "RQSTR")

pytestmark = pytest.mark.skipif(not PAGE.path.exists(), reason="the documentation is not beside the tests")


def words(text: str) -> set[str]:
    return set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", text))


def first_cells(*columns: str) -> set[str]:
    return {word for row in PAGE.table(*columns) for word in row[0].split(", ")}


def test_every_attribute_counts_or_is_said_not_to() -> None:
    there = {
        each.name
        for each in ATTRIBUTES
        if each.object_type is ObjectType.CHANNEL and (not each.subtypes or {*each.subtypes} & {*TYPES})
    }
    counting = first_cells("attribute", "of")
    kept = re.search(r"^Stored and displayed, but ignored.*?alone do nothing\.", PAGE.text(), re.MULTILINE | re.DOTALL)
    assert kept is not None
    told = (words(kept[0]) & there) - {"CHANNEL"}
    assert counting & told == set()
    assert counting | told == there


def test_whose_attributes_they_are() -> None:
    subtypes = {each.name: each.subtypes for each in ATTRIBUTES if each.object_type is ObjectType.CHANNEL}
    wrong = []
    for row in PAGE.table("attribute", "of"):
        told = TYPES if row[1] == "all" else tuple(row[1].split())
        for name in row[0].split(", "):
            there = tuple(each for each in TYPES if not subtypes[name] or each in subtypes[name])
            # MCAUSER is an attribute of sending ends as well, and means nothing there.
            if told != there and name not in ("MCAUSER",):
                wrong.append((name, told, there))
    assert wrong == []


def test_every_state_is_told() -> None:
    assert [row[0] for row in PAGE.table("state", "what it means")] == list(states.NAMES.values())


def test_every_transition_is_told_and_no_other() -> None:
    told = {
        (row[0], event): after
        for row in PAGE.table("from", "by \u2192 to")
        for part in row[1].split("; ")
        for events, after in [part.split(" \u2192 ")]
        for event in events.split(", ")
    }
    there = {
        (states.NAMES[before], states.EVENTS[event][0]): states.NAMES[after]
        for (before, event), after in states.TRANSITIONS.items()
    }
    assert told == there


def test_every_event_of_states_is_told_as_it_is() -> None:
    assert {row[0]: row[1] for row in PAGE.table("what happens", "is")} == dict(states.EVENTS.values())


def test_every_field_of_the_status_is_told() -> None:
    there: set[str] = set()
    for kind in TYPES:
        there |= {*channel_row(ChannelStatus("A", channel_type=kind, message_bytes_max=1, disposition="SHARED"))}
    assert first_cells("field", "what it is here") == there


def test_events_are_those_that_are_made() -> None:
    told = first_cells("event", "when", "switch")
    assert {name for name in told if not hasattr(constants, name)} == set()
    source = ROOT / "src" / "ostler" / "engine" / "events" / "channel_events.py"
    made = set(re.findall(r"\bmq\.(MQRC_CHANNEL_\w+)", source.read_text()))
    # Nothing warns of TLS.
    unused = {"MQRC_CHANNEL_SSL_WARNING"}
    assert made - unused == told
