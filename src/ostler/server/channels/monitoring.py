"""Online monitoring of message channels (MONCHL): starts it, and returns the values for DISPLAY CHSTATUS.

As in MQ, MONCHL and STATCHL apply as they are when a channel starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ostler.channel.monitoring import ChannelMonitor
from ostler.channel.negotiation import number_of
from ostler.engine.core import Engine
from ostler.engine.queue.queue import is_collected
from ostler.model import constants as mq
from ostler.model.accounts import MovingAverage
from ostler.model.definitions import Definition
from ostler.server.channels.statistics import MessageChannelStatistics, StatisticsKey

if TYPE_CHECKING:
    from ostler.server.channels.instance import ChannelInstance

_LEVELS: Final = {mq.MQMON_OFF: "OFF", mq.MQMON_LOW: "LOW", mq.MQMON_MEDIUM: "MEDIUM", mq.MQMON_HIGH: "HIGH"}

Averages = tuple[int, int]
NO_AVERAGE: Final[Averages] = (0, 0)


class MonitoringValues(NamedTuple):
    """Monitoring values as pairs of a short-term and a long-term average; zeros without monitoring."""

    monitoring: str = "OFF"
    compression_rate: Averages = NO_AVERAGE
    compression_time: Averages = NO_AVERAGE
    network_time: Averages = NO_AVERAGE
    batch_fill: Averages = NO_AVERAGE
    transmission_time: Averages = NO_AVERAGE
    transmission_messages: int = 0


def monitoring_level(channel: Definition, engine: Engine, switch: str) -> int:
    """Return the level of MONCHL or STATCHL for a channel; the queue manager's attribute may disable it for all."""
    manager = number_of(engine.manager, switch, mq.MQMON_OFF)
    if not is_collected(channel.attributes, switch, manager):
        return mq.MQMON_OFF
    own = number_of(channel, switch, mq.MQMON_Q_MGR)
    return manager if own == mq.MQMON_Q_MGR else own


def start_monitoring(instance: ChannelInstance, engine: Engine, statistics: MessageChannelStatistics) -> None:
    """Start monitoring and statistics of a channel that has started, as its attributes ask."""
    agent = instance.agent
    end = (agent.sending or agent.receiving) if agent is not None else None
    if agent is None or end is None:
        return
    definition = instance.definition
    statistics_level = monitoring_level(definition, engine, "STATCHL")
    instance.monitoring = monitoring_level(definition, engine, "MONCHL")
    level = max(statistics_level, instance.monitoring)
    if level != mq.MQMON_OFF:
        monitor = ChannelMonitor(end.port, level)
        if agent.sending is not None:
            agent.sending.start_monitoring(monitor)
        else:
            end.monitor = monitor
    if statistics_level != mq.MQMON_OFF:
        address = instance.host if instance.is_inbound else instance.address
        kind = number_of(definition, "CHLTYPE", 0)
        statistics.add(StatisticsKey(instance.name, kind, instance.partner, address), end)


def monitoring_values(instance: ChannelInstance, engine: Engine) -> MonitoringValues:
    """Return the values for DISPLAY CHSTATUS."""
    agent = instance.agent
    end = (agent.sending or agent.receiving) if agent is not None else None
    monitor = end.monitor if end is not None else None
    if agent is None or monitor is None or instance.monitoring == mq.MQMON_OFF:
        return MonitoringValues()
    queue = engine.queues.get(agent.sending.settings.transmission_queue) if agent.sending is not None else None
    return MonitoringValues(
        _LEVELS.get(instance.monitoring, "OFF"),
        _averages(monitor.savings),
        _averages(monitor.packing_times),
        _averages(monitor.network),
        _averages(monitor.batch_sizes),
        _averages(monitor.queue_times),
        int(queue.depth) if queue is not None else 0,
    )


def _averages(average: MovingAverage) -> Averages:
    return int(average.short_term()), int(average.long_term())
