"""`ostler crthagrp`: makes an HA group of two or three machines, with its certificates, or joins one."""

from __future__ import annotations

import argparse
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, refuse_options, root, whole_number
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.engine import address
from ostler.cli.ha.replication import no_node
from ostler.server.config.ha_group import (
    FILE_NAME,
    HaGroup,
    Node,
    authority_of,
    certificates_of,
    group_file,
    key_repository_of,
    parse_group,
)
from ostler.server.config.ini_file import ConfigurationError, IniFile
from ostler.server.config.instance_names import is_instance_name
from ostler.server.replica.certificates import check_repository, issue_certificate, make_authority
from ostler.server.tls.certificate_maker import CertificateError

_COPIED: Final = (
    "keys are not agreed on over the network here: name all nodes with -n, and copy the directory of each other node "
    "to its machine"
)
_REFUSED: Final = {"-s": _COPIED, "-a": _COPIED, "-t": _COPIED}


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "crthagrp",
        "make an HA group of machines",
        "Make an HA group of two or three machines: its settings, a certificate authority, and a certificate for each. "
        "The directory of each other node is copied to its machine, where --join takes it.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("group", metavar="GROUP", nargs="?", default="HAGROUP", help="its name (%(default)s)")
    parser.add_argument(
        "-n",
        dest="nodes",
        action="append",
        type=node,
        default=[],
        metavar="NAME=HOST:PORT",
        help="a node, and where it takes the log; given for each, this machine first",
    )
    parser.add_argument(
        "--arbiter",
        type=arbiter,
        metavar="etcd=URL,URL|file=DIR|none",
        help="who decides which instance leads; a pair can be without",
    )
    parser.add_argument("--lease", type=whole_number, metavar="S", help="how long a silent leader is waited for (5)")
    parser.add_argument("--join", type=Path, metavar="DIR", help="join a group with the directory made for this node")
    refuse_options(parser, _REFUSED, "?")
    parser.set_defaults(run=run)


def node(text: str) -> Node:
    """Converts NAME=HOST:PORT or NAME=HOST(PORT), for argparse."""
    name, equals, where = text.partition("=")
    if not equals or not is_instance_name(name):
        raise argparse.ArgumentTypeError(f"{text!r} is not a node, such as alpha=host1:4444")
    return Node(name, address(where))


def arbiter(text: str) -> tuple[tuple[str, str], ...]:
    """Converts the arbiter to the attributes of its stanza, for argparse."""
    kind, equals, where = text.partition("=")
    if kind == "etcd" and where:
        return (("Type", "Etcd"), ("Endpoints", where))
    if kind == "file" and where:
        return (("Type", "File"), ("Path", str(Path(where).absolute())))
    if kind == "none" and not equals:
        return (("Type", "None"),)
    raise argparse.ArgumentTypeError(f"{text!r} is not etcd=URL,URL or file=DIR or none")


def run(arguments: argparse.Namespace) -> int:
    path = group_file(root())
    if path.exists():
        raise CommandFailed(Status.EXISTS, "group-exists", file=path)
    output = CommandOutput()
    if arguments.join is not None:
        return _join(arguments, path, output)
    settings: tuple[tuple[str, str], ...] = arguments.arbiter or ()
    if settings and arguments.lease is not None:
        settings = (*settings, ("LeaseSeconds", str(arguments.lease)))
    return create_group(arguments.group, arguments.nodes, settings, output)


def create_group(name: str, nodes: list[Node], settings: tuple[tuple[str, str], ...], output: CommandOutput) -> int:
    """Creates a group whose first node is this machine, and prints what to do on the others."""
    if not is_instance_name(name):
        why = f"{name!r} is not the name of a group: letters, digits, '.', '_' and '-'."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    if not 2 <= len(nodes) <= 3:
        why = f"{len(nodes)} nodes are given with -n; a group has 2 or 3."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    group = HaGroup(name, nodes[0].name, tuple(nodes), settings)
    try:
        group.check()
    except ConfigurationError as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=error.problem) from error
    base = root()
    base.mkdir(0o700, parents=True, exist_ok=True)
    try:
        _make_certificates(base, group)
        group.write(group_file(base))
    except BaseException:
        shutil.rmtree(certificates_of(base), ignore_errors=True)
        raise
    output.message("group-created", group=name, file=group_file(base))
    output.message("keep-authority", directory=authority_of(base))
    output.message("node-here", node=group.local_node, directory=key_repository_of(base, group.local_node))
    for each in group.nodes[1:]:
        repository = key_repository_of(base, each.name)
        output.message(
            "copy-to-node", node=each.name, directory=repository, host=each.address.host, name=repository.name
        )
    return Status.DONE


def _make_certificates(base: Path, group: HaGroup) -> None:
    """Writes the authority, and for each node its key repository with a copy of the group file."""
    try:
        authority = make_authority(authority_of(base), group.name)
        for each in group.nodes:
            repository = key_repository_of(base, each.name)
            issue_certificate(authority, repository, group.name, each.name, each.address)
            replace(group, local_node=each.name).write(repository / FILE_NAME)
    except CertificateError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ6119E", why=f"{error}.") from error


def _join(arguments: argparse.Namespace, path: Path, output: CommandOutput) -> int:
    """Takes the directory that crthagrp made for this node on another machine."""
    if arguments.nodes or arguments.arbiter or arguments.lease is not None:
        raise CommandFailed(
            Status.PARAMETER_WRONG, "AMQ5203E", option="--join", why="the directory has the settings of the group."
        )
    source: Path = arguments.join
    try:
        group = parse_group(IniFile.read(source / FILE_NAME))
        check_repository(source, group.local_node)
    except (ConfigurationError, CertificateError) as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=f"{error}.") from error
    if group.node(group.local_node) is None:
        raise no_node(group, group.local_node)
    target = key_repository_of(root(), group.local_node)
    root().mkdir(0o700, parents=True, exist_ok=True)
    target.parent.mkdir(0o700, exist_ok=True)
    if source.resolve() != target.resolve():
        shutil.copytree(source, target)
    target.chmod(0o700)
    group.write(path)
    output.message("group-joined", node=group.local_node, group=group.name, file=path)
    return Status.DONE
