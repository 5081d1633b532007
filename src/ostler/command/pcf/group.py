"""Inquire Group: the members of the queue-sharing group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.permissions import authorize
from ostler.command.group.members import STATE_NUMBERS, group_members, group_name, obsolete_messages
from ostler.command.pcf.command import NAME_LENGTH, PcfCommand, PcfRequest, Reply, number
from ostler.command.pcf.values import text_parameter
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.pcf import Integer

_CF_STRUC_NAME_LENGTH: Final = 12


def _inquire_group(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    name = group_name(context)
    for member in group_members(context):
        yield [
            text_parameter(mq.MQCA_QSG_NAME, name, mq.MQ_QSG_NAME_LENGTH),
            text_parameter(mq.MQCA_Q_MGR_NAME, member.name, NAME_LENGTH),
            Integer(mq.MQIACF_Q_MGR_NUMBER, member.number),
            Integer(mq.MQIACF_Q_MGR_STATUS, STATE_NUMBERS[member.state]),
            Integer(mq.MQIA_COMMAND_LEVEL, member.level),
        ]
    if request.number(mq.MQIACF_OBSOLETE_MSGS, mq.MQOM_NO) == mq.MQOM_YES:
        for structure in obsolete_messages(context):
            yield [
                Integer(mq.MQIACF_COMMAND_INFO, mq.MQCMDI_DB2_OBSOLETE_MSGS),
                text_parameter(mq.MQCA_CF_STRUC_NAME, structure, _CF_STRUC_NAME_LENGTH),
            ]


COMMANDS: Final = (
    PcfCommand("MQCMD_INQUIRE_QSG", _inquire_group, (number("MQIACF_OBSOLETE_MSGS", "MQOM_NO", "MQOM_YES"),)),
)
