"""A facility whose network is late, and that can be broken on purpose, to see that the checks of a day notice it."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from tests.world.group.simulated_port import Facility

from ostler.model.coupling import terms as cf
from ostler.model.coupling.answers import Answer
from ostler.model.coupling.programs import BeginRecoveryProgram, EndRecoveryProgram, Program


class Late(NamedTuple):
    """A program that was on its way when its link broke."""

    link: int
    member: int
    program: Program


class WildFacility(Facility):
    """Programs of links that broke arrive later, at any time.

    Mutations: `has_fence` False runs them, `has_claims` False lets everybody recover a member at any time.
    """

    def __init__(self, seed: int = 1, has_fence: bool = True, has_claims: bool = True) -> None:
        super().__init__(seed)
        self.has_fence = has_fence
        self.has_claims = has_claims
        self.held_back: list[Late] = []
        self.late_runs = 0
        self.stolen = 0
        self._random = Random(seed)

    def lose_programs(self, link: int, member: int, fence: int, programs: list[Program]) -> None:
        for program in programs:
            program.fence = fence
            self.held_back.append(Late(link, member, program))

    def stir(self) -> None:
        """Perhaps a late program arrives."""
        if self.held_back and self._random.random() < 0.3:
            self._arrive(self.held_back.pop(self._random.randrange(len(self.held_back))))

    def _arrive(self, late: Late) -> None:
        self.late_runs += 1
        state = self.machine.state
        member = state.members.get(late.member)
        if self.has_fence or member is None:
            self.machine.run(late.link, late.program)
            self.push()
            return
        before = (member.link, member.fence, member.state)
        member.link, member.fence, member.state = late.link, late.program.fence, cf.MEMBER_ACTIVE_STATE
        state.by_link[late.link] = member
        state.fenced_links.pop(late.link, None)
        for structure in state.structures.values():
            structure.members.setdefault(late.member, True)
        self.machine.run(late.link, late.program)
        state.by_link.pop(late.link, None)
        member.link, member.fence, member.state = before
        self.push()

    def run(self, link: int, program: Program) -> Answer:
        state = self.machine.state
        if not self.has_claims and isinstance(program, BeginRecoveryProgram | EndRecoveryProgram):
            target = state.members.get(program.member)
            sender = state.by_link.get(link)
            if target is not None and sender is not None and target is not sender:
                is_ending = isinstance(program, EndRecoveryProgram)
                if target.state == cf.MEMBER_RECOVERING or is_ending:
                    self.stolen += target.recoverer != sender.number
                    target.state = cf.MEMBER_RECOVERING
                    target.recoverer = sender.number
        return super().run(link, program)
