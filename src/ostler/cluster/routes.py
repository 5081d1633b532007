"""From records to candidates: the instances of a queue, each with every channel to its queue manager."""

from __future__ import annotations

from ostler.cluster import records as rc
from ostler.cluster.record_codec import Entry
from ostler.cluster.repository import Repository
from ostler.cluster.workload import DEFAULT_WEIGHT, Candidate
from ostler.model import constants as mq


def candidates_for_queue(
    repository: Repository, name: str, statuses: dict[str, int], qmid: str = ""
) -> list[Candidate]:
    """Return the candidates for a queue of a cluster, of one queue manager if it is given.

    `statuses` has the status of channels by name; a channel that is not in it is INACTIVE. The order is the same at
    every call, as long as the records are the same.
    """
    found: list[Candidate] = []
    for entry in sorted(repository.directory.queues(name), key=_place):
        queue = entry.record
        if queue.is_removed or qmid not in ("", queue.owner):
            continue
        for each in sorted(repository.directory.owned(queue.owner, rc.MANAGER), key=_place):
            channel = each.record
            if channel.is_removed:
                continue
            found.append(
                Candidate(
                    queue.owner,
                    channel.name,
                    repository.cluster,
                    repository.cluster,
                    queue.owner == repository.qmid,
                    queue.number("PUT", mq.MQQA_PUT_ALLOWED) == mq.MQQA_PUT_ALLOWED,
                    channel.is_suspended(),
                    statuses.get(channel.name, mq.MQCHS_INACTIVE),
                    channel.number("CLWLRANK", 0),
                    channel.number("CLWLPRTY", 0),
                    channel.number("CLWLWGHT", DEFAULT_WEIGHT),
                    channel.number("NETPRTY", 0),
                    queue.number("CLWLRANK", 0),
                    queue.number("CLWLPRTY", 0),
                    queue.number("CLWLUSEQ", mq.MQCLWL_USEQ_AS_Q_MGR),
                )
            )
    return found


def _place(entry: Entry) -> tuple[str, str]:
    return entry.record.owner, entry.record.name
