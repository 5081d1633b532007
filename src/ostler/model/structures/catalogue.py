"""All structures by name."""

from __future__ import annotations

from typing import Final

from ostler.model.structures.connecting import MQBO, MQCNO, MQCSP, MQSTS
from ostler.model.structures.consuming import MQCBC, MQCBD, MQCTLO, MQSD, MQSRO
from ostler.model.structures.gmo import MQGMO
from ostler.model.structures.headers import MQDLH, MQIIH, MQMDE, MQRFH2, MQTM, MQTMC2, MQXQH
from ostler.model.structures.layout import Layout
from ostler.model.structures.md import MQMD
from ostler.model.structures.od import MQOD
from ostler.model.structures.pmo import MQPMO
from ostler.model.structures.properties import (
    MQBMHO,
    MQCHARV,
    MQCMHO,
    MQDMHO,
    MQDMPO,
    MQIMPO,
    MQMHBO,
    MQPD,
    MQSMPO,
)

LAYOUTS: Final[dict[str, Layout]] = {
    layout.name: layout
    for layout in [
        MQBMHO,
        MQBO,
        MQCBC,
        MQCBD,
        MQCHARV,
        MQCMHO,
        MQCNO,
        MQCSP,
        MQCTLO,
        MQDLH,
        MQDMHO,
        MQDMPO,
        MQGMO,
        MQIIH,
        MQIMPO,
        MQMD,
        MQMDE,
        MQMHBO,
        MQOD,
        MQPD,
        MQPMO,
        MQRFH2,
        MQSD,
        MQSMPO,
        MQSRO,
        MQSTS,
        MQTM,
        MQTMC2,
        MQXQH,
    ]
}
