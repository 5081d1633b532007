"""Fields of statistics and accounting messages that IBM MQ does not have.

Their numbers are in the range that MQ leaves to users, and they come last, so that programs written for MQ skip them.
All are 64-bit integers. Times are microseconds.
"""

from __future__ import annotations

from typing import Final

from ostler.model import constants as mq

WAITS: Final = mq.MQUA_FIRST + 101
BACKED_OUT_MESSAGES: Final = mq.MQUA_FIRST + 102
USER_CPU_TIME: Final = mq.MQUA_FIRST + 103
SYSTEM_CPU_TIME: Final = mq.MQUA_FIRST + 104
LOG_RECORDS: Final = mq.MQUA_FIRST + 105
LOG_BYTES: Final = mq.MQUA_FIRST + 106
LOG_WRITES: Final = mq.MQUA_FIRST + 107
LOG_FORCES: Final = mq.MQUA_FIRST + 108
LOG_FORCE_TIME: Final = mq.MQUA_FIRST + 109
SENT_BYTES: Final = mq.MQUA_FIRST + 110
RECEIVED_BYTES: Final = mq.MQUA_FIRST + 111
LONGEST_PASS: Final = mq.MQUA_FIRST + 112

OWN_NAMES: Final[dict[int, str]] = {
    WAITS: "WaitCount",
    BACKED_OUT_MESSAGES: "BackedOutMsgCount",
    USER_CPU_TIME: "QMgrUserCPUTime",
    SYSTEM_CPU_TIME: "QMgrSystemCPUTime",
    LOG_RECORDS: "LogRecordCount",
    LOG_BYTES: "LogBytes",
    LOG_WRITES: "LogWriteCount",
    LOG_FORCES: "LogForceCount",
    LOG_FORCE_TIME: "LogForceTime",
    SENT_BYTES: "SentBytes",
    RECEIVED_BYTES: "ReceivedBytes",
    LONGEST_PASS: "LongestPassTime",
}
