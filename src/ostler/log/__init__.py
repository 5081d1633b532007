"""The recovery log: extents, checksummed blocks of records, LSNs, checkpoints; circular and linear. Knows no queues."""

from ostler.log.errors import LogDamaged, LogError, LogNewer, LogRefused, LogSpace
from ostler.log.log_writer import Batch, LogWriter
from ostler.log.metrics import LogMetrics, LogStatus, RestartReport
from ostler.log.reader import LogVisitor
from ostler.log.recovery_log import RecoveryLog
from ostler.log.restart import RestartableLog, create_log, open_log
from ostler.log.settings import LogManagement, LogSettings, LogType, WriteIntegrity

__all__ = [
    "Batch",
    "LogDamaged",
    "LogError",
    "LogManagement",
    "LogMetrics",
    "LogNewer",
    "LogRefused",
    "LogSettings",
    "LogSpace",
    "LogStatus",
    "LogType",
    "LogVisitor",
    "LogWriter",
    "RecoveryLog",
    "RestartReport",
    "RestartableLog",
    "WriteIntegrity",
    "create_log",
    "open_log",
]
