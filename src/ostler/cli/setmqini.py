"""`ostler setmqini`: parser an attribute in the qm.ini of a queue manager."""

from __future__ import annotations

import argparse

from ostler.cli.dspmqini import attribute_missing
from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.framework.side_files import refuse_on_replica
from ostler.model.replication import SETTINGS
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import COPIED_STANZAS, RULES, QueueManagerIni
from ostler.server.config.replication_ini import REPEATED


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "setmqini",
        "change the configuration of a queue manager",
        "Change qm.ini of a queue manager. Changes take effect when it is started again.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("-m", dest="name", metavar="QMGR", help="the queue manager (the default one)")
    parser.add_argument("-s", dest="stanza", metavar="STANZA", required=True, help="the stanza")
    parser.add_argument("-k", dest="attribute", metavar="KEY", required=True, help="the attribute")
    change = parser.add_mutually_exclusive_group(required=True)
    change.add_argument("-v", dest="value", metavar="VALUE", help="its new value")
    change.add_argument("-d", dest="is_removed", action="store_true", help="take it out, so that its default holds")
    parser.add_argument("-z", dest="is_quiet", action="store_true", help="print errors only")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name)
    output = CommandOutput(arguments.is_quiet)
    if arguments.stanza.lower() in [each.lower() for each in COPIED_STANZAS]:
        refuse_on_replica(directory, SETTINGS)
    try:
        ini = QueueManagerIni.read(directory.ini)
        if arguments.is_removed:
            if not ini.delete_value(arguments.stanza, arguments.attribute):
                raise attribute_missing(directory, arguments)
        else:
            _check_known(arguments)
            ini.set_value(arguments.stanza, arguments.attribute, arguments.value)
        ini.write(directory.ini)
    except ConfigurationError as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=error) from error
    inserts = {"name": directory.name, "stanza": arguments.stanza, "attribute": arguments.attribute}
    if arguments.is_removed:
        output.message("value-gone", **inserts)
    else:
        output.message("value-set", **inserts, value=arguments.value)
    return Status.DONE


def _check_known(arguments: argparse.Namespace) -> None:
    """Rejects an unknown attribute of a stanza that Ostler reads. Other stanzas are left to other programs."""
    if arguments.stanza.lower() in REPEATED:
        why = f"a file has several stanzas {arguments.stanza}; `ostler sethagrp` and `ostler crtdrprimary` write them."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
    known = [rule.name for rule in RULES if rule.stanza.lower() == arguments.stanza.lower()]
    if known and arguments.attribute.lower() not in [name.lower() for name in known]:
        why = f"{arguments.stanza} has no {arguments.attribute}; it has {', '.join(known)}."
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
