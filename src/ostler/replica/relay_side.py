"""A recovery group: the instance that takes the log of the live site passes it on to the others of its group.

    side = RelaySide(hello, membership, reader, position)
    side.received(images, position)     blocks of the live site that this copy has forced
    side.life_begins(lives, position)   the live site has another leader: what stands behind the position is void
    side.site_group_is_at(lsn)          what the live site has acknowledged
    side.acknowledged_position()        what the live site may be told: enough copies of this group have forced it

It leads its group, with a term of the group's own arbiter, and begins no life: all lives are the live site's. So the
group can elect another one at any time, and the log goes on from there.

Two numbers follow from the copies of the group. *What was received* on enough of them is acknowledged to the live site:
whoever leads this group later has it. *The group LSN* is that, or what the live site has acknowledged if that is less:
up to here a copy applies the log, and here ends what no later leader drops, of this site or of the other.
"""

from __future__ import annotations

from mypy_extensions import i64, mypyc_attr

from ostler.log.catch_up import CatchUpReader
from ostler.log.log_writer import BlockImage
from ostler.model.log_life import Life
from ostler.replica.leader_side import OFFLINE, LeaderSide
from ostler.replica.membership import LeaderMembership
from ostler.wire.replica_frames import ReplicaHello


@mypyc_attr(allow_interpreted_subclasses=True)
class RelaySide(LeaderSide):
    """The leader's end of the links within a recovery group. As with every leader, calls are made with one lock."""

    def __init__(self, hello: ReplicaHello, membership: LeaderMembership, reader: CatchUpReader, position: i64) -> None:
        """`hello` has the lives of this copy, none of them its own. The copy is forced up to `position`."""
        super().__init__(hello, membership, reader, position, position)
        self._site_lsn: i64 = 0

    def received(self, images: list[BlockImage], position: i64) -> None:
        """Blocks of the live site are forced here: offer them to the others. The chain ends at `position` now."""
        for image in images:
            self.offer(self._offered_position, [image.data])
        assert self._offered_position == position
        self.forced_here(position)

    def life_begins(self, lives: list[Life], position: i64) -> None:
        """The log belongs to another life from a position on. All links count for nothing: connect them anew."""
        self.lives[:] = lives
        self.forget_offered(position)
        self.membership.life_begins(int(position))
        for follower in self.followers.values():
            follower.state = OFFLINE
            follower.link = -1

    def site_group_is_at(self, lsn: i64) -> None:
        """The live site has acknowledged all up to an LSN."""
        if lsn > self._site_lsn:
            self._site_lsn = lsn

    def group_lsn(self) -> i64:
        """Return the LSN up to which this group and the live site are sure of the log. It never falls."""
        lsn = min(self.acknowledged_position(), self._site_lsn)
        if lsn > self._group_lsn:
            self._group_lsn = lsn
        return self._group_lsn

    def acknowledged_position(self) -> i64:
        """Return how far enough copies of this group have forced the log, in the life of the live site's leader."""
        return min(i64(self.membership.group_lsn()), self._forced_position)
