"""What a program says in MQCNO, MQCD, MQSCO and MQCSP is what the connection is made with."""

from __future__ import annotations

import ctypes

import pytest

from ostler import mqi
from ostler.client.locate.connect_parameters import ConnectParameters, TlsSettings
from ostler.client.mqi.channel_descriptor import MQCD, MQSCO
from ostler.client.mqi.connect_options import connect_parameters
from ostler.model import constants as mqc
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQCNO, MQCSP
from ostler.model.structures.layout import Layout


class Memory:
    """Strings at addresses, as the packages keep them while they connect."""

    def __init__(self) -> None:
        self._kept: list[ctypes.Array[ctypes.c_char]] = []

    def at(self, data: str | bytes) -> int:
        buffer = ctypes.create_string_buffer(data.encode() if isinstance(data, str) else data)
        self._kept.append(buffer)
        return ctypes.addressof(buffer)


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MQ_CONNECT_TYPE", raising=False)


def structure(layout: Layout, version: int = 0, **fields: int | str | bytes) -> bytes:
    made = layout.default(version)
    for name, value in fields.items():
        layout.patch(made, name, value)
    return bytes(made)


def connect_options(memory: Memory, options: int = 0, **structures: bytes) -> bytearray:
    """An MQCNO that leads to other structures: cd, sco and csp."""
    cno = bytearray(structures.pop("cno", structure(MQCNO)))
    MQCNO.patch(cno, "Options", MQCNO.read_int(cno, "Options") | options)
    for name, field in (("cd", "ClientConnPtr"), ("sco", "SSLConfigPtr"), ("csp", "SecurityParmsPtr")):
        if name in structures:
            MQCNO.patch(cno, field, memory.at(structures[name]))
    return cno


def parameters(memory: Memory, options: int = 0, **structures: bytes) -> ConnectParameters:
    cno = connect_options(memory, options, **structures)
    return connect_parameters("QM1", cno, MQCNO.current_version, MQCNO.read_int(cno, "Options"))


def test_only_a_name() -> None:
    assert connect_parameters("QM1", None, 0, 0) == ConnectParameters(queue_manager="QM1", binding="auto")


def test_channel_descriptor(memory: Memory) -> None:
    peer = "CN=QM1,O=Ostler"
    cd = structure(
        MQCD,
        ChannelName="APP.SVRCONN",
        ConnectionName="one(1414),two(1415)",
        MaxMsgLength=5000,
        HeartbeatInterval=17,
        SSLCipherSpec="TLS_AES_256_GCM_SHA384",
        SSLPeerNamePtr=memory.at(peer),
        SSLPeerNameLength=len(peer),
        LocalAddress="(5000,5010)",
        SharingConversations=3,
        DefReconnect=mqc.MQRCN_Q_MGR,
        CertificateLabel="mine",
    )
    assert parameters(memory, cd=cd) == ConnectParameters(
        queue_manager="QM1",
        binding="client",
        connection_name="one(1414),two(1415)",
        channel="APP.SVRCONN",
        tls=TlsSettings(cipher_spec="TLS_AES_256_GCM_SHA384", peer_name=peer, certificate_label="mine"),
        reconnect="qmgr",
        heartbeat_seconds=17,
        sharing_conversations=3,
        message_bytes_max=5000,
        local_address="(5000,5010)",
    )


@pytest.mark.parametrize("version", MQCD.sizes)
def test_fields_of_later_versions_do_not_count(version: int, memory: Memory) -> None:
    cd = bytearray(
        structure(
            MQCD,
            ChannelName="C",
            ConnectionName="long(1)",
            ShortConnectionName="short(1)",
            HeartbeatInterval=7,
            SSLCipherSpec="SPEC",
            SharingConversations=7,
            DefReconnect=1,
        )
    )
    MQCD.patch(cd, "Version", version)
    found = parameters(memory, cd=bytes(cd))
    assert found.connection_name == ("short(1)" if version == 1 else "long(1)")
    assert found.heartbeat_seconds == (7 if version >= 4 else 300)
    assert (found.tls is not None) == (version >= 7)
    assert found.sharing_conversations == (7 if version >= 9 else 10)
    assert found.reconnect == ("yes" if version >= 10 else "no")


def test_tls_options(memory: Memory) -> None:
    cd = structure(MQCD, ConnectionName="h", SSLCipherSpec="ANY_TLS12", CertificateLabel="of the channel")
    password = "open sesame"
    sco = structure(
        MQSCO,
        KeyRepository="/keys/app",
        CertificateLabel="of the program",
        KeyRepoPasswordPtr=memory.at(password),
        KeyRepoPasswordLength=len(password),
    )
    assert parameters(memory, cd=cd, sco=sco).tls == TlsSettings(
        cipher_spec="ANY_TLS12", key_repository="/keys/app", certificate_label="of the program", key_password=password
    )
    without_label = structure(MQSCO, 4, KeyRepository="/keys/app")
    found = parameters(memory, cd=cd, sco=without_label).tls
    assert found is not None
    assert found.certificate_label == "of the channel"
    assert found.key_reset_bytes == 0


def test_the_key_reset_count(memory: Memory) -> None:
    cd = structure(MQCD, ConnectionName="h", SSLCipherSpec="ANY_TLS12")
    for given in (
        structure(MQSCO, KeyRepository="/keys", KeyResetCount=50_000),
        structure(MQSCO, 2, KeyResetCount=50_000),
    ):
        found = parameters(memory, cd=cd, sco=given).tls
        assert found is not None
        assert found.key_reset_bytes == 50_000
    by_table = parameters(memory, sco=structure(MQSCO, KeyRepository="/keys", KeyResetCount=50_000)).tls
    assert by_table == TlsSettings(key_repository="/keys", key_reset_bytes=50_000)
    for count in (-1, 1_000_000_000):
        with pytest.raises(MQError) as caught:
            parameters(memory, cd=cd, sco=structure(MQSCO, KeyResetCount=count))
        assert caught.value.reason == mqc.MQRC_SSL_KEY_RESET_ERROR


def test_tls_for_a_channel_that_a_table_names(memory: Memory) -> None:
    sco = structure(MQSCO, KeyRepository="/keys/app")
    assert parameters(memory, sco=sco).tls == TlsSettings(key_repository="/keys/app")
    assert parameters(memory, sco=structure(MQSCO)).tls is None


def test_no_tls_without_a_cipher(memory: Memory) -> None:
    cd = structure(MQCD, ConnectionName="h")
    assert parameters(memory, cd=cd, sco=structure(MQSCO, KeyRepository="/keys/app")).tls is None


def test_security_parameters(memory: Memory) -> None:
    csp = structure(
        MQCSP,
        AuthenticationType=mqc.MQCSP_AUTH_USER_ID_AND_PWD,
        CSPUserIdPtr=memory.at("application"),
        CSPUserIdLength=11,
        CSPPasswordPtr=memory.at("pässword"),
        CSPPasswordLength=9,
    )
    found = parameters(memory, csp=csp)
    assert (found.user, found.password) == ("application", "pässword")
    assert "pässword" not in repr(found)


def test_security_parameters_that_say_nothing(memory: Memory) -> None:
    found = parameters(memory, csp=structure(MQCSP))
    assert (found.user, found.password) == (None, None)


def test_connect_options(memory: Memory) -> None:
    url = "file:///ccdt.json"
    cno = structure(
        MQCNO,
        Options=mqc.MQCNO_RECONNECT | mqc.MQCNO_HANDLE_SHARE_NO_BLOCK | mqc.MQCNO_NO_CONV_SHARING,
        ApplName="my program",
        CCDTUrlPtr=memory.at(url),
        CCDTUrlLength=len(url),
    )
    found = parameters(memory, cno=cno)
    assert (found.reconnect, found.is_shared, found.sharing_conversations) == ("yes", True, 1)
    assert (found.application, found.ccdt_url, found.binding) == ("my program", url, "auto")


@pytest.mark.parametrize(
    ("options", "binding"),
    [
        (mqc.MQCNO_NONE, "client"),
        (mqc.MQCNO_CLIENT_BINDING, "client"),
        (mqc.MQCNO_LOCAL_BINDING, "local"),
        (mqc.MQCNO_SHARED_BINDING, "local"),
        (mqc.MQCNO_ISOLATED_BINDING, "local"),
        (mqc.MQCNO_FASTPATH_BINDING, "local"),
        (mqc.MQCNO_CD_FOR_OUTPUT_ONLY, "auto"),
    ],
)
def test_binding_with_a_channel_descriptor(options: int, binding: str, memory: Memory) -> None:
    found = parameters(memory, options, cd=structure(MQCD, ConnectionName="host"))
    assert found.binding == binding
    assert (found.connection_name == "host") == (binding == "client")


@pytest.mark.parametrize(
    ("kind", "binding"), [("CLIENT", "client"), ("LOCAL", "local"), ("standard", "local"), ("", "auto")]
)
def test_binding_by_the_environment(kind: str, binding: str, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQ_CONNECT_TYPE", kind)
    assert parameters(memory).binding == binding


def test_channel_descriptor_without_an_address(memory: Memory) -> None:
    assert parameters(memory, cd=structure(MQCD)).binding == "auto"


@pytest.mark.parametrize(
    ("reason", "structures"),
    [
        (mqc.MQRC_CNO_ERROR, {"cno": structure(MQCNO, CCDTUrlPtr=1, CCDTUrlLength=-5)}),
        (mqc.MQRC_CNO_ERROR, {"cno": structure(MQCNO, CCDTUrlLength=5)}),
        (mqc.MQRC_CNO_ERROR, {"cno": structure(MQCNO, CCDTUrlOffset=270, CCDTUrlLength=5)}),
        (mqc.MQRC_CD_ERROR, {"cd": structure(MQCD, Version=77)}),
        (mqc.MQRC_CD_ERROR, {"cd": structure(MQCD, TransportType=mqc.MQXPT_LU62)}),
        (mqc.MQRC_CD_ERROR, {"cd": structure(MQCD, ChannelType=mqc.MQCHT_SENDER)}),
        (mqc.MQRC_CD_ERROR, {"cd": structure(MQCD, SSLPeerNamePtr=1, SSLPeerNameLength=1 << 20)}),
        (mqc.MQRC_CLIENT_EXIT_LOAD_ERROR, {"cd": structure(MQCD, SendExit="library(exit)")}),
        (mqc.MQRC_CSP_ERROR, {"csp": structure(MQCSP, AuthenticationType=9)}),
        (mqc.MQRC_CSP_ERROR, {"csp": structure(MQCSP, AuthenticationType=1, CSPUserIdPtr=1, CSPUserIdLength=5000)}),
        (mqc.MQRC_CSP_ERROR, {"csp": structure(MQCSP, AuthenticationType=1, CSPUserIdOffset=99, CSPUserIdLength=50)}),
        (mqc.MQRC_CSP_ERROR, {"csp": structure(MQCSP, Version=4)}),
        (mqc.MQRC_FUNCTION_NOT_SUPPORTED, {"csp": structure(MQCSP, AuthenticationType=mqc.MQCSP_AUTH_ID_TOKEN)}),
        (mqc.MQRC_SCO_ERROR, {"sco": structure(MQSCO, StrucId=b"XXXX")}),
        (mqc.MQRC_SCO_ERROR, {"sco": structure(MQSCO, KeyRepoPasswordPtr=1, KeyRepoPasswordLength=-1)}),
    ],
)
def test_structures_that_are_wrong(reason: int, structures: dict[str, bytes], memory: Memory) -> None:
    with pytest.raises(MQError) as caught:
        parameters(memory, **structures)
    assert caught.value.reason == reason
    refused = (mqc.MQHC_UNUSABLE_HCONN, mqc.MQCC_FAILED, reason)
    assert mqi.MQCONNX("NO.SUCH.MANAGER", connect_options(memory, **structures)) == refused
