"""A trial group: three instances of a queue manager on this machine, made and operated by the commands of a user.

Each instance has a loopback address of its own, and all have the same ports, as on three machines:

    alpha 127.0.0.2   beta 127.0.0.3   gamma 127.0.0.4
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from ostler.cli.demo.account import CHANNEL, NAME
from ostler.cli.demo.server import CommandRun, ServerFailed, run_command
from ostler.client.api.connection import Connection, connect
from ostler.client.link.backoff import DELAYS_VARIABLE
from ostler.client.link.control import NotRunningError, control
from ostler.lab.peers import etcd
from ostler.lab.peers.broker_process import Peer
from ostler.lab.peers.packages import PeerUnavailable, find_unpacked
from ostler.model.errors import MQError
from ostler.model.replication import GroupStatus, InstanceRole
from ostler.server.config.directories import QueueManagerDirectory, locate, running_process
from ostler.server.replica.control_codec import decode_status

AUTOMATIC: Final = "auto"
ETCD: Final = "etcd"
FILE: Final = "file"
ADDRESSES: Final = {"alpha": "127.0.0.2", "beta": "127.0.0.3", "gamma": "127.0.0.4"}
QUEUE: Final = "DEMO.QUEUE"
_USER: Final = "demo"
_DEFINITIONS: Final = "\n".join(
    [
        f"DEFINE QLOCAL({QUEUE}) MAXDEPTH(999999999) DEFPSIST(YES)",
        f"DEFINE CHANNEL({CHANNEL}) CHLTYPE(SVRCONN) MCAUSER('{_USER}')",
        f"SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('{_USER}') AUTHADD(CONNECT,INQ)",
        f"SET AUTHREC PROFILE({QUEUE}) OBJTYPE(QUEUE) PRINCIPAL('{_USER}') AUTHADD(ALLMQI)",
    ]
)
# How long the clients wait between two walks along their connection list, in milliseconds.
_RECONNECT_DELAYS: Final = "(50,50)"
_SECONDS_MAX: Final = 60.0
_POLL_SECONDS: Final = 0.02


class TrialGroup:
    """Three instances and their arbiter in one directory. `close` ends all of it, whatever state it is in."""

    def __init__(self, root: Path, arbiter: str, lease_seconds: int, on_command: Callable[[CommandRun], None]) -> None:
        """`arbiter` is ETCD, FILE, or AUTOMATIC: etcd where it is installed or unpacked, else the file."""
        self.root = root
        self.arbiter = arbiter
        self.lease_seconds = lease_seconds
        self.port = _free_port()
        self._on_command = on_command
        self._etcd: Peer | None = None
        self._has_begun = False

    # -- making and ending ---------------------------------------------------------------------------------------------

    def make(self) -> None:
        """Makes and starts everything. Raises ServerFailed."""
        self._has_begun = True
        where = self._start_arbiter()
        port = str(_free_port())
        nodes = [word for name, host in ADDRESSES.items() for word in ("-n", f"{name}={host}:{port}")]
        self._run("crthagrp", "trial", *nodes, "--arbiter", where, "--lease", str(self.lease_seconds))
        for name in ADDRESSES:
            options = ("-sx", "-p", str(self.port)) if name == "alpha" else ("-sxs",)
            self._run("crtmqm", *options, self.typed(name))
            own = ("-s", "Replication", "-k", "ListenerAddress", "-v", ADDRESSES[name])
            self._run("setmqini", "-m", self.typed(name), *own)
            # Definitions and messages are copied. Users are not: each instance has its own.
            self._run("users", "add", "--no-password", self.typed(name), _USER)
        self.start(*ADDRESSES)
        leader = self.wait_for_leader()
        self._run("runmqsc", "-e", self.typed(leader), text=_DEFINITIONS)
        self.wait_until_in_sync()

    def _start_arbiter(self) -> str:
        """Returns the option of crthagrp. An etcd ends when this process is killed."""
        if self.arbiter == AUTOMATIC:
            self.arbiter = ETCD if find_unpacked(etcd.NAME, etcd.PROOF) is not None else FILE
        if self.arbiter == FILE:
            return f"file={self.root / 'arbiter'}"
        try:
            self._etcd = etcd.start(self.root / "etcd", etcd.free_ports())
        except PeerUnavailable as failure:
            raise ServerFailed(f"{failure}. --arbiter file goes without etcd") from failure
        return f"etcd=http://127.0.0.1:{self._etcd.port}"

    @property
    def arbiter_words(self) -> str:
        if self._etcd is None:
            return "a file, for instances on one machine"
        return f"etcd {self._etcd.version}, process {self._etcd.pids[0]}"

    def close(self) -> None:
        """Ends all processes that this group has started, at once."""
        if not self._has_begun:
            return
        with ExitStack() as stack:
            if self._etcd is not None:
                stack.callback(self._etcd.end)
            for name in ADDRESSES:
                stack.callback(self._kill_if_running, name)

    def _kill_if_running(self, name: str) -> None:
        process = self.process(name)
        if process:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            self._wait_gone(name)

    # -- instances -----------------------------------------------------------------------------------------------------

    def typed(self, name: str) -> str:
        """Returns an instance as commands take it."""
        return f"{NAME}@{name}"

    def directory(self, name: str) -> QueueManagerDirectory:
        return locate(self.root, self.typed(name))

    def process(self, name: str) -> int:
        """Returns the process of an instance; 0 without one."""
        return running_process(self.directory(name))[1]

    def start(self, *names: str) -> None:
        for name in names:
            self._run("strmqm", self.typed(name))

    def kill(self, name: str) -> int:
        """Kills an instance with SIGKILL, and returns its process number."""
        process = self.process(name)
        if not process:
            raise ServerFailed(f"{self.typed(name)} has no process to kill")
        os.kill(process, signal.SIGKILL)
        self._wait_gone(name)
        return process

    def switch_over(self, name: str) -> None:
        """Ends an instance in order, so that another one takes over."""
        self._run("endmqm", "-s", "-r", "-i", self.typed(name))

    def status(self, name: str) -> GroupStatus | None:
        """Returns the group as an instance knows it; None when it does not answer."""
        with suppress(NotRunningError, MQError):
            for answer in control(self.directory(name), "replication", request="status"):
                found = answer.get("replication")
                if isinstance(found, dict):
                    return decode_status(found)
        return None

    def leader(self) -> str:
        """Returns the instance that leads; empty while none does."""
        for name in ADDRESSES:
            status = self.status(name)
            if status is not None and status.role is InstanceRole.ACTIVE:
                return name
        return ""

    def wait_for_leader(self) -> str:
        self._wait(lambda: bool(self.leader()), "no instance leads")
        return self.leader() or self.wait_for_leader()

    def wait_until_in_sync(self) -> None:
        self._wait(self._are_all_in_sync, "not all instances are in sync")

    def _are_all_in_sync(self) -> bool:
        status = self.status(self.leader() or "alpha")
        rows = status.instances if status is not None else ()
        return sum(1 for each in rows if each.is_in_sync and each.is_linked) == len(ADDRESSES)

    def _wait(self, is_so: Callable[[], bool], missing: str) -> None:
        deadline = time.monotonic() + _SECONDS_MAX
        while not is_so():
            if time.monotonic() > deadline:
                logs = ", ".join(str(self.directory(name).errors) for name in ADDRESSES)
                raise ServerFailed(f"{missing} after {_SECONDS_MAX:.0f} seconds; the error logs are in {logs}")
            time.sleep(_POLL_SECONDS)

    def _wait_gone(self, name: str) -> None:
        self._wait(lambda: not running_process(self.directory(name))[0], f"{self.typed(name)} does not end")

    # -- applications --------------------------------------------------------------------------------------------------

    @property
    def connection_list(self) -> str:
        return ",".join(f"{host}({self.port})" for host in ADDRESSES.values())

    def connect(self) -> Connection:
        """Returns a connection that reconnects by itself, over the list of all instances."""
        os.environ.setdefault(DELAYS_VARIABLE, _RECONNECT_DELAYS)
        return connect(NAME, self.connection_list, channel=CHANNEL, reconnect=True, application="ha demo")

    # -- commands ------------------------------------------------------------------------------------------------------

    def _run(self, *arguments: str, text: str = "") -> None:
        self._on_command(run_command(self.root, *arguments, text=text))


def _free_port() -> int:
    """Returns a port at which nobody listens on any address of the group."""
    while True:
        with ExitStack() as stack:
            port = 0
            with suppress(OSError):
                for host in ADDRESSES.values():
                    probe = stack.enter_context(socket.socket())
                    probe.bind((host, port))
                    port = probe.getsockname()[1]
                return port
