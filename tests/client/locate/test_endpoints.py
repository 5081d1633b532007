"""Where a client connects to: what the program says, MQSERVER, and tables of client channels."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ostler
from ostler.client.locate import ccdt
from ostler.client.locate.ccdt import ClientChannel
from ostler.client.locate.connect_parameters import ConnectParameters, Endpoint, TlsSettings
from ostler.client.locate.endpoints import endpoints, order_channels, parse_mqserver, tls_settings
from ostler.model import constants as mq
from ostler.model.connection_names import Address

SERVER = {"MQSERVER": "ENV.CH/TCP/envhost(1500)"}


def channel(name: str, manager: str = "", host: str = "host", **managing: object) -> dict[str, object]:
    return {
        "name": name,
        "type": "clientConnection",
        "clientConnection": {"connection": [{"host": host, "port": 1414}], "queueManager": manager},
        "connectionManagement": managing,
    }


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with a queue manager, a group with weights, and channels for anyone."""
    path = tmp_path / "my ccdt.json"
    path.write_text(
        json.dumps(
            {
                "channel": [
                    channel("B", "GROUP", "b", clientWeight=1),
                    channel("A", "GROUP", "a", clientWeight=99),
                    channel("Z", "GROUP", "z"),
                    channel("Y", "GROUP", "y1"),
                    channel("Y", "GROUP", "y2"),
                    channel("QM1.CH", "QM1", "one"),
                    channel("ANY.CH", "", "any"),
                    {"name": "TO.QM2", "type": "sender"},
                ]
            }
        )
    )
    return path


def hosts(found: list[Endpoint]) -> list[str]:
    return [each.host for each in found]


def refused(reason: int, words: str | None = None) -> pytest.RaisesExc[ostler.MQError]:
    return pytest.RaisesExc(ostler.MQError, match=words, check=lambda error: error.reason == reason)


# -- who says where ----------------------------------------------------------------------------------------------------


def test_the_program_comes_before_the_environment() -> None:
    found = endpoints(ConnectParameters("QM1", connection_name="one(1415),two", channel="APP"), SERVER)
    assert found == [Endpoint("one", 1415, "APP", "QM1"), Endpoint("two", 1414, "APP", "QM1")]


def test_a_connection_name_alone_means_the_default_channel() -> None:
    assert endpoints(ConnectParameters(connection_name="one"), {})[0].channel == "SYSTEM.DEF.SVRCONN"


def test_mqserver_comes_before_a_table_of_the_environment(table: Path) -> None:
    found = endpoints(ConnectParameters("QM1"), {**SERVER, "MQCCDTURL": table.as_uri()})
    assert found == [Endpoint("envhost", 1500, "ENV.CH", "QM1")]


def test_a_table_of_the_program_comes_before_mqserver(table: Path) -> None:
    assert hosts(endpoints(ConnectParameters("QM1", ccdt_url=table.as_uri()), SERVER)) == ["one"]


def test_nothing_said_leads_nowhere() -> None:
    assert endpoints(ConnectParameters("QM1"), {}) == []
    with refused(mq.MQRC_Q_MGR_NAME_ERROR, "MQSERVER"):
        endpoints(ConnectParameters("QM1", binding="client"), {})
    with refused(mq.MQRC_Q_MGR_NAME_ERROR, "MQSERVER"):
        endpoints(ConnectParameters("QM1", channel="APP"), {})


@pytest.mark.parametrize("binding", ["local", "embedded"])
def test_other_bindings_do_not_look(binding: str) -> None:
    assert endpoints(ConnectParameters("QM1", binding=binding), SERVER) == []  # type: ignore[arg-type]


def test_what_the_program_says_of_the_link_goes_along() -> None:
    parameters = ConnectParameters(
        connection_name="h", heartbeat_seconds=7, sharing_conversations=1, message_bytes_max=99, local_address="(1,2)"
    )
    found = endpoints(parameters, {})[0]
    assert (found.heartbeat_seconds, found.sharing_conversations) == (7, 1)
    assert (found.message_bytes_max, found.local_address) == (99, "(1,2)")


@pytest.mark.parametrize(("name", "wanted"), [("QM1", "QM1"), ("*QM1", ""), ("*", ""), ("", ""), ("  ", "")])
def test_whoever_answers_a_group_will_do(name: str, wanted: str) -> None:
    assert endpoints(ConnectParameters(name, connection_name="h"), {})[0].queue_manager == wanted


# -- MQSERVER ----------------------------------------------------------------------------------------------------------


def test_mqserver_with_several_hosts() -> None:
    assert parse_mqserver(" APP / tcp / one(1500), two ") == ("APP", [Address("one", 1500), Address("two", 1414)])


@pytest.mark.parametrize(
    "text",
    ["APP", "APP/TCP", "APP/TCP/", "/TCP/host", "APP/LU62/host", "APP/TCP/host(x)", "TWENTY.ONE.CHARACTERS/TCP/h"],
)
def test_mqserver_that_leads_nowhere(text: str) -> None:
    with refused(mq.MQRC_CHANNEL_CONFIG_ERROR):
        endpoints(ConnectParameters(), {"MQSERVER": text})


# -- which channels of a table, and in which order ---------------------------------------------------------------------


def test_channels_are_chosen_by_queue_manager(table: Path) -> None:
    environment = {"MQCCDTURL": table.as_uri()}
    assert endpoints(ConnectParameters("QM1"), environment) == [Endpoint("one", 1414, "QM1.CH", "QM1")]
    assert hosts(endpoints(ConnectParameters(""), environment)) == ["any"]
    assert hosts(endpoints(ConnectParameters("*"), environment)) == ["any"]
    group = endpoints(ConnectParameters("*GROUP"), environment)
    assert {each.queue_manager for each in group} == {""}
    named = endpoints(ConnectParameters("GROUP"), environment)
    assert {each.queue_manager for each in named} == {"GROUP"}
    assert hosts(group) == hosts(named)


def test_channels_without_weight_come_first_by_name(table: Path) -> None:
    found = hosts(endpoints(ConnectParameters("*GROUP", ccdt_url=str(table)), {}))
    assert found[:3] == ["y1", "y2", "z"]
    assert sorted(found[3:]) == ["a", "b"]


def test_a_channel_name_chooses_too(table: Path) -> None:
    assert hosts(endpoints(ConnectParameters("*GROUP", ccdt_url=str(table), channel="Y"), {})) == ["y1", "y2"]
    with refused(mq.MQRC_UNKNOWN_CHANNEL_NAME, "NONE"):
        endpoints(ConnectParameters("*GROUP", ccdt_url=str(table), channel="NONE"), {})


def test_no_channel_for_a_queue_manager(table: Path) -> None:
    with refused(mq.MQRC_Q_MGR_NAME_ERROR, "QM9"):
        endpoints(ConnectParameters("QM9", ccdt_url=str(table)), {})


def weighted(name: str, weight: int, is_preferred: bool) -> ClientChannel:
    return ClientChannel(name, (), weight=weight, is_preferred=is_preferred)


def test_weights_say_how_often_a_channel_is_first() -> None:
    channels = [weighted("A", 1, False), weighted("B", 3, False)]
    chance = random.Random(7)
    first = Counter(order_channels(channels, chance, "here")[0].name for _ in range(4000))
    assert 2850 < first["B"] < 3150


def test_affinity_gives_a_host_always_the_same_order() -> None:
    channels = [weighted(name, 5, True) for name in "ABCDEFGH"]
    one = [each.name for each in order_channels(channels, random.Random(1), "here")]
    two = [each.name for each in order_channels(channels, random.Random(2), "here")]
    elsewhere = [each.name for each in order_channels(channels, random.Random(1), "there")]
    assert one == two
    assert one != elsewhere


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 99), st.booleans())), st.integers(0, 1 << 30))
def test_every_channel_is_tried_once(given: list[tuple[str, int, bool]], seed: int) -> None:
    channels = [weighted(*each) for each in given]
    ordered = order_channels(channels, random.Random(seed), "here")
    assert Counter(ordered) == Counter(channels)
    assert [each.weight > 0 for each in ordered] == sorted(each.weight > 0 for each in ordered)
    assert ordered == order_channels(channels, random.Random(seed), "here")


# -- where the table is ------------------------------------------------------------------------------------------------


def test_the_ways_to_name_a_file(table: Path) -> None:
    assert ccdt.location(table.as_uri(), {}) == table
    assert "%20" in table.as_uri()
    assert ccdt.location(str(table), {}) == table
    assert ccdt.location("", {"MQCCDTURL": table.as_uri(), "MQCHLLIB": "/elsewhere"}) == table
    assert ccdt.location("", {"MQCHLLIB": str(table.parent), "MQCHLTAB": table.name}) == table
    assert ccdt.location("", {"MQCHLLIB": table.parent.as_uri(), "MQCHLTAB": table.name}) == table
    assert ccdt.location("", {"MQCHLLIB": "/lib"}) == Path("/lib/AMQCLCHL.TAB")
    assert ccdt.location("", {"MQCHLTAB": "t.json"}) == Path("t.json")
    assert ccdt.location("", {}) is None


@pytest.mark.parametrize("url", ["http://h/ccdt.json", "https://h/ccdt.json", "ftp://h/x", "file://host/ccdt.json"])
def test_tables_are_not_fetched(url: str) -> None:
    with refused(mq.MQRC_CCDT_URL_ERROR, "file:///"):
        ccdt.location(url, {})


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with refused(mq.MQRC_CCDT_URL_ERROR, "No such file"):
        endpoints(ConnectParameters("QM1", ccdt_url=str(tmp_path / "none.json")), {})


# -- what the table says -----------------------------------------------------------------------------------------------

FULL = {
    "channel": [
        {
            "name": "APP.CH",
            "type": "clientConnection",
            "general": {"description": "all that is known", "maximumMessageLength": 4096},
            "clientConnection": {
                "connection": [{"host": "one", "port": 1415}, {"host": "two"}],
                "queueManager": "QM1",
            },
            "connectionManagement": {
                "sharingConversations": 0,
                "heartbeatInterval": 5,
                "clientWeight": 12,
                "affinity": "none",
                "defaultReconnect": "queueManager",
                "disconnectInterval": 60,
                "localAddress": [{"host": "here", "portRange": {"low": 1500, "high": 1600}}, {"host": "there"}],
            },
            "transmissionSecurity": {
                "cipherSpecification": "ANY_TLS12_OR_HIGHER",
                "certificateLabel": "me",
                "certificatePeerName": "CN=QM1",
            },
            "comment": ["not known, not minded"],
        }
    ]
}


def test_everything_a_table_says() -> None:
    assert ccdt.parse(json.dumps(FULL).encode()) == [
        ClientChannel(
            name="APP.CH",
            addresses=(Address("one", 1415), Address("two", 1414)),
            queue_manager="QM1",
            weight=12,
            is_preferred=False,
            cipher_spec="ANY_TLS12_OR_HIGHER",
            certificate_label="me",
            peer_name="CN=QM1",
            heartbeat_seconds=5,
            sharing_conversations=0,
            message_bytes_max=4096,
            disconnect_seconds=60,
            local_address="here(1500,1600),there",
            reconnect="qmgr",
        )
    ]


def test_endpoints_have_what_the_table_says(tmp_path: Path) -> None:
    path = tmp_path / "ccdt.json"
    path.write_text(json.dumps(FULL))
    first, second = endpoints(ConnectParameters("QM1", ccdt_url=path.as_uri(), message_bytes_max=9999), {})
    assert first == Endpoint(
        host="one",
        port=1415,
        channel="APP.CH",
        queue_manager="QM1",
        cipher_spec="ANY_TLS12_OR_HIGHER",
        peer_name="CN=QM1",
        certificate_label="me",
        weight=12,
        heartbeat_seconds=5,
        sharing_conversations=0,
        message_bytes_max=4096,
        local_address="here(1500,1600),there",
        reconnect="qmgr",
    )
    assert (second.host, second.port) == ("two", 1414)


def test_the_other_spelling_of_the_heartbeat() -> None:
    table = {"channel": [channel("A", heartInterval=9)]}
    assert ccdt.parse(json.dumps(table).encode())[0].heartbeat_seconds == 9


def changed(path: str, value: object) -> bytes:
    """The full table with one value changed."""
    table = json.loads(json.dumps(FULL))
    place, *keys = table["channel"], *path.split(".")
    for key in keys[:-1]:
        place = place[int(key)] if key.isdigit() else place[key]
    last = keys[-1]
    place[int(last) if last.isdigit() else last] = value
    return json.dumps(table).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("0", "not an object"),
        ("0.name", ""),
        ("0.name", 7),
        ("0.name", "X" * 21),
        ("0.clientConnection", []),
        ("0.clientConnection.connection", ["host"]),
        ("0.clientConnection.connection.0.host", ""),
        ("0.clientConnection.connection.0.port", "1414"),
        ("0.clientConnection.connection.0.port", 65536),
        ("0.connectionManagement.clientWeight", 100),
        ("0.connectionManagement.clientWeight", True),
        ("0.connectionManagement.affinity", "deep"),
        ("0.connectionManagement.defaultReconnect", "perhaps"),
        ("0.connectionManagement.localAddress.0.portRange", {"low": 1}),
        ("0.transmissionSecurity.cipherSpecification", 5),
    ],
)
def test_values_that_are_wrong_are_named(path: str, value: object) -> None:
    with refused(mq.MQRC_CHANNEL_CONFIG_ERROR, rf"channel\[.*{path.rpartition('.')[2]}"):
        ccdt.parse(changed(path, value))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "JSON"),
        (b"AMQR\0\0", "binary"),
        (b"[]", "channel"),
        (b'{"channel": {}}', "channel"),
        (b"[" * 99999, "JSON"),
    ],
)
def test_tables_that_are_none(data: bytes, words: str) -> None:
    with refused(mq.MQRC_CHANNEL_CONFIG_ERROR, words):
        ccdt.parse(data, "x.json")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["host", "port", "connection", "queueManager", "low"]), inner, max_size=3)
    ),
)


@given(st.sampled_from(["clientConnection", "connectionManagement", "transmissionSecurity", "general"]), JSON)
def test_anything_is_read_or_refused(part: str, value: object) -> None:
    channels, reason = [], 0
    try:
        channels = ccdt.parse(changed(f"0.{part}", value))
    except ostler.MQError as error:
        reason = error.reason
    assert (len(channels), reason) in ((1, 0), (0, mq.MQRC_CHANNEL_CONFIG_ERROR))


# -- TLS ---------------------------------------------------------------------------------------------------------------


def test_tls_is_what_somebody_asks_for() -> None:
    plain, secured = Endpoint("h"), Endpoint("h", cipher_spec="ANY_TLS12", peer_name="CN=A", certificate_label="L")
    environment = {"MQSSLKEYR": "/keys", "MQCERTLABL": "mine"}
    assert tls_settings(ConnectParameters(), plain, environment) is None
    assert tls_settings(ConnectParameters(), secured, environment) == TlsSettings("ANY_TLS12", "/keys", "L", "CN=A")
    own = ConnectParameters(tls=TlsSettings("ANY_TLS13", "/own", "O", "CN=B", key_password="p"))
    assert tls_settings(own, secured, environment) == own.tls
    bare = ConnectParameters(tls=TlsSettings("ANY_TLS13"))
    assert tls_settings(bare, plain, environment) == TlsSettings("ANY_TLS13", "/keys", "mine")


def test_new_keys_are_asked_for_as_the_program_or_the_environment_says() -> None:
    own, bare = TlsSettings("ANY_TLS13", key_reset_bytes=50_000), TlsSettings("ANY_TLS13")
    environment = {"MQSSLRESET": "70000"}
    for settings, count in ((own, 50_000), (bare, 70_000)):
        found = tls_settings(ConnectParameters(tls=settings), Endpoint("h"), environment)
        assert found is not None
        assert found.key_reset_bytes == count
    for text in ("many", "-1", "1000000000"):
        with refused(mq.MQRC_SSL_KEY_RESET_ERROR):
            tls_settings(ConnectParameters(tls=bare), Endpoint("h"), {"MQSSLRESET": text})


def test_a_channel_with_exits_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "ccdt.json"
    for exits in ({"security": {"name": "check"}}, {"send": [{"name": "pack"}]}, {"receive": [{"name": "unpack"}]}):
        entry = {**channel("GUARDED", "QM1", "one"), "exits": exits}
        path.write_text(json.dumps({"channel": [entry, channel("OPEN", "QM2", "two")]}))
        with refused(mq.MQRC_CLIENT_EXIT_LOAD_ERROR, "GUARDED has exits"):
            endpoints(ConnectParameters("QM1", ccdt_url=path.as_uri()), {})
        assert hosts(endpoints(ConnectParameters("QM2", ccdt_url=path.as_uri()), {})) == ["two"]
