"""Ostler: an open queue manager of the IBM MQ class.

    import ostler

    with ostler.connect("QM1", create=True) as qm:
        qm.define("QLOCAL", "Q1", replace=True)
        qm.put("Q1", "Hello")

What stands here is loaded when it is first used: importing the package alone costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostler import mqi as mqi
    from ostler.client.aio import aio as aio
    from ostler.client.api.connection import Connection as Connection
    from ostler.client.api.connection import connect as connect
    from ostler.client.api.consumer import Consumer as Consumer
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

__version__ = "0.1.0"

# Where each public name is: a module, or something in one.
_PUBLIC = {
    "Connection": "ostler.client.api.connection",
    "Consumer": "ostler.client.api.consumer",
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
_MODULES = {"aio": "ostler.client.aio.aio", "mqi": "ostler.mqi"}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        found: object = import_module(_MODULES[name])
    elif name in _PUBLIC:
        found = getattr(import_module(_PUBLIC[name]), name)
    else:
        raise AttributeError(f"module 'ostler' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC, *_MODULES})
