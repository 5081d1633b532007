"""Repositories that break one rule. The simulated world must find each of them."""

from __future__ import annotations

from ostler.cluster import records as rc
from ostler.cluster.record_codec import Entry
from ostler.cluster.records import Record
from ostler.cluster.repository import Repository


class BelievingEverybody(Repository):
    """Takes records from members that do not own them."""

    def may_tell(self, sender: str, record: Record) -> bool:
        return True


class TakingOlderOnes(Repository):
    """Takes every record that it hears, as the latest news."""

    def judge(self, known: Record | None, offered: Record) -> int:
        verdict = super().judge(known, offered)
        return rc.NEWER if verdict == rc.OLDER else int(verdict)


class ForgettingRemovals(Repository):
    """Drops what was removed, and so does not know it when an older record comes."""

    def store(self, entry: Entry) -> None:
        super().store(entry)
        if entry.record.is_removed and entry.record.owner != self.qmid:
            self.discard(entry.record.key())


class ForgettingAges(Repository):
    """Hands records on as if they were new."""

    def told_age(self, entry: Entry) -> int:
        return 0


class NeverComparing(Repository):
    """Relies on every message between full repositories."""

    def compare_with_full_ones(self) -> None:
        return

    def _send_digest(self, qmid: str, is_reply: bool) -> None:
        return


class TrustingItsClock(Repository):
    """Has the time as version, whatever it has published before."""

    def issue(
        self,
        now_ms: int,
        kind: int,
        name: str,
        attributes: dict[str, int | str | tuple[str, ...]],
        is_removed: bool = False,
    ) -> None:
        self.last_version = 0
        super().issue(now_ms, kind, name, attributes, is_removed)


class NeverChoosingAgain(Repository):
    """Stays with the full repositories that it has chosen first."""

    def choose_full_ones(self, is_told: bool = True) -> None:
        if not self.chosen:
            super().choose_full_ones(is_told)


ALL = (
    BelievingEverybody,
    TakingOlderOnes,
    ForgettingRemovals,
    ForgettingAges,
    NeverComparing,
    TrustingItsClock,
    NeverChoosingAgain,
)
