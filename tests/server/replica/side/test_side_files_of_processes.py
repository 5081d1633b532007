"""Files beside the log, with real instances: who takes over has the passwords, keys and settings of the leader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.world.replica.replica_group import ReplicaGroup, wait_until

import ostler
from ostler.client.link.control import control
from ostler.client.locate.connect_parameters import TlsSettings
from ostler.model import constants as mq
from ostler.model.errors import MQError
from ostler.model.replication import SIDE_SETS
from ostler.security.passwords import UserEntry, hash_password
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.replica.certificates import make_authority
from ostler.server.replica.side.places import read_set
from ostler.server.security.password_store import edit_passwords
from ostler.server.tls.certificate_maker import Authority

pytestmark = pytest.mark.slow

COMMANDS = """\
ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT(REQUIRED) FAILDLAY(0)
ALTER QMGR CONNAUTH(SYSTEM.DEFAULT.AUTHINFO.IDPWOS)
REFRESH SECURITY TYPE(CONNAUTH)
DEFINE CHANNEL(TLS) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER) SSLCAUTH(OPTIONAL)
SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('app') AUTHADD(CONNECT,INQ)
"""


@pytest.fixture
def group(tmp_path: Path) -> Iterator[ReplicaGroup]:
    made = ReplicaGroup(tmp_path / "north", authority=make_authority(tmp_path / "ca", "north"))
    made.start()
    yield made
    made.close()


def add_user(group: ReplicaGroup, instance: str, user: str, password: str) -> None:
    with edit_passwords(group.directory(instance)) as passwords:
        passwords.set_user(UserEntry(user, hash_password(password, bytes(16)), ()))


def wait_until_copied(group: ReplicaGroup, leader: str) -> None:
    """Wait until all others have the side files of the leader."""

    def digests(instance: str) -> list[bytes]:
        found = [read_set(group.directory(instance), name) for name in SIDE_SETS]
        return [each.digest for each in found if each is not None]

    wait_until(
        lambda: all(digests(each) == digests(leader) for each in group.followers(leader)),
        lambda: f"not all have the side files of {leader}:\n{group.describe()}",
    )


def connect(group: ReplicaGroup, instance: str, password: str, ca_file: Path) -> ostler.Connection:
    tls = TlsSettings(cipher_spec="ANY_TLS12_OR_HIGHER", ca_file=str(ca_file))
    address = f"{group.host(instance)}({group.port})"
    return ostler.connect("QM1", address, channel="TLS", user="app", password=password, tls=tls, reconnect=False)


def test_who_takes_over_has_the_files_of_the_leader(group: ReplicaGroup, tmp_path: Path) -> None:
    group.prepare()
    group.wait_until_in_sync(3)
    leader = group.wait_for_leader()
    directory = group.directory(leader)
    channels = Authority(tmp_path / "channels-ca")
    channels.create("channels", "ec")
    channels.issue(directory.path / "ssl" / "key", "ibmwebspheremqqm1", [("CN", "QM1")], "ec")
    ca_file = directory.path / "ssl" / "key" / "ca.crt"
    add_user(group, leader, "app", "first")
    ini = QueueManagerIni.read(directory.ini)
    ini.set_value("Security", "SecurityPolicy", "UserExternal")
    ini.set_value("Channels", "MaxChannels", "44")
    ini.write(directory.ini)
    list(control(directory, "mqsc", text=COMMANDS))
    wait_until_copied(group, leader)
    connect(group, leader, "first", ca_file).close()
    # A password that is changed is changed everywhere within a second or two.
    add_user(group, leader, "app", "second")
    wait_until_copied(group, leader)
    group.kill(leader)
    new = group.wait_for_leader(leader)
    group.wait_for_text(new, "AMQ5026I", "Listener TCP listens")
    with connect(group, new, "second", ca_file) as connection:
        assert connection.name == "QM1"
    with pytest.raises(MQError) as refused:
        connect(group, new, "first", ca_file)
    assert refused.value.reason == mq.MQRC_NOT_AUTHORIZED
    # Settings are in force although the process began before they came: nobody here knows this name.
    lines = [
        str(each.get("line", ""))
        for each in control(
            group.directory(new), "mqsc", text="SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('unheard.of') AUTHADD(CONNECT)\n"
        )
    ]
    assert not [line for line in lines if line.startswith("AMQ") and line[7:8] == "E"], lines
    # The old leader is told what has changed since, like any other.
    add_user(group, new, "later", "third")
    group.start(leader)
    group.wait_until_in_sync(3)
    wait_until_copied(group, new)
    group.wait_for_text(leader, "AMQ3300I", "The passwords of queue manager QM1 are those of instance", "side/before")


def test_without_tls_nothing_is_sent_and_that_is_told(tmp_path: Path) -> None:
    group = ReplicaGroup(tmp_path, instances="ab")
    group.start()
    try:
        group.prepare()
        group.wait_until_in_sync(2)
        add_user(group, "a", "app", "first")
        group.wait_for_text("a", "AMQ3298W", "are not copied")
        group.end("a", switch_over=True)
        group.wait_for_leader("a")
        group.wait_for_text("b", "AMQ3298W")
        assert read_set(group.directory("b"), "passwords") is None
    finally:
        group.close()
