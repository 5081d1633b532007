"""The stanzas of qm.ini about copies: defaults, ranges, and errors that name the line."""

from __future__ import annotations

import pytest

from ostler.model.connection_names import Address, LocalAddress
from ostler.model.replication import Acknowledgement, GroupRole
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType, QueueManagerIni, new_qm_ini
from ostler.server.config.replication_ini import (
    ArbiterType,
    LagAction,
    ReplicationSection,
    ReplicationType,
)
from ostler.server.queue_manager import log_settings

LOG = "Log:\n   LogType=REPLICATED\n"
LOCAL = "NativeHALocalInstance:\n   Name=alpha\n"
PAIR = """\
NativeHAInstance:
   Name=alpha
   ReplicationAddress=host1(4444)
NativeHAInstance:
   Name=beta
   ReplicationAddress=host2(4444)
"""
ONE = PAIR[: PAIR.rindex("NativeHAInstance")]
THIRD = "NativeHAInstance:\n   Name=gamma\n   ReplicationAddress=host3(4444)\n"
ETCD = "Arbiter:\n   Type=Etcd\n   Endpoints=http://127.0.0.1:2379\n"


def section(*parts: str) -> ReplicationSection:
    found = QueueManagerIni("".join(parts)).settings.replication
    assert found is not None
    return found


def problem(*parts: str) -> tuple[int, str]:
    with pytest.raises(ConfigurationError) as caught:
        QueueManagerIni("".join(parts))
    return caught.value.line, caught.value.problem


def test_a_file_without_copies_has_none() -> None:
    assert QueueManagerIni("Log:\n   LogType=LINEAR\n").settings.replication is None


def test_defaults_are_those_of_mq() -> None:
    found = section(LOG, LOCAL, PAIR, THIRD, ETCD)
    assert found.instance == "alpha"
    assert [(each.name, str(each.address)) for each in found.instances] == [
        ("alpha", "host1(4444)"),
        ("beta", "host2(4444)"),
        ("gamma", "host3(4444)"),
    ]
    assert (found.heartbeat_ms, found.heartbeat_timeout_ms, found.retry_ms) == (5_000, 10_000, 10_000)
    assert (found.cipher_spec, found.key_repository, found.certificate_label) == ("ANY", "", "")
    assert (found.copies, found.acknowledgement, found.keep_extents) == (2, Acknowledgement.DISK, 8)
    assert (found.lag_megabytes, found.lag_seconds, found.lag_action) == (None, None, LagAction.TELL)
    assert (found.group_name, found.group_role, found.recovery_groups) == ("", GroupRole.LIVE, ())
    assert (found.arbiter.type, found.arbiter.lease_seconds) == (ArbiterType.ETCD, 5)
    assert found.missing() == ""


def test_every_attribute_is_taken() -> None:
    found = section(
        LOG,
        "NativeHALocalInstance:\n   Name=beta\n   KeyRepository=/k\n   KeyRepositoryPassword=secret\n",
        "   CertificateLabel=b\n   CipherSpec=TLS_AES_256_GCM_SHA384\n   LocalAddress=127.0.0.1(5000)\n",
        "   HeartbeatInterval=500\n   HeartbeatTimeout=700\n   RetryInterval=900\n   GroupName=north\n",
        "   GroupRole=recovery\n",
        PAIR,
        "NativeHARecoveryGroup:\n   GroupName=south\n   ReplicationAddress=h4(1),h5(2)\n   Enabled=no\n",
        "   ReplicationType=synchronous\n",
        "Arbiter:\n   Type=file\n   Path=/shared/arbiter\n   LeaseSeconds=2\n",
        "Replication:\n   Copies=1\n   ReplicationAck=memory\n   ReplicationKeep=3\n   RecoveryLagMB=64\n",
        "   RecoveryLagSeconds=OFF\n   RecoveryLagAction=slow\n   AddressCommand=/usr/local/bin/address\n",
    )
    assert found.instance == "beta"
    assert (found.key_repository, found.key_repository_password, found.certificate_label) == ("/k", "secret", "b")
    assert "secret" not in repr(found)
    assert found.local_address == LocalAddress("127.0.0.1", 5000, 5000)
    assert (found.heartbeat_ms, found.heartbeat_timeout_ms, found.retry_ms) == (500, 700, 900)
    assert (found.group_name, found.group_role) == ("north", GroupRole.RECOVERY)
    group = found.recovery_groups[0]
    assert (group.name, group.is_enabled, group.type) == ("south", False, ReplicationType.SYNCHRONOUS)
    assert group.addresses == (Address("h4", 1), Address("h5", 2))
    assert (found.arbiter.type, found.arbiter.path, found.arbiter.lease_seconds) == (
        ArbiterType.FILE,
        "/shared/arbiter",
        2,
    )
    assert (found.copies, found.acknowledgement, found.keep_extents) == (1, Acknowledgement.MEMORY, 3)
    assert (found.lag_megabytes, found.lag_seconds, found.lag_action) == (64, None, LagAction.SLOW)
    assert found.address_command == "/usr/local/bin/address"


def test_timeouts_follow_the_interval() -> None:
    found = section(LOG, LOCAL, "   HeartbeatInterval=1000\n", PAIR)
    assert (found.heartbeat_timeout_ms, found.retry_ms) == (2_000, 2_000)


@pytest.mark.parametrize(
    ("parts", "line", "words"),
    [
        ((LOG,), 2, "LogType=REPLICATED needs a stanza NativeHALocalInstance"),
        ((PAIR,), 1, "NativeHAInstance needs a stanza NativeHALocalInstance"),
        ((ETCD,), 1, "Arbiter needs a stanza NativeHALocalInstance"),
        ((LOCAL, PAIR), 1, "needs LogType=REPLICATED"),
        ((LOG, "NativeHALocalInstance:\n", PAIR), 3, "NativeHALocalInstance needs Name"),
        ((LOG, "NativeHALocalInstance:\n   Name=a b\n"), 3, "Name=a b is not allowed"),
        ((LOG, "NativeHALocalInstance:\n   Name=../x\n"), 3, "is not allowed"),
        ((LOG, LOCAL, LOCAL), 5, "NativeHALocalInstance is in the file twice; the first is in line 3"),
        ((LOG, LOCAL, "   HeartbeatInterval=499\n"), 5, "allowed is a number from 500 to 60000"),
        ((LOG, LOCAL, "   HeartbeatTimeout=120001\n"), 5, "allowed is a number from 500 to 120000"),
        ((LOG, LOCAL, "   HeartbeatTimeout=4000\n"), 5, "HeartbeatTimeout=4000 is shorter than HeartbeatInterval"),
        ((LOG, LOCAL, "   GroupRole=Leader\n"), 5, "allowed is Live, Recovery"),
        ((LOG, LOCAL, "   LocalAddress=h(x)\n"), 5, "LocalAddress=h(x) is not allowed"),
        ((LOG, LOCAL, "NativeHAInstance:\n   Name=alpha\n"), 5, "NativeHAInstance needs ReplicationAddress"),
        ((LOG, LOCAL, PAIR.replace("host2(4444)", "host2")), 8, "ReplicationAddress=host2 is not allowed"),
        ((LOG, LOCAL, PAIR.replace("host2(4444)", "host2(0)")), 8, "is not allowed"),
        ((LOG, LOCAL, PAIR.replace("host2(4444)", "h(1),i(2)")), 8, "is not allowed"),
        ((LOG, LOCAL, PAIR.replace("host2", "host1")), 8, "beta has the ReplicationAddress host1(4444) of alpha"),
        ((LOG, LOCAL, PAIR, PAIR), 11, "NativeHAInstance alpha is in the file twice"),
        (
            (LOG, LOCAL, ONE),
            5,
            "NativeHAInstance is in the file for 1; a group has 2 or 3",
        ),
        ((LOG, LOCAL.replace("alpha", "delta"), PAIR), 4, "no NativeHAInstance has the Name of this instance, delta"),
        ((LOG, LOCAL, PAIR, "Replication:\n   Copies=3\n"), 12, "Copies=3 cannot be with 2 instances"),
        ((LOG, LOCAL, PAIR, "Replication:\n   ReplicationAck=Disc\n"), 12, "allowed is Disk, Memory"),
        ((LOG, LOCAL, PAIR, "Arbiter:\n   Type=Etcd\n"), 11, "Type=Etcd needs Endpoints"),
        ((LOG, LOCAL, PAIR, "Arbiter:\n   Endpoints=127.0.0.1:2379\n"), 12, "127.0.0.1:2379 is not an address"),
        ((LOG, LOCAL, PAIR, "Arbiter:\n   Type=File\n   Path=here\n"), 11, "Type=File needs Path"),
        ((LOG, LOCAL, PAIR, ETCD, "   LeaseSeconds=1\n"), 14, "allowed is a number from 2 to 600"),
        ((LOG, LOCAL, PAIR, THIRD, "Arbiter:\n   Type=None\n"), 14, "Type=None is for a pair; 3 instances"),
        (
            (LOG, LOCAL, "NativeHARecoveryGroup:\n   GroupName=s\n   ReplicationAddress=h(1)\n"),
            3,
            "NativeHALocalInstance needs GroupName",
        ),
        (
            (LOG, LOCAL, "   GroupName=s\nNativeHARecoveryGroup:\n   GroupName=s\n   ReplicationAddress=h(1)\n"),
            3,
            "is the name of the NativeHARecoveryGroup as well",
        ),
        ((LOG, "   LogManagement=Manual\n", LOCAL), 3, "not allowed with LogType=REPLICATED; allowed is Automatic"),
    ],
)
def test_errors_name_the_line(parts: tuple[str, ...], line: int, words: str) -> None:
    found, text = problem(*parts)
    assert words in text
    assert found == line


def test_an_unknown_attribute_is_told_and_has_no_effect() -> None:
    settings = QueueManagerIni(LOG + LOCAL + "   InitialKeyFile=/x\n" + PAIR + "   Weight=5\n").settings
    assert "InitialKeyFile is unknown in NativeHALocalInstance" in settings.notices[0]
    assert "Weight is unknown in NativeHAInstance" in settings.notices[1]


def test_a_file_that_is_not_complete_can_be_read_but_not_started() -> None:
    assert "AMQ3205E: The stanza NativeHAInstance is missing" in section(LOG, LOCAL).missing()
    assert "AMQ3205E: The stanza Arbiter is missing" in section(LOG, LOCAL, PAIR, THIRD).missing()
    assert section(LOG, LOCAL, PAIR).missing() == ""
    alone = section(LOG, LOCAL, "   GroupName=n\nNativeHARecoveryGroup:\n   GroupName=s\n   ReplicationAddress=h(1)\n")
    assert "LocalAddress is missing" in alone.missing()
    own = "   GroupName=n\n   LocalAddress=(4)\n"
    alone = section(LOG, LOCAL, own + "NativeHARecoveryGroup:\n   GroupName=s\n   ReplicationAddress=h(1)\n")
    assert (alone.missing(), alone.copies) == ("", 1)


def test_a_replicated_log_is_linear_with_automatic_management_on_disk() -> None:
    log = QueueManagerIni(LOG + LOCAL).settings.log
    assert (log.type, log.management, log.is_linear) == (LogType.REPLICATED, LogManagement.AUTOMATIC, True)
    settings = log_settings(log)
    assert (settings.log_type.value, settings.management.value) == ("LINEAR", "Automatic")


def test_a_new_file_has_the_instance() -> None:
    log = LogSection(type=LogType.REPLICATED, management=LogManagement.AUTOMATIC)
    made = new_qm_ini("QM1", log, "alpha")
    assert made.settings.replication is not None
    assert made.settings.replication.instance == "alpha"
    with pytest.raises(ConfigurationError, match="needs a stanza NativeHALocalInstance"):
        new_qm_ini("QM1", log)


def test_stanzas_are_replaced_together_and_the_rest_stays() -> None:
    ini = QueueManagerIni("# mine\n" + LOG + "# kept\n" + LOCAL + PAIR + "Channels:\n   MaxChannels=5 ; few\n")
    ini.replace_stanzas(
        "NativeHAInstance",
        [[("Name", name), ("ReplicationAddress", f"{name}(4000)")] for name in ("alpha", "gamma")],
    )
    assert ini.settings.replication is not None
    assert [each.name for each in ini.settings.replication.instances] == ["alpha", "gamma"]
    assert ini.text() == (
        "# mine\n" + LOG + "# kept\n" + LOCAL + "Channels:\n   MaxChannels=5 ; few\n"
        "NativeHAInstance:\n   Name=alpha\n   ReplicationAddress=alpha(4000)\n"
        "NativeHAInstance:\n   Name=gamma\n   ReplicationAddress=gamma(4000)\n"
    )
    ini.change_stanzas({"NativeHALocalInstance": [], "NativeHAInstance": []}, log_type="LINEAR")
    assert ini.settings.replication is None
    assert ini.settings.log.type is LogType.LINEAR


def test_a_change_that_is_not_valid_changes_nothing() -> None:
    ini = QueueManagerIni(LOG + LOCAL + PAIR)
    before = ini.text()
    with pytest.raises(ConfigurationError):
        ini.replace_stanzas("NativeHALocalInstance", [])
    with pytest.raises(ConfigurationError, match="cannot be a value"):
        ini.replace_stanzas("NativeHAInstance", [[("Name", "a\nLog:")]])
    assert ini.text() == before


def test_etcd_has_a_user_and_certificates() -> None:
    body = "   User=ostler\n   PasswordFile=/keys/password\n   CaFile=/keys/ca\n   CertificateFile=/keys/c\n"
    found = section(LOG, LOCAL, PAIR, ETCD + body + "   KeyFile=/keys/k\n").arbiter
    assert (found.user, found.password_file, found.ca_file) == ("ostler", "/keys/password", "/keys/ca")
    assert (found.certificate_file, found.key_file) == ("/keys/c", "/keys/k")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("   User=ostler\n", "belong together"),
        ("   PasswordFile=/keys/password\n", "belong together"),
        ("   CaFile=keys/ca\n", "absolute path"),
        ("   KeyFile=/keys/k\n", "needs CertificateFile"),
    ],
)
def test_settings_of_etcd_that_cannot_be(body: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        section(LOG, LOCAL, PAIR, ETCD + body)


def test_an_instance_takes_all_side_files_or_those_that_it_names() -> None:
    def taken(value: str) -> set[str]:
        return set(section(LOG, LOCAL, PAIR, f"Replication:\n   SideFiles={value}\n").side_files)

    assert section(LOG, LOCAL, PAIR).side_files == {"passwords", "keys", "variables", "settings"}
    assert taken("all") == {"passwords", "keys", "variables", "settings"}
    assert taken("none") == set()
    assert taken("Keys,PASSWORDS") == {"keys", "passwords"}
    for wrong in ("NONE,KEYS", "ALL,KEYS"):
        line, why = problem(LOG, LOCAL, PAIR, f"Replication:\n   SideFiles={wrong}\n")
        assert line == 12
        assert "ALL and NONE stand alone" in why
    assert (
        "allowed is ALL, NONE, PASSWORDS, KEYS, VARIABLES, SETTINGS"
        in problem(LOG, LOCAL, PAIR, "Replication:\n   SideFiles=everything\n")[1]
    )
