"""The course of a window in which something happens, as rows of the table `statistic`: words that the laboratory and
the pipeline share.

A moment has in `value` the seconds since the window began, and its name says what happened. A tenth of a second has in
`position` its number in the window, and in `value` the operations that ended within it.
"""

from __future__ import annotations

from typing import Final

MOMENT: Final = "moment"
TENTH: Final = "tenth"
TENTHS_PER_SECOND: Final = 10

# Results of such a window.
NO_SERVICE: Final = "time without service, seconds"
LEADS: Final = "seconds until another instance leads"
RECOVERED: Final = "seconds until peers have recovered it"
BACK_IN_GROUP: Final = "seconds until it is in the group again"
IN_SYNC: Final = "seconds until in sync again"
SWITCHED: Final = "seconds of the switch"
SWITCHED_BACK: Final = "seconds of the switch back"
NOT_SENT: Final = "bytes not sent at the switch"
LOST: Final = "acknowledged messages lost"
DOUBLED: Final = "messages got twice"
IN_DOUBT: Final = "puts in doubt"
GROWN_SECONDS: Final = "seconds of a growth"
RATE_BEFORE_GROWTH: Final = "puts/s until it grows"
RATE_IN_GROWTH: Final = "puts/s while it grows"
RATE_AFTER_GROWTH: Final = "puts/s after it has grown"
RATES_OF_OFFLOAD: Final = ("puts/s, data sets", "puts/s, DB2", "puts/s, data sets again")
BACKED_UP: Final = "megabytes backed up/s"
FORMATTED: Final = "records formatted/s"
MAPPED: Final = "messages mapped/s"
TIMES: Final = (NO_SERVICE, LEADS, RECOVERED, BACK_IN_GROUP, IN_SYNC, SWITCHED, SWITCHED_BACK, GROWN_SECONDS)
"""Results of which less is better."""
RATES: Final = (
    RATE_BEFORE_GROWTH,
    RATE_IN_GROWTH,
    RATE_AFTER_GROWTH,
    *RATES_OF_OFFLOAD,
    BACKED_UP,
    FORMATTED,
    MAPPED,
)
"""Results of which more is better."""
