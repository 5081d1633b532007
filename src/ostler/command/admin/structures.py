"""Structures of the coupling facility and their data sets: what MQSC and PCF show of them and do with them.

Programs of the facility are submitted in a turn of the engine, and the command thread waits for the answer.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext, CommandRefused
from ostler.command.admin.objects import matches
from ostler.command.admin.sharing_control import DataSetConnection, SharingControl
from ostler.command.group.changes import change_row
from ostler.command.group.row_keys import data_set_key
from ostler.command.status.structure_rows import (
    Row,
    StructureFacts,
    backup_row,
    connection_row,
    data_set_row,
    summary_row,
)
from ostler.coupling.data_sets.layout import SMDS_REFERENCE
from ostler.engine.core import Engine
from ostler.engine.shared.asking import FacilityQuestion, begin_question
from ostler.engine.shared.membership import reason_of
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, DumpAnswer, MembersAnswer, MemberStatus, StatusAnswer, StructureStatus
from ostler.model.coupling.group_rows import BackupRow, MemberRow
from ostler.model.coupling.programs import DumpProgram, MembersProgram, Program, SetStateProgram, StatusProgram
from ostler.model.coupling.status_rows import EMPTY, NOTFOUND, DataSetOptions, StructureStatusRow, WrongState
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.model.shared_repository import BACKUPS, MEMBERS, STRUCTURE_STATUS, RepositoryUnavailable

ADMIN_STRUCTURE: Final = "CSQ_ADMIN"
NOT_RESET: Final = "AMQ7535E"
NOT_ALTERED: Final = "AMQ7536E"
CIRCULAR_LOGS: Final = "AMQ7507W"
_RESET_LEVEL: Final = 5
_DUMPED_MAX: Final = cf.SLICE_ENTRIES_MAX
_NOT_REACHED: Final = (cf.LINK_LOST, cf.FENCED, cf.NOT_CONNECTED)


# -- the group ---------------------------------------------------------------------------------------------------------


def require_sharing(context: CommandContext) -> SharingControl:
    """Returns the part in a group. Raises MQError with 3212 without one."""
    control = context.sharing()
    if control is None:
        raise MQError(mq.MQRCCF_Q_MGR_NOT_IN_QSG, "This queue manager is in no queue-sharing group.")
    return control


def ask_facility(context: CommandContext, program: Program) -> Answer:
    """Returns the answer of the facility to a program. Raises MQError without a group, or without the facility."""
    begun: list[FacilityQuestion] = []

    def change(engine: Engine) -> int:
        begun.append(begin_question(engine, program))
        return 0

    context.change(change)
    question = begun[-1]
    while not context.query(lambda _: question.is_done):
        context.pause()
    question.check()
    answer = question.answer
    assert answer is not None
    if int(answer.status) in _NOT_REACHED:
        raise MQError(mq.MQRC_CF_NOT_AVAILABLE, "The link to the coupling facility broke.")
    return answer


def repository_failed(error: RepositoryUnavailable) -> MQError:
    return MQError(mq.MQRC_DB2_NOT_AVAILABLE, f"The shared repository cannot be used: {error}.")


def members(context: CommandContext) -> list[MemberStatus]:
    answer = ask_facility(context, MembersProgram())
    return answer.members if isinstance(answer, MembersAnswer) else []


def roll(control: SharingControl) -> dict[str, MemberRow]:
    """Returns the group roll by the names of queue managers."""
    rows = [MemberRow.decode(row.data) for row in control.repository.rows(MEMBERS)]
    return {row.name: row for row in rows}


def structures(context: CommandContext, pattern: str) -> dict[str, Definition]:
    """Returns the definitions of matching structures, by name."""

    def read(engine: Engine) -> dict[str, Definition]:
        return {name: each for name, each in engine.of_type(ObjectType.CFSTRUCT).items() if matches(name, pattern)}

    return dict(sorted(context.query(read).items()))


def structure(context: CommandContext, name: str) -> Definition:
    """Returns the definition of one structure. Raises MQError."""
    found = structures(context, name).get(name)
    if found is None:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no structure {name}.")
    return found


def with_data_sets(context: CommandContext, name: str) -> Definition:
    """Returns the definition of a structure that offloads to data sets. Raises MQError and CommandRefused."""
    found = structure(context, name)
    if not has_data_sets(found):
        raise CommandRefused("AMQ8101E", f"{name} has no shared message data sets: it is not OFFLOAD(SMDS).")
    return found


def has_data_sets(definition: Definition) -> bool:
    return definition.attributes.get("OFFLOAD") == mq.MQCFOFFLD_SMDS


# -- DISPLAY CFSTATUS --------------------------------------------------------------------------------------------------


def status_rows(context: CommandContext, pattern: str, about: str, owner: str = "*") -> list[Row]:
    """Returns the rows of CFSTATUS: `about` is SUMMARY, CONNECT, BACKUP or SMDS. Raises MQError."""
    control = require_sharing(context)
    definitions = structures(context, pattern)
    try:
        if about == "SUMMARY":
            return _summary_rows(context, control, definitions, matches(ADMIN_STRUCTURE, pattern))
        if about == "CONNECT":
            return _connect_rows(context, control, definitions)
        if about == "BACKUP":
            return _backup_rows(context, control, definitions)
        rows: list[Row] = []
        for name, definition in definitions.items():
            if has_data_sets(definition):
                owners = [each for each in data_set_owners(context, control, name) if matches(each, owner)]
                rows += [data_set_row(control.data_set_status(name, each)) for each in owners]
        return rows
    except RepositoryUnavailable as error:
        raise repository_failed(error) from None


def _statuses(context: CommandContext) -> dict[str, StructureStatus] | None:
    """Returns what the facility has, by structure; None while it cannot be reached."""
    try:
        answer = ask_facility(context, StatusProgram())
    except MQError as error:
        if error.reason != mq.MQRC_CF_NOT_AVAILABLE:
            raise
        return None
    return {each.name: each for each in answer.structures} if isinstance(answer, StatusAnswer) else {}


def _summary_rows(
    context: CommandContext, control: SharingControl, definitions: dict[str, Definition], has_admin: bool
) -> list[Row]:
    statuses = _statuses(context)
    times = {row.name: StructureStatusRow.decode(row.data) for row in control.repository.rows(STRUCTURE_STATUS)}
    facts: list[StructureFacts] = []
    for name in definitions:
        status = statuses.get(name) if statuses is not None else None
        use = _offload_use(context, control, status) if status is not None else "NONE"
        facts.append(StructureFacts(name, False, statuses is not None, status, use, times.get(name)))
    if has_admin:
        facts.append(StructureFacts(ADMIN_STRUCTURE, True, statuses is not None, None, "NONE", None))
    return [summary_row(each) for each in sorted(facts, key=lambda each: each.name)]


def _offload_use(context: CommandContext, control: SharingControl, status: StructureStatus) -> str:
    """Returns where bodies are now: NONE, SMDS, DB2 or BOTH. References are looked at only if there are blobs."""
    if status.offloaded == 0:
        return "NONE"
    if not control.repository.blob_ids(status.name):
        return "SMDS"
    found: set[bool] = set()
    program = DumpProgram(status.name)
    program.with_bodies = False
    program.count_max = _DUMPED_MAX
    while True:
        answer = ask_facility(context, program)
        if not isinstance(answer, DumpAnswer):
            break
        found.update(each.entry.reference[0] == SMDS_REFERENCE for each in answer.entries if each.entry.reference)
        if answer.is_end or len(found) == 2:
            break
        program.after_queue = answer.through_queue
        program.after_key = answer.through_key
    if len(found) == 2:
        return "BOTH"
    if not found:
        return "NONE"
    return "SMDS" if True in found else "DB2"


def _connect_rows(context: CommandContext, control: SharingControl, definitions: dict[str, Definition]) -> list[Row]:
    known = members(context)
    statuses = _statuses(context) or {}
    addresses = {name: row.address for name, row in roll(control).items()}
    rows: list[Row] = []
    for name in definitions:
        status = statuses.get(name)
        connected = set(status.members) if status is not None else set()
        for member in known:
            system = control.system_name(addresses.get(member.name, ""))
            rows.append(connection_row(name, member, int(member.number) in connected, system, control))
    return rows


def _backup_rows(context: CommandContext, control: SharingControl, definitions: dict[str, Definition]) -> list[Row]:
    statuses = _statuses(context)
    backups = {row.name: BackupRow.decode(row.data) for row in control.repository.rows(BACKUPS)}
    joined = [member.name for member in members(context) if member.name] if statuses is not None else []
    names = sorted({*roll(control), *joined})
    return [
        backup_row(name, (statuses or {}).get(name), backups.get(name), tuple(names))
        for name, definition in definitions.items()
        if definition.attributes.get("RECOVER") == mq.MQCFR_YES
    ]


# -- structures --------------------------------------------------------------------------------------------------------


def fail_structure(context: CommandContext, name: str) -> None:
    """RESET CFSTRUCT ACTION(FAIL). Raises MQError."""
    control = require_sharing(context)
    level = structure(context, name).attributes.get("CFLEVEL")
    if not isinstance(level, int) or level < _RESET_LEVEL:
        raise MQError(mq.MQRC_WRONG_CF_LEVEL, f"{name} has CFLEVEL({level}), and this needs {_RESET_LEVEL}.")
    answer = ask_facility(context, SetStateProgram(name, 0, cf.STRUCTURE_STATE_FAILED))
    status = int(answer.status)
    if status == cf.WRONG_STATE:
        raise MQError(mq.MQRCCF_CF_STRUC_ALREADY_FAILED, f"The structure {name} has failed already.")
    if status == cf.UNKNOWN_STRUCTURE:
        raise MQError(mq.MQRC_CF_STRUC_ERROR, f"The coupling facility has no structure {name}: nobody has used it.")
    if status != cf.OK:
        raise MQError(int(reason_of(answer.status)), f"The structure {name} cannot be set to FAILED.")
    control.note_structure_failed(name)


def check_alteration(context: CommandContext, name: str, given: dict[str, Value]) -> None:
    """Raises for changes of a structure that its data sets do not allow now (ALTER CFSTRUCT).

    OFFLOAD, OFFLDn, DSBUFS and DSEXPAND may be changed under load. DSGROUP and DSBLOCK may be changed while all data
    sets are EMPTY, or have not been made.
    """
    control = context.sharing()
    definition = structures(context, name).get(name)
    if control is None or definition is None:
        return
    before = definition.attributes
    group = given.get("DSGROUP", before.get("DSGROUP", ""))
    offload = given.get("OFFLOAD", before.get("OFFLOAD"))
    if offload == mq.MQCFOFFLD_SMDS and not group and ("OFFLOAD" in given or "DSGROUP" in given):
        raise MQError(mq.MQRCCF_SMDS_REQUIRES_DSGROUP, "OFFLOAD(SMDS) needs DSGROUP, the names of the data sets.")
    changed = [each for each in ("DSGROUP", "DSBLOCK") if each in given and given[each] != before.get(each)]
    if not changed:
        return
    try:
        statuses = [control.data_set_status(name, owner) for owner in control.data_set_owners(name)]
    except RepositoryUnavailable as error:
        raise repository_failed(error) from None
    busy = [f"{each.owner} {each.status}" for each in statuses if each.status not in (NOTFOUND, EMPTY)]
    if busy:
        raise CommandRefused(
            NOT_ALTERED,
            f"{' and '.join(changed)} of {name} cannot be changed now: data sets are in use ({', '.join(busy)}). Get "
            "their messages, then disable them (RESET SMDS(*) ACCESS(DISABLED)) until they are EMPTY.",
        )


def recovery_warning(context: CommandContext, kind: ObjectType, name: str, given: dict[str, Value]) -> str:
    """Returns a warning about logs that keep nothing for a structure with RECOVER(YES); empty: there is none.

    It comes with DEFINE, and with ALTER of RECOVER.
    """
    control = context.sharing()
    if kind != ObjectType.CFSTRUCT or control is None or given.get("RECOVER") != mq.MQCFR_YES:
        return ""
    try:
        members = control.circular_members()
    except RepositoryUnavailable:
        return ""
    if not members:
        return ""
    return (
        f"The log of {', '.join(members)} is CIRCULAR: messages of {name} may not be recovered when the structure is "
        "lost. Members of queue-sharing groups should have LogType LINEAR."
    )


# -- data sets ---------------------------------------------------------------------------------------------------------


def data_set_owners(context: CommandContext, control: SharingControl, name: str) -> list[str]:
    """Returns the queue managers that have a data set for a structure, or will have one."""
    own = context.query(lambda engine: engine.name)
    return sorted({own, *control.data_set_owners(name), *roll(control)})


def named_owners(context: CommandContext, control: SharingControl, name: str, owner: str) -> list[str]:
    """Returns the owners of a command that names one, or all with an asterisk. Raises MQError."""
    try:
        owners = data_set_owners(context, control, name)
    except RepositoryUnavailable as error:
        raise repository_failed(error) from None
    if owner == "*":
        return owners
    if owner not in owners:
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"{owner} is no queue manager of the group.")
    return [owner]


def data_set_options(context: CommandContext, name: str, owner: str) -> list[DataSetOptions]:
    """Returns the options of data sets: DISPLAY SMDS in a group."""
    control = require_sharing(context)
    owners = named_owners(context, control, name, owner)
    return [control.data_set_options(name, each) or DataSetOptions(name, each) for each in owners]


def change_data_sets(context: CommandContext, name: str, owner: str, given: dict[str, Value]) -> None:
    """ALTER SMDS in a group. Raises MQError and CommandRefused."""
    with_data_sets(context, name)
    control = require_sharing(context)
    group = context.group
    assert group is not None  # who has a part in a group has its definitions
    for each in named_owners(context, control, name, owner):
        change_row(group, data_set_key(name, each), partial(_altered_options, name, each, given))
        control.follow_options(name, each)


def _altered_options(name: str, owner: str, given: dict[str, Value], before: Definition | None) -> Definition:
    options = DataSetOptions(name, owner) if before is None else DataSetOptions.of_definition(before)
    buffers, expand = given.get("DSBUFS"), given.get("DSEXPAND")
    return replace(
        options,
        buffers=buffers if isinstance(buffers, int) else options.buffers,
        expand=expand if isinstance(expand, int) else options.expand,
    ).definition()


def reset_data_sets(context: CommandContext, name: str, owner: str, status: str, access: str) -> None:
    """RESET SMDS. With an asterisk, data sets that cannot have the state are passed over if another one can."""
    with_data_sets(context, name)
    control = require_sharing(context)
    owners = named_owners(context, control, name, owner)
    refusals: list[str] = []
    for each in owners:
        try:
            control.reset_data_set(name, each, status, access)
        except WrongState as problem:
            refusals.append(f"SMDS({each}): {problem}")
        except RepositoryUnavailable as error:
            raise repository_failed(error) from None
    if len(refusals) == len(owners):
        raise CommandRefused(NOT_RESET, f"The data sets of {name} are not reset: {'; '.join(refusals)}.")


def control_connections(context: CommandContext, name: str, owner: str, is_start: bool) -> None:
    """START SMDSCONN and STOP SMDSCONN."""
    with_data_sets(context, name)
    control = require_sharing(context)
    for each in named_owners(context, control, name, owner):
        if is_start:
            control.start_connection(name, each)
        else:
            control.stop_connection(name, each)


def data_set_connections(context: CommandContext, pattern: str, owner: str) -> list[DataSetConnection]:
    """Returns the connections of this queue manager to data sets."""
    control = require_sharing(context)
    found: list[DataSetConnection] = []
    for name, definition in structures(context, pattern).items():
        if not has_data_sets(definition):
            continue
        known = {each.owner: each for each in control.connections(name)}
        try:
            owners = data_set_owners(context, control, name)
        except RepositoryUnavailable:
            owners = sorted(known)
        for each in owners:
            if matches(each, owner):
                closed = DataSetConnection(name, each, "NONE", "CLOSED", "NORMAL", "NORMAL")
                found.append(known.get(each, closed))
    return found
