"""Authorities of users by authority records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.authorities import (
    BROWSE,
    CHG,
    CLR,
    CONNECT,
    CRT,
    CTRL,
    DLT,
    DSP,
    EVERYTHING,
    GET,
    INQ,
    PUB,
    PUT,
    QUEUE_AUTHORITIES,
    SUB,
    SYSTEM,
)
from ostler.model.constants import MQOT_CHANNEL, MQOT_Q, MQOT_Q_MGR, MQOT_REMOTE_Q_MGR_NAME, MQOT_TOPIC
from ostler.model.definitions import Definition
from ostler.security.authorities import (
    COMPOSITES,
    EVERYBODY,
    OBJECT_TYPES,
    VALID_AUTHORITIES,
    AuthorityRecords,
    default_records,
    expand,
    invalid_authorities,
    mask_of_record,
    record,
    record_key,
)
from ostler.security.profiles import is_generic, matches, specificity


def records_with(*definitions: Definition) -> AuthorityRecords:
    records = AuthorityRecords()
    for definition in definitions:
        records.put(definition)
    return records


def user(name: str, profile: str, mask: int, object_type: int = MQOT_Q) -> Definition:
    return record(object_type, profile, name, False, mask)


def group(name: str, profile: str, mask: int, object_type: int = MQOT_Q) -> Definition:
    return record(object_type, profile, name, True, mask)


def test_without_records_nobody_may_do_anything() -> None:
    assert default_records() == []
    assert AuthorityRecords().authorities("ann", ("staff",), MQOT_Q, "Q1") == 0


def test_only_the_most_specific_profile_of_an_entity_counts() -> None:
    records = records_with(user("ann", "AB.*", PUT), user("ann", "AB.C*", GET))
    assert records.authorities("ann", (), MQOT_Q, "AB.CD") == GET
    assert records.authorities("ann", (), MQOT_Q, "AB.D") == PUT
    records.put(user("ann", "AB.CD", 0))
    assert records.authorities("ann", (), MQOT_Q, "AB.CD") == 0


def test_users_and_groups_add_up() -> None:
    records = records_with(user("ann", "Q1", GET), group("staff", "**", PUT), group("audit", "Q*", BROWSE))
    assert records.authorities("ann", ("staff", "audit"), MQOT_Q, "Q1") == GET | PUT | BROWSE
    assert records.authorities("bob", ("staff",), MQOT_Q, "Q1") == PUT
    assert records.authorities("staff", (), MQOT_Q, "Q1") == 0


def test_everybody_is_in_the_group_nobody() -> None:
    records = records_with(group(EVERYBODY, "Q1", INQ))
    assert records.authorities("whoever", (), MQOT_Q, "Q1") == INQ
    assert records.authorities("", (), MQOT_Q, "Q1") == INQ


def test_types_of_objects_are_apart() -> None:
    records = records_with(user("ann", "X", GET), user("ann", "X", PUB, MQOT_TOPIC))
    assert records.authorities("ann", (), MQOT_Q, "X") == GET
    assert records.authorities("ann", (), MQOT_TOPIC, "X") == PUB
    assert records.authorities("ann", (), MQOT_CHANNEL, "X") == 0


def test_the_queue_manager_goes_by_self_or_by_its_name() -> None:
    records = records_with(user("ann", "self", CONNECT, MQOT_Q_MGR), user("bob", "*", INQ, MQOT_Q_MGR))
    assert records.authorities("ann", (), MQOT_Q_MGR, "QM1") == CONNECT
    assert records.authorities("bob", (), MQOT_Q_MGR, "QM1") == INQ
    assert records.most_specific("ann", False, MQOT_Q_MGR, "QM1") == "self"


def test_creating_is_for_all_objects_of_a_type() -> None:
    records = records_with(user("ann", "@class", CRT), group("makers", "@class", CRT, MQOT_Q_MGR))
    assert records.authorities("ann", (), MQOT_Q, "NEW") == CRT
    assert records.authorities("ann", (), MQOT_TOPIC, "NEW") == 0
    assert records.authorities("bob", ("makers",), MQOT_TOPIC, "NEW") == CRT
    records.put(user("ann", "NEW", GET))
    assert records.authorities("ann", (), MQOT_Q, "NEW") == CRT | GET


def test_a_class_record_gives_nothing_but_creating() -> None:
    records = records_with(user("ann", "@class", EVERYTHING))
    assert records.authorities("ann", (), MQOT_Q, "Q1") == CRT


def test_an_answer_is_forgotten_when_records_or_groups_change() -> None:
    records = records_with(user("ann", "Q1", GET))
    assert records.authorities("ann", (), MQOT_Q, "Q1") == GET
    records.put(user("ann", "Q1", PUT))
    assert records.authorities("ann", (), MQOT_Q, "Q1") == PUT
    records.put(group("staff", "Q1", BROWSE))
    assert records.authorities("ann", ("staff",), MQOT_Q, "Q1") == PUT | BROWSE
    assert records.authorities("ann", ("other",), MQOT_Q, "Q1") == PUT
    records.remove(user("ann", "Q1", PUT))
    assert records.authorities("ann", ("staff",), MQOT_Q, "Q1") == BROWSE


def test_twenty_thousand_records() -> None:
    records = AuthorityRecords()
    for number in range(10_000):
        records.put(user("ann", f"APP{number}.**", GET))
        records.put(user("ann", f"Q{number}", PUT))
    assert records.authorities("ann", (), MQOT_Q, "APP777.X.Y") == GET
    assert records.authorities("ann", (), MQOT_Q, "Q9999") == PUT
    for number in range(10_000):
        records.remove(user("ann", f"APP{number}.**", GET))
    assert records.authorities("ann", (), MQOT_Q, "APP777.X.Y") == 0


PROFILES = st.sampled_from(
    ["A", "A.B", "A.*", "A.?", "A.**", "*", "*.B", "**", "**.B", "A*.B", "?.B", "A*", "A.B.C", "*.**", "A.**.C"]
)
NAMES = st.sampled_from(["A", "B", "A.B", "A.C", "B.B", "A.B.C", "AX.B", "A.X.Y.C"])
ENTITIES = st.tuples(st.sampled_from(["x", "y"]), st.booleans())
CHANGES = st.lists(st.tuples(ENTITIES, PROFILES, st.integers(0, 7), st.booleans()), max_size=30)


@given(CHANGES, st.lists(st.sampled_from(["x", "y"]), max_size=2), NAMES)
def test_the_index_answers_as_a_walk_over_all_records(
    changes: list[tuple[tuple[str, bool], str, int, bool]], groups: list[str], name: str
) -> None:
    records = AuthorityRecords()
    kept: dict[tuple[str, bool, str], int] = {}
    for (entity, is_group), profile, bits, is_removal in changes:
        definition = record(MQOT_Q, profile, entity, is_group, bits << 8)
        key = (entity, is_group, profile)
        if is_removal:
            records.remove(definition)
            kept.pop(key, None)
        else:
            records.put(definition)
            kept[key] = bits << 8
        records.authorities("x", tuple(groups), MQOT_Q, name)
    expected = 0
    for entity, is_group in [("x", False), *((each, True) for each in groups)]:
        own = [key for key in kept if key[:2] == (entity, is_group) and matches(key[2], name)]
        if own:
            expected |= kept[min(own, key=lambda key: (is_generic(key[2]), specificity(key[2])))]
    assert records.authorities("x", tuple(groups), MQOT_Q, name) == expected


def test_words_for_several_authorities() -> None:
    assert expand(("ALL",), MQOT_Q) == QUEUE_AUTHORITIES
    assert expand(("ALLADM",), MQOT_Q) == CHG | CLR | DLT | DSP
    assert expand(("ALLMQI",), MQOT_TOPIC) & (PUB | SUB | GET | CHG) == PUB | SUB
    assert expand(("ALLMQI",), MQOT_CHANNEL) == 0
    assert expand(("ALL",), MQOT_REMOTE_Q_MGR_NAME) == PUT
    assert expand(("NONE",), MQOT_Q) == 0
    assert expand(("ALLADM", "CRT", "GET"), MQOT_Q) == CHG | CLR | DLT | DSP | CRT | GET
    assert expand(("ALL",), MQOT_Q_MGR) & (CTRL | SYSTEM | CRT) == CTRL | SYSTEM
    assert expand(("CONNECT",), MQOT_Q) == CONNECT
    with pytest.raises(KeyError):
        expand(("FLY",), MQOT_Q)


def test_what_a_type_does_not_know() -> None:
    assert invalid_authorities(MQOT_Q, GET | CONNECT | CRT) == CONNECT
    assert invalid_authorities(MQOT_Q_MGR, CONNECT | GET) == GET
    assert set(VALID_AUTHORITIES) == set(OBJECT_TYPES.values())
    assert COMPOSITES["ALL"] & CRT == 0


def test_a_record_and_its_key() -> None:
    definition = group("staff", "APP.**", GET | PUT)
    assert definition.name == "QUEUE APP.** GROUP staff" == record_key(definition.attributes)
    assert definition.attributes["AUTHLIST"] == ("GET", "PUT")
    assert mask_of_record(definition) == GET | PUT
    assert user("ann", "Q1", 0).attributes["AUTHLIST"] == ("NONE",)
    assert mask_of_record(user("ann", "Q1", 0)) == 0
    assert Definition.decode(definition.encode()).attributes == definition.attributes
