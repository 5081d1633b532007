"""Commands about copies at a running instance: status, switch over, suspend, resume, prefer."""

from __future__ import annotations

import time
from time import monotonic
from typing import Final

from ostler.model import constants as mq
from ostler.model.arbiter import ArbiterUnavailable, ArbiterView
from ostler.model.errors import MQError
from ostler.model.replication import (
    UNKNOWN_BACKLOG,
    ChangeRole,
    GroupRole,
    GroupStatus,
    HaStatus,
    InstanceRole,
    InstanceStatus,
    Prefer,
    ReplicaState,
    Resolve,
    Resume,
    Suspend,
    SwitchOver,
)
from ostler.replica.leader_side import NEEDS_BASE, PARTITIONED, REBASING, STREAMING, FollowerProgress
from ostler.replica.membership import ends_needed, rule_of
from ostler.server.config.replication_ini import ArbiterType, InstanceSection
from ostler.server.replica.agent import InstanceAgent
from ostler.server.replica.control import ReplicationControl
from ostler.server.replica.leading import Leading
from ostler.server.replica.messages import replication_message

_POLL_SECONDS: Final = 0.01


class AgentControl(ReplicationControl):
    """Answers from what the agent knows; requests go through the arbiter."""

    def __init__(self, agent: InstanceAgent) -> None:
        self._agent = agent

    # -- status --------------------------------------------------------------------------------------------------------

    def status(self) -> GroupStatus:
        agent = self._agent
        section = agent.section
        leading = agent.leading or agent.relay
        view = agent.view
        rows = tuple(self._row(each, leading, view) for each in section.instances)
        members = frozenset(view.in_sync.members) if view is not None and view.in_sync is not None else frozenset()
        return GroupStatus(
            queue_manager=agent.queue_manager,
            instance=agent.name,
            role=self._own_role(),
            instances=rows,
            copies=view.in_sync.copies if view is not None and view.in_sync is not None else section.copies,
            group_lsn=self._group_lsn(leading),
            group_name=agent.group,
            group_role=agent.sites.site.group_role if agent.sites is not None else GroupRole.NOT_CONFIGURED,
            dr_status=agent.sites.dr_status() if agent.sites is not None else HaStatus.UNKNOWN,
            recovery_groups=(agent.sites.other_status(),) if agent.sites is not None else (),
            fork_lsn=int(agent.sites.site.fork_lsn) if agent.sites is not None else -1,
            ha_status=_ha_status(rows, len(members), len(section.instances)),
            preferred=view.preferred if view is not None else "",
            is_suspended=view is not None and agent.name in view.suspended,
            acknowledgement=section.acknowledgement,
            arbiter=self._arbiter_text(),
            arbiter_notice="" if view is not None else "the arbiter does not answer",
            term=self._term(leading),
        )

    def _own_role(self) -> InstanceRole:
        agent = self._agent
        if agent.is_active:
            return InstanceRole.ACTIVE
        is_recovery = agent.sites is not None and agent.sites.receives
        leads_recovery = is_recovery and (agent.relay is not None or not agent.section.instances)
        return InstanceRole.LEADER if leads_recovery else InstanceRole.REPLICA

    def _leader_role(self) -> InstanceRole:
        """Return the role of the instance that holds the key: of a recovery group it takes the log, and works not."""
        sites = self._agent.sites
        return InstanceRole.LEADER if sites is not None and sites.receives else InstanceRole.ACTIVE

    def _term(self, leading: Leading | None) -> int:
        if leading is not None:
            return leading.side.membership.term
        return int(self._agent.following.side.term)

    def _group_lsn(self, leading: Leading | None) -> int:
        if leading is not None:
            with leading.turn:
                return int(leading.side.group_lsn())
        with self._agent.following.turn:
            return int(self._agent.standby.log.group_lsn())

    def _arbiter_text(self) -> str:
        settings = self._agent.section.arbiter
        if not self._agent.section.instances:
            return "none is needed: there is no other instance at this site"
        if settings.type is ArbiterType.FILE:
            return f"file {settings.path}"
        return f"etcd {','.join(settings.endpoints)}"

    def _row(self, instance: InstanceSection, leading: Leading | None, view: ArbiterView | None) -> InstanceStatus:
        name = instance.name
        leader = view.leader.instance if view is not None and view.leader is not None else ""
        is_in_sync = view is not None and view.in_sync is not None and name in view.in_sync.members
        role = InstanceRole.UNKNOWN
        if name == leader:
            role = self._leader_role()
        elif view is not None and name in view.members:
            role = InstanceRole.REPLICA
        is_suspended = view is not None and name in view.suspended
        now_ms = int(time.time() * 1000)
        if name == self._agent.name:
            return self._own_row(instance, leading, is_in_sync, is_suspended, now_ms)
        if leading is None:
            is_linked = name == leader and self._agent.following.is_linked()
            return InstanceStatus(
                name, role, str(instance.address), name == leader, is_linked, is_in_sync, is_suspended=is_suspended
            )
        with leading.turn:
            follower = leading.side.followers.get(name)
            backlog = leading.side.backlog_bytes(name) if follower is not None else UNKNOWN_BACKLOG
        state = _state_of(follower, backlog)
        is_linked = follower is not None and follower.is_linked()
        return InstanceStatus(
            name,
            role,
            str(instance.address),
            is_linked,
            is_linked,
            is_in_sync,
            backlog,
            int(follower.forced) if follower is not None else 0,
            int(follower.applied) if follower is not None else 0,
            state,
            now_ms,
            is_suspended=is_suspended,
            base_percent=int(follower.base_percent) if follower is not None else 0,
        )

    def _own_row(
        self, instance: InstanceSection, leading: Leading | None, is_in_sync: bool, is_suspended: bool, now_ms: int
    ) -> InstanceStatus:
        agent = self._agent
        role = self._own_role()
        if leading is not None and leading is not agent.relay:
            with leading.turn:
                position = int(leading.side.position())
            applied = forced = position
            is_linked, backlog = True, 0
        else:
            with agent.following.turn:
                side = agent.following.side
                forced = int(side.standby.log.position())
                applied = int(side.standby.applied_lsn())
                backlog = max(0, int(side.leader_position) - forced)
            is_linked = agent.following.is_linked()
        return InstanceStatus(
            instance.name,
            role,
            str(instance.address),
            is_linked,
            is_linked,
            is_in_sync,
            backlog,
            forced,
            applied,
            ReplicaState.NORMAL if is_linked else ReplicaState.DISCONNECTED,
            now_ms,
            is_suspended=is_suspended,
        )

    def refusal(self) -> str:
        """Return the text for applications that connect to an instance that follows."""
        agent = self._agent
        if agent.sites is not None:
            why = agent.sites.refusal()
            if why:
                return why
        view = agent.view
        if view is None or view.leader is None:
            return f"Instance {agent.name} of queue manager {agent.queue_manager} follows, and none is known to lead."
        address = agent.section.address_of(view.leader.instance)
        return (
            f"Instance {agent.name} of queue manager {agent.queue_manager} follows. The active instance is "
            f"{view.leader.instance}, with the replication address {address}."
        )

    # -- requests ------------------------------------------------------------------------------------------------------

    def switch_over(self, request: SwitchOver) -> str:
        leading = self._require_leading()
        deadline = monotonic() + request.wait_seconds
        while True:
            ready = self._caught_up(leading)
            if ready:
                return replication_message("AMQ3272I", instance=ready[0], name=self._agent.queue_manager)
            if monotonic() >= deadline:
                raise MQError(
                    mq.MQRC_STANDBY_Q_MGR,
                    f"No instance of {self._agent.queue_manager} is in sync and may lead. Nothing was changed.",
                )
            time.sleep(_POLL_SECONDS)

    def _caught_up(self, leading: Leading) -> list[str]:
        view = self._agent.view
        if view is None or view.in_sync is None:
            return []
        with leading.turn:
            side = leading.side
            able = [each for each in side.followers.values() if each.is_linked() and each.forced >= side.position()]
            names = sorted(each.name for each in able)
        able_names = [each for each in names if each in view.in_sync.members]
        if len(able_names) < ends_needed(rule_of(view.in_sync)):
            return []  # they could not elect one of them until others are back
        return [each for each in able_names if each not in view.suspended]

    def _require_leading(self) -> Leading:
        leading = self._agent.leading
        if leading is None or self._agent.deposed:
            raise MQError(mq.MQRC_STANDBY_Q_MGR, self.refusal())
        return leading

    def suspend(self, request: Suspend) -> str:
        name = self._known(request.instance)
        self._ask(lambda: self._agent.arbiter.set_suspended(name, True))
        return replication_message("AMQ3273I", instance=name, name=self._agent.queue_manager)

    def resume(self, request: Resume) -> str:
        name = self._known(request.instance)
        self._ask(lambda: self._agent.arbiter.set_suspended(name, False))
        return replication_message("AMQ3274I", instance=name, name=self._agent.queue_manager)

    def prefer(self, request: Prefer) -> str:
        name = self._known(request.instance) if request.instance else ""
        self._ask(lambda: self._agent.arbiter.set_preferred(name))
        if not name:
            return replication_message("AMQ3276I", name=self._agent.queue_manager)
        return replication_message("AMQ3275I", instance=name, name=self._agent.queue_manager)

    def resolve(self, request: Resolve) -> str:
        raise MQError(
            mq.MQRC_FUNCTION_NOT_SUPPORTED,
            "Instances with an arbiter do not part ways: there is no partition to resolve.",
        )

    def change_role(self, request: ChangeRole) -> str:
        sites = self._agent.sites
        if sites is None:
            raise MQError(
                mq.MQRC_FUNCTION_NOT_SUPPORTED,
                f"Queue manager {self._agent.queue_manager} has no recovery group. crtdrprimary gives it one.",
            )
        return sites.change_role(request)

    def _known(self, name: str) -> str:
        name = name or self._agent.name
        if self._agent.section.address_of(name) is None:
            known = ", ".join(each.name for each in self._agent.section.instances)
            raise MQError(mq.MQRC_OPTIONS_ERROR, f"There is no instance {name}; there are {known}.")
        return name

    def _ask(self, change: object) -> None:
        """Change something at the arbiter, between two steps of the agent. Raises MQError."""
        assert callable(change)
        with self._agent.turn:
            try:
                change()
            except ArbiterUnavailable as error:
                raise MQError(
                    mq.MQRC_RESOURCE_PROBLEM, f"The arbiter does not answer: {error}. It is not known what it did."
                ) from None
        self._agent.wake()


def _state_of(follower: FollowerProgress | None, backlog: int) -> ReplicaState:
    if follower is None:
        return ReplicaState.UNKNOWN
    if follower.state == STREAMING:
        return ReplicaState.SYNCHRONIZING if backlog > 0 and follower.behind_seconds >= 0 else ReplicaState.NORMAL
    if follower.state == REBASING:
        return ReplicaState.REBASING
    if follower.state == NEEDS_BASE:
        return ReplicaState.SYNC_FAILED
    return ReplicaState.PARTITIONED if follower.state == PARTITIONED else ReplicaState.DISCONNECTED


def _ha_status(rows: tuple[InstanceStatus, ...], in_sync: int, configured: int) -> HaStatus:
    if any(each.state is ReplicaState.PARTITIONED for each in rows):
        return HaStatus.PARTITIONED
    if in_sync == configured:
        return HaStatus.NORMAL
    if any(each.state in (ReplicaState.SYNCHRONIZING, ReplicaState.REBASING) for each in rows):
        return HaStatus.SYNCHRONIZING
    return HaStatus.REMOTE_UNAVAILABLE
