"""The structures that only a connecting program passes: channel descriptor and TLS options.

Only the fields that mean something here are named. The size of a version is the end of its last field: the packages
pack structures with Python's `struct`, which adds no padding at the end.
"""

from __future__ import annotations

from typing import Final

from ostler.model.constants import (
    MQBNO_BALTYPE_SIMPLE,
    MQBNO_STRUC_ID,
    MQBNO_TIMEOUT_AS_DEFAULT,
    MQCHT_CLNTCONN,
    MQRC_BNO_ERROR,
    MQRC_CD_ERROR,
    MQRC_SCO_ERROR,
    MQSCO_STRUC_ID,
    MQXPT_TCP,
)
from ostler.model.structures.layout import CHAR, INT32, POINTER, Field, Layout

# A channel descriptor has no identifier; its version is its only mark.
MQCD: Final = Layout(
    "MQCD",
    b"",
    MQRC_CD_ERROR,
    {
        1: 984,
        2: 1312,
        3: 1480,
        4: 1568,
        5: 1584,
        6: 1688,
        7: 1792,
        8: 1884,
        9: 1908,
        10: 1920,
        11: 1984,
        12: 1988,
        13: 2000,
    },
    [
        Field("ChannelName", CHAR, 0, 20, b"", 1),
        Field("Version", INT32, 20, 4, 0, 1),
        Field("ChannelType", INT32, 24, 4, MQCHT_CLNTCONN, 1),
        Field("TransportType", INT32, 28, 4, MQXPT_TCP, 1),
        Field("QMgrName", CHAR, 96, 48, b"", 1),
        Field("ShortConnectionName", CHAR, 192, 20, b"", 1),
        Field("SecurityExit", CHAR, 328, 128, b"", 1),
        Field("SendExit", CHAR, 584, 128, b"", 1),
        Field("ReceiveExit", CHAR, 712, 128, b"", 1),
        Field("MaxMsgLength", INT32, 844, 4, 4194304, 1),
        Field("ConnectionName", CHAR, 1024, 264, b"", 2),
        Field("HeartbeatInterval", INT32, 1480, 4, 300, 4),
        Field("SSLCipherSpec", CHAR, 1688, 32, b"", 7),
        Field("SSLPeerNamePtr", POINTER, 1720, 8, 0, 7),
        Field("SSLPeerNameLength", INT32, 1728, 4, 0, 7),
        Field("LocalAddress", CHAR, 1740, 48, b"", 7),
        Field("SharingConversations", INT32, 1884, 4, 10, 9),
        Field("DefReconnect", INT32, 1916, 4, 0, 10),
        Field("CertificateLabel", CHAR, 1920, 64, b"", 11),
    ],
)

MQSCO: Final = Layout(
    "MQSCO",
    MQSCO_STRUC_ID,
    MQRC_SCO_ERROR,
    {1: 536, 2: 544, 3: 560, 4: 564, 5: 628, 6: 648, 7: 672},
    [
        Field("StrucId", CHAR, 0, 4, MQSCO_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("KeyRepository", CHAR, 8, 256, b"", 1),
        Field("CryptoHardware", CHAR, 264, 256, b"", 1),
        Field("FipsRequired", INT32, 540, 4, 0, 2),
        Field("CertificateLabel", CHAR, 564, 64, b"", 5),
        Field("KeyRepoPasswordPtr", POINTER, 632, 8, 0, 6),
        Field("KeyRepoPasswordOffset", INT32, 640, 4, 0, 6),
        Field("KeyRepoPasswordLength", INT32, 644, 4, 0, 6),
    ],
)

MQBNO: Final = Layout(
    "MQBNO",
    MQBNO_STRUC_ID,
    MQRC_BNO_ERROR,
    {1: 20},
    [
        Field("StrucId", CHAR, 0, 4, MQBNO_STRUC_ID, 1),
        Field("Version", INT32, 4, 4, 0, 1),
        Field("ApplType", INT32, 8, 4, MQBNO_BALTYPE_SIMPLE, 1),
        Field("Timeout", INT32, 12, 4, MQBNO_TIMEOUT_AS_DEFAULT, 1),
        Field("Options", INT32, 16, 4, 0, 1),
    ],
)
