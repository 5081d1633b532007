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
    from ostler.client import aio as aio
    from ostler.client.api import Connection as Connection
    from ostler.client.api import connect as connect
    from ostler.client.connect_parameters import TlsSettings as TlsSettings
    from ostler.client.embedded import start as start
    from ostler.client.handler_threads import Consumer as Consumer
    from ostler.client.message import Message as Message
    from ostler.client.property_types import Float32 as Float32
    from ostler.client.property_types import Int8 as Int8
    from ostler.client.property_types import Int16 as Int16
    from ostler.client.property_types import Int32 as Int32
    from ostler.client.property_types import Int64 as Int64
    from ostler.client.queue_handle import Queue as Queue
    from ostler.client.topic_handle import Subscription as Subscription
    from ostler.client.topic_handle import Topic as Topic
    from ostler.client.trigger_monitor import TriggerMonitor as TriggerMonitor
    from ostler.model.errors import MQError as MQError

__version__ = "0.1.0"

# Where each public name is: a module, or something in one.
_PUBLIC = {
    "Connection": "ostler.client.api",
    "Consumer": "ostler.client.handler_threads",
    "Float32": "ostler.client.property_types",
    "Int16": "ostler.client.property_types",
    "Int32": "ostler.client.property_types",
    "Int64": "ostler.client.property_types",
    "Int8": "ostler.client.property_types",
    "MQError": "ostler.model.errors",
    "Message": "ostler.client.message",
    "Queue": "ostler.client.queue_handle",
    "Subscription": "ostler.client.topic_handle",
    "TlsSettings": "ostler.client.connect_parameters",
    "Topic": "ostler.client.topic_handle",
    "TriggerMonitor": "ostler.client.trigger_monitor",
    "connect": "ostler.client.api",
    "start": "ostler.client.embedded",
}
_MODULES = {"aio": "ostler.client.aio", "mqi": "ostler.mqi"}


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
