"""The offsets of a stream: the position of Spark, and the next batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypedDict

from ostler.pipeline.source.options import ReadOptions
from ostler.pipeline.source.pages import PageHead
from ostler.pipeline.source.staging import InputStaging, lost

_UNBOUNDED: Final = 1 << 62


class Offset(TypedDict):
    """The last page of a batch, and the epoch of its staging queue. Spark keeps this as JSON."""

    epoch: str
    page: int


# Always the same: a batch that Spark repeats after a crash may be the first one, and begins here again.
START: Final[Offset] = {"epoch": "", "page": 0}


@dataclass(frozen=True)
class Limit:
    """The size limit of a batch. `everything`: all visible messages, whatever the options are."""

    messages: int = _UNBOUNDED
    body_bytes: int = _UNBOUNDED
    everything: bool = False


class StreamProgress:
    """Answers Spark's calls about offsets from the contents of the staging queue."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._is_fixed = False
        self.staging = InputStaging(options)

    def fix_target(self) -> None:
        """For `availableNow`: stage all visible messages, and read no later ones."""
        self.staging.stage_visible()
        self._is_fixed = True

    def latest(self, start: Offset, limit: Limit) -> Offset:
        """Return the offset up to which the next batch reads; the start when there is nothing new.

        Spark calls this with `start` only when the batch that ended there is in its commit log, and once more after the
        last batch of an `availableNow` run. So this is the time to remove those pages; Spark's own `commit` comes only
        when there is another batch.
        """
        staging = self.staging
        after = self._after(start)
        if after is not None:
            staging.skip_to(after)
            if not self._options.deletes_at_commit:
                staging.delete_through(after)
        if not self._is_fixed:
            self._stage_more(after, limit)
        chosen = _within(self._unread(after), limit)
        return {"epoch": staging.epoch.hex(), "page": chosen[-1].number} if chosen else start

    def pages(self, start: Offset, end: Offset) -> list[PageHead]:
        """Return the pages of a batch."""
        if start == end or not end["epoch"]:
            return []
        if end["epoch"] != self.staging.epoch.hex():
            if self._options.fails_on_data_loss:
                raise lost(self._options.staging.queue, [end["page"]])
            return []
        return self.staging.between(self._after(start), end["page"])

    def commit(self, end: Offset) -> None:
        """Remove pages: Spark has recorded everything up to here."""
        if end["epoch"] == self.staging.epoch.hex():
            self.staging.delete_through(end["page"])

    def _after(self, start: Offset) -> int | None:
        """Return the page before a batch; None when the offset is not of this staging queue."""
        return start["page"] if start["epoch"] == self.staging.epoch.hex() else None

    def _unread(self, after: int | None) -> list[PageHead]:
        return [page for page in self.staging.pages if after is None or page.number > after]

    def _stage_more(self, after: int | None, limit: Limit) -> None:
        """Stage messages up to the limit. Pages that an earlier run staged and Spark has not seen come first."""
        if limit.everything:
            self.staging.stage_visible()
            return
        unread = self._unread(after)
        messages = limit.messages - sum(page.messages for page in unread)
        body_bytes = limit.body_bytes - sum(page.body_bytes for page in unread)
        if messages > 0 and body_bytes > 0:
            self.staging.stage(messages, body_bytes, 0.0 if unread else self._options.poll_seconds)


def _within(pages: list[PageHead], limit: Limit) -> list[PageHead]:
    """Return as many of the first pages as the limit allows, and at least one: a page is read as a whole."""
    messages = body_bytes = 0
    for at, page in enumerate(pages):
        messages += page.messages
        body_bytes += page.body_bytes
        if at and (messages > limit.messages or body_bytes > limit.body_bytes):
            return pages[:at]
    return pages


def share_out(pages: list[PageHead], wanted: int) -> list[list[PageHead]]:
    """Return pages in groups, one for each task: neighbours together, queues apart, about as many bytes in each."""
    groups: list[list[PageHead]] = []
    total = sum(page.body_bytes + page.messages for page in pages)
    share = max(1, -(-total // max(1, wanted)))
    filled = 0
    for page in sorted(pages, key=lambda each: (each.queue, each.number)):
        if not groups or groups[-1][-1].queue != page.queue or filled >= share:
            groups.append([])
            filled = 0
        groups[-1].append(page)
        filled += page.body_bytes + page.messages
    return groups
