"""The drivers and promises of contestants: figures are compared lean driver to lean driver, and library to library.

A lean driver speaks a protocol with as little work as possible; a library is what applications use. The difference
between the two is often larger than the one between brokers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ostler.pipeline.report.rows import LIMIT, OSTLER, EntrantRow
from ostler.pipeline.steps.contestants import OUR_LIBRARY, PEER_LIBRARY, TWO_NODES

LEAN: Final = "lean driver"
LIBRARY: Final = "library"
PROBE: Final = "probe"
_NOT_PERSISTENT, _PERSISTENT = "non-persistent: ", ". Persistent: "


def driver_of(contestant: str, kind: str) -> str:
    """Return the driver of a contestant: a lean one, a library, or a probe of the machine."""
    if kind == LIMIT:
        return PROBE
    if kind == OSTLER:
        return LIBRARY if OUR_LIBRARY in contestant else LEAN
    return LIBRARY if PEER_LIBRARY in contestant and contestant not in TWO_NODES else LEAN


def product_of(contestant: str) -> str:
    """Return the product without its library: RabbitMQ of RabbitMQ, pika."""
    return contestant if contestant in TWO_NODES else contestant.partition(PEER_LIBRARY)[0]


def promise_of(entrants: Iterable[EntrantRow], run: str, contestant: str, persistent: bool) -> str:
    """Return what an acknowledgement of a contestant promises, with persistent messages or others; empty where the run
    does not say."""
    text = next((each.promise for each in entrants if (each.run, each.contestant) == (run, contestant)), "")
    if not text.startswith(_NOT_PERSISTENT):
        return text
    first, _, second = text.removeprefix(_NOT_PERSISTENT).partition(_PERSISTENT)
    return second if persistent else first
