"""New keys in the middle of a connection: a second handshake behind the first conversation, on the same bytes."""

from __future__ import annotations

import dataclasses
import ssl
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.searching import SLOW_MACHINES, examples
from tests.world.tls_pairs import TestCertificates, make_certificates, shake_hands

from ostler.model.constants import MQRC_SSL_INITIALIZATION_ERROR, MQRC_SSL_PEER_NAME_MISMATCH
from ostler.server.tls.contexts import ChannelTls, RepositorySettings, TlsContexts
from ostler.wire.tls_stream import HANDSHAKE_BYTES_MAX, TlsFailed, TlsRules, TlsStream

CHANNEL = "QM1.TO.QM2"
SPECS = ("ECDHE_RSA_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384")
ASK, AGREE = b"new keys?", b"new keys!"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> TestCertificates:
    return make_certificates(tmp_path_factory.mktemp("tls"))


class Tickets(TlsRules):
    """The rules of a server that hands out session tickets, which come at any time behind the handshake."""

    def __init__(self, own: TlsContexts) -> None:
        self._own = own

    def context(self, channel: str) -> ssl.SSLContext:
        context = self._own.context(channel)
        context.options &= ~ssl.OP_NO_TICKET
        context.num_tickets = 2
        return context

    def check(self, stream: TlsStream) -> None:
        self._own.check(stream)


def pair(
    certificates: TestCertificates, spec: str, has_tickets: bool = False, authentication: str = "REQUIRED"
) -> tuple[TlsStream, TlsStream]:
    """Both sides before their first handshake. The one that connects has the certificate of an application."""
    asked = ChannelTls(CHANNEL, spec, authentication)
    here = RepositorySettings("QM1", certificates.manager.parent)
    contexts = TlsContexts(lambda: here, lambda _: asked)
    there = RepositorySettings("QM2", certificates.client.parent, certificates.client.name)
    server = TlsStream(Tickets(contexts), is_server=True) if has_tickets else contexts.stream()
    return TlsContexts(lambda: there, lambda _: None).client_stream(asked), server


class End:
    """One end of a connection, as a link does it: lines in, bytes out, and new keys when somebody asks for them."""

    def __init__(self, stream: TlsStream) -> None:
        self.stream = stream
        self.out = stream.take_output()
        self.heard: list[bytes] = []
        self.keys = 0
        self._said: list[bytes] = []
        self._unread = b""
        self._is_rekeying = False

    def say(self, line: bytes) -> None:
        self._said.append(line + b"\n")
        self.flush()

    def flush(self) -> None:
        if self.stream.is_ready and not self._is_rekeying:
            for line in self._said:
                self.stream.encrypt(line)
            self._said = []
        self.out += self.stream.take_output()

    def ask(self) -> None:
        self.say(ASK)
        self.end()

    def end(self) -> None:
        """End what goes out under the old keys."""
        self.flush()
        assert not self._said
        self.stream.close()
        self._is_rekeying = True
        self.flush()

    def receive(self, data: bytes) -> None:
        self._unread += self.stream.receive_data(data)
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            if line == ASK:
                self.say(AGREE)
                self.end()
            elif line != AGREE:
                self.heard.append(line)
        self.flush()
        if self._is_rekeying and self.stream.is_ended:
            self._switch()

    def _switch(self) -> None:
        old = self.stream
        assert self._unread == b""
        self.stream = old.successor()
        self._is_rekeying = False
        self.keys += 1
        self.receive(old.leftover())


class Connection:
    """Two ends, and the bytes between them."""

    def __init__(self, one: TlsStream, other: TlsStream) -> None:
        self.ends = (End(one), End(other))

    def carry(self, to: int, count: int) -> bool:
        """Let some bytes arrive. False when there are none."""
        source, target = self.ends[1 - to], self.ends[to]
        data, source.out = source.out[:count], source.out[count:]
        if data:
            target.receive(data)
        return bool(data)

    def settle(self, count: int = 1 << 20) -> None:
        for _ in range(100_000):
            if not self.carry(0, count) and not self.carry(1, count):
                return
        raise AssertionError("they do not come to an end")


def settled(certificates: TestCertificates, spec: str, has_tickets: bool) -> Connection:
    connection = Connection(*pair(certificates, spec, has_tickets))
    connection.settle()
    assert all(end.stream.is_ready for end in connection.ends)
    return connection


@pytest.mark.parametrize("has_tickets", [False, True])
@pytest.mark.parametrize("piece_bytes", [1, 7, 1 << 20])
@pytest.mark.parametrize("asking", [0, 1])
@pytest.mark.parametrize("spec", SPECS)
def test_nothing_is_lost_whoever_asks(
    certificates: TestCertificates, spec: str, asking: int, piece_bytes: int, has_tickets: bool
) -> None:
    connection = settled(certificates, spec, has_tickets)
    first = [end.stream for end in connection.ends]
    for turn in range(3):
        for end in connection.ends:
            end.say(b"before %d" % turn)
        connection.ends[asking].ask()
        for end in connection.ends:
            end.say(b"after %d" % turn)
        connection.settle(piece_bytes)
    expected = [line for turn in range(3) for line in (b"before %d" % turn, b"after %d" % turn)]
    for end, before in zip(connection.ends, first, strict=True):
        assert end.heard == expected
        assert end.keys == 3
        assert end.stream is not before
        assert end.stream.is_server == before.is_server
        assert (end.stream.channel_name, end.stream.suite) == (CHANNEL, before.suite)
        assert str(end.stream.peer_subject()) == str(before.peer_subject())


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture, *SLOW_MACHINES])
@given(data=st.data())
def test_nothing_is_lost_however_bytes_arrive(certificates: TestCertificates, spec: str, data: st.DataObject) -> None:
    connection = Connection(*pair(certificates, spec, data.draw(st.booleans())))
    if data.draw(st.booleans()):
        connection.settle()
    asking = data.draw(st.integers(0, 1))
    said: list[list[bytes]] = [[], []]
    asked = 0
    for _ in range(data.draw(st.integers(5, 40))):
        step = data.draw(st.sampled_from(["say", "carry", "carry", "ask"]))
        side = data.draw(st.integers(0, 1))
        end = connection.ends[side]
        if step == "carry":
            connection.carry(side, data.draw(st.sampled_from([1, 3, 5, 6, 24, 100, 1000, 100_000])))
        elif step == "say":
            line = b"%d %d" % (side, len(said[side]))
            said[side].append(line)
            end.say(line)
        elif all(each.stream.is_ready and each.keys == asked for each in connection.ends) and asked < 4:
            asked += 1
            event(f"new keys {asked} times")
            connection.ends[asking].ask()
    connection.settle(data.draw(st.sampled_from([1, 50, 100_000])))
    assert [connection.ends[1].heard, connection.ends[0].heard] == said
    assert [end.keys for end in connection.ends] == [asked, asked]


@pytest.mark.parametrize("spec", SPECS)
def test_what_is_behind_the_end_is_neither_lost_nor_understood(certificates: TestCertificates, spec: str) -> None:
    client, server = pair(certificates, spec)
    shake_hands(client, server)
    client.encrypt(b"last words")
    client.close()
    data = client.take_output() + b"first"
    assert server.receive_data(data[:20]) + server.receive_data(data[20:]) == b"last words"
    assert server.is_ended_by_peer
    assert server.receive_data(b" and second") == b""
    server.encrypt(b"an answer")
    server.close()
    assert client.receive_data(server.take_output()) == b"an answer"
    assert client.is_ended
    assert server.is_ended
    assert server.leftover() == b"first and second"
    assert server.leftover() == b""


@pytest.mark.parametrize("spec", SPECS)
def test_the_peer_is_understood_until_it_ends(certificates: TestCertificates, spec: str) -> None:
    client, server = pair(certificates, spec)
    shake_hands(client, server)
    server.encrypt(b"x" * 1000)
    half = server.take_output()
    assert client.receive_data(half[:500]) == b""
    client.close()
    assert client.receive_data(half[500:]) == b"x" * 1000
    for number in range(3):
        server.encrypt(b"%d" % number)
        assert client.receive_data(server.take_output()) == b"%d" % number
    assert not client.is_ended
    assert server.receive_data(client.take_output()) == b""
    assert server.is_ended_by_peer
    with pytest.raises(TlsFailed):
        client.encrypt(b"too late")


def test_only_the_beginning_of_a_handshake_is_kept(certificates: TestCertificates) -> None:
    client, server = pair(certificates, SPECS[1])
    shake_hands(client, server)
    client.close()
    server.receive_data(client.take_output())
    server.receive_data(bytes(HANDSHAKE_BYTES_MAX))
    with pytest.raises(TlsFailed, match="sends data behind the end"):
        server.receive_data(b"x")


def test_there_is_no_successor_before_both_have_ended(certificates: TestCertificates) -> None:
    client, server = pair(certificates, SPECS[1])
    with pytest.raises(AssertionError):
        client.successor()
    shake_hands(client, server)
    client.close()
    server.receive_data(client.take_output())
    for stream in (client, server):
        with pytest.raises(AssertionError):
            stream.successor()
    with pytest.raises(AssertionError):
        client.leftover()


@pytest.mark.parametrize("spec", SPECS)
def test_an_end_that_others_set_is_none(certificates: TestCertificates, spec: str) -> None:
    """Whoever is between both sides can break a connection, and not more."""
    client, server = pair(certificates, spec)
    shake_hands(client, server)
    with pytest.raises(TlsFailed):
        server.receive_data(b"\x15\x03\x03\x00\x02\x01\x00")
    assert not server.is_ended_by_peer


class Impostor(TlsRules):
    """Any context at all, and no questions."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def context(self, channel: str) -> ssl.SSLContext:
        return self._context

    def check(self, stream: TlsStream) -> None:
        return


def over(certificates: TestCertificates, spec: str, authentication: str) -> tuple[TlsStream, TlsStream]:
    """The successors of both sides."""
    client, server = pair(certificates, spec, authentication=authentication)
    shake_hands(client, server)
    client.close()
    server.close()
    server.receive_data(client.take_output())
    client.receive_data(server.take_output())
    return client.successor(), server.successor()


def context_of(place: Path, spec: str, label: str = "") -> ssl.SSLContext:
    settings = RepositorySettings("QM2", place.parent, place.name)
    return TlsContexts(lambda: settings, lambda _: None).client_context(
        ChannelTls(CHANNEL, spec, certificate_label=label)
    )


@pytest.mark.parametrize("spec", SPECS)
def test_successors_understand_each_other(certificates: TestCertificates, spec: str) -> None:
    client, server = over(certificates, spec, "REQUIRED")
    before = [(stream.cipher, stream.security_protocol, stream.peer_certificate) for stream in (client, server)]
    assert all(all(each) for each in before)  # those who look meanwhile see what was agreed on
    shake_hands(client, server)
    client.encrypt(b"under new keys")
    assert server.receive_data(client.take_output()) == b"under new keys"
    assert [(stream.cipher, stream.security_protocol, stream.peer_certificate) for stream in (client, server)] == before


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("is_known", [True, False])
def test_nobody_else_comes_in_behind_a_partner(
    certificates: TestCertificates, tmp_path: Path, spec: str, is_known: bool
) -> None:
    """Channel rules were asked about one certificate: it must be the same, though another would be accepted."""
    place = tmp_path / "key"
    if is_known:
        certificates.authority.issue(place, "other", [("CN", "app1"), ("OU", "Payments"), ("O", "Ostler")], "ec")
    else:
        place.mkdir()
        (place / "ca.crt").write_bytes(certificates.ca_file.read_bytes())
    _, server = over(certificates, spec, "OPTIONAL")
    other = TlsStream(Impostor(context_of(place, spec)), is_server=False, channel=CHANNEL)
    with pytest.raises(TlsFailed, match="sent another certificate") as caught:
        shake_hands(other, server)
    assert caught.value.reason == MQRC_SSL_PEER_NAME_MISMATCH
    assert not server.is_ready


def test_the_channel_stays_the_same(certificates: TestCertificates) -> None:
    _, server = over(certificates, SPECS[1], "REQUIRED")
    context = context_of(certificates.client, SPECS[1])
    other = TlsStream(Impostor(context), is_server=False, channel="ANOTHER")
    with pytest.raises(TlsFailed, match="AMQ9639E") as caught:
        shake_hands(other, server)
    assert caught.value.reason == MQRC_SSL_INITIALIZATION_ERROR


def test_the_suite_stays_the_same(certificates: TestCertificates) -> None:
    shake_hands(*over(certificates, "ANY_TLS12_OR_HIGHER", "REQUIRED"))
    _, server = over(certificates, "ANY_TLS12_OR_HIGHER", "REQUIRED")
    context = context_of(certificates.client, "ECDHE_RSA_AES_128_GCM_SHA256")
    other = TlsStream(Impostor(context), is_server=False, channel=CHANNEL)
    with pytest.raises(TlsFailed, match="AMQ9631E"):
        shake_hands(other, server)
    assert not server.is_ready


def test_definitions_that_change_leave_connections_alone(certificates: TestCertificates) -> None:
    """As REFRESH SECURITY does: what counts is what was agreed when the connection was made."""
    asked = [ChannelTls(CHANNEL, SPECS[1])]
    here = RepositorySettings("QM1", certificates.manager.parent)
    there = RepositorySettings("QM2", certificates.client.parent, certificates.client.name)
    contexts = TlsContexts(lambda: here, lambda _: asked[0])
    connection = Connection(TlsContexts(lambda: there, lambda _: None).client_stream(asked[0]), contexts.stream())
    connection.settle()
    asked[0] = dataclasses.replace(asked[0], cipher_spec=SPECS[0], peer_name="CN=somebody else")
    contexts.refresh()
    connection.ends[0].ask()
    connection.ends[0].say(b"still here")
    connection.settle()
    assert connection.ends[1].heard == [b"still here"]
    assert connection.ends[1].keys == 1
