"""The options of the data source, parsed and checked. Invalid ones are rejected with a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ostler.client.locate.connect_parameters import TlsSettings
from ostler.model.connection_names import PORT
from ostler.pipeline.errors import PipelineError
from ostler.pipeline.source.topic_options import (
    SubscriptionOptions,
    check_target,
    listed,
    subscriptions_of,
    usual_name,
)

MODEL: Final = "SYSTEM.DURABLE.MODEL.QUEUE"
APPLICATION: Final = "spark"
_NAME_MAX: Final = 48
_PORT_MAX: Final = 65535
_READ_PREFIX: Final = "SPARK.IN."
_WRITE_PREFIX: Final = "SPARK.OUT."
_SUBSCRIPTION_PREFIX: Final = "SPARK.SUB."
_PUBLISH_PREFIX: Final = "SPARK.PUB."
# A publication takes as many messages of a unit of work as it has subscribers, and one more; a page is in one unit.
_PUBLISHED_PAGE_MESSAGES: Final = 100
_TRUE: Final = ("true", "yes", "1")
_FALSE: Final = ("false", "no", "0")

_CONNECTION: Final = (
    "queueManager",
    "host",
    "port",
    "connectionName",
    "channel",
    "ccdt",
    "binding",
    "data",
    "user",
    "password",
    "cipherSpec",
    "keyRepository",
    "certificateLabel",
    "peerName",
    "caFile",
    "certificateFile",
    "keyFile",
    "keyPassword",
    "application",
    "connectTimeoutSeconds",
)
_STAGING: Final = ("stagingQueue", "stagingModelQueue", "pageMessages", "pageBytes", "unitMessages", "unitBytes")
_READ: Final = (
    "queue",
    "queues",
    "path",
    "subscription",
    "topic",
    "wildcards",
    "selector",
    "numPartitions",
    "maxMessagesPerTrigger",
    "maxBytesPerTrigger",
    "pollMilliseconds",
    "startingPosition",
    "deleteAt",
    "failOnDataLoss",
)
_WRITE: Final = ("queue", "path", "topic", "retain", "sinkId", "writeId", "checkpointLocation", "persistent")
# Spark passes these to every source and sink.
_OF_SPARK: Final = ("checkpointlocation", "path", "queryname", "triggerinterval")


@dataclass(frozen=True)
class ConnectOptions:
    """The location of the queue manager, and the user."""

    queue_manager: str
    connection_name: str = ""
    channel: str = ""
    ccdt: str = ""
    binding: str = "client"
    data: str = ""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: TlsSettings | None = None
    application: str = APPLICATION
    timeout_seconds: float = 30.0


@dataclass(frozen=True)
class StagingOptions:
    """The staging queue, and the sizes of a page and a unit of work."""

    queue: str
    model: str = MODEL
    page_messages: int = 500
    page_bytes: int = 1 << 20
    unit_messages: int = 5000
    unit_bytes: int = 8 << 20


@dataclass(frozen=True)
class ReadOptions:
    """The options of a read: queues, or the queues of subscriptions."""

    connect: ConnectOptions
    queues: tuple[str, ...]
    staging: StagingOptions
    subscriptions: tuple[SubscriptionOptions, ...] = ()
    selector: str = ""
    partitions: int = 0
    messages_per_trigger_max: int = 100_000
    bytes_per_trigger_max: int = 0
    poll_seconds: float = 0.25
    deletes_at_commit: bool = False
    fails_on_data_loss: bool = True


@dataclass(frozen=True)
class WriteOptions:
    """The options of a write: a queue, or a topic. `identity` distinguishes the batches of queries; empty when it is
    unknown."""

    connect: ConnectOptions
    queue: str
    staging: StagingOptions
    topic: str = ""
    is_retained: bool = False
    identity: str = ""
    checkpoint: str = ""
    persistent: bool | None = None


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """Parse the options of a read, batch or stream."""
    options = _checked(given, _READ, "read")
    subscriptions = subscriptions_of(options)
    queues = () if subscriptions else _queues(options)
    if subscriptions:
        usual = usual_name(_SUBSCRIPTION_PREFIX, subscriptions[0].name)
    else:
        usual = _READ_PREFIX + queues[0]
    deletes = options.get("deleteat", "trigger").lower()
    if deletes not in ("trigger", "commit"):
        raise PipelineError(f"deleteAt is {deletes!r}; it is 'trigger' or 'commit'.")
    return ReadOptions(
        connect=_connect_options(options),
        queues=queues,
        staging=_staging_options(options, usual),
        subscriptions=subscriptions,
        # The selector of a subscription is part of it.
        selector="" if subscriptions else options.get("selector", ""),
        partitions=_number(options, "numPartitions", 0, 0, 10_000),
        messages_per_trigger_max=_number(options, "maxMessagesPerTrigger", 100_000, 1, 1 << 40),
        bytes_per_trigger_max=_number(options, "maxBytesPerTrigger", 0, 0, 1 << 50),
        poll_seconds=_number(options, "pollMilliseconds", 250, 0, 60_000) / 1000,
        deletes_at_commit=deletes == "commit",
        fails_on_data_loss=_flag(options, "failOnDataLoss", True),
    )


def write_options(given: Mapping[str, str]) -> WriteOptions:
    """Parse the options of a write, batch or stream."""
    options = _checked(given, _WRITE, "write")
    topic = options.get("topic", "")
    queue = options.get("queue") or options.get("path", "")
    if topic and queue:
        raise PipelineError(f"Messages go to queue {queue!r} or are published to topic {topic!r}; give one of them.")
    is_retained = _flag(options, "retain", False)
    if is_retained and not topic:
        raise PipelineError("retain is for publications. Give option topic, or leave retain out.")
    if topic:
        check_target(topic)
        staging = _staging_options(options, usual_name(_PUBLISH_PREFIX, topic), _PUBLISHED_PAGE_MESSAGES)
    else:
        _queue_name(queue, "queue")
        staging = _staging_options(options, _WRITE_PREFIX + queue)
    return WriteOptions(
        connect=_connect_options(options),
        queue=queue,
        staging=staging,
        topic=topic,
        is_retained=is_retained,
        identity=options.get("sinkid") or options.get("writeid") or "",
        checkpoint=options.get("checkpointlocation", ""),
        persistent=_flag(options, "persistent", True) if "persistent" in options else None,
    )


# -- parts -------------------------------------------------------------------------------------------------------------


def _checked(given: Mapping[str, str], known: tuple[str, ...], verb: str) -> dict[str, str]:
    """Return the options by their names in lower case. An unknown one is rejected: it may be a typing error."""
    options = {name.lower(): str(value) for name, value in given.items()}
    names = (*_CONNECTION, *_STAGING, *known)
    allowed = {name.lower() for name in names} | set(_OF_SPARK)
    for name in options:
        if name not in allowed:
            raise PipelineError(f"There is no option {name!r} to {verb} with. There are: {', '.join(sorted(names))}.")
    return options


def _connect_options(options: Mapping[str, str]) -> ConnectOptions:
    host, connection_name, ccdt = options.get("host"), options.get("connectionname", ""), options.get("ccdt", "")
    binding = options.get("binding", "client").lower()
    if binding not in ("client", "local"):
        raise PipelineError(f"binding is {binding!r}; it is 'client', over the network, or 'local', on this machine.")
    if host and connection_name:
        raise PipelineError("Give host and port, or connectionName such as 'host1(1414),host2(1414)'; not both.")
    port = _number(options, "port", PORT, 1, _PORT_MAX)
    if host:
        connection_name = f"{host}({port})"
    if binding == "client" and not connection_name and not ccdt:
        raise PipelineError(
            "Where is the queue manager? Give host and port, connectionName, or ccdt; binding 'local' for one that "
            "runs on this machine."
        )
    if binding == "local" and (connection_name or ccdt):
        raise PipelineError("binding 'local' goes over the queue manager's own socket: leave host and the like out.")
    return ConnectOptions(
        queue_manager=options.get("queuemanager", "" if binding == "client" else "QM1"),
        connection_name=connection_name,
        channel=options.get("channel", ""),
        ccdt=ccdt,
        binding=binding,
        data=options.get("data", ""),
        user=options.get("user"),
        password=options.get("password"),
        tls=_tls(options),
        application=options.get("application", APPLICATION),
        timeout_seconds=_number(options, "connectTimeoutSeconds", 30, 0, 3600),
    )


def _tls(options: Mapping[str, str]) -> TlsSettings | None:
    settings = TlsSettings(
        cipher_spec=options.get("cipherspec", ""),
        key_repository=options.get("keyrepository", ""),
        certificate_label=options.get("certificatelabel", ""),
        peer_name=options.get("peername", ""),
        ca_file=options.get("cafile", ""),
        certificate_file=options.get("certificatefile", ""),
        key_file=options.get("keyfile", ""),
        key_password=options.get("keypassword", ""),
    )
    if settings == TlsSettings():
        return None
    if not settings.cipher_spec and not options.get("ccdt"):
        raise PipelineError("Options of TLS need cipherSpec, such as ANY_TLS12_OR_HIGHER.")
    return settings


def _staging_options(options: Mapping[str, str], usual: str, page_messages: int = 500) -> StagingOptions:
    unit_messages = _number(options, "unitMessages", 5000, 4, 1 << 30)
    return StagingOptions(
        queue=_queue_name(options.get("stagingqueue", usual), "stagingQueue"),
        model=_queue_name(options.get("stagingmodelqueue", MODEL), "stagingModelQueue"),
        # A page is moved in one unit of work.
        page_messages=min(_number(options, "pageMessages", page_messages, 1, 100_000), unit_messages // 4),
        page_bytes=_number(options, "pageBytes", 1 << 20, 1024, 64 << 20),
        unit_messages=unit_messages,
        unit_bytes=_number(options, "unitBytes", 8 << 20, 1024, 1 << 40),
    )


def _queues(options: Mapping[str, str]) -> tuple[str, ...]:
    text = ",".join(options[name] for name in ("queue", "queues", "path") if options.get(name))
    names = listed(text, "queue")
    if not names:
        raise PipelineError(
            "Which queue? Give option queue, or queues with several names and commas between them; or subscription."
        )
    position = options.get("startingposition", "earliest").lower()
    if position != "earliest":
        raise PipelineError(
            f"startingPosition is {position!r}, and a queue has only 'earliest': its messages are there until somebody "
            "takes them. Clear the queue to begin with what comes later."
        )
    return tuple(_queue_name(name, "queue") for name in names)


def _queue_name(name: str, option: str) -> str:
    if not name:
        raise PipelineError(f"Which queue? Give option {option}.")
    if len(name) > _NAME_MAX:
        raise PipelineError(
            f"{option} is {name!r}, of {len(name)} characters; MQ names have up to {_NAME_MAX}. "
            "Give option stagingQueue a shorter one."
            if option == "stagingQueue"
            else f"{option} is {name!r}, of {len(name)} characters; MQ names have up to {_NAME_MAX}."
        )
    return name


def _number(options: Mapping[str, str], name: str, usual: int, least: int, most: int) -> int:
    text = options.get(name.lower())
    if text is None:
        return usual
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise PipelineError(f"{name} is {text!r}; it is a number from {least} to {most}.")
    return value


def _flag(options: Mapping[str, str], name: str, usual: bool) -> bool:
    text = options.get(name.lower())
    if text is None:
        return usual
    if text.lower() not in (*_TRUE, *_FALSE):
        raise PipelineError(f"{name} is {text!r}; it is true or false.")
    return text.lower() in _TRUE
