"""Backup CF Structure and Recover CF Structure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.permissions import authorize
from ostler.command.admin.structure_recovery import (
    EXCLINT_DEFAULT,
    EXCLINT_MAX,
    EXCLINT_MIN,
    back_up_structures,
    recover_structures,
)
from ostler.command.pcf.command import PcfCommand, PcfRequest, Reply, number, text
from ostler.command.pcf.errors import as_pcf_refusal, bad_parameter
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.errors import MQError

_NAME_LENGTH: Final = 12


def _back_up(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = request.text(mq.MQCA_CF_STRUC_NAME).strip()
    authorize(context, "BACKUP", ObjectType.CFSTRUCT, name.rstrip("*"))
    interval = request.number(mq.MQIACF_EXCLUDE_INTERVAL, EXCLINT_DEFAULT)
    if not EXCLINT_MIN <= interval <= EXCLINT_MAX:
        raise bad_parameter(mq.MQRCCF_PARM_CONFLICT, mq.MQIACF_EXCLUDE_INTERVAL)
    try:
        for _ in back_up_structures(context, [name]):
            yield []
    except (MQError, CommandRefused) as error:
        raise as_pcf_refusal(error) from None


def _recover(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = request.text(mq.MQCA_CF_STRUC_NAME).strip()
    authorize(context, "RECOVER", ObjectType.CFSTRUCT, name)
    try:
        recover_structures(context, [name], request.number(mq.MQIACF_PURGE, mq.MQPO_NO) == mq.MQPO_YES)
    except (MQError, CommandRefused) as error:
        raise as_pcf_refusal(error) from None
    yield []


_NAME: Final = text("MQCA_CF_STRUC_NAME", _NAME_LENGTH, required=True)
COMMANDS: Final = (
    PcfCommand(
        "MQCMD_BACKUP_CF_STRUC",
        _back_up,
        (_NAME, number("MQIACF_EXCLUDE_INTERVAL"), text("MQCACF_COMMAND_SCOPE")),
    ),
    PcfCommand(
        "MQCMD_RECOVER_CF_STRUC",
        _recover,
        (_NAME, number("MQIACF_PURGE", "MQPO_NO", "MQPO_YES"), text("MQCACF_COMMAND_SCOPE")),
    ),
)
