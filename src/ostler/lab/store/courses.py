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
IN_SYNC: Final = "seconds until in sync again"
SWITCHED: Final = "seconds of the switch"
SWITCHED_BACK: Final = "seconds of the switch back"
NOT_SENT: Final = "bytes not sent at the switch"
LOST: Final = "acknowledged messages lost"
DOUBLED: Final = "messages got twice"
IN_DOUBT: Final = "puts in doubt"
TIMES: Final = (NO_SERVICE, LEADS, IN_SYNC, SWITCHED, SWITCHED_BACK)
