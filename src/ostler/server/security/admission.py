"""Admission of applications: from a CONNECT request to a connection with a user, or to a refusal.

Checks are made in this order: the password (CONNAUTH), if one is given or required; the channel authentication rule
that matches best (CHLAUTH), which may refuse or map the user; the list of blocked users; the authority to connect
(AUTHREC). An application without a user name after all that is `nobody`.

Password checks are expensive on purpose and host names come from DNS, so both run on threads of their own. The refusal
of a wrong password is delayed by FAILDLAY seconds without delaying anything else. The application learns only that it
is not authorized; the reason is in the error log.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from mypy_extensions import i64

from ostler.engine import authority
from ostler.engine.events import channel_events, configuration_events
from ostler.engine.queue.delivery import send_own_messages
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.authorities import CONNECT as CONNECT_AUTHORITY
from ostler.model.errors import MQError
from ostler.security.authorities import EVERYBODY
from ostler.security.channel_authentication import Decision
from ostler.security.connection_authentication import (
    AuthenticationSettings,
    authentication_settings,
    final_user,
    is_password_checked,
    mapped_user,
    refusal_reason,
)
from ostler.server.net.link import CLOSING, ServerLink
from ostler.server.net.link_status import host_of
from ostler.server.net.timers import Timer
from ostler.server.security.lookups import Lookups
from ostler.wire.connect_frames import ConnectArguments
from ostler.wire.frames import CONNECT, MalformedFrame
from ostler.wire.replies import failure_frame

if TYPE_CHECKING:
    from ostler.server.net.reactor import Reactor
    from ostler.server.queue_manager import QueueManager

REFUSED: Final = "Not authorized. The reason is in the error log of the queue manager."


class AdmissionHost(Protocol):
    """The server as admission uses it."""

    @property
    def manager(self) -> QueueManager: ...
    @property
    def reactor(self) -> Reactor: ...

    def note_link(self, link: ServerLink, why: str) -> None: ...
    def check_accepts_connections(self, link: ServerLink) -> None: ...
    def connect_application(
        self, link: ServerLink, number: int, request: int, asked: ConnectArguments, user: str, is_privileged: bool
    ) -> None: ...


class AdmissionRequest:
    """A CONNECT that is being checked, with the results so far."""

    def __init__(self, link: ServerLink, number: int, request: int, asked: ConnectArguments) -> None:
        self.link = link
        self.number = number
        self.request = request
        self.asked = asked
        self.host = ""
        self.authenticated = ""  # the user whose password was verified
        self.failure = ""  # why the password was refused


class _DelayedRefusal(Timer):
    """A refusal that is sent after FAILDLAY seconds."""

    def __init__(self, send: Callable[[], None]) -> None:
        super().__init__()
        self._send = send

    def fire(self, now_ms: i64) -> None:
        self._send()


class Admission:
    """Admits applications. Methods run on the reactor's thread under the engine's lock, unless stated otherwise."""

    def __init__(self, server: AdmissionHost) -> None:
        self._server = server
        self._manager = server.manager
        self.lookups = Lookups(server.reactor.post, server.reactor.machine)
        self._pending: dict[ServerLink, set[int]] = {}
        self.authentication: AuthenticationSettings | None = None
        self._configuration_problem = ""  # why passwords cannot be checked as CONNAUTH requires
        self.configure()

    def configure(self) -> None:
        """Read the CONNAUTH settings: at the start, and for REFRESH SECURITY TYPE(CONNAUTH)."""
        engine = self._manager.engine
        name = engine.manager.attributes.get("CONNAUTH", "")
        definition = engine.of_type(ObjectType.AUTHINFO).get(name) if isinstance(name, str) else None
        self.authentication = authentication_settings(definition)
        missing = f"the queue manager's CONNAUTH({name}) names no object that checks passwords"
        self._configuration_problem = missing if name and self.authentication is None else ""

    def close(self) -> None:
        self.lookups.close()

    def forget(self, link: ServerLink) -> None:
        """Drop what is pending for a link that has closed."""
        self._pending.pop(link, None)

    def is_admission_pending(self, link: ServerLink) -> bool:
        """Return True while an application on the link waits for admission."""
        return link in self._pending

    def blocked_address(self, address: str) -> Decision | None:
        """Return the BLOCKADDR decision for an address, or None when no rule matches."""
        if not self.applies_rules():
            return None
        decision = self._manager.guard.rules.find_blocked_address(address)
        if decision is not None:
            self.send_blocked_event(decision, mq.MQRQ_CHANNEL_BLOCKED_ADDRESS, "", address, "", "")
        return decision

    # -- requests ------------------------------------------------------------------------------------------------------

    def handle_connect(self, link: ServerLink, number: int, request: int, asked: ConnectArguments) -> None:
        """Handle a CONNECT: reply now or later. Raises MQError for a refusal at once."""
        on_link = self._pending.get(link)
        if on_link is not None:
            if number in on_link:
                raise MalformedFrame("a second CONNECT for a conversation that is being made")
            if len(link.conversations) + len(on_link) >= link.conversations_max:
                raise MalformedFrame(f"more than {link.conversations_max} conversations on one connection")
        pending = AdmissionRequest(link, number, request, asked)
        checks = (
            is_password_checked(self.authentication, link.is_local, bool(asked.password))
            if self.authentication
            else False
        )
        asks_name = bool(link.channel) and self.needs_name(link, link.channel)
        # Peers choose names, and the operating system may look them up over the network.
        is_unknown = not link.is_local and not self._manager.users.is_cached(asked.user)
        if checks or asks_name or is_unknown:
            self._start_lookups(pending, checks, asks_name)
            return
        self._admit(pending)

    def needs_name(self, link: ServerLink, channel: str) -> bool:
        """Return True when a channel authentication rule needs the host name of the link's peer."""
        if link.is_local or not self.applies_rules():
            return False
        if self._manager.engine.manager.attributes.get("REVDNS") == mq.MQRDNS_DISABLED:
            return False
        return self._manager.guard.rules.needs_host_name(channel)

    def applies_rules(self) -> bool:
        """Return True with CHLAUTH(ENABLED)."""
        return self._manager.engine.manager.attributes.get("CHLAUTH", mq.MQCHLA_ENABLED) == mq.MQCHLA_ENABLED

    # -- look-ups ------------------------------------------------------------------------------------------------------

    def _start_lookups(self, pending: AdmissionRequest, checks_password: bool, asks_name: bool) -> None:
        run = partial(self._look_up, pending, checks_password, asks_name)
        self.lookups.submit(host_of(pending.link), run, partial(self._on_lookups_done, pending))
        self._pending.setdefault(pending.link, set()).add(pending.number)

    def _look_up(self, pending: AdmissionRequest, checks_password: bool, asks_name: bool) -> None:
        """On a thread of the pool, without the lock."""
        try:
            if pending.link.state >= CLOSING:
                checks_password = asks_name = False  # the peer is gone
            if checks_password and self.authentication is not None:
                asked = pending.asked
                check = self._manager.users.check_password(self.authentication.source, asked.user, asked.password)
                if check.ok:
                    pending.authenticated = asked.user
                else:
                    pending.failure = check.why
            if asks_name:
                pending.host = self.lookups.host_name(host_of(pending.link))
            self._manager.users.groups_of(pending.link.user if pending.link.is_local else pending.asked.user)
        except Exception as error:
            # The error's text may contain the password.
            pending.failure = f"the check failed unexpectedly: {type(error).__name__}"

    def _on_lookups_done(self, pending: AdmissionRequest) -> None:
        link = pending.link
        if link.state >= CLOSING or link not in self._pending:
            self.forget(link)
            return
        try:
            self._server.check_accepts_connections(link)  # it may have stopped meanwhile
            if self._admit(pending):
                self._remove_pending(pending)
        except MQError as error:
            self._answer(pending, error.reason, error.detail)
        except Exception as error:
            # No data of a peer may bring the queue manager down.
            self._remove_pending(pending)
            link.internal_error(error)

    def _remove_pending(self, pending: AdmissionRequest) -> None:
        on_link = self._pending.get(pending.link)
        if on_link is not None:
            on_link.discard(pending.number)
            if not on_link:
                del self._pending[pending.link]

    def _answer(self, pending: AdmissionRequest, reason: int, text: str) -> None:
        link = pending.link
        self._manager.statistics_writer.refused()
        self._remove_pending(pending)
        if link.state < CLOSING:
            link.send(failure_frame(CONNECT, pending.number, pending.request, mq.MQCC_FAILED, reason, text))

    # -- the decision --------------------------------------------------------------------------------------------------

    def _admit(self, pending: AdmissionRequest) -> bool:
        """Connect the application. Returns False when it is refused later; raises MQError when it is refused now."""
        link = pending.link
        asked = pending.asked
        guard = self._manager.guard
        asserted = link.user if link.is_local else asked.user or link.user
        if pending.failure:
            text = f"AMQ5534E: The password of user {asked.user} was refused: {pending.failure}."
            self._refuse_password(pending, text)
            return False
        settings = self.authentication
        adopts = settings is not None and settings.adopts
        is_early = self._manager.settings.channels.chlauth_early_adopt
        decision: Decision | None = None
        if not link.is_local and self.applies_rules():
            decision = self._map(pending, mapped_user(asserted, pending.authenticated, adopts, is_early))
        mapped = decision.user if decision is not None else ""
        user = final_user(asserted, pending.authenticated, adopts, link.channel_user, mapped, is_early)
        self._check_name(pending, user)
        user = user or EVERYBODY
        self._check_password_given(pending, user, decision)
        if not link.is_local and self.applies_rules():
            self._check_blocked(pending, user)
        is_privileged = guard.is_administrator(user)
        if not is_privileged:
            self._check_connect(pending, user)
        self._server.connect_application(link, pending.number, pending.request, asked, user, is_privileged)
        return True

    def _map(self, pending: AdmissionRequest, user: str) -> Decision:
        """Return the channel authentication rule for a channel, an address, a certificate and a user."""
        link = pending.link
        tls = link.tls
        known = tls is not None and tls.has_certificate
        subject = tls.peer_subject() if tls is not None and known else None
        issuer = tls.peer_issuer() if tls is not None and known else None
        rules = self._manager.guard.rules
        decision = rules.decide(link.channel, host_of(link), pending.host, user, subject, issuer)
        if decision.has_warning or decision.is_refused:
            peer = str(subject) if subject is not None else ""
            self.send_blocked_event(decision, mq.MQRQ_CHANNEL_BLOCKED_NOACCESS, link.channel, host_of(link), user, peer)
            who = f"user {user} from {host_of(link)}"
            verb = "is refused" if decision.is_refused else "would be refused, but for WARN(YES),"
            self._server.note_link(
                link,
                f"AMQ9777E: Channel {link.channel}: {who} {verb} by {decision.why}.",
            )
        if decision.is_refused:
            raise MQError(mq.MQRC_NOT_AUTHORIZED, REFUSED)
        return decision

    def _check_name(self, pending: AdmissionRequest, user: str) -> None:
        """Refuse a user name that would look like another one in a message descriptor, which pads it with blanks.

        An application without a name becomes `nobody`. It is refused where a real `nobody` is an administrator.
        """
        is_taken = not user and self._manager.guard.is_administrator(EVERYBODY)
        if is_taken or not user.isprintable() or user != user.strip():
            self._server.note_link(pending.link, f"AMQ5540E: User {user[:64]!r} is refused: not a valid user name.")
            self._send_refused_event(pending, user)
            raise MQError(mq.MQRC_NOT_AUTHORIZED, REFUSED)

    def _check_password_given(self, pending: AdmissionRequest, user: str, decision: Decision | None) -> None:
        if pending.authenticated:
            return
        link = pending.link
        check = decision.check if decision is not None else mq.MQCHK_AS_Q_MGR
        is_administrator = self._manager.guard.is_administrator(user)
        has_password = bool(pending.asked.password)
        why = self._configuration_problem or refusal_reason(
            self.authentication, link.is_local, is_administrator, has_password, check
        )
        if not why and is_password_checked(self.authentication, link.is_local, has_password):
            why = "password checks were switched on while it connected; it may try again"
        if why:
            self._server.note_link(link, f"AMQ5540E: User {user} is refused: {why}.")
            self._send_refused_event(pending, user)
            raise MQError(mq.MQRC_NOT_AUTHORIZED, REFUSED)

    def _refuse_password(self, pending: AdmissionRequest, text: str) -> None:
        self._server.note_link(pending.link, text)
        self._send_refused_event(pending, pending.asked.user, pending.asked.user)
        delay = self.authentication.delay_seconds if self.authentication is not None else 0
        if delay <= 0:
            raise MQError(mq.MQRC_NOT_AUTHORIZED, REFUSED)
        link = pending.link
        self._pending.setdefault(link, set()).add(pending.number)
        timer = _DelayedRefusal(partial(self._answer, pending, mq.MQRC_NOT_AUTHORIZED, REFUSED))
        reactor = self._server.reactor
        reactor.wheel.add(timer, reactor.now_ms + delay * 1000)

    def _check_blocked(self, pending: AdmissionRequest, user: str) -> None:
        link = pending.link
        guard = self._manager.guard
        decision = guard.rules.find_blocked_user(link.channel, user, guard.is_administrator(user))
        if decision is None:
            return
        self.send_blocked_event(decision, mq.MQRQ_CHANNEL_BLOCKED_USERID, link.channel, host_of(link), user, "")
        verb = "is blocked" if decision.is_refused else "would be blocked, but for WARN(YES)"
        self._server.note_link(link, f"AMQ9776E: Channel {link.channel}: user {user} {verb}: {decision.why}.")
        if decision.is_refused:
            raise MQError(mq.MQRC_NOT_AUTHORIZED, REFUSED)

    def _check_connect(self, pending: AdmissionRequest, user: str) -> None:
        engine = self._manager.engine
        try:
            authority.require(engine, user, mq.MQOT_Q_MGR, engine.name, CONNECT_AUTHORITY)
        except MQError as error:
            self._server.note_link(pending.link, f"AMQ8077W: {error.detail}")
            self._send_refused_event(pending, user)
            raise MQError(mq.MQRC_NOT_AUTHORIZED, REFUSED) from None

    # -- events --------------------------------------------------------------------------------------------------------

    def send_blocked_event(
        self, decision: Decision, qualifier: int, channel: str, address: str, user: str, peer: str, partner: str = ""
    ) -> None:
        """Send a Channel Blocked event, or with WARN(YES) a Channel Blocked Warning."""
        engine = self._manager.engine
        made = channel_events.on_channel_blocked(
            engine, not decision.is_refused, qualifier, channel, address, user, peer, partner
        )
        send_own_messages(engine, made, None)

    def _send_refused_event(self, pending: AdmissionRequest, user: str, wrong_user: str = "") -> None:
        engine = self._manager.engine
        link, asked = pending.link, pending.asked
        address = "" if link.is_local else host_of(link)
        made = configuration_events.on_connect_refused(
            engine, user, asked.application_type, asked.application, address, link.channel, wrong_user
        )
        send_own_messages(engine, made, None)
