"""Access with a certificate that a channel authentication rule is not for, over real TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.tls_pairs import make_certificates

import ostler
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.server.tls.certificate_maker import Authority
from ostler.testing import RunningQueueManager, queue_manager

RULES = """
DEFINE CHANNEL(BOTH) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER) SSLCAUTH(REQUIRED)
DEFINE CHANNEL(EITHER) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER) SSLCAUTH(OPTIONAL)
SET CHLAUTH('*') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(NOACCESS)
SET CHLAUTH('*') TYPE(SSLPEERMAP) SSLPEER('CN=app1,OU=Payments') SSLCERTI('CN=Test authority') +
  USERSRC(MAP) MCAUSER('ann')
SET CHLAUTH('*') TYPE(SSLPEERMAP) SSLPEER('OU=Closed') USERSRC(NOACCESS)
SET CHLAUTH('*') TYPE(SSLPEERMAP) SSLPEER('CN=boss') USERSRC(MAP) MCAUSER('mqm')
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('ann') AUTHADD(CONNECT)
"""
SUBJECTS = {
    "right": [("CN", "app1"), ("OU", "Payments"), ("O", "Ostler")],
    "larger letters": [("CN", "APP1"), ("OU", "PAYMENTS")],
    "a comma in the name": [("CN", "app1,OU=Payments")],
    "a quote in the name": [("CN", 'app1",OU="Payments')],
    "a name that goes on": [("CN", "app12"), ("OU", "Payments")],
    "a name that begins otherwise": [("CN", "xapp1"), ("OU", "Payments")],
    "a null character's look": [("CN", "app1\\0"), ("OU", "Payments")],
    "a blank": [("CN", "app1 x"), ("OU", "Payments")],
    "an asterisk": [("CN", "*"), ("OU", "*")],
    "two names": [("CN", "app1"), ("CN", "app2"), ("OU", "Payments")],
    "another unit": [("CN", "app1"), ("OU", "Sales")],
    "the unit elsewhere": [("CN", "app1"), ("O", "Payments")],
    "no unit": [("CN", "app1")],
    "a unit within the unit": [("CN", "app1"), ("OU", "Payments"), ("OU", "Sales")],
    "the unit within another": [("CN", "app1"), ("OU", "Sales"), ("OU", "Payments")],
    "an administrator": [("CN", "boss")],
}
WELCOME = ("right", "larger letters", "a unit within the unit")
# The handshake ends in the middle; whether the client hears why is a matter of luck.
NO_HANDSHAKE = (mq.MQRC_SSL_INITIALIZATION_ERROR, mq.MQRC_CHANNEL_NOT_AVAILABLE)


@pytest.fixture(scope="module")
def qm() -> Iterator[RunningQueueManager]:
    with queue_manager("WAYSBY", mqsc=RULES, guarded=True) as running:
        yield running


@pytest.fixture(scope="module")
def clients(qm: RunningQueueManager) -> Path:
    directory = qm.manager.directory.path
    made = make_certificates(directory, qm.name)
    for number, subject in enumerate(SUBJECTS.values()):
        made.authority.issue(directory / "clients", f"label{number}", subject, "ec")
    return directory / "clients"


def user(qm: RunningQueueManager, channel: str, tls: TlsSettings, name: str = "ann", password: str = "") -> str:
    """The user that a connection has; MQError when it is refused."""
    where = qm.connection_name
    with ostler.connect(qm.name, where, channel=channel, tls=tls, user=name, password=password or None):
        connections = qm.manager.engine.connections
        return connections[max(connections)].user


def refused(qm: RunningQueueManager, channel: str, tls: TlsSettings) -> int:
    with pytest.raises(MQError) as caught:
        user(qm, channel, tls)
    return caught.value.reason


@pytest.mark.parametrize("who", SUBJECTS)
def test_only_the_subject_that_is_meant_comes_in(qm: RunningQueueManager, clients: Path, who: str) -> None:
    label = f"label{list(SUBJECTS).index(who)}"
    tls = TlsSettings(key_repository=str(clients), certificate_label=label)
    for channel in ("BOTH", "EITHER"):
        if who in WELCOME:
            assert user(qm, channel, tls, "somebody") == "ann"
        else:
            assert refused(qm, channel, tls) == mq.MQRC_NOT_AUTHORIZED


def test_without_a_certificate_no_rule_for_certificates_counts(qm: RunningQueueManager, clients: Path) -> None:
    trusting = clients.parent / "trusting"
    trusting.mkdir(exist_ok=True)
    (trusting / "ca.crt").write_bytes((clients / "ca.crt").read_bytes())
    tls = TlsSettings(key_repository=str(trusting))
    assert refused(qm, "EITHER", tls) == mq.MQRC_NOT_AUTHORIZED
    assert refused(qm, "BOTH", tls) in NO_HANDSHAKE


def test_the_right_subject_by_another_authority_is_nobody(
    qm: RunningQueueManager, clients: Path, tmp_path: Path
) -> None:
    other = Authority(tmp_path / "ca")
    other.create("Test authority", "ec")  # it may call itself what it likes
    other.issue(tmp_path / "client", "mine", SUBJECTS["right"], "ec")
    (tmp_path / "client" / "ca.crt").write_bytes((clients / "ca.crt").read_bytes())
    tls = TlsSettings(key_repository=str(tmp_path / "client"), certificate_label="mine")
    for channel in ("BOTH", "EITHER"):
        assert refused(qm, channel, tls) in NO_HANDSHAKE
