"""Clusters of queue managers, sans-IO: no sockets, no clock, no threads, no chance.

    records       what members tell one another; versions, merging, lives
    record_codec  records and entries as bytes, with limits
    messages      what is put on SYSTEM.CLUSTER.COMMAND.QUEUE
    effects       what a repository wants done
    directory     the entries of a repository, with indexes and digests
    repository    full and partial repositories as a state machine
    lives         what time alone does: 27, 30 and 90 days
    routes        from records to candidates
    workload      the choice among candidates

Of one queue manager in one cluster there is one `Repository`; a queue manager in several clusters has several. The
caller calls one of them at a time, and provides

- the time, in milliseconds, with every input; it may jump;
- what was stored (`Repository(..., last_version, ticked_ms)` from the last KeepMark, `restore` with all entries) and
  the CLUSSDRs that were defined by hand;
- definitions as they change: `define_receiver`, `define_sender`, `define`, `remove`, `set_full`, `leave`;
- messages of SYSTEM.CLUSTER.COMMAND.QUEUE that came over a CLUSRCVR of this cluster, with the QMID of the sending queue
  manager as the channel knows it, and how long they were on transmission queues (`receive`);
- `linked` when a channel to a queue manager has started, `lost` when it cannot be reached, `lives.tick` now and then;
- the commands `suspend`, `refresh`, `force_remove`; ClusterRefused has the reason of one that is not done;
- `ask` when MQOPEN needs a name: False means to wait for `Answered`, for ten seconds at most.

It gets a list of effects from each of them and carries them out in order, in one unit of work with the removal of the
message that was handled. Then a crash loses nothing, and a message that is handled twice does no harm. Between two
queue managers messages arrive in the order of sending; nothing else is assumed of them.

For each put, or open, the caller has `candidates_for_queue` and keeps what `workload.eligible` makes of them until a
record or the status of a channel changes; `workload.pick` then chooses, and `Counters.count` notes the choice.
"""
