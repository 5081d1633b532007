"""Which queue managers come in: from the first words on a message channel to a user, or to a refusal.

In this order: the names that the partner gives must be names; the channel must be one between queue managers; TLS must
be spoken as the channel asks; then the channel rule that fits best counts, which may refuse, or give another user than
the channel's MCAUSER. Rules look at the certificate (SSLPEERMAP), at the name of the partner (QMGRMAP) and at the
address (ADDRESSMAP). As in MQ, rules of type USERMAP and BLOCKUSER are about clients alone; so a queue manager with
the rules that it is made with lets its partners in, but for channels whose names begin with SYSTEM.

Stricter than MQ, a channel without MCAUSER puts with the queue manager's own authority only where a rule with
USERSRC(CHANNEL) says so. Where neither says anything, messages are put as `nobody`, who may do what everybody may.

A partner is told only that it is not authorized; the error log says why.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from ostler.channel.delivery import mca_user_advice
from ostler.model.attributes import ObjectType, valid_name
from ostler.model.constants import (
    MQRC_CHANNEL_NOT_AVAILABLE,
    MQRC_NOT_AUTHORIZED,
    MQRC_Q_MGR_NAME_ERROR,
    MQRC_UNKNOWN_CHANNEL_NAME,
    MQRQ_CHANNEL_BLOCKED_NOACCESS,
    MQUSRC_CHANNEL,
)
from ostler.model.definitions import Definition
from ostler.model.errors import MQError
from ostler.security.authorities import EVERYBODY
from ostler.security.channel_authentication import Decision
from ostler.server.channels.settings import check_exits, check_tls, host_of, is_message_channel, text_of
from ostler.server.net.link import CLOSING, NEW, ServerLink
from ostler.server.security.admission import REFUSED, Admission
from ostler.wire.frames import MalformedFrame

if TYPE_CHECKING:
    from ostler.server.assembly import Server

_CHANNEL_LENGTH_MAX: Final = 20
_SHOWN_MAX: Final = 64


class Partner:
    """A queue manager that wants in, and what is known of it so far."""

    def __init__(
        self,
        link: ServerLink,
        channel: str,
        name: str,
        then: Callable[[str], None],
        refused: Callable[[MQError], None],
    ) -> None:
        self.link = link
        self.channel = channel
        self.name = name
        self.then = then
        self.refused = refused
        self.host = ""


class ChannelAdmission:
    """Lets partners in. On the reactor's thread and under the engine's lock, but for what is said otherwise."""

    def __init__(self, server: Server, admission: Admission) -> None:
        """`admission` is that of the server's clients: both share the threads that ask others."""
        self._server = server
        self._manager = server.manager
        self._admission = admission
        self._pending: dict[ServerLink, Partner] = {}

    def consider(
        self,
        link: ServerLink,
        channel: str,
        partner: str,
        then: Callable[[str], None],
        refused: Callable[[MQError], None],
    ) -> None:
        """Somebody connected, and says to be queue manager `partner`: one of both is called, now or later.

        `then` gets the user in whose name messages are put; an empty one is the queue manager itself, which may do
        everything, and which a rule with USERSRC(CHANNEL) has allowed. Neither is called when the link is closed or
        used otherwise meanwhile. MalformedFrame for a link that is considered already.
        """
        if link in self._pending:
            raise MalformedFrame("a second word of who is there, before the first is answered")
        wanted = Partner(link, channel, partner, then, refused)
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
            refused(error)
            return
        then(user)

    def forget(self, link: ServerLink) -> None:
        """A link is gone; what it waits for will find that out."""
        self._pending.pop(link, None)

    def is_considering(self, link: ServerLink) -> bool:
        """Whether a partner on a link waits to be let in."""
        return link in self._pending

    # -- the name of the host ------------------------------------------------------------------------------------------

    def _ask_name(self, wanted: Partner) -> None:
        """On a thread of the pool, without the lock."""
        if wanted.link.state < CLOSING:
            wanted.host = self._admission.lookups.host_name(host_of(wanted.link))

    def _named(self, wanted: Partner) -> None:
        link = wanted.link
        if self._pending.get(link) is not wanted:
            return
        del self._pending[link]
        # It may be gone, or the peer went on as a client without waiting, and then it is nobody's message channel.
        if link.state != NEW:
            return
        try:
            self._answer(wanted)
        except Exception as error:
            # Nobody brings the queue manager down by what they say of themselves.
            link.internal_error(error)

    def _answer(self, wanted: Partner) -> None:
        try:
            user = self._decide(wanted)
        except MQError as error:
            wanted.refused(error)
            return
        wanted.then(user)

    # -- the decision --------------------------------------------------------------------------------------------------

    def _check_names(self, wanted: Partner) -> None:
        """MQError for what cannot be a name. Nothing else is done with it, but that the operator sees it."""
        if not valid_name(wanted.name):
            self._note(wanted, f"AMQ9509E: The other side says that its name is {_shown(wanted.name)}: that is none.")
            raise MQError(MQRC_Q_MGR_NAME_ERROR, "What was given as the name of a queue manager is none.")
        if not valid_name(wanted.channel, _CHANNEL_LENGTH_MAX):
            self._note(wanted, f"AMQ9519E: {wanted.name} asks for channel {_shown(wanted.channel)}: that is no name.")
            raise MQError(MQRC_UNKNOWN_CHANNEL_NAME, "What was given as the name of a channel is none.")

    def _require(self, wanted: Partner) -> Definition:
        """The channel, for a link that speaks TLS as it asks. MQError."""
        name = wanted.channel
        found = self._manager.engine.of_type(ObjectType.CHANNEL).get(name)
        if found is None or not is_message_channel(found) or wanted.link.is_local:
            what = "is none between queue managers" if found is not None else "is not defined here"
            text = f"AMQ9519E: Channel {name}, which queue manager {wanted.name} asks for, {what}."
            self._note(wanted, text)
            raise MQError(MQRC_UNKNOWN_CHANNEL_NAME, f"There is no message channel {name} here.")
        text = check_exits(found, self._manager.settings.channels.ignores_exits)
        if text:
            self._note(wanted, text)
            raise MQError(MQRC_CHANNEL_NOT_AVAILABLE, f"AMQ9535E: Channel {name} has exits and does not run.")
        try:
            check_tls(found, wanted.link)
        except MQError as error:
            self._note(wanted, error.detail)
            raise
        return found

    def _decide(self, wanted: Partner) -> str:
        """The user of a partner. MQError. The channel is looked at again: much may have happened meanwhile."""
        return self._user_by_rules(wanted, self._require(wanted))

    def user_of_called(self, link: ServerLink, channel: Definition, partner: str) -> str:
        """The user for messages of a server that a requester here has called. MQError.

        The same rules count as for a partner that connects, but for those that name hosts: CONNAME says where it is.
        """
        return self._user_by_rules(Partner(link, channel.name, partner, _nothing, _nothing), channel)

    def _user_by_rules(self, wanted: Partner, channel: Definition) -> str:
        user = text_of(channel, "MCAUSER")
        if not self._admission.applies_rules():
            return user or self._unnamed(wanted)
        link = wanted.link
        tls = link.tls if link.tls is not None and link.tls.has_certificate else None
        subject = tls.peer_subject() if tls is not None else None
        issuer = tls.peer_issuer() if tls is not None else None
        rules = self._manager.guard.rules
        decision = rules.decide(wanted.channel, host_of(link), wanted.host, "", subject, issuer, wanted.name)
        if decision.has_warning or decision.is_refused:
            self._tell(wanted, decision, str(subject) if subject is not None else "")
        if decision.is_refused:
            raise MQError(MQRC_NOT_AUTHORIZED, REFUSED)
        if decision.user or user:
            return decision.user or user
        return "" if decision.source == MQUSRC_CHANNEL else self._unnamed(wanted)

    def _unnamed(self, wanted: Partner) -> str:
        """The user of a channel for which nobody has named one. MQError where that would be an administrator."""
        if self._manager.guard.is_administrator(EVERYBODY):
            self._note(
                wanted,
                f"AMQ9777E: Channel {wanted.channel}: queue manager {wanted.name} is refused. The channel has no "
                f"MCAUSER and no rule, and {EVERYBODY} administers this queue manager. "
                f"{mca_user_advice(wanted.channel)}",
            )
            raise MQError(MQRC_NOT_AUTHORIZED, REFUSED)
        return EVERYBODY

    # -- telling -------------------------------------------------------------------------------------------------------

    def _tell(self, wanted: Partner, decision: Decision, peer: str) -> None:
        """What a rule refuses, or would, is an event and a note."""
        address = host_of(wanted.link)
        self._admission.send_blocked_event(
            decision, MQRQ_CHANNEL_BLOCKED_NOACCESS, wanted.channel, address, "", peer, wanted.name
        )
        verb = "is refused" if decision.is_refused else "would be refused, but for WARN(YES),"
        certificate = f" SSLPEER('{peer}')" if peer else ""
        self._note(
            wanted,
            f"AMQ9777E: Channel {wanted.channel}: queue manager {wanted.name} from {address} {verb} by {decision.why}. "
            f"DISPLAY CHLAUTH({wanted.channel}) MATCH(RUNCHECK) ADDRESS('{address}') QMNAME({wanted.name})"
            f"{certificate} shows which rules count; SET CHLAUTH lets it in if it is to come in.",
        )

    def _note(self, wanted: Partner, text: str) -> None:
        self._server.note_link(wanted.link, text)


def _nothing(_: object) -> None:
    """For a partner that waits for no answer."""


def _shown(name: str) -> str:
    """What a stranger gives as a name, as far as it is worth a line."""
    return repr(name[:_SHOWN_MAX])
