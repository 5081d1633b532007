"""`ostler qsg show`: groups, their facility and repository, members with states, structures with their fullness."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ostler.cli.coupling.facility_lines import structure_line
from ostler.cli.framework.commands import CommandFailed, root
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.qsg.facility_view import (
    FacilityAway,
    FacilityNotRunning,
    FacilityView,
    facility_words,
    look,
    own_directory,
)
from ostler.cli.qsg.groups import add_group, add_place, roll_of
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import MemberStatus
from ostler.model.coupling.group_rows import GroupRow, MemberRow
from ostler.server.config.group_place import GroupPlace, known_groups
from ostler.server.coupling.repository.opening import describe


def add_show(parser: argparse.ArgumentParser) -> None:
    add_group(parser, nargs="?")
    add_place(parser)
    parser.set_defaults(run=show)


def show(arguments: argparse.Namespace) -> int:
    if arguments.group:
        _show(arguments.group, arguments)
        return Status.DONE
    if arguments.repository or arguments.directory is not None:
        why = "name the group whose place it is."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="--repository, --directory", why=why)
    failures = []
    for name in known_groups(root()):
        try:
            _show(name, arguments)
        except CommandFailed as failure:
            failures.append(failure)  # one group that cannot be read does not hide the others
    if failures:
        raise failures[0]
    return Status.DONE


def _show(name: str, arguments: argparse.Namespace) -> None:
    with roll_of(name, arguments) as (place, roll, group):
        members = roll.members()
    for line in group_lines(place, group, members):
        print(line)


def group_lines(place: GroupPlace, group: GroupRow, members: list[MemberRow]) -> Iterator[str]:
    """Yields the lines of one group."""
    repository = describe(place.repository)
    yield f"QSG({group.name}) MEMBERS({len(members)}) REPOSITORY({repository}) DIRECTORY({place.directory})"
    name, where = group.facility_name or group.name, facility_words(group)
    view: FacilityView | None = None
    try:
        view = look(group)
        yield f"   CF({name}) STATUS(Running){_process(group)} ADDRESS({where})"
    except FacilityNotRunning:
        yield f"   CF({name}) STATUS(Ended) ADDRESS({where})"
    except FacilityAway as failure:
        yield f"   CF({name}) STATUS(Unknown) ADDRESS({where}) WHY({failure})"
    for member in members:
        yield _member_line(member, view)
    for structure in view.structures if view is not None else ():
        yield structure_line(structure)


def _process(group: GroupRow) -> str:
    directory = own_directory(group)
    record = directory.record() if directory is not None else None
    return f" PID({record.pid})" if record is not None else ""


def _member_line(member: MemberRow, view: FacilityView | None) -> str:
    status = view.member(member.number) if view is not None else None
    line = f"   MEMBER({member.number}) QMNAME({member.name}) STATUS({_state(status, view)})"
    if status is None:
        return line
    recoverer = f" RECOVERER({status.recoverer})" if status.recoverer else ""
    return f"{line} STARTS({status.start}) INFLIGHT({status.in_flight}) INDOUBT({status.in_doubt}){recoverer}"


def _state(status: MemberStatus | None, view: FacilityView | None) -> str:
    """Returns the state in the words of DISPLAY GROUP; RECOVERING while a peer settles what a failed member left."""
    if view is None:
        return "UNKNOWN"
    if status is None:
        return "CREATED"
    return "INACTIVE" if status.state == cf.MEMBER_LEFT else cf.MEMBER_STATES[status.state]
