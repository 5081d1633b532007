"""What can be said when connecting."""

from __future__ import annotations

import pytest

import ostler
from ostler.client.locate.connect_parameters import ConnectParameters, Endpoint, TlsSettings
from ostler.model import constants as mq


@pytest.mark.parametrize(
    "given",
    [
        {"binding": "telepathy"},
        {"reconnect": "maybe"},
        {"heartbeat_seconds": -1},
        {"heartbeat_seconds": 1_000_000},
        {"sharing_conversations": 1_000_000_000},
        {"message_bytes_max": 104_857_601},
        {"binding": "local", "connection_name": "host"},
        {"binding": "embedded", "connection_name": "host"},
    ],
)
def test_parameters_that_make_no_sense(given: dict[str, object]) -> None:
    with pytest.raises(ostler.MQError) as refused:
        ConnectParameters(**given)  # type: ignore[arg-type]
    assert refused.value.reason == mq.MQRC_OPTIONS_ERROR


def test_secrets_are_not_shown() -> None:
    parameters = ConnectParameters("QM1", user="fred", password="s3cret", tls=TlsSettings(key_password="pa55"))
    assert "fred" in repr(parameters)
    assert "s3cret" not in repr(parameters)
    assert "pa55" not in repr(parameters)


def test_an_endpoint_reads_well() -> None:
    assert str(Endpoint("host", 1415, "APP")) == "APP at host(1415)"
