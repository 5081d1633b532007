"""MQSUB and MQSUBRQ: making subscriptions, resuming and altering them, and asking for what was retained."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine import authority, statistics, subscriptions
from ostler.engine.connection import QUEUE, SUBSCRIPTION, Connection, Handle
from ostler.engine.core import Engine
from ostler.engine.message import NULL_ID
from ostler.engine.objects import change, create_dynamic, define, delete_queue
from ostler.engine.open import open_managed
from ostler.engine.open_topic import check_enabled, named_topic, require_on_topic
from ostler.engine.publishing import send_retained
from ostler.engine.queue import Queue
from ostler.engine.selector import compile_selector
from ostler.engine.states import check_state
from ostler.engine.subscription import GROUPED, Subscription
from ostler.engine.subscription_ends import MANAGED_DURABLE, MANAGED_NON_DURABLE
from ostler.engine.timestamps import date_of_day, time_of_day
from ostler.engine.topic_settings import TopicSettings
from ostler.engine.topic_strings import CharacterPattern
from ostler.model.attributes import ObjectType
from ostler.model.authorities import PUT, RESUME, SUB
from ostler.model.constants import (
    MQDC_MANAGED,
    MQDC_PROVIDED,
    MQEI_UNLIMITED,
    MQOO_ALTERNATE_USER_AUTHORITY,
    MQOO_BROWSE,
    MQOO_FAIL_IF_QUIESCING,
    MQOO_INPUT_AS_Q_DEF,
    MQOO_INQUIRE,
    MQOO_NO_READ_AHEAD,
    MQOO_READ_AHEAD,
    MQOT_Q,
    MQPRI_PRIORITY_AS_PUBLISHED,
    MQRC_ALTER_SUB_ERROR,
    MQRC_DURABILITY_NOT_ALLOWED,
    MQRC_DURABILITY_NOT_ALTERABLE,
    MQRC_EXPIRY_ERROR,
    MQRC_GROUPING_NOT_ALTERABLE,
    MQRC_HANDLE_NOT_AVAILABLE,
    MQRC_HOBJ_ERROR,
    MQRC_IDENTITY_MISMATCH,
    MQRC_INVALID_DESTINATION,
    MQRC_NO_RETAINED_MSG,
    MQRC_NO_SUBSCRIPTION,
    MQRC_OPTIONS_ERROR,
    MQRC_PRIORITY_ERROR,
    MQRC_RETAINED_NOT_DELIVERED,
    MQRC_SELECTOR_NOT_ALTERABLE,
    MQRC_SUB_ALREADY_EXISTS,
    MQRC_SUB_INHIBITED,
    MQRC_SUB_NAME_ERROR,
    MQRC_SUB_USER_DATA_ERROR,
    MQRC_SUBLEVEL_NOT_ALTERABLE,
    MQRC_SUBSCRIPTION_IN_USE,
    MQRC_TOPIC_NOT_ALTERABLE,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRU_PUBLISH_ON_REQUEST,
    MQSO_ALTER,
    MQSO_ALTERNATE_USER_AUTHORITY,
    MQSO_ANY_USERID,
    MQSO_CREATE,
    MQSO_DURABLE,
    MQSO_FAIL_IF_QUIESCING,
    MQSO_FIXED_USERID,
    MQSO_GROUP_SUB,
    MQSO_MANAGED,
    MQSO_NEW_PUBLICATIONS_ONLY,
    MQSO_NO_READ_AHEAD,
    MQSO_PUBLICATIONS_ON_REQUEST,
    MQSO_READ_AHEAD,
    MQSO_RESUME,
    MQSO_SCOPE_QMGR,
    MQSO_SET_CORREL_ID,
    MQSO_SET_IDENTITY_CONTEXT,
    MQSO_WILDCARD_CHAR,
    MQSO_WILDCARD_TOPIC,
    MQSR_ACTION_PUBLICATION,
    MQSRO_FAIL_IF_QUIESCING,
    MQSUB_DURABLE_NO,
    MQSUB_DURABLE_YES,
    MQSUBTYPE_API,
    MQTSCOPE_QMGR,
    MQVU_ANY_USER,
    MQVU_FIXED_USER,
    MQWS_CHAR,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

_ALL_OPTIONS: Final = 0x1C743BFF
_LEVEL_HIGHEST: Final = 9
_TEXT_BYTES_MAX: Final = 10240
_ACTIONS: Final = MQSO_CREATE | MQSO_RESUME | MQSO_ALTER
_DAY_MS: Final = 86_400_000


@final
class SubscribeRequest:
    """What MQSD says, as plain values."""

    def __init__(self, options: i64) -> None:
        self.options: i64 = options
        self.object_name: str = ""
        self.topic_string: str = ""
        self.name: str = ""
        self.user_data: str = ""
        self.selection: str = ""
        self.correlation_id: bytes = NULL_ID
        self.expiry: i64 = MQEI_UNLIMITED  # tenths of a second
        self.priority: i64 = MQPRI_PRIORITY_AS_PUBLISHED
        self.accounting_token: bytes = b""
        self.application_data: str = ""
        self.level: i64 = 1
        self.alternate_user: str = ""
        self.destination: Handle | None = None  # an open queue, unless the subscription is managed


@final
class Subscribed:
    """What came of it: the handles, and what MQSD tells on return."""

    def __init__(self, handle: Handle, destination: Handle | None, subscription: Subscription) -> None:
        self.handle = handle
        self.destination = destination  # of a managed subscription
        self.subscription = subscription
        self.warning: i64 = 0


def subscribe(engine: Engine, connection: Connection, request: SubscribeRequest) -> Subscribed:
    """MQSUB. MQError when it is refused, and then nothing has changed.

    `connection.after_lsn` says when it may be called done.
    """
    options: i64 = request.options
    connection.after_lsn = 0
    check_state(engine, options & MQSO_FAIL_IF_QUIESCING != 0)
    _check_options(request)
    check_enabled(engine)
    if len(connection.handles) + 2 > engine.handles_max:
        raise MQError(MQRC_HANDLE_NOT_AVAILABLE)
    bits: i64 = MQOO_ALTERNATE_USER_AUTHORITY if options & MQSO_ALTERNATE_USER_AUTHORITY else 0
    user = authority.user_of_open(engine, connection, bits, request.alternate_user)
    known = engine.topics.by_name.get(request.name) if request.name else None
    if known is None:
        if not options & MQSO_CREATE:
            raise MQError(MQRC_NO_SUBSCRIPTION, f"There is no subscription {request.name}.")
        return _create(engine, connection, request, user)
    if not options & (MQSO_RESUME | MQSO_ALTER):
        raise MQError(MQRC_SUB_ALREADY_EXISTS, f"There is a subscription {request.name} already.")
    return _resume(engine, connection, request, known, user)


# -- what may be asked -----------------------------------------------------------------------------------------------


def _check_options(request: SubscribeRequest) -> None:
    options: i64 = request.options
    users: i64 = options & (MQSO_ANY_USERID | MQSO_FIXED_USERID)
    schemes: i64 = options & (MQSO_WILDCARD_CHAR | MQSO_WILDCARD_TOPIC)
    ahead: i64 = options & (MQSO_READ_AHEAD | MQSO_NO_READ_AHEAD)
    new_only: bool = options & MQSO_NEW_PUBLICATIONS_ONLY != 0
    if (
        options & ~_ALL_OPTIONS
        or not options & _ACTIONS
        or (options & MQSO_RESUME and options & MQSO_ALTER)
        or (options & MQSO_GROUP_SUB and (options & MQSO_MANAGED or not options & MQSO_SET_CORREL_ID))
        or users & (users - 1)
        or schemes & (schemes - 1)
        or ahead & (ahead - 1)
        or (new_only and (options & MQSO_PUBLICATIONS_ON_REQUEST or not options & MQSO_CREATE))
    ):
        raise MQError(MQRC_OPTIONS_ERROR)
    is_named: bool = request.name != ""
    if not is_named and (options & MQSO_DURABLE or not options & MQSO_CREATE):
        raise MQError(MQRC_SUB_NAME_ERROR, "A durable subscription, and one that is resumed, needs a name.")
    if len(request.name.encode()) > _TEXT_BYTES_MAX or "\0" in request.name:
        raise MQError(MQRC_SUB_NAME_ERROR, f"A name has at most {_TEXT_BYTES_MAX} bytes, and no null characters.")
    if len(request.user_data.encode()) > _TEXT_BYTES_MAX:
        raise MQError(MQRC_SUB_USER_DATA_ERROR, f"The user data has more than {_TEXT_BYTES_MAX} bytes.")
    if request.expiry != MQEI_UNLIMITED and request.expiry <= 0:
        raise MQError(MQRC_EXPIRY_ERROR)
    if not MQPRI_PRIORITY_AS_PUBLISHED <= request.priority <= _LEVEL_HIGHEST or request.priority == -2:
        raise MQError(MQRC_PRIORITY_ERROR)
    if not 0 <= request.level <= _LEVEL_HIGHEST:
        raise MQError(MQRC_OPTIONS_ERROR, "A subscription's level is 0 to 9.")


# -- a new one -------------------------------------------------------------------------------------------------------


def _create(engine: Engine, connection: Connection, request: SubscribeRequest, user: str) -> Subscribed:
    options: i64 = request.options
    topic = named_topic(engine, request.object_name, request.topic_string)
    if options & MQSO_WILDCARD_CHAR:
        CharacterPattern(topic)
    settings = engine.topics.settings_of(topic)
    is_durable: bool = options & MQSO_DURABLE != 0
    if not settings.may_subscribe:
        raise MQError(MQRC_SUB_INHIBITED, f"Nobody may subscribe to {topic[:256]} now.")
    if is_durable and not settings.may_be_durable:
        raise MQError(MQRC_DURABILITY_NOT_ALLOWED, f"Subscriptions to {topic[:256]} must not be durable.")
    require_on_topic(engine, user, topic, SUB)
    if request.selection:
        compile_selector(request.selection)
    managed: Queue | None = None
    if options & MQSO_MANAGED:
        managed = _managed_queue(engine, settings, is_durable, user)
        destination, manager = managed.name, engine.name
    else:
        destination, manager = _provided(engine, request.destination, user)
    try:
        definition = _definition(engine, connection, request, topic, destination, manager)
        subscription = _made(engine, connection, definition, topic)
    except MQError:
        if managed is not None:
            delete_queue(engine, managed)
        raise
    made = _opened(engine, connection, request, subscription, managed)
    if made.destination is not None and managed is not None:
        made.destination.created_dynamic = managed.is_temporary
    if not options & (MQSO_NEW_PUBLICATIONS_ONLY | MQSO_PUBLICATIONS_ON_REQUEST):
        failed = send_retained(engine, subscription)[1]
        if failed != 0:
            made.warning = MQRC_RETAINED_NOT_DELIVERED
    return made


def _managed_queue(engine: Engine, settings: TopicSettings, is_durable: bool, user: str) -> Queue:
    name = settings.durable_model if is_durable else settings.non_durable_model
    model = engine.of_type(ObjectType.QMODEL).get(name)
    if model is None:
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"The model queue {name} for managed queues does not exist.")
    prefix = MANAGED_DURABLE if is_durable else MANAGED_NON_DURABLE
    return create_dynamic(engine, model, f"{prefix}*", user)


def _provided(engine: Engine, handle: Handle | None, user: str) -> tuple[str, str]:
    """The names of the queue that a subscriber brings, which must be one that he may put to."""
    if handle is None or handle.kind != QUEUE or handle.queue is None:
        raise MQError(MQRC_HOBJ_ERROR, "A subscription that is not managed needs the handle of an open queue.")
    if handle.queue.is_temporary and not handle.created_dynamic:
        raise MQError(MQRC_INVALID_DESTINATION, "A temporary queue takes publications only for who has made it.")
    if user:
        authority.require(engine, user, MQOT_Q, handle.object_name or handle.queue.name, PUT)
    if handle.remote_manager:
        return handle.remote_queue, handle.remote_manager
    return handle.queue.name, engine.name


def _definition(
    engine: Engine, connection: Connection, request: SubscribeRequest, topic: str, destination: str, manager: str
) -> Definition:
    """Only what differs from the defaults: there may be very many."""
    options: i64 = request.options
    identifier = engine.new_id()
    attributes: dict[str, int | str | tuple[str, ...]] = {
        "SUBID": identifier.hex().upper(),
        "TOPICSTR": request.topic_string,
        "DEST": destination,
        "DESTQMGR": manager,
        "DESTCLAS": MQDC_MANAGED if options & MQSO_MANAGED else MQDC_PROVIDED,
        "DURABLE": MQSUB_DURABLE_YES if options & MQSO_DURABLE else MQSUB_DURABLE_NO,
        "SUBTYPE": MQSUBTYPE_API,
        "SUBUSER": connection.user,
    }
    if request.object_name:
        attributes["TOPICOBJ"] = request.object_name
        attributes[subscriptions.WHOLE_TOPIC] = topic
    attributes["VARUSER"] = MQVU_ANY_USER if options & MQSO_ANY_USERID else MQVU_FIXED_USER
    if options & MQSO_WILDCARD_CHAR:
        attributes["WSCHEMA"] = MQWS_CHAR
    if options & MQSO_PUBLICATIONS_ON_REQUEST:
        attributes["REQONLY"] = MQRU_PUBLISH_ON_REQUEST
    if options & MQSO_SCOPE_QMGR:
        attributes["SUBSCOPE"] = MQTSCOPE_QMGR
    if options & MQSO_GROUP_SUB:
        attributes[GROUPED] = 1
    if request.selection:
        attributes["SELECTOR"] = request.selection
    if request.level != 1:
        attributes["SUBLEVEL"] = request.level
    if options & MQSO_ALTERNATE_USER_AUTHORITY and request.alternate_user.strip():
        attributes["SUBUSER"] = request.alternate_user.strip()
    attributes.update(_alterable(request))
    day, time = _stamp(engine.now_ms)
    attributes["CRDATE"] = day
    attributes["CRTIME"] = time
    return Definition(ObjectType.SUB, request.name, attributes)


def _alterable(request: SubscribeRequest) -> dict[str, int | str | tuple[str, ...]]:
    """What MQSO_ALTER may change."""
    changes: dict[str, int | str | tuple[str, ...]] = {}
    if request.user_data:
        changes["USERDATA"] = request.user_data
    if request.expiry != MQEI_UNLIMITED:
        changes["EXPIRY"] = request.expiry
    if request.priority != MQPRI_PRIORITY_AS_PUBLISHED:
        changes["PUBPRTY"] = request.priority
    if request.options & MQSO_SET_CORREL_ID:
        changes["DESTCORL"] = request.correlation_id.hex().upper()
    if request.options & MQSO_SET_IDENTITY_CONTEXT:
        changes["PUBACCT"] = request.accounting_token.hex().upper()
        changes["PUBAPPID"] = request.application_data
    return changes


def _stamp(now_ms: i64) -> tuple[str, str]:
    date = date_of_day(now_ms // _DAY_MS).decode("ascii")
    time = time_of_day(now_ms % _DAY_MS).decode("ascii")
    return f"{date[:4]}-{date[4:6]}-{date[6:]}", f"{time[:2]}.{time[2:4]}.{time[4:6]}"


def _made(engine: Engine, connection: Connection, definition: Definition, topic: str) -> Subscription:
    if definition.attributes["DURABLE"] == MQSUB_DURABLE_YES:
        connection.after_lsn = define(engine, definition)
        return engine.topics.by_name[definition.name]
    subscription = Subscription(definition, topic, engine.now_ms)
    engine.topics.add(subscription, engine.now_ms)
    return subscription


def _opened(
    engine: Engine,
    connection: Connection,
    request: SubscribeRequest,
    subscription: Subscription,
    managed: Queue | None,
) -> Subscribed:
    handle = Handle(connection.next_handle, SUBSCRIPTION, subscription.name, 0)
    connection.next_handle += 1
    handle.subscription = subscription
    connection.handles[handle.number] = handle
    subscription.connection = connection.number
    subscription.connection_id = connection.connection_id
    subscription.resumed_ms = engine.now_ms
    statistics.count_open(engine, connection, handle)
    destination: Handle | None = None
    if managed is not None:
        opening: i64 = MQOO_INPUT_AS_Q_DEF | MQOO_BROWSE | MQOO_INQUIRE
        if request.options & MQSO_FAIL_IF_QUIESCING:
            opening |= MQOO_FAIL_IF_QUIESCING
        if request.options & MQSO_READ_AHEAD:
            opening |= MQOO_READ_AHEAD
        if request.options & MQSO_NO_READ_AHEAD:
            opening |= MQOO_NO_READ_AHEAD
        destination = open_managed(engine, connection, managed, opening)
    return Subscribed(handle, destination, subscription)


# -- one that is there -----------------------------------------------------------------------------------------------


def _resume(
    engine: Engine, connection: Connection, request: SubscribeRequest, known: Subscription, user: str
) -> Subscribed:
    options: i64 = request.options
    if known.connection != 0:
        raise MQError(MQRC_SUBSCRIPTION_IN_USE, f"The subscription {known.name} is in use.")
    who = user or connection.user
    if not known.is_for_any_user and not connection.is_privileged and known.user != who:
        raise MQError(MQRC_IDENTITY_MISMATCH, f"The subscription {known.name} belongs to user {known.user}.")
    require_on_topic(engine, user, known.topic, RESUME)
    _check_same(engine, request, known)
    managed = engine.queues.get(known.destination) if known.is_managed else None
    if known.is_managed and managed is None:
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"The queue {known.destination} of {known.name} is gone.")
    if options & MQSO_ALTER:
        _alter(engine, connection, request, known, user)
    elif request.destination is not None and not known.is_managed:
        destination, manager = _provided(engine, request.destination, user)
        if (destination, manager) != (known.destination, known.destination_manager or engine.name):
            raise MQError(MQRC_ALTER_SUB_ERROR, f"{known.name} leads to {known.destination}; MQSO_ALTER changes that.")
    return _opened(engine, connection, request, known, managed)


def _check_same(engine: Engine, request: SubscribeRequest, known: Subscription) -> None:
    """What a subscription was made with and keeps. Topic and selector may be left out."""
    options: i64 = request.options
    if request.object_name or request.topic_string:
        if named_topic(engine, request.object_name, request.topic_string) != known.topic:
            raise MQError(MQRC_TOPIC_NOT_ALTERABLE, f"{known.name} is a subscription to {known.topic[:256]}.")
        is_wild: bool = known.fixed_levels >= 0 or known.is_character_wild
        is_other_scheme: bool = known.is_character_scheme != (options & MQSO_WILDCARD_CHAR != 0)
        if is_wild and is_other_scheme:
            raise MQError(MQRC_TOPIC_NOT_ALTERABLE, f"{known.name} has wildcards of another scheme.")
    if options & MQSO_CREATE and known.is_durable != (options & MQSO_DURABLE != 0):
        raise MQError(MQRC_DURABILITY_NOT_ALTERABLE, f"{known.name} is {'' if known.is_durable else 'not '}durable.")
    if options & MQSO_ALTER:
        if known.is_grouped != (options & MQSO_GROUP_SUB != 0):
            raise MQError(MQRC_GROUPING_NOT_ALTERABLE)
        if request.level != known.level:
            raise MQError(MQRC_SUBLEVEL_NOT_ALTERABLE, f"The level of {known.name} is {known.level}.")
        selector = known.selector
        if request.selection != (selector.text if selector is not None else ""):
            raise MQError(MQRC_SELECTOR_NOT_ALTERABLE, f"The selector of {known.name} stays as it was made.")
        if known.is_managed != (options & MQSO_MANAGED != 0):
            raise MQError(MQRC_ALTER_SUB_ERROR, "A subscription stays managed, or not, as it was made.")


def _alter(engine: Engine, connection: Connection, request: SubscribeRequest, known: Subscription, user: str) -> None:
    changes = _alterable(request)
    if not known.is_managed:
        destination, manager = _provided(engine, request.destination, user)
        changes["DEST"] = destination
        changes["DESTQMGR"] = manager
    attributes = dict(known.definition.attributes)
    attributes.update(changes)
    day, time = _stamp(engine.now_ms)
    attributes["ALTDATE"] = day
    attributes["ALTTIME"] = time
    definition = Definition(ObjectType.SUB, known.name, attributes)
    if known.is_durable:
        connection.after_lsn = change(engine, definition)
    else:
        known.configure(definition)
        engine.topics.version += 1
    if request.expiry != MQEI_UNLIMITED:
        known.ends_ms = engine.now_ms + request.expiry * 100


# -- asking for publications -----------------------------------------------------------------------------------------


def request_publications(engine: Engine, connection: Connection, handle: Handle, action: i64, options: i64) -> int:
    """MQSUBRQ: how many retained publications were sent. MQError with MQRC_NO_RETAINED_MSG when there is none."""
    connection.after_lsn = 0
    check_state(engine, options & MQSRO_FAIL_IF_QUIESCING != 0)
    subscription = handle.subscription
    if subscription is None:
        raise MQError(MQRC_HOBJ_ERROR, "This is not the handle of a subscription.")
    if options & ~MQSRO_FAIL_IF_QUIESCING:
        raise MQError(MQRC_OPTIONS_ERROR)
    if action != MQSR_ACTION_PUBLICATION:
        raise MQError(MQRC_OPTIONS_ERROR, "The only action is MQSR_ACTION_PUBLICATION.")
    if subscription.is_removed:
        raise MQError(MQRC_NO_SUBSCRIPTION, f"The subscription {subscription.name} is gone.")
    sent, failed = send_retained(engine, subscription)
    if sent == 0:
        if failed != 0:
            raise MQError(MQRC_RETAINED_NOT_DELIVERED, f"The destination takes no message now (reason {failed}).")
        raise MQError(MQRC_NO_RETAINED_MSG, f"There is no retained publication for {subscription.topic[:256]}.")
    return sent
