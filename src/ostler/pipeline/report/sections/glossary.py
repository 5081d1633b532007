"""The glossary of the report."""

from __future__ import annotations

from typing import Final

from ostler.pipeline.report.html.document import Section, TermList

_WORDS: Final = (
    ("accounting", "records in which a queue manager reports what each connection did, by queue and verb"),
    ("broker", "the product that is measured: Ostler's queue manager, or a peer"),
    ("clients", "applications that make requests at the same time"),
    ("closed load", "a client sends again as soon as it has its reply, without pause"),
    ("confidence interval", "where the true value lies with 95 % confidence: by Student's distribution, from the "
                            "logarithms of the repetitions"),
    ("driver", "the process that makes the load and times it; apart from the broker"),
    ("force", "waiting until what was written to the log is on storage; several operations may share one"),
    ("knee", "the step of a curve after which more clients mean more waiting rather than more work"),
    ("late", "at a fixed rate: begun later than it was due. Its time counts from when it was due"),
    ("limit", "what the machine does with nothing in between: blocks sent back and forth, records forced to storage"),
    ("noise", "how much a fixed piece of work differed in time within a run"),
    ("nonpersistent", "a message that need not survive the end of the queue manager; it is never logged"),
    ("operation", "what is counted and timed: a round trip, a put, a get, a session, a connection"),
    ("peak", "the highest median rate of the steps of a curve"),
    ("peer", "another broker, run in the same run on the same machine"),
    ("persistent", "a message that survives the end of the queue manager: it is in the log before it is acknowledged"),
    ("percentile", "the value that so many percent of the response times do not exceed; from merged histograms, at "
                   "most 0.8 % too high"),
    ("point", "one contestant at one step, once: a repetition"),
    ("response time", "from the request, or from when it was due, to the reply"),
    ("round trip", "a request put, taken and answered, and its reply got"),
    ("steal", "processor time that the hypervisor gave to other machines"),
    ("step", "one setting of what is swept, such as a number of clients"),
    ("tolerance", "a change below it is called the same: 6 %, widened by the noise"),
    ("Universal Scalability Law", "a model of how rates grow with clients, by contention and coherence"),
)  # fmt: skip


FLAGS: Final = {
    "process-ended": "a process of the run ended within the window",
    "driver-saturated": "the load driver used nearly a whole core: it may be what was measured",
    "driver-waited": "the load driver was ready and had no core: its clocks read late, so response times are too long",
    "steal": "the hypervisor gave processor time to other machines",
    "others-busy": "programs that are no part of the run used the processors",
    "machine-full": "all processors were busy, as they should be at the end of a sweep",
    "swapping": "memory was swapped to disk",
    "memory-low": "hardly any memory was left",
    "disk-low": "hardly any space was left on the disk",
    "packets-dropped": "the network dropped packets",
    "observer-late": "the observer itself had no core for a while: samples are further apart",
    "noise": "the same work differed in time by more than 15 % within the run",
}


def glossary_section() -> Section:
    return Section("glossary", "Glossary", (TermList(tuple((word, text) for word, text in _WORDS)),))
