"""The engine on its log, against a naive model: any verbs, checkpoints interrupted anywhere, crashes at any point.

After a restart exactly that must be there of which the log still tells, and all that was acknowledged is of that.
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from tests.world.model_checked_verbs import APPLICATIONS
from tests.world.model_checked_world import ModelCheckedWorld
from tests.world.naive_model import ANY_ID
from tests.world.world import World

from ostler.model.constants import MQGMO_NO_SYNCPOINT, MQGMO_SYNCPOINT, MQGMO_SYNCPOINT_IF_PERSISTENT

# When something fails, looking for the shortest way there takes its time.
pytestmark = pytest.mark.timeout(600)

QUEUES = ["ORDERED", "ORDERED", "FIFO", "SMALL", "MADE.LATER"]
# Short ones, some beyond the queue's buffer, and more than a segment of the queue's file (not persistent).
LENGTHS = [20, 20, 3_000, 30_000, 100_000, 700_000, 1_200_000]
SYNCPOINTS = [MQGMO_NO_SYNCPOINT, MQGMO_SYNCPOINT, MQGMO_SYNCPOINT_IF_PERSISTENT]

names = st.sampled_from(QUEUES)
who = st.integers(0, APPLICATIONS - 1)
identities = st.sampled_from([ANY_ID, b"one".ljust(24), b"two".ljust(24)])
mostly = st.sampled_from([True, True, True, True, False])

Verb = tuple[str, dict[str, object]]


def verb(called: str, /, **arguments: st.SearchStrategy[object]) -> st.SearchStrategy[Verb]:
    return st.tuples(st.just(called), st.fixed_dictionaries(arguments))


puts = verb(
    "put",
    number=who,
    name=names,
    count=st.sampled_from([1, 1, 2, 12]),
    is_persistent=mostly,
    length=st.sampled_from(LENGTHS),
    priority=st.sampled_from([0, 0, 4, 9]),
    expiry_tenths=st.sampled_from([-1, -1, -1, 5, 50]),
    correlation_id=identities,
    syncpoint=st.booleans(),
    is_acknowledged=mostly,
)
gets = verb(
    "get",
    number=who,
    name=names,
    count=st.sampled_from([1, 1, 2, 12]),
    by_message=st.sampled_from([-1, -1, -1, 0, 1, 2]),
    correlation_id=st.one_of(st.just(ANY_ID), identities),
    options=st.sampled_from(SYNCPOINTS),
    wait=st.sampled_from([False, False, False, True]),
    is_acknowledged=mostly,
)
units = st.one_of(
    verb("commit", number=who, is_acknowledged=mostly),
    verb("back_out", number=who),
    verb("prepare", number=who, is_acknowledged=mostly),
    verb("resolve", choice=st.integers(0, 5), is_committed=st.booleans(), is_acknowledged=mostly),
)
others = st.one_of(
    verb("browse", number=who, name=names, is_first=st.booleans()),
    verb("disconnect", number=who),
    verb("give_up_waiting", number=who),
)
meanwhile = st.one_of(
    verb("step_checkpoint", steps=st.integers(1, 9)),
    verb("checkpoint"),
    verb("force"),
    verb("write_without_acknowledging"),
    verb("keep_extents"),
    verb("tick", milliseconds=st.sampled_from([1, 400, 600, 6_000])),
    verb("expire"),
)
objects = st.one_of(
    verb(
        "define",
        name=names,
        is_fifo=st.booleans(),
        keeps=st.booleans(),
        depth=st.sampled_from([2, 10, 5000]),
        is_acknowledged=mostly,
    ),
    verb("delete", name=names, purge=st.booleans(), is_acknowledged=mostly),
    verb("clear", name=names, is_acknowledged=mostly),
)
kinds = st.sampled_from(["kill", "power", "garbage", "lost", "kept"])
trouble = st.one_of(
    verb("crash", kind=kinds, seed=st.integers(0, 1000)),
    verb(
        "power_fails_during",
        changes=st.integers(0, 30),
        during=st.sampled_from(["force", "checkpoint", "checkpoint", "restart", "end"]),
        kind=kinds,
        seed=st.integers(0, 1000),
    ),
    verb("end"),
    verb("fill_disk", bytes_left=st.sampled_from([0, 100, 50_000, 400_000])),
    verb("empty_disk"),
)
work = st.lists(st.one_of(puts, puts, gets, units, others, meanwhile), min_size=1, max_size=12)


class EngineMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.compared = ModelCheckedWorld(World.create())
        self.compared.define("ORDERED", False, False, 5000, True)
        self.compared.define("FIFO", True, True, 5000, True)
        self.compared.define("SMALL", False, False, 3, True)

    def do(self, verbs: list[Verb]) -> None:
        for name, arguments in verbs:
            getattr(self.compared, name)(**arguments)
            self.compared.check()

    @rule(verbs=work)
    def applications_work(self, verbs: list[Verb]) -> None:
        self.do(verbs)

    @rule(verbs=work)
    def applications_work_on(self, verbs: list[Verb]) -> None:
        self.do(verbs)

    @rule(verbs=work, trouble=trouble)
    def work_ends_in_trouble(self, verbs: list[Verb], trouble: Verb) -> None:
        self.do([*verbs, trouble])

    @rule(command=objects)
    def somebody_commands(self, command: Verb) -> None:
        self.do([command])

    @rule()
    def look(self) -> None:
        self.compared.look()


# A step is a whole list of verbs, so there need not be many.
EngineMachine.TestCase.settings = settings(stateful_step_count=25)
TestEngineMachine = EngineMachine.TestCase
