"""Limits of one link: buffers, waiting requests, timeouts."""

from __future__ import annotations

from typing import Final

RECEIVE_BYTES: Final = 8 * 1024
RECEIVE_BYTES_MAX: Final = 128 * 1024
OUT_HIGH_BYTES: Final = 1024 * 1024  # with more than this unsent, the link is not read
OUT_LOW_BYTES: Final = 256 * 1024
# The high-water mark of large replies, if there are several: one of the longest may be unsent while others on the same
# link continue. When memory is not ample, OUT_LOW_BYTES replaces it.
LARGE_HIGH_BYTES: Final = 16 * 1024 * 1024
FLUSH_BYTES_MAX: Final = 1024 * 1024  # of one link in one pass
# A link whose requests cost more than this at once (`Engine.share_cost`) is served after the others.
COSTLY_UNITS: Final = 2_000
PENDING_MAX: Final = 8192  # waiting requests of one link
# A link that moves fewer bytes than this in this time, although its peer could, makes no progress: it may be closed
# when others need the memory.
PROGRESS_BYTES: Final = 64 * 1024
NO_PROGRESS_MS: Final = 5_000
HELLO_TIMEOUT_MS: Final = 10_000
ADMISSION_TIMEOUT_MS: Final = 60_000  # until the first CONNECT has succeeded, unless a password is being checked
# Frames are no longer than this until a user is authenticated on the link: a CONNECT is shorter.
UNADMITTED_FRAME_BYTES: Final = 8 * 1024
HEARTBEAT_TIMEOUT_MS: Final = 60_000  # after the heartbeat interval
FAREWELL_TIMEOUT_MS: Final = 5_000
