"""The sample programs for queues, written with the Python API."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final

from ostler.cli.samples.bodies import bodies, fields_of, total_of
from ostler.cli.samples.connection import UsageError, connect
from ostler.cli.samples.output import Output, output_for, text_of
from ostler.cli.samples.progress import MessageProgress
from ostler.client.api.connection import Connection
from ostler.client.api.dead_letters import as_dead_letter
from ostler.client.api.message import Message
from ostler.client.api.queue import Queue
from ostler.client.session.session import GetOptions
from ostler.model import constants as mq
from ostler.model.errors import MQError

# Messages in a unit of work; the output is flushed before each commit.
_BATCH: Final = 100
_DONE: Final = 0
_REFUSED: Final = 2


def put(arguments: argparse.Namespace) -> int:
    fields = fields_of(arguments)
    batch: int = arguments.batch
    with (
        connect(arguments, arguments.queue_manager) as connection,
        connection.open(arguments.queue, "w") as queue,
        MessageProgress(f"putting on {arguments.queue}", total_of(arguments)) as progress,
    ):
        committed = 0
        try:
            for body in bodies(arguments, sys.stdin.buffer):
                queue.put(body, syncpoint=batch > 1, **fields)
                progress.advance()
                if progress.count % batch == 0:
                    committed = _commit(connection, batch, progress.count)
            committed = _commit(connection, batch, progress.count)
        finally:
            _print_summary(arguments, f"{_messages(committed)} put on {arguments.queue} of {connection.name}")
    return _DONE


def _commit(connection: Connection, batch: int, count: int) -> int:
    if batch > 1:
        connection.commit()
    return count


# -- get and browse ----------------------------------------------------------------------------------------------------


def get(arguments: argparse.Namespace) -> int:
    """Gets messages in units of work: one that could not be written stays on the queue."""
    output = output_for(arguments)
    limit: int | None = None if arguments.all else arguments.count or 1
    with (
        connect(arguments, arguments.queue_manager) as connection,
        connection.open(arguments.queue, "r") as queue,
        MessageProgress(f"getting from {arguments.queue}", limit, not output.is_on_terminal) as progress,
    ):
        committer = _Committer(connection, output)
        for message in _get_messages(queue, arguments, limit, committer):
            output.show(message)
            progress.advance()
        committer.commit()
    if limit is not None and output.count < limit:
        raise MQError(
            mq.MQRC_NO_MSG_AVAILABLE, f"{_messages(output.count)} came of {limit} asked for, from {arguments.queue}."
        )
    return _DONE


class _Committer:
    """Commits gets after the output is flushed."""

    def __init__(self, connection: Connection, output: Output | None = None, target: Connection | None = None) -> None:
        self._connection = connection
        self._output = output
        self._target = target

    def commit(self) -> None:
        if self._output is not None:
            self._output.flush()
        # The target first: a failure in between duplicates messages instead of losing them.
        if self._target is not None and self._target is not self._connection:
            self._target.commit()
        self._connection.commit()


def _get_messages(
    queue: Queue, arguments: argparse.Namespace, limit: int | None, committer: _Committer, batch: int = _BATCH
) -> Iterator[Message]:
    """Yields messages, got in units of work that also end when the queue is empty."""
    options = _get_options(arguments)
    waiting: GetOptions = {**options, "wait": arguments.wait}
    taken = 0
    while limit is None or taken < limit:
        message = queue.get(**options)
        if message is None:
            committer.commit()
            message = queue.get(**waiting) if arguments.wait != 0 else None
        if message is None:
            return
        yield message
        taken += 1
        if taken % batch == 0:
            committer.commit()


def _get_options(arguments: argparse.Namespace) -> GetOptions:
    options: GetOptions = {"syncpoint": True}
    if arguments.match_correl:
        options["correlation_id"] = arguments.match_correl
    if arguments.match_id:
        options["message_id"] = arguments.match_id
    if arguments.selector:
        options["selector"] = arguments.selector
    return options


def browse(arguments: argparse.Namespace) -> int:
    output = output_for(arguments)
    limit: int | None = arguments.count
    options = _get_options(arguments)
    options["syncpoint"] = False
    options["wait"] = arguments.wait
    with (
        connect(arguments, arguments.queue_manager) as connection,
        connection.open(arguments.queue, "b") as queue,
        queue.browse(**options) as browser,
        MessageProgress(f"browsing {arguments.queue}", limit, not output.is_on_terminal) as progress,
    ):
        while limit is None or output.count < limit:
            message = browser.next()
            if message is None:
                break
            output.show(message)
            progress.advance()
            if arguments.wait != 0:
                output.flush()
        output.flush()
    return _DONE


# -- requests and replies ----------------------------------------------------------------------------------------------


def request(arguments: argparse.Namespace) -> int:
    form = "hex" if arguments.hex else "json" if arguments.json else "text"
    output = Output(form, sys.stdout.buffer, arguments.output_dir, arguments.details)
    fields = fields_of(arguments)
    lost = 0
    with (
        connect(arguments, arguments.queue_manager) as connection,
        MessageProgress(f"asking {arguments.queue}", total_of(arguments), not output.is_on_terminal) as progress,
    ):
        for body in bodies(arguments, sys.stdin.buffer):
            try:
                output.show(connection.request(arguments.queue, body, wait=arguments.wait, **fields))
                output.flush()
            except MQError as error:
                if error.reason != mq.MQRC_NO_MSG_AVAILABLE:
                    raise
                lost += 1
                print(f"ostler request: {error}", file=sys.stderr)
            progress.advance()
    _print_summary(arguments, f"{_counted(progress.count, 'request')}, {_counted(output.count, 'reply', 'replies')}")
    return _REFUSED if lost else _DONE


def respond(arguments: argparse.Namespace) -> int:
    answer = _reply_maker(arguments)
    limit: int | None = arguments.count
    handled = silent = 0
    with connect(arguments, arguments.queue_manager) as connection, connection.open(arguments.queue, "r") as queue:
        try:
            while limit is None or handled < limit:
                with connection.transaction():
                    message = queue.get(wait=arguments.wait, syncpoint=True)
                    if message is None:
                        break
                    silent += not _send_reply(connection, message, answer(message))
                handled += 1
        finally:
            unheard = f", {silent} of them without a reply" if silent else ""
            _print_summary(arguments, f"{_counted(handled, 'request')} answered{unheard}")
    return _DONE


def _send_reply(connection: Connection, message: Message, body: bytes | str) -> bool:
    """Puts the reply; returns False if the request wants none or the reply queue is gone."""
    if not message.reply_to:
        return False
    try:
        connection.reply(message, body, syncpoint=True)
    except MQError as error:
        print(f"ostler respond: no reply to {message.reply_to}: {error}", file=sys.stderr)
        return False
    return True


def _reply_maker(arguments: argparse.Namespace) -> Callable[[Message], bytes | str]:
    if arguments.upper:
        return lambda message: text_of(message).upper()
    if arguments.reply is not None:
        text: str = arguments.reply
        return lambda message: text
    if arguments.shell_command is not None:
        command: str = arguments.shell_command
        return lambda message: _reply_of_command(command, message)
    return lambda message: message.body


def _reply_of_command(command: str, message: Message) -> bytes | str:
    """Returns the output of a shell command that reads the message. The request is backed out if it fails."""
    environment = {
        **os.environ,
        "OSTLER_MESSAGE_ID": message.message_id.hex(),
        "OSTLER_CORRELATION_ID": message.correlation_id.hex(),
    }
    done = subprocess.run(command, shell=True, input=message.data, stdout=subprocess.PIPE, env=environment, check=False)
    if done.returncode != 0:
        raise UsageError(f"the command ended with {done.returncode}; the request is on the queue again")
    try:
        return done.stdout.decode()
    except UnicodeDecodeError:
        return done.stdout


# -- forward -----------------------------------------------------------------------------------------------------------


def forward(arguments: argparse.Namespace) -> int:
    """Moves messages in units of work. With two connections, a failure between the commits duplicates messages."""
    limit: int | None = arguments.count
    with ExitStack() as stack:
        source = stack.enter_context(connect(arguments, arguments.queue_manager))
        target, manager = source, arguments.to_manager or ""
        if _has_own_connection(arguments):
            target, manager = stack.enter_context(connect(arguments, arguments.to_manager, "to-")), ""
        origin = stack.enter_context(source.open(arguments.queue, "r"))
        goal = stack.enter_context(target.open(arguments.target, "w", manager=manager, options=mq.MQOO_SET_ALL_CONTEXT))
        progress = stack.enter_context(MessageProgress(f"forwarding to {arguments.target}", limit))
        committer = _Committer(source, target=target)
        for message in _get_messages(origin, arguments, limit, committer, arguments.batch):
            moved = message if arguments.keep_header else as_dead_letter(message).original()
            goal.put(moved, syncpoint=True, options=mq.MQPMO_SET_ALL_CONTEXT)
            progress.advance()
        committer.commit()
        _print_summary(arguments, f"{_messages(progress.count)} forwarded from {arguments.queue} to {arguments.target}")
    return _DONE


def _has_own_connection(arguments: argparse.Namespace) -> bool:
    return bool(arguments.to_connection or arguments.to_channel)


# -- texts -------------------------------------------------------------------------------------------------------------


def _counted(count: int, one: str, several: str = "") -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def _messages(count: int) -> str:
    return f"{count} message" if count == 1 else f"{count} messages"


def _print_summary(arguments: argparse.Namespace, sentence: str) -> None:
    if not arguments.quiet:
        print(sentence, file=sys.stderr)


PROGRAMS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "put": put,
    "get": get,
    "browse": browse,
    "request": request,
    "respond": respond,
    "forward": forward,
}
