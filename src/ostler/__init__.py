"""Ostler: an open queue manager of the IBM MQ class.

    import ostler

    with ostler.connect("QM1", create=True) as qm:
        qm.define("QLOCAL", "Q1", replace=True)
        qm.put("Q1", "Hello")

The names of this package are loaded on first use, so importing it alone costs next to nothing. The public modules are
listed in `docs/reference/public-api.md`; all others are private.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ostler._version import __version__ as __version__

if TYPE_CHECKING:
    from ostler import aio as aio
    from ostler import mqi as mqi
    from ostler.client.api.connection import Connection as Connection
    from ostler.client.api.connection import connect as connect
    from ostler.client.api.consumer import Consumer as Consumer
    from ostler.client.api.dead_letters import DeadLetterQueue as DeadLetterQueue
    from ostler.client.api.message import Message as Message
    from ostler.client.api.property_types import Float32 as Float32
    from ostler.client.api.property_types import Int8 as Int8
    from ostler.client.api.property_types import Int16 as Int16
    from ostler.client.api.property_types import Int32 as Int32
    from ostler.client.api.property_types import Int64 as Int64
    from ostler.client.api.queue import Queue as Queue
    from ostler.client.api.topic import Subscription as Subscription
    from ostler.client.api.topic import Topic as Topic
    from ostler.client.api.trigger_monitor import TriggerMonitor as TriggerMonitor
    from ostler.client.locate.connect_parameters import TlsSettings as TlsSettings
    from ostler.client.locate.embedded import start as start
    from ostler.model.errors import MQError as MQError

__all__ = [
    "Connection",
    "Consumer",
    "DeadLetterQueue",
    "Float32",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "MQError",
    "Message",
    "Queue",
    "Subscription",
    "TlsSettings",
    "Topic",
    "TriggerMonitor",
    "aio",
    "connect",
    "mqi",
    "start",
]

# The module that defines each public name.
_PUBLIC = {
    "Connection": "ostler.client.api.connection",
    "Consumer": "ostler.client.api.consumer",
    "DeadLetterQueue": "ostler.client.api.dead_letters",
    "Float32": "ostler.client.api.property_types",
    "Int16": "ostler.client.api.property_types",
    "Int32": "ostler.client.api.property_types",
    "Int64": "ostler.client.api.property_types",
    "Int8": "ostler.client.api.property_types",
    "MQError": "ostler.model.errors",
    "Message": "ostler.client.api.message",
    "Queue": "ostler.client.api.queue",
    "Subscription": "ostler.client.api.topic",
    "TlsSettings": "ostler.client.locate.connect_parameters",
    "Topic": "ostler.client.api.topic",
    "TriggerMonitor": "ostler.client.api.trigger_monitor",
    "connect": "ostler.client.api.connection",
    "start": "ostler.client.locate.embedded",
}
_MODULES = ("aio", "mqi")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        found: object = import_module(f"ostler.{name}")
    elif name in _PUBLIC:
        found = getattr(import_module(_PUBLIC[name]), name)
    else:
        raise AttributeError(f"module 'ostler' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC, *_MODULES})
