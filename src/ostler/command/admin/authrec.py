"""Authority records by their parts: set, delete, list them, and what somebody may do. MQSC, PCF and setmqaut use this.

Whoever changes records needs CHG on the queue manager, whoever looks at them DSP.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model.attributes import ObjectType, Value
from ostler.model.authorities import CHG, CRT, DSP, words_of
from ostler.model.constants import (
    MQ_ENTITY_NAME_LENGTH,
    MQOT_Q,
    MQOT_Q_MGR,
    MQOT_REMOTE_Q_MGR_NAME,
    MQRC_OBJECT_TYPE_ERROR,
    MQRC_UNKNOWN_ENTITY,
    MQRC_UNKNOWN_OBJECT_NAME,
    MQRCCF_AUTH_VALUE_ERROR,
    MQRCCF_ENTITY_NAME_MISSING,
    MQRCCF_PROFILE_NAME_MISSING,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.security.authorities import (
    EVERYBODY,
    GROUP,
    OBJECT_TYPES,
    VALID_AUTHORITIES,
    AuthorityRecords,
    invalid_authorities,
    mask_of_record,
    record,
)
from ostler.security.profiles import CLASS_PROFILE, MANAGER_PROFILE, check_profile, is_generic, matches

ADMINISTRATORS: Final = "mqm"
"""The group whose members may do everything; it needs no records."""

INTERFACE_VERSION: Final = 6
"""The version of MQ's interface to authorization services whose functions are here."""

Row = dict[str, Value]
"""An authority record by the names of its attributes: PROFILE, OBJTYPE, ENTITY, ENTTYPE and AUTHLIST."""

_KINDS: Final[dict[str, tuple[ObjectType, ...]]] = {
    "AUTHINFO": (ObjectType.AUTHINFO,),
    "CHANNEL": (ObjectType.CHANNEL,),
    "CLNTCONN": (ObjectType.CLNTCONN,),
    "COMMINFO": (ObjectType.COMMINFO,),
    "LISTENER": (ObjectType.LISTENER,),
    "NAMELIST": (ObjectType.NAMELIST,),
    "PROCESS": (ObjectType.PROCESS,),
    "QUEUE": (ObjectType.QLOCAL, ObjectType.QALIAS, ObjectType.QREMOTE, ObjectType.QMODEL),
    "SERVICE": (ObjectType.SERVICE,),
    "TOPIC": (ObjectType.TOPIC,),
}


@dataclass(frozen=True)
class Entity:
    """Who has authorities: a user or a group."""

    name: str
    is_group: bool = False


def check_entity(entity: Entity) -> None:
    """Refuse, with MQError, what cannot be the name of a user or a group, whether there is such a one or not."""
    name = entity.name
    if not name.strip():
        raise MQError(MQRCCF_ENTITY_NAME_MISSING, "The name of a user or a group is missing.")
    if name != name.strip() or not name.isprintable() or len(name.encode("utf-8")) > MQ_ENTITY_NAME_LENGTH:
        raise MQError(MQRC_UNKNOWN_ENTITY, f"{name[:64]!r} cannot be the name of a user or a group.")


def check_entity_exists(context: CommandContext, entity: Entity) -> None:
    """Refuse, with MQError, a user or a group that neither the password file nor the operating system knows."""
    check_entity(entity)
    if not context.entity_exists(entity.name, entity.is_group):
        kind = "group" if entity.is_group else "user"
        raise MQError(
            MQRC_UNKNOWN_ENTITY,
            f"There is no {kind} {entity.name} here. ostler users add makes a user, with --groups also its groups; "
            f"SecurityPolicy=UserExternal in qm.ini allows any name.",
        )


def object_type_of(objtype: str) -> int:
    """The MQOT number of a word of OBJTYPE."""
    found = OBJECT_TYPES.get(objtype)
    if found is None:
        raise MQError(MQRC_OBJECT_TYPE_ERROR, f"There are no authorities on objects of type {objtype!r}.")
    return found


# -- changes -----------------------------------------------------------------------------------------------------------


def set_record(
    context: CommandContext, objtype: str, profile: str, entity: str, is_group: bool, add: int, remove: int
) -> None:
    """Change what a user or group may do to the objects of a profile; the record is made when it is not there yet."""
    set_records(context, objtype, profile, (Entity(entity, is_group),), add, remove)


def set_records(
    context: CommandContext, objtype: str, profile: str, entities: Sequence[Entity], add: int, remove: int
) -> None:
    """The same for several entities: for all of them, or for none when something is wrong.

    The two lists must not overlap, as in MQ; only when all authorities are removed, which goes first, some may be
    added again.
    """
    context.authorize(MQOT_Q_MGR, "", CHG)
    object_type = object_type_of(objtype)
    for mask in (add, remove):
        unknown = invalid_authorities(object_type, mask)
        if unknown:
            words = ",".join(words_of(unknown))
            raise MQError(MQRCCF_AUTH_VALUE_ERROR, f"{words} makes no sense for objects of type {objtype}.")
    _check_overlap(object_type, add, remove)
    if not entities:
        raise MQError(MQRCCF_ENTITY_NAME_MISSING, "Say whose authorities are to be changed.")
    for entity in entities:
        if add or not remove:
            check_entity_exists(context, entity)
        else:
            check_entity(entity)  # of a user who is gone, authorities can still be taken away
    context.change(partial(_set, objtype, profile, tuple(entities), add, remove))


def _check_overlap(object_type: int, add: int, remove: int) -> None:
    both = add & remove
    if both and VALID_AUTHORITIES[object_type] & ~remove:
        words = ",".join(words_of(both))
        raise MQError(
            MQRCCF_AUTH_VALUE_ERROR,
            f"{words} cannot be both given and taken away. Give two commands: the first gives, the second takes away.",
        )


def _set(objtype: str, profile: str, entities: tuple[Entity, ...], add: int, remove: int, engine: Engine) -> int:
    object_type = object_type_of(objtype)
    profile = resolve_profile(engine, objtype, profile)
    if profile == CLASS_PROFILE and (add | remove) & ~CRT:
        raise MQError(MQRCCF_AUTH_VALUE_ERROR, f"{CLASS_PROFILE} is for CRT alone.")
    lsn = 0
    for entity in entities:
        # To create is nothing one does to an object that is there: it is kept with the type.
        if (add | remove) & CRT:
            lsn = _apply(engine, object_type, CLASS_PROFILE, entity, add & CRT, remove & CRT)
        if (add | remove) & ~CRT or not add | remove:
            lsn = _apply(engine, object_type, profile, entity, add & ~CRT, remove & ~CRT)
    return lsn


def _apply(engine: Engine, object_type: int, profile: str, entity: Entity, add: int, remove: int) -> int:
    changed = record(object_type, profile, entity.name, entity.is_group, add)
    existing = engine.of_type(ObjectType.AUTHREC).get(changed.name)
    if existing is not None:
        mask = mask_of_record(existing) & ~remove | add
        changed = record(object_type, profile, entity.name, entity.is_group, mask)
    return objects.define(engine, changed, True)


def resolve_profile(engine: Engine, objtype: str, profile: str) -> str:
    """A profile as records have it. Without wildcards it has to be the name of an object. MQError when refused."""
    if objtype == "QMGR" and profile in ("", MANAGER_PROFILE, engine.name):
        return MANAGER_PROFILE
    if not profile:
        raise MQError(MQRCCF_PROFILE_NAME_MISSING, "Say for which objects: the profile is missing.")
    if profile.lower() == CLASS_PROFILE:
        return CLASS_PROFILE
    check_profile(profile)
    if not is_generic(profile) and not _exists(engine, objtype, profile):
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"There is no {objtype} called {profile}.")
    return profile


def _exists(engine: Engine, objtype: str, name: str) -> bool:
    if OBJECT_TYPES[objtype] == MQOT_REMOTE_Q_MGR_NAME:
        return True  # the names of other queue managers are nobody's to check
    if OBJECT_TYPES[objtype] == MQOT_Q and name in engine.queues:
        return True
    return any(name in engine.of_type(kind) for kind in _KINDS.get(objtype, ()))


def delete_record(
    context: CommandContext, objtype: str, profile: str, entity: str, is_group: bool, ignores_missing: bool = False
) -> None:
    """Remove a record, so that a more general one counts."""
    delete_records(context, objtype, profile, (Entity(entity, is_group),), ignores_missing)


def delete_records(
    context: CommandContext, objtype: str, profile: str, entities: Sequence[Entity], ignores_missing: bool = False
) -> None:
    """The same for several entities."""
    context.authorize(MQOT_Q_MGR, "", CHG)
    object_type_of(objtype)
    if not entities:
        raise MQError(MQRCCF_ENTITY_NAME_MISSING, "Say whose records are to be deleted.")
    for entity in entities:
        check_entity(entity)
    context.change(partial(_delete, objtype, profile, tuple(entities), ignores_missing))


def _delete(objtype: str, profile: str, entities: tuple[Entity, ...], ignores_missing: bool, engine: Engine) -> int:
    if objtype == "QMGR" and profile in ("", engine.name):
        profile = MANAGER_PROFILE
    elif profile.lower() == CLASS_PROFILE:
        profile = CLASS_PROFILE
    kept = engine.of_type(ObjectType.AUTHREC)
    keys = [record(OBJECT_TYPES[objtype], profile, each.name, each.is_group, 0).name for each in entities]
    missing = [key for key in keys if key not in kept]
    if missing and not ignores_missing:
        raise MQError(MQRC_UNKNOWN_OBJECT_NAME, f"There is no authority record {missing[0]}.")
    lsn = 0
    for key in keys:
        if key in kept:
            lsn = objects.delete(engine, ObjectType.AUTHREC, key)
    return lsn


# -- questions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecordQuery:
    """Which records are asked for. What is None, or a profile that is empty, is not asked after.

    `match` is PROFILE: the records whose profile matches a name, or that have exactly this one when it is generic;
    EXACT: those that have exactly this profile; MEMBERSHIP: those that count for a user, its own and its groups'.
    """

    profile: str | None = None
    objtype: str | None = None
    entity: Entity | None = None
    match: str = "PROFILE"


def records(context: CommandContext, question: RecordQuery) -> list[Row]:
    """The records asked for, in the order of profile, type of object, and entity."""
    context.authorize(MQOT_Q_MGR, "", DSP)
    entity = question.entity
    groups: tuple[str, ...] = ()
    if entity is not None:
        check_entity(entity)
        if question.match == "MEMBERSHIP" and not entity.is_group:
            groups = (*context.groups_of(entity.name), EVERYBODY)
    object_type = object_type_of(question.objtype) if question.objtype is not None else None
    return context.query(partial(_rows, question, object_type, groups))


def _rows(question: RecordQuery, object_type: int | None, groups: tuple[str, ...], engine: Engine) -> list[Row]:
    found: list[Definition] = []
    for definition in engine.of_type(ObjectType.AUTHREC).values():
        attributes = definition.attributes
        if object_type is not None and attributes.get("OBJTYPE") != object_type:
            continue
        if question.entity is not None and not _is_of(definition, question.entity, groups):
            continue
        if not question.profile or _profile_fits(definition, question, engine.name):
            found.append(definition)
    if question.match == "MEMBERSHIP" and question.profile and not is_generic(question.profile):
        found = _contributing(found, question.profile)
    return [dict(definition.attributes) for definition in sorted(found, key=_order)]


def _order(definition: Definition) -> tuple[str, str, str]:
    attributes = definition.attributes
    return str(attributes["PROFILE"]), definition.name.partition(" ")[0], definition.name


def _is_of(definition: Definition, entity: Entity, groups: tuple[str, ...]) -> bool:
    name = definition.attributes.get("ENTITY")
    is_group = definition.attributes.get("ENTTYPE") == GROUP
    return (name == entity.name and is_group == entity.is_group) or (is_group and name in groups)


def _profile_fits(definition: Definition, question: RecordQuery, manager_name: str) -> bool:
    wanted = question.profile or ""
    profile = str(definition.attributes["PROFILE"])
    is_manager = definition.attributes.get("OBJTYPE") == MQOT_Q_MGR
    if profile == wanted or (is_manager and profile == MANAGER_PROFILE and wanted == manager_name):
        return True
    return question.match != "EXACT" and not is_generic(wanted) and is_generic(profile) and matches(profile, wanted)


def _contributing(found: list[Definition], name: str) -> list[Definition]:
    """Of the records of each entity the one that counts for an object."""
    known = AuthorityRecords()
    for definition in found:
        known.put(definition)
    kept: list[Definition] = []
    for definition in found:
        attributes = definition.attributes
        object_type = attributes["OBJTYPE"]
        assert isinstance(object_type, int)
        is_group = attributes["ENTTYPE"] == GROUP
        counts = known.most_specific(str(attributes["ENTITY"]), is_group, object_type, name)
        if attributes["PROFILE"] == counts:
            kept.append(definition)
    return kept


def entity_authority(context: CommandContext, entity: str, is_group: bool, objtype: str, name: str) -> int:
    """What a user, with all its groups, or a group may do to an object, or has by a generic profile of this name."""
    context.authorize(MQOT_Q_MGR, "", DSP)
    who = Entity(entity, is_group)
    check_entity_exists(context, who)
    object_type = object_type_of(objtype)
    profile = context.query(partial(_profile_asked, objtype, name))
    if (is_group and entity == ADMINISTRATORS) or (not is_group and context.is_administrator(entity)):
        return VALID_AUTHORITIES[object_type] | CRT
    groups = () if is_group else (*context.groups_of(entity), EVERYBODY)
    found = context.query(partial(_of_entities, who, groups))
    if is_generic(profile):
        return _explicit(found, object_type, profile)
    known = AuthorityRecords()
    for definition in found:
        known.put(definition)
    mask = known.of_entity(entity, is_group, object_type, profile)
    for group in groups:
        mask |= known.of_entity(group, True, object_type, profile)
    return mask


def _profile_asked(objtype: str, name: str, engine: Engine) -> str:
    profile = resolve_profile(engine, objtype, name)
    return engine.name if objtype == "QMGR" and profile == MANAGER_PROFILE else profile


def _of_entities(entity: Entity, groups: tuple[str, ...], engine: Engine) -> list[Definition]:
    kept = engine.of_type(ObjectType.AUTHREC).values()
    return [definition for definition in kept if _is_of(definition, entity, groups)]


def _explicit(found: Iterable[Definition], object_type: int, profile: str) -> int:
    mask = 0
    for definition in found:
        attributes = definition.attributes
        if attributes["OBJTYPE"] == object_type and attributes["PROFILE"] == profile:
            mask |= mask_of_record(definition)
    return mask
