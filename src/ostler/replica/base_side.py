"""The follower's end of the link to its leader while it has no copy, or gives its copy up: it takes a base.

    side = BaseSide(name, group, queue_manager, files, settings, configure)
    replies = side.receive(link, frame)     for each frame; raises LinkRefused: send its frames and close the link
    replies = side.force()                  when no more frames are at hand
    side.install(last_term)                 when `is_ready`: the base is in its place then, and the old copy aside

It takes no part in elections and acknowledges nothing. A link that breaks makes the base useless: the next one begins
from the start. The copy that was there before stays in its place until the new one is whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.recovery.checkpoint import read_instance
from ostler.engine.recovery.snapshot import FormatNewer, SnapshotDamaged
from ostler.log.settings import LogSettings
from ostler.log.stream_format import FORMAT_VERSION
from ostler.model.disk import Disk, DiskFull
from ostler.replica.base_files import BaseFiles
from ostler.replica.base_target import BaseFailed, BaseTarget
from ostler.replica.follower_side import NO_LINK, LinkRefused
from ostler.replica.site_side import sends
from ostler.wire.replica_frames import (
    PURPOSE_DR,
    PURPOSE_HA,
    REFUSED_FILE_PAGES,
    REFUSED_FORMAT,
    REFUSED_IDENTITY,
    REFUSED_NAME,
    REFUSED_QUEUE_MANAGER,
    REFUSED_STATE,
    REFUSED_TERM,
    REPLICA_VERSION,
    SITE_NONE,
    SITE_RECOVERY,
    ReplicaFrame,
    ReplicaHello,
)


class BaseSide:
    def __init__(
        self,
        name: str,
        group: str,
        queue_manager: str,
        disk: Disk,
        log_disk: Disk,
        log_directory: str,
        settings: LogSettings,
        configure: Callable[[Engine], None],
    ) -> None:
        """`disk` and `log_directory` are the places of the copy, whether there is one or not."""
        self.name: Final[str] = name
        self.group: Final[str] = group
        self.queue_manager: Final[str] = queue_manager
        self.files: Final[BaseFiles] = BaseFiles(disk, log_disk, log_directory)
        self._disk = disk
        self._log_disk = log_disk
        self._settings: Final[LogSettings] = settings
        self._configure = configure
        self._target: BaseTarget | None = None
        self._identity = b""
        self.other_group: str = ""
        """The group at the other site, which may send a base, too; empty for none."""
        self.takes_site_base = True
        """Of a recovery group that has a copy the others get theirs from the instance that takes the log."""
        self.purpose: i64 = PURPOSE_HA
        self.term: i64 = 0
        self.leader: str = ""
        self.link: i64 = NO_LINK

    # -- frames

    def receive(self, link: i64, frame: ReplicaFrame) -> list[ReplicaFrame]:
        """Take a frame, and return those to send on the same link. Raises LinkRefused and DiskFailed."""
        if isinstance(frame, ReplicaHello):
            return self._hello(link, frame)
        if link != self.link:
            raise LinkRefused("another link of the leader is newer")
        target = self._target
        if target is None:
            target = self._new_target()
        try:
            target.receive(frame)
        except BaseFailed as failed:
            raise LinkRefused(f"the base cannot be taken: {failed}") from None
        return []

    def _hello(self, link: i64, hello: ReplicaHello) -> list[ReplicaFrame]:
        refused, detail = self._reason_to_refuse(hello)
        if refused:
            raise LinkRefused(detail, [self._own_hello(hello, refused, detail)])
        self._forget_target()
        self.purpose = hello.purpose
        self.term = hello.term
        self.leader = hello.instance
        self.link = link
        self._identity = hello.identity
        return [self._own_hello(hello, 0, "it has no copy, or has given it up")]

    def _reason_to_refuse(self, hello: ReplicaHello) -> tuple[int, str]:
        if hello.version > REPLICA_VERSION:
            detail = f"The leader speaks version {hello.version} between copies; this release up to {REPLICA_VERSION}."
            return REFUSED_FORMAT, detail
        is_site: bool = hello.purpose == PURPOSE_DR
        if is_site and not sends(hello.site_role):
            return REFUSED_STATE, f"{self.group} has no copy, and nothing to say to {hello.group}."
        if is_site and not self.takes_site_base:
            return REFUSED_STATE, f"Another instance of {self.group} takes the log."
        group = self.other_group if is_site else self.group
        if hello.group != group or hello.queue_manager != self.queue_manager:
            detail = f"This is {self.queue_manager} of group {self.group}, not {hello.queue_manager} of {hello.group}."
            return REFUSED_QUEUE_MANAGER, detail
        if hello.instance == self.name:
            return REFUSED_NAME, f"Two instances have the name {self.name}."
        if hello.file_pages != self._settings.file_pages:
            detail = (
                f"LogFilePages is {hello.file_pages} there and {self._settings.file_pages} here. Create this instance "
                "again with the same."
            )
            return REFUSED_FILE_PAGES, detail
        if hello.log_format > FORMAT_VERSION:
            detail = f"The leader's log has format {hello.log_format}; this release reads up to {FORMAT_VERSION}."
            return REFUSED_FORMAT, detail
        known = self._known_identity()
        if known and known != hello.identity:
            return REFUSED_IDENTITY, "The logs have different identities."
        if is_site:
            return 0, ""  # its terms are those of another arbiter
        promised = self.files.old_mark(hello.identity).promised_term
        lowest = promised + 1 if self.purpose == PURPOSE_DR else max(promised + 1, self.term)
        if hello.term < lowest:
            detail = f"Term {hello.term} is over: {self.name} hears none before {lowest}."
            return REFUSED_TERM, detail
        return 0, ""

    def _known_identity(self) -> bytes:
        """Return the identity of the copy that is given up; empty if there was none or it cannot be read."""
        try:
            return read_instance(self._disk)
        except (SnapshotDamaged, FormatNewer):
            return b""

    def _own_hello(self, heard: ReplicaHello, refused: int, detail: str) -> ReplicaHello:
        hello = ReplicaHello()
        hello.version = REPLICA_VERSION
        hello.is_reply = True
        hello.purpose = heard.purpose
        hello.refused = refused
        hello.detail = detail
        hello.group = self.group
        hello.queue_manager = self.queue_manager
        hello.instance = self.name
        hello.identity = heard.identity
        hello.file_pages = self._settings.file_pages
        hello.log_format = FORMAT_VERSION
        mark = self.files.old_mark(heard.identity)
        hello.term = max(mark.promised_term + 1, self.term if self.purpose == PURPOSE_HA else 0)
        hello.site_role = SITE_RECOVERY if heard.purpose == PURPOSE_DR else SITE_NONE
        hello.needs_base = refused == 0
        return hello

    def _new_target(self) -> BaseTarget:
        try:
            place = self.files.begin()
        except DiskFull as full:
            raise LinkRefused(f"the base cannot be taken: there is no space for it: {full}") from None
        self._target = BaseTarget(
            self.queue_manager,
            self._identity,
            place,
            self._log_disk,
            self.files.base_log_directory,
            self._settings,
            self._configure,
        )
        return self._target

    def force(self) -> list[ReplicaFrame]:
        """Force what came of the log, and return a sign of life to send on `link`. Raises LinkRefused, DiskFailed."""
        target = self._target
        if target is None:
            return []
        try:
            return [target.force()]
        except BaseFailed as failed:
            raise LinkRefused(f"the base cannot be taken: {failed}") from None

    def disconnected(self, link: i64) -> None:
        """A link is gone, and the base that came over it is of no use."""
        if link == self.link:
            self.link = NO_LINK
            self._forget_target()

    def _forget_target(self) -> None:
        target = self._target
        self._target = None
        if target is not None:
            target.abandon()

    # -- the end

    def percent(self) -> int:
        """Return how much of the base was received; -1 when none is being received."""
        target = self._target
        return -1 if target is None else target.percent()

    def is_ready(self, has_waited: bool) -> bool:
        """Return True when the base can be put in place.

        Enough copies had forced all that it speaks of. A leader that needs this very copy to get there cannot tell so:
        `has_waited` says that it had time to.
        """
        target = self._target
        return target is not None and (target.is_whole() or (has_waited and target.has_all()))

    def has_all(self) -> bool:
        """Return True when all was received."""
        target = self._target
        return target is not None and target.has_all()

    def install(self, last_term: i64) -> str:
        """Put the base in place, and return where the old copy is now; empty if there was none.

        `last_term` is the latest one that the arbiter knows. The copy hears no leader of an older one: whom the copy
        before it has promised something may have been elected since. Raises LinkRefused on a full disk.
        """
        target = self._target
        assert target is not None
        self._target = None
        unsure_lsn = target.unsure_lsn()
        old = self.files.old_mark(self._identity)
        try:
            heard = self.term - 1 if self.purpose == PURPOSE_HA else i64(0)
            target.finish(max(old.promised_term, heard, last_term - 1))
            self.files.set_whole(int(unsure_lsn))
        except DiskFull as full:
            target.abandon()
            raise LinkRefused(f"the base cannot be completed: there is no space for it: {full}") from None
        return self.files.exchange()
