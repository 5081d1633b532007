"""A queue manager as `ostler dev` makes it, with TLS on the channel of applications: for tests of who may come in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.world.tls_pairs import APPLICATION_LABEL, make_certificates

from ostler.cli.dev.configuration import APPLICATION_CHANNEL, APPLICATION_USER, SCRIPT
from ostler.testing import RunningQueueManager, queue_manager

PASSWORD = "hay-and-oats-81"
KEY_PASSWORD = "carrots-and-apples-34"


@contextmanager
def guarded(place: Path) -> Iterator[tuple[RunningQueueManager, dict[str, str]]]:
    """The queue manager, and the options that lead to it as the user of applications, with a certificate."""
    certificates = make_certificates(place, "QMTEST")
    with queue_manager(data=place / "data", guarded=True) as qm:
        qm.mqsc(SCRIPT)
        qm.add_user(APPLICATION_USER, PASSWORD)
        qm.mqsc(
            f"ALTER QMGR SSLKEYR('{certificates.manager}')\n"
            f"ALTER CHANNEL({APPLICATION_CHANNEL}) CHLTYPE(SVRCONN) SSLCIPH(ANY_TLS12_OR_HIGHER) SSLCAUTH(REQUIRED)\n"
            "REFRESH SECURITY TYPE(SSL)"
        )
        yield (
            qm,
            {
                "queueManager": qm.name,
                "host": qm.host,
                "port": str(qm.port),
                "channel": APPLICATION_CHANNEL,
                "user": APPLICATION_USER,
                "password": PASSWORD,
                "cipherSpec": "ANY_TLS12_OR_HIGHER",
                "keyRepository": str(certificates.client),
                "certificateLabel": APPLICATION_LABEL,
                "keyPassword": KEY_PASSWORD,
                "peerName": "CN=QMTEST",
            },
        )
