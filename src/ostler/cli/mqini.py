"""`ostler dspmqini` and `ostler setmqini`: show and change a queue manager's qm.ini."""

from __future__ import annotations

import argparse
import json
from typing import NoReturn

from ostler.cli import commands
from ostler.cli.commands import CommandFailed, Speaker, existing
from ostler.cli.exit_statuses import Status
from ostler.server.config.directories import QueueManagerDirectory
from ostler.server.config.ini_file import ConfigurationError, IniFile, Stanza
from ostler.server.config.qm_ini import RULES, QueueManagerIni


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    shows = commands.add_command(
        subparsers,
        "dspmqini",
        "show the configuration of a queue manager",
        "Show what qm.ini of a queue manager says.",
        Status.PARAMETER_WRONG,
    )
    shows.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (the default one)")
    shows.add_argument("-s", dest="stanza", metavar="STANZA", help="only this stanza")
    shows.add_argument("-k", dest="attribute", metavar="KEY", help="only this attribute of it")
    shows.add_argument("--json", dest="is_json", action="store_true", help="for programs: as JSON")
    shows.set_defaults(run=show)
    changes = commands.add_command(
        subparsers,
        "setmqini",
        "change the configuration of a queue manager",
        "Change qm.ini of a queue manager. Changes take effect when it is started again.",
        Status.PARAMETER_WRONG,
    )
    changes.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (the default one)")
    changes.add_argument("-s", dest="stanza", metavar="STANZA", required=True, help="the stanza")
    changes.add_argument("-k", dest="attribute", metavar="KEY", required=True, help="the attribute")
    what = changes.add_mutually_exclusive_group(required=True)
    what.add_argument("-v", dest="value", metavar="VALUE", help="its new value")
    what.add_argument("-d", dest="is_removed", action="store_true", help="take it out, so that its default holds")
    changes.add_argument("-z", dest="is_quiet", action="store_true", help="say nothing but errors")
    changes.set_defaults(run=change)


def show(arguments: argparse.Namespace) -> int:
    directory = existing(arguments.name)
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
        _no_attribute(directory, arguments)
    print(json.dumps({found.name: found.value}) if arguments.is_json else f"{found.name}={found.value}")


def change(arguments: argparse.Namespace) -> int:
    directory = existing(arguments.name)
    speaker = Speaker(arguments.is_quiet)
    try:
        ini = QueueManagerIni.read(directory.ini)
        if arguments.is_removed:
            if not ini.delete_value(arguments.stanza, arguments.attribute):
                _no_attribute(directory, arguments)
        else:
            _check_known(arguments)
            ini.set_value(arguments.stanza, arguments.attribute, arguments.value)
        ini.write(directory.ini)
    except ConfigurationError as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=error) from error
    inserts = {"name": directory.name, "stanza": arguments.stanza, "attribute": arguments.attribute}
    if arguments.is_removed:
        speaker.say("value-gone", **inserts)
    else:
        speaker.say("value-set", **inserts, value=arguments.value)
    return Status.DONE


def _check_known(arguments: argparse.Namespace) -> None:
    """A stanza that we know has only attributes that we know. Others may be for somebody else."""
    known = [rule.name for rule in RULES if rule.stanza.lower() == arguments.stanza.lower()]
    if known and arguments.attribute.lower() not in [name.lower() for name in known]:
        why = f"{arguments.stanza} has no {arguments.attribute}; it has {', '.join(known)}."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)


def _no_attribute(directory: QueueManagerDirectory, arguments: argparse.Namespace) -> NoReturn:
    raise CommandFailed(
        Status.STANZA_MISSING,
        "AMQ7074E",
        stanza=arguments.stanza,
        attribute=arguments.attribute,
        file=directory.ini,
    )
