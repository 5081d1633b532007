"""The MQRFH2 of JMS messages: written for a topic, and read as JMS programs do."""

from __future__ import annotations

import pytest

from ostler.lab.load.client import LoadFailed
from ostler.lab.load.mq.jms import JmsHeader, read_message, topic_header

TEXT = b"the text of the message"


def test_a_publication_names_its_topic_and_its_class() -> None:
    made = b"before" + topic_header("lab/topic/3", persistent=True, properties=2) + TEXT
    found = read_message(made, 6, len(made))
    assert (found.message_class, found.destination) == ("jms_text", "topic://lab/topic/3")
    assert found.is_persistent
    assert found.timestamp_ms > 1_600_000_000_000
    assert list(found.properties) == ["property0", "property1"]
    assert made[found.data_at :] == TEXT


def test_typed_properties_are_read_without_their_type() -> None:
    made = JmsHeader("Q", "R", False, False).whole + TEXT
    found = read_message(made, 0, len(made))
    assert found.destination == "queue:///Q"
    assert not found.is_persistent
    assert (found.properties["attempt"], found.properties["amount"]) == ("1", "12.5")


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        (TEXT, "no MQRFH2"),
        (topic_header("t", False)[:40], "longer than the message"),
        (topic_header("t", False).replace(b"jms_text", b"jms_none"), "'jms_none' is not the JMS text message"),
        (topic_header("t", False).replace(b"</", b"<."), "an element without an end"),
        (topic_header("t", False).replace(b"</Tms>", b"<Tms/>"), "not the time of a JMS message"),
    ],
)
def test_messages_that_no_jms_program_reads(damaged: bytes, why: str) -> None:
    with pytest.raises(LoadFailed, match=why):
        read_message(damaged, 0, len(damaged))
