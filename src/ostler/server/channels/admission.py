"""Admission of partner queue managers: from the hello on a message channel to a user or a refusal.

The checks, in this order: the names that the partner gives must be valid; the channel must be a message channel; the
TLS session must match the channel; then the most specific CHLAUTH rule applies, which may refuse the partner or map it
to another user than the channel's MCAUSER. Rules match the certificate (SSLPEERMAP), the name of the partner (QMGRMAP)
and the address (ADDRESSMAP). As in MQ, USERMAP and BLOCKUSER rules apply to clients only; so a new queue manager
admits its partners by its default rules, except on channels whose names begin with SYSTEM.

Stricter than MQ, a channel without MCAUSER puts with the queue manager's own authority only if a rule with
USERSRC(CHANNEL) allows it. With neither, messages are put as `nobody`, who has the authorities of everybody.

A partner learns only that it is not authorized; the error log has the cause.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from ostler.channel.delivery import mca_user_advice
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, valid_name
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.security.authorities import EVERYBODY
from ostler.security.channel_authentication import Decision
from ostler.server.channels.host import ChannelHost
from ostler.server.channels.settings import check_exits, check_tls, is_message_channel, text_of
from ostler.server.net.link import CLOSING, NEW, ServerLink
from ostler.server.net.link_status import host_of
from ostler.server.security.admission import REFUSED, Admission
from ostler.wire.frames import MalformedFrame

_CHANNEL_LENGTH_MAX: Final = 20
_PRINTED_NAME_MAX: Final = 64


class PartnerRequest:
    """A queue manager that asks for admission."""

    def __init__(
        self,
        link: ServerLink,
        channel: str,
        name: str,
        on_admitted: Callable[[str], None],
        on_refused: Callable[[MQError], None],
    ) -> None:
        self.link = link
        self.channel = channel
        self.name = name
        self.on_admitted = on_admitted
        self.on_refused = on_refused
        self.host = ""


class ChannelAdmission:
    """Admits partners. Runs on the reactor's thread and under the engine's lock, unless a method says otherwise."""

    def __init__(self, server: ChannelHost, admission: Admission) -> None:
        """`admission` is that of the server's clients: both share its look-up threads."""
        self._server = server
        self._manager = server.manager
        self._admission = admission
        self._pending: dict[ServerLink, PartnerRequest] = {}

    def consider(
        self,
        link: ServerLink,
        channel: str,
        partner: str,
        on_admitted: Callable[[str], None],
        on_refused: Callable[[MQError], None],
    ) -> None:
        """Decide on a link whose hello names queue manager `partner`. One of both callbacks is called, now or later.

        `on_admitted` gets the user whose authority messages are put with; an empty one is the queue manager itself,
        with all authority, as a rule with USERSRC(CHANNEL) allows. Neither is called if the link is closed or used
        otherwise meanwhile. MalformedFrame if a request of the link is already pending.
        """
        if link in self._pending:
            raise MalformedFrame("a second hello before the first is answered")
        wanted = PartnerRequest(link, channel, partner, on_admitted, on_refused)
        try:
            self._check_names(wanted)
            self._require(wanted)
            if self._admission.needs_name(link, channel):
                question = partial(self._ask_name, wanted)
                self._admission.lookups.submit(host_of(link), question, partial(self._named, wanted))
                self._pending[link] = wanted
                return
            user = self._decide(wanted)
        except MQError as error:
            on_refused(error)
            return
        on_admitted(user)

    def forget(self, link: ServerLink) -> None:
        """Drop the pending request of a closed link; a look-up in progress is ignored later."""
        self._pending.pop(link, None)

    def is_admission_pending(self, link: ServerLink) -> bool:
        """Return True if a request of the link is pending."""
        return link in self._pending

    # -- the host name -------------------------------------------------------------------------------------------------

    def _ask_name(self, wanted: PartnerRequest) -> None:
        """Look up the host name, on a thread of the pool and without the lock."""
        if wanted.link.state < CLOSING:
            wanted.host = self._admission.lookups.host_name(host_of(wanted.link))

    def _named(self, wanted: PartnerRequest) -> None:
        link = wanted.link
        if self._pending.get(link) is not wanted:
            return
        del self._pending[link]
        # The link may be closed, or the peer has connected as a client meanwhile.
        if link.state != NEW:
            return
        try:
            self._answer(wanted)
        except Exception as error:
            # Input of a peer must not end the queue manager.
            link.internal_error(error)

    def _answer(self, wanted: PartnerRequest) -> None:
        try:
            user = self._decide(wanted)
        except MQError as error:
            wanted.on_refused(error)
            return
        wanted.on_admitted(user)

    # -- the decision --------------------------------------------------------------------------------------------------

    def _check_names(self, wanted: PartnerRequest) -> None:
        """MQError for an invalid name, which is not used for anything but the error log."""
        if not valid_name(wanted.name):
            self._note(wanted, f"AMQ9509E: The partner's name {_printable(wanted.name)} is not valid.")
            raise MQError(mq.MQRC_Q_MGR_NAME_ERROR, "The name of the queue manager is not valid.")
        if not valid_name(wanted.channel, _CHANNEL_LENGTH_MAX):
            self._note(
                wanted,
                f"AMQ9519E: {wanted.name} requests channel {_printable(wanted.channel)}: not a valid name.",
            )
            raise MQError(mq.MQRC_UNKNOWN_CHANNEL_NAME, "The name of the channel is not valid.")

    def _require(self, wanted: PartnerRequest) -> Definition:
        """Return the channel, if its exits and TLS attributes admit the link. MQError."""
        name = wanted.channel
        found = self._manager.engine.of_type(ObjectType.CHANNEL).get(name)
        if found is None or not is_message_channel(found) or wanted.link.is_local:
            what = "is not a message channel" if found is not None else "is not defined here"
            text = f"AMQ9519E: Channel {name}, which queue manager {wanted.name} requests, {what}."
            self._note(wanted, text)
            raise MQError(mq.MQRC_UNKNOWN_CHANNEL_NAME, f"Message channel {name} is not defined here.")
        text = check_exits(found, self._manager.settings.channels.ignores_exits)
        if text:
            self._note(wanted, text)
            raise MQError(mq.MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9535E: Channel {name} has exits and does not run.")
        try:
            check_tls(found, wanted.link)
        except MQError as error:
            self._note(wanted, error.detail)
            raise
        return found

    def _decide(self, wanted: PartnerRequest) -> str:
        """Return the user of a partner. The channel is checked again, since it may have changed meanwhile. MQError."""
        return self._user_by_rules(wanted, self._require(wanted))

    def user_of_called(self, link: ServerLink, channel: Definition, partner: str) -> str:
        """Return the user for messages of a server that a requester here has called. MQError.

        The same rules apply as to a partner that connects, except those that name hosts, since CONNAME sets the host.
        """
        return self._user_by_rules(PartnerRequest(link, channel.name, partner, _nothing, _nothing), channel)

    def _user_by_rules(self, wanted: PartnerRequest, channel: Definition) -> str:
        user = text_of(channel, "MCAUSER")
        if not self._admission.applies_rules():
            return user or self._default_user(wanted)
        link = wanted.link
        tls = link.tls if link.tls is not None and link.tls.has_certificate else None
        subject = tls.peer_subject() if tls is not None else None
        issuer = tls.peer_issuer() if tls is not None else None
        rules = self._manager.guard.rules
        decision = rules.decide(wanted.channel, host_of(link), wanted.host, "", subject, issuer, wanted.name)
        if decision.has_warning or decision.is_refused:
            self._report_blocked(wanted, decision, str(subject) if subject is not None else "")
        if decision.is_refused:
            raise MQError(mq.MQRC_NOT_AUTHORIZED, REFUSED)
        if decision.user or user:
            return decision.user or user
        return "" if decision.source == mq.MQUSRC_CHANNEL else self._default_user(wanted)

    def _default_user(self, wanted: PartnerRequest) -> str:
        """Return the user of a channel without MCAUSER and rule. MQError if that would be an administrator."""
        if self._manager.guard.is_administrator(EVERYBODY):
            self._note(
                wanted,
                f"AMQ9777E: Channel {wanted.channel}: queue manager {wanted.name} is refused. The channel has no "
                f"MCAUSER and no rule, and {EVERYBODY} administers this queue manager. "
                f"{mca_user_advice(wanted.channel)}",
            )
            raise MQError(mq.MQRC_NOT_AUTHORIZED, REFUSED)
        return EVERYBODY

    # -- reporting -----------------------------------------------------------------------------------------------------

    def _report_blocked(self, wanted: PartnerRequest, decision: Decision, peer: str) -> None:
        """Send the event Channel Blocked and write to the error log, if a rule refuses or warns."""
        address = host_of(wanted.link)
        self._admission.send_blocked_event(
            decision, mq.MQRQ_CHANNEL_BLOCKED_NOACCESS, wanted.channel, address, "", peer, wanted.name
        )
        verb = "is refused" if decision.is_refused else "would be refused, but for WARN(YES),"
        certificate = f" SSLPEER('{peer}')" if peer else ""
        self._note(
            wanted,
            f"AMQ9777E: Channel {wanted.channel}: queue manager {wanted.name} from {address} {verb} by {decision.why}. "
            f"DISPLAY CHLAUTH({wanted.channel}) MATCH(RUNCHECK) ADDRESS('{address}') QMNAME({wanted.name})"
            f"{certificate} shows which rules apply; SET CHLAUTH admits it.",
        )

    def _note(self, wanted: PartnerRequest, text: str) -> None:
        self._server.note_link(wanted.link, text)


def _nothing(_: object) -> None:
    """Callback of a request whose result is returned."""


def _printable(name: str) -> str:
    """Return a name from an unauthenticated peer in printable form, cut to a sensible length."""
    return repr(name[:_PRINTED_NAME_MAX])
