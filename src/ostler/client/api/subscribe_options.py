"""The keywords of a subscription, and their conversion to the arguments of MQSUB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypedDict

from ostler.client.api.keywords import check_keywords
from ostler.client.api.message import identifier
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.wire.object_frames import SELECTION_BYTES_MAX
from ostler.wire.payload_codec import NAME_BYTES
from ostler.wire.subscribe_frames import TOPIC_BYTES_MAX, SubscribeArguments

if TYPE_CHECKING:
    from ostler.client.aio.async_queue import AsyncQueue
    from ostler.client.api.queue import Queue

Wildcards = Literal["levels", "characters"]

_ACTIONS: Final = mq.MQSO_CREATE | mq.MQSO_RESUME | mq.MQSO_ALTER
_TENTHS: Final = 10
_NUMBER_MAX: Final = (1 << 31) - 1


class SubscribeOptions(TypedDict, total=False):
    """The keywords of `subscribe`.

    durable          it outlives the connection and keeps receiving publications; it needs a name
    name             the name of the subscription; an existing one is resumed
    selector         only publications that meet this SQL-92 condition
    queue            the destination: an open queue, or the name of one, which is opened for input; by default a
                     managed queue, which is deleted with the subscription
    object_name      a topic object; its topic string goes before the topic
    wildcards        "levels": # and + for levels of the topic; "characters": * and ? for characters
    new_only         no retained publications
    on_request       only retained publications, and these when `request` is called
    user_data        delivered with every publication
    correlation_id   of every publication; by default the queue manager assigns one
    priority         of every publication; by default that of the publication
    level            0 to 9: publications go to the highest level first, see SUBLEVEL
    expiry           seconds until the subscription ends
    any_user         other users may resume it, too
    alter            an existing subscription is altered to these keywords
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
    """Return the arguments of MQSUB. Raises TypeError for an unknown keyword."""
    check_keywords(wanted.keys(), _KEYWORDS)
    asked = SubscribeArguments(_options(wanted))
    asked.object_name = check_name(wanted.get("object_name", ""))
    asked.topic_string = check_text(topic, TOPIC_BYTES_MAX, mq.MQRC_OBJECT_STRING_ERROR, "topic")
    asked.name = check_text(wanted.get("name") or "", TOPIC_BYTES_MAX, mq.MQRC_SUB_NAME_ERROR, "name")
    asked.user_data = check_text(wanted.get("user_data", ""), TOPIC_BYTES_MAX, mq.MQRC_SUB_USER_DATA_ERROR, "user data")
    asked.selection = check_text(
        wanted.get("selector") or "", SELECTION_BYTES_MAX, mq.MQRC_SELECTION_STRING_ERROR, "selector"
    )
    asked.correlation_id = identifier(wanted.get("correlation_id", b""))
    priority = wanted.get("priority")
    asked.priority = mq.MQPRI_PRIORITY_AS_PUBLISHED if priority is None else _number(priority)
    asked.level = _number(wanted.get("level", 1))
    expiry = wanted.get("expiry")
    asked.expiry = mq.MQEI_UNLIMITED if expiry is None else _tenths(expiry)
    return asked


def _options(wanted: SubscribeOptions) -> int:
    options = wanted.get("options", 0) | mq.MQSO_FAIL_IF_QUIESCING
    if not options & _ACTIONS:
        options |= mq.MQSO_CREATE
        if wanted.get("alter", False):
            options |= mq.MQSO_ALTER
        elif wanted.get("name"):
            options |= mq.MQSO_RESUME
    if wanted.get("queue") is None:
        options |= mq.MQSO_MANAGED
    wildcards = wanted.get("wildcards", "levels")
    if wildcards not in ("levels", "characters"):
        raise MQError(mq.MQRC_OPTIONS_ERROR, f"Wildcards are for levels or for characters, not for {wildcards!r:.40}.")
    for is_wanted, option in (
        (wanted.get("durable", False), mq.MQSO_DURABLE),
        (wildcards == "characters", mq.MQSO_WILDCARD_CHAR),
        (wanted.get("new_only", False), mq.MQSO_NEW_PUBLICATIONS_ONLY),
        (wanted.get("on_request", False), mq.MQSO_PUBLICATIONS_ON_REQUEST),
        (bool(wanted.get("correlation_id")), mq.MQSO_SET_CORREL_ID),
        (wanted.get("any_user", False), mq.MQSO_ANY_USERID),
    ):
        if is_wanted:
            options |= option
    return options


def check_name(name: str) -> str:
    """Return the name of a topic object. Raises MQError when it is too long."""
    if len(name.encode("utf-8", "replace")) > NAME_BYTES:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"{name[:60]!r} is too long to be a name.")
    return name


def check_text(text: str, bytes_max: int, reason: int, what: str) -> str:
    """Return a text. Raises MQError when it cannot be encoded or is too long."""
    try:
        length = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise MQError(reason, f"The {what} has characters that UTF-8 cannot encode.") from None
    if length > bytes_max:
        raise MQError(reason, f"The {what} has {length} bytes; it takes {bytes_max}.")
    return text


def _number(value: int) -> int:
    if not -_NUMBER_MAX <= value <= _NUMBER_MAX:
        raise MQError(mq.MQRC_OPTIONS_ERROR, f"{value} does not fit into 32 bits.")
    return value


def _tenths(expiry: float) -> int:
    """Return an expiry in tenths of a second, at least 1; 0 for no time at all, which the queue manager refuses."""
    return min(max(1, round(expiry * _TENTHS)), _NUMBER_MAX) if expiry > 0 else 0
