"""Metadata and data of resource publications, held against the rules of their readers."""

from __future__ import annotations

import pytest
from tests.observe.resource_reader import NotReadable, discover, read_data

from ostler.model import constants as mq
from ostler.model.counters import QueueCounters, VerbCounters, queue_counts, verb_counts
from ostler.model.pcf import Group, Header, Integer, decode, encode
from ostler.observe.resource_messages import all_metadata, data_message, data_topic
from ostler.observe.resource_table import CLASSES, NEVER, ResourceClass, ResourceType
from ostler.observe.resource_values import percent, queue_values, verb_values

PAIRS = [(of_class, of_type) for of_class in CLASSES for of_type in of_class.types]
METADATA = {each.topic: each.body for each in all_metadata("QM1")}
CONNECTIONS = ("connects", "connects_failed", "disconnects", "disconnects_lost", "disconnects_by_manager")


def named(of_class: str, of_type: str) -> tuple[ResourceClass, ResourceType]:
    [found] = [each for each in PAIRS if (each[0].name, each[1].name) == (of_class, of_type)]
    return found


def test_a_strict_reader_finds_the_whole_table() -> None:
    found = discover(METADATA.__getitem__, "QM1")
    assert {
        (of_class.number, of_class.name, of_class.flags == 1): {
            (of_type.number, of_type.name): [
                (each.number, each.datatype, each.description) for each in of_type.elements.values()
            ]
            for of_type in of_class.types.values()
        }
        for of_class in found.values()
    } == {
        (of_class.number, of_class.name, of_class.is_per_object): {
            (of_type.number, of_type.name): [tuple(each)[:3] for each in of_type.elements] for of_type in of_class.types
        }
        for of_class in CLASSES
    }
    assert found[3].types[2].data_topic == "$SYS/MQ/INFO/QMGR/QM1/Monitor/STATQ/%s/PUT"
    assert found[1].types[2].data_topic == "$SYS/MQ/INFO/QMGR/QM1/Monitor/DISK/Log"


def test_the_strict_reader_refuses_more_than_it_knows() -> None:
    topic = "$SYS/MQ/INFO/QMGR/QM1/Monitor/METADATA/CLASSES"
    whole = decode(METADATA[topic])
    first = whole.parameters[0]
    assert isinstance(first, Group)
    more = Group(first.parameter, (*first.members, Integer(mq.MQIAMO_MONITOR_ELEMENT, 1)))
    body = encode(Header(whole.header.type, whole.header.command, version=3), [more, *whole.parameters[1:]])
    with pytest.raises(NotReadable):
        discover({**METADATA, topic: body}.__getitem__, "QM1")


@pytest.mark.parametrize(("of_class", "of_type"), PAIRS, ids=lambda each: each.name)
def test_numbers_of_elements_differ(of_class: ResourceClass, of_type: ResourceType) -> None:
    numbers = [each.number for each in of_type.elements]
    assert len(set(numbers)) == len(numbers)


def test_a_slash_in_the_name_of_a_queue_is_no_level() -> None:
    assert data_topic("QM1", *named("STATQ", "GET"), name="A/B.C").endswith("/Monitor/STATQ/A&B.C/GET")


@pytest.mark.parametrize("of_type", ["OPENCLOSE", "INQSET", "PUT", "GET", "GENERAL"])
def test_data_of_a_queue(of_type: str) -> None:
    counters = QueueCounters()
    body = data_message("QM1", *named("STATQ", of_type), 10_000_000, queue_values(queue_counts(counters), 7), "A.B")
    read = read_data(body, discover(METADATA.__getitem__, "QM1"), "QM1")
    assert (read.object, read.interval_us) == ("A.B", 10_000_000)
    assert sum(read.values.values()) == (7 if of_type == "GENERAL" else 0)


def test_every_element_of_calls_has_a_source() -> None:
    values = verb_values({**verb_counts(VerbCounters()), **dict.fromkeys(CONNECTIONS, 0)})
    marks = ("connections_high", "durable_high", "durable_low", "nondurable_high", "nondurable_low")
    known = {*values, *marks, *NEVER}
    sources = {each.source for of_class, of_type in PAIRS if of_class.name == "STATMQI" for each in of_type.elements}
    assert sources <= known


def test_values_of_a_queue() -> None:
    counters = QueueCounters()
    counters.puts, counters.put_bytes, counters.put1s = 8, 1000, 2
    counters.handed_over, counters.handed_over_bytes = 2, 500
    counters.gets, counters.get_bytes, counters.age_total_ms = 4, 400, 6
    counters.browses, counters.browse_bytes = 3, 30
    counters.gets_empty, counters.browses_empty = 5, 1
    counters.gets_failed, counters.gets_truncated, counters.browses_truncated = 4, 3, 2
    counters.browses_failed = 3
    values = queue_values(queue_counts(counters), 4)
    assert (values["queue_puts_nonpersistent"], values["queue_put1s_nonpersistent"]) == (6, 2)
    assert (values["avoided_puts_percent"], values["avoided_bytes_percent"]) == (2500, 5000)
    assert (values["gets_and_browses"], values["get_and_browse_bytes"]) == (7, 430)
    assert (values["destructive_failed"], values["destructive_empty"], values["destructive_truncated"]) == (6, 4, 1)
    assert (values["queue_time_us"], values["depth"]) == (1500, 4)


def test_a_share_of_nothing_is_nothing() -> None:
    assert (percent(1, 0), percent(0, 5), percent(1, 3)) == (0, 0, 3333)
