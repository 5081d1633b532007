"""The TLS contexts of a queue manager, chosen by the channel that a connection names.

The connecting side is the TLS client, whether an application or the end of a message channel that starts; the side that
accepts is the TLS server. A queue manager is both, with the same certificates.

A context is made for each combination of side, CipherSpec, client authentication and certificate when the first
connection needs it, and is kept. A refresh makes all of them again from the current files; if any cannot be made,
nothing changes. Open connections are not affected.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ostler.model import constants as mq
from ostler.model.attributes import ObjectType, to_text
from ostler.model.attributes import require as require_attribute
from ostler.model.cipher_specs import CipherSpec, require
from ostler.model.definitions import Definition
from ostler.model.distinguished_names import matches
from ostler.model.errors import MQError
from ostler.server.tls.key_repository import (
    KeyRepository,
    OwnCertificate,
    RepositoryError,
    default_labels,
    load_repository,
)
from ostler.server.tls.self_test import self_test_client, self_test_server
from ostler.server.tls.suites import check_suite, new_context
from ostler.wire.tls_stream import (
    ALERT_ACCESS_DENIED,
    ALERT_MISSING_EXTENSION,
    ALERT_UNRECOGNIZED_NAME,
    TlsFailed,
    TlsRules,
    TlsStream,
)

DEFAULT_REPOSITORY: Final = "key"
# OpenSSL caches sessions of TLS 1.2 although none is ever resumed, and `ssl` cannot switch that off.
SESSIONS_MAX: Final = 1_024
_VERIFY_MODES: Final = {
    "REQUIRED": ssl.CERT_REQUIRED,
    "OPTIONAL": ssl.CERT_OPTIONAL,
    "NEVER": ssl.CERT_NONE,
}


@dataclass(frozen=True)
class ChannelTls:
    """The TLS attributes of a channel. A channel with a blank `cipher_spec` does not use TLS."""

    name: str
    cipher_spec: str = ""
    client_authentication: str = "REQUIRED"
    peer_name: str = ""
    certificate_label: str = ""

    @staticmethod
    def of(channel: Definition) -> ChannelTls:
        """Return the TLS attributes of a CHANNEL definition."""
        authentication = channel.attributes.get("SSLCAUTH", 0)
        return ChannelTls(
            channel.name,
            _text(channel, "SSLCIPH"),
            to_text(require_attribute(ObjectType.CHANNEL, "SSLCAUTH"), authentication),
            _text(channel, "SSLPEER"),
            _text(channel, "CERTLABL"),
        )


@dataclass(frozen=True)
class RepositorySettings:
    """The location of a queue manager's certificates. `directory` is its `ssl` directory, used for a blank SSLKEYR."""

    queue_manager: str
    directory: Path
    key_repository: str = ""
    certificate_label: str = ""
    password: str = field(default="", repr=False)

    @staticmethod
    def of(manager: Definition, queue_manager_directory: Path) -> RepositorySettings:
        """Return the TLS attributes of the QMGR definition."""
        return RepositorySettings(
            manager.name,
            queue_manager_directory / "ssl",
            _text(manager, "SSLKEYR"),
            _text(manager, "CERTLABL"),
            _text(manager, "KEYRPWD"),
        )

    @property
    def path(self) -> Path:
        """The path in SSLKEYR; a relative one is below the queue manager's `ssl` directory."""
        return self.directory / (self.key_repository or DEFAULT_REPOSITORY)


_MANAGER_ATTRIBUTES: Final = ("SSLKEYR", "CERTLABL", "KEYRPWD")

# Is it the server's side, CipherSpec, client authentication, label.
_ContextKey = tuple[bool, str, str, str]


class _Loaded:
    """A loaded key repository, and the contexts made from it."""

    def __init__(self, settings: RepositorySettings, sessions_max: int) -> None:
        self.settings = settings
        self.sessions_max = sessions_max
        self.repository: KeyRepository = load_repository(settings.path, settings.password)
        self.contexts: dict[_ContextKey, ssl.SSLContext] = {}

    def context(self, key: _ContextKey) -> ssl.SSLContext:
        """Return the context for a combination, made when needed. Raises RepositoryError and MQError."""
        known = self.contexts.get(key)
        if known is not None and known.session_stats()["number"] < self.sessions_max:
            return known
        is_server, cipher_spec, client_authentication, label = key
        if is_server:
            made = self._make_server(cipher_spec, client_authentication, label)
        else:
            made = self._make_client(cipher_spec, label)
        self.contexts[key] = made
        return made

    def _make_server(self, cipher_spec: str, client_authentication: str, label: str) -> ssl.SSLContext:
        certificate = self._certificate(label)
        if certificate is None:
            raise RepositoryError(self._missing_certificate_text(label))
        context = new_context(require(cipher_spec), is_server=True)
        self.repository.load_certificate(context, certificate)
        self_test_server(context, cipher_spec, certificate)
        if client_authentication == "REQUIRED" and not self.repository.authorities:
            raise RepositoryError(
                f"{self.repository.path} holds no certificate of an authority (ca.crt) to verify clients with, "
                f"and SSLCAUTH is REQUIRED"
            )
        self.repository.load_trust(context)
        context.verify_mode = _VERIFY_MODES.get(client_authentication, ssl.CERT_REQUIRED)
        return context

    def _make_client(self, cipher_spec: str, label: str) -> ssl.SSLContext:
        certificate = self._certificate(label)
        if certificate is None and (label or self.settings.certificate_label):
            raise RepositoryError(self._missing_certificate_text(label))
        if not self.repository.authorities:
            raise RepositoryError(
                f"{self.repository.path} holds no certificate of an authority (ca.crt) to verify the partner with"
            )
        context = new_context(require(cipher_spec), is_server=False)
        # Without a certificate here the partner decides: it may have SSLCAUTH(OPTIONAL).
        if certificate is not None:
            self.repository.load_certificate(context, certificate)
            self_test_client(self.repository, certificate)
        self.repository.load_trust(context)
        return context

    def _certificate(self, label: str) -> OwnCertificate | None:
        wanted = label or self.settings.certificate_label
        return self.repository.find(wanted, default_labels(self.settings.queue_manager))

    def _missing_certificate_text(self, label: str) -> str:
        wanted = label or self.settings.certificate_label
        defaults = default_labels(self.settings.queue_manager)
        names = repr(wanted) if wanted else " or ".join([repr(each) for each in defaults])
        there = ", ".join(sorted(self.repository.certificates)) or "none"
        return f"{self.repository.path} holds no certificate with its key under label {names}; there are: {there}"


class TlsContexts(TlsRules):
    """The TLS rules of all channels of a queue manager. Used by one thread at a time."""

    def __init__(
        self,
        settings: Callable[[], RepositorySettings],
        find_channel: Callable[[str], ChannelTls | None],
        sessions_max: int = SESSIONS_MAX,
    ) -> None:
        """Both are called each time, so that altered definitions apply to the next connection."""
        self._settings = settings
        self._find_channel = find_channel
        self._sessions_max = sessions_max
        self._loaded: _Loaded | None = None

    def stream(self) -> TlsStream:
        """Return the stream of an accepted connection. Its channel is known after the handshake, before HELLO."""
        return TlsStream(self, is_server=True)

    def client_stream(self, channel: ChannelTls) -> TlsStream:
        """Return the stream of a message channel that connects; it has output at once. Raises TlsFailed."""
        return TlsStream(_PartnerRules(self, channel), is_server=False, channel=channel.name)

    def context(self, channel: str) -> ssl.SSLContext:
        asked = self._channel(channel)
        return self._context((True, asked.cipher_spec, asked.client_authentication, asked.certificate_label), channel)

    def client_context(self, asked: ChannelTls) -> ssl.SSLContext:
        """Return the context of a channel that connects. Raises TlsFailed."""
        return self._context((False, asked.cipher_spec, "", asked.certificate_label), asked.name)

    def _context(self, key: _ContextKey, channel: str) -> ssl.SSLContext:
        try:
            if self._loaded is None:
                self._loaded = _Loaded(self._settings(), self._sessions_max)
            return self._loaded.context(key)
        except RepositoryError as error:
            raise TlsFailed(
                mq.MQRC_KEY_REPOSITORY_ERROR,
                f"AMQ9657E: for channel {channel}, {error}. Correct it, then REFRESH SECURITY TYPE(SSL).",
            ) from None
        except MQError as error:
            raise TlsFailed(
                error.reason, f"AMQ9635E: for channel {channel}: {error.detail} ALTER CHANNEL with another SSLCIPH."
            ) from None

    def check(self, stream: TlsStream) -> None:
        # Read again: the channel may have been altered during the handshake.
        asked = self._channel(stream.channel_name)
        check_suite(_spec(asked), stream)
        if asked.client_authentication == "REQUIRED" and not stream.has_certificate:
            raise TlsFailed(
                mq.MQRC_SSL_INITIALIZATION_ERROR,
                f"AMQ9637E: the other side of channel {asked.name} sent no certificate, and SSLCAUTH is REQUIRED.",
            )
        check_peer_name(asked.peer_name, stream)

    def refresh(self) -> str:
        """Load everything again, and return a sentence on the result. Raises MQError, and then nothing has changed."""
        settings = self._settings()
        try:
            fresh = _Loaded(settings, self._sessions_max)
            # All contexts in use must work with the new files, or none is replaced.
            for key in self._loaded.contexts if self._loaded is not None else ():
                fresh.context(key)
            for certificate in fresh.repository.certificates.values():
                fresh.repository.load_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), certificate)
        except (RepositoryError, MQError) as error:
            if self._loaded is None and not _exists(settings.path):
                return f"There is no key repository {settings.path}; no channel uses TLS yet."
            detail = error.detail if isinstance(error, MQError) else f"{error}."
            kept = "The certificates that were loaded before stay in use." if self._loaded is not None else ""
            raise MQError(mq.MQRC_KEY_REPOSITORY_ERROR, f"AMQ9657E: {detail} {kept}".strip()) from None
        self._loaded = fresh
        count = len(fresh.repository.certificates)
        return f"{count} certificate{'' if count == 1 else 's'} loaded from {fresh.repository.path}."

    def _channel(self, name: str) -> ChannelTls:
        if not name:
            raise TlsFailed(
                mq.MQRC_SSL_INITIALIZATION_ERROR,
                "AMQ9639E: the other side uses TLS, but its handshake names no channel (SNI).",
                ALERT_MISSING_EXTENSION,
            )
        found = self._find_channel(name)
        if found is None:
            raise TlsFailed(
                mq.MQRC_UNKNOWN_CHANNEL_NAME, f"AMQ9519E: there is no channel {name}.", ALERT_UNRECOGNIZED_NAME
            )
        if not found.cipher_spec:
            raise TlsFailed(
                mq.MQRC_SSL_INITIALIZATION_ERROR,
                f"AMQ9635E: the other side of channel {name} uses TLS; the channel has no CipherSpec (SSLCIPH) here.",
                ALERT_ACCESS_DENIED,
            )
        return found


def check_peer_name(pattern: str, stream: TlsStream) -> None:
    """Raise TlsFailed when the name in the peer's certificate does not match SSLPEER."""
    if not pattern:
        return
    subject = stream.peer_subject()
    try:
        is_welcome = matches(pattern, subject)
    except ValueError as error:
        raise TlsFailed(
            mq.MQRC_SSL_PEER_NAME_ERROR, f"AMQ9640E: SSLPEER({pattern}) of channel {stream.channel_name}: {error}."
        ) from None
    if not is_welcome:
        shown = str(subject) if stream.has_certificate else "no certificate"
        raise TlsFailed(
            mq.MQRC_SSL_PEER_NAME_MISMATCH,
            f"AMQ9636E: the peer of channel {stream.channel_name} has {shown}; SSLPEER requires {pattern}.",
        )


def plaintext_refusal(channel: str) -> str:
    """Return the error for a peer without TLS on a channel that has a CipherSpec."""
    return (
        f"AMQ9639E: the other side of channel {channel} does not use TLS, and the channel has a CipherSpec here. "
        f"SSLCIPH must suit on both sides."
    )


def channel_mismatch(stream: TlsStream, channel: str) -> str:
    """Return why a conversation may not use this channel, or empty: TLS was negotiated for one channel only."""
    if stream.channel_name == channel:
        return ""
    return f"AMQ9639E: the TLS handshake named channel {stream.channel_name}, the conversation is for {channel}."


class _PartnerRules(TlsRules):
    """The rules of a message channel that connects, as its definition was when it started."""

    def __init__(self, contexts: TlsContexts, asked: ChannelTls) -> None:
        self._contexts = contexts
        self._asked = asked

    def context(self, channel: str) -> ssl.SSLContext:
        return self._contexts.client_context(self._asked)

    def check(self, stream: TlsStream) -> None:
        check_suite(_spec(self._asked), stream)
        check_peer_name(self._asked.peer_name, stream)


def _spec(asked: ChannelTls) -> CipherSpec:
    try:
        return require(asked.cipher_spec)
    except MQError as error:
        raise TlsFailed(error.reason, f"AMQ9635E: for channel {asked.name}: {error.detail}") from None


def _text(definition: Definition, name: str) -> str:
    return str(definition.attributes.get(name, "")).strip()


def _exists(path: Path) -> bool:
    return path.exists() or path.with_name(path.name + ".pem").exists()
