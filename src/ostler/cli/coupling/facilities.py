"""Shared by the commands on coupling facilities: names, and a link to one that runs."""

from __future__ import annotations

from ostler.cli.framework.commands import CommandFailed, root
from ostler.cli.framework.exit_statuses import Status
from ostler.server.coupling.facility_client import FacilityClient, FacilityLost
from ostler.server.coupling.facility_directory import FacilityDirectory, facility_directory

ANSWER_SECONDS = 10.0


def named_facility(name: str) -> FacilityDirectory:
    """Returns the directory of a facility, which need not exist."""
    try:
        return facility_directory(root(), name)
    except ValueError as error:
        raise CommandFailed(Status.NAME_ERROR, "AMQ3855E", why=f"{error}.") from None


def reach(directory: FacilityDirectory) -> FacilityClient:
    """Returns a link to a facility that runs; fails with NOT_AVAILABLE without one."""
    try:
        return FacilityClient(directory.connect(ANSWER_SECONDS), directory.name, "")
    except (FileNotFoundError, ConnectionRefusedError):
        raise not_running(directory) from None
    except (TimeoutError, FacilityLost) as error:
        raise CommandFailed(Status.NOT_AVAILABLE, "AMQ3856E", name=directory.name, why=f"{error}.") from None


def not_running(directory: FacilityDirectory) -> CommandFailed:
    why = f"it is not running. Start it: ostler strcf {directory.name}"
    return CommandFailed(Status.NOT_AVAILABLE, "AMQ3856E", name=directory.name, why=why)
