"""The configuration of a laboratory queue manager as an administrator would type it, for the manifest of a run."""

from __future__ import annotations

from typing import Final

from ostler.lab.runner.queue_managers.plan import CHANNEL, USER, QueueManagerPlan
from ostler.server.config.qm_ini import LogType

ACCOUNTING: Final = "ALTER QMGR STATMQI(ON) STATQ(ON) STATCHL(MEDIUM) ACCTMQI(ON) ACCTQ(ON)"
"""The switches of a queue manager that collects statistics and accounting."""
_COMMANDS_MAX: Final = 10


def describe_plan(plan: QueueManagerPlan) -> str:
    """Return crtmqm with its options, the stanzas of qm.ini, and the MQSC that a queue manager is made with."""
    log = plan.log
    kind = "-ll" if log.type is LogType.LINEAR else "-lc"
    lines = [f"crtmqm {kind} -lp {log.primary_files} -ls {log.secondary_files} -lf {log.file_pages} {plan.name}"]
    for stanza, values in plan.stanzas.items():
        lines += [f"{stanza}:", *(f"   {name}={value}" for name, value in values.items())]
    lines.append(f"DEFINE CHANNEL({CHANNEL}) CHLTYPE(SVRCONN) MCAUSER('{USER}') SHARECNV({plan.conversations})")
    if plan.is_accounting:
        lines.append(ACCOUNTING)
    lines += plan.commands[:_COMMANDS_MAX]
    if len(plan.commands) > _COMMANDS_MAX:
        lines.append(f"* ... and {len(plan.commands) - _COMMANDS_MAX:,} more")
    return "\n".join(lines)
