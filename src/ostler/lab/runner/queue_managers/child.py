"""The process of a laboratory queue manager, from inside: creates it, defines objects, starts it as strmqm does, and
answers.

It receives its plan through a socket that it inherits, and is asked for metrics there. When the other end is closed,
its parent is gone, and the process ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from ostler import __version__
from ostler.client.locate.registry import register
from ostler.command.mqsc.script import ScriptCounts, run_script
from ostler.lab.peers.broker_process import free_port
from ostler.lab.runner.queue_managers.log_results import IN_USE_STATE, WORKLOAD_STATE
from ostler.lab.runner.queue_managers.plan import CHANNEL, LISTENER, USER, QueueManagerPlan, channel_commands
from ostler.model import constants as mq
from ostler.model.attributes import ObjectType
from ostler.model.counters import verb_counts
from ostler.model.errors import MQError
from ostler.security.authorities import VALID_AUTHORITIES, record
from ostler.security.profiles import MANAGER_PROFILE
from ostler.server.admin.command_context import ManagerCommandContext
from ostler.server.admin.control_actions import control_actions
from ostler.server.assembly import Server
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.config.sharing_ini import STANZA as SHARING
from ostler.server.daemon import IMMEDIATE, Daemon, EndRequest, ServerProtocol, StartFailure, start_failure
from ostler.server.log_statistics import log_counts
from ostler.server.net.listeners import ListenerRefused
from ostler.server.queue_manager import QueueManager, create_queue_manager
from ostler.server.tls.certificate_maker import Authority, CertificateError, KeyType
from ostler.server.tls.key_repository import default_labels

READY: Final = "ready"
FAILED: Final = "failed"
METRICS: Final = "figures"
TOPIC_ROUNDS: Final = "topic rounds"
TOPICS_REMOVED: Final = "topics removed"
AUTHORITY_DIRECTORY: Final = "ssl/ca"
KEY_DIRECTORY: Final = "ssl/key"
SECONDS_TO_END_MAX: Final = 20.0
# A certificate of the laboratory is needed for one run only.
_CERTIFICATE_DAYS: Final = 30
_PORTS_TRIED: Final = 10
# The counts of the log that only grow.
_LOG_COUNTERS: Final = {
    "records": "records",
    "logical_bytes": "logical_bytes",
    "physical_bytes": "written_bytes",
    "writes": "writes",
    "forces": "forces",
    "force_total_us": "force_us",
    "checkpoints": "checkpoints",
}
_QUEUE_COUNTERS: Final = ("puts", "put_bytes", "gets", "get_bytes", "handed_over", "spilled", "expired")
_QUEUES: Final = "LAB."
_REFUSAL: Final = re.compile(r"AMQ\d{4}[ES]|AMQ8405I")

Found = list[tuple[str, str, int]]
"""Metrics: source, name, value."""


class _ChildProcess:
    """One run of the process."""

    def __init__(self, pipe: Connection, root: Path, plan: QueueManagerPlan, address: tuple[str, int]) -> None:
        self._pipe = pipe
        self._plan = plan
        self._host, self._port = address
        self._server: Server | None = None
        self._directory = QueueManagerDirectory(root, plan.name)
        self._manager: QueueManager | None = None

    def run(self) -> int:
        try:
            if not self._directory.exists():
                create(self._directory, self._plan)
        except Exception as error:
            self.failed(start_failure(self._plan.name, error))
            return 1
        daemon = Daemon(self._directory, self, self._make_server, __version__)
        threading.Thread(target=self._answer, args=(daemon,), name="lab-figures", daemon=True).start()
        return daemon.run()

    def _make_server(self, manager: QueueManager, daemon: Daemon) -> ServerProtocol:
        """Objects are defined at the first start, before clients can connect."""
        commands = [_listener(self._host, self._port)]
        if CHANNEL not in manager.engine.of_type(ObjectType.CHANNEL):
            commands = [*channel_commands(self._plan), *commands, *self._plan.commands]
            _admit_clients(manager)
        run_commands(manager, commands)
        self._manager = manager
        register(manager)
        server = self._server = Server(manager)
        server.actions.update(control_actions(manager, daemon))
        return server

    # -- what the daemon tells -----------------------------------------------------------------------------------------

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        return

    def ready(self, manager: QueueManager) -> None:
        assert self._server is not None
        try:
            port = _listening_port(self._server, self._host)
        except MQError as error:
            self._send(FAILED, str(error))
        else:
            self._send(READY, (manager.restart, port))

    def failed(self, failure: StartFailure) -> None:
        self._send(FAILED, failure.text)

    def _send(self, what: str, value: object) -> None:
        # A parent that is gone needs no answer: the closed pipe ends the process.
        with contextlib.suppress(OSError):
            self._pipe.send((what, value))

    # -- what the laboratory asks --------------------------------------------------------------------------------------

    def _answer(self, daemon: Daemon) -> None:
        with contextlib.suppress(EOFError, OSError):
            while self._pipe.recv() == METRICS:
                self._send(METRICS, read_metrics(self._manager))
        daemon.request_end(EndRequest(IMMEDIATE, 0.0, "the laboratory"))
        time.sleep(SECONDS_TO_END_MAX)
        os._exit(1)


# -- set-up ------------------------------------------------------------------------------------------------------------


def create(directory: QueueManagerDirectory, plan: QueueManagerPlan) -> None:
    """Create the directory tree, qm.ini, the empty log, and with a CipherSpec a certificate."""
    log = replace(plan.log, path=plan.log_directory) if plan.log_directory else plan.log
    create_queue_manager(directory.root, plan.name, log)
    ini = QueueManagerIni.read(directory.ini)
    for stanza, values in plan.stanzas.items():
        if stanza == SHARING:
            # Its lines are valid together only.
            ini.replace_stanzas(stanza, [list(values.items())])
            continue
        for name, value in values.items():
            ini.set_value(stanza, name, value)
    ini.write(directory.ini)
    if plan.authority_directory:
        _certify(directory, plan.name, plan.key_type_of, Path(plan.authority_directory))
    elif plan.cipher_spec:
        _certify(directory, plan.name, plan.cipher_spec, directory.path / AUTHORITY_DIRECTORY)


def _certify(directory: QueueManagerDirectory, name: str, cipher_spec: str, authority_directory: Path) -> None:
    """Create a certificate of the authority in that directory, and the authority first if there is none."""
    key_type: KeyType = "ec" if "ECDSA" in cipher_spec else "rsa"
    authority = Authority(authority_directory)
    subject = [("CN", name), ("O", "Ostler laboratory")]
    try:
        if not authority.exists():
            authority.create(f"{name} authority", key_type, _CERTIFICATE_DAYS)
        label = default_labels(name)[0]
        hosts = ("localhost", "127.0.0.1")
        authority.issue(directory.path / KEY_DIRECTORY, label, subject, key_type, _CERTIFICATE_DAYS, hosts)
    except CertificateError as error:
        raise MQError(mq.MQRCCF_COMMAND_FAILED, f"No certificate could be made: {error}.") from error


def _listener(host: str, port: int) -> str:
    return f"DEFINE LISTENER({LISTENER}) TRPTYPE(TCP) PORT({port}) IPADDR({host}) CONTROL(QMGR) REPLACE"


def _listening_port(server: Server, host: str) -> int:
    """Return the port of the listener. If another process has taken the chosen port in the meantime, another one is
    used."""
    for _ in range(_PORTS_TRIED):
        if any(each.name == LISTENER for each in server.listener_status()):
            return server.port_of(LISTENER)
        run_commands(server.manager, [_listener(host, free_port())])
        with contextlib.suppress(ListenerRefused):
            server.start_listener(LISTENER)
    raise MQError(mq.MQRCCF_COMMAND_FAILED, "Its listener finds no free port.")


def _admit_clients(manager: QueueManager) -> None:
    """Admit clients as usual: by channel authentication records, and as a user with the authorities that the load
    needs."""
    for kind, profile in ((mq.MQOT_Q_MGR, MANAGER_PROFILE), (mq.MQOT_Q, "**"), (mq.MQOT_TOPIC, "**")):
        manager.define(record(kind, profile, USER, False, VALID_AUTHORITIES[kind]), True)


def run_commands(manager: QueueManager, commands: Iterable[str]) -> None:
    """Run MQSC. Raises MQError with the messages of commands that failed."""
    said: list[str] = []
    for answer in run_script(ManagerCommandContext(manager), "\n".join(commands), False, False):
        if isinstance(answer, str):
            said.append(answer)
        elif isinstance(answer, ScriptCounts) and answer.exit_code:
            raise MQError(mq.MQRCCF_COMMAND_FAILED, " ".join(refusals(said)))


def refusals(lines: Iterable[str]) -> list[str]:
    """Return the lines of a report that belong to failed commands."""
    return [line for line in lines if _REFUSAL.match(line)]


# -- figures -----------------------------------------------------------------------------------------------------------


def read_metrics(manager: QueueManager | None) -> Found:
    """Return counters that only grow, and the use of the log in per cent.

    They are read without the engine's lock, so that reading neither waits nor delays the load.
    """
    if manager is None:
        return []
    engine = manager.engine
    found: Found = [("queue-manager", name, int(value)) for name, value in verb_counts(engine.counters).items()]
    found.append(("queue-manager", "connections", int(engine.next_connection) - 1))
    scavenger = manager.housekeeping.scavenger
    found.append(("queue-manager", TOPIC_ROUNDS, scavenger.rounds))
    found.append(("queue-manager", TOPICS_REMOVED, int(scavenger.removed)))
    status = manager.log.status()
    logged = log_counts(status, manager.log.metrics, manager.writer.counters)
    found += [("log", ours, int(logged[theirs])) for theirs, ours in _LOG_COUNTERS.items()]
    found.append(("log", "extents", int(status.current_extent[1:8])))
    found.append(("log", WORKLOAD_STATE, status.utilisation_percent))
    found.append(("log", IN_USE_STATE, status.in_use_percent))
    totals = dict.fromkeys(_QUEUE_COUNTERS, 0)
    for name, queue in list(engine.queues.items()):
        if name.startswith(_QUEUES):
            for each in _QUEUE_COUNTERS:
                totals[each] += getattr(queue.counters, each)
    found += [("queues", name, value) for name, value in totals.items()]
    return found


def main(arguments: list[str]) -> int:
    pipe = Connection(int(arguments[0]))
    root, plan, address = pipe.recv()
    os.umask(0o077)
    return _ChildProcess(pipe, root, plan, address).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
