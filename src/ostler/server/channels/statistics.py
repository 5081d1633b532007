"""What went over channels, for channel statistics: of the links that are there, and of those that have closed.

The links count for themselves. All here is called with the engine's lock held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ostler.observe.statistics_messages import ChannelInterval
from ostler.server.channels.settings import host_of
from ostler.server.net.link import ServerLink

_Figures = tuple[int, int, int]  # calls, bytes sent, bytes received
_NOTHING: _Figures = (0, 0, 0)


class ChannelTraffic:
    def __init__(self) -> None:
        self.links: Callable[[], Iterable[ServerLink]] = tuple  # set by who has links
        self._is_on = False
        self._before: dict[ServerLink, _Figures] = {}
        self._closed: dict[tuple[str, str], _Figures] = {}

    def switch(self, is_on: bool) -> None:
        """Begin to collect, or cease to. Twice the same does nothing."""
        if is_on == self._is_on:
            return
        self._is_on = is_on
        self._closed = {}
        self._before = {link: _figures(link) for link in self.links()} if is_on else {}

    def closed(self, link: ServerLink) -> None:
        """A link has closed; what it did since the interval began still counts."""
        if self._is_on and link.channel:
            _add(self._closed, link, _less(_figures(link), self._before.pop(link, _NOTHING)))

    def take(self) -> list[ChannelInterval]:
        """What went over each channel and address since the last time. Nothing for those that were silent."""
        if not self._is_on:
            return []
        found = self._closed
        before: dict[ServerLink, _Figures] = {}
        for link in self.links():
            if link.channel:
                now = _figures(link)
                _add(found, link, _less(now, self._before.get(link, _NOTHING)))
                before[link] = now
        self._closed = {}
        self._before = before
        return [ChannelInterval(name, address, *figures) for (name, address), figures in found.items() if any(figures)]


def _figures(link: ServerLink) -> _Figures:
    return int(link.calls), int(link.sent_bytes), int(link.received_bytes)


def _less(now: _Figures, before: _Figures) -> _Figures:
    return now[0] - before[0], now[1] - before[1], now[2] - before[2]


def _add(found: dict[tuple[str, str], _Figures], link: ServerLink, figures: _Figures) -> None:
    key = (link.channel, host_of(link))
    had = found.get(key, _NOTHING)
    found[key] = (had[0] + figures[0], had[1] + figures[1], had[2] + figures[2])
