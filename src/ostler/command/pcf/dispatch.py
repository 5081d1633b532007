"""PCF commands answered: bytes in, replies out, one after the other.

Whatever the bytes are, there is an answer, and nothing is raised for a wrong command. Replies are made as they are
asked for, so that an inquiry about any number of objects takes the memory of a few.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ostler.command.admin.context import NOT_AUTHORIZED, CommandContext, CommandRefused
from ostler.command.pcf import (
    authrec,
    channel_auth,
    channel_control,
    control,
    escape,
    inquire,
    manager_control,
    objects,
    status,
    subscriptions,
    topics,
)
from ostler.command.pcf.command import PcfCommand, PcfRequest, Reply
from ostler.command.pcf.errors import PcfRefused, as_pcf_refusal
from ostler.engine.core import Engine
from ostler.model.constants import (
    MQCACF_ESCAPE_TEXT,
    MQCC_FAILED,
    MQCFC_LAST,
    MQCFC_NOT_LAST,
    MQCFH_STRUC_LENGTH,
    MQCFH_VERSION_1,
    MQCFT_COMMAND,
    MQCFT_COMMAND_XR,
    MQCFT_RESPONSE,
    MQCMD_ESCAPE,
    MQCMD_NONE,
    MQIACF_ERROR_ID,
    MQRC_UNEXPECTED_ERROR,
    MQRCCF_CFH_COMMAND_ERROR,
    MQRCCF_CFH_CONTROL_ERROR,
    MQRCCF_CFH_MSG_SEQ_NUMBER_ERR,
    MQRCCF_CFH_TYPE_ERROR,
    MQRCCF_COMMAND_FAILED,
    MQRCCF_MD_FORMAT_ERROR,
)
from ostler.model.errors import MQError
from ostler.model.pcf import UTF_8, Header, Integer, PcfError, PcfMessage, String, decode, encode
from ostler.model.pcf_parameters import CODECS

_FORMAT: Final = "MQADMIN"
_TABLES: Final = (
    inquire.COMMANDS,
    objects.COMMANDS,
    status.COMMANDS,
    control.COMMANDS,
    channel_control.COMMANDS,
    authrec.COMMANDS,
    channel_auth.COMMANDS,
    subscriptions.COMMANDS,
    topics.COMMANDS,
    manager_control.COMMANDS,
    escape.COMMANDS,
)
COMMANDS: Final[dict[int, PcfCommand]] = {command.number: command for table in _TABLES for command in table}


def reply_ccsid(context: CommandContext) -> int:
    """The code page of replies: the queue manager's, where PCF is written in it, and else UTF-8."""
    ccsid = context.query(_ccsid)
    return ccsid if ccsid in CODECS else UTF_8


def _ccsid(engine: Engine) -> int:
    return engine.ccsid


def answer(
    context: CommandContext, message: bytes, ccsid: int = UTF_8, big_endian: bool = False, format: str = _FORMAT
) -> Iterator[bytes]:
    """The replies to a command, in the queue manager's code page and native encoding; the last one says that it is.

    `ccsid`, `big_endian` and `format` are what the descriptor says of the command.
    """
    page = reply_ccsid(context)
    pending: tuple[Header, Reply] | None = None
    sequence = 1
    # A reply is sent when the next one is there: only then it is known whether it is the last.
    for header, reply in _replies(context, message, ccsid, big_endian, format):
        if pending is not None:
            yield _encoded(pending[0], pending[1], page, sequence, MQCFC_NOT_LAST)
            sequence += 1
        pending = (header, reply)
    assert pending is not None
    yield _encoded(pending[0], pending[1], page, sequence, MQCFC_LAST)


def _encoded(header: Header, reply: Reply, page: int, sequence: int, control: int) -> bytes:
    head = Header(header.type, header.command, header.completion, header.reason, header.version, sequence, control)
    return encode(head, reply, page)


def _replies(
    context: CommandContext, message: bytes, ccsid: int, big_endian: bool, format: str
) -> Iterator[tuple[Header, Reply]]:
    """The headers and parameters of the replies; at least one."""
    head = _header_of(message, big_endian)
    try:
        if format != _FORMAT:
            raise PcfRefused(MQRCCF_MD_FORMAT_ERROR)
        decoded = decode(message, ccsid, big_endian)
        head = replace(head, command=_answered_command(decoded))
        found = False
        for reply in run(context, decoded):
            found = True
            yield head, reply
        if not found:
            yield head, []
    except PcfRefused as refusal:
        yield _failed(head, refusal.reason), refusal.details
    except PcfError as error:
        yield _failed(head, error.reason), []
    except (MQError, CommandRefused) as error:
        yield _failed(head, as_pcf_refusal(error).reason), []
    except Exception:
        # What nobody has thought of is the queue manager's fault; it must not end the command server.
        detail = Integer(MQIACF_ERROR_ID, MQRCCF_COMMAND_FAILED)
        yield _failed(head, MQRC_UNEXPECTED_ERROR), [detail]


def run(context: CommandContext, message: PcfMessage) -> Iterator[Reply]:
    """Runs a command; yields the parameters of its replies. Raises its refusal."""
    header = message.header
    if header.type not in (MQCFT_COMMAND, MQCFT_COMMAND_XR):
        raise PcfRefused(MQRCCF_CFH_TYPE_ERROR)
    if header.sequence_number != 1:
        raise PcfRefused(MQRCCF_CFH_MSG_SEQ_NUMBER_ERR)
    if header.control != MQCFC_LAST:
        raise PcfRefused(MQRCCF_CFH_CONTROL_ERROR)
    command = COMMANDS.get(header.command)
    if command is None:
        raise PcfRefused(MQRCCF_CFH_COMMAND_ERROR)
    try:
        yield from command.run(context, PcfRequest(command, message))
    except CommandRefused as refusal:
        if refusal.number == NOT_AUTHORIZED:
            context.write_not_authorized_event(command.number)
        raise
    if command.number != MQCMD_ESCAPE:  # what is inside of it is told as the command that it is
        context.write_command_event(command.number, command.is_inquiry, "", message.parameters)


def _answered_command(message: PcfMessage) -> int:
    """The command that the replies are about: of an Escape command it is the one inside."""
    if message.header.command == MQCMD_ESCAPE:
        for item in message.parameters:
            if isinstance(item, String) and item.parameter == MQCACF_ESCAPE_TEXT:
                return escape.command_of(item.value)
    return message.header.command


def _header_of(message: bytes, big_endian: bool) -> Header:
    """The header of the replies, as far as the command's own can be read."""
    command, version = MQCMD_NONE, MQCFH_VERSION_1
    if len(message) >= MQCFH_STRUC_LENGTH:
        _, _, said, command = struct.unpack_from(">4i" if big_endian else "<4i", message)
        version = said if said in (1, 2, 3) else MQCFH_VERSION_1
    return Header(MQCFT_RESPONSE, command, version=version)


def _failed(head: Header, reason: int) -> Header:
    return replace(head, completion=MQCC_FAILED, reason=reason)
