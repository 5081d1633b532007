"""The life of records: what time alone does to a repository.

    age       own                            of others
    27 days   published again                -
    27 days   a question is asked again, if it was used since; otherwise it ends at 30 days
    30 days   -                              no answer to new questions; reported once a day
    90 days   a removed one is dropped       dropped

Ages are counted by the local clock from the receipt, plus the age that a record came with, so clocks need not agree.
Time in which nobody ticked (the queue manager was down, or its clock has jumped) does not count for removed records:
otherwise a clock that jumps by months would let an older record come back from elsewhere. A full repository that was
away for more than a day asks all members to publish and ask again, as their questions may have ended meanwhile.

The last full repository that is known is never dropped: without it nobody could be asked.
"""

from __future__ import annotations

from typing import Final

from ostler.cluster import effects as fx
from ostler.cluster import messages as cm
from ostler.cluster import records as rc
from ostler.cluster.effects import Effect
from ostler.cluster.messages import ClusterMessage
from ostler.cluster.record_codec import Entry
from ostler.cluster.repository import Repository

HOUR_MS: Final = 60 * 60 * 1000


def tick(repository: Repository, now_ms: int) -> list[Effect]:
    """Do what is due. The caller ticks every few minutes, and after a restart; work is done once an hour."""
    repository.now_ms = now_ms
    gap_ms = now_ms - repository.ticked_ms if repository.ticked_ms else 0
    if repository.ticked_ms and 0 <= gap_ms < HOUR_MS:
        return []
    repository.ticked_ms = now_ms
    repository.keep_mark()
    if not repository.is_joined():
        return repository.done()
    is_day_over = not 0 <= now_ms - repository.daily_ms < rc.DAY_MS
    if is_day_over:
        repository.daily_ms = now_ms
    if gap_ms > rc.DAY_MS and repository.is_full:
        for qmid in repository.directory.members():
            repository.send(qmid, ClusterMessage(cm.RENEW, repository.cluster))
    _correct_ages(repository, gap_ms)
    _renew(repository)
    _drop_old_records(repository)
    if is_day_over:
        _say_own_records_anew(repository)
        _report_silent_owners(repository)
    repository.choose_full_ones()
    repository.prune()
    if is_day_over and is_lonely(repository):
        repository.report(
            fx.NO_REPOSITORY, repository.qmid, "no full repository can be reached, or was heard of for 30 days"
        )
        repository.introduce()
    if repository.is_full:
        repository.flush()
        repository.compare_with_full_ones()
    return repository.done()


def is_lonely(repository: Repository) -> bool:
    """Return True if no other full repository was heard of in time and can be reached."""
    for entry in repository.directory.managers():
        is_other = entry.record.is_full() and not repository.is_own(entry.record)
        is_reachable = entry.record.owner not in repository.unreachable
        if is_other and is_reachable and entry.age_ms(repository.now_ms) < rc.EXPIRED_MS:
            return False
    return True


def _correct_ages(repository: Repository, gap_ms: int) -> None:
    now_ms = repository.now_ms
    for entry in list(repository.directory.entries.values()):
        if entry.record.is_removed and gap_ms > rc.DAY_MS:
            entry.born_ms += gap_ms - rc.DAY_MS
        elif entry.born_ms <= now_ms:
            continue
        elif repository.is_own(entry.record) and entry.record.kind != rc.INTEREST:
            repository.reissue(now_ms, entry)  # the clock went back: nobody knows how old it is
            continue
        entry.born_ms = min(entry.born_ms, now_ms)
        repository.store(entry)


def _renew(repository: Repository) -> None:
    """Publish and ask again what is due. With its MANAGER records a member asks for everything: it may be unknown."""
    now_ms = repository.now_ms
    is_manager_renewed = False
    for entry in repository.directory.owned(repository.qmid):
        record = entry.record
        if entry.age_ms(now_ms) < rc.RENEWED_MS or record.is_removed:
            continue
        if record.kind != rc.INTEREST:
            repository.reissue(now_ms, entry)
            is_manager_renewed = is_manager_renewed or record.kind == rc.MANAGER
        elif entry.is_used:
            repository.renew_question(now_ms, record.name)
    if is_manager_renewed:
        repository.flush()
        for qmid in repository.chosen:
            repository.ask_for_all(repository.directory.channel_to(qmid))


def _drop_old_records(repository: Repository) -> None:
    now_ms = repository.now_ms
    old: list[Entry] = []
    kept_full_ones = 0
    for entry in repository.directory.entries.values():
        record = entry.record
        is_other = not repository.is_own(record)
        if record.kind == rc.INTEREST:
            is_old = entry.age_ms(now_ms) >= rc.EXPIRED_MS
        else:
            is_old = entry.age_ms(now_ms) >= rc.DISCARDED_MS and (is_other or record.is_removed)
        if is_old:
            old.append(entry)
        elif is_other and record.is_full():
            kept_full_ones += 1
    for entry in old:
        if kept_full_ones or not entry.record.is_full():
            repository.discard(entry.record.key())


def _say_own_records_anew(repository: Repository) -> None:
    """Publish what others have of this queue manager and it has not said: with its own content, or as removed."""
    for key in list(repository.heard_of_self):
        entry = repository.directory.get(key)
        if entry is not None:
            repository.reissue(repository.now_ms, entry)
        else:
            repository.issue(repository.now_ms, key[0], key[2], {}, is_removed=True)


def _report_silent_owners(repository: Repository) -> None:
    silent: dict[str, int] = {}
    for entry in repository.directory.entries.values():
        record = entry.record
        if record.kind != rc.INTEREST and not record.is_removed and not repository.is_own(record):
            age_ms = entry.age_ms(repository.now_ms)
            if age_ms >= rc.EXPIRED_MS:
                silent[record.owner] = max(age_ms, silent.get(record.owner, 0))
    for qmid, age_ms in silent.items():
        repository.report(fx.NOT_HEARD, qmid, f"for {age_ms // rc.DAY_MS} days")
