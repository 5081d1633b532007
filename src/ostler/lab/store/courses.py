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
