"""Authority records: set, delete and list them, and the authorities of a user or group. For MQSC, PCF and setmqaut.

Changes need CHG on the queue manager, queries DSP.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.authorities import CHG, CRT, DSP, words_of
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
"""The group whose members have all authorities without any record."""

INTERFACE_VERSION: Final = 6
"""The version of MQ's authorization service interface that DISPLAY AUTHSERV reports (IFVER)."""

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
    """A user or group that has authorities (entity)."""

    name: str
    is_group: bool = False


def check_entity(entity: Entity) -> None:
    """Raises MQError for an invalid name of a user or group. The entity need not exist."""
    name = entity.name
    if not name.strip():
        raise MQError(mq.MQRCCF_ENTITY_NAME_MISSING, "The name of a user or a group is missing.")
    if name != name.strip() or not name.isprintable() or len(name.encode("utf-8")) > mq.MQ_ENTITY_NAME_LENGTH:
        raise MQError(mq.MQRC_UNKNOWN_ENTITY, f"{name[:64]!r} cannot be the name of a user or a group.")


def check_entity_exists(context: CommandContext, entity: Entity) -> None:
    """Raises MQError for a user or group that exists neither in the password file nor in the operating system."""
    check_entity(entity)
    if not context.entity_exists(entity.name, entity.is_group):
        kind = "group" if entity.is_group else "user"
        raise MQError(
            mq.MQRC_UNKNOWN_ENTITY,
            f"There is no {kind} {entity.name} here. ostler users add makes a user, with --groups also its groups; "
            f"SecurityPolicy=UserExternal in qm.ini allows any name.",
        )


def object_type_of(objtype: str) -> int:
    """Returns the MQOT number of a value of OBJTYPE."""
    found = OBJECT_TYPES.get(objtype)
    if found is None:
        raise MQError(mq.MQRC_OBJECT_TYPE_ERROR, f"There are no authorities on objects of type {objtype!r}.")
    return found


# -- changes -----------------------------------------------------------------------------------------------------------


def set_record(
    context: CommandContext, objtype: str, profile: str, entity: str, is_group: bool, add: int, remove: int
) -> None:
    """Changes the authorities of a user or group on the objects of a profile; creates the record if need be."""
    set_records(context, objtype, profile, (Entity(entity, is_group),), add, remove)


def set_records(
    context: CommandContext, objtype: str, profile: str, entities: Sequence[Entity], add: int, remove: int
) -> None:
    """Changes the authorities of several entities: of all of them, or of none if one is wrong.

    `add` and `remove` must not overlap (SET AUTHREC), unless all authorities are removed: removal comes first.
    """
    context.authorize(mq.MQOT_Q_MGR, "", CHG)
    object_type = object_type_of(objtype)
    for mask in (add, remove):
        unknown = invalid_authorities(object_type, mask)
        if unknown:
            words = ",".join(words_of(unknown))
            raise MQError(mq.MQRCCF_AUTH_VALUE_ERROR, f"{words} does not apply to objects of type {objtype}.")
    _check_overlap(object_type, add, remove)
    if not entities:
        raise MQError(mq.MQRCCF_ENTITY_NAME_MISSING, "No user or group is named whose authorities are to be changed.")
    for entity in entities:
        if add or not remove:
            check_entity_exists(context, entity)
        else:
            check_entity(entity)  # the authorities of a user that no longer exists can still be removed
    context.change(partial(_set, objtype, profile, tuple(entities), add, remove))


def _check_overlap(object_type: int, add: int, remove: int) -> None:
    both = add & remove
    if both and VALID_AUTHORITIES[object_type] & ~remove:
        words = ",".join(words_of(both))
        raise MQError(
            mq.MQRCCF_AUTH_VALUE_ERROR,
            f"{words} cannot be both given and taken away. Give two commands: the first gives, the second takes away.",
        )


def _set(objtype: str, profile: str, entities: tuple[Entity, ...], add: int, remove: int, engine: Engine) -> int:
    object_type = object_type_of(objtype)
    profile = resolve_profile(engine, objtype, profile)
    if profile == CLASS_PROFILE and (add | remove) & ~CRT:
        raise MQError(mq.MQRCCF_AUTH_VALUE_ERROR, f"{CLASS_PROFILE} is for CRT alone.")
    lsn = 0
    for entity in entities:
        # CRT is kept with the type of object, as the object does not exist yet.
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
    """Returns a profile as records store it. Raises MQError for one without wildcards that names no object."""
    if objtype == "QMGR" and profile in ("", MANAGER_PROFILE, engine.name):
        return MANAGER_PROFILE
    if not profile:
        raise MQError(mq.MQRCCF_PROFILE_NAME_MISSING, "The profile is missing: it selects the objects.")
    if profile.lower() == CLASS_PROFILE:
        return CLASS_PROFILE
    check_profile(profile)
    if not is_generic(profile) and not _exists(engine, objtype, profile):
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no {objtype} called {profile}.")
    return profile


def _exists(engine: Engine, objtype: str, name: str) -> bool:
    if OBJECT_TYPES[objtype] == mq.MQOT_REMOTE_Q_MGR_NAME:
        return True  # names of other queue managers cannot be checked here
    if OBJECT_TYPES[objtype] == mq.MQOT_Q and name in engine.queues:
        return True
    return any(name in engine.of_type(kind) for kind in _KINDS.get(objtype, ()))


def delete_record(
    context: CommandContext, objtype: str, profile: str, entity: str, is_group: bool, ignores_missing: bool = False
) -> None:
    """Deletes a record, so that a more general one applies."""
    delete_records(context, objtype, profile, (Entity(entity, is_group),), ignores_missing)


def delete_records(
    context: CommandContext, objtype: str, profile: str, entities: Sequence[Entity], ignores_missing: bool = False
) -> None:
    """Deletes the records of several entities."""
    context.authorize(mq.MQOT_Q_MGR, "", CHG)
    object_type_of(objtype)
    if not entities:
        raise MQError(mq.MQRCCF_ENTITY_NAME_MISSING, "No user or group is named whose records are to be deleted.")
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
        raise MQError(mq.MQRC_UNKNOWN_OBJECT_NAME, f"There is no authority record {missing[0]}.")
    lsn = 0
    for key in keys:
        if key in kept:
            lsn = objects.delete(engine, ObjectType.AUTHREC, key)
    return lsn


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecordQuery:
    """Selects authority records. Fields that are None, and an empty profile, select all.

    `match` is PROFILE (records whose profile matches a name, or equals a generic one), EXACT (records with exactly
    this profile) or MEMBERSHIP (records that apply to a user, its own and those of its groups).
    """

    profile: str | None = None
    objtype: str | None = None
    entity: Entity | None = None
    match: str = "PROFILE"


def records(context: CommandContext, selection: RecordQuery) -> list[Row]:
    """Returns the selected records, sorted by profile, type of object and entity."""
    context.authorize(mq.MQOT_Q_MGR, "", DSP)
    entity = selection.entity
    groups: tuple[str, ...] = ()
    if entity is not None:
        check_entity(entity)
        if selection.match == "MEMBERSHIP" and not entity.is_group:
            groups = (*context.groups_of(entity.name), EVERYBODY)
    object_type = object_type_of(selection.objtype) if selection.objtype is not None else None
    return context.query(partial(_rows, selection, object_type, groups))


def _rows(selection: RecordQuery, object_type: int | None, groups: tuple[str, ...], engine: Engine) -> list[Row]:
    found: list[Definition] = []
    for definition in engine.of_type(ObjectType.AUTHREC).values():
        attributes = definition.attributes
        if object_type is not None and attributes.get("OBJTYPE") != object_type:
            continue
        if selection.entity is not None and not _applies_to(definition, selection.entity, groups):
            continue
        if not selection.profile or _profile_matches(definition, selection, engine.name):
            found.append(definition)
    if selection.match == "MEMBERSHIP" and selection.profile and not is_generic(selection.profile):
        found = _contributing(found, selection.profile)
    return [dict(definition.attributes) for definition in sorted(found, key=_order)]


def _order(definition: Definition) -> tuple[str, str, str]:
    attributes = definition.attributes
    return str(attributes["PROFILE"]), definition.name.partition(" ")[0], definition.name


def _applies_to(definition: Definition, entity: Entity, groups: tuple[str, ...]) -> bool:
    name = definition.attributes.get("ENTITY")
    is_group = definition.attributes.get("ENTTYPE") == GROUP
    return (name == entity.name and is_group == entity.is_group) or (is_group and name in groups)


def _profile_matches(definition: Definition, selection: RecordQuery, manager_name: str) -> bool:
    wanted = selection.profile or ""
    profile = str(definition.attributes["PROFILE"])
    is_manager = definition.attributes.get("OBJTYPE") == mq.MQOT_Q_MGR
    if profile == wanted or (is_manager and profile == MANAGER_PROFILE and wanted == manager_name):
        return True
    return selection.match != "EXACT" and not is_generic(wanted) and is_generic(profile) and matches(profile, wanted)


def _contributing(found: list[Definition], name: str) -> list[Definition]:
    """Returns, of the records of each entity, the most specific one for an object."""
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
    """Returns the authorities of a user, with all its groups, or of a group on an object or on a generic profile."""
    context.authorize(mq.MQOT_Q_MGR, "", DSP)
    who = Entity(entity, is_group)
    check_entity_exists(context, who)
    object_type = object_type_of(objtype)
    profile = context.query(partial(_effective_profile, objtype, name))
    if (is_group and entity == ADMINISTRATORS) or (not is_group and context.is_administrator(entity)):
        return VALID_AUTHORITIES[object_type] | CRT
    groups = () if is_group else (*context.groups_of(entity), EVERYBODY)
    found = context.query(partial(_records_of_entities, who, groups))
    if is_generic(profile):
        return _explicit(found, object_type, profile)
    known = AuthorityRecords()
    for definition in found:
        known.put(definition)
    mask = known.of_entity(entity, is_group, object_type, profile)
    for group in groups:
        mask |= known.of_entity(group, True, object_type, profile)
    return mask


def _effective_profile(objtype: str, name: str, engine: Engine) -> str:
    profile = resolve_profile(engine, objtype, name)
    return engine.name if objtype == "QMGR" and profile == MANAGER_PROFILE else profile


def _records_of_entities(entity: Entity, groups: tuple[str, ...], engine: Engine) -> list[Definition]:
    kept = engine.of_type(ObjectType.AUTHREC).values()
    return [definition for definition in kept if _applies_to(definition, entity, groups)]


def _explicit(found: Iterable[Definition], object_type: int, profile: str) -> int:
    mask = 0
    for definition in found:
        attributes = definition.attributes
        if attributes["OBJTYPE"] == object_type and attributes["PROFILE"] == profile:
            mask |= mask_of_record(definition)
    return mask
