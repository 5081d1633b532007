"""The plan of a laboratory queue manager: its log, buffers, objects and encryption."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ostler.server.config.qm_ini import LogSection
from ostler.server.statistics_writer import ACCOUNTING_QUEUE, STATISTICS_QUEUE

NAME: Final = "LAB"
CHANNEL: Final = "LAB.SVRCONN"
LISTENER: Final = "LAB.LISTENER"
USER: Final = "lab"
DEPTH_MAX: Final = 999_999_999
"""The largest number that MQSC attributes take."""
# A quarter of the log is more than a window writes, so that hardly a checkpoint is due within one.
USUAL_LOG: Final = LogSection(primary_files=4, file_pages=16_384)

COLLECT_STATISTICS: Final = "ALTER QMGR STATMQI(ON) STATQ(ON) STATCHL(MEDIUM) ACCTMQI(ON) ACCTQ(ON)"


@dataclass(frozen=True)
class QueueManagerPlan:
    """The set-up of a queue manager. A listener and a server-connection channel are always defined.

    `commands` are MQSC, run before it is started. `stanzas` are lines for qm.ini beyond the log's, by stanza. With a
    `cipher_spec` the channel uses it, and a certificate is made for it. Without `log_directory` the log is in the queue
    manager's own directory.
    """

    name: str = NAME
    log: LogSection = USUAL_LOG
    log_directory: str = ""
    commands: tuple[str, ...] = ()
    stanzas: dict[str, dict[str, str]] = field(default_factory=dict, hash=False)
    cipher_spec: str = ""
    authority_directory: str = ""
    """The directory of a certificate authority shared by several queue managers, made by the first of them. This queue
    manager gets a certificate of it, for message channels."""
    key_type_of: str = ""
    """The CipherSpec that this certificate is for."""
    conversations: int = 999_999_999
    """SHARECNV of the channel."""
    is_accounting: bool = False
    cores: int = 0
    """The number of cores it may use; 0: all."""
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    """Variables of its process besides those of the laboratory."""


def channel_commands(plan: QueueManagerPlan) -> Iterator[str]:
    """Yield MQSC for the server-connection channel, and for statistics where they are collected."""
    encryption = f" SSLCIPH({plan.cipher_spec}) SSLCAUTH(OPTIONAL)" if plan.cipher_spec else ""
    yield (
        f"DEFINE CHANNEL({CHANNEL}) CHLTYPE(SVRCONN) MCAUSER('{USER}') SHARECNV({plan.conversations}) "
        f"MAXINST({DEPTH_MAX}) MAXINSTC({DEPTH_MAX}){encryption}"
    )
    if plan.is_accounting:
        yield COLLECT_STATISTICS
        # Each connection of a load leaves two messages.
        for queue in (STATISTICS_QUEUE, ACCOUNTING_QUEUE):
            yield f"ALTER QLOCAL({queue}) MAXDEPTH({DEPTH_MAX})"


def pair_commands(
    pairs: int, own_replies: int = 0, attributes: str = "", depth_max: int = DEPTH_MAX
) -> tuple[str, ...]:
    """Return MQSC for pairs of queues, named as in `load.mq.client`, and for reply queues of single requesters."""
    names = [name for pair in range(pairs) for name in (f"LAB.REQUEST.{pair}", f"LAB.REPLY.{pair}")]
    names += [f"LAB.REPLY.OWN.{number}" for number in range(own_replies)]
    return tuple(f"DEFINE QLOCAL({name}) MAXDEPTH({depth_max}) {attributes}".rstrip() for name in names)


def merged_stanzas(
    first: Mapping[str, Mapping[str, str]], second: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Return the lines of both; those of the second win."""
    return {name: {**first.get(name, {}), **second.get(name, {})} for name in (*first, *second)}
