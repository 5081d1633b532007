"""Matching of topics to subscriptions: the topic tree against a naive matcher."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.world.topic_world import TopicWorld

from ostler.engine.open import close_object
from ostler.engine.pubsub.subscription import Subscription
from ostler.engine.pubsub.topic_strings import CharacterPattern, check_published, check_topic, join_topic_strings
from ostler.engine.pubsub.topic_tree import BASE_TOPIC, NODES_KEPT, TopicTree
from ostler.model.attributes import ObjectType, Value
from ostler.model.constants import (
    MQRC_ADMIN_TOPIC_STRING_ERROR,
    MQRC_RESOURCE_PROBLEM,
    MQRC_TOPIC_STRING_ERROR,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQTA_BLOCK,
    MQTA_PASSTHRU,
    MQWS_CHAR,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

LEVELS = st.sampled_from(["", "a", "b", "c", "#", "+", "a+", "#b"])
TOPICS = st.lists(st.sampled_from(["", "a", "b", "c", "+", "#"]), min_size=1, max_size=4).map("/".join).filter(bool)
PATTERNS = st.lists(LEVELS, min_size=1, max_size=5).map("/".join).filter(bool)
CHARACTERS = st.lists(st.sampled_from(["a", "b", "/", "*", "?", "%*", "%?", "%%"]), min_size=1, max_size=6).map("".join)


def naive_levels(pattern: list[str], topic: list[str]) -> bool:
    """`#` matches any number of levels, `+` one, any other level itself."""
    if not pattern:
        return not topic
    if pattern[0] == "#":
        return any(naive_levels(pattern[1:], topic[count:]) for count in range(len(topic) + 1))
    return bool(topic) and pattern[0] in ("+", topic[0]) and naive_levels(pattern[1:], topic[1:])


def naive_characters(pattern: str, topic: str) -> bool:
    """Match by a regular expression."""
    parts = re.findall(r"%.|.", pattern, re.DOTALL)
    meaning = {"*": ".*", "?": "."}
    text = "".join(meaning.get(part, re.escape(part[-1])) for part in parts)
    return re.fullmatch(text, topic, re.DOTALL) is not None


def naive_match(pattern: str, by_character: bool, topic: str) -> bool:
    if by_character:
        return naive_characters(pattern, topic)
    return naive_levels(pattern.split("/"), topic.split("/"))


def is_blocked(pattern: str, by_character: bool, topic: str, blocking: set[str]) -> bool:
    """Return whether a wildcard of the pattern covers a level at or above a blocking topic object."""
    levels = topic.split("/")
    for depth in range(len(levels), 0, -1):
        above = "/".join(levels[:depth])
        if above not in blocking:
            continue
        if by_character:
            wild = re.search(r"^(?:%.|[^*?%])*?(?=[*?])", pattern)
            if wild is None:
                return False
            fixed = re.sub(r"%(.)", r"\1", wild.group())
            return not fixed.startswith(above + "/")
        parts = pattern.split("/")
        wild_at = next((at for at, part in enumerate(parts) if part in "#+" and part), None)
        return wild_at is not None and wild_at < depth
    return False


def a_subscription(number: int, topic: str, by_character: bool = False, name: str = "") -> Subscription:
    attributes: dict[str, Value] = {"SUBID": f"{number:048X}"}
    if by_character:
        attributes["WSCHEMA"] = MQWS_CHAR
    return Subscription(Definition(ObjectType.SUB, name, attributes), topic, 0)


def blocking_object(number: int, topic: str, wildcard: int = MQTA_BLOCK) -> Definition:
    return Definition(ObjectType.TOPIC, f"T{number}", {"TOPICSTR": topic, "WILDCARD": wildcard})


SUBSCRIPTIONS = st.lists(
    st.one_of(st.tuples(PATTERNS, st.just(False)), st.tuples(CHARACTERS, st.just(True))), max_size=12
)


@settings(max_examples=300, deadline=None)
@given(SUBSCRIPTIONS, st.lists(TOPICS, min_size=1, max_size=6), st.sets(TOPICS, max_size=3))
def test_the_tree_finds_what_a_naive_matcher_finds(
    wanted: list[tuple[str, bool]], topics: list[str], blocking: set[str]
) -> None:
    tree = TopicTree()
    for number, topic in enumerate(blocking):
        tree.define_object(blocking_object(number, topic))
    made = [a_subscription(number, topic, scheme) for number, (topic, scheme) in enumerate(wanted)]
    for each in made:
        tree.add(each, 0)
    for topic in topics:
        expected = {
            each.identifier
            for each in made
            if naive_match(each.topic, each.is_character_scheme, topic)
            and not is_blocked(each.topic, each.is_character_scheme, topic, blocking)
        }
        found = tree.matching(tree.ensure(topic, 0))
        assert len(found) == len({each.identifier for each in found}), "nobody twice"
        assert {each.identifier for each in found} == expected
        for each in made:
            assert tree.is_match(each, topic) == (each.identifier in expected)


@settings(max_examples=200, deadline=None)
@given(SUBSCRIPTIONS, st.lists(TOPICS, max_size=4), st.data())
def test_added_and_removed_subscriptions_leave_nothing(
    wanted: list[tuple[str, bool]], topics: list[str], data: st.DataObject
) -> None:
    tree = TopicTree()
    for topic in topics:
        tree.ensure(topic, 0)
    made = [a_subscription(number, topic, scheme, f"S{number}") for number, (topic, scheme) in enumerate(wanted)]
    for each in made:
        tree.add(each, 0)
    for each in data.draw(st.permutations(made)):
        tree.remove(each, 1)
        assert each.is_removed
    assert (tree.subscriptions, tree.by_name, tree.all_subscriptions) == ({}, {}, [])
    assert tree.by_level.node_count() == 0
    assert tree.by_character.entry_count() == 0
    for topic in topics:
        assert list(tree.matching(tree.ensure(topic, 0))) == []
    while tree.sweep(100, 1):
        pass
    assert tree.nodes == [tree.root]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(TOPICS, min_size=1, max_size=10, unique=True),
    st.one_of(st.tuples(PATTERNS, st.just(False)), st.tuples(CHARACTERS, st.just(True))),
    st.sets(TOPICS, max_size=2),
)
def test_retained_publications_are_found_as_a_filter_finds_them(
    topics: list[str], wanted: tuple[str, bool], blocking: set[str]
) -> None:
    from ostler.engine.pubsub.topic_tree import RetainedSlot

    tree = TopicTree()
    for number, topic in enumerate(blocking):
        tree.define_object(blocking_object(number, topic))
    kept = topics[: len(topics) // 2 + 1]
    for number, topic in enumerate(topics):
        node = tree.ensure(topic, 0)
        if topic in kept:
            tree.retain(node, RetainedSlot(number, number))
    subscription = a_subscription(1, *wanted)
    tree.add(subscription, 0)
    expected = {
        topic for topic in kept if naive_match(wanted[0], wanted[1], topic) and not is_blocked(*wanted, topic, blocking)
    }
    found = [tree.topic_of(node) for node in tree.retained_for(subscription)]
    assert sorted(found) == sorted(expected)
    for topic in kept:
        tree.retain(tree.ensure(topic, 0), None)
    assert (tree.retained_count, tree.root.retained_below, tree.retained_for(subscription)) == (0, 0, [])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(TOPICS, st.integers(0, 10)), max_size=10),
    st.lists(TOPICS, max_size=4),
    st.lists(TOPICS, max_size=3),
    st.integers(0, 10),
    st.integers(1, 5),
)
def test_sweep_removes_idle_nodes_only(
    used: list[tuple[str, int]], subscribed: list[str], opened: list[str], since: int, slice_size: int
) -> None:
    tree = TopicTree()
    times: dict[str, int] = {}
    for topic, moment in used:
        tree.ensure(topic, moment)
        levels = topic.split("/")
        for depth in range(1, len(levels) + 1):
            above = "/".join(levels[:depth])
            is_new = above not in times
            times[above] = moment if is_new or depth == len(levels) else times[above]
    needed: set[str] = set()
    for number, topic in enumerate(subscribed):
        each = a_subscription(number, topic, True)
        tree.add(each, 0)
        needed.add(topic)
    for topic in opened:
        tree.ensure(topic, 0).publishers += 1
        needed.add(topic)
    for topic in needed:
        levels = topic.split("/")
        times[topic] = 0
        for depth in range(1, len(levels)):
            times.setdefault("/".join(levels[:depth]), 0)
    needed |= {topic for topic, moment in times.items() if moment > since}
    kept = {"/".join(topic.split("/")[:depth]) for topic in needed for depth in range(1, topic.count("/") + 2)}
    before = len(tree.nodes)
    total = sum(tree.sweep(slice_size, since) for _ in range(4 * before))
    assert {tree.topic_of(node) for node in tree.nodes[1:]} == kept
    assert total == before - len(tree.nodes)
    assert [node.index for node in tree.nodes] == list(range(len(tree.nodes)))


def test_sweep_waits_for_readers() -> None:
    tree = TopicTree()
    tree.ensure("a/b", 0)
    tree.readers += 1
    assert tree.sweep(10, 5) == 0
    tree.readers -= 1
    assert tree.sweep(10, 5) == 2


NAMES = ("PUB", "SUB", "DURSUB", "DEFPSIST", "DEFPRTY", "DEFPRESP", "NPMSGDLV", "PMSGDLV", "USEDLQ", "CAPEXPRY")
AS_PARENT = {"DEFPSIST": -1, "DEFPRTY": -2, "CAPEXPRY": -2}


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        TOPICS,
        st.fixed_dictionaries({}, optional={name: st.integers(0, 3) for name in NAMES}),
        max_size=5,
    ),
    st.fixed_dictionaries({}, optional={name: st.integers(0, 3) for name in NAMES}),
    TOPICS,
    st.data(),
    st.booleans(),
)
def test_settings_are_inherited_one_by_one(
    objects: dict[str, dict[str, int]], base: dict[str, int], topic: str, data: st.DataObject, deleted: bool
) -> None:
    tree = TopicTree()
    defaults = tree.settings_of("nothing/at/all")
    tree.define_object(Definition(ObjectType.TOPIC, BASE_TOPIC, {"TOPICSTR": "", **base}))
    order = data.draw(st.permutations(list(objects)))
    for number, place in enumerate(order):
        tree.define_object(Definition(ObjectType.TOPIC, f"T{number}", {"TOPICSTR": place, **objects[place]}))
    if order and deleted:
        tree.delete_object("T0")
        del objects[order[0]]
    found = tree.settings_of(topic)
    fields = dict(zip(NAMES, _fields(found), strict=True))
    usual = dict(zip(NAMES, _fields(defaults), strict=True))
    levels = topic.split("/")
    above = ["/".join(levels[:depth]) for depth in range(len(levels), 0, -1)]
    for name in NAMES:
        as_parent = _as_parent(name)
        said = [objects[place][name] for place in above if name in objects.get(place, {})]
        said += [base[name]] if name in base else []
        meant = [value for value in said if value != as_parent]
        assert fields[name] == (meant[0] if meant else usual[name]), name


def _as_parent(name: str) -> int:
    from ostler.model import constants

    words = {
        "PUB": constants.MQTA_PUB_AS_PARENT,
        "SUB": constants.MQTA_SUB_AS_PARENT,
        "DURSUB": constants.MQSUB_DURABLE_AS_PARENT,
        "DEFPRESP": constants.MQPRT_RESPONSE_AS_PARENT,
        "NPMSGDLV": constants.MQDLV_AS_PARENT,
        "PMSGDLV": constants.MQDLV_AS_PARENT,
        "USEDLQ": constants.MQUSEDLQ_AS_PARENT,
    }
    return AS_PARENT[name] if name in AS_PARENT else words[name]


def _fields(settings: object) -> list[int]:
    from ostler.engine.pubsub.topic_settings import TopicSettings

    assert isinstance(settings, TopicSettings)
    return [
        settings.publish,
        settings.subscribe,
        settings.durable,
        settings.persistence,
        settings.priority,
        settings.response,
        settings.delivery_nonpersistent,
        settings.delivery_persistent,
        settings.dead_letters,
        settings.expiry_max,
    ]


def test_an_object_below_that_lets_wildcards_pass_does_not_open_what_one_above_blocks() -> None:
    tree = TopicTree()
    tree.define_object(blocking_object(1, "Sport/Football"))
    tree.define_object(blocking_object(2, "Sport/Football/Cup", MQTA_PASSTHRU))
    all_of_it, below = a_subscription(1, "Sport/#"), a_subscription(2, "Sport/Football/#")
    tree.add(all_of_it, 0)
    tree.add(below, 0)
    assert tree.matching(tree.ensure("Sport/Football/Cup", 0)) == [below]
    assert tree.matching(tree.ensure("Sport/Rugby", 0)) == [all_of_it]


@pytest.mark.parametrize(
    ("of_object", "given_string", "whole"),
    [("a", "", "a"), ("", "b", "b"), ("a", "b", "a/b"), ("a", "/b", "a//b"), ("a/", "b", "a//b"), ("", "/b", "/b")],
)
def test_topics_are_joined_with_a_slash(of_object: str, given_string: str, whole: str) -> None:
    assert join_topic_strings(of_object, given_string) == whole


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("", MQRC_UNKNOWN_OBJECT_NAME),
        ("x" * 10241, MQRC_TOPIC_STRING_ERROR),
        ("ä" * 5121, MQRC_TOPIC_STRING_ERROR),
        ("a\0b", MQRC_TOPIC_STRING_ERROR),
        ("/" * 256, MQRC_TOPIC_STRING_ERROR),
    ],
)
def test_invalid_topic_strings(topic: str, reason: int) -> None:
    with pytest.raises(MQError) as refusal:
        check_topic(topic)
    assert refusal.value.reason == reason


def test_as_many_levels_as_may_be() -> None:
    check_topic("/" * 255)


@pytest.mark.parametrize(
    "pattern", ["#/a/" * 60 + "#", "#/+/" * 60 + "#/+", "#/" + "a/" * 120 + "#", "+/#/a/" * 40 + "#"]
)
def test_patterns_made_to_be_slow(pattern: str) -> None:
    tree = TopicTree()
    made = [a_subscription(0, pattern, False), a_subscription(1, pattern + "/b", False)]
    for each in made:
        tree.add(each, 0)
    topic = "/".join(["a"] * 250)
    assert [each.topic for each in tree.matching(tree.ensure(topic, 0))] == [pattern]
    assert tree.is_match(made[0], topic)
    assert not tree.is_match(made[1], topic)


def test_above_the_limit_idle_nodes_are_removed_at_once() -> None:
    world = TopicWorld.create()
    world.prepare_topics()
    publisher = world.connect()
    tree = world.engine.topics
    close_object(world.engine, publisher, world.open_topic(publisher, "kept/a/b/c"), 0)
    tree.nodes_kept = len(tree.nodes)
    needed = world.open_topic(publisher, "more/needed")
    for number in range(20):
        close_object(world.engine, publisher, world.open_topic(publisher, f"more/{number}/x/y"), 0)
    assert len(tree.nodes) == tree.nodes_kept + 2
    close_object(world.engine, publisher, needed, 0)
    assert len(tree.nodes) == tree.nodes_kept
    assert tree.find("kept/a/b/c") is not None


def test_default_limit_of_idle_nodes() -> None:
    world = TopicWorld.create()
    world.prepare_topics()
    publisher = world.connect()
    tree = world.engine.topics
    tree.nodes_kept = 1_000
    for number in range(1_000):
        close_object(world.engine, publisher, world.open_topic(publisher, f"a/b/c/d/e/{number}/f/g"), 0)
    assert len(tree.nodes) <= 1_008
    assert NODES_KEPT <= 100_000


def test_readers_do_not_let_the_tree_grow_without_limit() -> None:
    world = TopicWorld.create()
    world.prepare_topics()
    publisher = world.connect()
    tree = world.engine.topics
    tree.nodes_kept = 100
    tree.readers = 1
    for number in range(200):
        close_object(world.engine, publisher, world.open_topic(publisher, f"a/{number}/f/g"), 0)
    assert len(tree.nodes) <= 204


def test_ended_subscriptions_leave_no_nodes_above_the_limit() -> None:
    tree = TopicTree()
    tree.nodes_kept = 10
    for number in range(50):
        each = a_subscription(number, f"very/many/{number}/x", False)
        tree.add(each, 0)
        tree.remove(each, 0)
    assert len(tree.nodes) <= 11


def test_an_administrator_limits_the_tree() -> None:
    world = TopicWorld.create()
    world.prepare_topics()
    publisher = world.connect()
    tree = world.engine.topics
    there = world.open_topic(publisher, "there/already")
    tree.nodes_max = len(tree.nodes) - 1 + 2  # the root does not count
    with pytest.raises(MQError) as refusal:
        world.open_topic(publisher, "one/too/many/1")
    assert refusal.value.reason == MQRC_RESOURCE_PROBLEM
    assert "MaxTopicNodes" in refusal.value.detail
    assert tree.find("one") is None
    more = [world.open_topic(publisher, "there/too"), world.open_topic(publisher, "there/already")]
    with pytest.raises(MQError):
        world.open_topic(publisher, "there/already/below/1")
    for each in (there, *more):
        close_object(world.engine, publisher, each, 0)


def test_topics_of_the_queue_manager_are_not_published_to() -> None:
    check_published("$SYS/MQTT")
    for topic in ("$SYS/MQ", "$SYS/MQ/INFO"):
        with pytest.raises(MQError) as refusal:
            check_published(topic)
        assert refusal.value.reason == MQRC_ADMIN_TOPIC_STRING_ERROR


@pytest.mark.parametrize("text", ["%", "a%", "a%b", "%/"])
def test_escapes_are_only_for_wildcards(text: str) -> None:
    with pytest.raises(MQError) as refusal:
        CharacterPattern(text)
    assert refusal.value.reason == MQRC_TOPIC_STRING_ERROR
