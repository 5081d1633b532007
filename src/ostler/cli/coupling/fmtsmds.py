"""`ostler fmtsmds`: formats a shared message data set before it is used, as CSQJUFMT does."""

from __future__ import annotations

import argparse
import secrets
import time
from typing import Final

from ostler.cli.framework import commands
from ostler.cli.framework.commands import CommandFailed, CommandOutput, existing_manager
from ostler.cli.framework.exit_statuses import Status
from ostler.coupling.data_sets.layout import DataSetHeader
from ostler.coupling.data_sets.space_map import PAGE_BYTES
from ostler.model.disk import DiskFull
from ostler.server.config.ini_file import ConfigurationError
from ostler.server.config.qm_ini import QueueManagerIni
from ostler.server.coupling.data_sets.data_set_file import FILE_BYTES_MAX, DataSetFailed, create_data_set
from ostler.server.coupling.data_sets.data_sets import data_set_path
from ostler.server.coupling.group_service import group_directory

_UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_BLOCKS: Final = ("8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M")
_BLOCKS_MIN: Final = 2


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "fmtsmds",
        "format a shared message data set",
        "Format the shared message data set of a queue manager for a structure, before anybody uses it. Otherwise the "
        "first that offloads a message waits for that. The queue manager need not run.",
        Status.PARAMETER_WRONG,
    )
    parser.add_argument("name", metavar="QMGR", help="a member of a queue-sharing group")
    parser.add_argument("structure", metavar="STRUCTURE", help="the name of the CFSTRUCT")
    parser.add_argument("group", metavar="DSGROUP", help="its DSGROUP, with an asterisk for the queue manager")
    parser.add_argument("--size", metavar="SIZE", type=_size, required=True, help="such as 512M or 4G")
    parser.add_argument("--block", choices=_BLOCKS, default="256K", help="its DSBLOCK (%(default)s)")
    parser.set_defaults(run=run)


def _size(text: str) -> int:
    digits, unit = text[:-1], _UNITS.get(text[-1:].upper(), 0)
    if not unit or not digits.isdigit() or not 0 < int(digits) * unit <= FILE_BYTES_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is no size, such as 512M or 4G, of at most 16T")
    return int(digits) * unit


def run(arguments: argparse.Namespace) -> int:
    directory = existing_manager(arguments.name, Status.DOES_NOT_EXIST)
    block_bytes = _size(arguments.block)
    blocks = arguments.size // block_bytes
    if blocks < _BLOCKS_MIN:
        raise _failed(f"{arguments.size} bytes are fewer than {_BLOCKS_MIN} blocks")
    try:
        section = QueueManagerIni.read(directory.ini).settings.sharing
        if section is None:
            raise _failed(f"{directory.name} is in no queue-sharing group")
        path = data_set_path(group_directory(directory.root, section), arguments.group, directory.name)
        identity = secrets.token_bytes(8)
        header = DataSetHeader(arguments.structure, directory.name, section.member_number, block_bytes, identity)
        began = time.monotonic()
        if path.exists():
            raise _failed(f"{path} is there already")
        create_data_set(path, header, blocks).close()
    except (ConfigurationError, DataSetFailed, DiskFull, OSError) as error:
        raise _failed(str(error)) from None
    pages = blocks * block_bytes // PAGE_BYTES
    seconds = f"{time.monotonic() - began:.1f}"
    CommandOutput().message("AMQ7565I", name=path, pages=pages, seconds=seconds)
    return Status.DONE


def _failed(why: str) -> CommandFailed:
    return CommandFailed(Status.UNEXPECTED, "AMQ7566E", why=why)
