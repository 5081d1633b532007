"""The `ostler` command: one program, a subcommand for each task."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ostler import __version__
from ostler.cli import bench, demo
from ostler.cli.flavour import flavour


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ostler", description="An open queue manager of the IBM MQ class, with its own performance laboratory."
    )
    parser.add_argument("--version", action="version", version=f"ostler {__version__} ({flavour()})")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    demo.add_command(commands)
    bench.add_command(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    parser = build_parser()
    parsed = parser.parse_args(arguments)
    if parsed.command is None:
        parser.print_help()
        return 1
    try:
        result: int = parsed.run(parsed)
    except KeyboardInterrupt:
        print("ostler: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 141
    return result


if __name__ == "__main__":
    sys.exit(main())
