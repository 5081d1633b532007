"""A program on ibmmq finds its queue manager however it says where that is, and is told why when it cannot."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.world.tls_pairs import make_certificates

from ostler.model import constants as mqc
from ostler.testing import queue_manager

PROGRAM = Path(__file__).parent / "connections.py"
NAME = "DROPIN.TLS"
EXPECTED = f"""\
channel and address -> {NAME}
list, first dead -> {NAME}
any queue manager -> {NAME}
another queue manager 2 {mqc.MQRC_Q_MGR_NAME_ERROR}
nobody there 2 {mqc.MQRC_HOST_NOT_AVAILABLE}
unknown channel 2 {mqc.MQRC_UNKNOWN_CHANNEL_NAME}
nothing said 2 {mqc.MQRC_Q_MGR_NAME_ERROR}
MQSERVER -> {NAME}
MQSERVER, binding open -> {NAME}
MQSERVER, but local 2 {mqc.MQRC_Q_MGR_NAME_ERROR}
MQCCDTURL -> {NAME}
CCDTUrl -> {NAME}
password in clear 2 {mqc.MQRC_PASSWORD_PROTECTION_ERROR}
password, here -> {NAME}
TLS -> {NAME}
TLS, password -> {NAME}
TLS, peer -> {NAME}
TLS, other peer 2 {mqc.MQRC_SSL_PEER_NAME_MISMATCH}
TLS, no keys 2 {mqc.MQRC_KEY_REPOSITORY_ERROR}
TLS, another authority 2 {mqc.MQRC_SSL_INITIALIZATION_ERROR}
TLS, other cipher 2 {mqc.MQRC_UNSUPPORTED_CIPHER_SUITE}
no TLS on a TLS channel 2 {mqc.MQRC_SSL_INITIALIZATION_ERROR}
mutual TLS -> {NAME}
mutual TLS, label in SCO -> {NAME}
"""


def test_connections(tmp_path: Path, program_environment: Callable[[str, Path], dict[str, str]]) -> None:
    certificates = make_certificates(tmp_path / "keys", NAME)
    strangers = make_certificates(tmp_path / "strangers", "STRANGER")
    mqsc = f"""
        ALTER QMGR SSLKEYR('{certificates.manager}')
        DEFINE CHANNEL(SECURE) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS13) SSLCAUTH(OPTIONAL)
        DEFINE CHANNEL(MUTUAL) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS13) SSLCAUTH(REQUIRED) SSLPEER('OU=Payments')
        """
    with queue_manager(NAME, mqsc=mqsc, data=tmp_path / "data") as running, socket.socket() as taken:
        # Bound and not listening: whoever connects is refused.
        taken.bind((running.host, 0))
        dead = f"{running.host}({taken.getsockname()[1]})"
        arguments = [NAME, running.channel, "SECURE", "MUTUAL", running.connection_name, dead]
        arguments += [str(certificates.client), str(strangers.client)]
        done = subprocess.run(
            [sys.executable, str(PROGRAM), *arguments],
            env=program_environment("ibmmq", tmp_path / "nothing"),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.stdout == EXPECTED, done.stderr
