"""The `ostler` command, with a subcommand for each task.

The module of a command is loaded only when the command is run, so that the others do not slow it down.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from ostler import __version__
from ostler.cli.framework.commands import CommandFailed, CommandParser, expected_failure, operating_system_failure
from ostler.cli.framework.exit_statuses import Status
from ostler.model.errors import MQError

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# The module and the purpose of each command. A module adds its parsers with `add_command`.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "crtmqm": ("ostler.cli.crtmqm", "create a queue manager"),
    "strmqm": ("ostler.cli.strmqm", "start a queue manager"),
    "endmqm": ("ostler.cli.endmqm", "end a queue manager"),
    "dltmqm": ("ostler.cli.dltmqm", "delete a queue manager"),
    "dspmq": ("ostler.cli.dspmq", "list queue managers and their status"),
    "check": ("ostler.cli.check", "check the files of a queue manager"),
    "dspmqver": ("ostler.cli.dspmqver", "show the version of this program"),
    "dspmqini": ("ostler.cli.dspmqini", "show the configuration of a queue manager"),
    "setmqini": ("ostler.cli.setmqini", "change the configuration of a queue manager"),
    "setmqsize": ("ostler.cli.setmqsize", "increase the file system size of a queue manager"),
    "dspmqvar": ("ostler.cli.dspmqvar", "show environment variables of queue managers"),
    "setmqvar": ("ostler.cli.setmqvar", "set environment variables of queue managers"),
    "runmqsc": ("ostler.cli.runmqsc.runmqsc", "run MQSC commands"),
    "setmqaut": ("ostler.cli.setmqaut", "change what users and groups may do"),
    "dspmqaut": ("ostler.cli.dspmqaut", "show what a user or group may do to an object"),
    "dmpmqaut": ("ostler.cli.dmpmqaut", "list authority records"),
    "dmpmqcfg": ("ostler.cli.dmpmqcfg", "write all definitions as a script"),
    "rcdmqimg": ("ostler.cli.rcdmqimg", "record media images of queues in the log"),
    "rcrmqobj": ("ostler.cli.rcrmqobj", "recover damaged queues from their media images"),
    "run-trusted": ("ostler.cli.run_trusted", "run an application in the queue manager's process"),
    "users": ("ostler.cli.users", "manage users and passwords"),
    "certs": ("ostler.cli.certs", "create and show certificates for TLS"),
    "crthagrp": ("ostler.cli.ha.crthagrp", "make an HA group of machines"),
    "prepareha": ("ostler.cli.ha.prepareha", "refused: crthagrp makes the certificates of all machines"),
    "dsphagrp": ("ostler.cli.ha.dsphagrp", "show the nodes of the HA group"),
    "sethagrp": ("ostler.cli.ha.sethagrp", "suspend and resume nodes, take queue managers in and out"),
    "sethapreferred": ("ostler.cli.ha.sethapreferred", "prefer this machine for a queue manager"),
    "clearhapreferred": ("ostler.cli.ha.clearhapreferred", "prefer no machine for a queue manager"),
    "makehaprimary": ("ostler.cli.ha.makehaprimary", "resolve a partition: this machine is right"),
    "crtdrprimary": ("ostler.cli.ha.crtdrprimary", "copy a queue manager to a recovery site"),
    "crtdrsecondary": ("ostler.cli.ha.crtdrsecondary", "create the copy of a queue manager at the recovery site"),
    "dspdrsecondary": ("ostler.cli.ha.dspdrsecondary", "print the crtdrsecondary command again"),
    "makedrprimary": ("ostler.cli.ha.makedrprimary", "make this site the primary of a queue manager"),
    "makedrsecondary": ("ostler.cli.ha.makedrsecondary", "make this site the secondary of a queue manager"),
    "rdqmadm": ("ostler.cli.ha.rdqmadm", "administer the HA group in RDQM's words"),
    "rdqmint": ("ostler.cli.ha.rdqmint", "refused: AddressCommand in qm.ini moves floating addresses"),
    "rdqmdr": ("ostler.cli.ha.rdqmdr", "change the role of a site in RDQM's words"),
    "rdqmstatus": ("ostler.cli.ha.rdqmstatus", "show replicated queue managers and nodes"),
    "ha": ("ostler.cli.demo.ha", "try copies of a queue manager on this machine"),
    "qsg": ("ostler.cli.qsg.command", "make and show queue-sharing groups, or try one"),
    "strcf": ("ostler.cli.coupling.strcf", "start a coupling facility"),
    "endcf": ("ostler.cli.coupling.endcf", "end a coupling facility"),
    "dspcf": ("ostler.cli.coupling.dspcf", "show coupling facilities"),
    "fmtsmds": ("ostler.cli.coupling.fmtsmds", "format a shared message data set"),
    "put": ("ostler.cli.samples.samples", "put messages on a queue"),
    "get": ("ostler.cli.samples.samples", "take messages off a queue and show them"),
    "browse": ("ostler.cli.samples.samples", "show messages and leave them where they are"),
    "request": ("ostler.cli.samples.samples", "put requests and show the replies"),
    "respond": ("ostler.cli.samples.samples", "answer requests"),
    "forward": ("ostler.cli.samples.samples", "move messages from one queue to another"),
    "dead-letters": ("ostler.cli.dead_letters", "list, show, put back and drop dead letters"),
    "publish": ("ostler.cli.samples.samples", "publish messages to a topic"),
    "subscribe": ("ostler.cli.samples.samples", "subscribe to topics and show publications"),
    "amqsrua": ("ostler.cli.samples.samples", "show the resources that a queue manager uses"),
    "stats": ("ostler.cli.stats", "show statistics and accounting"),
    "dev": ("ostler.cli.dev.dev", "a developer's queue manager in one command"),
    "demo": ("ostler.cli.demo.demo", "see a queue manager survive kill -9"),
    "simulate": ("ostler.cli.dev.simulate", "simulate queue managers with faults"),
    "lab": ("ostler.cli.lab.command", "scenarios of performance reports: list, show, and run them"),
    "pipeline": ("ostler.cli.pipeline.command", "tables and reports of many runs, by Spark"),
}
# Commands of earlier versions, and what to type instead.
RETIRED: Final = {"bench": "ostler lab run @bench"}


def build_parser(command: str = "") -> CommandParser:
    """Returns the parser of one command; without a name, one that lists all commands."""
    parser = CommandParser(
        prog="ostler", description="An open queue manager of the IBM MQ class, with its own performance laboratory."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    if command in COMMANDS:
        import_module(COMMANDS[command][0]).add_command(commands)
        return parser
    for name, (_, purpose) in COMMANDS.items():
        # Only for the list: the command's own --help shows its options.
        commands.add_parser(name, help=purpose, add_help=False)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from ostler.cli.framework.flavour import flavour

        print(f"ostler {__version__} ({flavour()})")
        parser.exit(0)


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = build_parser(given[0] if given else "")
    if given and given[0] in RETIRED:
        print(f"ostler: there is no command {given[0]} any more. Use this: {RETIRED[given[0]]}", file=sys.stderr)
        return parser.usage_status
    try:
        parsed = parser.parse_args(given)
        if parsed.command is None:
            parser.print_help()
            return 1
        result: int = parsed.run(parsed)
        # A full disk can be reported here, but not when the interpreter flushes at exit.
        sys.stdout.flush()
    except CommandFailed as failed:
        print(failed, file=sys.stderr)
        return failed.status
    except MQError as error:
        print(f"AMQ8101E: {error}", file=sys.stderr)
        return Status.UNEXPECTED
    except KeyboardInterrupt:
        print("ostler: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 141
    except OSError as error:
        failure = operating_system_failure(error)
        if error.errno in _NO_ROOM and error.filename is None:
            # The rest of the output is discarded, or the flush at exit would fail again.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.close(nowhere)
            print(f"ostler: writing failed: {error.strerror}.", file=sys.stderr)
            return Status.UNEXPECTED
        if failure is None:
            raise
        print(failure, file=sys.stderr)
        return failure.status
    except Exception as error:
        failure = expected_failure(error)
        if failure is None:
            raise
        print(failure, file=sys.stderr)
        return failure.status
    return result


if __name__ == "__main__":
    sys.exit(main())
