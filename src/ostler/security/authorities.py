"""Authority records, and the authorities of a user: the union of those of the user and of its groups.

For each of them the most specific matching profile decides alone: a record that grants nothing overrides a more general
one. Every user is a member of the group `nobody`. The authority to create is granted for all objects of a type by the
profile `@class`; granted for the queue manager it applies to all types.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Final, final

from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value
from ostler.model.authorities import (
    ALTUSR,
    BROWSE,
    CHG,
    CLR,
    CONNECT,
    CRT,
    CTRL,
    CTRLX,
    DLT,
    DSP,
    EVERYTHING,
    GET,
    INQ,
    PASSALL,
    PASSID,
    PUB,
    PUT,
    RESUME,
    SET,
    SETALL,
    SETID,
    SUB,
    SYSTEM,
    mask_of,
    words_of,
)
from ostler.model.definitions import Definition
from ostler.security.profiles import (
    CLASS_PROFILE,
    MANAGER_PROFILE,
    ProfilePattern,
    first_qualifier,
    is_generic,
    specificity,
)

EVERYBODY: Final = "nobody"
PRINCIPAL: Final = 1
GROUP: Final = 2
_CACHED_MAX: Final = 10_000

# Values of OBJTYPE.
OBJECT_TYPES: Final[dict[str, int]] = {
    "AUTHINFO": mq.MQOT_AUTH_INFO,
    "CHANNEL": mq.MQOT_CHANNEL,
    "CLNTCONN": mq.MQOT_CLNTCONN_CHANNEL,
    "COMMINFO": mq.MQOT_COMM_INFO,
    "LISTENER": mq.MQOT_LISTENER,
    "NAMELIST": mq.MQOT_NAMELIST,
    "PROCESS": mq.MQOT_PROCESS,
    "QUEUE": mq.MQOT_Q,
    "QMGR": mq.MQOT_Q_MGR,
    "RQMNAME": mq.MQOT_REMOTE_Q_MGR_NAME,
    "SERVICE": mq.MQOT_SERVICE,
    "TOPIC": mq.MQOT_TOPIC,
}
_WORDS: Final[dict[int, str]] = {number: word for word, number in OBJECT_TYPES.items()}

_OBJECT: Final = CHG | DLT | DSP
# The valid authorities of each object type, as for setmqaut. CRT applies to the type as such, and may be given with
# all.
VALID_AUTHORITIES: Final[dict[int, int]] = {
    mq.MQOT_AUTH_INFO: _OBJECT | INQ,
    mq.MQOT_CHANNEL: _OBJECT | CTRL | CTRLX,
    mq.MQOT_CLNTCONN_CHANNEL: _OBJECT,
    mq.MQOT_COMM_INFO: _OBJECT,
    mq.MQOT_LISTENER: _OBJECT | CTRL,
    mq.MQOT_NAMELIST: _OBJECT | INQ,
    mq.MQOT_PROCESS: _OBJECT | INQ | SET,
    mq.MQOT_Q: _OBJECT | CLR | BROWSE | GET | INQ | PASSALL | PASSID | PUT | SET | SETALL | SETID,
    mq.MQOT_Q_MGR: _OBJECT | ALTUSR | CONNECT | CTRL | INQ | SET | SETALL | SETID | SYSTEM,
    mq.MQOT_REMOTE_Q_MGR_NAME: PUT,
    mq.MQOT_SERVICE: _OBJECT | CTRL,
    mq.MQOT_TOPIC: _OBJECT | CLR | CTRL | PASSALL | PASSID | PUB | RESUME | SETALL | SETID | SUB,
}
ALL_ADMINISTRATION: Final = CHG | CLR | CTRL | CTRLX | DLT | DSP
ALL_CALLS: Final = (
    ALTUSR | BROWSE | CONNECT | GET | INQ | PASSALL | PASSID | PUB | PUT | RESUME | SET | SETALL | SETID | SUB
)
# Composite authorities; each means those that are valid for the object type.
COMPOSITES: Final[dict[str, int]] = {
    "ALL": EVERYTHING & ~CRT,
    "ALLADM": ALL_ADMINISTRATION,
    "ALLMQI": ALL_CALLS,
    "NONE": 0,
}


def expand(words: Sequence[str], object_type: int) -> int:
    """Return the bits of AUTHADD words for an object type. Raises KeyError for an unknown word.

    The result may include authorities that are invalid for the type; see `invalid_authorities`.
    """
    mask = 0
    for word in words:
        composite = COMPOSITES.get(word)
        mask |= composite & VALID_AUTHORITIES[object_type] if composite is not None else mask_of((word,))
    return mask


def invalid_authorities(object_type: int, mask: int) -> int:
    """Return the authorities that are invalid for an object type."""
    return mask & ~(VALID_AUTHORITIES[object_type] | CRT)


def record_key(attributes: Mapping[str, Value]) -> str:
    """Return the key of a record: object type, profile and entity."""
    entity_type = "GROUP" if attributes.get("ENTTYPE") == GROUP else "PRINCIPAL"
    word = _WORDS[_number(attributes, "OBJTYPE")]
    return f"{word} {_text(attributes, 'PROFILE')} {entity_type} {_text(attributes, 'ENTITY')}"


def record(object_type: int, profile: str, entity: str, is_group: bool, mask: int) -> Definition:
    """Return an authority record as a definition, without any checks."""
    words: tuple[str, ...] = words_of(mask)
    attributes: dict[str, int | str | tuple[str, ...]] = {
        "PROFILE": profile,
        "OBJTYPE": object_type,
        "ENTITY": entity,
        "ENTTYPE": GROUP if is_group else PRINCIPAL,
        "AUTHLIST": words if words else ("NONE",),
    }
    return Definition(ObjectType.AUTHREC, record_key(attributes), attributes)


def mask_of_record(definition: Definition) -> int:
    """Return the authorities that a record grants."""
    words = definition.attributes.get("AUTHLIST", ())
    return mask_of(words) if isinstance(words, tuple) else 0


def default_records() -> list[Definition]:
    """Return the records of a new queue manager. Administrators need none, and other users are granted nothing."""
    return []


def _number(attributes: Mapping[str, Value], name: str) -> int:
    value = attributes.get(name)
    return value if isinstance(value, int) else 0


def _text(attributes: Mapping[str, Value], name: str) -> str:
    value = attributes.get(name)
    return value if isinstance(value, str) else ""


@final
class _GenericProfiles:
    """Generic profiles, the most specific first."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.profiles: list[str] = []
        self.patterns: list[ProfilePattern] = []
        self.masks: list[int] = []

    def put(self, profile: str, mask: int) -> None:
        key = specificity(profile)
        at = bisect_left(self.keys, key)
        if at < len(self.keys) and self.keys[at] == key:
            self.masks[at] = mask
            return
        self.keys.insert(at, key)
        self.profiles.insert(at, profile)
        self.patterns.insert(at, ProfilePattern(profile))
        self.masks.insert(at, mask)

    def remove(self, profile: str) -> None:
        key = specificity(profile)
        at = bisect_left(self.keys, key)
        if at < len(self.keys) and self.keys[at] == key:
            del self.keys[at]
            del self.profiles[at]
            del self.patterns[at]
            del self.masks[at]

    def find(self, name: str) -> int:
        """Return the index of the most specific match; -1 if there is none."""
        qualifiers = name.split(".")
        for at, pattern in enumerate(self.patterns):
            if pattern.matches(qualifiers):
                return at
        return -1


@final
class _Profiles:
    """The profiles of one entity for one object type."""

    def __init__(self) -> None:
        self.exact: dict[str, int] = {}
        # By first qualifier, or "" if that has a wildcard.
        self.generic: dict[str, _GenericProfiles] = {}
        self.create: int = 0  # CRT if granted by `@class`

    @property
    def is_empty(self) -> bool:
        return not self.exact and not self.generic and not self.create

    def put(self, profile: str, mask: int) -> None:
        if profile == CLASS_PROFILE:
            self.create = mask & CRT
        elif is_generic(profile):
            key = first_qualifier(profile)
            if key not in self.generic:
                self.generic[key] = _GenericProfiles()
            self.generic[key].put(profile, mask)
        else:
            self.exact[profile] = mask

    def remove(self, profile: str) -> None:
        if profile == CLASS_PROFILE:
            self.create = 0
        elif is_generic(profile):
            key = first_qualifier(profile)
            if key in self.generic:
                self.generic[key].remove(profile)
                if not self.generic[key].keys:
                    del self.generic[key]
        elif profile in self.exact:
            del self.exact[profile]

    def most_specific(self, name: str) -> tuple[str, int] | None:
        """Return the most specific profile that matches a name, and its authorities."""
        if name in self.exact:
            return name, self.exact[name]
        # A profile with a literal first qualifier is more specific than one with a wildcard there.
        for key in (first_qualifier(name), ""):
            generic = self.generic.get(key)
            if generic is not None:
                at = generic.find(name)
                if at >= 0:
                    return generic.profiles[at], generic.masks[at]
        return None


@final
class AuthorityRecords:
    """All authority records of a queue manager, by entity and object type."""

    def __init__(self) -> None:
        self._profiles: dict[tuple[int, str, int], _Profiles] = {}
        self._cached: dict[tuple[str, int, str], tuple[Sequence[str], int]] = {}

    def put(self, definition: Definition) -> None:
        """Add or replace a record."""
        key, profile = _index_key(definition)
        profiles = self._profiles.get(key)
        if profiles is None:
            profiles = _Profiles()
            self._profiles[key] = profiles
        profiles.put(profile, mask_of_record(definition))
        self.clear_cache()

    def remove(self, definition: Definition) -> None:
        """Remove a record."""
        key, profile = _index_key(definition)
        profiles = self._profiles.get(key)
        if profiles is not None:
            profiles.remove(profile)
            if profiles.is_empty:
                del self._profiles[key]
        self.clear_cache()

    def clear_cache(self) -> None:
        """Drop cached results."""
        if self._cached:
            self._cached = {}

    def authorities(self, user: str, groups: Sequence[str], object_type: int, name: str) -> int:
        """Return the authorities of a user with these groups on an object: bits of `ostler.model.authorities`."""
        key = (user, object_type, name)
        known = self._cached.get(key)
        # A change of the user's groups passes other groups, and misses the cache.
        if known is not None and (known[0] is groups or known[0] == groups):
            return known[1]
        mask = self.of_entity(user, False, object_type, name) if user else 0
        for group in groups:
            mask |= self.of_entity(group, True, object_type, name)
        mask |= self.of_entity(EVERYBODY, True, object_type, name)
        if len(self._cached) >= _CACHED_MAX:
            self._cached = {}
        self._cached[key] = (groups, mask)
        return mask

    def of_entity(self, entity: str, is_group: bool, object_type: int, name: str) -> int:
        """Return the authorities of one user or group alone on an object."""
        entity_type = GROUP if is_group else PRINCIPAL
        mask = 0
        profiles = self._profiles.get((entity_type, entity, object_type))
        if profiles is not None:
            mask = profiles.create
            own = profiles.exact.get(MANAGER_PROFILE) if object_type == mq.MQOT_Q_MGR else None
            if own is not None:
                mask |= own
            else:
                found = profiles.most_specific(name)
                if found is not None:
                    mask |= found[1]
        if object_type != mq.MQOT_Q_MGR:
            manager = self._profiles.get((entity_type, entity, mq.MQOT_Q_MGR))
            if manager is not None:
                mask |= manager.create
        return mask

    def most_specific(self, entity: str, is_group: bool, object_type: int, name: str) -> str:
        """Return the profile that decides for one user or group; empty if there is none."""
        profiles = self._profiles.get((GROUP if is_group else PRINCIPAL, entity, object_type))
        if profiles is None:
            return ""
        if object_type == mq.MQOT_Q_MGR and MANAGER_PROFILE in profiles.exact:
            return MANAGER_PROFILE
        found = profiles.most_specific(name)
        return found[0] if found is not None else ""


def _index_key(definition: Definition) -> tuple[tuple[int, str, int], str]:
    """Return the index key of a record (entity and object type), and its profile."""
    attributes = definition.attributes
    entity_type = GROUP if attributes.get("ENTTYPE") == GROUP else PRINCIPAL
    key = (entity_type, _text(attributes, "ENTITY"), _number(attributes, "OBJTYPE"))
    return key, _text(attributes, "PROFILE")
