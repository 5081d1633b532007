"""Set Channel Authentication Record and Inquire Channel Authentication Records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ostler.command.admin.channel_auth import ALL_TYPES, RuleQuery, find_rules, row_of, set_rule
from ostler.command.admin.context import CommandContext
from ostler.command.pcf.command import (
    CHANNEL_NAME_LENGTH,
    NAME_LENGTH,
    PcfCommand,
    PcfRequest,
    Reply,
    number,
    numbers,
    text,
)
from ostler.command.pcf.errors import PcfRefused
from ostler.command.pcf.inquire import reply_row
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.security.channel_rule import TYPE_WORDS

_RULES: Final = (ObjectType.CHLAUTH,)
_ACTIONS: Final = {
    mq.MQACT_ADD: "ADD",
    mq.MQACT_REPLACE: "REPLACE",
    mq.MQACT_REMOVE: "REMOVE",
    mq.MQACT_REMOVEALL: "REMOVEALL",
}
_MATCHES: Final = {
    mq.MQMATCH_GENERIC: "GENERIC",
    mq.MQMATCH_EXACT: "EXACT",
    mq.MQMATCH_ALL: "ALL",
    mq.MQMATCH_RUNCHECK: "RUNCHECK",
}
_TYPES: Final = (
    "MQCAUT_BLOCKUSER",
    "MQCAUT_BLOCKADDR",
    "MQCAUT_SSLPEERMAP",
    "MQCAUT_ADDRESSMAP",
    "MQCAUT_USERMAP",
    "MQCAUT_QMGRMAP",
)


def _set(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    action = _ACTIONS[request.number(mq.MQIACF_ACTION, mq.MQACT_ADD)]
    set_rule(context, request.given(ObjectType.CHLAUTH, "", is_new=True), action)
    yield []


def _inquire(context: CommandContext, request: PcfRequest) -> Iterator[Reply]:
    rule_type = request.number(mq.MQIACF_CHLAUTH_TYPE, mq.MQCAUT_ALL)
    query = RuleQuery(
        request.text(mq.MQCACH_CHANNEL_NAME),
        ALL_TYPES if rule_type == mq.MQCAUT_ALL else TYPE_WORDS[rule_type],
        _MATCHES[request.number(mq.MQIACH_MATCH, mq.MQMATCH_GENERIC)],
        request.text(mq.MQCACH_CONNECTION_NAME),
        request.text(mq.MQCACH_CLIENT_USER_ID),
        request.text(mq.MQCA_REMOTE_Q_MGR_NAME),
        request.text(mq.MQCACH_SSL_PEER_NAME),
        request.text(mq.MQCA_SSL_CERT_ISSUER_NAME),
    )
    selection = request.selected(mq.MQIACF_CHLAUTH_ATTRS, _RULES)
    matches = find_rules(context, query)
    found = False
    for definition in matches.rules:
        row = row_of(definition)
        if query.match == "RUNCHECK" and matches.user:
            row["MCAUSER"] = matches.user
        if request.condition is None or request.condition.accepts(ObjectType.CHLAUTH, row):
            found = True
            yield reply_row(ObjectType.CHLAUTH, row, selection, ("CHLAUTH", "TYPE"))
    if not found:
        raise PcfRefused(mq.MQRCCF_CHLAUTH_NOT_FOUND)


_PROFILE: Final = text("MQCACH_CHANNEL_NAME", CHANNEL_NAME_LENGTH, required=True)
COMMANDS: Final = (
    PcfCommand(
        "MQCMD_SET_CHLAUTH_REC",
        _set,
        (
            _PROFILE,
            number("MQIACF_CHLAUTH_TYPE", *_TYPES, required=True),
            number("MQIACF_ACTION", "MQACT_ADD", "MQACT_REPLACE", "MQACT_REMOVE", "MQACT_REMOVEALL"),
        ),
        _RULES,
    ),
    PcfCommand(
        "MQCMD_INQUIRE_CHLAUTH_RECS",
        _inquire,
        (
            _PROFILE,
            text("MQCACH_CONNECTION_NAME", 264),
            numbers("MQIACF_CHLAUTH_ATTRS"),
            text("MQCACH_CLIENT_USER_ID", 1024),
            number("MQIACH_MATCH", "MQMATCH_GENERIC", "MQMATCH_EXACT", "MQMATCH_ALL", "MQMATCH_RUNCHECK"),
            text("MQCA_REMOTE_Q_MGR_NAME", NAME_LENGTH),
            text("MQCA_SSL_CERT_ISSUER_NAME", 1024),
            text("MQCACH_SSL_PEER_NAME", 1024),
            number("MQIACF_CHLAUTH_TYPE", *_TYPES, "MQCAUT_ALL"),
        ),
        filtered=_RULES,
    ),
)
