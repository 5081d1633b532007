"""The options about topics and subscriptions, parsed and checked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ostler.engine.pubsub.topic_strings import check_published, check_topic
from ostler.model.errors import MQError
from ostler.pipeline.errors import PipelineError

Wildcards = Literal["levels", "characters"]

_NAME_MAX: Final = 48
_NAME_CHARACTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./_%")
_DIGEST_CHARACTERS: Final = 8
_QUEUES: Final = ("queue", "queues", "path")
_MAKING: Final = ("selector", "wildcards", "startingPosition")


@dataclass(frozen=True)
class SubscriptionOptions:
    """A durable subscription. With a topic it is created when it does not exist, with `queue` as destination; without a
    queue the queue manager provides one."""

    name: str
    topic: str = ""
    queue: str = ""
    selector: str = ""
    wildcards: Wildcards = "levels"
    is_new_only: bool = False


def subscriptions_of(options: Mapping[str, str]) -> tuple[SubscriptionOptions, ...]:
    """Return the subscriptions to read, each with its topic if that is given; none when queues are read."""
    names = listed(options.get("subscription", ""), "subscription")
    if not names:
        for name in ("topic", "wildcards"):
            if options.get(name):
                raise PipelineError(
                    f"{name} needs option subscription, the name of a durable subscription: by that a query that is "
                    "started again finds what was published meanwhile."
                )
        return ()
    topics = _beside(options.get("topic", ""), names, "topic")
    queues = _beside(",".join(options[name] for name in _QUEUES if options.get(name)), names, "queue")
    is_new_only = _is_new_only(options)
    wildcards = _wildcards(options)
    for name in _MAKING:
        if options.get(name.lower(), "earliest") != "earliest" and not topics[0]:
            raise PipelineError(
                f"{name} counts when a subscription is made. Give option topic, too, or leave {name} out."
            )
    for topic in filter(None, topics):
        _check(topic, check_topic)
    return tuple(
        SubscriptionOptions(name, topic, queue, options.get("selector", ""), wildcards, is_new_only)
        for name, topic, queue in zip(names, topics, queues, strict=True)
    )


def listed(text: str, what: str) -> list[str]:
    """Return names that are separated by commas."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if len(set(names)) != len(names):
        raise PipelineError(f"A {what} is named twice: {', '.join(names)}.")
    return names


def _beside(text: str, names: list[str], what: str) -> list[str]:
    """Return the text for each of several names. A single name takes the text as it is, commas included."""
    if not text:
        return [""] * len(names)
    if len(names) == 1:
        return [text]
    found = [each.strip() for each in text.split(",")]
    if len(found) != len(names) or not all(found):
        raise PipelineError(
            f"There are {len(names)} subscriptions and {len(found)} in option {what}. Give a {what} for each, in the "
            "same order, with commas between them."
        )
    return found


def _is_new_only(options: Mapping[str, str]) -> bool:
    position = options.get("startingposition", "earliest").lower()
    if position not in ("earliest", "latest"):
        raise PipelineError(f"startingPosition is {position!r}; for a subscription it is 'earliest' or 'latest'.")
    return position == "latest"


def _wildcards(options: Mapping[str, str]) -> Wildcards:
    given = options.get("wildcards", "levels").lower()
    if given == "levels":
        return "levels"
    if given == "characters":
        return "characters"
    raise PipelineError(f"wildcards is {given!r}; it is 'levels', for # and +, or 'characters', for * and ?.")


def check_target(topic: str) -> None:
    """Reject topic strings that cannot be published to."""
    _check(topic, check_published)


def _check(topic: str, check: Callable[[str], None]) -> None:
    try:
        check(topic)
    except MQError as error:
        raise PipelineError(f"topic is {topic[:80]!r}. {error}") from error


def usual_name(prefix: str, text: str) -> str:
    """Return a queue name for a subscription or a topic; with a digest where the text is not a valid queue name."""
    cleaned = "".join(each if each in _NAME_CHARACTERS else "_" for each in text)
    if cleaned == text and len(prefix + text) <= _NAME_MAX:
        return prefix + text
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{(prefix + cleaned)[: _NAME_MAX - _DIGEST_CHARACTERS - 1]}.{digest}"
