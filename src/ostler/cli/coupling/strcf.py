"""`ostler strcf`: starts a coupling facility, in a process of its own or in the foreground.

In the background the command starts this module as a process (`main`) and reads one line of JSON from a pipe: either
{"ready": {...}} or {"failed": "...", "status": n}.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ostler.cli.coupling.facilities import named_facility
from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput
from ostler.cli.framework.exit_statuses import Status
from ostler.server.coupling.facility_directory import FacilityDirectory, FacilityRunning
from ostler.server.coupling.facility_starter import FacilityNotStarted, start_process


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "strcf",
        "start a coupling facility",
        "Start a coupling facility for a queue-sharing group. It starts empty. The command returns when queue managers "
        "can connect, or reports why it did not start.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("name", metavar="FACILITY", help="its name: 1 to 16 letters, digits, '.', '_' and '-'")
    _add_options(parser)
    parser.add_argument(
        "--foreground",
        action="store_true",
        help="run in this process and show its messages: for containers and service managers",
    )
    parser.set_defaults(run=run)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        metavar="IP:PORT",
        help="also listen there, for queue managers on other machines. Port 0: any that is free",
    )
    parser.add_argument(
        "--keys",
        metavar="DIR",
        type=Path,
        help="a key repository: queue managers must present a certificate of its authority. Needed beyond loopback",
    )
    parser.add_argument("--label", metavar="LABEL", default="", help="of the facility's certificate (its name)")
    parser.add_argument("--cipher", metavar="SPEC", default="ANY_TLS13_OR_HIGHER", help="the CipherSpec (%(default)s)")


def run(arguments: argparse.Namespace) -> int:
    directory = named_facility(arguments.name)
    _address_of(arguments.listen)
    if arguments.foreground:
        return _serve(directory, arguments, print, lambda address: None)
    if directory.is_running():
        raise CommandFailed(Status.RUNNING, "AMQ3857E", name=directory.name)
    report = _spawn(directory, arguments)
    if "failed" in report:
        print(report["failed"], file=sys.stderr)
        return int(report["status"])
    where = f" It listens on {report['ready']['address']}." if report["ready"]["address"] else ""
    CommandOutput().message("AMQ3851I", name=directory.name, process=report["ready"]["pid"], where=where)
    return Status.DONE


def _address_of(given: str | None) -> tuple[str, int] | None:
    """Returns the host and port of --listen."""
    if not given:
        return None
    host, colon, port = given.rpartition(":")
    from ipaddress import ip_address

    try:
        ip_address(host.strip("[]"))
        if not colon or not 0 <= int(port) <= 65_535:
            raise ValueError
    except ValueError:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ3858E", given=given) from None
    return host.strip("[]"), int(port)


def _spawn(directory: FacilityDirectory, arguments: argparse.Namespace) -> dict[str, Any]:
    """Starts the process, and returns its report."""
    options = ["--cipher", arguments.cipher]
    if arguments.listen:
        options += ["--listen", arguments.listen]
    if arguments.keys:
        options += ["--keys", str(arguments.keys.absolute()), "--label", arguments.label]
    try:
        return start_process(directory, options)
    except FacilityNotStarted as failure:
        raise CommandFailed(Status.UNEXPECTED, "AMQ3859E", name=directory.name, why=f"{failure}.") from None


def _serve(
    directory: FacilityDirectory,
    arguments: argparse.Namespace,
    echo: Callable[[str], None] | None,
    ready: Callable[[str], None],
) -> int:
    """Runs the facility in this process until it is ended. Raises CommandFailed if it cannot start."""
    from ostler.model.errors import MQError
    from ostler.server.coupling.facility_process import (
        SERVER_NAME,
        AddressNotAllowed,
        FacilityAddress,
        FacilityProcess,
    )
    from ostler.server.error_log import ErrorLog
    from ostler.server.replica.group_tls import GroupTls
    from ostler.server.tls.key_repository import RepositoryError

    address = _address_of(arguments.listen)
    try:
        tls = None
        if arguments.keys:
            label = arguments.label or directory.name
            tls = GroupTls(arguments.keys, "", label, arguments.cipher, None, SERVER_NAME)
        directory.make()
        log = ErrorLog(directory.errors, directory.name, echo=echo)
        listening = None if address is None else FacilityAddress(*address)
        process = FacilityProcess(directory, listening, tls, log.write)
        process.start()
    except FacilityRunning:
        raise CommandFailed(Status.RUNNING, "AMQ3857E", name=directory.name) from None
    except (AddressNotAllowed, RepositoryError, MQError) as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ3859E", name=directory.name, why=f"{error}.") from None
    except OSError as error:
        why = f"{error.strerror or error}."
        raise CommandFailed(Status.UNEXPECTED, "AMQ3859E", name=directory.name, why=why) from None
    ready(process.address)
    process.run()
    return Status.DONE


def main() -> int:
    """Runs a facility in this process, which strcf has started in the background."""
    parser = argparse.ArgumentParser(prog="ostler-coupling-facility")
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--pipe", type=int, required=True)
    _add_options(parser)
    arguments = parser.parse_args()
    os.set_inheritable(arguments.pipe, False)
    os.umask(0o077)
    os.chdir(arguments.root)

    def report(found: dict[str, object]) -> None:
        os.write(arguments.pipe, json.dumps(found).encode() + b"\n")
        os.close(arguments.pipe)

    def ready(address: str) -> None:
        report({"ready": {"pid": os.getpid(), "address": address}})

    try:
        return _serve(FacilityDirectory(arguments.root, arguments.name), arguments, None, ready)
    except CommandFailed as failed:
        report({"failed": str(failed), "status": failed.status})
        return failed.status


if __name__ == "__main__":
    sys.exit(main())
