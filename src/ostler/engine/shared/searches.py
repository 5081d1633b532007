"""Gets from shared queues that one program cannot find: by selector, or by several numbers of the descriptor.

The facility knows no selectors. The member lists the messages in slices, looks at them, and claims the one that fits by
the identifier of its entry. Somebody may have taken it meanwhile: then the search goes on behind it. A body that is
offloaded is fetched if a selector may need its MQRFH2.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.core import Engine
from ostler.engine.message.message import FORMAT_AT
from ostler.engine.queue.get_request import GROUP_OPTIONS, GetRequest
from ostler.engine.queue.queue import Queue
from ostler.engine.shared.gets import (
    Search,
    SharedGet,
    ask,
    begin_search,
    end_failed,
    end_search,
    has_expired,
    is_simple,
    matches_entry,
    next_slice,
)
from ostler.engine.shared.group_gets import SharedGroupSearch
from ostler.engine.shared.membership import Membership, reason_of
from ostler.engine.shared.offloading import with_body
from ostler.model import constants as mq
from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer, ListAnswer
from ostler.model.coupling.entries import Entry
from ostler.model.coupling.offload import BodyFetched
from ostler.model.coupling.port import Continuation

_MQRFH2: Final = b"MQHRF2  "


def ask_any_way(engine: Engine, request: GetRequest, queue: Queue, is_first: bool) -> None:
    """Ask the facility for the message of a request, by one program if that can find it."""
    if is_simple(request):
        ask(engine, request, queue, is_first)
        return
    sharing = engine.sharing
    assert sharing is not None
    if not request.waiting:
        queue.waiting.add(request)
    if request.asking is not None:
        return
    if request.options & GROUP_OPTIONS:
        SharedGroupSearch(engine, sharing, queue, request, is_first).begin()
    else:
        SharedSearch(engine, sharing, queue, request, is_first).begin()


@final
class SharedSearch(Search):
    """The search of one request through the messages of a queue, slice by slice."""

    def __init__(self, engine: Engine, sharing: Membership, queue: Queue, request: GetRequest, is_first: bool) -> None:
        self.engine = engine
        self.sharing = sharing
        self.queue = queue
        self.request = request
        self.is_first = is_first
        self._key: i64 = -1  # the search goes on behind it
        self._slice: list[Entry] = []
        self._at: i64 = 0
        self._is_end = False  # nothing is behind the slice

    def begin(self) -> None:
        request = self.request
        handle = request.handle
        if request.options & mq.MQGMO_BROWSE_NEXT and handle.cursor_set:
            self._key = handle.cursor_key
        begin_search(self.sharing, self.queue, request, self)
        self._list()

    def _list(self) -> None:
        self.sharing.submit(next_slice(self.queue, self.request, self._key), 0, SliceAnswered(self))

    def on_slice(self, answer: Answer) -> None:
        request = self.request
        if request.done:
            request.asking = None
            return
        if not isinstance(answer, ListAnswer) or answer.status != cf.OK:
            request.asking = None
            end_failed(self.engine, request, self.queue, reason_of(answer.status))
            return
        self._slice = answer.entries
        self._at = 0
        self._is_end = answer.is_end
        self._scan()

    def _scan(self) -> None:
        """Go through the rest of the slice."""
        while self._at < len(self._slice):
            entry = self._slice[self._at]
            self._at += 1
            self._key = entry.key
            offload = self.sharing.offload
            if offload is not None and self._lacks_body(entry):
                offload.fetch(self.queue.structure, entry, SearchedFetched(self, entry))
                return
            if self._fits(entry):
                self._take(entry)
                return
        self._slice = []
        if self._is_end:
            end_search(self.engine, self.request, self.queue, self.is_first)
        else:
            self._list()

    def _lacks_body(self, entry: Entry) -> bool:
        """Return True when a selector may need what is in an offloaded body."""
        selector = self.request.selector
        if selector is None or selector.descriptor_only or not entry.reference:
            return False
        return entry.md[FORMAT_AT : FORMAT_AT + 8] == _MQRFH2

    def on_fetched(self, entry: Entry, reason: i64, body: bytes) -> None:
        """Look at a message whose body was fetched; pass it over if it cannot be read."""
        if self.request.done:
            self.request.asking = None
        elif reason == 0 and self._fits(with_body(entry, body, len(body))):
            self._take(entry)
        else:
            self._scan()

    def _fits(self, entry: Entry) -> bool:
        if has_expired(self.engine, self.sharing, self.queue, entry):
            return False
        return matches_entry(self.request, entry)

    def _take(self, entry: Entry) -> None:
        """Get or browse the entry; if it is gone by then, go on behind it."""
        attempt = SharedGet(self.engine, self.sharing, self.queue, self.request, self.is_first)
        attempt.begin_for(entry.id, self)

    def on_gone(self) -> None:
        self.request.asking = self
        self._list()


@final
class SliceAnswered(Continuation):
    def __init__(self, search: SharedSearch) -> None:
        self.search = search

    def answered(self, answer: Answer) -> None:
        self.search.on_slice(answer)


@final
class SearchedFetched(BodyFetched):
    def __init__(self, search: SharedSearch, entry: Entry) -> None:
        self.search = search
        self.entry = entry

    def fetched(self, reason: i64, body: bytes) -> None:
        self.search.on_fetched(self.entry, reason, body)
