"""STOP CHANNEL for message channels: which instances it concerns, and what becomes of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostler.channel import port, states, sync_records
from ostler.channel.states import ENDED, STOP_ASKED, STOPPED, STOPPED_NOW
from ostler.command.admin.context import CHANNEL_NOT_ACTIVE, CommandRefused
from ostler.engine.events import channel_events
from ostler.engine.queue.transfer import send_reports
from ostler.model.attributes import ObjectType, subtype_of
from ostler.server.channels.instance import CALLING, RECEIVING, Instance

if TYPE_CHECKING:
    from ostler.server.channels.service import MessageChannels


def stop_channel(
    channels: MessageChannels, name: str, mode: str, status: str, connection_name: str, queue_manager: str
) -> None:
    """STOP CHANNEL. CommandRefused."""
    definition = channels.require(name)
    kind = subtype_of(ObjectType.CHANNEL, definition.attributes)
    concerned = [each for each in channels.called.values() if each.name == name]
    if name in channels.calling:
        concerned.append(channels.calling[name])
    if connection_name:
        concerned = [each for each in concerned if connection_name in (each.host, each.address)]
    if queue_manager:
        concerned = [each for each in concerned if each.partner == queue_manager]
    is_whole = not connection_name and not queue_manager
    if status == "STOPPED" and is_whole:
        channels.wish(name, sync_records.STOPPED_WISH)
        if kind in RECEIVING:
            channels.stopped.add(name)
        if kind in CALLING and name not in channels.calling:
            channels.calling[name] = Instance(definition, False)
            concerned.append(channels.calling[name])
        send_reports(channels.engine, channel_events.on_channel_stopped_by_user(channels.engine, name), None)
    elif is_whole:
        channels.records.forget(sync_records.WISH, name)
        channels.stopped.discard(name)
    if not concerned and status != "STOPPED":
        raise CommandRefused(CHANNEL_NOT_ACTIVE, f"Channel {name} is not active.")
    for instance in concerned:
        _stop_instance(channels, instance, mode, status)


def _stop_instance(channels: MessageChannels, instance: Instance, mode: str, status: str) -> None:
    agent = instance.agent
    if agent is None:
        channels.cease(instance)
        channels.places.one_ended()
        instance.happens(STOPPED_NOW if status == "STOPPED" else _ending_event(instance))
        return
    instance.status_after = status
    if mode == "QUIESCE":
        instance.happens(STOP_ASKED)
        agent.stop()
    else:
        agent.finish(port.FAILED, 0, f"AMQ9528I: Channel {instance.name} was stopped with MODE({mode}).")


def _ending_event(instance: Instance) -> int:
    return states.ENABLED if instance.state in (states.INACTIVE, STOPPED) else ENDED
