"""The file `site` in the directory of a queue manager with disaster recovery: what this site does, and a partition.

    Site:
       Format=1
       Role=Live                 Live, Recovery, Pending live or Pending recovery
       Forced=No                 a pending role is taken although the other site works
       GivenUp=1                 decisions of people about the data of this group that were carried out here
       EndEpoch=4                of a site that has become a recovery site in order: where its log ended
       EndLSN=81920
    Partition:                   while there is one
       OtherGroup=south
       ForkLSN=65536
       Held=Yes                  this site is to work, and has not begun
       Why=south is live as well
       Since=2023-11-14T22:13:20Z
    SetAside:                    the data behind this LSN are to be set aside at the next start
       ForkLSN=65536

It is replaced as a whole and forced. The site's arbiter has the role, too: of several instances it decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from mypy_extensions import i64

from ostler.model.replication import GroupRole
from ostler.replica.site_side import NO_FORK, SiteSide
from ostler.server.config.ini_file import ConfigurationError, IniFile
from ostler.server.config.replication_ini import ReplicationSection
from ostler.wire.replica_frames import (
    SITE_ACTIVE,
    SITE_LIVE,
    SITE_PENDING_LIVE,
    SITE_PENDING_RECOVERY,
    SITE_RECOVERY,
)

FILE_NAME: Final = "site"
FORMAT: Final = 1
_COMMENT: Final = "# What this site does for disaster recovery. makedrprimary and makedrsecondary change it.\n"
_SITE: Final = "Site"
_PARTITION: Final = "Partition"
_SET_ASIDE: Final = "SetAside"
ROLES: Final = {
    GroupRole.LIVE: SITE_LIVE,
    GroupRole.RECOVERY: SITE_RECOVERY,
    GroupRole.PENDING_LIVE: SITE_PENDING_LIVE,
    GroupRole.PENDING_RECOVERY: SITE_PENDING_RECOVERY,
}
WORDS: Final = {number: role for role, number in ROLES.items()} | {SITE_ACTIVE: GroupRole.LIVE}


@dataclass(frozen=True)
class SiteState:
    """The contents of the file. LSNs are -1 where there is none."""

    role: GroupRole
    forces: bool = False
    end_epoch: int = 0
    end_lsn: int = -1
    fork_lsn: int = NO_FORK
    is_held: bool = False
    why: str = ""
    other_group: str = ""
    since: str = ""
    set_aside_lsn: int = -1
    given_up: int = 0

    @property
    def is_partitioned(self) -> bool:
        return self.fork_lsn != NO_FORK

    def without_partition(self) -> SiteState:
        return replace(self, fork_lsn=NO_FORK, is_held=False, why="", other_group="", since="")


def read_site(directory: Path, section: ReplicationSection) -> SiteState:
    """Return the state of the site; before the first change that of qm.ini. Raises ConfigurationError."""
    path = directory / FILE_NAME
    if not path.exists():
        return SiteState(section.group_role)
    file = IniFile.read(path)
    version = file.get(_SITE, "Format") or ""
    if version != str(FORMAT):
        raise ConfigurationError(str(path), 0, f"has format {version or 'none'}; this release knows format {FORMAT}")
    word = file.get(_SITE, "Role") or ""
    try:
        role = GroupRole(word)
        if role not in ROLES:
            raise ValueError(word)
        return SiteState(
            role,
            file.get(_SITE, "Forced") == "Yes",
            int(file.get(_SITE, "EndEpoch") or 0),
            int(file.get(_SITE, "EndLSN") or -1),
            int(file.get(_PARTITION, "ForkLSN") or NO_FORK),
            file.get(_PARTITION, "Held") == "Yes",
            file.get(_PARTITION, "Why") or "",
            file.get(_PARTITION, "OtherGroup") or "",
            file.get(_PARTITION, "Since") or "",
            int(file.get(_SET_ASIDE, "ForkLSN") or -1),
            int(file.get(_SITE, "GivenUp") or 0),
        )
    except ValueError as error:
        raise ConfigurationError(str(path), 0, f"is damaged: {error}") from None


def write_site(directory: Path, state: SiteState) -> None:
    """Replace the file. Durable on return. Raises ConfigurationError."""
    file = IniFile(_COMMENT)
    own = [("Format", str(FORMAT)), ("Role", str(state.role)), ("Forced", "Yes" if state.forces else "No")]
    if state.given_up:
        own.append(("GivenUp", str(state.given_up)))
    if state.end_lsn >= 0:
        own += [("EndEpoch", str(state.end_epoch)), ("EndLSN", str(state.end_lsn))]
    file.replace_stanzas(_SITE, [own])
    if state.is_partitioned:
        parted = [("OtherGroup", state.other_group), ("ForkLSN", str(state.fork_lsn))]
        parted += [("Held", "Yes" if state.is_held else "No"), ("Why", state.why), ("Since", state.since)]
        file.replace_stanzas(_PARTITION, [parted])
    if state.set_aside_lsn >= 0:
        file.replace_stanzas(_SET_ASIDE, [[("ForkLSN", str(state.set_aside_lsn))]])
    file.write(directory / FILE_NAME)


def changed_while_ended(state: SiteState, section: ReplicationSection, role: GroupRole, forces: bool) -> SiteState:
    """Return the state that the next start finds, for a request to an instance that does not run.

    A role is pending until that start has done what belongs to it. Raises ValueError with the reason to refuse.
    """
    if section.instances:
        raise ValueError("it has other instances, and does not run here: start it, or ask the active one.")
    is_live = state.role in (GroupRole.LIVE, GroupRole.PENDING_RECOVERY)
    if role is GroupRole.LIVE:
        if state.role is GroupRole.LIVE and not (state.is_held and forces):
            raise ValueError("its site is the primary already. makedrsecondary makes it the secondary.")
        wanted = GroupRole.LIVE if is_live else GroupRole.PENDING_LIVE
        return replace(state, role=wanted, forces=forces, is_held=False)
    if state.is_partitioned:
        raise ValueError("its sites are partitioned. Start it, and repeat this: then its data are set aside.")
    if state.role in (GroupRole.RECOVERY, GroupRole.PENDING_RECOVERY):
        raise ValueError("its site is the secondary already. makedrprimary makes it the primary.")
    return replace(state, role=GroupRole.PENDING_RECOVERY if is_live else GroupRole.RECOVERY, forces=False)


class Site(SiteSide):
    """A site whose state is in a file: what is changed here is durable on return."""

    def __init__(self, directory: Path, section: ReplicationSection, on_partition: Callable[[int, str], None]) -> None:
        """`on_partition` is called when the logs have parted, with the LSN and why. Raises ConfigurationError."""
        names = frozenset(each.name for each in section.instances) | {section.instance}
        self.state = read_site(directory, section)
        super().__init__(section.group_name, section.recovery_groups[0].name, names, ROLES[self.state.role])
        self._directory = directory
        self._on_partition = on_partition
        self.fork_lsn = self.state.fork_lsn
        self.is_held = self.state.is_held

    @property
    def group_role(self) -> GroupRole:
        return self.state.role

    def set_state(self, state: SiteState) -> None:
        """Raises ConfigurationError; then nothing has changed."""
        write_site(self._directory, state)
        self.state = state
        is_working = self.role == SITE_ACTIVE and state.role is GroupRole.LIVE
        self.role = SITE_ACTIVE if is_working else ROLES[state.role]
        self.fork_lsn = state.fork_lsn
        self.is_held = state.is_held

    def set_working(self, is_working: bool) -> None:
        """An instance of this site leads, or none does."""
        if self.state.role is GroupRole.LIVE:
            self.role = SITE_ACTIVE if is_working else SITE_LIVE

    def note_partition(self, fork_lsn: i64, why: str) -> None:
        if self.state.set_aside_lsn >= 0:
            return  # this side was given up, and begins anew
        since = self.state.since or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.set_state(
            replace(
                self.state,
                fork_lsn=int(fork_lsn),
                is_held=self.is_held,
                why=why,
                other_group=self.other_group,
                since=since,
            )
        )
        self._on_partition(int(fork_lsn), why)

    def clear_partition(self) -> None:
        self.set_state(self.state.without_partition())
