"""Questions of commands to the coupling facility: a program, and its answer in a later turn."""

from __future__ import annotations

from typing import final

from ostler.engine.core import Engine
from ostler.engine.shared.membership import FacilityTask, Membership
from ostler.model import constants as mq
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.port import Continuation
from ostler.model.coupling.programs import Program
from ostler.model.errors import MQError


def begin_question(engine: Engine, program: Program) -> FacilityQuestion:
    """Submit a program. Raises MQError when there is no group, or no facility now."""
    sharing = engine.sharing
    if sharing is None:
        raise MQError(mq.MQRCCF_Q_MGR_NOT_IN_QSG, "This queue manager is in no queue-sharing group.")
    if not sharing.is_joined:
        raise MQError(mq.MQRC_CF_NOT_AVAILABLE, "The coupling facility cannot be reached now.")
    question = FacilityQuestion(engine, sharing)
    sharing.begin_task(question)
    sharing.submit(program, 0, QuestionAnswered(question))
    return question


@final
class FacilityQuestion(FacilityTask):
    """`answer` is there when it is done."""

    def __init__(self, engine: Engine, sharing: Membership) -> None:
        super().__init__()
        self.engine = engine
        self.sharing = sharing
        self.answer: Answer | None = None

    def end(self, answer: Answer) -> None:
        self.answer = answer
        self.sharing.tasks.pop(self, None)
        self.engine.end_task(self)


@final
class QuestionAnswered(Continuation):
    def __init__(self, question: FacilityQuestion) -> None:
        self.question = question

    def answered(self, answer: Answer) -> None:
        self.question.end(answer)
