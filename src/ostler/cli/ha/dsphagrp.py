"""`ostler dsphagrp`: shows the nodes of the HA group of this machine."""

from __future__ import annotations

import argparse

from ostler.cli.framework import commands
from ostler.cli.framework.exit_statuses import Status
from ostler.cli.ha.engine import instance_status, replicated_managers, require_group
from ostler.model.replication import GroupStatus
from ostler.server.config.ha_group import HaGroup

ONLINE = "Online"
OFFLINE = "Offline"
STANDBY = "Standby"
UNKNOWN = "Unknown"


def add_command(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_command(
        subparsers,
        "dsphagrp",
        "show the nodes of the HA group",
        "Show the nodes of the HA group of this machine: Online, Offline, or Standby for one that is suspended. Nodes "
        "are Unknown while no queue manager of the group runs here.",
        Status.PARAMETER_WRONG,
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    group = require_group()
    statuses = group_statuses()
    print(f"HA group {group.name}, nodes {len(group.nodes)}:")
    for each in group.nodes:
        local = ", this node" if each.name == group.local_node else ""
        print(f"   {each.name:<16} {node_status(group, each.name, statuses):<8} {each.address}{local}")
    for line in arbiter_lines(group, statuses):
        print(line)
    return Status.DONE


def group_statuses() -> list[GroupStatus]:
    """Returns the status of all running instances of this machine."""
    found = (instance_status(directory) for directory, _ in replicated_managers())
    return [status for status in found if status is not None]


def node_status(group: HaGroup, node: str, statuses: list[GroupStatus]) -> str:
    """Returns the status of a node as the instances of this machine know it."""
    seen = [each for status in statuses for each in status.instances if each.name == node]
    is_asked = any(status.instance == node for status in statuses)
    if any(each.is_suspended for each in seen) or (node == group.local_node and group.is_suspended):
        return STANDBY
    if is_asked or any(each.is_linked or each.is_connected for each in seen):
        return ONLINE
    return OFFLINE if seen else UNKNOWN


def arbiter_lines(group: HaGroup, statuses: list[GroupStatus]) -> list[str]:
    """Returns what people should know of the arbiter."""
    settings = dict(group.arbiter)
    kind = settings.get("Type", "None")
    where = settings.get("Endpoints", settings.get("Path", ""))
    lines = [f"Arbiter: {kind} {where}".rstrip()]
    notices = list(dict.fromkeys(status.arbiter_notice for status in statuses if status.arbiter_notice))
    if kind == "Etcd" and "," not in where:
        notices.insert(0, "etcd has one member: when its machine fails with the leader's, nobody can take over.")
    if kind == "File":
        notices.insert(0, "a file arbiter is for instances on one machine, to try things out.")
    if kind == "None":
        notices.insert(0, "without an arbiter both nodes run when all links are cut (Partitioned).")
    return [*lines, *(f"   Attention: {notice}" for notice in notices)]
