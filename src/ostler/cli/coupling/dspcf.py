"""`ostler dspcf`: lists coupling facilities, or shows the structures and members of one."""

from __future__ import annotations

import argparse

from ostler.cli.coupling.facilities import named_facility, reach
from ostler.cli.coupling.facility_lines import facility_lines
from ostler.cli.coupling.in_redis import show_redis
from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, root
from ostler.cli.framework.exit_statuses import Status
from ostler.model.coupling.programs import MembersProgram, StatusProgram
from ostler.server.coupling.facility_client import FacilityLost
from ostler.server.coupling.facility_directory import FacilityDirectory, facilities
from ostler.server.coupling.redis.address import is_redis


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dspcf",
        "show coupling facilities",
        "List the coupling facilities of this data root, or show the structures and members of one.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument(
        "name", metavar="FACILITY", nargs="?", help="one that runs, in detail; or redis://HOST:PORT, for those in Redis"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.name and is_redis(arguments.name):
        show_redis(arguments.name)
        return Status.DONE
    if arguments.name:
        _show(named_facility(arguments.name))
        return Status.DONE
    for directory in facilities(root()):
        print(_line(directory))
    return Status.DONE


def _line(directory: FacilityDirectory) -> str:
    if not directory.is_running():
        return f"CF({directory.name}) STATUS(Ended)"
    record = directory.record()
    if record is None:
        return f"CF({directory.name}) STATUS(Running)"
    address = f" ADDRESS({record.address}) TLS({'YES' if record.is_tls else 'NO'})" if record.address else ""
    return f"CF({directory.name}) STATUS(Running) PID({record.pid}) STARTED({record.started}){address}"


def _show(directory: FacilityDirectory) -> None:
    client = reach(directory)
    try:
        status = client.run(StatusProgram())
        members = client.run(MembersProgram())
    except FacilityLost as error:
        raise CommandFailed(Status.NOT_AVAILABLE, "AMQ3856E", name=directory.name, why=f"{error}.") from None
    finally:
        client.close()
    print(_line(directory))
    for line in facility_lines(status, members):
        print(line)
