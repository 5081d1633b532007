"""PCF commands answered: bytes in, replies out, one after the other.

Whatever the bytes are, there is an answer, and nothing is raised for a wrong command. Replies are made as they are
asked for, so that an inquiry about any number of objects takes the memory of a few.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ostler.command.admin.context import NOT_AUTHORIZED, CommandRefused, Target
from ostler.command.pcf import authrec as pcf_authorities
from ostler.command.pcf import changes as pcf_changes
from ostler.command.pcf import channel_auth as pcf_channel_rules
from ostler.command.pcf import control as pcf_control
from ostler.command.pcf import escape as pcf_escape
from ostler.command.pcf import inquire as pcf_inquire
from ostler.command.pcf import manager as pcf_manager
from ostler.command.pcf import status as pcf_status
from ostler.command.pcf import subscriptions as pcf_subscriptions
from ostler.command.pcf import topics as pcf_topics
from ostler.command.pcf.request import Request
from ostler.command.pcf.table import Command, Reply
from ostler.command.pcf.unsupported import PcfRefused, refused
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
    pcf_inquire.COMMANDS,
    pcf_changes.COMMANDS,
    pcf_status.COMMANDS,
    pcf_control.COMMANDS,
    pcf_authorities.COMMANDS,
    pcf_channel_rules.COMMANDS,
    pcf_subscriptions.COMMANDS,
    pcf_topics.COMMANDS,
    pcf_manager.COMMANDS,
    pcf_escape.COMMANDS,
)
COMMANDS: Final[dict[int, Command]] = {command.number: command for table in _TABLES for command in table}


def reply_ccsid(target: Target) -> int:
    """The code page of replies: the queue manager's, where PCF is written in it, and else UTF-8."""
    ccsid = target.look(_ccsid)
    return ccsid if ccsid in CODECS else UTF_8


def _ccsid(engine: Engine) -> int:
    return engine.ccsid


def answer(
    target: Target, message: bytes, ccsid: int = UTF_8, big_endian: bool = False, format: str = _FORMAT
) -> Iterator[bytes]:
    """The replies to a command, in the queue manager's code page and native encoding; the last one says that it is.

    `ccsid`, `big_endian` and `format` are what the descriptor says of the command.
    """
    page = reply_ccsid(target)
    pending: tuple[Header, Reply] | None = None
    sequence = 1
    # A reply is sent when the next one is there: only then it is known whether it is the last.
    for header, reply in _replies(target, message, ccsid, big_endian, format):
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
    target: Target, message: bytes, ccsid: int, big_endian: bool, format: str
) -> Iterator[tuple[Header, Reply]]:
    """The headers and parameters of the replies; at least one."""
    head = _header_of(message, big_endian)
    try:
        if format != _FORMAT:
            raise PcfRefused(MQRCCF_MD_FORMAT_ERROR)
        decoded = decode(message, ccsid, big_endian)
        head = replace(head, command=_answered_command(decoded))
        found = False
        for reply in run(target, decoded):
            found = True
            yield head, reply
        if not found:
            yield head, []
    except PcfRefused as refusal:
        yield _failed(head, refusal.reason), refusal.details
    except PcfError as error:
        yield _failed(head, error.reason), []
    except (MQError, CommandRefused) as error:
        yield _failed(head, refused(error).reason), []
    except Exception:
        # What nobody has thought of is the queue manager's fault; it must not end the command server.
        detail = Integer(MQIACF_ERROR_ID, MQRCCF_COMMAND_FAILED)
        yield _failed(head, MQRC_UNEXPECTED_ERROR), [detail]


def run(target: Target, message: PcfMessage) -> Iterator[Reply]:
    """Do a command: the parameters of its replies. Raises what it is refused with."""
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
        yield from command.run(target, Request(command, message))
    except CommandRefused as refusal:
        if refusal.number == NOT_AUTHORIZED:
            target.tell_refused(command.number)
        raise
    if command.number != MQCMD_ESCAPE:  # what is inside of it is told as the command that it is
        target.tell_command(command.number, command.is_inquiry, "", message.parameters)


def _answered_command(message: PcfMessage) -> int:
    """The command that the replies are about: of an Escape command it is the one inside."""
    if message.header.command == MQCMD_ESCAPE:
        for item in message.parameters:
            if isinstance(item, String) and item.parameter == MQCACF_ESCAPE_TEXT:
                return pcf_escape.command_of(item.value)
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
