"""Instances of one queue manager as real processes with a directory each, and applications that keep an account."""

from __future__ import annotations

import fcntl
import getpass
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from copy import copy
from pathlib import Path

import psutil
from tests.free_ports import free_port
from tests.world.replica.link_relay import LinkRelay

import ostler
from ostler.cli.demo.applications import Applications
from ostler.cli.demo.failover_account import FailoverAccount
from ostler.client.link.control import NotRunningError, control
from ostler.model.connection_names import Address
from ostler.model.errors import MQError
from ostler.model.replication import GroupStatus, InstanceRole
from ostler.server.config.directories import QueueManagerDirectory, running_process
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType
from ostler.server.queue_manager import create_queue_manager
from ostler.server.replica.certificates import issue_certificate
from ostler.server.replica.control_codec import decode_status
from ostler.server.tls.certificate_maker import Authority

NAME = "QM1"
QUEUE = "HISTORY"
CHANNEL = "APP"
# A process that gets no processor for so long is not missed: other tests run beside this one.
LEASE_SECONDS = 6
HEARTBEAT_TIMEOUT_MS = 5000
_OTHER_RELEASE = Path(__file__).with_name("other_release.py")
_PATIENCE_SECONDS = 150.0
_PAUSE_SECONDS = 0.02


def wait_until(is_true: Callable[[], bool], missing: Callable[[], str]) -> None:
    """Wait for something to happen; after a limit fail with what was missing."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < deadline, missing()
        time.sleep(_PAUSE_SECONDS)


def is_stopped(pid: int) -> bool:
    """Tell that every thread of a process stands still, after SIGSTOP."""
    states = [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in Path(f"/proc/{pid}/task").iterdir()]
    return set(states) == {"T"}


def certify(authority: Authority, directory: QueueManagerDirectory, instance: str) -> None:
    """Make the key repository of an instance, in place of any other."""
    repository = directory.path / "ha"
    shutil.rmtree(repository, ignore_errors=True)
    issue_certificate(authority, repository, "group", instance, Address("127.0.0.1", 0))


class ReplicaGroup:
    """Up to three instances on loopback. Each has a data root of its own, as on machines of their own."""

    def __init__(
        self,
        root: Path,
        instances: str = "abc",
        arbiter: str = "",
        lease_seconds: int = LEASE_SECONDS,
        is_relayed: bool = False,
        authority: Authority | None = None,
        name: str = NAME,
        heartbeat_timeout_ms: int = HEARTBEAT_TIMEOUT_MS,
    ) -> None:
        """`arbiter` is the body of the stanza Arbiter; a file arbiter without it. With `is_relayed` there are relays
        between the instances. `authority` makes certificates for TLS; without one the links are not secured."""
        self.root = root
        self.name = name
        self.instances = instances
        ports = [free_port() for _ in range(len(instances) + 1)]
        self.port = ports[-1]
        self.replication_ports = dict(zip(instances, ports, strict=False))
        self.relays: dict[tuple[str, str], LinkRelay] = {}
        """By the instance that connects, when it leads, and the one that it connects to."""
        if is_relayed:
            pairs = [(one, other) for one in instances for other in instances if one != other]
            self.relays = {pair: LinkRelay(self.replication_ports[pair[1]]) for pair in pairs}
        body = arbiter or f"   Type=File\n   Path={root / 'arbiter'}\n"
        body = f"Arbiter:\n{body}   LeaseSeconds={lease_seconds}\n"
        first = instances[0]
        log = LogSection(
            primary_files=3,
            secondary_files=2,
            file_pages=256,
            type=LogType.REPLICATED,
            management=LogManagement.AUTOMATIC,
        )
        for each in instances:
            # The first one has the log; the others are empty and take it from there.
            made = create_queue_manager(root / each, name, log, instance=each, wants_base=each != first)
            if authority is not None:
                certify(authority, made, each)
            timing = f"   HeartbeatInterval=500\n   HeartbeatTimeout={heartbeat_timeout_ms}\n"
            ini = made.ini.read_text().replace(f"   Name={each}\n", f"   Name={each}\n{timing}", 1)
            own = f"Replication:\n   ListenerAddress={self.host(each)}\n"
            made.ini.write_text(ini + self._instance_stanzas(each) + body + own)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.releases: dict[str, str] = {}
        """Instances that are started as of another release (`other_release`)."""
        self.environments: dict[str, dict[str, str]] = {}
        """Variables for the processes of an instance."""

    def clone(self, instance: str, root: Path) -> ReplicaGroup:
        """Copy the files of an instance that does not run, as of a machine that is cloned, and return the copy.

        It has the same name, and takes the log at another port.
        """
        shutil.copytree(self.root / instance, root / instance, symlinks=True)
        made = copy(self)
        made.root, made.instances, made._processes = root, instance, {}
        made.connect_through(instance, instance, free_port())
        return made

    def connect_through(self, instance: str, other: str, port: int) -> None:
        """Let an instance reach another one at a port of a relay. For instances that do not run."""
        ini = self.directory(instance).ini
        before = f"   Name={other}\n   ReplicationAddress=127.0.0.1({self.replication_ports[other]})\n"
        text = ini.read_text()
        assert before in text
        ini.write_text(text.replace(before, f"   Name={other}\n   ReplicationAddress=127.0.0.1({port})\n"))

    def _instance_stanzas(self, own: str) -> str:
        shown = ""
        for name, port in self.replication_ports.items():
            relay = self.relays.get((own, name))
            reached_at = port if relay is None else relay.port
            shown += f"NativeHAInstance:\n   Name={name}\n   ReplicationAddress=127.0.0.1({reached_at})\n"
        return shown

    def links_of(self, instance: str) -> list[LinkRelay]:
        """Return the relays to and from an instance."""
        return [relay for pair, relay in self.relays.items() if instance in pair]

    def followers(self, leader: str) -> list[str]:
        return [each for each in self.instances if each != leader]

    def host(self, instance: str) -> str:
        """Return the address of an instance: each has its own, as on machines of their own."""
        return f"127.0.0.{10 + self.instances.index(instance)}"

    def directory(self, instance: str) -> QueueManagerDirectory:
        return QueueManagerDirectory(self.root / instance, self.name)

    # -- processes -----------------------------------------------------------------------------------------------------

    def start(self, *instances: str) -> None:
        for each in instances or self.instances:
            release = self.releases.get(each)
            program = [sys.executable, "-m", "ostler.cli.strmqm"]
            if release is not None:
                program = [sys.executable, str(_OTHER_RELEASE), release]
            program += ["--root", str(self.root / each)]
            with open(self.root / f"{each}.output", "ab") as output:
                self._processes[each] = subprocess.Popen(
                    [*program, "--name", self.name, "--pipe", "-1"],
                    stdout=output,
                    stderr=output,
                    env={**os.environ, **self.environments.get(each, {})},
                )

    def kill(self, instance: str) -> None:
        process = self._processes.pop(instance)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def power_off(self, instance: str) -> None:
        """Kill everything of an instance at once, as when its machine loses power."""
        process = self._processes[instance]
        for child in psutil.Process(process.pid).children(recursive=True):
            child.kill()
        self.kill(instance)

    def wait_for_end(self, instance: str) -> int:
        """Wait until the process of an instance has ended by itself; return its exit status."""
        process = self._processes[instance]
        wait_until(lambda: process.poll() is not None, lambda: f"{instance} does not end:\n{self.describe()}")
        del self._processes[instance]
        return process.returncode

    def pause(self, instance: str) -> None:
        """Stop the process where it does not hold the lock of the file arbiter: nobody else could lead then."""
        with ExitStack() as locks:
            for path in self.root.glob("arbiter/*/*/lock"):
                lock = locks.enter_context(path.open("rb+"))
                fcntl.flock(lock, fcntl.LOCK_EX)
            self._processes[instance].send_signal(signal.SIGSTOP)
            wait_until(lambda: is_stopped(self._processes[instance].pid), lambda: f"instance {instance} does not stop")

    def resume(self, instance: str) -> None:
        self._processes[instance].send_signal(signal.SIGCONT)

    def end(self, instance: str, **arguments: object) -> None:
        with suppress(MQError):  # it may end before its answer is out
            list(control(self.directory(instance), "end", mode="immediate", **arguments))
        self._processes.pop(instance).wait(_PATIENCE_SECONDS)

    def forget(self, instance: str) -> None:
        """Wait for the process of an instance that was ended by a command."""
        self._processes.pop(instance).wait(_PATIENCE_SECONDS)

    def close(self) -> None:
        for each in list(self._processes):
            self._processes[each].send_signal(signal.SIGCONT)
            self.kill(each)
        for relay in self.relays.values():
            relay.close()

    def is_running(self, instance: str) -> bool:
        return running_process(self.directory(instance))[0]

    # -- state ---------------------------------------------------------------------------------------------------------

    def status(self, instance: str) -> GroupStatus | None:
        try:
            for reply in control(self.directory(instance), "replication", request="status"):
                found = reply.get("replication")
                if isinstance(found, dict):
                    return decode_status(found)
        except (NotRunningError, MQError):
            return None
        return None

    def leader(self) -> str:
        """Return the instance that leads, and is reachable; empty while none is."""
        for each in list(self._processes):
            status = self.status(each)
            if status is not None and status.role is InstanceRole.ACTIVE:
                return each
        return ""

    def wait_for_leader(self, *others_than: str) -> str:
        found: list[str] = []

        def is_there() -> bool:
            leader = self.leader()
            if leader and leader not in others_than:
                found.append(leader)
            return bool(found)

        wait_until(is_there, lambda: f"no instance leads:\n{self.describe()}")
        return found[-1]

    def wait_until_in_sync(self, count: int) -> None:
        def is_in_sync() -> bool:
            status = self.status(self.leader() or self.instances[0])
            rows = status.instances if status is not None else ()
            # A member that has just died is a member until the leader has noted that it is out.
            return sum(1 for each in rows if each.is_in_sync and each.is_linked) >= count

        wait_until(is_in_sync, lambda: f"{count} instances are not in sync:\n{self.describe()}")

    def wait_for_role_of(self, instance: str, wanted: InstanceRole) -> None:
        """Wait until an instance says that it has this role."""

        def has_role() -> bool:
            status = self.status(instance)
            return status is not None and status.role is wanted

        wait_until(has_role, lambda: f"{instance} is not {wanted}: {self.status(instance)}\n{self.describe()}")

    def error_text(self, instance: str) -> str:
        """Return the error log of an instance."""
        path = self.directory(instance).errors / "AMQERR01.LOG"
        return path.read_text() if path.exists() else ""

    def wait_for_text(self, instance: str, *texts: str, times: int = 1) -> None:
        """Wait until the error log of an instance has a line with all of these texts, so often."""

        def is_written() -> bool:
            lines = self.error_text(instance).splitlines()
            return sum(1 for line in lines if all(text in line for text in texts)) >= times

        wait_until(is_written, lambda: f"{instance} has not written {texts} {times} times:\n{self.describe()}")

    def describe(self) -> str:
        """Return the last lines of all error logs."""
        shown = []
        for each in self.instances:
            path = self.directory(each).errors / "AMQERR01.LOG"
            lines = path.read_text().splitlines()[-15:] if path.exists() else []
            output = self.root / f"{each}.output"
            shown += [f"-- {each}", *lines, output.read_text()[-2000:] if output.exists() else "not started"]
        return "\n".join(shown)

    def prepare(self) -> None:
        """Define what the applications use, at the leader."""
        user = getpass.getuser()
        commands = (
            "ALTER QMGR CHLAUTH(DISABLED) CONNAUTH('')\nREFRESH SECURITY TYPE(CONNAUTH)\n"
            f"DEFINE QLOCAL({QUEUE}) MAXDEPTH(999999999) DEFPSIST(YES) REPLACE\n"
            f"DEFINE CHANNEL({CHANNEL}) CHLTYPE(SVRCONN) MCAUSER('{user}') REPLACE\n"
            f"DEFINE LISTENER(TCP) TRPTYPE(TCP) CONTROL(QMGR) IPADDR('127.0.0.1') PORT({self.port}) REPLACE\n"
            "START LISTENER(TCP)\n"
        )
        problems: list[str] = []

        def is_defined() -> bool:
            leader = self.wait_for_leader()
            try:
                replies = list(control(self.directory(leader), "mqsc", text=commands))
            except (NotRunningError, MQError) as error:
                problems.append(str(error))
                return False  # it makes way meanwhile
            lines = [str(each.get("line", "")) for each in replies]
            failed = [line for line in lines if line.startswith("AMQ") and line[7:8] == "E"]
            # A listener that an earlier attempt has started is there.
            assert not failed or problems, lines
            return True

        wait_until(is_defined, lambda: f"nothing can be defined: {problems}\n{self.describe()}")

    def connect(self) -> ostler.Connection:
        names = ",".join(f"{self.host(each)}({self.port})" for each in self.instances)
        return ostler.connect(self.name, names, channel=CHANNEL, reconnect=False)

    def connect_to(self, instance: str = "") -> ostler.Connection:
        """Connect to one instance, or to whichever leads, once it takes applications: listeners start after the
        election."""
        made: list[ostler.Connection] = []
        wanted = instance or self.instances
        names = ",".join(f"{self.host(each)}({self.port})" for each in wanted)

        def is_connected() -> bool:
            try:
                made.append(ostler.connect(self.name, names, channel=CHANNEL, reconnect=False))
            except MQError:
                return False
            return True

        wait_until(is_connected, lambda: f"{wanted} takes no applications:\n{self.describe()}")
        return made[-1]


class History:
    """Applications that put and get while instances die, and what they were told."""

    def __init__(self, group: ReplicaGroup, putters: int = 3, getters: int = 2) -> None:
        self._group = group
        self.account = FailoverAccount()
        self._applications = Applications(group.connect, QUEUE, self.account, putters, getters)

    def wait_for_puts(self, count: int, since: float | None = None) -> None:
        """Wait until so many more puts were acknowledged, from now or from a moment of the monotonic clock."""
        moment = time.monotonic() if since is None else since
        wait_until(
            lambda: self.account.puts_since(moment) >= count or bool(self._applications.failures),
            lambda: f"{self.account.puts_since(moment)} of {count} puts:\n{self._group.describe()}",
        )

    def finish(self) -> None:
        self._applications.stop()

    def check(self) -> None:
        """Check what is on the queue against what the applications were told."""
        left: list[Counter[str]] = []

        def has_browsed() -> bool:
            try:
                left.append(self._applications.messages_left())
            except MQError:
                return False  # a leader that makes way meanwhile costs another try
            return True

        wait_until(has_browsed, lambda: f"the queue cannot be browsed:\n{self._group.describe()}")
        assert self.account.judge(left[-1]).sentences == []
