"""`ostler qsg create` and `ostler qsg delete`: a queue-sharing group, in its shared repository."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from ostler.cli.framework.commands import CommandFailed, CommandOutput, root, whole_number
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.qsg.facility_view import FacilityAway, FacilityNotRunning, look, own_directory
from ostler.cli.qsg.groups import add_group, add_place, given_place, group_name, opened, roll_of
from ostler.model.coupling.group_rows import GroupRow
from ostler.server.config.directories import queue_managers
from ostler.server.config.group_place import GroupPlace, forget_place, groups_directory, write_place
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.sharing_ini import FACILITY_FORMS, MEGABYTES_DEFAULT, MEGABYTES_MAX, check_facility
from ostler.server.coupling.facility_client import FacilityClient, FacilityLost
from ostler.server.coupling.facility_directory import facility_directory
from ostler.server.coupling.group_roll import GroupRoll, RollRefused
from ostler.server.coupling.redis.address import is_redis
from ostler.server.coupling.repository.opening import describe

_END_SECONDS = 10.0


def add_create(parser: argparse.ArgumentParser) -> None:
    add_group(parser)
    parser.add_argument(
        "--facility",
        metavar="WHERE",
        help="the coupling facility: redis://HOST:PORT, HOST(PORT), or a socket's path. Without it members start one "
        "of their own on this machine",
    )
    add_place(parser)
    parser.add_argument(
        "--structure-megabytes",
        dest="megabytes",
        metavar="N",
        type=_megabytes,
        default=MEGABYTES_DEFAULT,
        help="the size of structures that members make (%(default)s)",
    )
    parser.set_defaults(run=create)


def _megabytes(text: str) -> int:
    number = whole_number(text)
    if not 1 <= number <= MEGABYTES_MAX:
        raise argparse.ArgumentTypeError(f"a number from 1 to {MEGABYTES_MAX}")
    return number


def create(arguments: argparse.Namespace) -> int:
    name = group_name(arguments.group)
    if name in [each.name for each in queue_managers(root())]:
        raise _not_created(name, Status.PARAMETER_WRONG, "a queue manager has that name, and the two must differ")
    place = given_place(name, arguments)
    group = _group(name, arguments)
    highest = _highest_number(group)
    with opened(place) as repository:
        if "://" not in place.repository:
            Path(place.repository).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        repository.create()
        roll = GroupRoll(name, repository)
        if roll.group() is not None:
            why = f"it is in {describe(place.repository)} already"
            raise _not_created(name, Status.EXISTS, why)
        try:
            write_place(root().absolute(), place)
            roll.write_group(group, highest)
        except RollRefused as refusal:
            raise _not_created(name, Status.EXISTS, str(refusal)) from None
        except ConfigurationError as error:
            raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=f"{error}.") from error
    facility = (
        "Its members start the coupling facility" if group.facility_directory else "The coupling facility answers"
    )
    CommandOutput().message("AMQ3871I", name=name, facility=facility)
    return Status.DONE


def _not_created(name: str, status: Status, why: str) -> CommandFailed:
    return CommandFailed(status, "AMQ3875E", name=name, why=f"{why}.")


def _group(name: str, arguments: argparse.Namespace) -> GroupRow:
    if not arguments.facility:
        directory = facility_directory(root().absolute(), name)
        return GroupRow(name, str(directory.socket), name, str(directory.path), arguments.megabytes)
    try:
        check_facility(arguments.facility)
        is_other_scheme = "://" in arguments.facility and not is_redis(arguments.facility)
        if is_other_scheme or ("/" not in arguments.facility and "(" not in arguments.facility):
            raise ValueError(f"{describe(arguments.facility)} is none of these: {FACILITY_FORMS}")
    except ValueError as error:
        raise _not_created(name, Status.PARAMETER_WRONG, f"--facility: {error}") from None
    where = arguments.facility
    if "/" in where and "://" not in where:
        where = str(Path(where).absolute())
    return GroupRow(name, where, "", "", arguments.megabytes)


def _highest_number(group: GroupRow) -> int:
    """Returns the highest member number that the facility knows, of an earlier group of the name perhaps."""
    try:
        return look(group).highest_number
    except FacilityNotRunning:
        return 0
    except FacilityAway as failure:
        why = f"the coupling facility does not answer: {failure}"
        raise _not_created(group.name, Status.NOT_AVAILABLE, why) from None


# -- delete ------------------------------------------------------------------------------------------------------------


def add_delete(parser: argparse.ArgumentParser) -> None:
    add_group(parser)
    add_place(parser)
    parser.add_argument(
        "--force",
        action="store_true",
        help="also while the facility holds messages, which are lost, or does not answer",
    )
    parser.set_defaults(run=delete)


def delete(arguments: argparse.Namespace) -> int:
    name = arguments.group
    with roll_of(name, arguments) as (place, roll, group):
        members = [each.name for each in roll.members()]
        if members:
            why = f"it has members: {', '.join(members)}. Remove them first: ostler qsg remove {name} {members[0]}"
            raise _not_deleted(name, Status.OBJECT_IN_USE, why)
        try:
            entries = look(group).entries
        except FacilityNotRunning:
            entries = 0
        except FacilityAway as failure:
            if not arguments.force:
                why = f"the coupling facility does not answer: {failure}. --force deletes it all the same"
                raise _not_deleted(name, Status.NOT_AVAILABLE, why) from None
            entries = 0
        if entries and not arguments.force:
            why = f"its structures hold {entries} messages, which would be lost. --force deletes it all the same"
            raise _not_deleted(name, Status.OBJECT_IN_USE, why)
        _end_facility(group)
        with opened(place) as repository:
            repository.destroy()
    _remove_files(place)
    CommandOutput().message("AMQ3874I", name=name)
    return Status.DONE


def _not_deleted(name: str, status: Status, why: str) -> CommandFailed:
    return CommandFailed(status, "AMQ3878E", name=name, why=f"{why}.")


def _end_facility(group: GroupRow) -> None:
    """Ends the facility that members have started by themselves."""
    directory = own_directory(group)
    if directory is None or not directory.is_running():
        return
    try:
        client = FacilityClient(directory.connect(_END_SECONDS), directory.name, "")
        try:
            client.end(True)
        finally:
            client.close()
    except (FacilityLost, OSError) as error:
        raise _not_deleted(group.name, Status.NOT_AVAILABLE, f"coupling facility {directory.name}: {error}") from None


def _remove_files(place: GroupPlace) -> None:
    """Removes the repository of one file, and directories in which nothing is left. Data sets stay."""
    if "://" not in place.repository:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{place.repository}{suffix}").unlink(missing_ok=True)
    forget_place(root(), place.name)
    with suppress(OSError):
        if place.directory != groups_directory(root()) / place.name:
            place.directory.rmdir()
