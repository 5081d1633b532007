"""Structures of the coupling facility that this member is connected to."""

from __future__ import annotations

from typing import Final, final

from ostler.engine.core import Engine
from ostler.engine.shared.membership import Membership, Structure
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import COMMAND_STRUCTURE, Answer, ConnectAnswer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import ConnectProgram

_LEVEL_DEFAULT: Final = 3  # CFLEVEL
# The lowest CFLEVEL of a structure that holds persistent messages.
PERSISTENT_LEVEL: Final = 3
_RECOVER_YES: Final = 1  # MQCFR_YES
# The lowest CFLEVEL of a structure whose loss a queue manager can survive.
_TOLERATED_LEVEL: Final = 5


def connect_structure(engine: Engine, sharing: Membership, name: str) -> None:
    """Connect to a structure that is defined here, unless that was done. Verbs may follow at once."""
    definition = engine.of_type(ObjectType.CFSTRUCT).get(name)
    if definition is None or not sharing.is_joined:
        return
    structure = sharing.structures.get(name)
    if structure is None:
        structure = Structure(name)
        sharing.structures[name] = structure
    level = definition.attributes.get("CFLEVEL")
    structure.level = level if isinstance(level, int) else _LEVEL_DEFAULT
    structure.is_recoverable = definition.attributes.get("RECOVER") == _RECOVER_YES
    if structure.is_connected or structure.is_connecting:
        return
    structure.is_connecting = True
    structure.status = cf.OK
    # Persistent messages of a structure that another facility had must be recovered before anybody uses it.
    fails: bool = sharing.is_elsewhere and structure.is_recoverable and structure.level >= PERSISTENT_LEVEL
    if fails:
        structure.state = cf.STRUCTURE_STATE_FAILED
    program = ConnectProgram(name, sharing.structure_bytes, structure.level, fails)
    sharing.submit(program, 0, ConnectAnswered(structure))


@final
class ConnectAnswered(Continuation):
    def __init__(self, structure: Structure) -> None:
        self.structure = structure

    def answered(self, answer: Answer) -> None:
        structure = self.structure
        structure.is_connecting = False
        structure.note_usage(answer)
        if isinstance(answer, ConnectAnswer):
            structure.is_connected = True
            structure.state = answer.state
            structure.incarnation = answer.incarnation
        else:
            structure.status = answer.status


def disconnect_all(sharing: Membership) -> None:
    """Note that the link is gone, and with it all connections."""
    for structure in sharing.structures.values():
        structure.is_connected = False
        structure.is_connecting = False


def why_loss_terminates(engine: Engine, sharing: Membership) -> str:
    """Return why the queue manager must end when it loses the facility (CFCONLOS); empty: it goes on without.

    The queue manager's CFCONLOS is about the group as such, and about structures with CFCONLOS(ASQMGR). All structures
    are lost with one link, so the strictest of those that are connected counts.
    """
    if engine.manager.attributes.get("CFCONLOS") != mq.MQCFCONLOS_TOLERATE:
        return "the queue manager has CFCONLOS(TERMINATE)"
    for name in sorted(sharing.structures):
        structure = sharing.structures[name]
        definition = engine.of_type(ObjectType.CFSTRUCT).get(name)
        if name == COMMAND_STRUCTURE or not structure.is_connected or definition is None:
            continue
        if structure.level < _TOLERATED_LEVEL:
            return f"structure {name} has CFLEVEL({structure.level}), which implies CFCONLOS(TERMINATE)"
        if definition.attributes.get("CFCONLOS") == mq.MQCFCONLOS_TERMINATE:
            return f"structure {name} has CFCONLOS(TERMINATE)"
    return ""
