"""`ostler qsg add` and `ostler qsg remove`: queue managers of a queue-sharing group, as CSQ5PQSG has them."""

from __future__ import annotations

import argparse
from pathlib import Path

from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager, manager_directory, root
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.engine import read_ini, require_ended, write_ini
from ostler.cli.qsg.facility_view import FacilityAway, FacilityNotRunning, look
from ostler.cli.qsg.groups import add_group, add_place, roll_of
from ostler.model.attributes import ObjectType, defaults
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import MemberStatus
from ostler.model.coupling.group_rows import GroupRow, MemberRow
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.group_place import GroupPlace, default_place, read_place, write_place
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.member_mark import has_been_member
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.config.sharing_ini import STANZA, SharingSection
from ostler.server.coupling.group_roll import GroupRoll, RollRefused
from ostler.server.net.local_socket import socket_path


def add_add(parser: argparse.ArgumentParser) -> None:
    add_group(parser)
    parser.add_argument("name", metavar="QMGR", help="a queue manager of this machine, which has ended")
    add_place(parser)
    parser.set_defaults(run=add)


def add(arguments: argparse.Namespace) -> int:
    name = arguments.group
    with roll_of(name, arguments) as (place, roll, group):
        directory = existing_manager(arguments.name)
        if directory.name == name:
            raise _not_added(directory.name, name, Status.PARAMETER_WRONG, "it has the name of the group")
        require_ended(directory)
        ini = read_ini(directory)
        section = ini.settings.sharing
        if section is not None and section.name != name:
            why = f"it is in group {section.name}. `ostler qsg remove {section.name} {directory.name}` takes it out"
            raise _not_added(directory.name, name, Status.EXISTS, why)
        try:
            number = _enrol(roll, directory, ini, section)
        except RollRefused as refusal:
            raise _not_added(directory.name, name, Status.EXISTS, str(refusal)) from None
        _write_stanza(directory, ini, group, place, number)
        _remember(place)
    CommandOutput().message("AMQ3872I", name=directory.typed_name, group=name, member=number)
    return Status.DONE


def _not_added(name: str, group: str, status: Status, why: str) -> CommandFailed:
    return CommandFailed(status, "AMQ3876E", name=name, group=group, why=f"{why}.")


def _enrol(
    roll: GroupRoll, directory: QueueManagerDirectory, ini: QueueManagerIni, section: SharingSection | None
) -> int:
    """Returns the number of a queue manager, which is in the roll then. Raises RollRefused."""
    place = str(directory.path.absolute())
    there = roll.member(directory.name)
    if there is not None:
        if section is not None:
            raise RollRefused(f"it is member {there.number} of the group already")
        if ini.settings.replication is not None:
            return there.number  # another instance of the same queue manager
        if there.data_directory != place:
            raise RollRefused(f"member {there.number} of the group has that name, in {there.data_directory}")
        if has_been_member(directory):
            return there.number  # its stanza is gone
        roll.drop(there)  # an add that did not end, or a queue manager that was deleted and made anew
    number = section.member_number if section is not None else 0
    if not number and has_been_member(directory):
        number = roll.former_number(directory.name, place)
        if not number:
            raise RollRefused("it has been in another group, and its log is that of the member there")
    number = number or roll.give_number()
    log = ini.settings.log.path or str(directory.log)
    level = defaults(ObjectType.QMGR)["CMDLEVEL"]
    roll.add(
        MemberRow(
            directory.name,
            number,
            level if isinstance(level, int) else 0,
            str(socket_path(directory).absolute()),
            place,
            str(Path(log).absolute()),
        )
    )
    return number


def _write_stanza(
    directory: QueueManagerDirectory, ini: QueueManagerIni, group: GroupRow, place: GroupPlace, number: int
) -> None:
    default = default_place(directory.root.absolute(), group.name, None, "")
    values = [("Name", group.name), ("Facility", group.facility), ("FacilityName", group.facility_name)]
    values += [("FacilityDirectory", group.facility_directory), ("MemberNumber", str(number))]
    if group.structure_megabytes:
        values.append(("StructureMegabytes", str(group.structure_megabytes)))
    if place.directory != default.directory:
        values.append(("GroupDirectory", str(place.directory)))
    if place.repository != str(place.directory / Path(default.repository).name):
        values.append(("Repository", place.repository))
    try:
        ini.replace_stanzas(STANZA, [[each for each in values if each[1]]])
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=f"{error}.") from error
    write_ini(directory, ini)


def _remember(place: GroupPlace) -> None:
    """Lets this machine know a group that was created on another one."""
    if read_place(root(), place.name) != place:
        write_place(root().absolute(), place)


# -- remove ------------------------------------------------------------------------------------------------------------


def add_remove(parser: argparse.ArgumentParser) -> None:
    add_group(parser)
    parser.add_argument("name", metavar="QMGR", help="a member that has ended, of this machine or another")
    add_place(parser)
    parser.add_argument(
        "--force",
        action="store_true",
        help="also with units of work left in the coupling facility, or a log that recovery needs. They may be lost",
    )
    parser.set_defaults(run=remove)


def remove(arguments: argparse.Namespace) -> int:
    name = arguments.group
    output = CommandOutput()
    with roll_of(name, arguments) as (_, roll, group):
        directory = manager_directory(arguments.name, default=False)
        member = roll.member(directory.name)
        is_here = directory.exists()
        if is_here:
            require_ended(directory)
        section = read_ini(directory).settings.sharing if is_here else None
        if member is None and (section is None or section.name != name):
            why = "it is no member of the group"
            raise _not_removed(directory.name, name, Status.DOES_NOT_EXIST, why)
        if member is not None:
            for why in _hindrances(roll, group, member):
                if not arguments.force:
                    raise _not_removed(directory.name, name, Status.OBJECT_IN_USE, f"{why}. --force removes it")
                output.message("AMQ3881W", name=directory.name, group=name, why=f"{why}.")
            roll.remove(member)
        if section is not None and section.name == name:
            _remove_stanza(directory)
        elif not is_here:
            output.message("remove-stanza", name=directory.name, stanza=STANZA)
    output.message("AMQ3873I", name=directory.name, group=name)
    return Status.DONE


def _not_removed(name: str, group: str, status: Status, why: str) -> CommandFailed:
    return CommandFailed(status, "AMQ3877E", name=name, group=group, why=f"{why}.")


def _hindrances(roll: GroupRoll, group: GroupRow, member: MemberRow) -> list[str]:
    """Returns why work of the group may be lost with a member. Fails for one that runs, wherever it is."""
    found = []
    try:
        status = look(group).member(member.number)
        if status is not None and status.state == cf.MEMBER_ACTIVE_STATE:
            why = "it is connected to the coupling facility. End it first"
            raise _not_removed(member.name, group.name, Status.RUNNING, why)
        if status is not None:
            found += _units_left(status)
    except FacilityNotRunning:
        pass  # a facility that has ended holds nothing
    except FacilityAway as failure:
        found.append(f"the coupling facility does not answer, so nobody knows what is left of it: {failure}")
    structures = roll.backups_of(member.name)
    if structures:
        found.append(
            f"the last backup of {', '.join(structures)} is in its log; run BACKUP CFSTRUCT at another member first"
        )
    return found


def _units_left(status: MemberStatus) -> list[str]:
    units = status.in_flight + status.in_doubt
    if units:
        return [f"the coupling facility still has {units} units of work of it; start it, or let a peer recover it"]
    if status.state != cf.MEMBER_LEFT:
        return [f"it is {cf.MEMBER_STATES[status.state]}, and no peer has recovered it yet"]
    return []


def _remove_stanza(directory: QueueManagerDirectory) -> None:
    ini = read_ini(directory)
    try:
        ini.replace_stanzas(STANZA, [])
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=f"{error}.") from error
    write_ini(directory, ini)
