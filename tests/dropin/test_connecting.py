"""What a program says in its structures is what the connection is made with."""

from __future__ import annotations

import ctypes

import pytest
from ostler_dropin.connecting import Structures, connect, connect_parameters
from ostler_dropin.structures import MQBNO, MQCD, MQSCO

from ostler.client.connect_parameters import ConnectParameters, TlsSettings
from ostler.model import constants as mqc
from ostler.model.errors import MQError
from ostler.model.structures.connecting import MQCNO, MQCSP
from ostler.model.structures.layout import Layout


class Memory:
    """Strings at addresses, as the packages keep them while they connect."""

    def __init__(self) -> None:
        self._kept: list[ctypes.Array[ctypes.c_char]] = []

    def at(self, text: str) -> int:
        buffer = ctypes.create_string_buffer(text.encode())
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


def parameters(name: str | bytes = "QM1", **given_structures: bytes) -> ConnectParameters:
    return connect_parameters(name, Structures(**given_structures))[0]


def test_only_a_name() -> None:
    assert parameters(b"QM1  ") == ConnectParameters(queue_manager="QM1", binding="auto")


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
    assert parameters(cd=cd) == ConnectParameters(
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
def test_fields_of_later_versions_do_not_count(version: int) -> None:
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
    found = parameters(cd=bytes(cd[: MQCD.size(version)]))
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
    assert parameters(cd=cd, sco=sco).tls == TlsSettings(
        cipher_spec="ANY_TLS12", key_repository="/keys/app", certificate_label="of the program", key_password=password
    )
    without_label = structure(MQSCO, 4, KeyRepository="/keys/app")
    found = parameters(cd=cd, sco=without_label).tls
    assert found is not None
    assert found.certificate_label == "of the channel"


def test_tls_for_a_channel_that_a_table_names() -> None:
    sco = structure(MQSCO, KeyRepository="/keys/app")
    assert parameters(sco=sco).tls == TlsSettings(key_repository="/keys/app")
    assert parameters(sco=structure(MQSCO)).tls is None


def test_no_tls_without_a_cipher() -> None:
    cd = structure(MQCD, ConnectionName="h")
    assert parameters(cd=cd, sco=structure(MQSCO, KeyRepository="/keys/app")).tls is None


def test_security_parameters(memory: Memory) -> None:
    csp = structure(
        MQCSP,
        AuthenticationType=mqc.MQCSP_AUTH_USER_ID_AND_PWD,
        CSPUserIdPtr=memory.at("application"),
        CSPUserIdLength=11,
        CSPPasswordPtr=memory.at("pässword"),
        CSPPasswordLength=9,
    )
    found = parameters(csp=csp)
    assert (found.user, found.password) == ("application", "pässword")
    assert "pässword" not in repr(found)


def test_security_parameters_that_say_nothing() -> None:
    found = parameters(csp=structure(MQCSP))
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
    found = parameters(cno=cno, bno=structure(MQBNO))
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
def test_binding_with_a_channel_descriptor(options: int, binding: str) -> None:
    given_structures = Structures(options=options, cd=structure(MQCD, ConnectionName="host"))
    found, _ = connect_parameters("QM1", given_structures)
    assert found.binding == binding
    assert (found.connection_name == "host") == (binding == "client")


@pytest.mark.parametrize(
    ("kind", "binding"), [("CLIENT", "client"), ("LOCAL", "local"), ("standard", "local"), ("", "auto")]
)
def test_binding_by_the_environment(kind: str, binding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQ_CONNECT_TYPE", kind)
    assert parameters().binding == binding


def test_channel_descriptor_without_an_address() -> None:
    assert parameters(cd=structure(MQCD)).binding == "auto"


@pytest.mark.parametrize(
    ("reason", "given_structures"),
    [
        (mqc.MQRC_OPTIONS_ERROR, Structures(options=mqc.MQCNO_SERIALIZE_CONN_TAG_QSG)),
        (mqc.MQRC_OPTIONS_ERROR, Structures(options=mqc.MQCNO_CLIENT_BINDING | mqc.MQCNO_LOCAL_BINDING)),
        (mqc.MQRC_OPTIONS_ERROR, Structures(options=mqc.MQCNO_RECONNECT | mqc.MQCNO_RECONNECT_Q_MGR)),
        (mqc.MQRC_CNO_ERROR, Structures(cno=b"CNO ")),
        (mqc.MQRC_CNO_ERROR, Structures(cno=structure(MQCNO)[:100])),
        (mqc.MQRC_CNO_ERROR, Structures(cno=structure(MQCNO, CCDTUrlPtr=1, CCDTUrlLength=-5))),
        (mqc.MQRC_CD_ERROR, Structures(cd=structure(MQCD)[:900])),
        (mqc.MQRC_CD_ERROR, Structures(cd=structure(MQCD)[:1990])),
        (mqc.MQRC_CD_ERROR, Structures(cd=structure(MQCD, Version=77))),
        (mqc.MQRC_CD_ERROR, Structures(cd=structure(MQCD, TransportType=mqc.MQXPT_LU62))),
        (mqc.MQRC_CD_ERROR, Structures(cd=structure(MQCD, ChannelType=mqc.MQCHT_SENDER))),
        (mqc.MQRC_CD_ERROR, Structures(cd=structure(MQCD, SSLPeerNamePtr=1, SSLPeerNameLength=1 << 20))),
        (mqc.MQRC_CLIENT_EXIT_LOAD_ERROR, Structures(cd=structure(MQCD, SendExit="library(exit)"))),
        (mqc.MQRC_CSP_ERROR, Structures(csp=b"")),
        (mqc.MQRC_CSP_ERROR, Structures(csp=structure(MQCSP, AuthenticationType=9))),
        (
            mqc.MQRC_CSP_ERROR,
            Structures(csp=structure(MQCSP, AuthenticationType=1, CSPUserIdPtr=1, CSPUserIdLength=5000)),
        ),
        (
            mqc.MQRC_FUNCTION_NOT_SUPPORTED,
            Structures(csp=structure(MQCSP, AuthenticationType=mqc.MQCSP_AUTH_ID_TOKEN)),
        ),
        (mqc.MQRC_SCO_ERROR, Structures(sco=structure(MQSCO)[:500])),
        (mqc.MQRC_SCO_ERROR, Structures(sco=structure(MQSCO, KeyRepoPasswordPtr=1, KeyRepoPasswordLength=-1))),
        (mqc.MQRC_BNO_ERROR, Structures(bno=b"BNO ")),
    ],
)
def test_structures_that_are_wrong(reason: int, given_structures: Structures) -> None:
    with pytest.raises(MQError) as caught:
        connect_parameters("QM1", given_structures)
    assert caught.value.reason == reason
    assert connect("QM1", given_structures) == (mqc.MQHC_UNUSABLE_HCONN, mqc.MQCC_FAILED, reason)


def test_a_name_that_is_too_long() -> None:
    assert connect("Q" * 49, Structures())[2] == mqc.MQRC_Q_MGR_NAME_ERROR


@pytest.mark.parametrize(
    ("field", "layout", "reason"),
    [
        ("cno", MQCNO, mqc.MQRC_CNO_ERROR),
        ("cd", MQCD, mqc.MQRC_CD_ERROR),
        ("csp", MQCSP, mqc.MQRC_CSP_ERROR),
        ("sco", MQSCO, mqc.MQRC_SCO_ERROR),
        ("bno", MQBNO, mqc.MQRC_BNO_ERROR),
    ],
)
def test_structures_that_end_too_early(field: str, layout: Layout, reason: int) -> None:
    whole = structure(layout)
    parameters(**{field: whole})
    for length in range(1, len(whole)):
        with pytest.raises(MQError) as caught:
            parameters(**{field: whole[:length]})
        assert caught.value.reason == reason
