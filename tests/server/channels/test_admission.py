"""Admission of partner queue managers on message channels, and the users their messages are put as."""

from __future__ import annotations

import getpass
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.searching import SLOW_MACHINES, examples
from tests.server.channels.support.channel_routes import eventually
from tests.world.tls_pairs import shake_hands

from ostler.model import constants as mq
from ostler.model.attributes import valid_name
from ostler.model.errors import MQError
from ostler.model.pcf import Integer, PcfMessage, String, decode
from ostler.server.channels.admission import ChannelAdmission
from ostler.server.net.link import CLOSING, OPEN, ServerLink
from ostler.server.security.admission import Admission
from ostler.server.tls.certificate_maker import Authority
from ostler.server.tls.contexts import ChannelTls, RepositorySettings, TlsContexts
from ostler.testing import queue_manager
from ostler.testing.running import RunningQueueManager
from ostler.wire.frames import MalformedFrame
from ostler.wire.tls_stream import TlsStream

CHANNEL = "FAR.TO.HERE"
SECURE = "FAR.TO.HERE.TLS"
ANY = "ANY_TLS12_OR_HIGHER"
ADDRESS = "192.0.2.7"
_KNOCKED = "somebody knocked"
EVENTS = "SYSTEM.ADMIN.CHANNEL.EVENT"
DEFINITIONS = f"""
DEFINE CHANNEL({CHANNEL}) CHLTYPE(RCVR)
DEFINE CHANNEL({SECURE}) CHLTYPE(RCVR) SSLCIPH({ANY}) SSLCAUTH(OPTIONAL)
DEFINE CHANNEL(ASKED) CHLTYPE(SVR) XMITQ(SYSTEM.CLUSTER.TRANSMIT.QUEUE)
"""


@pytest.fixture(scope="module")
def running() -> Iterator[RunningQueueManager]:
    with queue_manager("HERE", mqsc=DEFINITIONS, guarded=True) as found:
        yield found


@pytest.fixture
def qm(running: RunningQueueManager) -> Iterator[RunningQueueManager]:
    """A queue manager as it is made, with a receiver."""
    with running.isolated():
        yield running


class Door:
    """Where partners knock: the admission of a queue manager, and links that come from where a test says."""

    def __init__(self, qm: RunningQueueManager) -> None:
        self.qm = qm
        with qm.manager.lock:
            self.shared = Admission(qm.server)
            self.admission = ChannelAdmission(qm.server, self.shared)
        self.answers: list[str | MQError] = []
        self.answered = threading.Event()
        self._sockets: list[socket.socket] = []

    def link(self, address: str = ADDRESS, tls: TlsStream | None = None, is_local: bool = False) -> ServerLink:
        ours, theirs = socket.socketpair()
        self._sockets += [ours, theirs]
        link = ServerLink(self.qm.server.reactor, ours, f"{address}(1414)", is_local)
        link.tls = tls
        return link

    def answer(self, answer: str | MQError) -> None:
        self.answers.append(answer)
        self.answered.set()

    def knock(self, link: ServerLink, partner: str = "FAR", channel: str = CHANNEL) -> None:
        # What was said before is not said again at once.
        self.qm.server.notes.forget()
        self.qm.manager.notices.append(_KNOCKED)
        with self.qm.manager.lock:
            self.admission.consider(link, channel, partner, self.answer, self.answer)

    def user(
        self, partner: str = "FAR", channel: str = CHANNEL, address: str = ADDRESS, tls: TlsStream | None = None
    ) -> str:
        """The user that a partner gets; MQError when it is refused."""
        self.answers.clear()
        self.answered.clear()
        self.knock(self.link(address, tls), partner, channel)
        assert self.answered.wait(30)
        (answer,) = self.answers
        if isinstance(answer, MQError):
            raise answer
        return answer

    def refused(
        self, partner: str = "FAR", channel: str = CHANNEL, address: str = ADDRESS, tls: TlsStream | None = None
    ) -> str:
        """Knock in vain; what the error log says of it."""
        with pytest.raises(MQError) as caught:
            self.user(partner, channel, address, tls)
        assert caught.value.reason == mq.MQRC_NOT_AUTHORIZED
        # The partner learns nothing of why.
        assert "error log" in caught.value.detail
        return "\n".join(self.notes())

    def notes(self) -> list[str]:
        """What the error log says since somebody knocked."""
        notices = self.qm.manager.notices
        return notices[len(notices) - notices[::-1].index(_KNOCKED) :]

    def close(self) -> None:
        self.shared.close()
        for sock in self._sockets:
            sock.close()


@pytest.fixture
def door(qm: RunningQueueManager) -> Iterator[Door]:
    made = Door(qm)
    try:
        yield made
    finally:
        made.close()


# -- without rules of its own ------------------------------------------------------------------------------------------


def test_a_new_queue_manager_lets_partners_in_as_nobody(door: Door, qm: RunningQueueManager) -> None:
    """The rule that keeps administrators out is about clients."""
    assert door.user() == "nobody"
    qm.mqsc(f"SET CHLAUTH({CHANNEL}) TYPE(QMGRMAP) QMNAME(FAR) USERSRC(CHANNEL)")
    assert door.user() == ""
    assert door.user(channel="ASKED") == "nobody"


def test_channels_of_the_system_are_closed(door: Door) -> None:
    assert "AMQ9777E: Channel SYSTEM.DEF.RECEIVER" in door.refused(channel="SYSTEM.DEF.RECEIVER")


def test_the_user_of_the_channel_counts(door: Door, qm: RunningQueueManager) -> None:
    qm.mqsc(f"ALTER CHANNEL({CHANNEL}) CHLTYPE(RCVR) MCAUSER('carrier')")
    assert door.user() == "carrier"
    qm.mqsc("ALTER QMGR CHLAUTH(DISABLED)")
    assert door.user() == "carrier"


@pytest.mark.parametrize("user", ["mqm", getpass.getuser(), "blocked"])
def test_blocked_users_are_about_clients(door: Door, qm: RunningQueueManager, user: str) -> None:
    qm.mqsc(
        f"SET CHLAUTH({CHANNEL}) TYPE(BLOCKUSER) USERLIST('*MQADMIN','blocked')\n"
        f"ALTER CHANNEL({CHANNEL}) CHLTYPE(RCVR) MCAUSER('{user}')"
    )
    assert door.user() == user


def test_rules_for_users_are_about_clients(door: Door, qm: RunningQueueManager) -> None:
    qm.mqsc(f"SET CHLAUTH({CHANNEL}) TYPE(USERMAP) CLNTUSER('FAR') USERSRC(NOACCESS)")
    assert door.user() == "nobody"


# -- rules -------------------------------------------------------------------------------------------------------------


def test_addresses_are_refused_and_mapped(door: Door, qm: RunningQueueManager) -> None:
    qm.mqsc("SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS)")
    note = door.refused()
    assert f"AMQ9777E: Channel {CHANNEL}: queue manager FAR from {ADDRESS} is refused by the channel " in note
    # What it says to do can be done.
    command = note[note.index("DISPLAY CHLAUTH") : note.index(" shows which rules apply")]
    assert "NOACCESS" in " ".join(qm.mqsc(command))
    qm.mqsc(f"SET CHLAUTH('{CHANNEL}') TYPE(ADDRESSMAP) ADDRESS('192.0.2.*') USERSRC(MAP) MCAUSER('near')")
    assert door.user() == "near"
    door.refused(address="192.0.3.7")


def test_partners_are_known_by_name(door: Door, qm: RunningQueueManager) -> None:
    qm.mqsc("""
        SET CHLAUTH('*') TYPE(QMGRMAP) QMNAME('*') USERSRC(NOACCESS)
        SET CHLAUTH('*') TYPE(QMGRMAP) QMNAME('FAR') USERSRC(MAP) MCAUSER('far')
        SET CHLAUTH('*') TYPE(QMGRMAP) QMNAME('FAR.*') USERSRC(MAP) MCAUSER('farther')
        SET CHLAUTH('*') TYPE(QMGRMAP) QMNAME('FAR.AWAY') ADDRESS('198.51.100.*') USERSRC(MAP) MCAUSER('elsewhere')
    """)
    assert door.user("FAR") == "far"
    assert door.user("FAR.OFF") == "farther"
    assert door.user("FAR.AWAY", address="198.51.100.1") == "elsewhere"
    assert door.user("FAR.AWAY") == "farther"
    for other in ("FARTHER", "far", "NEAR"):
        assert f"queue manager {other} from" in door.refused(other)


def test_a_name_counts_for_more_than_an_address(door: Door, qm: RunningQueueManager) -> None:
    qm.mqsc(f"""
        SET CHLAUTH({CHANNEL}) TYPE(ADDRESSMAP) ADDRESS('{ADDRESS}') USERSRC(MAP) MCAUSER('by address')
        SET CHLAUTH({CHANNEL}) TYPE(QMGRMAP) QMNAME('F*') USERSRC(MAP) MCAUSER('by name')
    """)
    assert door.user() == "by name"
    assert door.user("NEAR") == "by address"


def test_a_closer_channel_counts_for_more_than_a_name(door: Door, qm: RunningQueueManager, certificates: Path) -> None:
    qm.mqsc(f"""
        SET CHLAUTH('FAR.*') TYPE(QMGRMAP) QMNAME('FAR') USERSRC(NOACCESS)
        SET CHLAUTH({CHANNEL}) TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(CHANNEL)
    """)
    assert door.user() == ""
    assert "TYPE(QMGRMAP) QMNAME(FAR)" in door.refused(channel=SECURE, tls=secured(certificates, anonymous=True))


def test_the_channel_may_keep_its_user(door: Door, qm: RunningQueueManager) -> None:
    qm.mqsc(f"""
        ALTER CHANNEL({CHANNEL}) CHLTYPE(RCVR) MCAUSER('carrier')
        SET CHLAUTH('*') TYPE(QMGRMAP) QMNAME('FAR') USERSRC(CHANNEL)
        SET CHLAUTH('*') TYPE(QMGRMAP) QMNAME('NEAR') USERSRC(MAP) MCAUSER('near')
    """)
    assert door.user("FAR") == "carrier"
    assert door.user("NEAR") == "near"


def test_a_rule_that_warns_lets_in(door: Door, qm: RunningQueueManager) -> None:
    qm.mqsc("""
        ALTER QMGR CHLEV(ENABLED)
        SET CHLAUTH('*') TYPE(QMGRMAP) QMNAME('FAR') USERSRC(NOACCESS) WARN(YES)
        SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(MAP) MCAUSER('next')
    """)
    assert door.user() == "next"
    assert "would be refused, but for WARN(YES)" in "\n".join(door.notes())
    (event,) = events(qm)
    assert event.header.reason == mq.MQRC_CHANNEL_BLOCKED_WARNING


def test_rules_can_be_switched_off(door: Door, qm: RunningQueueManager) -> None:
    qm.mqsc("SET CHLAUTH('*') TYPE(QMGRMAP) QMNAME('*') USERSRC(NOACCESS)")
    door.refused()
    qm.mqsc("ALTER QMGR CHLAUTH(DISABLED)")
    assert door.user() == "nobody"


def events(qm: RunningQueueManager) -> list[PcfMessage]:
    found: list[PcfMessage] = []
    while (message := qm.get(EVENTS)) is not None:
        found.append(decode(message.data))
    return found


def test_who_is_refused_is_an_event(door: Door, qm: RunningQueueManager) -> None:
    qm.mqsc("SET CHLAUTH('*') TYPE(QMGRMAP) QMNAME('FAR') USERSRC(NOACCESS)")
    door.refused()
    assert events(qm) == []
    qm.mqsc("ALTER QMGR CHLEV(EXCEPTION)")
    door.refused()
    (event,) = events(qm)
    assert event.header.reason == mq.MQRC_CHANNEL_BLOCKED
    found = {each.parameter: each.value for each in event.parameters if isinstance(each, (Integer, String))}
    assert found[mq.MQIACF_REASON_QUALIFIER] == mq.MQRQ_CHANNEL_BLOCKED_NOACCESS
    assert str(found[mq.MQCACH_CHANNEL_NAME]).strip() == CHANNEL
    assert found[mq.MQCACH_CONNECTION_NAME] == ADDRESS


# -- certificates ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("certificates")
    authority = Authority(top / "ca")
    authority.create("Both", "ec")
    authority.issue(top / "HERE" / "key", "here", [("CN", "HERE")], "ec")
    authority.issue(top / "FAR" / "key", "far", [("CN", "FAR"), ("OU", "Partners"), ("O", "Ostler")], "ec")
    (top / "nobody" / "key").mkdir(parents=True)
    shutil.copyfile(authority.certificate, top / "nobody" / "key" / "ca.crt")
    return top


def secured(top: Path, channel: str = SECURE, anonymous: bool = False) -> TlsStream:
    """The queue manager's side of a handshake on a channel, with a partner that has a certificate or none."""
    asked = ChannelTls(channel, ANY, "OPTIONAL")
    here = TlsContexts(lambda: RepositorySettings("HERE", top / "HERE"), lambda _: asked)
    place = RepositorySettings("FAR", top / ("nobody" if anonymous else "FAR"))
    stream = here.stream()
    shake_hands(TlsContexts(lambda: place, lambda _: None).client_stream(asked), stream)
    return stream


def test_a_certificate_counts_for_more_than_a_name(door: Door, qm: RunningQueueManager, certificates: Path) -> None:
    qm.mqsc(f"""
        SET CHLAUTH({SECURE}) TYPE(QMGRMAP) QMNAME('FAR') USERSRC(MAP) MCAUSER('by name')
        SET CHLAUTH({SECURE}) TYPE(SSLPEERMAP) SSLPEER('CN=FAR,OU=Part*') SSLCERTI('CN=Both') +
          USERSRC(MAP) MCAUSER('by certificate')
        SET CHLAUTH({SECURE}) TYPE(SSLPEERMAP) SSLPEER('CN=FAR') SSLCERTI('CN=Others') USERSRC(NOACCESS)
    """)
    assert door.user(channel=SECURE, tls=secured(certificates)) == "by certificate"
    assert door.user(channel=SECURE, tls=secured(certificates, anonymous=True)) == "by name"
    assert door.user("OTHER", SECURE, tls=secured(certificates)) == "by certificate"


def test_a_certificate_is_refused(door: Door, qm: RunningQueueManager, certificates: Path) -> None:
    qm.mqsc(f"""
        ALTER QMGR CHLEV(ENABLED)
        SET CHLAUTH({SECURE}) TYPE(SSLPEERMAP) SSLPEER('OU=Partners') USERSRC(NOACCESS)
    """)
    note = door.refused(channel=SECURE, tls=secured(certificates))
    assert "CN=FAR,OU=Partners,O=Ostler') shows which rules apply" in note
    found = {each.parameter: each.value for each in events(qm)[0].parameters if isinstance(each, String)}
    assert "CN=FAR,OU=Partners" in str(found[mq.MQCACH_SSL_PEER_NAME])
    assert door.user(channel=SECURE, tls=secured(certificates, anonymous=True)) == "nobody"


def test_tls_must_be_spoken_as_the_channel_asks(door: Door, certificates: Path) -> None:
    with pytest.raises(MQError) as caught:
        door.user(channel=SECURE)
    assert caught.value.reason == mq.MQRC_SSL_INITIALIZATION_ERROR
    assert "does not use TLS" in "\n".join(door.notes())
    with pytest.raises(MQError, match="handshake named channel OTHER"):
        door.user(channel=SECURE, tls=secured(certificates, "OTHER"))


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["", " ", "FAR ", "F R", "FAR*", "*", "F" * 49, "FAR\0", "FÄR", "FAR\nAMQ8004I", "FAR'", "FAR)", "\uff26AR"]
)
def test_what_is_no_name_of_a_queue_manager(door: Door, qm: RunningQueueManager, name: str) -> None:
    qm.mqsc("SET CHLAUTH('*') TYPE(QMGRMAP) QMNAME('*') USERSRC(CHANNEL)")
    with pytest.raises(MQError) as caught:
        door.user(name)
    assert caught.value.reason == mq.MQRC_Q_MGR_NAME_ERROR
    (note,) = door.notes()
    assert "AMQ9509E" in note
    assert note.isprintable()


@pytest.mark.parametrize("channel", ["", "NOT.THERE", "N" * 21, "*", "FAR.TO.HERE ", "FAR\nTO", "far.to.here"])
def test_what_is_no_channel(door: Door, channel: str) -> None:
    with pytest.raises(MQError) as caught:
        door.user(channel=channel)
    assert caught.value.reason == mq.MQRC_UNKNOWN_CHANNEL_NAME


def test_channels_of_clients_are_no_message_channels(door: Door, qm: RunningQueueManager) -> None:
    with pytest.raises(MQError, match=r"Message channel .* is not defined here") as caught:
        door.user(channel=qm.channel)
    assert caught.value.reason == mq.MQRC_UNKNOWN_CHANNEL_NAME


def test_partners_do_not_come_by_the_local_socket(door: Door) -> None:
    door.knock(door.link(is_local=True))
    (answer,) = door.answers
    assert isinstance(answer, MQError)
    assert answer.reason == mq.MQRC_UNKNOWN_CHANNEL_NAME


@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture, *SLOW_MACHINES],
)
@given(partner=st.text(max_size=60), channel=st.text(max_size=30) | st.just(CHANNEL))
def test_any_names_are_answered_once(door: Door, partner: str, channel: str) -> None:
    door.answers.clear()
    door.knock(door.link(), partner, channel)
    (answer,) = door.answers
    if isinstance(answer, MQError):
        assert answer.reason in (mq.MQRC_Q_MGR_NAME_ERROR, mq.MQRC_UNKNOWN_CHANNEL_NAME)
    else:
        assert (answer, channel, valid_name(partner)) == ("nobody", CHANNEL, True)


# -- names of hosts ----------------------------------------------------------------------------------------------------


@contextmanager
def names_stand_still(door: Door, name: str) -> Iterator[threading.Event]:
    """Hosts have a name; it is not found out before the block says so, or ends."""
    go_on = threading.Event()

    def answer(address: str) -> str:
        go_on.wait(60)
        return name

    door.shared.lookups.host_name = answer  # type: ignore[method-assign]
    try:
        yield go_on
    finally:
        go_on.set()


def by_host(qm: RunningQueueManager) -> None:
    qm.mqsc(f"""
        SET CHLAUTH({CHANNEL}) TYPE(QMGRMAP) QMNAME('FAR') ADDRESS('*.example.com') USERSRC(MAP) MCAUSER('known')
        SET CHLAUTH({CHANNEL}) TYPE(QMGRMAP) QMNAME('FAR') USERSRC(NOACCESS)
    """)


@pytest.mark.parametrize("name", ["far.example.com", "far.example.org", ""])
def test_a_rule_may_name_a_host(door: Door, qm: RunningQueueManager, name: str) -> None:
    by_host(qm)
    with names_stand_still(door, name) as go_on:
        link = door.link()
        door.knock(link)
        assert door.admission.is_admission_pending(link)
        assert not door.answers
        go_on.set()
        assert door.answered.wait(30)
    with qm.manager.lock:
        assert not door.admission.is_admission_pending(link)
        (answer,) = door.answers
        assert answer == "known" if name.endswith(".com") else isinstance(answer, MQError)


def test_names_are_not_asked_for_when_it_is_switched_off(door: Door, qm: RunningQueueManager) -> None:
    by_host(qm)
    qm.mqsc("ALTER QMGR REVDNS(DISABLED)")
    with names_stand_still(door, "far.example.com"):
        door.refused()


def test_what_changes_while_a_name_is_asked_for_counts(door: Door, qm: RunningQueueManager) -> None:
    by_host(qm)
    with names_stand_still(door, "far.example.com") as go_on:
        door.knock(door.link())
        qm.mqsc(f"DELETE CHANNEL({CHANNEL})")
        go_on.set()
        assert door.answered.wait(30)
    (answer,) = door.answers
    assert isinstance(answer, MQError)
    assert answer.reason == mq.MQRC_UNKNOWN_CHANNEL_NAME


@pytest.mark.parametrize("state", [CLOSING, OPEN, None])
def test_who_has_gone_or_does_something_else_is_not_answered(
    door: Door, qm: RunningQueueManager, state: int | None
) -> None:
    by_host(qm)
    with names_stand_still(door, "far.example.com") as go_on:
        gone, other = door.link(), door.link()
        door.knock(gone)
        door.knock(other)
        with qm.manager.lock:
            if state is None:
                door.admission.forget(gone)
            else:
                gone.state = state
        go_on.set()
        assert door.answered.wait(30)
    # Names are asked for on several threads: the other one may be answered first.
    eventually(lambda: not door.admission.is_admission_pending(gone), "the one that has gone is forgotten")
    with qm.manager.lock:
        assert door.answers == ["known"]


def test_nobody_is_considered_twice(door: Door, qm: RunningQueueManager) -> None:
    by_host(qm)
    with names_stand_still(door, "far.example.com"):
        link = door.link()
        door.knock(link)
        with pytest.raises(MalformedFrame):
            door.knock(link)


def test_a_name_that_cannot_be_found_out_brings_nobody_down(door: Door, qm: RunningQueueManager) -> None:
    by_host(qm)

    def fail(address: str) -> str:
        raise RuntimeError("no names today")

    door.shared.lookups.host_name = fail  # type: ignore[method-assign]
    assert "is refused by" in door.refused()
