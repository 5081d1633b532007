"""Two sites of one queue manager as real processes on loopback: n works at first, s receives."""

from __future__ import annotations

from pathlib import Path

from tests.free_ports import free_port
from tests.world.replica.replica_group import NAME, ReplicaGroup, wait_until

from ostler.client.link.control import control
from ostler.model.replication import GroupRole, HaStatus, InstanceRole
from ostler.server.config.qm_ini import LogManagement, LogSection, LogType
from ostler.server.queue_manager import create_queue_manager


class SitePair(ReplicaGroup):
    def __init__(
        self,
        root: Path,
        replication: str = "Asynchronous",
        settings: str = "",
        relay_port: int = 0,
        live: str = "n",
    ) -> None:
        """`settings` are more lines of the stanza Replication; with `relay_port` the first site reaches s over a relay.

        With several letters in `live` the first site is a group of instances with a file arbiter.
        """
        self.root = root
        self.instances = f"{live}s"
        self.replication_ports = {each: free_port() for each in self.instances}
        self.port = free_port()
        self._processes = {}
        self.relays = {}
        log = LogSection(
            primary_files=3,
            secondary_files=2,
            file_pages=256,
            type=LogType.REPLICATED,
            management=LogManagement.AUTOMATIC,
        )
        addresses = {each: f"127.0.0.1({port})" for each, port in self.replication_ports.items()}
        group = "".join(
            f"NativeHAInstance:\n   Name={each}\n   ReplicationAddress={addresses[each]}\n" for each in live
        )
        group += f"Arbiter:\n   Type=File\n   Path={root / 'arbiter'}\n   LeaseSeconds=3\n"
        for own in self.instances:
            is_live = own != "s"
            made = create_queue_manager(root / own, NAME, log, instance=own, wants_base=own != live[0])
            text = (
                f"   Name={own}\n   HeartbeatInterval=500\n   HeartbeatTimeout=3000\n"
                f"   GroupName={'north' if is_live else 'south'}\n"
                f"   GroupRole={GroupRole.LIVE if is_live else GroupRole.RECOVERY}\n"
            )
            if not is_live or len(live) == 1:
                text += f"   LocalAddress={addresses[own]}\n"
            others = f"127.0.0.1({relay_port})" if relay_port else addresses["s"]
            if not is_live:
                others = ",".join(addresses[each] for each in live)
            stanzas = group if is_live and len(live) > 1 else ""
            stanzas += (
                f"NativeHARecoveryGroup:\n   GroupName={'south' if is_live else 'north'}\n"
                f"   ReplicationAddress={others}\n   ReplicationType={replication}\n"
                f"Replication:\n   ListenerAddress={self.host(own)}\n{settings}"
            )
            ini = made.ini.read_text().replace(f"   Name={own}\n", text, 1)
            made.ini.write_text(ini + stanzas)

    def change_role(self, site: str, role: GroupRole, forces: bool = False) -> str:
        """makedrprimary or makedrsecondary; the sentence that answers it. Raises MQError."""
        replies = control(self.directory(site), "replication", request="change_role", role=str(role), forces=forces)
        return "".join(str(reply.get("line", "")) for reply in replies)

    def dr_status(self, site: str) -> HaStatus:
        status = self.status(site)
        return HaStatus.UNKNOWN if status is None else status.dr_status

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
