"""The offsets of a stream: how far Spark has read, and what it may read next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypedDict

from ostler.pipeline.source.options import ReadOptions
from ostler.pipeline.source.pages import PageHead
from ostler.pipeline.source.staging import InputStaging, lost

_UNBOUNDED: Final = 1 << 62


class Offset(TypedDict):
    """The last page of a batch, and the life of the staging queue it belongs to. Spark keeps this as JSON."""

    epoch: str
    page: int


# Always the same: a batch that Spark does again after a crash may be the first one, and begins here again.
START: Final[Offset] = {"epoch": "", "page": 0}


@dataclass(frozen=True)
class Limit:
    """How much a batch may have. `everything` that is visible, whatever the options say."""

    messages: int = _UNBOUNDED
    body_bytes: int = _UNBOUNDED
    everything: bool = False


class StreamProgress:
    """Answers Spark's questions about offsets from what is on the staging queue."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._is_fixed = False
        self.staging = InputStaging(options)

    def fix_target(self) -> None:
        """For `availableNow`: stage all that is visible now, and read nothing that comes later."""
        self.staging.stage_visible()
        self._is_fixed = True

    def latest(self, start: Offset, limit: Limit) -> Offset:
        """The offset up to which the next batch reads; the start when there is nothing new.

        Spark asks what comes after `start` only when the batch that ended there is in its commit log, and asks once
        more behind the last batch of an `availableNow` run. So this is the time to remove those pages; Spark's own
        `commit` comes only when there is another batch.
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
        """The pages of a batch."""
        if start == end or not end["epoch"]:
            return []
        if end["epoch"] != self.staging.epoch.hex():
            if self._options.fails_on_data_loss:
                raise lost(self._options.staging.queue, [end["page"]])
            return []
        return self.staging.between(self._after(start), end["page"])

    def commit(self, end: Offset) -> None:
        """Spark has recorded everything up to here."""
        if end["epoch"] == self.staging.epoch.hex():
            self.staging.delete_through(end["page"])

    def _after(self, start: Offset) -> int | None:
        """The page that a batch begins behind; None when the offset tells nothing about this staging queue."""
        return start["page"] if start["epoch"] == self.staging.epoch.hex() else None

    def _unread(self, after: int | None) -> list[PageHead]:
        return [page for page in self.staging.pages if after is None or page.number > after]

    def _stage_more(self, after: int | None, limit: Limit) -> None:
        """Stage what is missing to the limit. What an earlier life staged and never told Spark of comes first."""
        if limit.everything:
            self.staging.stage_visible()
            return
        unread = self._unread(after)
        messages = limit.messages - sum(page.messages for page in unread)
        body_bytes = limit.body_bytes - sum(page.body_bytes for page in unread)
        if messages > 0 and body_bytes > 0:
            self.staging.stage(messages, body_bytes, 0.0 if unread else self._options.poll_seconds)


def _within(pages: list[PageHead], limit: Limit) -> list[PageHead]:
    """As many of the first pages as the limit allows, and at least one: a page is read as a whole."""
    messages = body_bytes = 0
    for at, page in enumerate(pages):
        messages += page.messages
        body_bytes += page.body_bytes
        if at and (messages > limit.messages or body_bytes > limit.body_bytes):
            return pages[:at]
    return pages


def share_out(pages: list[PageHead], wanted: int) -> list[list[PageHead]]:
    """Pages in groups, one for each task: neighbours together, queues apart, about as many bytes in each."""
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
