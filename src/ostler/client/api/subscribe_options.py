"""From what a program asks of a subscription to MQ's terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypedDict

from ostler.client.api.keywords import check_keywords
from ostler.client.api.message import identifier
from ostler.model.constants import (
    MQEI_UNLIMITED,
    MQPRI_PRIORITY_AS_PUBLISHED,
    MQRC_OBJECT_STRING_ERROR,
    MQRC_OPTIONS_ERROR,
    MQRC_SELECTION_STRING_ERROR,
    MQRC_SUB_NAME_ERROR,
    MQRC_SUB_USER_DATA_ERROR,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQSO_ALTER,
    MQSO_ANY_USERID,
    MQSO_CREATE,
    MQSO_DURABLE,
    MQSO_FAIL_IF_QUIESCING,
    MQSO_MANAGED,
    MQSO_NEW_PUBLICATIONS_ONLY,
    MQSO_PUBLICATIONS_ON_REQUEST,
    MQSO_RESUME,
    MQSO_SET_CORREL_ID,
    MQSO_WILDCARD_CHAR,
)
from ostler.model.errors import MQError
from ostler.wire.object_frames import SELECTION_BYTES_MAX
from ostler.wire.payload_codec import NAME_BYTES
from ostler.wire.subscribe_frames import TOPIC_BYTES_MAX, SubscribeArguments

if TYPE_CHECKING:
    from ostler.client.aio.async_queue import AsyncQueue
    from ostler.client.api.queue import Queue

Wildcards = Literal["levels", "characters"]

_ACTIONS: Final = MQSO_CREATE | MQSO_RESUME | MQSO_ALTER
_TENTHS: Final = 10
_NUMBER_MAX: Final = (1 << 31) - 1


class SubscribeOptions(TypedDict, total=False):
    """What can be asked of a subscription.

    durable          it outlives the connection, and publications are kept for it meanwhile; it needs a name
    name             of a durable subscription, or another one; one that is there already is resumed
    selector         only publications that meet this SQL-92 condition
    queue            where publications are to come: a queue that is open, or the name of one, which is opened to get;
                     unless given the queue manager makes one, and deletes it with the subscription
    object_name      a topic object; its string goes before the topic
    wildcards        "levels": # and + for levels of the topic; "characters": * and ? for characters
    new_only         nothing that was published, and retained, before
    on_request       nothing but retained publications, and these when `request` asks for them
    user_data        comes with every publication
    correlation_id   of every publication; unless given one of the queue manager's choice
    priority         of every publication; unless given that which it was published with
    level            0 to 9: publications go to the highest level first, see SUBLEVEL
    expiry           seconds until the subscription ends by itself
    any_user         other users may resume it, too
    alter            one that is there already is changed to what is asked now
    options          further MQSO options, such as MQSO_READ_AHEAD
    """

    durable: bool
    name: str | None
    selector: str | None
    queue: str | Queue | AsyncQueue | None
    object_name: str
    wildcards: Wildcards
    new_only: bool
    on_request: bool
    user_data: str
    correlation_id: bytes
    priority: int | None
    level: int
    expiry: float | None
    any_user: bool
    alter: bool
    options: int


_KEYWORDS: Final = frozenset(SubscribeOptions.__annotations__)


def subscribe_arguments(topic: str, wanted: SubscribeOptions) -> SubscribeArguments:
    """What MQSUB is asked for. TypeError when a keyword is not known."""
    check_keywords(wanted.keys(), _KEYWORDS)
    asked = SubscribeArguments(_options(wanted))
    asked.object_name = checked_name(wanted.get("object_name", ""))
    asked.topic_string = checked_text(topic, TOPIC_BYTES_MAX, MQRC_OBJECT_STRING_ERROR, "topic")
    asked.name = checked_text(wanted.get("name") or "", TOPIC_BYTES_MAX, MQRC_SUB_NAME_ERROR, "name")
    asked.user_data = checked_text(wanted.get("user_data", ""), TOPIC_BYTES_MAX, MQRC_SUB_USER_DATA_ERROR, "user data")
    asked.selection = checked_text(
        wanted.get("selector") or "", SELECTION_BYTES_MAX, MQRC_SELECTION_STRING_ERROR, "selector"
    )
    asked.correlation_id = identifier(wanted.get("correlation_id", b""))
    priority = wanted.get("priority")
    asked.priority = MQPRI_PRIORITY_AS_PUBLISHED if priority is None else _number(priority)
    asked.level = _number(wanted.get("level", 1))
    expiry = wanted.get("expiry")
    asked.expiry = MQEI_UNLIMITED if expiry is None else _tenths(expiry)
    return asked


def _options(wanted: SubscribeOptions) -> int:
    options = wanted.get("options", 0) | MQSO_FAIL_IF_QUIESCING
    if not options & _ACTIONS:
        options |= MQSO_CREATE
        if wanted.get("alter", False):
            options |= MQSO_ALTER
        elif wanted.get("name"):
            options |= MQSO_RESUME
    if wanted.get("queue") is None:
        options |= MQSO_MANAGED
    wildcards = wanted.get("wildcards", "levels")
    if wildcards not in ("levels", "characters"):
        raise MQError(MQRC_OPTIONS_ERROR, f"Wildcards are for levels or for characters, not for {wildcards!r:.40}.")
    for is_wanted, option in (
        (wanted.get("durable", False), MQSO_DURABLE),
        (wildcards == "characters", MQSO_WILDCARD_CHAR),
        (wanted.get("new_only", False), MQSO_NEW_PUBLICATIONS_ONLY),
        (wanted.get("on_request", False), MQSO_PUBLICATIONS_ON_REQUEST),
        (bool(wanted.get("correlation_id")), MQSO_SET_CORREL_ID),
        (wanted.get("any_user", False), MQSO_ANY_USERID),
    ):
        if is_wanted:
            options |= option
    return options


def checked_name(name: str) -> str:
    """The name of a topic object, which is not cut off when it is too long to be one."""
    if len(name.encode("utf-8", "replace")) > NAME_BYTES:
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"{name[:60]!r} is too long to be a name.")
    return name


def checked_text(text: str, bytes_max: int, reason: int, what: str) -> str:
    """A text that can be told to a queue manager anywhere."""
    try:
        length = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise MQError(reason, f"The {what} has characters that are none.") from None
    if length > bytes_max:
        raise MQError(reason, f"The {what} has {length} bytes; it takes {bytes_max}.")
    return text


def _number(value: int) -> int:
    if not -_NUMBER_MAX <= value <= _NUMBER_MAX:
        raise MQError(MQRC_OPTIONS_ERROR, f"{value} is no number of 32 bits.")
    return value


def _tenths(expiry: float) -> int:
    """Too short is as short as can be; no time at all is left to be refused."""
    return min(max(1, round(expiry * _TENTHS)), _NUMBER_MAX) if expiry > 0 else 0
