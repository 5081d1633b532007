"""Two sites of one queue manager as real processes on loopback: the first one works at first, the other receives."""

from __future__ import annotations

from pathlib import Path

from tests.free_ports import free_port
from tests.world.replica.replica_group import (
    HEARTBEAT_TIMEOUT_MS,
    LEASE_SECONDS,
    NAME,
    ReplicaGroup,
    certify,
    wait_until,
)

from ostler.client.link.control import control
from ostler.model.replication import GroupRole, HaStatus, InstanceRole, RecoveryGroupStatus
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType
from ostler.server.queue_manager import create_queue_manager
from ostler.server.tls.certificate_maker import Authority


class SitePair(ReplicaGroup):
    def __init__(
        self,
        root: Path,
        replication: str = "Asynchronous",
        settings: str = "",
        relay_port: int = 0,
        live: str = "n",
        recovery: str = "s",
        arbiters: dict[str, str] | None = None,
        authority: Authority | None = None,
    ) -> None:
        """`settings` are more lines of the stanza Replication; with `relay_port` the first site reaches s over a relay.

        A site of several letters is a group of instances with an arbiter of its own: `arbiters` has the body of its
        stanza by the site's first letter; a file arbiter without it. `authority` makes certificates for TLS.
        """
        self.root = root
        self.name = NAME
        self.instances = f"{live}{recovery}"
        self.sites = (live, recovery)
        self.replication_ports = {each: free_port() for each in self.instances}
        self.port = free_port()
        self._processes = {}
        self.environments = {}
        self.relays = {}
        self.releases = {}
        log = LogSection(
            primary_files=3,
            secondary_files=2,
            file_pages=256,
            type=LogType.REPLICATED,
            management=LogManagement.AUTOMATIC,
        )
        for own in self.instances:
            made = create_queue_manager(root / own, NAME, log, instance=own, wants_base=own != live[0])
            if authority is not None:
                certify(authority, made, own)
            is_live = own in live
            text = (
                f"   Name={own}\n   HeartbeatInterval=500\n   HeartbeatTimeout={HEARTBEAT_TIMEOUT_MS}\n"
                f"   GroupName={'north' if is_live else 'south'}\n"
                f"   GroupRole={GroupRole.LIVE if is_live else GroupRole.RECOVERY}\n"
            )
            site, other = (live, recovery) if is_live else (recovery, live)
            if len(site) == 1:
                text += f"   LocalAddress={self._address(own)}\n"
            others = ",".join(self._address(each) for each in other)
            if relay_port and is_live:
                others = f"127.0.0.1({relay_port})"
            stanzas = self._group_of(site, (arbiters or {}).get(site[0], "")) if len(site) > 1 else ""
            stanzas += (
                f"NativeHARecoveryGroup:\n   GroupName={'south' if is_live else 'north'}\n"
                f"   ReplicationAddress={others}\n   ReplicationType={replication}\n"
                f"Replication:\n   ListenerAddress={self.host(own)}\n{settings}"
            )
            ini = made.ini.read_text().replace(f"   Name={own}\n", text, 1)
            made.ini.write_text(ini + stanzas)

    def _address(self, instance: str) -> str:
        return f"127.0.0.1({self.replication_ports[instance]})"

    def _group_of(self, site: str, arbiter: str) -> str:
        """Return the stanzas of a site with several instances."""
        shown = "".join(
            f"NativeHAInstance:\n   Name={each}\n   ReplicationAddress={self._address(each)}\n" for each in site
        )
        body = arbiter or f"   Type=File\n   Path={self.root / f'arbiter-{site[0]}'}\n"
        return f"{shown}Arbiter:\n{body}   LeaseSeconds={LEASE_SECONDS}\n"

    def receiver(self, site: str) -> str:
        """Return the instance of a recovery group that takes the log; empty while none does."""
        for each in site:
            status = self.status(each) if each in self._processes else None
            if status is not None and status.role is InstanceRole.LEADER:
                return each
        return ""

    def wait_for_receiver(self, site: str, copies: int, *others_than: str, is_alone: bool = False) -> str:
        """Wait until an instance of a recovery group takes the log, and so many of the group are in sync.

        With `is_alone` it waits for the live site.
        """
        found: list[str] = []

        def is_there() -> bool:
            receiver = self.receiver(site)
            status = self.status(receiver) if receiver and receiver not in others_than else None
            if status is None or (status.dr_status is not HaStatus.NORMAL and not is_alone):
                return False
            found.append(receiver)
            in_sync = [each for each in status.instances if each.is_in_sync]
            return sum(1 for each in in_sync if each.is_linked or each.name == receiver) >= copies

        wait_until(is_there, lambda: f"{site} does not take the log on {copies} copies:\n{self.describe()}")
        return found[-1]

    def change_role(self, site: str, role: GroupRole, forces: bool = False) -> str:
        """makedrprimary or makedrsecondary; the sentence that answers it. Raises MQError."""
        replies = control(self.directory(site), "replication", request="change_role", role=str(role), forces=forces)
        return "".join(str(reply.get("line", "")) for reply in replies)

    def dr_status(self, site: str) -> HaStatus:
        status = self.status(site)
        return HaStatus.UNKNOWN if status is None else status.dr_status

    def recovery_group(self, site: str) -> RecoveryGroupStatus | None:
        """Return the other site as this one knows it; None while it tells nothing."""
        status = self.status(site)
        return status.recovery_groups[0] if status is not None and status.recovery_groups else None

    def wait_for_dr(self, site: str, wanted: HaStatus) -> None:
        wait_until(
            lambda: self.dr_status(site) is wanted,
            lambda: f"site {site} shows {self.dr_status(site)}, not {wanted}:\n{self.describe()}",
        )

    def wait_for_role(self, site: str, wanted: GroupRole) -> None:
        def is_there() -> bool:
            status = self.status(site)
            return status is not None and status.group_role is wanted

        wait_until(is_there, lambda: f"site {site} is not {wanted}:\n{self.describe()}")

    def wait_for_copy(self) -> None:
        """Wait until the log flows, and the copy is where the live site is."""
        live = self.wait_for_leader()

        def is_copied() -> bool:
            status = self.status(live)
            if status is None or status.dr_status is not HaStatus.NORMAL:
                return False
            return status.recovery_groups[0].backlog_bytes == 0

        wait_until(is_copied, lambda: f"the copy is not complete:\n{self.describe()}")

    def switch(self, old: str, new: str) -> None:
        """Switch sites in order."""
        self.change_role(old, GroupRole.RECOVERY)
        self.change_role(new, GroupRole.LIVE)
        wait_until(
            lambda: (status := self.status(new)) is not None and status.role is InstanceRole.ACTIVE,
            lambda: f"site {new} does not work:\n{self.describe()}",
        )
