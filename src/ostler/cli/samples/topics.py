"""The sample programs for topics: `ostler publish` and `ostler subscribe`, as MQ's amqspub and amqssub."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Final

from ostler.cli.samples.bodies import bodies, fields_of, total_of
from ostler.cli.samples.connection import UsageError, connect
from ostler.cli.samples.output import output_for
from ostler.cli.samples.progress import MessageProgress
from ostler.client.api.subscribe_options import SubscribeOptions
from ostler.client.session.session import GetOptions
from ostler.model import constants as mq
from ostler.model.errors import MQError

_DONE: Final = 0


def publish(arguments: argparse.Namespace) -> int:
    fields = fields_of(arguments)
    batch: int = arguments.batch
    with (
        connect(arguments, arguments.queue_manager) as connection,
        connection.topic(arguments.topic, object_name=arguments.object) as topic,
        MessageProgress(f"publishing to {topic.topic}", total_of(arguments)) as progress,
    ):
        committed = 0
        try:
            for body in bodies(arguments, sys.stdin.buffer):
                topic.publish(body, retain=arguments.retain, syncpoint=batch > 1, **fields)
                progress.advance()
                if batch > 1 and progress.count % batch == 0:
                    connection.commit()
                    committed = progress.count
            if batch > 1:
                connection.commit()
            committed = progress.count
        finally:
            done = committed if batch > 1 else progress.count
            _print_summary(arguments, f"{_messages(done)} published to {topic.topic} of {connection.name}")
    return _DONE


def subscribe(arguments: argparse.Namespace) -> int:
    """Shows publications until enough have arrived, or none in time. One that could not be written is backed out."""
    if arguments.remove and not arguments.name:
        raise UsageError("--remove takes a subscription away that has a --name")
    output = output_for(arguments)
    limit: int | None = arguments.count
    options: GetOptions = {"syncpoint": True, "wait": arguments.wait}
    with (
        connect(arguments, arguments.queue_manager) as connection,
        connection.subscribe(arguments.topic, **_subscribe_options(arguments)) as subscription,
    ):
        _print_summary(arguments, f"subscribed to {subscription.topic} of {connection.name}")
        while limit is None or output.count < limit:
            message = subscription.get(**options)
            if message is None:
                break
            output.show(message)
            output.flush()
            connection.commit()
        if arguments.remove:
            subscription.close(remove=True)
    if limit is not None and output.count < limit:
        raise MQError(mq.MQRC_NO_MSG_AVAILABLE, f"{_messages(output.count)} came of {limit} asked for.")
    return _DONE


def _subscribe_options(arguments: argparse.Namespace) -> SubscribeOptions:
    options: SubscribeOptions = {
        "object_name": arguments.object,
        "wildcards": "characters" if arguments.characters else "levels",
        "new_only": arguments.new_only,
        "user_data": arguments.user_data,
    }
    if arguments.name:
        options["durable"] = True
        options["name"] = arguments.name
    if arguments.selector:
        options["selector"] = arguments.selector
    return options


def _messages(count: int) -> str:
    return f"{count} message" if count == 1 else f"{count} messages"


def _print_summary(arguments: argparse.Namespace, sentence: str) -> None:
    if not arguments.quiet:
        print(sentence, file=sys.stderr, flush=True)


PROGRAMS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {"publish": publish, "subscribe": subscribe}
