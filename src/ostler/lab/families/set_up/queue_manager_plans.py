"""The set-up of the queue managers of a scenario: log, qm.ini and MQSC, from the parameters in its data file."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ostler.lab.runner.queue_managers.plan import QueueManagerPlan, merged_stanzas, pair_commands
from ostler.lab.scenarios.model import Scenario, Syncpoint
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType, LogWriteIntegrity

LARGE_BYTES: Final = 20_480
"""From this size on, a report with two sizes of queue buffers uses the larger one."""
LOGS_BYTES_MAX: Final = 16 << 30
"""The limit for the logs of all queue managers of a step together. Creating 4 GB takes about 20 seconds."""
QUICK_LOGS_BYTES_MAX: Final = 512 << 20
_MANY_LOG_BYTES_LEAST: Final = 128 << 20
_OVERSIZED: Final = 4
"""An oversized log has this many times the files of one that is large enough."""
PAGE_BYTES: Final = 4096
BUFFER_PAGES_LEAST: Final = 18
"""One report has a page less than is allowed today."""
_PRIMARY_FILES_LEAST: Final = 2
_LARGEST_BODY_BYTES: Final = 204_800
_TUNING: Final = "TuningParameters"
_CHANNELS: Final = "Channels"
_IMPLICIT: Final = "ImplSyncOpenOutput"
_IMPLICIT_DEFAULT: Final = "2"


def plan_of(scenario: Scenario, pairs: int, own_replies: int, body_bytes: int) -> QueueManagerPlan:
    """Return the plan of each queue manager of a scenario, with as many pairs of queues."""
    conversations = scenario.parameters.get("shared_conversations")
    made = QueueManagerPlan(
        log=log_of(scenario, body_bytes),
        commands=(*manager_commands(scenario), *queue_commands(scenario, pairs, own_replies)),
        stanzas=stanzas_of(scenario, body_bytes),
    )
    return made if conversations is None else replace(made, conversations=int(str(conversations)))


def log_of(scenario: Scenario, body_bytes: int) -> LogSection:
    """Return the log of the report. Some scenarios have another one for messages of 200 KB."""
    large = "_200k" if body_bytes >= _LARGEST_BODY_BYTES and "log_primary_files_200k" in scenario.parameters else ""
    return LogSection(
        primary_files=max(_number(scenario, f"log_primary_files{large}", 4), _PRIMARY_FILES_LEAST),
        secondary_files=_number(scenario, f"log_secondary_files{large}", 2),
        file_pages=_number(scenario, "log_file_pages", 16_384),
        buffer_pages=_buffer_pages(scenario),
        write_integrity=LogWriteIntegrity(str(scenario.parameters.get("log_write_integrity", "TripleWrite"))),
    )


def _buffer_pages(scenario: Scenario) -> int:
    """Return the buffer pages; 0: the queue manager's default."""
    pages = _number(scenario, "log_buffer_pages", 0)
    return max(pages, BUFFER_PAGES_LEAST) if pages else 0


def fitted_log(log: LogSection, managers: int, bytes_max: int) -> LogSection:
    """Return the log with fewer primary files if those of all queue managers together would take more than so many
    bytes."""
    each = bytes_max // managers
    if managers > 1:
        each = max(each, _MANY_LOG_BYTES_LEAST)
    most = max(each // (log.file_pages * PAGE_BYTES), _PRIMARY_FILES_LEAST)
    return log if log.primary_files <= most else replace(log, primary_files=most)


def stanzas_of(scenario: Scenario, body_bytes: int) -> dict[str, dict[str, str]]:
    """Return the lines of qm.ini beyond the log's."""
    found: dict[str, dict[str, str]] = {}
    parameters = scenario.parameters
    channels: dict[str, str] = {}
    if "channels_max" in parameters:
        channels = {name: str(parameters["channels_max"]) for name in ("MaxChannels", "MaxActiveChannels")}
    if "bind_type" in parameters:
        channels["MQIBindType"] = str(parameters["bind_type"])
    if channels:
        found[_CHANNELS] = channels
    buffer_bytes = parameters.get("queue_buffer_bytes")
    if body_bytes >= LARGE_BYTES:
        buffer_bytes = parameters.get("queue_buffer_bytes_large", buffer_bytes)
    if buffer_bytes is not None:
        found[_TUNING] = {"DefaultQBufferSize": str(buffer_bytes), "DefaultPQBufferSize": str(buffer_bytes)}
    return found


def manager_commands(scenario: Scenario) -> tuple[str, ...]:
    """Return MQSC for the queue manager itself, before its queues are defined."""
    parameters = scenario.parameters
    found = []
    if "handles_max" in parameters:
        # crtmqm -h.
        found.append(f"ALTER QMGR MAXHANDS({parameters['handles_max']})")
    if "message_bytes_max" in parameters:
        found.append(f"ALTER QMGR MAXMSGL({parameters['message_bytes_max']})")
    if parameters.get("channel_authentication") == "disabled":
        found.append("ALTER QMGR CHLAUTH(DISABLED)")
        found.append("ALTER AUTHINFO(SYSTEM.DEFAULT.AUTHINFO.IDPWOS) AUTHTYPE(IDPWOS) CHCKCLNT(OPTIONAL)")
    if "manager_ccsid" in parameters:
        found.append(f"ALTER QMGR CCSID({parameters['manager_ccsid']})")
    return tuple(found)


def queue_commands(scenario: Scenario, pairs: int, own_replies: int, attributes: str = "") -> tuple[str, ...]:
    """Return MQSC for pairs of queues, with the depth and the message length of the report."""
    parameters = scenario.parameters
    if "message_bytes_max" in parameters:
        attributes = f"MAXMSGL({parameters['message_bytes_max']}) {attributes}".rstrip()
    depth = parameters.get("queue_depth_max")
    if depth is None:
        return pair_commands(pairs, own_replies, attributes)
    return pair_commands(pairs, own_replies, attributes, int(str(depth)))


def with_syncpoint(plan: QueueManagerPlan, syncpoint: Syncpoint) -> QueueManagerPlan:
    """Return the plan with implicit syncpoints switched off where puts are to be outside units of work, and as they
    are by default otherwise."""
    value = "OFF" if syncpoint is Syncpoint.OUT else _IMPLICIT_DEFAULT
    return replace(plan, stanzas=merged_stanzas(plan.stanzas, {_TUNING: {_IMPLICIT: value}}))


def with_log_kind(log: LogSection, kind: str) -> LogSection:
    """Return a log of a kind that the logging scenarios compare."""
    if kind == "circular, oversized":
        return replace(log, primary_files=_OVERSIZED * log.primary_files)
    if kind.startswith("linear"):
        reused = kind == "linear, extents reused"
        management = LogManagement.AUTOMATIC if reused else LogManagement.MANUAL
        return replace(log, type=LogType.LINEAR, management=management)
    return log


def _number(scenario: Scenario, name: str, otherwise: int) -> int:
    return int(str(scenario.parameters.get(name, otherwise)))
