"""Channel authentication rules and authority records as the commands that create them again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ostler.command.dump.text import ScriptCommand, attribute_items, quoted
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, attributes_of, defaults, find, has, subtype_of, to_text
from ostler.model.definitions import Definition

# The attributes that identify a rule; the others are its effect.
_IDENTITY: Final = ("TYPE", "ADDRESS", "CLNTUSER", "QMNAME", "SSLPEER", "SSLCERTI")
_BLOCKING: Final = ("BLOCKUSER", "BLOCKADDR")
_LISTS: Final = ("USERLIST", "ADDRLIST")
_CHANNELS: Final = "CHLAUTH"
_TYPE_WORDS: Final = {"QUEUE": "queue", "RQMNAME": "rqmname"}
_NONE: Final = "NONE"
_IBM_I_TYPES: Final = {
    "QUEUE": "*Q",
    "QMGR": "*MQM",
    "NAMELIST": "*NMLIST",
    "PROCESS": "*PRC",
    "LISTENER": "*LSR",
    "SERVICE": "*SVC",
    "CHANNEL": "*CHL",
    "CLNTCONN": "*CLTCN",
    "RQMNAME": "*RMTMQMNAME",
}
_IBM_I_AUTHORITIES: Final = {
    "CHG": "*ADMCHG",
    "CLR": "*ADMCLR",
    "CRT": "*ADMCRT",
    "DLT": "*ADMDLT",
    "DSP": "*ADMDSP",
}


def rule_command(definition: Definition, shows_all: bool, action: str = "REPLACE") -> ScriptCommand:
    """Returns SET CHLAUTH for a rule, to set it or with REMOVE to remove it."""
    kind = ObjectType.CHLAUTH
    values = definition.attributes
    subtype = subtype_of(kind, values)
    command = ScriptCommand(
        f"SET CHLAUTH({quoted(str(values.get(_CHANNELS, definition.name)))})", tail=f"ACTION({action})"
    )
    usual = defaults(kind, subtype)
    attributes = sorted(attributes_of(kind), key=lambda each: (each.name not in _IDENTITY, each.name != "TYPE"))
    for attribute in attributes:
        value = values.get(attribute.name)
        name = attribute.name
        if name == _CHANNELS or value is None or not has(attribute, subtype):
            continue
        items, problem = attribute_items(attribute, value)
        if problem or not attribute.at_define:
            command.notes += [problem] if problem else items if shows_all else []
            continue
        is_identity = name == "TYPE" or (name in _IDENTITY and value != "")
        if action == "REMOVE":
            if is_identity or name in _LISTS:
                command.items += items
        elif is_identity or (value != "" and (shows_all or name in _LISTS or value != usual.get(name))):
            command.items += items
    return command


def rule_removal_commands(definition: Definition) -> list[ScriptCommand]:
    """Returns commands that remove a rule that may not exist: it is first set, with NOACCESS, then removed."""
    values = dict(definition.attributes)
    if "USERSRC" in values:
        values["USERSRC"] = mq.MQUSRC_NOACCESS
        values["MCAUSER"] = ""
    closed = Definition(definition.object_type, definition.name, values)
    return [rule_command(closed, False), rule_command(closed, False, "REMOVE")]


def authority_commands(
    definition: Definition, usual: Sequence[Definition], removes: bool = False
) -> list[ScriptCommand]:
    """Returns SET AUTHREC for a record, after DELETE AUTHREC if a new queue manager has a different one."""
    values = definition.attributes
    commands: list[ScriptCommand] = []
    differs = any(
        each.name == definition.name and each.attributes.get("AUTHLIST") != values.get("AUTHLIST") for each in usual
    )
    if removes or differs:
        gone = ScriptCommand("DELETE AUTHREC")
        gone.items += _identity(definition)
        commands.append(gone)
    if not removes:
        command = ScriptCommand("SET AUTHREC")
        command.items += [*_identity(definition), f"AUTHADD({_words(definition)})"]
        commands.append(command)
    return commands


def _identity(definition: Definition) -> list[str]:
    entity = str(definition.attributes.get("ENTITY", ""))
    items = [
        f"PROFILE({quoted(str(definition.attributes.get('PROFILE', '')))})",
        f"OBJTYPE({_text(definition, 'OBJTYPE')})",
    ]
    return [*items, f"{_text(definition, 'ENTTYPE')}({quoted(entity)})"]


def _text(definition: Definition, name: str) -> str:
    attribute = find(ObjectType.AUTHREC, name)
    value = definition.attributes.get(name)
    return to_text(attribute, value) if attribute is not None and value is not None else ""


def _words(definition: Definition) -> str:
    return _text(definition, "AUTHLIST") or _NONE


def setmqaut_line(definition: Definition, manager: str) -> str:
    """Returns the record as a setmqaut command."""
    kind = _text(definition, "OBJTYPE")
    profile = "" if kind == "QMGR" else f" -n {_shell(str(definition.attributes.get('PROFILE', '')))}"
    who = "-g" if _text(definition, "ENTTYPE") == "GROUP" else "-p"
    entity = _shell(str(definition.attributes.get("ENTITY", "")))
    words = " ".join(f"+{word.lower()}" for word in _words(definition).split(","))
    return f"setmqaut -m {_shell(manager)}{profile} -t {_TYPE_WORDS.get(kind, kind.lower())} {who} {entity} {words}"


def grant_line(definition: Definition, manager: str) -> str:
    """Returns the record as a GRTMQMAUT command of IBM i."""
    kind = _text(definition, "OBJTYPE")
    words = _words(definition).split(",")
    authorities = " ".join(_IBM_I_AUTHORITIES.get(word, f"*{word}") for word in words)
    name = manager if kind == "QMGR" else str(definition.attributes.get("PROFILE", ""))
    entity = str(definition.attributes.get("ENTITY", ""))
    return (
        f"GRTMQMAUT OBJ({quoted(name)}) OBJTYPE({_IBM_I_TYPES.get(kind, '*' + kind)}) USER({quoted(entity)}) "
        f"AUT({authorities}) MQMNAME({quoted(manager)})"
    )


def _shell(text: str) -> str:
    doubled = text.replace("'", "'\\''")
    return f"'{doubled}'"
