"""The interface of drivers, and the function that starts one for a load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from ostler.lab.load.client import LoadFailed, Pace
from ostler.lab.load.drivers.connection_flood import sockets_max
from ostler.lab.load.drivers.epoll_driver import EpollDriver, TlsUse
from ostler.lab.load.pacing import Pacing
from ostler.lab.load.progress import ReportProgress
from ostler.lab.load.registry import LEAN_CLIENTS, LIBRARY_DRIVERS, MQ_PROTOCOLS, PROBE_DRIVERS, lean_clients
from ostler.lab.load.spec import LoadSpec
from ostler.lab.load.timeline import PhaseRecorder, Timeline
from ostler.model.errors import MQError

# A driver has a few descriptors besides its sockets.
_DESCRIPTORS_KEPT = 32


class Driver(Protocol):
    """Runs clients. It is open when it is made."""

    def run(self, timeline: Timeline, report: ReportProgress) -> PhaseRecorder: ...

    def close(self) -> None: ...


@runtime_checkable
class Sharing(Protocol):
    """A driver whose producers and consumers may belong to those of others."""

    def arm(self, timeline: Timeline) -> None:
        """Count in a timeline before `run` is called with it: other drivers may begin to put before that."""

    @property
    def outstanding(self) -> int:
        """One-way messages that were put here and not yet got here."""


@runtime_checkable
class Serving(Protocol):
    """A driver whose clients only work while it is called, and which must be served when it is idle."""

    def serve_until_readable(self, descriptor: int) -> None: ...


class LibraryDriver(Driver, Protocol):
    """A driver of clients that use a library."""

    pacing: Pacing


def start_driver(spec: LoadSpec) -> Driver:
    """Return a driver whose clients are all connected and ready."""
    if spec.protocol in LEAN_CLIENTS or spec.protocol in MQ_PROTOCOLS:
        return _lean_driver(spec)
    if spec.protocol in PROBE_DRIVERS:
        start_probe: Callable[[LoadSpec], Driver] = _imported(PROBE_DRIVERS[spec.protocol])
        return start_probe(spec)
    if spec.protocol not in LIBRARY_DRIVERS:
        raise ValueError(f"there is no protocol {spec.protocol}")
    start_library: Callable[[LoadSpec], LibraryDriver] = _imported(LIBRARY_DRIVERS[spec.protocol])
    driver = start_library(spec)
    driver.pacing = spec.pacing()
    return driver


def _imported(reference: str) -> Any:
    """Return the function that "module:function" names."""
    module, _, function = reference.partition(":")
    return getattr(import_module(module), function)


def _lean_driver(spec: LoadSpec) -> Driver:
    """Start a driver of lean clients. Responders are ready before the first requester, and may have their own protocol
    and address."""
    _check_descriptors(spec)
    pace = Pace(spec.pacing(), spec.window if spec.drivers == 1 else 0)
    driver = EpollDriver(spec.address, pace, _tls_use(spec))
    theirs = spec
    if spec.responder_protocol:
        theirs = replace(theirs, protocol=spec.responder_protocol)
    if spec.responder_address is not None:
        theirs = replace(theirs, address=spec.responder_address, other_addresses=spec.responder_others)
    for part, is_requester, numbers in ((theirs, False, spec.responders), (spec, True, spec.requesters)):
        clients = lean_clients(part, pace, is_requester, numbers)
        shown = [each.members[0].number if each.members else numbers[at] for at, each in enumerate(clients)]
        driver.open(clients, [part.address_of(number) for number in shown])
    return driver


def _check_descriptors(spec: LoadSpec) -> None:
    """Check the limit of descriptors before thousands of clients are made that could not connect."""
    sockets = -(-(len(spec.requesters) + len(spec.responders)) // max(spec.conversations, 1))
    most = sockets_max(_DESCRIPTORS_KEPT)
    if sockets > most:
        raise LoadFailed(
            f"a process may have {most:,} connections here, not {sockets:,}: use more --drivers, or let it have more "
            "descriptors (ulimit -n)"
        )


def _tls_use(spec: LoadSpec) -> TlsUse | None:
    if spec.tls is None:
        return None
    # Slow to import, and seldom needed.
    from ostler.client.link.tls_client import ClientTls
    from ostler.client.locate.connect_parameters import TlsSettings

    settings = TlsSettings(spec.tls.cipher_spec, ca_file=spec.tls.authority_file)
    try:
        return TlsUse(ClientTls(settings), spec.channel)
    except MQError as error:
        raise LoadFailed(str(error)) from None
