"""The classes, types and elements of resource publications on `$SYS/MQ/INFO/QMGR/<name>/Monitor`, as IBM MQ has them.

Numbers, names and descriptions are those that IBM MQ 9.4 publishes: readers make the names of metrics from the
descriptions. An element's source names its value in the dictionaries of `resource_values`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ostler.model import constants as mq

UNIT: Final = mq.MQIAMO_MONITOR_UNIT
DELTA: Final = mq.MQIAMO_MONITOR_DELTA  # of the interval; all others are states
LSN: Final = mq.MQIAMO_MONITOR_LSN
TIMESTAMP: Final = mq.MQIAMO_MONITOR_TIMESTAMP
HUNDREDTHS: Final = mq.MQIAMO_MONITOR_HUNDREDTHS
PERCENT: Final = mq.MQIAMO_MONITOR_PERCENT  # in hundredths
MICROSECONDS: Final = mq.MQIAMO_MONITOR_MICROSEC
MEGABYTES: Final = mq.MQIAMO_MONITOR_MB

# Sources of elements that always are 0, as their subject does not exist here.
NO_LOCKS: Final = "no locks"
NO_REPLICAS: Final = "no replicas"
NO_MOVES: Final = "no uniform cluster"
NEVER: Final = frozenset((NO_LOCKS, NO_REPLICAS, NO_MOVES))


class Element(NamedTuple):
    number: int
    datatype: int
    description: str
    source: str


class ResourceType(NamedTuple):
    number: int
    name: str
    description: str
    elements: Sequence[Element]


class ResourceClass(NamedTuple):
    number: int
    name: str
    description: str
    object_name: int  # the parameter of an object's name in the data; 0: the data is the queue manager's
    types: Sequence[ResourceType]

    @property
    def is_per_object(self) -> bool:
        return self.object_name != 0


def _elements(*rows: tuple[int, int, str, str]) -> tuple[Element, ...]:
    return tuple(Element(*row) for row in rows)


_CPU: Final = ResourceClass(
    0,
    "CPU",
    "Platform central processing units",
    0,
    (
        ResourceType(
            0,
            "SystemSummary",
            "CPU performance - platform wide",
            _elements(
                (0, PERCENT, "User CPU time percentage", "system_user_percent"),
                (1, PERCENT, "System CPU time percentage", "system_system_percent"),
                (2, HUNDREDTHS, "CPU load - one minute average", "load_1"),
                (3, HUNDREDTHS, "CPU load - five minute average", "load_5"),
                (4, HUNDREDTHS, "CPU load - fifteen minute average", "load_15"),
                (5, PERCENT, "RAM free percentage", "memory_free_percent"),
                (6, MEGABYTES, "RAM total bytes", "memory_total_mb"),
            ),
        ),
        ResourceType(
            1,
            "QMgrSummary",
            "CPU performance - running queue manager",
            _elements(
                (0, PERCENT, "User CPU time - percentage estimate for queue manager", "own_user_percent"),
                (1, PERCENT, "System CPU time - percentage estimate for queue manager", "own_system_percent"),
                (2, MEGABYTES, "RAM total bytes - estimate for queue manager", "own_memory_mb"),
            ),
        ),
    ),
)

_DISK: Final = ResourceClass(
    1,
    "DISK",
    "Platform persistent data stores",
    0,
    (
        ResourceType(
            0,
            "SystemSummary",
            "Disk usage - platform wide",
            _elements(
                (4, MEGABYTES, "MQ trace file system - bytes in use", "errors_used_mb"),
                (5, PERCENT, "MQ trace file system - free space", "errors_free_percent"),
                (6, MEGABYTES, "MQ errors file system - bytes in use", "errors_used_mb"),
                (7, PERCENT, "MQ errors file system - free space", "errors_free_percent"),
                (8, UNIT, "MQ FDC file count", "fdc_files"),
            ),
        ),
        ResourceType(
            1,
            "QMgrSummary",
            "Disk usage - running queue managers",
            _elements(
                (0, MEGABYTES, "Queue Manager file system - bytes in use", "data_used_mb"),
                (1, PERCENT, "Queue Manager file system - free space", "data_free_percent"),
            ),
        ),
        ResourceType(
            2,
            "Log",
            "Disk usage - queue manager recovery log",
            _elements(
                (0, UNIT, "Log - bytes in use", "log_allocated_bytes"),
                (1, UNIT, "Log - bytes max", "log_bytes_max"),
                (2, UNIT, "Log file system - bytes in use", "log_disk_used_bytes"),
                (3, UNIT, "Log file system - bytes max", "log_disk_bytes_max"),
                (4, DELTA, "Log - physical bytes written", "log_physical_bytes"),
                (5, DELTA, "Log - logical bytes written", "log_logical_bytes"),
                (6, MICROSECONDS, "Log - write latency", "log_write_latency_us"),
                (7, PERCENT, "Log - current primary space in use", "log_in_use_percent"),
                (8, PERCENT, "Log - workload primary space utilization", "log_utilisation_percent"),
                (9, MEGABYTES, "Log - bytes required for media recovery", "log_media_mb"),
                (10, MEGABYTES, "Log - bytes occupied by reusable extents", "log_reusable_mb"),
                (11, MEGABYTES, "Log - bytes occupied by extents waiting to be archived", "log_archive_mb"),
                (12, UNIT, "Log - write size", "log_write_bytes"),
                (13, PERCENT, "Log file system - free space", "log_disk_free_percent"),
                (14, LSN, "Log - disk written log sequence number", "log_durable_lsn"),
                (15, LSN, "Log - quorum log sequence number", NO_REPLICAS),
                (16, MICROSECONDS, "Log - slowest write since restart", "log_slowest_us"),
                (17, TIMESTAMP, "Log - timestamp of slowest write", "log_slowest_at_us"),
            ),
        ),
    ),
)

_STATMQI: Final = ResourceClass(
    2,
    "STATMQI",
    "API usage statistics",
    0,
    (
        ResourceType(
            0,
            "CONNDISC",
            "MQCONN and MQDISC",
            _elements(
                (0, DELTA, "MQCONN/MQCONNX count", "connects"),
                (1, DELTA, "Failed MQCONN/MQCONNX count", "connects_failed"),
                (2, UNIT, "Concurrent connections - high water mark", "connections_high"),
                (3, DELTA, "MQDISC count", "all_disconnects"),
            ),
        ),
        ResourceType(
            1,
            "OPENCLOSE",
            "MQOPEN and MQCLOSE",
            _elements(
                (0, DELTA, "MQOPEN count", "opens"),
                (1, DELTA, "Failed MQOPEN count", "opens_failed"),
                (2, DELTA, "MQCLOSE count", "closes"),
                (3, DELTA, "Failed MQCLOSE count", "closes_failed"),
            ),
        ),
        ResourceType(
            2,
            "INQSET",
            "MQINQ and MQSET",
            _elements(
                (0, DELTA, "MQINQ count", "inquires"),
                (1, DELTA, "Failed MQINQ count", "inquires_failed"),
                (2, DELTA, "MQSET count", "sets"),
                (3, DELTA, "Failed MQSET count", "sets_failed"),
            ),
        ),
        ResourceType(
            3,
            "PUT",
            "MQPUT",
            _elements(
                (0, DELTA, "Interval total MQPUT/MQPUT1 count", "queue_puts_total"),
                (1, DELTA, "Interval total MQPUT/MQPUT1 byte count", "queue_put_bytes_total"),
                (2, DELTA, "Non-persistent message MQPUT count", "queue_puts_nonpersistent"),
                (3, DELTA, "Persistent message MQPUT count", "queue_puts_persistent"),
                (4, DELTA, "Failed MQPUT count", "queue_puts_failed"),
                (5, DELTA, "Non-persistent message MQPUT1 count", "queue_put1s_nonpersistent"),
                (6, DELTA, "Persistent message MQPUT1 count", "queue_put1s_persistent"),
                (7, DELTA, "Failed MQPUT1 count", "queue_put1s_failed"),
                (8, DELTA, "Put non-persistent messages - byte count", "queue_put_bytes_nonpersistent"),
                (9, DELTA, "Put persistent messages - byte count", "queue_put_bytes_persistent"),
                (10, DELTA, "MQSTAT count", "stats"),
            ),
        ),
        ResourceType(
            4,
            "GET",
            "MQGET",
            _elements(
                (0, DELTA, "Interval total destructive get- count", "gets"),
                (1, DELTA, "Interval total destructive get - byte count", "get_bytes"),
                (2, DELTA, "Non-persistent message destructive get - count", "gets_nonpersistent"),
                (3, DELTA, "Persistent message destructive get - count", "gets_persistent"),
                (4, DELTA, "Failed MQGET - count", "destructive_failed"),
                (5, DELTA, "Got non-persistent messages - byte count", "get_bytes_nonpersistent"),
                (6, DELTA, "Got persistent messages - byte count", "get_bytes_persistent"),
                (7, DELTA, "Non-persistent message browse - count", "browses_nonpersistent"),
                (8, DELTA, "Persistent message browse - count", "browses_persistent"),
                (9, DELTA, "Failed browse count", "browses_failed"),
                (10, DELTA, "Non-persistent message browse - byte count", "browse_bytes_nonpersistent"),
                (11, DELTA, "Persistent message browse - byte count", "browse_bytes_persistent"),
                (12, DELTA, "Expired message count", "expired"),
                (13, DELTA, "Purged queue count", "purged"),
                (14, DELTA, "MQCB count", "callbacks"),
                (15, DELTA, "Failed MQCB count", "cbs_failed"),
                (16, DELTA, "MQCTL count", "controls"),
            ),
        ),
        ResourceType(
            5,
            "SYNCPOINT",
            "Commit and rollback",
            _elements(
                (0, DELTA, "Commit count", "commits_done"),
                (2, DELTA, "Rollback count", "backouts"),
            ),
        ),
        ResourceType(
            6,
            "SUBSCRIBE",
            "Subscribe",
            _elements(
                (0, DELTA, "Create durable subscription count", "subs_durable_created"),
                (1, DELTA, "Alter durable subscription count", "subs_durable_altered"),
                (2, DELTA, "Resume durable subscription count", "subs_durable_resumed"),
                (3, DELTA, "Create non-durable subscription count", "subs_nondurable_created"),
                (6, DELTA, "Failed create/alter/resume subscription count", "subs_failed"),
                (7, DELTA, "Delete durable subscription count", "unsubs_durable_removed"),
                (8, DELTA, "Delete non-durable subscription count", "unsubs_nondurable_removed"),
                (9, DELTA, "Subscription delete failure count", "unsubs_failed"),
                (10, DELTA, "MQSUBRQ count", "subrqs"),
                (11, DELTA, "Failed MQSUBRQ count", "subrqs_failed"),
                (12, UNIT, "Durable subscriber - high water mark", "durable_high"),
                (13, UNIT, "Durable subscriber - low water mark", "durable_low"),
                (14, UNIT, "Non-durable subscriber - high water mark", "nondurable_high"),
                (15, UNIT, "Non-durable subscriber - low water mark", "nondurable_low"),
            ),
        ),
        ResourceType(
            7,
            "PUBLISH",
            "Publish",
            _elements(
                (0, DELTA, "Topic MQPUT/MQPUT1 interval total", "topic_puts"),
                (1, DELTA, "Interval total topic bytes put", "topic_put_bytes"),
                (2, DELTA, "Published to subscribers - message count", "published"),
                (3, DELTA, "Published to subscribers - byte count", "published_bytes"),
                (4, DELTA, "Non-persistent - topic MQPUT/MQPUT1 count", "topic_puts_nonpersistent"),
                (5, DELTA, "Persistent - topic MQPUT/MQPUT1 count", "topic_puts_persistent"),
                (6, DELTA, "Failed topic MQPUT/MQPUT1 count", "topic_puts_failed"),
            ),
        ),
    ),
)

_STATQ: Final = ResourceClass(
    3,
    "STATQ",
    "API per-queue usage statistics",
    mq.MQCA_Q_NAME,
    (
        ResourceType(
            0,
            "OPENCLOSE",
            "MQOPEN and MQCLOSE",
            _elements((0, DELTA, "MQOPEN count", "opens"), (1, DELTA, "MQCLOSE count", "closes")),
        ),
        ResourceType(
            1,
            "INQSET",
            "MQINQ and MQSET",
            _elements((0, DELTA, "MQINQ count", "inquires"), (1, DELTA, "MQSET count", "sets")),
        ),
        ResourceType(
            2,
            "PUT",
            "MQPUT and MQPUT1",
            _elements(
                (0, DELTA, "MQPUT/MQPUT1 count", "puts"),
                (1, DELTA, "MQPUT byte count", "put_bytes"),
                (2, DELTA, "MQPUT non-persistent message count", "queue_puts_nonpersistent"),
                (3, DELTA, "MQPUT persistent message count", "queue_puts_persistent"),
                (4, DELTA, "MQPUT1 non-persistent message count", "queue_put1s_nonpersistent"),
                (5, DELTA, "MQPUT1 persistent message count", "queue_put1s_persistent"),
                (6, DELTA, "non-persistent byte count", "queue_put_bytes_nonpersistent"),
                (7, DELTA, "persistent byte count", "queue_put_bytes_persistent"),
                (8, PERCENT, "queue avoided puts", "avoided_puts_percent"),
                (9, PERCENT, "queue avoided bytes", "avoided_bytes_percent"),
                (10, PERCENT, "lock contention", NO_LOCKS),
                (11, DELTA, "rolled back MQPUT count", "puts_backed_out"),
            ),
        ),
        ResourceType(
            3,
            "GET",
            "MQGET",
            _elements(
                (0, DELTA, "MQGET count", "gets_and_browses"),
                (1, DELTA, "MQGET byte count", "get_and_browse_bytes"),
                (2, DELTA, "destructive MQGET non-persistent message count", "gets_nonpersistent"),
                (3, DELTA, "destructive MQGET persistent message count", "gets_persistent"),
                (4, DELTA, "destructive MQGET non-persistent byte count", "get_bytes_nonpersistent"),
                (5, DELTA, "destructive MQGET persistent byte count", "get_bytes_persistent"),
                (6, DELTA, "MQGET browse non-persistent message count", "browses_nonpersistent"),
                (7, DELTA, "MQGET browse persistent message count", "browses_persistent"),
                (8, DELTA, "MQGET browse non-persistent byte count", "browse_bytes_nonpersistent"),
                (9, DELTA, "MQGET browse persistent byte count", "browse_bytes_persistent"),
                (10, DELTA, "destructive MQGET fails", "destructive_failed"),
                (11, DELTA, "destructive MQGET fails with MQRC_NO_MSG_AVAILABLE", "destructive_empty"),
                (12, DELTA, "destructive MQGET fails with MQRC_TRUNCATED_MSG_FAILED", "destructive_truncated"),
                (13, DELTA, "MQGET browse fails", "browses_failed"),
                (14, DELTA, "MQGET browse fails with MQRC_NO_MSG_AVAILABLE", "browses_empty"),
                (15, DELTA, "MQGET browse fails with MQRC_TRUNCATED_MSG_FAILED", "browses_truncated"),
                (16, DELTA, "rolled back MQGET count", "backed_out"),
            ),
        ),
        ResourceType(
            4,
            "GENERAL",
            "General queue metrics",
            _elements(
                (0, DELTA, "messages expired", "expired"),
                (1, DELTA, "queue purged count", "purged"),
                (2, MICROSECONDS, "average queue time", "queue_time_us"),
                (3, UNIT, "Queue depth", "depth"),
            ),
        ),
    ),
)

_STATAPP: Final = ResourceClass(
    4,
    "STATAPP",
    "Per-application usage statistics",
    mq.MQCACF_APPL_NAME,
    (
        ResourceType(
            0,
            "INSTANCE",
            "Instance statistics",
            _elements(
                (0, UNIT, "Instance count", "instances"),
                (1, UNIT, "Movable instance count", NO_MOVES),
                (2, UNIT, "Instance shortfall count", NO_MOVES),
                (3, DELTA, "Instances started", "instances_started"),
                (4, DELTA, "Initiated outbound instance moves", NO_MOVES),
                (5, DELTA, "Completed outbound instance moves", NO_MOVES),
                (6, DELTA, "Instances ended during reconnect", NO_MOVES),
                (7, DELTA, "Instances ended", "instances_ended"),
            ),
        ),
    ),
)

STATAPP: Final = _STATAPP.name
CLASSES: Final = (_CPU, _DISK, _STATMQI, _STATQ, _STATAPP)
