"""What a queue manager of the laboratory is to be: its log, its buffers, its objects, its encryption."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ostler.server.config.qm_ini import LogSection

NAME: Final = "LAB"
CHANNEL: Final = "LAB.SVRCONN"
LISTENER: Final = "LAB.LISTENER"
USER: Final = "lab"
# A quarter of it is more than a window writes, so that hardly a checkpoint falls due within one.
USUAL_LOG: Final = LogSection(primary_files=4, file_pages=16_384)


@dataclass(frozen=True)
class QueueManagerPlan:
    """A queue manager as an administrator would set it up. Its listener and its channel are always there.

    `commands` are MQSC, run before it is started. `stanzas` are lines for qm.ini beyond the log's, by stanza. With a
    `cipher_spec` the channel has it, and a certificate for it is made. Without `log_directory` the log is beside the
    queue manager.
    """

    name: str = NAME
    log: LogSection = USUAL_LOG
    log_directory: str = ""
    commands: tuple[str, ...] = ()
    stanzas: dict[str, dict[str, str]] = field(default_factory=dict, hash=False)
    cipher_spec: str = ""
    authority_directory: str = ""
    """A certificate authority of several queue managers, made by the first of them: this one has a certificate of it,
    for channels of its own."""
    key_type_of: str = ""
    """The CipherSpec that certificate is for."""
    conversations: int = 999_999_999
    """SHARECNV of the channel."""
    is_accounting: bool = False
    cores: int = 0
    """How many it may use; 0: all there are."""


def pair_commands(pairs: int, own_replies: int = 0, attributes: str = "") -> tuple[str, ...]:
    """MQSC for pairs of queues, as `mq_client` names them, and reply queues that requesters have for themselves."""
    names = [name for pair in range(pairs) for name in (f"LAB.REQUEST.{pair}", f"LAB.REPLY.{pair}")]
    names += [f"LAB.REPLY.OWN.{number}" for number in range(own_replies)]
    return tuple(f"DEFINE QLOCAL({name}) MAXDEPTH(999999999) {attributes}".rstrip() for name in names)
