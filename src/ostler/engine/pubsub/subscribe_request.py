"""The MQSUB request: the fields of MQSD, their checks, and the SUB definition made from them."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.connection import Connection
from ostler.engine.core import Engine
from ostler.engine.handle import Handle
from ostler.engine.message.message import NULL_ID
from ostler.engine.message.timestamps import date_of_day, time_of_day
from ostler.engine.pubsub import subscription_definitions
from ostler.engine.pubsub.subscription import ENDS, GROUPED, Subscription
from ostler.engine.task import EngineTask
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

_ALL_OPTIONS: Final = 0x1C743BFF
_LEVEL_HIGHEST: Final = 9
_TEXT_BYTES_MAX: Final = 10240
_ACTIONS: Final = mq.MQSO_CREATE | mq.MQSO_RESUME | mq.MQSO_ALTER
_DAY_MS: Final = 86_400_000
# Offsets of the accounting token in an identity context.
_TOKEN_AT: Final = 12
_TOKEN_END: Final = 44


@final
class SubscribeRequest:
    """The fields of MQSD as plain values."""

    def __init__(self, options: i64) -> None:
        self.options: i64 = options
        self.object_name: str = ""
        self.topic_string: str = ""
        self.name: str = ""
        self.user_data: str = ""
        self.selection: str = ""
        self.correlation_id: bytes = NULL_ID
        self.expiry: i64 = mq.MQEI_UNLIMITED  # tenths of a second
        self.priority: i64 = mq.MQPRI_PRIORITY_AS_PUBLISHED
        self.accounting_token: bytes = b""
        self.application_data: str = ""
        self.level: i64 = 1
        self.alternate_user: str = ""
        self.may_pause = False  # retained publications may be delivered in slices
        self.destination: Handle | None = None  # handle of an open queue; None for a managed subscription


@final
class SubscribeResult:
    """The result of MQSUB: the handles, and the subscription that MQSD describes on return."""

    def __init__(self, handle: Handle, destination: Handle | None, subscription: Subscription) -> None:
        self.handle = handle
        self.destination = destination  # handle of a managed queue
        self.subscription = subscription
        self.is_resumed = False  # it existed before
        self.warning: i64 = 0
        self.after_lsn: i64 = 0  # the reply waits until the journal is durable up to here
        self.task: EngineTask | None = None  # the reply waits for it, too


def check_options(request: SubscribeRequest) -> None:
    options: i64 = request.options
    users: i64 = options & (mq.MQSO_ANY_USERID | mq.MQSO_FIXED_USERID)
    schemes: i64 = options & (mq.MQSO_WILDCARD_CHAR | mq.MQSO_WILDCARD_TOPIC)
    ahead: i64 = options & (mq.MQSO_READ_AHEAD | mq.MQSO_NO_READ_AHEAD)
    new_only: bool = options & mq.MQSO_NEW_PUBLICATIONS_ONLY != 0
    if (
        options & ~_ALL_OPTIONS
        or not options & _ACTIONS
        or (options & mq.MQSO_GROUP_SUB and (options & mq.MQSO_MANAGED or not options & mq.MQSO_SET_CORREL_ID))
        or users & (users - 1)
        or schemes & (schemes - 1)
        or ahead & (ahead - 1)
        or (new_only and (options & mq.MQSO_PUBLICATIONS_ON_REQUEST or not options & mq.MQSO_CREATE))
    ):
        raise MQError(mq.MQRC_OPTIONS_ERROR)
    is_named: bool = request.name != ""
    if not is_named and options & (mq.MQSO_DURABLE | mq.MQSO_RESUME | mq.MQSO_ALTER):
        raise MQError(mq.MQRC_SUB_NAME_ERROR, "A durable subscription, and one that is resumed, needs a name.")
    if len(request.name.encode()) > _TEXT_BYTES_MAX or "\0" in request.name:
        raise MQError(mq.MQRC_SUB_NAME_ERROR, f"A name has at most {_TEXT_BYTES_MAX} bytes, and no null characters.")
    if len(request.user_data.encode()) > _TEXT_BYTES_MAX:
        raise MQError(mq.MQRC_SUB_USER_DATA_ERROR, f"The user data has more than {_TEXT_BYTES_MAX} bytes.")
    if request.expiry != mq.MQEI_UNLIMITED and request.expiry <= 0:
        raise MQError(mq.MQRC_EXPIRY_ERROR)
    if not mq.MQPRI_PRIORITY_AS_PUBLISHED <= request.priority <= _LEVEL_HIGHEST or request.priority == -2:
        raise MQError(mq.MQRC_PRIORITY_ERROR)
    if not 0 <= request.level <= _LEVEL_HIGHEST:
        raise MQError(mq.MQRC_OPTIONS_ERROR, "A subscription's level is 0 to 9.")
    if request.level > 1 and options & mq.MQSO_PUBLICATIONS_ON_REQUEST:
        raise MQError(
            mq.MQRC_OPTIONS_ERROR,
            "MQSO_PUBLICATIONS_ON_REQUEST needs level 0 or 1: retained publications are published at level 1.",
        )


def subscription_definition(
    engine: Engine, connection: Connection, request: SubscribeRequest, topic: str, destination: str, manager: str
) -> Definition:
    """Return the definition of a new subscription. To save memory it has only attributes that are not defaults."""
    options: i64 = request.options
    identifier = engine.new_id()
    attributes: dict[str, int | str | tuple[str, ...]] = {
        "SUBID": identifier.hex().upper(),
        "TOPICSTR": request.topic_string,
        "DEST": destination,
        "DESTQMGR": manager,
        "DESTCLAS": mq.MQDC_MANAGED if options & mq.MQSO_MANAGED else mq.MQDC_PROVIDED,
        "DURABLE": mq.MQSUB_DURABLE_YES if options & mq.MQSO_DURABLE else mq.MQSUB_DURABLE_NO,
        "SUBTYPE": mq.MQSUBTYPE_API,
        "SUBUSER": owner_of(connection, request),
    }
    token = connection.identity_context[_TOKEN_AT:_TOKEN_END]
    if token.strip(b"\0"):
        attributes["PUBACCT"] = token.hex().upper()
    if request.object_name:
        attributes["TOPICOBJ"] = request.object_name
        attributes[subscription_definitions.FULL_TOPIC] = topic
    attributes["VARUSER"] = mq.MQVU_ANY_USER if options & mq.MQSO_ANY_USERID else mq.MQVU_FIXED_USER
    if options & mq.MQSO_WILDCARD_CHAR:
        attributes["WSCHEMA"] = mq.MQWS_CHAR
    if options & mq.MQSO_PUBLICATIONS_ON_REQUEST:
        attributes["REQONLY"] = mq.MQRU_PUBLISH_ON_REQUEST
    if options & mq.MQSO_SCOPE_QMGR:
        attributes["SUBSCOPE"] = mq.MQTSCOPE_QMGR
    if options & mq.MQSO_GROUP_SUB:
        attributes[GROUPED] = 1
    if request.selection:
        attributes["SELECTOR"] = request.selection
    if request.level != 1:
        attributes["SUBLEVEL"] = request.level
    attributes.update(alterable_attributes(engine, request))
    day, time = date_and_time(engine.wall_ms())
    attributes["CRDATE"] = day
    attributes["CRTIME"] = time
    return Definition(ObjectType.SUB, request.name, attributes)


def owner_of(connection: Connection, request: SubscribeRequest) -> str:
    """Return the user identifier that owns the subscription."""
    given = request.alternate_user.strip() if request.options & mq.MQSO_ALTERNATE_USER_AUTHORITY else ""
    return given or connection.user


def alterable_attributes(engine: Engine, request: SubscribeRequest) -> dict[str, int | str | tuple[str, ...]]:
    """Return the attributes that MQSO_ALTER may change."""
    changes: dict[str, int | str | tuple[str, ...]] = {}
    if request.user_data:
        changes["USERDATA"] = request.user_data
    if request.expiry != mq.MQEI_UNLIMITED:
        changes["EXPIRY"] = request.expiry
        changes[ENDS] = engine.now_ms + request.expiry * 100
    if request.priority != mq.MQPRI_PRIORITY_AS_PUBLISHED:
        changes["PUBPRTY"] = request.priority
    if request.options & mq.MQSO_SET_CORREL_ID:
        changes["DESTCORL"] = request.correlation_id.hex().upper()
    if request.options & mq.MQSO_SET_IDENTITY_CONTEXT:
        changes["PUBACCT"] = request.accounting_token.hex().upper()
        changes["PUBAPPID"] = request.application_data
    return changes


def date_and_time(now_ms: i64) -> tuple[str, str]:
    date = date_of_day(now_ms // _DAY_MS).decode("ascii")
    time = time_of_day(now_ms % _DAY_MS).decode("ascii")
    return f"{date[:4]}-{date[4:6]}-{date[6:]}", f"{time[:2]}.{time[2:4]}.{time[4:6]}"
