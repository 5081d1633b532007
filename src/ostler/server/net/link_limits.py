"""How much of everything one link may have, and how long it may take."""

from __future__ import annotations

from typing import Final

RECEIVE_BYTES: Final = 8 * 1024
RECEIVE_BYTES_MAX: Final = 128 * 1024
OUT_HIGH_BYTES: Final = 1024 * 1024  # more than this unsent: nothing further is read from the link
OUT_LOW_BYTES: Final = 256 * 1024
# The same for long messages, if there are several. One of the longest may be on its way while others on the same socket
# go on. When memory is not plentiful, OUT_LOW_BYTES take the place of this.
LARGE_HIGH_BYTES: Final = 16 * 1024 * 1024
FLUSH_BYTES_MAX: Final = 1024 * 1024  # of one link in one pass
# A link whose requests cost more than this in one go (see `Engine.share_cost`) has them done after those of others.
COSTLY_UNITS: Final = 2_000
PENDING_MAX: Final = 8192  # requests of one link that wait for something
# Who moves less than this in so much time, where it is its turn, stands still: its link may be ended when others need
# the memory.
PROGRESS_BYTES: Final = 64 * 1024
NO_PROGRESS_MS: Final = 5_000
HELLO_TIMEOUT_MS: Final = 10_000  # a link says what it wants within this time
ADMISSION_TIMEOUT_MS: Final = (
    60_000  # and has a connection within this time, unless a password is being checked just then
)
# Until somebody is let in by a link its frames are no longer than this: a CONNECT is shorter.
UNADMITTED_FRAME_BYTES: Final = 8 * 1024
HEARTBEAT_TIMEOUT_MS: Final = 60_000  # after the heartbeat interval
FAREWELL_TIMEOUT_MS: Final = 5_000
