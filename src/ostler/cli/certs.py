"""`ostler certs`: creates certificates for queue managers and clients, and shows certificates."""

from __future__ import annotations

import argparse
import json
import os
import ssl
import stat
import sys
import time
from pathlib import Path
from typing import Final

from ostler.cli.framework.commands import CommandParser, existing_manager, whole_number
from ostler.cli.framework.side_files import refuse_on_replica
from ostler.model.distinguished_names import parse_name
from ostler.model.replication import KEYS
from ostler.server.tls.certificate_maker import (
    CERTIFICATE_DAYS,
    Authority,
    CertificateError,
    describe_certificate,
    own_host_names,
)
from ostler.server.tls.key_repository import (
    AUTHORITIES_FILE,
    CERTIFICATE_ENDING,
    KEY_ENDING,
    RepositoryError,
    default_labels,
    file_name,
)

_DESCRIPTION: Final = "Create certificates for TLS with an authority of your own, and show certificates."
_CREATE: Final = """\
Create a certificate for a queue manager, or with --client for one of its clients. The certificate authority is created
first if it does not exist. An existing certificate is replaced only with --replace."""
_SHOW: Final = "Show the subject, issuer and validity of certificates."
_SOON_DAYS: Final = 30
_DAY_SECONDS: Final = 86_400


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("certs", help="create and show certificates for TLS", description=_DESCRIPTION)
    actions = parser.add_subparsers(
        dest="action", metavar="create|show", title="actions", required=True, parser_class=CommandParser
    )
    create = actions.add_parser("create", help="create a certificate", description=_CREATE)
    create.add_argument("manager", nargs="?", metavar="QMGR", help="the queue manager (the default one)")
    create.add_argument("--client", metavar="NAME", help="make a key repository for this client instead")
    create.add_argument("--output", type=Path, metavar="DIR", help="where a client's repository goes (./NAME)")
    create.add_argument("--authority", type=Path, metavar="DIR", help="the authority's directory (QMGR's ssl/ca)")
    create.add_argument("--subject", metavar="DN", help="the name in it, such as 'CN=QM1,OU=Broking,O=Bank,C=GB'")
    create.add_argument("--label", help="under which it is found (ibmwebspheremq and the name in small letters)")
    create.add_argument("--host", action="append", metavar="NAME", help="a host name in it; may be repeated")
    create.add_argument(
        "--key", choices=("rsa", "ec"), default="rsa", help="ec for the ECDHE_ECDSA specs (%(default)s)"
    )
    create.add_argument(
        "--days", type=whole_number, default=CERTIFICATE_DAYS, help="how long it is valid (%(default)s)"
    )
    create.add_argument("--replace", action="store_true", help="replace an existing certificate")
    create.set_defaults(run=run_create)
    show = actions.add_parser("show", help="show certificates", description=_SHOW)
    show.add_argument("what", nargs="*", metavar="QMGR|PATH", help="a queue manager, a directory or a PEM file")
    show.add_argument("--json", action="store_true", dest="is_json", help="for programs: as JSON")
    show.set_defaults(run=run_show)


def run_create(arguments: argparse.Namespace) -> int:
    try:
        return _create(arguments)
    except (CertificateError, RepositoryError, ValueError) as error:
        print(f"ostler certs: {error}.", file=sys.stderr)
    except OSError as error:
        print(f"ostler certs: {error.filename}: {error.strerror}.", file=sys.stderr)
    return 1


def _create(arguments: argparse.Namespace) -> int:
    manager = existing_manager(arguments.manager)
    is_client = arguments.client is not None
    if not is_client:
        refuse_on_replica(manager, KEYS)
    name = arguments.client if is_client else manager.name
    label = arguments.label or default_labels(name)[0]
    directory = (arguments.output or Path(file_name(name))) if is_client else manager.path / "ssl" / "key"
    if arguments.output is not None and not is_client:
        raise ValueError("--output is for clients; a queue manager's certificate goes where it looks for it")
    if not 1 <= arguments.days <= 36_500:
        raise ValueError(f"{arguments.days} days are not between 1 and 36500")
    there = directory / (file_name(label) + CERTIFICATE_ENDING)
    if there.exists() and not arguments.replace:
        raise ValueError(f"{there} exists already; --replace replaces it")
    subject = parse_name(arguments.subject).attributes if arguments.subject else [("CN", name), ("O", "Ostler")]
    hosts = tuple(arguments.host or ()) if is_client else tuple(arguments.host or own_host_names())
    authority = Authority(arguments.authority or manager.path / "ssl" / "ca")
    if not authority.exists():
        authority.create(f"{manager.name} authority", "ec")
        print(f"Authority:    {authority.directory} (keep ca.key to yourself)")
    certificate, key = authority.issue(directory, label, subject, arguments.key, arguments.days, hosts)
    print(f"Certificate:  {certificate}")
    print(f"Key:          {key}")
    print(f"Subject:      {describe_certificate(certificate)['subject']}")
    if is_client:
        print(
            f"Give the client the directory {directory}; it is its key repository (MQSSLKEYR={directory.absolute()})."
        )
    else:
        print("A running queue manager takes it over with REFRESH SECURITY TYPE(SSL).")
    return 0


def run_show(arguments: argparse.Namespace) -> int:
    try:
        found = [path for what in arguments.what or [""] for path in _certificates(what)]
        shown = [_facts(path) for path in found]
    except (CertificateError, ValueError) as error:
        print(f"ostler certs: {error}.", file=sys.stderr)
        return 1
    if arguments.is_json:
        print(json.dumps(shown, indent=2))
        return 0
    for number, facts in enumerate(shown):
        if number:
            print()
        for name, value in facts.items():
            print(f"{name + ':':<15}{value}")
    return 0


def _certificates(what: str) -> list[Path]:
    """Returns the files that an argument names: a path, or the key repository of a queue manager."""
    path = Path(what)
    if what and path.is_file():
        return [path]
    directory = path if what and path.is_dir() else existing_manager(what).path / "ssl" / "key"
    bundle = directory.with_name(directory.name + ".pem")
    if not directory.is_dir() and bundle.is_file():
        return [bundle]
    if not directory.is_dir():
        raise ValueError(f"there is no directory {directory}; ostler certs create makes it")
    # The authority comes last.
    files = sorted(
        directory.glob(f"*{CERTIFICATE_ENDING}"), key=lambda each: (each.name == AUTHORITIES_FILE, each.name)
    )
    if not files:
        raise ValueError(f"there is no certificate in {directory}")
    return files


def _facts(path: Path) -> dict[str, str]:
    described = describe_certificate(path)
    facts = {
        "File": str(path),
        "Subject": described.get("subject", ""),
        "Issuer": described.get("issuer", ""),
        "Serial number": described.get("serial", ""),
        "Valid from": described.get("notbefore", ""),
        "Valid until": described.get("notafter", ""),
        "Fingerprint": described.get("sha256 fingerprint", ""),
    }
    if path.name != AUTHORITIES_FILE:
        facts["Key"] = _key_text(path.with_suffix(KEY_ENDING))
    warning = _expiry_warning(described.get("notafter", ""))
    if warning:
        facts["Attention"] = warning
    return facts


def _key_text(path: Path) -> str:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "none beside it"
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return f"{path.name}, which others than its owner may use: chmod 600 {path}"
    return path.name


def _expiry_warning(until: str) -> str:
    days = (ssl.cert_time_to_seconds(until) - time.time()) / _DAY_SECONDS
    if days < 0:
        return "it has expired"
    return f"it expires in {int(days)} days" if days < _SOON_DAYS else ""
