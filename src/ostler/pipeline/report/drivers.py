"""The drivers and promises of contestants: figures are compared lean driver to lean driver, and library to library.

A lean driver speaks a protocol with as little work as possible; a library is what applications use. The difference
between the two is often larger than the one between brokers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ostler.pipeline.report.rows import ContestantRow
from ostler.pipeline.steps.contestants import LEAN, LIBRARY, PEER_LIBRARY, PROBE, TWO_NODES, driver_of

_WORDS: Final = {LEAN: "lean driver", LIBRARY: "library", PROBE: "probe"}
_NOT_PERSISTENT, _PERSISTENT = "non-persistent: ", ". Persistent: "


def driver_words(contestant: str, kind: str) -> str:
    """Return the driver of a contestant for a table."""
    return _WORDS[driver_of(contestant, kind)]


def product_of(contestant: str) -> str:
    """Return the product without its library: RabbitMQ of RabbitMQ, pika."""
    return contestant if contestant in TWO_NODES else contestant.partition(PEER_LIBRARY)[0]


def promise_of(contestants: Iterable[ContestantRow], run: str, contestant: str, persistent: bool) -> str:
    """Return what an acknowledgement of a contestant promises, with persistent messages or others; empty where the run
    does not say."""
    text = next((each.promise for each in contestants if (each.run, each.contestant) == (run, contestant)), "")
    if not text.startswith(_NOT_PERSISTENT):
        return text
    first, _, second = text.removeprefix(_NOT_PERSISTENT).partition(_PERSISTENT)
    return second if persistent else first
