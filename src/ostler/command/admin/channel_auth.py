"""Channel authentication rules (SET and DISPLAY CHLAUTH): set, remove and list them. For MQSC and PCF.

Changes need CHG on the queue manager, queries DSP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.admin.objects import date_and_time
from ostler.engine import objects
from ostler.engine.core import Engine
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, Value, check, find, has, require
from ostler.model.authorities import CHG, DSP
from ostler.model.definitions import Definition, new_definition
from ostler.model.distinguished_names import DistinguishedName, parse_name
from ostler.model.errors import MQError
from ostler.security.addresses import AddressPattern, read_address
from ostler.security.authorities import EVERYBODY
from ostler.security.channel_authentication import ChannelRules
from ostler.security.channel_names import GenericName, names_overlap
from ostler.security.channel_rule import (
    BLOCKING,
    IDENTITIES,
    TYPE_WORDS,
    check_channel_profile,
    check_identity,
    check_rule,
    number_of,
    rule_key,
    text_of,
    texts_of,
)

ACTIONS: Final = ("ADD", "REPLACE", "REMOVE", "REMOVEALL")
MATCHES: Final = ("GENERIC", "EXACT", "ALL", "RUNCHECK")
ALL_TYPES: Final = "ALL"

Row = dict[str, Value]
"""A rule by the names of its attributes, without those that have no meaning in it."""

_KIND: Final = ObjectType.CHLAUTH
_LISTS: Final = {mq.MQCAUT_BLOCKADDR: "ADDRLIST", mq.MQCAUT_BLOCKUSER: "USERLIST"}
_HEADS: Final = ("CHLAUTH", "TYPE")
# The attributes beside profile and type that identify a rule; ACTION(REMOVE) takes only these.
_IDENTIFYING: Final = frozenset(("ADDRESS", "ADDRLIST", "CLNTUSER", "QMNAME", "SSLCERTI", "SSLPEER", "USERLIST"))
_TYPE_ORDER: Final = ("SSLPEERMAP", "USERMAP", "QMGRMAP", "ADDRESSMAP", "BLOCKADDR", "BLOCKUSER")


# -- changes -----------------------------------------------------------------------------------------------------------


def set_rule(context: CommandContext, attributes: Mapping[str, Value], action: str = "ADD") -> None:
    """Sets a rule (SET CHLAUTH) by MQSC names, with CHLAUTH (the profile) and TYPE. Raises MQError for a wrong one."""
    context.authorize(mq.MQOT_Q_MGR, "", CHG)
    given = _check_attributes(attributes)
    kind = number_of(given, "TYPE", -1)
    if kind not in TYPE_WORDS:
        raise MQError(mq.MQRCCF_CHLAUTH_TYPE_ERROR, f"TYPE is one of {', '.join(TYPE_WORDS.values())}.")
    check_channel_profile(text_of(given, "CHLAUTH"))
    _check_action(given, action)
    change = _change_map if kind not in BLOCKING else _change_list
    context.change(partial(_remove_all if action == "REMOVEALL" else change, given, kind, action))


def _check_attributes(attributes: Mapping[str, Value]) -> dict[str, Value]:
    given: dict[str, Value] = {}
    for name, value in attributes.items():
        attribute = require(_KIND, name)
        given[attribute.name] = check(attribute, value)
    word = TYPE_WORDS.get(number_of(given, "TYPE", -1), "")
    for name, value in given.items():
        attribute = require(_KIND, name)
        if not has(attribute, word) or (name == "CHCKCLNT" and word == "QMGRMAP" and value != mq.MQCHK_AS_Q_MGR):
            raise MQError(mq.MQRCCF_WRONG_CHLAUTH_TYPE, f"{name} does not go with TYPE({word}).")
    return given


def _check_action(given: Mapping[str, Value], action: str) -> None:
    if action not in ACTIONS:
        raise MQError(mq.MQRCCF_CHLAUTH_ACTION_ERROR, f"ACTION is one of {', '.join(ACTIONS)}.")
    if action in ("ADD", "REPLACE"):
        return
    allowed = _IDENTIFYING if action == "REMOVE" else frozenset[str]()
    for name in given:
        if name not in allowed and name not in _HEADS:
            raise MQError(mq.MQRCCF_WRONG_CHLAUTH_ACTION, f"{name} does not go with ACTION({action}).")


def _change_map(given: dict[str, Value], kind: int, action: str, engine: Engine) -> int:
    """Adds, replaces or removes one rule that maps or refuses a connection; returns the LSN."""
    kept = engine.of_type(_KIND)
    if action == "REMOVE":
        check_identity(given, kind)
        key = rule_key(given)
        if key not in kept:
            raise _not_found(key)
        return objects.delete(engine, _KIND, key)
    definition = _new_rule(engine, given)
    if definition.name in kept and action == "ADD":
        raise MQError(mq.MQRCCF_CHLAUTH_ALREADY_EXISTS, f"There is a rule {definition.name}. Use ACTION(REPLACE).")
    _check_ranges(kept, definition)
    return objects.define(engine, definition, True)


def _new_rule(engine: Engine, given: dict[str, Value]) -> Definition:
    check_rule(given)
    return new_definition(_KIND, rule_key(given), given, None, *date_and_time(engine.wall_ms()))


def _check_ranges(kept: Mapping[str, Definition], definition: Definition) -> None:
    """Rejects an address range that overlaps one of the same profile and identity: precedence would be undefined."""
    address = text_of(definition.attributes, "ADDRESS")
    if "-" not in address:
        return
    pattern = AddressPattern(address)
    if not pattern.parts_in_address:
        return
    family = _family(definition.name)
    for name, other in kept.items():
        if name != definition.name and "-" in name and _family(name) == family:
            theirs = AddressPattern(text_of(other.attributes, "ADDRESS"))
            if pattern.overlaps(theirs):
                raise MQError(
                    mq.MQRCCF_IPADDR_RANGE_CONFLICT, f"The range of {address} overlaps that of the rule {name}."
                )


def _family(name: str) -> str:
    """Returns the part of a rule's key before its address."""
    return name.rpartition(" ADDRESS(")[0]


def _change_list(given: dict[str, Value], kind: int, action: str, engine: Engine) -> int:
    """Adds to, removes from or replaces a list of blocked users or addresses; returns the LSN."""
    key = rule_key(given)
    list_name = _LISTS[kind]
    existing = engine.of_type(_KIND).get(key)
    values = texts_of(given, list_name)
    before = texts_of(existing.attributes, list_name) if existing is not None else ()
    if not values and action != "REPLACE":
        raise MQError(mq.MQRCCF_PARM_MISSING, f"ACTION({action}) needs {list_name}.")
    check_rule(given)
    if action == "REMOVE":
        missing = [value for value in values if value not in before]
        if missing:
            raise _not_found(f"{key} {list_name}({missing[0]})")
        after = tuple([value for value in before if value not in values])
    elif action == "ADD":
        after = tuple(dict.fromkeys((*before, *values)))
    else:
        after = tuple(dict.fromkeys(values))
    if not after:
        return objects.delete(engine, _KIND, key) if existing is not None else 0
    changed = dict(given)
    if existing is not None and action != "REPLACE":
        changed = {name: value for name, value in existing.attributes.items() if find(_KIND, name) is not None}
        changed.update(given)
    changed[list_name] = check(require(_KIND, list_name), after)
    return objects.define(engine, _new_rule(engine, changed), True)


def _remove_all(given: dict[str, Value], kind: int, action: str, engine: Engine) -> int:
    """Removes all rules of a profile and type, if any; returns the LSN."""
    profile = text_of(given, "CHLAUTH")
    lsn = 0
    for definition in list(engine.of_type(_KIND).values()):
        values = definition.attributes
        if values.get("CHLAUTH") == profile and values.get("TYPE") == kind:
            lsn = objects.delete(engine, _KIND, definition.name)
    return lsn


def _not_found(what: str) -> MQError:
    return MQError(mq.MQRCCF_CHLAUTH_NOT_FOUND, f"There is no channel authentication rule {what}.")


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RuleQuery:
    """Selects rules (DISPLAY CHLAUTH). All but the first three fields describe a connection, for MATCH(RUNCHECK)."""

    channel: str
    type_word: str = ALL_TYPES
    match: str = "GENERIC"
    address: str = ""
    client_user: str = ""
    manager: str = ""
    subject: str = ""
    issuer: str = ""

    @property
    def describes_connection(self) -> bool:
        return any((self.address, self.client_user, self.manager, self.subject, self.issuer))


@dataclass(frozen=True)
class RuleMatches:
    """The selected rules in display order; for MATCH(RUNCHECK) also the user that the channel would run as."""

    rules: tuple[Definition, ...]
    user: str = ""


def rules(context: CommandContext, selection: RuleQuery) -> list[Row]:
    """Returns the selected rules. Raises MQError for an invalid selection."""
    return [row_of(definition) for definition in find_rules(context, selection).rules]


def find_rules(context: CommandContext, selection: RuleQuery) -> RuleMatches:
    context.authorize(mq.MQOT_Q_MGR, "", DSP)
    if selection.match not in MATCHES:
        raise MQError(mq.MQRCCF_WRONG_CHLAUTH_MATCH, f"MATCH is one of {', '.join(MATCHES)}.")
    if selection.type_word != ALL_TYPES and selection.type_word not in TYPE_WORDS.values():
        raise MQError(mq.MQRCCF_CHLAUTH_TYPE_ERROR, f"TYPE is one of {ALL_TYPES}, {', '.join(TYPE_WORDS.values())}.")
    # Copied under the lock, filtered without it.
    kept = context.query(lambda engine: list(engine.of_type(_KIND).values()))
    if selection.match == "RUNCHECK":
        return _run_check(context, selection, kept)
    if selection.describes_connection:
        raise MQError(mq.MQRCCF_WRONG_CHLAUTH_MATCH, "A connection is described with MATCH(RUNCHECK) only.")
    return RuleMatches(tuple(sorted(_select(selection, kept), key=_display_order)))


def _select(selection: RuleQuery, kept: list[Definition]) -> Iterator[Definition]:
    pattern = GenericName(selection.channel)
    for definition in kept:
        profile = text_of(definition.attributes, "CHLAUTH")
        if selection.match == "EXACT":
            is_wanted = profile == selection.channel
        elif selection.match == "ALL":
            is_wanted = names_overlap(profile, selection.channel)
        else:
            is_wanted = pattern.matches(profile)
        word = TYPE_WORDS.get(number_of(definition.attributes, "TYPE", -1), "")
        if is_wanted and selection.type_word in (ALL_TYPES, word):
            yield definition


def _display_order(definition: Definition) -> tuple[str, int, str, str]:
    """Sorts by profile, with an asterisk after all letters, then by precedence."""
    values = definition.attributes
    word = TYPE_WORDS.get(number_of(values, "TYPE", -1), "")
    address = text_of(values, "ADDRESS")
    specificity = AddressPattern(address).specificity if address else "\7"
    profile = text_of(values, "CHLAUTH").replace("*", "\x7f")
    return profile, _TYPE_ORDER.index(word) if word else 0, _family(definition.name), specificity


def row_of(definition: Definition) -> Row:
    """Returns a rule as a row, without attributes that its USERSRC makes meaningless."""
    row = dict(definition.attributes)
    kind = number_of(row, "TYPE", -1)
    if kind not in IDENTITIES:
        return row
    source = number_of(row, "USERSRC", mq.MQUSRC_MAP)
    if source != mq.MQUSRC_MAP:
        row.pop("MCAUSER", None)
    if source != mq.MQUSRC_NOACCESS:
        row.pop("WARN", None)
    if source == mq.MQUSRC_NOACCESS or kind == mq.MQCAUT_QMGRMAP:
        row.pop("CHCKCLNT", None)
    return row


# -- MATCH(RUNCHECK) ---------------------------------------------------------------------------------------------------


def _run_check(context: CommandContext, selection: RuleQuery, kept: list[Definition]) -> RuleMatches:
    """Returns the rules that apply to the described connection, and the user that it would run as."""
    _check_connection_described(selection)
    table = ChannelRules()
    for definition in kept:
        table.put(definition)
    subject, issuer = _parse_dn("SSLPEER", selection.subject), _parse_dn("SSLCERTI", selection.issuer)
    blocked = table.find_blocked_address(selection.address)
    if blocked is not None and blocked.is_refused and blocked.rule is not None:
        return RuleMatches((blocked.rule,))
    decision = table.decide(
        selection.channel, selection.address, "", selection.client_user, subject, issuer, selection.manager
    )
    met = [rule for rule in (decision.warning, decision.rule) if rule is not None]
    if decision.is_refused:
        return RuleMatches(tuple(met))
    user = decision.user or _channel_user(context, selection.channel) or selection.client_user
    if selection.manager:
        # BLOCKUSER rules are about clients. A partner queue manager without a mapped user runs as nobody.
        return RuleMatches(tuple(met), user or ("" if decision.source == mq.MQUSRC_CHANNEL else EVERYBODY))
    barred = table.find_blocked_user(selection.channel, user, context.is_administrator(user))
    if barred is not None and barred.rule is not None:
        return RuleMatches((barred.rule,) if barred.is_refused else (*met, barred.rule), user)
    return RuleMatches(tuple(met), user)


def _check_connection_described(selection: RuleQuery) -> None:
    if selection.type_word != ALL_TYPES:
        raise MQError(mq.MQRCCF_WRONG_CHLAUTH_MATCH, "MATCH(RUNCHECK) goes with TYPE(ALL) only.")
    if not read_address(selection.address):
        raise _not_described("ADDRESS with one IP address")
    if bool(selection.client_user) == bool(selection.manager):
        raise _not_described("either CLNTUSER or QMNAME")
    for value in (selection.channel, selection.client_user, selection.manager):
        if "*" in value:
            raise MQError(
                mq.MQRCCF_CHLAUTH_RUNCHECK_ERROR, f"{value!r} is generic; MATCH(RUNCHECK) takes no generic values."
            )


def _not_described(what: str) -> MQError:
    return MQError(mq.MQRCCF_CHLAUTH_RUNCHECK_ERROR, f"MATCH(RUNCHECK) needs {what} to describe the connection.")


def _parse_dn(keyword: str, text: str) -> DistinguishedName | None:
    if not text:
        return None
    try:
        return parse_name(text)
    except ValueError as error:
        raise MQError(mq.MQRCCF_SSL_PEER_NAME_ERROR, f"{keyword} is not a distinguished name: {error}.") from None


def _channel_user(context: CommandContext, channel: str) -> str:
    definition = context.query(lambda engine: engine.of_type(ObjectType.CHANNEL).get(channel))
    return text_of(definition.attributes, "MCAUSER") if definition is not None else ""
