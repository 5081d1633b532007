"""Parses and runs one MQSC command, and yields the lines of its answer."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from ostler.command.admin import command_events
from ostler.command.admin.channel_errors import CHANNEL_NUMBERS
from ostler.command.admin.context import NOT_AUTHORIZED, CommandContext, CommandRefused
from ostler.command.mqsc import (
    authrec,
    channel_auth,
    channel_control,
    control,
    define_alter_delete,
    manager_control,
    queue_commands,
    subscriptions,
    topics,
    usage,
)
from ostler.command.mqsc.arguments import unknown_word
from ostler.command.mqsc.define_alter_delete import Action
from ostler.command.mqsc.display import display, status, structure_status, topic_status
from ostler.command.mqsc.grammar import OBJECT_NOUNS, PRODUCT, STATUS_NOUNS, VERBS, Noun, message
from ostler.command.mqsc.outcome import CommandOutcome as CommandOutcome
from ostler.command.mqsc.sharing import group, in_doubt, shared_data_sets, structure_control, structure_recovery
from ostler.command.mqsc.sharing.qsg_scope import apply_scope, split_scope
from ostler.command.mqsc.statements import Statement, parse
from ostler.command.mqsc.tokens import MqscSyntaxError, Token
from ostler.command.mqsc.unsupported import UNSUPPORTED_COMMANDS
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.errors import MQError
from ostler.model.reasons import describe

Handler = Callable[[Statement, Noun], Action]


def _nouns(*words: str) -> dict[str, Noun]:
    return {word: noun for word, noun in OBJECT_NOUNS.items() if noun.word in words}


_DEFINED: Final = {word: noun for word, noun in OBJECT_NOUNS.items() if noun.created}
_RUN: Final = _nouns("LISTENER", "SERVICE")

# The handler of each verb and the nouns it takes. DISPLAY of a status has a handler for each noun.
_HANDLERS: Final[dict[str, tuple[Handler, dict[str, Noun]]]] = {
    "ALTER": (define_alter_delete.alter, {word: noun for word, noun in OBJECT_NOUNS.items() if noun.changed}),
    "CLEAR": (define_alter_delete.clear, _nouns("QLOCAL")),
    "DEFINE": (define_alter_delete.define, _DEFINED),
    "DELETE": (define_alter_delete.delete, _DEFINED),
    "DISPLAY": (display.display, OBJECT_NOUNS),
    "PING": (control.ping, _nouns("QMGR")),
    "START": (control.start, _RUN),
    "STOP": (control.stop, _RUN),
}
_NO_HANDLER: Final[tuple[Handler | None, dict[str, Noun]]] = (None, {})
_STATUS_HANDLERS: Final[dict[ObjectType, Handler]] = {
    ObjectType.QSTATUS: status.queue_status,
    ObjectType.QMSTATUS: status.manager_status,
    ObjectType.CHSTATUS: status.channel_status,
    ObjectType.LSSTATUS: status.listener_status,
    ObjectType.CONN: status.connections,
    ObjectType.SVSTATUS: status.service_status,
    ObjectType.TPSTATUS: topic_status.topic_status,
    ObjectType.SBSTATUS: topic_status.subscription_status,
    ObjectType.PUBSUB: topic_status.pubsub_status,
    ObjectType.CFSTATUS: structure_status.structure_status,
}
# Commands with a parser of their own, by verb and noun.
_SPECIAL: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {
    **authrec.COMMANDS,
    **channel_auth.COMMANDS,
    **control.COMMANDS,
    **group.COMMANDS,
    **channel_control.COMMANDS,
    **manager_control.COMMANDS,
    **subscriptions.COMMANDS,
    **queue_commands.COMMANDS,
    **topics.COMMANDS,
    **shared_data_sets.COMMANDS,
    **structure_control.COMMANDS,
    **structure_status.COMMANDS,
    **structure_recovery.COMMANDS,
    **usage.COMMANDS,
    **in_doubt.COMMANDS,
}
# Abbreviations of nouns that are not types of objects.
_SHORT: Final = {"QC": "QCLUSTER", "SEC": "SECURITY", "THD": "THREAD", "IND": "INDOUBT"}
# The message numbers of reasons for which a valid command fails.
_NUMBERS: Final = {
    mq.MQRC_UNKNOWN_OBJECT_NAME: "AMQ8147E",
    mq.MQRC_UNKNOWN_ENTITY: "AMQ8871E",
    mq.MQRC_OBJECT_ALREADY_EXISTS: "AMQ8150E",
    mq.MQRC_Q_NOT_EMPTY: "AMQ8143E",
    mq.MQRC_OBJECT_IN_USE: "AMQ8148E",
    mq.MQRC_SUBSCRIPTION_IN_USE: "AMQ8148E",
    mq.MQRCCF_MISSING_CONN_NAME: "AMQ8214E",
    **CHANNEL_NUMBERS,
}
_OTHER_ERROR: Final = "AMQ8101E"


def parse_command(text: str) -> Action:
    """Returns the action of a command without running it. Raises MqscSyntaxError; needs no queue manager."""
    statement = parse(text)
    verb = VERBS.get(statement.verb.text)
    if verb is None:
        verbs = sorted(each for each in set(VERBS.values()) if nouns_of(each))
        problem = unknown_word(statement.verb, "is not a command", VERBS)
        raise MqscSyntaxError(problem.end, problem.why, (message("AMQ8426I", f"The commands are {', '.join(verbs)}."),))
    statement, scope = split_scope(statement, verb)
    return apply_scope(_action(verb, statement), scope, text, run_action)


def _action(verb: str, statement: Statement) -> Action:
    word = statement.noun
    special = _SPECIAL.get((verb, word.text))
    if special is not None:
        return special(statement)
    handler, nouns = _HANDLERS.get(verb, _NO_HANDLER)
    noun = nouns.get(word.text)
    if noun is not None and handler is not None:
        return handler(statement, noun)
    if verb == "DISPLAY" and word.text in STATUS_NOUNS:
        noun = STATUS_NOUNS[word.text]
        return _STATUS_HANDLERS[noun.types[0]](statement, noun)
    refused = UNSUPPORTED_COMMANDS.get((verb, word.text))
    if refused is not None:
        raise MqscSyntaxError(word.end, refused)
    raise _unknown_noun(verb, word)


def nouns_of(verb: str) -> dict[str, str]:
    """Returns the nouns of a verb, with abbreviations, each with its full word."""
    _, nouns = _HANDLERS.get(verb, _NO_HANDLER)
    known = {word: noun.word for word, noun in nouns.items()}
    if verb == "DISPLAY":
        known.update({word: noun.word for word, noun in STATUS_NOUNS.items()})
    for special, word in _SPECIAL:
        if special == verb:
            noun = OBJECT_NOUNS.get(word)
            known.setdefault(word, noun.word if noun is not None else _SHORT.get(word, word))
    return known


def _unknown_noun(verb: str, word: Token) -> MqscSyntaxError:
    known = nouns_of(verb)
    problem = unknown_word(word, f"cannot be used with {verb}", known)
    if not known:
        return MqscSyntaxError(problem.end, f"{verb} does nothing on this platform")
    takes = message("AMQ8427I", f"{verb} takes {', '.join(sorted(set(known.values())))}.")
    return MqscSyntaxError(problem.end, problem.why, (takes,))


def run_command(context: CommandContext, text: str, verify_only: bool = False) -> Generator[str, None, CommandOutcome]:
    """Runs one command. Yields the lines of the answer, returns the outcome, and never raises for a wrong command."""
    try:
        action = parse_command(text)
    except MqscSyntaxError as problem:
        yield from syntax_error_lines(text, problem)
        return CommandOutcome.SYNTAX_ERROR
    if verify_only:
        return CommandOutcome.DONE
    outcome = yield from run_action(context, action, text)
    if outcome is CommandOutcome.DONE:
        command_events.write_command_event(context, text)
    return outcome


def run_action(context: CommandContext, action: Action, text: str) -> Generator[str, None, CommandOutcome]:
    """Runs an action. Yields the lines of the answer, and returns the outcome; writes no command event."""
    try:
        yield from action(context)
    except CommandRefused as refusal:
        if refusal.number == NOT_AUTHORIZED:
            command_events.write_not_authorized_event(context, text)
        yield message(refusal.number, refusal.text)
        return CommandOutcome.FAILED
    except MQError as error:
        yield message(_NUMBERS.get(error.reason, _OTHER_ERROR), _text(error))
        return CommandOutcome.FAILED
    return CommandOutcome.DONE


def syntax_error_lines(text: str, problem: MqscSyntaxError) -> list[str]:
    """Returns the lines of a syntax error: the reason, and the command up to the wrong token."""
    why = problem.why if problem.why.endswith("?") else f"{problem.why}."
    return [
        message("AMQ8405I", f"Syntax error at the end of the part of the command below: {why}"),
        text[: problem.end].strip(),
        *problem.hints,
    ]


def _text(error: MQError) -> str:
    entry = describe(error.reason)
    detail = error.detail or entry.text
    if error.reason in _NUMBERS:
        return detail
    return f"{PRODUCT} refused the command, {entry.name} ({error.reason}): {detail}"
