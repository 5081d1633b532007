"""Inquire and Reset of structures of the coupling facility, of shared message data sets, and of connections to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.permissions import authorize
from ostler.command.admin.structures import (
    change_data_sets,
    control_connections,
    data_set_connections,
    fail_structure,
    require_sharing,
    reset_data_sets,
    status_rows,
)
from ostler.command.mqsc.sharing.shared_data_sets import alter_definitions, option_rows
from ostler.command.pcf.command import NAME_LENGTH, PcfCommand, PcfRequest, Reply, number, numbers, text
from ostler.command.pcf.errors import PcfRefused, as_pcf_refusal
from ostler.command.pcf.inquire import reply_row
from ostler.command.status.structure_rows import data_set_connection_row
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.errors import MQError
from ostler.model.pcf import Integer, String

_STRUCTURE_LENGTH: Final = 12
_KILO: Final = 1024
_TYPES: Final = {
    mq.MQIACF_CF_STATUS_SUMMARY: "SUMMARY",
    mq.MQIACF_CF_STATUS_CONNECT: "CONNECT",
    mq.MQIACF_CF_STATUS_BACKUP: "BACKUP",
    mq.MQIACF_CF_STATUS_SMDS: "SMDS",
}
_STATUSES: Final = {mq.MQCFSTATUS_FAILED: "FAILED", mq.MQCFSTATUS_RECOVERED: "RECOVERED"}
_ACCESSES: Final = {mq.MQCFACCESS_ENABLED: "ENABLED", mq.MQCFACCESS_DISABLED: "DISABLED"}


def _rows(
    request: PcfRequest, kind: ObjectType, attributes: int, rows: list[Mapping[str, Value]], heads: tuple[str, ...]
) -> Iterator[Reply]:
    selection = request.selected(attributes, (kind,))
    found = False
    for row in rows:
        if request.condition is None or request.condition.accepts(kind, row):
            found = True
            yield reply_row(kind, row, selection, heads)
    if not found:
        raise PcfRefused(mq.MQRC_UNKNOWN_OBJECT_NAME)


def _structure_status(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    pattern = request.text(mq.MQCA_CF_STRUC_NAME)
    authorize(context, "DISPLAY", ObjectType.CFSTRUCT, pattern)
    about = _TYPES[request.number(mq.MQIACF_CF_STATUS_TYPE, mq.MQIACF_CF_STATUS_SUMMARY)]
    owner = request.text(mq.MQCACF_CF_SMDS) or "*"
    rows = status_rows(context, pattern, about, owner)
    yield from _rows(request, ObjectType.CFSTATUS, -1, rows, ("CFSTATUS", "TYPE"))


def _data_sets(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    structure = request.text(mq.MQCA_CF_STRUC_NAME)
    authorize(context, "DISPLAY", ObjectType.SMDS, structure)
    rows = option_rows(context, request.text(mq.MQCACF_CF_SMDS), structure)
    yield from _rows(request, ObjectType.SMDS, mq.MQIACF_SMDS_ATTRS, rows, ("SMDS", "CFSTRUCT"))


def _connections(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    structure = request.text(mq.MQCA_CF_STRUC_NAME)
    authorize(context, "DISPLAY", ObjectType.SMDS, structure)
    found = data_set_connections(context, structure, request.text(mq.MQCACF_CF_SMDSCONN))
    rows = [data_set_connection_row(each) for each in found]
    yield from _rows(request, ObjectType.SMDSCONN, -1, rows, ("SMDSCONN", "CFSTRUCT"))


def _control(verb: str, context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    structure = request.text(mq.MQCA_CF_STRUC_NAME)
    authorize(context, verb, ObjectType.SMDS, structure)
    control_connections(context, structure, request.text(mq.MQCACF_CF_SMDSCONN), verb == "START")
    yield []


def _change(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    structure, owner = request.text(mq.MQCA_CF_STRUC_NAME), request.text(mq.MQCACF_CF_SMDS)
    authorize(context, "ALTER", ObjectType.SMDS, structure)
    given = request.given(ObjectType.SMDS, "", False)
    if context.sharing() is None:
        alter_definitions(context, structure, owner, given)
    else:
        change_data_sets(context, structure, owner, given)
    yield []


def _reset_data_set(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    structure, owner = request.text(mq.MQCA_CF_STRUC_NAME), request.text(mq.MQCACF_CF_SMDS)
    authorize(context, "RESET", ObjectType.SMDS, structure)
    status = _STATUSES.get(request.number(mq.MQIACF_CF_STRUC_STATUS, -1), "")
    access = _ACCESSES.get(request.number(mq.MQIACF_CF_STRUC_ACCESS, -1), "")
    if not status and not access:
        raise PcfRefused(mq.MQRCCF_PARM_MISSING)
    reset_data_sets(context, structure, owner, status, access)
    yield []


def _reset_structure(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    name = request.text(mq.MQCA_CF_STRUC_NAME)
    authorize(context, "RESET", ObjectType.CFSTRUCT, name)
    try:
        fail_structure(context, name)
    except (MQError, CommandRefused) as error:
        raise as_pcf_refusal(error) from None
    yield []


def _usage(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    """Returns what DISPLAY USAGE TYPE(SMDS) shows, a reply for each structure."""
    authorize(context, "DISPLAY", ObjectType.QMGR, "")
    usages = require_sharing(context).usage()
    if not usages:
        yield [
            Integer(mq.MQIACF_USAGE_TYPE, mq.MQIACF_USAGE_SMDS),
            Integer(mq.MQIACF_SMDS_STATUS, mq.MQUSAGE_SMDS_NO_DATA),
        ]
    for each in usages:
        figures = {
            mq.MQIACF_USAGE_TYPE: mq.MQIACF_USAGE_SMDS,
            mq.MQIACF_SMDS_STATUS: mq.MQUSAGE_SMDS_AVAILABLE,
            mq.MQIACF_USAGE_OFFLOAD_MSGS: each.messages,
            mq.MQIACF_USAGE_TOTAL_BLOCKS: each.total_blocks,
            mq.MQIACF_USAGE_DATA_BLOCKS: each.data_blocks,
            mq.MQIACF_USAGE_USED_BLOCKS: each.used_blocks,
            mq.MQIACF_USAGE_USED_RATE: each.used_percent,
            mq.MQIACF_USAGE_BLOCK_SIZE: each.block_bytes // _KILO,
            mq.MQIACF_USAGE_TOTAL_BUFFERS: each.buffers,
            mq.MQIACF_USAGE_INUSE_BUFFERS: each.in_use,
            mq.MQIACF_USAGE_SAVED_BUFFERS: each.saved,
            mq.MQIACF_USAGE_EMPTY_BUFFERS: each.empty,
            mq.MQIACF_USAGE_READS_SAVED: each.reads_saved_percent,
            mq.MQIACF_USAGE_LOWEST_FREE: each.lowest_free,
            mq.MQIACF_USAGE_WAIT_RATE: each.wait_percent,
        }
        name = String(mq.MQCA_CF_STRUC_NAME, each.structure.ljust(_STRUCTURE_LENGTH))
        yield [name, *(Integer(parameter, value) for parameter, value in figures.items())]


_STRUCTURE: Final = text("MQCA_CF_STRUC_NAME", _STRUCTURE_LENGTH, required=True)
_DATA_SET: Final = text("MQCACF_CF_SMDS", NAME_LENGTH, required=True)
_CONNECTION: Final = text("MQCACF_CF_SMDSCONN", NAME_LENGTH, required=True)
_TYPE_NAMES: Final = (
    "MQIACF_CF_STATUS_SUMMARY",
    "MQIACF_CF_STATUS_CONNECT",
    "MQIACF_CF_STATUS_BACKUP",
    "MQIACF_CF_STATUS_SMDS",
)
COMMANDS: Final = (
    PcfCommand(
        "MQCMD_INQUIRE_CF_STRUC_STATUS",
        _structure_status,
        (_STRUCTURE, number("MQIACF_CF_STATUS_TYPE", *_TYPE_NAMES), text("MQCACF_CF_SMDS", NAME_LENGTH)),
        filtered=(ObjectType.CFSTATUS,),
    ),
    PcfCommand(
        "MQCMD_INQUIRE_SMDS",
        _data_sets,
        (_DATA_SET, _STRUCTURE, numbers("MQIACF_SMDS_ATTRS")),
        filtered=(ObjectType.SMDS,),
        ordered=False,
    ),
    PcfCommand("MQCMD_CHANGE_SMDS", _change, (_DATA_SET, _STRUCTURE), settable=(ObjectType.SMDS,), ordered=False),
    PcfCommand(
        "MQCMD_RESET_SMDS",
        _reset_data_set,
        (
            _DATA_SET,
            _STRUCTURE,
            number("MQIACF_CF_STRUC_ACCESS", "MQCFACCESS_ENABLED", "MQCFACCESS_DISABLED"),
            number("MQIACF_CF_STRUC_STATUS", "MQCFSTATUS_FAILED", "MQCFSTATUS_RECOVERED"),
        ),
        ordered=False,
    ),
    PcfCommand("MQCMD_START_SMDSCONN", partial(_control, "START"), (_CONNECTION, _STRUCTURE), ordered=False),
    PcfCommand("MQCMD_STOP_SMDSCONN", partial(_control, "STOP"), (_CONNECTION, _STRUCTURE), ordered=False),
    PcfCommand(
        "MQCMD_INQUIRE_SMDSCONN",
        _connections,
        (_CONNECTION, _STRUCTURE),
        filtered=(ObjectType.SMDSCONN,),
        ordered=False,
    ),
    PcfCommand("MQCMD_RESET_CF_STRUC", _reset_structure, (_STRUCTURE, number("MQIACF_ACTION", "MQACT_FAIL"))),
    PcfCommand("MQCMD_INQUIRE_USAGE", _usage, (number("MQIACF_USAGE_TYPE", "MQIACF_USAGE_SMDS", required=True),)),
)
