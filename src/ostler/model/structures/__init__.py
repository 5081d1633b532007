"""The memory layouts of MQI structures: one table per structure, and the offsets that hot paths use.

The layouts are public names of this package, loaded on first use; its modules are private.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostler.model.structures.connecting import MQBO as MQBO
    from ostler.model.structures.connecting import MQCNO as MQCNO
    from ostler.model.structures.connecting import MQCSP as MQCSP
    from ostler.model.structures.connecting import MQSTS as MQSTS
    from ostler.model.structures.consuming import MQCBC as MQCBC
    from ostler.model.structures.consuming import MQCBD as MQCBD
    from ostler.model.structures.consuming import MQCTLO as MQCTLO
    from ostler.model.structures.consuming import MQSD as MQSD
    from ostler.model.structures.consuming import MQSRO as MQSRO
    from ostler.model.structures.gmo import MQGMO as MQGMO
    from ostler.model.structures.headers import MQDLH as MQDLH
    from ostler.model.structures.headers import MQIIH as MQIIH
    from ostler.model.structures.headers import MQMDE as MQMDE
    from ostler.model.structures.headers import MQRFH2 as MQRFH2
    from ostler.model.structures.headers import MQTM as MQTM
    from ostler.model.structures.headers import MQTMC2 as MQTMC2
    from ostler.model.structures.headers import MQXQH as MQXQH
    from ostler.model.structures.layout import Layout as Layout
    from ostler.model.structures.md import MQMD as MQMD
    from ostler.model.structures.od import MQOD as MQOD
    from ostler.model.structures.pmo import MQPMO as MQPMO
    from ostler.model.structures.properties import MQBMHO as MQBMHO
    from ostler.model.structures.properties import MQCHARV as MQCHARV
    from ostler.model.structures.properties import MQCMHO as MQCMHO
    from ostler.model.structures.properties import MQDMHO as MQDMHO
    from ostler.model.structures.properties import MQDMPO as MQDMPO
    from ostler.model.structures.properties import MQIMPO as MQIMPO
    from ostler.model.structures.properties import MQMHBO as MQMHBO
    from ostler.model.structures.properties import MQPD as MQPD
    from ostler.model.structures.properties import MQSMPO as MQSMPO

__all__ = [
    "MQBMHO",
    "MQBO",
    "MQCBC",
    "MQCBD",
    "MQCHARV",
    "MQCMHO",
    "MQCNO",
    "MQCSP",
    "MQCTLO",
    "MQDLH",
    "MQDMHO",
    "MQDMPO",
    "MQGMO",
    "MQIIH",
    "MQIMPO",
    "MQMD",
    "MQMDE",
    "MQMHBO",
    "MQOD",
    "MQPD",
    "MQPMO",
    "MQRFH2",
    "MQSD",
    "MQSMPO",
    "MQSRO",
    "MQSTS",
    "MQTM",
    "MQTMC2",
    "MQXQH",
    "Layout",
]

_SOURCES = {
    "connecting": ("MQBO", "MQCNO", "MQCSP", "MQSTS"),
    "consuming": ("MQCBC", "MQCBD", "MQCTLO", "MQSD", "MQSRO"),
    "gmo": ("MQGMO",),
    "headers": ("MQDLH", "MQIIH", "MQMDE", "MQRFH2", "MQTM", "MQTMC2", "MQXQH"),
    "layout": ("Layout",),
    "md": ("MQMD",),
    "od": ("MQOD",),
    "pmo": ("MQPMO",),
    "properties": ("MQBMHO", "MQCHARV", "MQCMHO", "MQDMHO", "MQDMPO", "MQIMPO", "MQMHBO", "MQPD", "MQSMPO"),
}


def __getattr__(name: str) -> object:
    for module, names in _SOURCES.items():
        if name in names:
            found: object = getattr(import_module(f"ostler.model.structures.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'ostler.model.structures' has no attribute {name!r}")
