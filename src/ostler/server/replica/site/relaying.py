"""The instance that takes the log for a recovery group: it passes it on to the others of its group.

It follows the live site (`following.py`) and leads its own group (`leading.py`), with one log. What it has forced goes
out to the others from the thread that receives. When enough of them have forced it, whoever heard of that has the live
site told. The lock of the follower is taken before that of these links, never the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from mypy_extensions import i64

from ostler.log.log_writer import BlockImage
from ostler.log.settings import LogSettings
from ostler.model.connection_names import Address
from ostler.model.log_life import Life
from ostler.replica.base_source import Still
from ostler.replica.leader_side import STREAMING
from ostler.replica.log_relay import LogRelay
from ostler.replica.relay_side import RelaySide
from ostler.server.replica.group_tls import GroupTls
from ostler.server.replica.leading import Leading


class Relaying(Leading):
    """The links within a recovery group. `relay_side` is used with `turn` held."""

    def __init__(
        self,
        side: RelaySide,
        addresses: dict[str, Address],
        tls: GroupTls | None,
        heartbeat_seconds: float,
        heartbeat_timeout_seconds: float,
        retry_seconds: float,
        note: Callable[[str], None],
        on_change: Callable[[], None],
        still: Still,
        log_settings: LogSettings,
        on_advance: Callable[[], None],
    ) -> None:
        """`on_advance` is called when enough copies have more of the log, without a lock."""
        super().__init__(
            side,
            addresses,
            tls,
            heartbeat_seconds,
            heartbeat_timeout_seconds,
            retry_seconds,
            note,
            on_change,
            still,
            log_settings,
        )
        self.relay_side: Final = side
        self.port: Final = _RelayPort(self)
        self.is_held = False
        """So few copies of the group answer that nothing is acknowledged to the live site."""
        self._on_advance = on_advance
        self._told = (-1, -1)

    def advance(self) -> None:
        with self.turn:
            side = self.relay_side
            reached = (int(side.acknowledged_position()), int(side.group_lsn()))
            is_new = reached != self._told
            self._told = reached
        if is_new:
            self._on_advance()

    # -- of the thread that takes the log ------------------------------------------------------------------------------

    def received(self, images: list[BlockImage], position: i64) -> None:
        """Offer blocks that are forced here to the others. Does not wait."""
        with self.turn:
            self.relay_side.received(images, position)
            for link in self._links.values():
                follower = self.side.followers.get(link.name)
                if follower is not None and follower.state == STREAMING:
                    self._push(link)

    def life_begins(self, lives: list[Life], position: i64) -> None:
        """Greet the others anew: another life of the log has begun."""
        with self.turn:
            self.relay_side.life_begins(lives, position)
            connections = [link.connection for link in self._links.values()]
        for connection in connections:
            if connection is not None:
                connection.close("another life of the log has begun")


@final
class _RelayPort(LogRelay):
    """The links as the follower's side sees them."""

    def __init__(self, relaying: Relaying) -> None:
        self._relaying = relaying

    def received(self, images: list[BlockImage], position: i64) -> None:
        self._relaying.received(images, position)

    def life_begins(self, lives: list[Life], position: i64) -> None:
        self._relaying.life_begins(lives, position)

    def site_group_is_at(self, lsn: i64) -> None:
        with self._relaying.turn:
            self._relaying.relay_side.site_group_is_at(lsn)

    def group_lsn(self) -> i64:
        with self._relaying.turn:
            return self._relaying.relay_side.group_lsn()

    def acknowledged_position(self) -> i64:
        with self._relaying.turn:
            return self._relaying.relay_side.acknowledged_position()

    def is_held(self) -> bool:
        return self._relaying.is_held
