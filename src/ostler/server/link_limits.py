"""How much of everything one link may have, and how long it may take."""

from __future__ import annotations

from typing import Final

RECEIVE_BYTES: Final = 8 * 1024
RECEIVE_BYTES_MAX: Final = 128 * 1024
OUT_HIGH_BYTES: Final = 1024 * 1024  # more than this unsent: nothing further is read from the link
OUT_LOW_BYTES: Final = 256 * 1024
# The same for long messages. One of the longest may be on its way while others on the same socket go on.
LARGE_HIGH_BYTES: Final = 128 * 1024 * 1024
FLUSH_BYTES_MAX: Final = 1024 * 1024  # of one link in one pass
PENDING_MAX: Final = 8192  # requests of one link that wait for something
GREETING_MS: Final = 10_000  # a link says what it wants within this time
SIGN_OF_LIFE_MS: Final = 60_000  # after the heartbeat interval
LAST_WORD_MS: Final = 5_000
