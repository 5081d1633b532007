"""Commands that MQ has and this queue manager does not: each is refused with its reason."""

from __future__ import annotations

from typing import Final

_ELSEWHERE: Final = (
    "exists on z/OS only: this queue manager keeps its messages in files and its log in its own directory"
)
_SHARING: Final = "belongs to queue-sharing groups, which exist on z/OS only"
_POLICY: Final = "messages are not protected by policies here; protect channels with SSLCIPH, and files with the disk"

_REASONS: Final[tuple[tuple[str, str, str], ...]] = (
    # Verbs, nouns, reason.
    ("SET DISPLAY DELETE", "POLICY", _POLICY),
    ("ALTER DEFINE DELETE DISPLAY", "BUFFPOOL BP PSID", _ELSEWHERE),
    ("ALTER", "SECURITY TRACE", _ELSEWHERE),
    ("BACKUP", "CFSTRUCT", _SHARING),
    ("DEFINE DELETE DISPLAY", "LOG MAXSMSGS", _ELSEWHERE),
    ("DISPLAY", "ARCHIVE CHINIT SECURITY SYSTEM THREAD TRACE INDOUBT", _ELSEWHERE),
    ("DISPLAY", "CFSTATUS GROUP", _SHARING),
    ("RECOVER", "BSDS", _ELSEWHERE),
    ("RECOVER", "CFSTRUCT", _SHARING),
    ("RESET", "CFSTRUCT", _SHARING),
    ("RESET", "TPIPE", "there is no IMS bridge on this platform"),
    ("RESOLVE", "INDOUBT", _ELSEWHERE),
    ("RVERIFY", "SECURITY", _ELSEWHERE),
    ("SET", "ARCHIVE LOG SYSTEM", _ELSEWHERE),
    ("START", "QMGR TRACE", _ELSEWHERE),
    ("STOP", "QMGR TRACE", _ELSEWHERE),
    ("DISPLAY START STOP", "SMDSCONN", _SHARING),
    ("RESET", "SMDS", _SHARING),
)
REFUSED: Final[dict[tuple[str, str], str]] = {
    (verb, noun): f"{noun} {reason}" if reason is not _POLICY else reason
    for verbs, nouns, reason in _REASONS
    for verb in verbs.split()
    for noun in nouns.split()
}
