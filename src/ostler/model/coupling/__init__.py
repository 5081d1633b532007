"""The coupling facility as a port: programs, answers, events. Shared queues of a queue-sharing group live in it.

A *program* is run whole or not at all. A facility runs the programs of all members one after another; the answers come
back in the order in which a member submitted its programs. Our own facility (`ostler.coupling`, a process of its own)
is one, Redis another; `tests/coupling` has one suite for all of them.

What a caller may rely on:

- A status other than OK means that nothing was changed, but for a refused PutProgram with a `logged` number, which is
  noted (`JoinAnswer.refused`), and for a GetProgram that watches when nothing matches.
- JOIN gives a *fence* that is greater than all fences before. A program with another fence than the member's present
  one is answered FENCED. A member that is lost is fenced at once, before anybody hears of it.
- An entry is in exactly one of: committed, uncommitted (put by a unit that is not decided), got (claimed by such a
  unit).
- Identifiers of entries and units are given by members and never used twice: `entries.make_id`.
- Committed entries of a queue are ordered by key: the higher priority first, then the sequence that PUT was given. A
  unit that is committed late has old keys, so an entry may appear before a place that a browse has passed.
- Events are hints. A member that joins looks for itself; WATCH tells at once when there is something already.

A link that breaks: the member is FAILED and fenced. Programs without an answer may have been run or not. `UnitsProgram`
tells which units were decided, `JoinAnswer.logged` and `refused` which persistent puts outside units were done.
"""
