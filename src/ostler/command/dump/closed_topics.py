"""Topics that are closed to subscriptions of a dump: the script enables them before, and disables them after.

A durable subscription stays when its topic gets SUB(DISABLED) or DURSUB(NO), or when PSMODE becomes DISABLED. A
script that set these first could not define the subscription again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ostler.command.dump.text import ScriptCommand, quoted
from ostler.engine.pubsub.subscription_definitions import FULL_TOPIC
from ostler.engine.pubsub.topic_strings import join_topic_strings
from ostler.engine.pubsub.topic_tree import DEFAULT_SUBSCRIPTION, DEFAULT_TOPIC
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition


@dataclass
class ClosedTopics:
    """The topics that the script must enable to define its subscriptions."""

    topics: list[Definition] = field(default_factory=list)
    is_pubsub_disabled: bool = False  # publish/subscribe as a whole

    def with_pubsub_enabled(self, manager: Definition) -> Definition:
        """Returns the queue manager as it must be while subscriptions are defined."""
        if not self.is_pubsub_disabled:
            return manager
        return Definition(manager.object_type, manager.name, {**manager.attributes, "PSMODE": mq.MQPSM_ENABLED})

    def commands_to_open(self) -> Iterator[ScriptCommand]:
        for topic in self.topics:
            yield _alter_command(topic, "SUB(ENABLED)", "DURSUB(YES)")

    def commands_to_close(self) -> Iterator[ScriptCommand]:
        for topic in self.topics:
            yield _alter_command(topic, "SUB(DISABLED)", "DURSUB(NO)")
        if self.is_pubsub_disabled:
            yield ScriptCommand("ALTER QMGR", ["PSMODE(DISABLED)"], tail="FORCE")


def find_closed_topics(kept: Iterable[Definition], chosen: list[Definition]) -> ClosedTopics:
    """Returns the topics that are closed to the chosen subscriptions."""
    objects = {each.name: each for each in kept if each.object_type == ObjectType.TOPIC}
    wanted = {_topic_of(each, objects) for each in chosen if _is_defined_subscription(each)}
    if not wanted:
        return ClosedTopics()
    closed = [each for each in objects.values() if _is_closed(each) and _is_above(each, wanted)]
    managers = [each for each in chosen if each.object_type == ObjectType.QMGR]
    is_pubsub_disabled = any(each.attributes.get("PSMODE") == mq.MQPSM_DISABLED for each in managers)
    return ClosedTopics(sorted(closed, key=lambda each: each.name), is_pubsub_disabled)


def _is_defined_subscription(definition: Definition) -> bool:
    return definition.object_type == ObjectType.SUB and definition.name != DEFAULT_SUBSCRIPTION


def _topic_of(subscription: Definition, objects: dict[str, Definition]) -> str:
    attributes = subscription.attributes
    above = objects.get(str(attributes.get("TOPICOBJ", "")))
    of_object = str(above.attributes.get("TOPICSTR", "")) if above is not None else ""
    return str(attributes.get(FULL_TOPIC, "")) or join_topic_strings(of_object, str(attributes.get("TOPICSTR", "")))


def _is_closed(topic: Definition) -> bool:
    attributes = topic.attributes
    if topic.name == DEFAULT_TOPIC:
        return False
    return attributes.get("SUB") == mq.MQTA_SUB_INHIBITED or attributes.get("DURSUB") == mq.MQSUB_DURABLE_INHIBITED


def _is_above(topic: Definition, wanted: set[str]) -> bool:
    of_object = str(topic.attributes.get("TOPICSTR", ""))
    return any(not of_object or f"{each}/".startswith(f"{of_object}/") for each in wanted)


def _alter_command(topic: Definition, subscribing: str, durability: str) -> ScriptCommand:
    command = ScriptCommand(f"ALTER TOPIC({quoted(topic.name)})")
    if topic.attributes.get("SUB") == mq.MQTA_SUB_INHIBITED:
        command.items.append(subscribing)
    if topic.attributes.get("DURSUB") == mq.MQSUB_DURABLE_INHIBITED:
        command.items.append(durability)
    return command
