"""`ostler dspmqini`: shows the qm.ini of a queue manager."""

from __future__ import annotations

import argparse
import json

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, existing_manager
from ostler.cli.framework.exit_statuses import Status
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import ConfigurationError, IniFile, Stanza


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dspmqini",
        "show the configuration of a queue manager",
        "Show the stanzas and attributes in the qm.ini of a queue manager.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (the default one)")
    parser.add_argument("-s", dest="stanza", metavar="STANZA", help="only this stanza")
    parser.add_argument("-k", dest="attribute", metavar="KEY", help="only this attribute of it")
    parser.add_argument("--json", dest="is_json", action="store_true", help="for programs: as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name)
    if arguments.attribute and not arguments.stanza:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ5203E", option="-k", why="it needs -s, the stanza to look in.")
    try:
        stanzas = IniFile.read(directory.ini).stanzas
    except ConfigurationError as error:
        raise CommandFailed(Status.UNEXPECTED, "AMQ7076E", why=error) from error
    if arguments.stanza:
        stanzas = [each for each in stanzas if each.name.lower() == arguments.stanza.lower()]
        if not stanzas:
            raise CommandFailed(Status.STANZA_MISSING, "AMQ7010E", stanza=arguments.stanza, file=directory.ini)
    if arguments.attribute:
        _show_one(directory, stanzas[0], arguments)
    elif arguments.is_json:
        print(json.dumps({each.name: {one.name: one.value for one in each.attributes} for each in stanzas}, indent=2))
    else:
        for stanza in stanzas:
            print(f"{stanza.name}:")
            for one in stanza.attributes:
                print(f"   {one.name}={one.value}")
    return Status.DONE


def _show_one(directory: QueueManagerDirectory, stanza: Stanza, arguments: argparse.Namespace) -> None:
    found = stanza.find(arguments.attribute)
    if found is None:
        raise attribute_missing(directory, arguments)
    print(json.dumps({found.name: found.value}) if arguments.is_json else f"{found.name}={found.value}")


def attribute_missing(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> CommandFailed:
    """Returns the failure to raise when a stanza has no such attribute."""
    return CommandFailed(
        Status.STANZA_MISSING,
        "AMQ7074E",
        stanza=arguments.stanza,
        attribute=arguments.attribute,
        file=directory.ini,
    )
