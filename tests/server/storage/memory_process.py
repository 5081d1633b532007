"""A queue manager in a process of its own, with little of something, seen from outside."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

from tests.free_ports import free_port
from tests.world.wire_bench import Peer, dial, get

from ostler.client.link.control import control
from ostler.server.config.directories import QueueManagerDirectory
from ostler.wire import frames as wire

MEGABYTE = 1 << 20

_SCRIPT = """
import json, sys
from pathlib import Path
from ostler.model.attributes import ObjectType
from ostler.model.definitions import new_definition
from ostler.server.net.local_socket import socket_path
from ostler.server.config.qm_ini import LogSection
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.assembly import Server
from ostler.model.constants import MQCHT_SVRCONN
from ostler.server.storage.memory_limits import bound_malloc_arenas
from ostler.testing.without_security import disable_security

bound_malloc_arenas()
log = LogSection(primary_files=3, file_pages=int(sys.argv[2]))
manager = QueueManager(create_queue_manager(Path(sys.argv[1]), "SMALL", log))
manager.start()
manager.define(new_definition(ObjectType.QLOCAL, "Q", {"MAXMSGL": 100 << 20}))
manager.define(new_definition(ObjectType.CHANNEL, "IN", {"CHLTYPE": MQCHT_SVRCONN, "MAXMSGL": 100 << 20}))
manager.define(new_definition(ObjectType.LISTENER, "L", {"PORT": int(sys.argv[3]), "CONTROL": 1}))
server = Server(disable_security(manager))
server.start()
manager.engine.message_bytes_max = 100 << 20
print(json.dumps({"path": str(socket_path(manager.directory))}), flush=True)
for line in sys.stdin:
    with manager.lock:
        found = {"alive": server.is_serving() and not manager.writer.failure, "notes": manager.notices,
                 "held": int(server.reactor.memory.used_bytes()), "limit": int(server.reactor.memory.bytes_max),
                 "links": len(server.reactor.links), "refused": int(server.reactor.counters.refused),
                 "depth": int(manager.engine.queues["Q"].depth), "topics": len(manager.engine.topics.nodes)}
    print(json.dumps(found), flush=True)
server.end("immediate")
"""


class SmallProcess:
    """The process; `limits` are resource limits by their numbers in the module resource."""

    def __init__(self, root: Path, limits: dict[int, int], log_pages: int = 64) -> None:
        self.port = free_port()
        self.directory = QueueManagerDirectory(root, "SMALL")

        def limit() -> None:
            for what, most in limits.items():
                resource.setrlimit(what, (most, most))

        command = [sys.executable, "-c", _SCRIPT, str(root), str(log_pages), str(self.port)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=limit
        )
        self.path = str(self._read()["path"])

    def _read(self) -> dict[str, object]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the queue manager ended with {self.process.wait(60)}"
        found: dict[str, object] = json.loads(line)
        return found

    def look(self) -> dict[str, object]:
        assert self.process.stdin is not None
        self.process.stdin.write("look\n")
        self.process.stdin.flush()
        return self._read()

    def number(self, name: str) -> int:
        return int(str(self.look()[name]))

    def resident_bytes(self) -> int:
        return self._status("VmRSS")

    def resident_bytes_most(self) -> int:
        return self._status("VmHWM")

    def _status(self, name: str) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
        assert found is not None
        return int(found[1]) * 1024

    def worker(self, by_listener: bool = False) -> Peer:
        """An application that has queue Q open, on the local socket or on that of the listener."""
        peer = dial(("127.0.0.1", self.port)) if by_listener else dial(self.path)
        assert peer.hello("IN" if by_listener else "", message_bytes_max=wire.MESSAGE_BYTES_MAX).completion == 0
        assert peer.connect().completion == 0
        peer.open("Q")
        return peer

    def mqsc(self, command: str) -> str:
        """What runmqsc prints: it comes in by the local socket."""
        return "".join(str(each) for each in control(self.directory, "mqsc", text=command))

    def end(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        status = self.process.wait(120)
        self.process.stdout.close()
        return status

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def browse_without_reading(peer: Peer, count: int, options: int) -> None:
    """Ask for the first message so often, as far as the socket takes it, and read no answer."""
    frames = b"".join(wire.frame(wire.GET, 1, 100 + number, get(2, options)) for number in range(count))
    peer.sock.settimeout(1.0)
    try:
        peer.sock.sendall(frames)
    except TimeoutError:
        pass
    finally:
        peer.sock.setblocking(False)
