"""What MQ refuses of CFSTRUCT definitions (DEFINE CFSTRUCT, ALTER CFSTRUCT)."""

from __future__ import annotations

import re
from typing import Final

from ostler.model import constants as mq
from ostler.model.attributes import Value
from ostler.model.definitions import Definition
from ostler.model.errors import MQError

_ADMIN: Final = "CSQ_ADMIN"
_NAME: Final = re.compile(r"[A-Z][A-Z0-9]{0,11}")
_LEVEL_OFFLOAD: Final = 5
_LEVEL_RECOVER: Final = 3
_OFFLOAD_WORDS: Final = (
    *("OFFLOAD", "OFFLD1SZ", "OFFLD1TH", "OFFLD2SZ", "OFFLD2TH", "OFFLD3SZ", "OFFLD3TH"),
    *("DSGROUP", "DSBLOCK", "DSBUFS", "DSEXPAND"),
)
_SIZES: Final = ("OFFLD1SZ", "OFFLD2SZ", "OFFLD3SZ")
_NEVER_SIZE: Final = "64K"


def check_structure_name(name: str) -> None:
    """Raises MQError for a name that no application structure can have."""
    if name == _ADMIN or not _NAME.fullmatch(name):
        raise MQError(
            mq.MQRCCF_CF_STRUC_ERROR,
            f"{name[:20]} is no name of an application structure: 1 to 12 of A-Z and 0-9, a letter first.",
        )


def with_offload_defaults(definition: Definition, given: dict[str, Value], before: Definition | None) -> Definition:
    """Returns a structure with the values of OFFLOAD that its level has. Raises MQError.

    Below CFLEVEL(5) there is none. A structure that is raised to it keeps to the database unless SMDS is asked for; the
    sizes of OFFLOAD(DB2) are 64K, which means never.
    """
    level = _number(definition, "CFLEVEL")
    attributes = dict(definition.attributes)
    if level < _LEVEL_OFFLOAD:
        wrong = [name for name in _OFFLOAD_WORDS if name in given]
        if wrong:
            raise MQError(mq.MQRCCF_PARM_CONFLICT, f"{wrong[0]} needs CFLEVEL(5), and this is CFLEVEL({level}).")
        attributes["OFFLOAD"] = mq.MQCFOFFLD_NONE
    elif "OFFLOAD" not in given and before is not None and _number(before, "CFLEVEL") < _LEVEL_OFFLOAD:
        attributes["OFFLOAD"] = mq.MQCFOFFLD_DB2
    was_offload = before.attributes.get("OFFLOAD") if before is not None else None
    if attributes["OFFLOAD"] == mq.MQCFOFFLD_DB2 and was_offload != mq.MQCFOFFLD_DB2:
        attributes.update({name: _NEVER_SIZE for name in _SIZES if name not in given})
    return Definition(definition.object_type, definition.name, attributes)


def with_connection_loss(definition: Definition, given: dict[str, Value], before: Definition | None) -> Definition:
    """Returns a structure with the CFCONLOS that its level has. Raises MQError.

    Below CFLEVEL(5) it is TERMINATE, and cannot be changed. A structure that is raised follows its queue managers.
    """
    level = _number(definition, "CFLEVEL")
    attributes = dict(definition.attributes)
    if level < _LEVEL_OFFLOAD:
        if given.get("CFCONLOS", mq.MQCFCONLOS_TERMINATE) != mq.MQCFCONLOS_TERMINATE:
            why = f"CFCONLOS other than TERMINATE needs CFLEVEL(5), and this is CFLEVEL({level})."
            raise MQError(mq.MQRCCF_PARM_CONFLICT, why)
        attributes["CFCONLOS"] = mq.MQCFCONLOS_TERMINATE
    elif "CFCONLOS" not in given and before is not None and _number(before, "CFLEVEL") < _LEVEL_OFFLOAD:
        attributes["CFCONLOS"] = mq.MQCFCONLOS_ASQMGR
    return Definition(definition.object_type, definition.name, attributes)


def check_structure(definition: Definition, before: Definition | None) -> None:
    """Raises MQError for a definition that MQ would refuse. `before`: the one that it replaces."""
    level = _number(definition, "CFLEVEL")
    if before is not None and level < _number(before, "CFLEVEL"):
        raise MQError(
            mq.MQRCCF_ATTR_VALUE_FIXED,
            f"CFLEVEL({level}) is below CFLEVEL({_number(before, 'CFLEVEL')}): a level can be raised, not lowered.",
        )
    if definition.attributes.get("RECOVER") == mq.MQCFR_YES and level < _LEVEL_RECOVER:
        raise MQError(mq.MQRCCF_PARM_CONFLICT, f"RECOVER(YES) needs CFLEVEL(3), and this is CFLEVEL({level}).")
    if definition.attributes.get("OFFLOAD") == mq.MQCFOFFLD_SMDS:
        group = str(definition.attributes.get("DSGROUP", ""))
        if not group.strip():
            raise MQError(mq.MQRCCF_SMDS_REQUIRES_DSGROUP, "OFFLOAD(SMDS) needs DSGROUP, the names of the data sets.")
        if group.count("*") != 1:
            raise MQError(
                mq.MQRCCF_PARM_VALUE_ERROR, f"DSGROUP({group}) needs one asterisk, for the name of the queue manager."
            )


def _number(definition: Definition, name: str) -> int:
    value = definition.attributes.get(name, 0)
    return value if isinstance(value, int) else 0
