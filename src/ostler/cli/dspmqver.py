"""`ostler dspmqver`: shows the version. Components and fields are sums of numbers, as in MQ."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

import ostler
from ostler.cli.framework import commands
from ostler.cli.framework.commands import whole_number
from ostler.cli.framework.exit_statuses import Status

_FIELDS: Final[tuple[tuple[int, str], ...]] = (
    (1, "Name"),
    (2, "Version"),
    (4, "Level"),
    (8, "BuildType"),
    (16, "Platform"),
    (32, "Mode"),
    (64, "O/S"),
    (128, "InstName"),
    (256, "InstDesc"),
    (512, "Primary"),
    (1024, "InstPath"),
    (2048, "DataPath"),
    (4096, "MaxCmdLevel"),
    (8192, "LicenseType"),
)
_ALL_FIELDS: Final = sum(number for number, _ in _FIELDS)
_SERVER: Final = 1
_TLS: Final = 64
_OTHERS: Final = 1024
_COMPONENTS: Final = _SERVER | _TLS | _OTHERS


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dspmqver",
        "show the version of this program",
        "Show version and build of this program.",
        Status.NOT_DONE,
    )
    parser.add_argument("-a", dest="shows_all", action="store_true", help="all components and fields")
    parser.add_argument(
        "-p", dest="components", type=whole_number, metavar="N", help="1 server, 64 TLS, 1024 the rest (1)"
    )
    parser.add_argument(
        "-f", dest="fields", type=whole_number, metavar="N", help="a sum: 1 name, 2 version, 4 level, ..."
    )
    parser.add_argument("-b", dest="is_bare", action="store_true", help="without the names of the fields")
    parser.add_argument("-v", dest="is_verbose", action="store_true", help="show the interpreter and path, too")
    parser.add_argument(
        "-i", dest="shows_installations", action="store_true", help="all installations: this is the only one"
    )
    parser.add_argument("--json", dest="is_json", action="store_true", help="for programs: as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    components = (
        _COMPONENTS if arguments.shows_all else (arguments.components if arguments.components is not None else _SERVER)
    )
    fields = arguments.fields if arguments.fields is not None else _ALL_FIELDS
    known = components & _COMPONENTS
    chosen = {name for number, name in _FIELDS if fields & number}
    if not known or not chosen:
        print("AMQ7024E: There is no such component or field.", file=sys.stderr)
        return Status.NOT_DONE
    shown = [_only(each, chosen) for each in _components(known)]
    if arguments.is_json:
        print(json.dumps(shown, indent=2))
    else:
        if arguments.is_verbose:
            print(f"Run by {sys.executable} from {Path(ostler.__file__).parent}")
        for number, each in enumerate(shown):
            if number:
                print()
            for name, value in each.items():
                print(value if arguments.is_bare else f"{name + ':':<13}{value}")
    # Some of the components or fields do not exist here.
    is_partly = bool(components & ~_COMPONENTS) or bool(fields & ~_ALL_FIELDS)
    return Status.PARTLY_DONE if is_partly else Status.DONE


def _only(component: dict[str, str], chosen: set[str]) -> dict[str, str]:
    return {name: value for name, value in component.items() if name in chosen}


def _components(numbers: int) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    if numbers & _SERVER:
        found.append(_server())
    if numbers & _TLS:
        import ssl

        version = ".".join(str(part) for part in ssl.OPENSSL_VERSION_INFO[:3])
        found.append({"Name": "TLS (OpenSSL)", "Version": version, "Level": ssl.OPENSSL_VERSION})
    if numbers & _OTHERS:
        found.append({"Name": "Python", "Version": platform.python_version(), "Level": sys.version.replace("\n", " ")})
        for name in ("librt", "mypy-extensions", "psutil", "rich"):
            try:
                found.append({"Name": name, "Version": metadata.version(name)})
            except metadata.PackageNotFoundError:
                continue
    return found


def _server() -> dict[str, str]:
    from ostler.cli.framework.flavour import is_compiled
    from ostler.model.attributes import ObjectType, require

    return {
        "Name": "Ostler",
        "Version": ostler.__version__,
        "Level": f"ostler-{ostler.__version__}",
        "BuildType": "compiled" if is_compiled() else "interpreted",
        "Platform": f"Ostler for {platform.system()} ({platform.machine()})",
        "Mode": f"{sys.maxsize.bit_length() + 1}-bit",
        "O/S": f"{platform.system()} {platform.release()}",
        "InstName": "Ostler",
        "InstDesc": "",
        "Primary": "N/A",
        "InstPath": str(Path(ostler.__file__).parent),
        "DataPath": str(commands.root()),
        "MaxCmdLevel": str(require(ObjectType.QMGR, "CMDLEVEL").default),
        "LicenseType": "Apache-2.0",
    }
