"""Commands of MQ that this queue manager does not support, each with the reason."""

from __future__ import annotations

from typing import Final

_ELSEWHERE: Final = "exists on z/OS only"
_STORAGE: Final = "exists on z/OS only: queues are kept in files here"
_SETTINGS: Final = "exists on z/OS only: here qm.ini configures the log and the queue manager"
_SHARING: Final = "belongs to queue-sharing groups, which exist on z/OS only"
_SWITCH: Final = "is not started and stopped by command: use strmqm and endmqm"
_POLICY: Final = "messages are not protected by policies here; protect channels with SSLCIPH, and files with the disk"

# Verbs, nouns, reason.
_REASONS: Final[tuple[tuple[str, str, str], ...]] = (
    ("ALTER DEFINE DELETE DISPLAY", "BUFFPOOL BP PSID", _STORAGE),
    ("ALTER DISPLAY", "SECURITY TRACE", _ELSEWHERE),
    ("DEFINE DISPLAY", "MAXSMSGS", "exists on z/OS only: use MAXUMSGS of the queue manager"),
    ("DEFINE", "LOG", _SETTINGS),
    ("DISPLAY", "ARCHIVE LOG SYSTEM", _SETTINGS),
    ("DISPLAY", "CHINIT", "has no display of its own here: use DISPLAY QMSTATUS CHINIT"),
    ("DISPLAY", "CMDSERV CS", "has no display of its own here: use DISPLAY QMSTATUS CMDSERV"),
    ("DISPLAY", "INDOUBT", "exists on z/OS only: use DISPLAY THREAD(*) TYPE(INDOUBT)"),
    ("RECOVER", "BSDS", _ELSEWHERE),
    ("RESET", "TPIPE", "belongs to the IMS bridge, which exists on z/OS only"),
    ("RVERIFY", "SECURITY", _ELSEWHERE),
    ("SET", "ARCHIVE LOG SYSTEM", _SETTINGS),
    ("SET DISPLAY DELETE", "POLICY", _POLICY),
    ("START STOP", "QMGR", _SWITCH),
    ("START STOP", "TRACE", _ELSEWHERE),
)
UNSUPPORTED_COMMANDS: Final[dict[tuple[str, str], str]] = {
    (verb, noun): f"{noun} {reason}" if reason is not _POLICY else reason
    for verbs, nouns, reason in _REASONS
    for verb in verbs.split()
    for noun in nouns.split()
}
