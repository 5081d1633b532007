"""`ostler setmqsize`: increases the file system size of a queue manager (crtmqm -fs)."""

from __future__ import annotations

import argparse
import re

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager
from ostler.cli.framework.exit_statuses import Status
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import QueueManagerIni


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "setmqsize",
        "increase the file system size of a queue manager",
        "Increase the disk space that a queue manager may use (crtmqm -fs). It takes effect when the queue manager is "
        "started again.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("-m", dest="name", metavar="QMGR", required=True, help="the queue manager")
    parser.add_argument(
        "-s", dest="megabytes", type=megabytes, metavar="SIZE", required=True, help="the new size, such as 64G or 512M"
    )
    parser.set_defaults(run=run)


def megabytes(text: str) -> int:
    """Converts a size in gigabytes, or with the suffix G or M, to megabytes; for argparse."""
    found = re.fullmatch(r"([0-9]{1,7})([GMgm]?)", text)
    if found is None or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: a whole number of gigabytes, or such as 64G or 512M")
    return int(found[1]) * (1 if found[2].upper() == "M" else 1024)


def size_text(size_megabytes: int) -> str:
    """Returns a size as people write it."""
    return f"{size_megabytes // 1024} GB" if size_megabytes % 1024 == 0 else f"{size_megabytes} MB"


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name)
    try:
        ini = QueueManagerIni.read(directory.ini)
        present = ini.settings.file_system_megabytes
        if present is None:
            why = f"queue manager {directory.name} was created without -fs and may use the whole disk."
            raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
        if arguments.megabytes <= present:
            why = f"the file system size is {size_text(present)} and can be increased only."
            raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=why)
        ini.set_value("FileSystem", "SizeMegabytes", str(arguments.megabytes))
        ini.write(directory.ini)
    except ConfigurationError as error:
        raise CommandFailed(Status.PARAMETER_WRONG, "AMQ7076E", why=error) from error
    CommandOutput(False).message("size-set", name=directory.name, size=size_text(arguments.megabytes))
    return Status.DONE
