"""A queue manager with copies, made and operated by the commands that an administrator uses.

This is the only module of the laboratory that knows how instances are made: `crthagrp`, `crtmqm -sx` and `-sxs`,
`crtdrprimary` and the `crtdrsecondary` that it prints, `strmqm`, `endmqm -s`, `makedrsecondary` and `makedrprimary`.
Instances of a group are `QM@alpha` and so on, each in a data root of its own; the other site has another directory. All
instances have the listener's port, since its definition is copied, each at a loopback address of its own
(ListenerAddress).

How instances are is asked through their local sockets, as `dspmq -o nativeha` does: a process for each question would
take a core away from what is measured, and would be slower than a switch.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ostler.client.link.control import NotRunningError, control
from ostler.lab.peers import etcd
from ostler.lab.peers.broker_process import LOOPBACK, ended_with_us, free_port
from ostler.lab.peers.packages import PeerUnavailable
from ostler.lab.runner.contract import Metric, PointFailed, RunAborted
from ostler.lab.runner.queue_managers.plan import USER, channel_commands
from ostler.lab.runner.queue_managers.relay import Relay, RelayFailed
from ostler.lab.runner.replication import leader_metrics
from ostler.lab.runner.replication.port import IN_SYNC_SECONDS_MAX, ArbiterKind, GroupPlan, ReplicatedQueueManager
from ostler.lab.sampling.process_sampler import WatchedProcess
from ostler.lab.store.roles import FOLLOWER, LABORATORY, LEADER, QUEUE_MANAGER, RECOVERY, role_at
from ostler.model.errors import MQError
from ostler.model.replication import (
    Acknowledgement,
    GroupConnection,
    GroupStatus,
    InstanceRole,
    RecoveryGroupStatus,
)
from ostler.server.config.directories import QueueManagerDirectory, running_process
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.replica.control_codec import decode_status

INSTANCES: Final = ("alpha", "beta", "gamma")
OTHER_SITE: Final = "omega"
_HERE, _THERE = "LABHERE", "LABTHERE"
"""The names of the group and of the recovery group."""
_COMMAND_SECONDS_MAX: Final = 120.0
_POLL_SECONDS: Final = 0.05
_WORDS_SHOWN: Final = 500
_LINES_SHOWN: Final = 5
_REPLICATION: Final = "replication"
"""The action that commands about copies ask for."""
_LISTENER_ADDRESSES: Final = {name: f"127.0.0.{place}" for place, name in enumerate((*INSTANCES, OTHER_SITE), 2)}
"""The address on which each instance listens while it leads."""


def start_group(root: Path, plan: GroupPlan) -> ReplicatedQueueManager:
    """Create and start all instances; see `port.StartGroup`."""
    return CommandedGroup(root, plan)


@dataclass
class _Instance:
    """One copy: how commands name it, where its files are, the port at which it takes the log, and the port at which
    others reach that."""

    name: str
    typed: str
    """The queue manager with the instance behind it, as commands take it."""
    environment_data: Path
    """OSTLER_DATA of its commands."""
    data: Path
    port: int
    reached_at: int
    site: str
    is_wanted: bool = True
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{LOOPBACK}({self.reached_at})"

    @property
    def listener_address(self) -> str:
        return _LISTENER_ADDRESSES[self.name]


class CommandedGroup(ReplicatedQueueManager):
    """The instances, their relays and their arbiter."""

    def __init__(self, root: Path, plan: GroupPlan) -> None:
        self.root = root
        self.group = plan
        self.plan = plan.manager
        self.name = plan.manager.name
        self._stack = ExitStack()
        self._relays: dict[int, Relay] = {}
        """By the port that they are before."""
        self._lock = threading.Lock()
        self._port = free_port()
        self._site = _HERE
        """The group that leads."""
        self._instances: dict[str, _Instance] = {}
        self._known_leader: _Instance | None = None
        try:
            self._make()
        except (PeerUnavailable, RelayFailed, OSError, PointFailed) as failure:
            self.end()
            raise RunAborted(f"Queue manager {self.name} with copies does not start: {failure}") from None
        except BaseException:
            self.end()
            raise

    def _make(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        if self.group.instances > 1:
            for name in INSTANCES[: self.group.instances]:
                self._instances[name] = self._new_instance(name, self.group.round_trip_ms)
            self._make_group()
        else:
            # A queue manager by itself is an instance as soon as it has a copy at another site.
            only = self._new_instance(INSTANCES[0], self.group.recovery_round_trip_ms, is_in_group=False)
            self._instances[only.name] = only
            self._create(only, "-lla", "-p", str(self._port))
        if self.group.has_recovery:
            self._make_other_site()
        for each in self._instances.values():
            self._set_up(each)
            self._launch(each)
        for each in self._instances.values():
            self._wait_until_running(each)
        self.wait_for_leader(_COMMAND_SECONDS_MAX)
        self._define_objects()
        self.wait_until_in_sync()

    def _new_instance(self, name: str, round_trip_ms: float, *, is_in_group: bool = True) -> _Instance:
        port, reached_at = self._relayed_port(round_trip_ms)
        data = self.root / "instances" / name if is_in_group else self.root
        typed = f"{self.name}@{name}" if is_in_group else self.name
        return _Instance(name, typed, self.root, data, port, reached_at, _HERE)

    def _relayed_port(self, round_trip_ms: float) -> tuple[int, int]:
        """Return a free port, and the port of a relay before it where there is a distance."""
        port = free_port()
        if not round_trip_ms:
            return port, port
        relay = Relay(port, round_trip_ms / 2)
        self._stack.callback(relay.close)
        self._relays[port] = relay
        return port, relay.port

    def _make_group(self) -> None:
        """Make the group of this site, its certificates, and its instances: the first with a log, the others empty."""
        first, *others = self._instances.values()
        nodes = [word for each in self._instances.values() for word in ("-n", f"{each.name}={LOOPBACK}:{each.port}")]
        arbiter = self._start_arbiter()
        lease = ("--lease", str(self.group.lease_seconds)) if arbiter else ()
        self._command(first, "crthagrp", _HERE, *nodes, *arbiter, *lease)
        self._create(first, "-sx", "-p", str(self._port))
        for each in others:
            self._create(each, "-sxs")

    def _start_arbiter(self) -> tuple[str, ...]:
        """Return the option of crthagrp; nothing where a pair is without."""
        kind = self.group.arbiter
        if kind is ArbiterKind.NONE:
            return ()
        if kind is ArbiterKind.ETCD:
            started = etcd.start(self.root / "etcd", etcd.free_ports())
            self._stack.callback(started.end)
            return "--arbiter", f"etcd=http://{LOOPBACK}:{started.port}"
        shared = self.root / "arbiter"
        shared.mkdir(exist_ok=True)
        return "--arbiter", f"file={shared}"

    def _create(self, instance: _Instance, *options: str) -> None:
        log = self.plan.log
        sizes = ("-lp", str(log.primary_files), "-ls", str(log.secondary_files), "-lf", str(log.file_pages))
        self._command(instance, "crtmqm", *options, *sizes, instance.typed)

    def _set_up(self, instance: _Instance) -> None:
        """Set what the plan and the distance want in qm.ini, as setmqini does. Raises PointFailed."""
        path = self._directory(instance).ini
        # The user of the load exists nowhere else.
        wanted = {"Security": {"SecurityPolicy": "UserExternal"}, **self.plan.stanzas}
        wanted["Replication"] = {"ListenerAddress": instance.listener_address}
        if instance.site == _THERE:
            wanted["NativeHALocalInstance"] = {"LocalAddress": f"{LOOPBACK}({instance.port})"}
        elif self.group.instances > 1:
            acknowledgement = Acknowledgement.MEMORY if self.group.acknowledges_from_memory else Acknowledgement.DISK
            wanted["Replication"] |= {"Copies": str(self.group.copies), "ReplicationAck": acknowledgement}
        try:
            ini = QueueManagerIni.read(path)
            for stanza, values in wanted.items():
                for key, value in values.items():
                    ini.set_value(stanza, key, value)
            text = ini.text()
            # Others are reached through their relays.
            for each in self._instances.values():
                if each is not instance and each.reached_at != each.port:
                    direct = f"ReplicationAddress={LOOPBACK}({each.port})"
                    text = text.replace(direct, f"ReplicationAddress={each.address}")
            QueueManagerIni(text).write(path)
        except ConfigurationError as error:
            raise PointFailed(f"qm.ini of instance {instance.name}: {error}") from None

    def _make_other_site(self) -> None:
        """Give every instance of this site a recovery group, and run the command that the first one prints for the
        other site."""
        port, reached_at = self._relayed_port(self.group.recovery_round_trip_ms)
        data = self.root / "other-site"
        there = _Instance(OTHER_SITE, self.name, data, data, port, reached_at, _THERE)
        site = ("-r", _THERE, "-i", there.address, "-p", str(port), "--group", _HERE)
        printed = ""
        for each in self._instances.values():
            own = ("--local", f"{LOOPBACK}({each.port})")
            printed += self._command(each, "crtdrprimary", "-m", each.typed, *site, *own)
        # All instances print the same.
        found = next((line for line in printed.splitlines() if "crtdrsecondary" in line), "")
        words = shlex.split(found.partition("crtdrsecondary")[2])
        if "-k" not in words or "-p" not in words:
            raise PointFailed(f"crtdrprimary printed no command for the other site: {printed}")
        words[words.index("-k") + 1] = str(self.root / "ha" / _THERE)
        # The port of the relay is printed, before the port that is listened on.
        words[words.index("-p") + 1] = str(port)
        data.mkdir(exist_ok=True)
        self._command(there, "crtdrsecondary", *words)
        self._instances[OTHER_SITE] = there

    def _define_objects(self) -> None:
        """Define everything at the leader: the log carries it to the others."""
        commands = [
            *channel_commands(self.plan),
            f"SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('{USER}') AUTHADD(ALL)",
            *(f"SET AUTHREC PROFILE('**') OBJTYPE({kind}) PRINCIPAL('{USER}') AUTHADD(ALL)" for kind in _OBJECTS),
            *self.plan.commands,
        ]
        path = self.root / "objects.mqsc"
        path.write_text("\n".join(commands) + "\n", encoding="utf-8")
        leader = self._leading()
        self._command(leader, "runmqsc", leader.typed, "-f", str(path))

    def _start_process(self, instance: _Instance) -> None:
        """Start an instance, and wait until it runs. Raises PointFailed."""
        self._launch(instance)
        self._wait_until_running(instance)

    def _launch(self, instance: _Instance) -> None:
        """Start an instance in a process that ends with this one."""
        program = [sys.executable, "-m", "ostler.cli.main", "strmqm", "--foreground", instance.typed]
        with self._output(instance).open("ab") as log:
            # A process group of its own: control-C at the terminal is for this process.
            instance.process = subprocess.Popen(
                ended_with_us(program),
                env=self._environment(instance),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )
        instance.is_wanted = True

    def _wait_until_running(self, instance: _Instance) -> None:
        """Raises PointFailed with the last lines of an instance that does not start."""
        assert instance.process is not None
        deadline = time.monotonic() + _COMMAND_SECONDS_MAX
        while not self._process(instance):
            if instance.process.poll() is not None or time.monotonic() > deadline:
                lines = self._output(instance).read_text(errors="replace").splitlines()[-_LINES_SHOWN:]
                raise PointFailed(f"instance {instance.name} does not start: {' / '.join(lines) or 'it says nothing'}")
            time.sleep(_POLL_SECONDS)

    def _output(self, instance: _Instance) -> Path:
        return self.root / f"{instance.name}.out"

    def _environment(self, instance: _Instance) -> dict[str, str]:
        return {**os.environ, "OSTLER_DATA": str(instance.environment_data)}

    # -- commands ------------------------------------------------------------------------------------------------------

    def _command(self, instance: _Instance, *words: str) -> str:
        """Run a command for an instance, and return what it printed. Raises PointFailed when it failed."""
        program = [sys.executable, "-m", "ostler.cli.main", *words]
        try:
            done = subprocess.run(
                program,
                env=self._environment(instance),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_COMMAND_SECONDS_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise PointFailed(f"{' '.join(words)} took longer than {_COMMAND_SECONDS_MAX:.0f} s") from None
        if done.returncode:
            said = " ".join((done.stderr or done.stdout).split())[-_WORDS_SHOWN:]
            raise PointFailed(f"{' '.join(words)} ended with status {done.returncode}: {said}")
        return done.stdout

    def _directory(self, instance: _Instance) -> QueueManagerDirectory:
        return QueueManagerDirectory(instance.data, self.name)

    def _process(self, instance: _Instance) -> int:
        """Return the process of an instance; 0 when it does not run."""
        is_running, process = running_process(self._directory(instance))
        return process if is_running else 0

    def _running(self) -> list[_Instance]:
        return [each for each in self._instances.values() if self._process(each)]

    def _status(self, instance: _Instance) -> GroupStatus | None:
        """Return the copies as an instance knows them; None when it does not run, or is about to start or end."""
        try:
            for answer in control(self._directory(instance), _REPLICATION, request="status"):
                found = answer.get("replication")
                if isinstance(found, dict):
                    return decode_status(found)
        except (NotRunningError, MQError, OSError):
            return None
        return None

    def _leading(self) -> _Instance:
        """Return the instance that leads, as the instances say. Raises PointFailed when none does."""
        for each in self._running():
            status = self._status(each)
            if status is not None and status.role is InstanceRole.ACTIVE:
                self._known_leader = each
                return each
        self._known_leader = None
        raise PointFailed(f"no instance of queue manager {self.name} leads")

    # -- for loads -----------------------------------------------------------------------------------------------------

    @property
    def address(self) -> tuple[str, int]:
        return (self._known_leader or self._leading()).listener_address, self._port

    @property
    def addresses(self) -> Sequence[tuple[str, int]]:
        return [(each.listener_address, self._port) for each in self._instances.values()]

    @property
    def is_alive(self) -> bool:
        return all(self._process(each) for each in self._instances.values() if each.is_wanted)

    def watched(self) -> list[WatchedProcess]:
        leader = self.leader()
        found = [WatchedProcess(LABORATORY, relay.pid) for relay in self._relays.values()]
        for each in self._instances.values():
            process = self._process(each)
            if process:
                end = LEADER if each.name == leader else FOLLOWER if each.site == self._site else RECOVERY
                found.append(WatchedProcess(role_at(QUEUE_MANAGER, end), process, True, True))
        return found

    def metrics(self) -> list[Metric]:
        # Asking all instances once a second would disturb what is measured.
        leader = self._known_leader or self._leading()
        path = self.root / f"metrics-{threading.get_ident()}.json"
        arguments = [self.name, str(path)]
        with self._lock:
            try:
                answers = control(
                    self._directory(leader),
                    "run_trusted",
                    target=leader_metrics.TARGET,
                    arguments=arguments,
                    background=False,
                )
                for answer in answers:
                    if answer.get("failure"):
                        raise PointFailed(f"the counters of {self.name} cannot be read: {answer['failure']}")
                found = json.loads(path.read_text(encoding="utf-8"))
            except (NotRunningError, MQError, OSError) as failure:
                self._known_leader = None
                raise PointFailed(f"the counters of {self.name} cannot be read: {failure}") from None
        return [Metric(source, name, float(value)) for source, name, value in found]

    def describe_end(self) -> str:
        gone = [each.name for each in self._instances.values() if each.is_wanted and not self._process(each)]
        return f"instance {', '.join(gone)} of queue manager {self.name} has ended" if gone else ""

    def set_distances(self, round_trip_ms: float, recovery_round_trip_ms: float) -> None:
        for each in self._instances.values():
            is_near = each.site == _HERE and self.group.instances > 1
            relay = self._relays.get(each.port)
            if relay is not None:
                try:
                    relay.set_delay((round_trip_ms if is_near else recovery_round_trip_ms) / 2)
                except RelayFailed as failure:
                    raise PointFailed(f"the relay before instance {each.name}: {failure}") from None

    # -- for stories ---------------------------------------------------------------------------------------------------

    def leader(self) -> str:
        with contextlib.suppress(PointFailed):
            return self._leading().name
        return ""

    def followers(self) -> list[str]:
        leader = self.leader()
        return [each.name for each in self._running() if each.site == self._site and each.name != leader]

    def kill(self, instance: str) -> None:
        process = self._instances[instance].process
        if process is None or process.poll() is not None:
            raise PointFailed(f"instance {instance} of queue manager {self.name} does not run")
        self._instances[instance].is_wanted = False
        process.kill()
        process.wait()

    def start(self, instance: str, *, is_new: bool = False) -> None:
        own = self._instances[instance]
        if is_new:
            shutil.rmtree(self._directory(own).path, ignore_errors=True)
            self._create(own, "-sxs")
            self._set_up(own)
        self._start_process(own)

    def switch_over(self) -> None:
        leader = self._leading()
        leader.is_wanted = False
        self._command(leader, "endmqm", "-s", "-r", leader.typed)

    def wait_for_leader(self, seconds_max: float, other_than: str = "") -> str:
        deadline = time.monotonic() + seconds_max
        while time.monotonic() < deadline:
            found = self.leader()
            if found and found != other_than:
                return found
            time.sleep(_POLL_SECONDS)
        raise PointFailed(f"no other instance of queue manager {self.name} leads after {seconds_max:.0f} s")

    def wait_until_in_sync(self, seconds_max: float = IN_SYNC_SECONDS_MAX) -> None:
        deadline = time.monotonic() + seconds_max
        behind: list[str] = []
        while time.monotonic() < deadline:
            leader = self._leading()
            status = self._status(leader)
            in_sync = {each.name for each in status.instances if each.is_in_sync} if status is not None else set()
            wanted = [each.name for each in self._running() if each.site == leader.site and each is not leader]
            behind = [name for name in wanted if name not in in_sync]
            if not behind and self._is_recovery_in_sync(leader):
                return
            time.sleep(_POLL_SECONDS)
        raise PointFailed(f"{', '.join(behind) or 'the other site'} is not in sync after {seconds_max:.0f} s")

    def _is_recovery_in_sync(self, leader: _Instance) -> bool:
        others = [each for each in self._instances.values() if each.site != leader.site and self._process(each)]
        groups = self._recovery_groups(leader)
        # The backlog alone says nothing about the link: it is known of a group that was linked before, too.
        is_linked = any(each.connection is GroupConnection.YES for each in groups)
        return not others or (is_linked and max(each.backlog_bytes for each in groups) == 0)

    def _recovery_groups(self, leader: _Instance) -> tuple[RecoveryGroupStatus, ...]:
        status = self._status(leader)
        return status.recovery_groups if status is not None else ()

    def recovery_backlog_bytes(self) -> int:
        return max((each.backlog_bytes for each in self._recovery_groups(self._leading())), default=0)

    def switch_to_other_site(self, *, is_planned: bool) -> None:
        if is_planned:
            # The rest of the log goes through the link between the sites, which a busy machine may just have lost.
            self.wait_until_in_sync()
        to = _THERE if self._site == _HERE else _HERE
        for each in self._running() if is_planned else ():
            if each.site == self._site:
                self._command(each, "makedrsecondary", "-m", each.typed)
        for each in self._instances.values():
            if each.site == to:
                self._command(each, "makedrprimary", "-m", each.typed)
                if not self._process(each):
                    self._start_process(each)
        self._site = to
        self._known_leader = None

    def end(self) -> None:
        for each in self._instances.values():
            if self._process(each):
                with contextlib.suppress(PointFailed):
                    self._command(each, "endmqm", "-i", each.typed)
            if each.process is not None:
                # One that does not end by itself ends now.
                each.process.kill()
                each.process.wait()
        self._stack.close()


_OBJECTS: Final = ("QUEUE", "TOPIC")
