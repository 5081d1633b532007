"""The page of the coupling facility says what the code does: types, programs, statuses, events, limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.protocol_page import ProtocolPage

from ostler.model.coupling import events, programs, terms
from ostler.wire import frames

PAGE = ProtocolPage(Path(__file__).resolve().parents[2] / "docs" / "reference" / "coupling-facility.md")

pytestmark = pytest.mark.skipif(not PAGE.path.exists(), reason="the documentation is not beside the tests")


def test_types_of_frames_are_those_of_the_code() -> None:
    told = {int(row[0]): row[1] for row in PAGE.table("type", "name")}
    assert told == {kind: name for kind, name in frames.TYPE_NAMES.items() if kind >= frames.CF_HELLO}


def test_programs_are_those_of_the_code() -> None:
    told = {int(row[0]): row[1] for row in PAGE.table("kind", "name", "what it does")}
    assert told == dict(enumerate(programs.PROGRAM_NAMES[1:], 1))


def test_statuses_are_those_of_the_code() -> None:
    told = {int(row[0]): row[1] for row in PAGE.table("status", "name")}
    assert told == dict(enumerate(terms.STATUS_NAMES))


def test_events_are_those_of_the_code() -> None:
    for number, name, _ in PAGE.table("kind", "name", "what happened"):
        assert getattr(events, name) == int(number)


def test_limits_are_those_of_the_code() -> None:
    assert PAGE.limits() == {
        "members": terms.MEMBERS_MAX,
        "structures": terms.STRUCTURES_MAX,
        "queues of a structure": terms.HEADERS_MAX,
        "operations of a unit": terms.UNIT_OPERATIONS_MAX,
        "descriptors of units": terms.UNITS_MAX,
        "locks": terms.LOCKS_MAX,
        "watches for identifiers, of a structure": terms.ID_WATCHES_MAX,
        "bytes of an entry": terms.ENTRY_DATA_BYTES_MAX,
        "bytes of a slice": terms.SLICE_BYTES_MAX,
    }
