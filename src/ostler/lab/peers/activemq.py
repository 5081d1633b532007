"""An ActiveMQ broker of our own, with a STOMP listener.

The broker is configured by a URI instead of a file, which needs no more than its own libraries. Persistent messages go
to KahaDB, whose journal is forced before a send is answered, which is its default.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path
from urllib.parse import quote

from ostler.lab.peers.broker_process import LOOPBACK, Peer, free_port
from ostler.lab.peers.packages import PeerUnavailable, unpack_packages

NAME = "activemq"
PACKAGES = (
    "libactivemq-java", "libactivemq-protobuf-java", "libhawtbuf-java", "libgeronimo-annotation-1.3-spec-java",
    "libgeronimo-j2ee-management-1.1-spec-java", "libgeronimo-jms-1.1-spec-java", "libgeronimo-jta-1.2-spec-java",
    "libslf4j-java",
)  # fmt: skip
_JARS = "usr/share/java"
PROOF = f"{_JARS}/activemq-stomp.jar"
DURABILITY = "persistent messages in KahaDB, forced before receipts; others in memory"
JAVA_MISSING = "there is no Java here; install openjdk-17-jre-headless, or set JAVA_HOME"
_LIBRARIES = (
    "activemq-broker", "activemq-client", "activemq-console", "activemq-kahadb-store", "activemq-openwire-legacy",
    "activemq-protobuf", "activemq-stomp", "geronimo-annotation-1.3-spec", "geronimo-j2ee-management-1.1-spec",
    "geronimo-jms_1.1_spec", "geronimo-jta-1.2-spec", "hawtbuf", "slf4j-api", "slf4j-simple",
)  # fmt: skip
_MAIN = "org.apache.activemq.console.command.ShellCommand"
# The heap of Debian's package.
_HEAP = ("-Xms512M", "-Xmx512M")
_START_SECONDS_MAX = 60.0


def start(scratch: Path) -> Peer:
    """Start it with its state in `scratch`. Raises PeerUnavailable."""
    program = java()
    root = unpack_packages(NAME, PACKAGES, PROOF)
    scratch.mkdir(parents=True, exist_ok=True)
    port = free_port()
    peer = Peer(NAME, version(root), port, scratch / "activemq.log", durability=DURABILITY)
    command = [
        program,
        *_HEAP,
        f"-Dactivemq.home={scratch}",
        f"-Dactivemq.base={scratch}",
        f"-Djava.io.tmpdir={scratch}",
        "-Djava.awt.headless=true",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-cp",
        os.pathsep.join(_class_path(root)),
        _MAIN,
        "start",
        _broker(scratch, port),
    ]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("ACTIVEMQ_", "JAVA_TOOL"))}
    peer.add(command, environment, scratch)
    peer.wait_until_listening(_START_SECONDS_MAX)
    return peer


def java() -> str:
    """Return the program that runs it. Raises PeerUnavailable."""
    home = os.environ.get("JAVA_HOME", "")
    found = shutil.which("java", path=os.path.join(home, "bin")) if home else None
    found = found or shutil.which("java")
    if found is None:
        raise PeerUnavailable(f"{NAME}: {JAVA_MISSING}")
    return found


def version(root: Path) -> str:
    """Return the version from the manifest of its client library."""
    try:
        with zipfile.ZipFile(root / _JARS / "activemq-client.jar") as jar:
            manifest = jar.read("META-INF/MANIFEST.MF").decode(errors="replace")
    except (OSError, zipfile.BadZipFile, KeyError) as failure:
        raise PeerUnavailable(f"{NAME}: its client library cannot be read: {failure}") from None
    attributes = dict(line.split(": ", 1) for line in manifest.splitlines() if ": " in line)
    return attributes.get("Implementation-Version") or attributes.get("Bundle-Version") or "of unknown version"


def _class_path(root: Path) -> list[str]:
    found = [root / _JARS / f"{library}.jar" for library in _LIBRARIES]
    missing = [each.name for each in found if not each.exists()]
    if missing:
        raise PeerUnavailable(f"{NAME}: below {root / _JARS} there is no {' and no '.join(missing)}")
    return [str(each) for each in found]


def _broker(scratch: Path, port: int) -> str:
    settings = {
        "brokerName": "lab",
        "persistent": "true",
        "useJmx": "false",
        "schedulerSupport": "false",
        "advisorySupport": "false",
        "dataDirectory": quote(str(scratch / "data")),
    }
    # Receipts and messages follow each other: without this option they would delay one another.
    listener = f"stomp+nio://{LOOPBACK}:{port}?transport.tcpNoDelay=true"
    return f"broker:({listener})?" + "&".join(f"{key}={value}" for key, value in settings.items())
