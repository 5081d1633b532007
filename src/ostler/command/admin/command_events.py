"""Command events of MQSC commands: the MQCMD number and the text without passwords."""

from __future__ import annotations

import re
from typing import Final

from ostler.command.admin.context import CommandContext
from ostler.command.mqsc.grammar import OBJECT_NOUNS, STATUS_NOUNS, VERBS
from ostler.command.mqsc.statements import parse
from ostler.command.mqsc.tokens import MqscSyntaxError
from ostler.model import constants
from ostler.model.attributes import Shown
from ostler.model.tables.attributes import ATTRIBUTES

# The names that PCF has for the verbs and nouns of MQSC.
_VERBS: Final = {"ALTER": "CHANGE", "DEFINE": "CREATE", "DISPLAY": "INQUIRE"}
_NOUNS: Final = {
    "QMGR": "Q_MGR",
    "QLOCAL": "Q",
    "QALIAS": "Q",
    "QREMOTE": "Q",
    "QMODEL": "Q",
    "QUEUE": "Q",
    "QSTATUS": "Q_STATUS",
    "QMSTATUS": "Q_MGR_STATUS",
    "QSTATS": "Q_STATS",
    "CHSTATUS": "CHANNEL_STATUS",
    "LSSTATUS": "LISTENER_STATUS",
    "SVSTATUS": "SERVICE_STATUS",
    "TPSTATUS": "TOPIC_STATUS",
    "SBSTATUS": "SUB_STATUS",
    "APSTATUS": "APPL_STATUS",
    "PUBSUB": "PUBSUB_STATUS",
    "CONN": "CONNECTION",
    "SUB": "SUBSCRIPTION",
    "TOPICSTR": "TOPIC_STRING",
    "AUTHINFO": "AUTH_INFO",
    "AUTHREC": "AUTH_REC",
    "ENTAUTH": "ENTITY_AUTH",
    "AUTHSERV": "AUTH_SERVICE",
    "CHLAUTH": "CHLAUTH_REC",
    "COMMINFO": "COMM_INFO",
    "CFSTRUCT": "CF_STRUC",
    "CFSTATUS": "CF_STRUC_STATUS",
    "STGCLASS": "STG_CLASS",
    "CMDSERV": "CMD_SERVER",
    "CHINIT": "CHANNEL_INIT",
    "CLUSQMGR": "CLUSTER_Q_MGR",
    "POLICY": "PROT_POLICY",
    "GROUP": "QSG",
}
_SECRET: Final = sorted(
    {attribute.name for attribute in ATTRIBUTES if attribute.shown == Shown.MASKED}
    | {name for attribute in ATTRIBUTES if attribute.shown == Shown.MASKED for name in attribute.synonyms}
)
_SECRET_VALUE: Final = re.compile(rf"\b({'|'.join(_SECRET)})(\s*)\((\s*('([^']|'')*'?|[^)]*))", re.IGNORECASE)


def command_number(verb: str, noun: str) -> int:
    """Returns the MQCMD number of a verb and noun without abbreviation; MQCMD_NONE if PCF has no such command."""
    stem = f"MQCMD_{_VERBS.get(verb, verb)}_"
    name = _NOUNS.get(noun, noun)
    for candidate in (stem + name, stem + name + "S", f"{stem}CHANNEL_{name}"):
        number = getattr(constants, candidate, None)
        if isinstance(number, int):
            return number
    return constants.MQCMD_NONE


def without_secrets(text: str) -> str:
    """Returns the text of a command with the values of passwords masked."""
    return _SECRET_VALUE.sub(r"\1\2('********'", text)


def _number_of(text: str) -> tuple[int, bool]:
    statement = parse(text)
    verb = VERBS.get(statement.verb.text, statement.verb.text)
    word = statement.noun.text
    noun = OBJECT_NOUNS.get(word) or STATUS_NOUNS.get(word)
    return command_number(verb, noun.word if noun is not None else word), verb == "DISPLAY"


def write_command_event(context: CommandContext, text: str) -> None:
    """Writes the command event of a successful command (CMDEV)."""
    if context.wants_command_events:
        number, is_display = _number_of(text)
        context.write_command_event(number, is_display, without_secrets(text))


def write_not_authorized_event(context: CommandContext, text: str) -> None:
    """Writes the Not Authorized (type 4) event of a command that was refused (AUTHOREV)."""
    try:
        number, _ = _number_of(text)
    except MqscSyntaxError:
        return
    context.write_not_authorized_event(number)
