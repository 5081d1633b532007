"""The exit statuses of the control commands, as documented by MQ. Scripts depend on these numbers."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    DONE = 0
    RUNNING = 5
    EXISTS = 8
    PARTLY_DONE = 10
    """runmqsc and dspmqver: some of it failed."""
    DOES_NOT_EXIST = 16
    """endmqm and dltmqm: there is no queue manager of that name."""
    NOT_DONE = 20
    """runmqsc and dspmqver: all of it failed."""
    LOG_NOT_AVAILABLE = 23
    REMOVAL_FAILED = 33
    ARGUMENTS_WRONG = 36
    """dspmq, rcdmqimg and rcrmqobj: the arguments are invalid."""
    PARAMETER_WRONG = 39
    NOT_AVAILABLE = 40
    """The queue manager is not running."""
    STANZA_MISSING = 44
    STOPPING = 49
    NO_IMAGE = 66
    NO_MEDIA_RECOVERY = 68
    STORAGE_NOT_AVAILABLE = 69
    UNEXPECTED = 71
    NAME_ERROR = 72
    """There is no queue manager of that name, or it cannot be a name."""
    CANNOT_SWITCH_OVER = 77
    """endmqm -s: no other instance can take over."""
    NATIVE_HA_NOT_AVAILABLE = 93
    """The queue manager has no other instances, or cannot run without them."""
    LOG_LOCATION = 100
    DEFAULT_NOT_SET = 111
    """The queue manager was created, but could not be made the default one."""
    DEFAULT_NOT_CLEARED = 112
    LOG_SIZE = 115
    NOT_AUTHORIZED = 119
    NOTHING_PROCESSED = 128
    RESOURCE_PROBLEM = 131
    OBJECT_DAMAGED = 132
    OBJECT_UNKNOWN = 133
    """setmqaut and dspmqaut: there is no object of that name."""
    OBJECT_IN_USE = 136
    OBJECT_NAME_UNEXPECTED = 145
    OBJECT_NAME_MISSING = 146
    TYPE_MISSING = 147
    TYPE_WRONG = 148
    ENTITY_MISSING = 149
    AUTHORITY_MISSING = 150
    AUTHORITY_WRONG = 151
