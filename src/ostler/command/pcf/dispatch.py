"""Dispatches PCF commands: bytes in, replies out, one after the other.

Any bytes get an answer, and no exception is raised for a wrong command. Replies are generated lazily, so that an
inquiry about any number of objects needs the memory of a few.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final

from ostler.command.admin.context import NOT_AUTHORIZED, CommandContext, CommandRefused
from ostler.command.pcf import (
    authrec,
    channel_auth,
    channel_control,
    control,
    escape,
    group,
    inquire,
    manager_control,
    objects,
    qsg_scope,
    status,
    structure_recovery,
    structures,
    subscriptions,
    topics,
)
from ostler.command.pcf.command import PcfCommand, PcfRequest, Reply
from ostler.command.pcf.errors import PcfRefused, as_pcf_refusal
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.pcf import UTF_8, Header, Integer, PcfError, PcfMessage, String, decode, encode
from ostler.model.pcf_parameters import CODECS

_FORMAT: Final = "MQADMIN"
_TABLES: Final = (
    inquire.COMMANDS,
    objects.COMMANDS,
    status.COMMANDS,
    group.COMMANDS,
    structures.COMMANDS,
    control.COMMANDS,
    channel_control.COMMANDS,
    authrec.COMMANDS,
    channel_auth.COMMANDS,
    subscriptions.COMMANDS,
    topics.COMMANDS,
    manager_control.COMMANDS,
    structure_recovery.COMMANDS,
    escape.COMMANDS,
)
COMMANDS: Final[dict[int, PcfCommand]] = {command.number: command for table in _TABLES for command in table}


def reply_ccsid(context: CommandContext) -> int:
    """Returns the CCSID of replies: the queue manager's if PCF supports it, else UTF-8."""
    ccsid = context.query(_ccsid)
    return ccsid if ccsid in CODECS else UTF_8


def _ccsid(engine: Engine) -> int:
    return engine.ccsid


def answer(
    context: CommandContext, message: bytes, ccsid: int = UTF_8, big_endian: bool = False, format: str = _FORMAT
) -> Iterator[bytes]:
    """Yields the replies to a command, in the queue manager's CCSID and native encoding; the last has MQCFC_LAST.

    `ccsid`, `big_endian` and `format` come from the message descriptor of the command.
    """
    page = reply_ccsid(context)
    pending: tuple[Header, Reply] | None = None
    sequence = 1
    # A reply is yielded when the next one is there, as MQCFH.Control marks the last one.
    for header, reply in _replies(context, message, ccsid, big_endian, format):
        if pending is not None:
            yield _encode_reply(pending[0], pending[1], page, sequence, mq.MQCFC_NOT_LAST)
            sequence += 1
        pending = (header, reply)
    assert pending is not None
    yield _encode_reply(pending[0], pending[1], page, sequence, mq.MQCFC_LAST)


def _encode_reply(header: Header, reply: Reply, page: int, sequence: int, control: int) -> bytes:
    head = Header(header.type, header.command, header.completion, header.reason, header.version, sequence, control)
    return encode(head, reply, page)


def _replies(
    context: CommandContext, message: bytes, ccsid: int, big_endian: bool, format: str
) -> Iterator[tuple[Header, Reply]]:
    """Yields the headers and parameters of the replies; at least one."""
    head = _header_of(message, big_endian)
    try:
        if format != _FORMAT:
            raise PcfRefused(mq.MQRCCF_MD_FORMAT_ERROR)
        decoded = decode(message, ccsid, big_endian)
        head = replace(head, command=_answered_command(decoded))
        decoded, scope = qsg_scope.split_scope(decoded)
        if scope:
            yield from qsg_scope.run_scoped(context, head, decoded, scope, partial(_run_here, context, head))
        else:
            yield from _run_here(context, head, decoded)
    except Exception as error:
        yield _failure(head, error)


def _run_here(context: CommandContext, head: Header, message: PcfMessage) -> Iterator[tuple[Header, Reply]]:
    """Yields the replies of this queue manager, with that of a failure; at least one."""
    found = False
    try:
        for reply in run(context, message):
            found = True
            yield head, reply
        if not found:
            yield head, []
    except Exception as error:
        yield _failure(head, error)


def _failure(head: Header, error: Exception) -> tuple[Header, Reply]:
    """Returns the reply that reports why a command failed."""
    if isinstance(error, PcfRefused):
        return _failed(head, error.reason), error.details
    if isinstance(error, PcfError):
        return _failed(head, error.reason), []
    if isinstance(error, (MQError, CommandRefused)):
        return _failed(head, as_pcf_refusal(error).reason), []
    # A bug in a handler must not end the command server.
    detail = Integer(mq.MQIACF_ERROR_ID, mq.MQRCCF_COMMAND_FAILED)
    return _failed(head, mq.MQRC_UNEXPECTED_ERROR), [detail]


def run(context: CommandContext, message: PcfMessage) -> Iterator[Reply]:
    """Runs a command; yields the parameters of its replies. Raises its refusal."""
    header = message.header
    if header.type not in (mq.MQCFT_COMMAND, mq.MQCFT_COMMAND_XR):
        raise PcfRefused(mq.MQRCCF_CFH_TYPE_ERROR)
    if header.sequence_number != 1:
        raise PcfRefused(mq.MQRCCF_CFH_MSG_SEQ_NUMBER_ERR)
    if header.control != mq.MQCFC_LAST:
        raise PcfRefused(mq.MQRCCF_CFH_CONTROL_ERROR)
    command = COMMANDS.get(header.command)
    if command is None:
        raise PcfRefused(mq.MQRCCF_CFH_COMMAND_ERROR)
    try:
        yield from command.run(context, PcfRequest(command, message))
    except CommandRefused as refusal:
        if refusal.number == NOT_AUTHORIZED:
            context.write_not_authorized_event(command.number)
        raise
    if command.number != mq.MQCMD_ESCAPE:  # the command inside writes its own event
        context.write_command_event(command.number, command.is_inquiry, "", message.parameters)


def _answered_command(message: PcfMessage) -> int:
    """Returns the MQCMD number in the replies: for Escape that of the MQSC command inside."""
    if message.header.command == mq.MQCMD_ESCAPE:
        for item in message.parameters:
            if isinstance(item, String) and item.parameter == mq.MQCACF_ESCAPE_TEXT:
                return escape.command_of(item.value)
    return message.header.command


def _header_of(message: bytes, big_endian: bool) -> Header:
    """Returns the header of the replies, from as much of the command's header as can be read."""
    command, version = mq.MQCMD_NONE, mq.MQCFH_VERSION_1
    if len(message) >= mq.MQCFH_STRUC_LENGTH:
        _, _, given, command = struct.unpack_from(">4i" if big_endian else "<4i", message)
        version = given if given in (1, 2, 3) else mq.MQCFH_VERSION_1
    return Header(mq.MQCFT_RESPONSE, command, version=version)


def _failed(head: Header, reason: int) -> Header:
    return replace(head, completion=mq.MQCC_FAILED, reason=reason)
