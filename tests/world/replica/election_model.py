"""All states that two or three instances and an arbiter can reach in a small world, with the real decisions.

An explicit-state model checker. A log is a tuple of lives, one number for each block, so an LSN is a length. Messages
are atomic or in flight without an order; whatever may be lost may simply never be delivered. There is no clock: a lease
may end at any moment. Each transition asks `Rules`, which calls the decisions of `ostler.replica`; a mutation overrides
one of them, and must be caught.

Checked in every state:

- *Who leads has everything*: the log of a new leader begins with everything that was acknowledged before.
- *No two leaders*: nothing is acknowledged that a leader of a later term does not have.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ostler.model.arbiter import STANDING, ArbiterView, InSyncSet, LeaderKey, Mark, Member
from ostler.replica import election
from ostler.replica.membership import CopiesPolicy, LeaderMembership, Rule

NAMES = ("a", "b", "c")
Log = tuple[int, ...]


class Lead(NamedTuple):
    """What a leader knows. It is lost with its process."""

    term: int
    epoch: int
    start: int
    forced: tuple[int, ...]  # -1: nothing is known in this life
    rule: Rule
    asked: Rule | None
    version: int
    acked: int


class Node(NamedTuple):
    log: Log
    epoch: int
    least_term: int
    """Frames of older terms are refused."""
    is_new: bool
    lead: Lead | None
    judged: tuple[int, int, bool] | None
    """A try_lead on its way: version, term, and whether the process that sent it still runs."""


class Claim(NamedTuple):
    epoch: int
    end: int
    promised: int


class Request(NamedTuple):
    """A set_in_sync on its way."""

    term: int
    version: int
    rule: Rule


class Ack(NamedTuple):
    leader: int
    follower: int
    epoch: int
    forced: int


class State(NamedTuple):
    nodes: tuple[Node, ...]
    key: int
    """The term of the leader key; 0: it has vanished."""
    key_of: int
    last_term: int
    rule: Rule
    version: int
    set_term: int
    claims: tuple[Claim | None, ...]
    marks: tuple[tuple[int, int], ...]
    requests: frozenset[Request]
    acks: frozenset[Ack]
    acknowledged: Log
    """The longest log that was acknowledged to a client."""
    led: tuple[tuple[int, Log], ...]
    """The terms given, with the log that each leader began with."""
    wipes: int


class Violation(Exception):
    """The story of how acknowledged data was lost, or could be."""


@dataclass(frozen=True)
class Bounds:
    """The size of the world."""

    nodes: int
    blocks: int
    terms: int
    changes: int
    wipes: int = 0
    retakes: bool = True
    delays: bool = True
    """Acknowledgements of followers may be late; else the leader hears them at once."""


class Rules:
    """The decisions, as the instances and the arbiter make them. Mutations override them."""

    policy = CopiesPolicy(2, 1)
    compares_set_version = True
    compares_last_term = True
    compares_leader = True
    keeps_promises = True
    needs_promises = True

    def group_lsn(self, membership: LeaderMembership) -> int:
        return membership.group_lsn()

    def may_change(self, membership: LeaderMembership, rule: Rule) -> bool:
        return not membership.may_change_to(rule)

    def settle(self, membership: LeaderMembership, seen: InSyncSet) -> None:
        membership.set_seen(seen)

    def may_claim(self, instance: str, fitness: election.Fitness, view: ArbiterView) -> bool:
        return not election.reason_not_to_claim(instance, fitness, view)

    def may_lead(self, own: Member, view: ArbiterView) -> bool:
        return election.judge_election(own, view, 1.0, 0.0).kind == election.LEAD

    def may_retake(self, instance: str, term: int, view: ArbiterView) -> bool:
        now = election.LeaderSituation(instance, term, view, 0.0, True, 0.0, 0.0)
        return election.decide_leader(now).kind == election.RETAKE

    def accepts_term(self, node: Node, term: int) -> bool:
        return term >= node.least_term

    def may_join(self, term: int, view: ArbiterView) -> bool:
        return not election.reason_not_to_join(term, view)

    def adopts(self, log: Log, lead: Lead) -> bool:
        return len(log) >= lead.start


def first_state(bounds: Bounds) -> State:
    """`a` leads in term 1 with an empty log, and all are in sync."""
    names = NAMES[: bounds.nodes]
    rule = Rule(names, 2)
    forced = tuple(0 if name == "a" else -1 for name in names)
    leader = Node((), 1, 1, False, Lead(1, 1, 0, forced, rule, None, 1, 0), None)
    others = tuple(Node((), 0, 0, False, None, None) for _ in names[1:])
    none: tuple[Claim | None, ...] = (None,) * bounds.nodes
    marks = ((0, 0),) * bounds.nodes
    return State(
        (leader, *others), 1, 0, 1, rule, 1, 0, none, marks, frozenset(), frozenset(), (), ((1, ()),), bounds.wipes
    )


def view_of(state: State) -> ArbiterView:
    leader = LeaderKey(NAMES[state.key_of], state.key, "") if state.key else None
    members = {
        NAMES[i]: Member(NAMES[i], "", claim.epoch, claim.end, STANDING, claim.promised)
        for i, claim in enumerate(state.claims)
        if claim is not None
    }
    marks = {NAMES[i]: Mark(*mark) for i, mark in enumerate(state.marks)}
    in_sync = InSyncSet(state.version, state.set_term, state.rule.members, state.rule.copies)
    return ArbiterView(leader, state.last_term, in_sync, members, marks, "", frozenset(), "", 0)


def membership_of(i: int, lead: Lead, policy: CopiesPolicy) -> LeaderMembership:
    in_sync = InSyncSet(lead.version, 0, lead.rule.members, lead.rule.copies)
    made = LeaderMembership(NAMES[i], lead.term, in_sync, lead.start, policy)
    made.forced = {NAMES[j]: lsn for j, lsn in enumerate(lead.forced) if lsn >= 0}
    made.asked = lead.asked
    made._group_lsn = lead.acked
    return made


def lead_of(lead: Lead, membership: LeaderMembership) -> Lead:
    forced = tuple(membership.forced.get(NAMES[j], -1) for j in range(len(lead.forced)))
    return lead._replace(
        forced=forced, rule=membership.rule, asked=membership.asked, version=membership.version, term=membership.term
    )


def with_node(state: State, i: int, node: Node) -> State:
    return state._replace(nodes=(*state.nodes[:i], node, *state.nodes[i + 1 :]))


def replaced(values: tuple[Claim | None, ...], i: int, value: Claim | None) -> tuple[Claim | None, ...]:
    return (*values[:i], value, *values[i + 1 :])


class Model:
    """The transitions. `steps` returns every state that can follow, with a sentence for the story."""

    def __init__(self, bounds: Bounds, rules: Rules) -> None:
        self.bounds = bounds
        self.rules = rules
        names = NAMES[: bounds.nodes]
        sets: list[tuple[str, ...]] = [(x,) for x in names]
        sets += [(x, y) for x in names for y in names if x < y]
        if bounds.nodes == 3:
            sets.append(names)
        self.sets = [Rule(members, min(2, len(members))) for members in sets]

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        if state.key:
            yield f"the key of term {state.key} vanishes", state._replace(key=0, key_of=0)
        yield from self._arbiter_steps(state)
        view = view_of(state)
        for i, node in enumerate(state.nodes):
            if node.lead is not None:
                yield from self._leader_steps(state, view, i, node, node.lead)
            else:
                yield from self._follower_steps(state, view, i, node)
            if node.lead is not None or not self.rules.keeps_promises:
                yield f"{NAMES[i]} restarts", self._restarted(state, i, node)
            if state.wipes:
                empty = Node((), 0, 0, True, None, self._orphan(node))
                yield f"{NAMES[i]} loses its disk", with_node(state._replace(wipes=state.wipes - 1), i, empty)
        yield from self._ack_steps(state)

    def tidy(self, state: State) -> State:
        """Make one state of those that differ only in what has no effect any more, or in names."""
        rules = self.rules
        requests = state.requests
        if requests and rules.compares_set_version and rules.compares_leader:
            requests = frozenset(x for x in requests if x.version == state.version and x.term == state.key)
        acks = frozenset(x for x in state.acks if self._is_news(state, x)) if state.acks else state.acks
        claims = state.claims
        if rules.needs_promises:
            claims = tuple(None if x is None or x.promised < state.last_term else x for x in claims)
        nodes = state.nodes
        if any(x.judged is not None for x in nodes):
            nodes = tuple(x._replace(judged=None) if self._is_vain(state, x.judged) else x for x in nodes)
        oldest = min((x.lead.term for x in nodes if x.lead is not None), default=state.last_term)
        led = tuple(x for x in state.led if x[0] > oldest)
        return self._in_order(state._replace(nodes=nodes, claims=claims, requests=requests, acks=acks, led=led))

    @staticmethod
    def _is_news(state: State, ack: Ack) -> bool:
        lead = state.nodes[ack.leader].lead
        return lead is not None and lead.epoch == ack.epoch and lead.forced[ack.follower] < ack.forced

    def _is_vain(self, state: State, judged: tuple[int, int, bool] | None) -> bool:
        if judged is None:
            return False
        return judged[0] != state.version or (self.rules.compares_last_term and judged[1] != state.last_term)

    def _in_order(self, state: State) -> State:
        """Exchange names so that the nodes stand in an order: no rule looks at names."""
        keys = []
        for node, claim, mark in zip(state.nodes, state.claims, state.marks, strict=True):
            leads = node.lead.term if node.lead is not None else 0
            keys.append((leads, node[:4], node.judged or (), claim or (), mark))
        order = sorted(range(len(keys)), key=keys.__getitem__)
        if order == list(range(len(keys))):
            return state
        place = {old: new for new, old in enumerate(order)}

        def renamed(rule: Rule) -> Rule:
            return Rule(tuple(sorted(NAMES[place[NAMES.index(x)]] for x in rule.members)), rule.copies)

        def moved(node: Node) -> Node:
            lead = node.lead
            if lead is None:
                return node
            asked = renamed(lead.asked) if lead.asked is not None else None
            forced = tuple(lead.forced[old] for old in order)
            return node._replace(lead=lead._replace(forced=forced, rule=renamed(lead.rule), asked=asked))

        return state._replace(
            nodes=tuple(moved(state.nodes[old]) for old in order),
            key_of=place[state.key_of] if state.key else 0,
            rule=renamed(state.rule),
            claims=tuple(state.claims[old] for old in order),
            marks=tuple(state.marks[old] for old in order),
            requests=frozenset(x._replace(rule=renamed(x.rule)) for x in state.requests),
            acks=frozenset(x._replace(leader=place[x.leader], follower=place[x.follower]) for x in state.acks),
        )

    def _restarted(self, state: State, i: int, node: Node) -> State:
        least_term = node.least_term if self.rules.keeps_promises else 0
        return with_node(state, i, node._replace(lead=None, judged=self._orphan(node), least_term=least_term))

    @staticmethod
    def _orphan(node: Node) -> tuple[int, int, bool] | None:
        return None if node.judged is None else (node.judged[0], node.judged[1], False)

    def _arbiter_steps(self, state: State) -> Iterator[tuple[str, State]]:
        for request in state.requests:
            left = state._replace(requests=state.requests - {request})
            leads = state.key == request.term or not self.rules.compares_leader
            if leads and (state.version == request.version or not self.rules.compares_set_version):
                changed = left._replace(rule=request.rule, version=state.version + 1, set_term=request.term)
                yield f"the arbiter notes {request.rule} for term {request.term}", changed
        for i, node in enumerate(state.nodes):
            if node.judged is not None:
                yield from self._try_lead(state, i, node, node.judged)

    def _try_lead(self, state: State, i: int, node: Node, judged: tuple[int, int, bool]) -> Iterator[tuple[str, State]]:
        version, term, is_alive = judged
        rules = self.rules
        if state.key or state.version != version or (state.last_term != term and rules.compares_last_term):
            yield f"{NAMES[i]} is refused", with_node(state, i, node._replace(judged=None))
            return
        if state.last_term >= self.bounds.terms:
            return
        given = state.last_term + 1
        after = state._replace(key=given, key_of=i, last_term=given, led=(*state.led, (given, node.log)))
        if not is_alive:
            yield (
                f"a dead process of {NAMES[i]} is given term {given}",
                with_node(after._replace(led=state.led), i, node._replace(judged=None)),
            )
            return
        if node.log[: len(state.acknowledged)] != state.acknowledged:
            raise Violation(f"{NAMES[i]} leads in term {given} with {node.log} without {state.acknowledged}")
        if node.lead is not None:  # takes the key again
            membership = membership_of(i, node.lead, rules.policy)
            membership.term_renewed(given, InSyncSet(state.version, 0, state.rule.members, state.rule.copies))
            lead = lead_of(node.lead, membership)
            taken = node._replace(lead=lead, judged=None, least_term=given)
        else:
            forced = tuple(len(node.log) if j == i else -1 for j in range(self.bounds.nodes))
            lead = Lead(given, given, len(node.log), forced, state.rule, None, state.version, 0)
            taken = Node(node.log, given, given, False, lead, None)
        yield f"{NAMES[i]} leads in term {given} with {node.log}", with_node(after, i, taken)

    def _leader_steps(
        self, state: State, view: ArbiterView, i: int, node: Node, lead: Lead
    ) -> Iterator[tuple[str, State]]:
        name = NAMES[i]
        if len(node.log) < self.bounds.blocks:
            log = (*node.log, lead.epoch)
            forced = tuple(len(log) if j == i else lsn for j, lsn in enumerate(lead.forced))
            yield f"{name} writes {log}", with_node(state, i, node._replace(log=log, lead=lead._replace(forced=forced)))
        for j in range(self.bounds.nodes):
            if j != i:
                yield from self._replicate(state, view, i, j, node, lead)
        membership = membership_of(i, lead, self.rules.policy)
        acked = self.rules.group_lsn(membership)
        if acked > lead.acked:
            yield f"{name} acknowledges {node.log[:acked]}", self._acknowledge(state, i, node, lead, acked)
        if state.version < self.bounds.changes + 1:
            for rule in self.sets:
                request = Request(lead.term, lead.version, rule)
                if rule != lead.rule and request not in state.requests and self.rules.may_change(membership, rule):
                    asked = with_node(state, i, node._replace(lead=lead._replace(asked=rule)))
                    yield f"{name} asks for {rule}", asked._replace(requests=state.requests | {request})
        if state.key == lead.term or state.last_term == lead.term:
            settled = membership_of(i, lead, self.rules.policy)
            assert view.in_sync is not None
            self.rules.settle(settled, view.in_sync)
            after = lead_of(lead, settled)
            if after != lead:
                yield f"{name} sees version {state.version}", with_node(state, i, node._replace(lead=after))
        if self.bounds.retakes and node.judged is None and self.rules.may_retake(name, lead.term, view):
            yield (
                f"{name} tries to retake",
                with_node(state, i, node._replace(judged=(state.version, state.last_term, True))),
            )

    def _acknowledge(self, state: State, i: int, node: Node, lead: Lead, acked: int) -> State:
        told = node.log[:acked]
        shared = min(len(told), len(state.acknowledged))
        if told[:shared] != state.acknowledged[:shared]:
            raise Violation(f"{NAMES[i]} acknowledges {told}, though {state.acknowledged} was acknowledged")
        for term, log in state.led:
            if term > lead.term and log[:acked] != told:
                raise Violation(f"{NAMES[i]} of term {lead.term} acknowledges {told}; term {term} began with {log}")
        longest = told if len(told) > len(state.acknowledged) else state.acknowledged
        after = with_node(state, i, node._replace(lead=lead._replace(acked=acked)))
        return after._replace(acknowledged=longest)

    def _replicate(
        self, state: State, view: ArbiterView, i: int, j: int, node: Node, lead: Lead
    ) -> Iterator[tuple[str, State]]:
        """The leader sends; the follower drops what is not the leader's and forces one block, or all."""
        follower = state.nodes[j]
        if not self.rules.accepts_term(follower, lead.term):
            return
        if follower.is_new and not self.rules.may_join(lead.term, view):
            return
        if follower.lead is not None and follower.lead.term >= lead.term:
            return
        common = 0
        while common < min(len(node.log), len(follower.log)) and node.log[common] == follower.log[common]:
            common += 1
        for end in sorted({min(common + 1, len(node.log)), len(node.log)}):
            log = node.log[:end]
            epoch = follower.epoch
            if self.rules.adopts(log, lead):
                epoch = lead.epoch
            elif len(log) < len(follower.log):
                epoch = log[-1] if log else 0
            is_new = follower.is_new and end < len(node.log)
            # A process that hears a leader sends no late try of its own; one that was sent may still arrive.
            heard = Node(log, epoch, max(lead.term, follower.least_term), is_new, None, self._orphan(follower))
            after = with_node(state, j, heard)
            if follower.is_new:
                forced = tuple(-1 if k == j else lsn for k, lsn in enumerate(lead.forced))
                after = with_node(after, i, node._replace(lead=lead._replace(forced=forced)))
            if epoch == lead.epoch and self.rules.adopts(log, lead) and not is_new:
                after = self._acked(after, Ack(i, j, lead.epoch, end))
            yield f"{NAMES[j]} forces {log} of {NAMES[i]}, term {lead.term}", after

    def _acked(self, state: State, ack: Ack) -> State:
        after = state._replace(acks=state.acks | {ack})
        return after if self.bounds.delays else self._heard(after, ack)

    def _heard(self, state: State, ack: Ack) -> State:
        node = state.nodes[ack.leader]
        assert node.lead is not None
        membership = membership_of(ack.leader, node.lead, self.rules.policy)
        membership.acknowledged(NAMES[ack.follower], ack.forced)
        after = with_node(state, ack.leader, node._replace(lead=lead_of(node.lead, membership)))
        return after._replace(acks=state.acks - {ack})

    def _ack_steps(self, state: State) -> Iterator[tuple[str, State]]:
        for ack in state.acks:
            yield f"{NAMES[ack.leader]} hears {ack}", self._heard(state, ack)

    def _follower_steps(self, state: State, view: ArbiterView, i: int, node: Node) -> Iterator[tuple[str, State]]:
        if state.key:
            return
        name = NAMES[i]
        fitness = election.Fitness(node.is_new, False, True, node.epoch, len(node.log), Mark(0, 0))
        own = Member(name, "", node.epoch, len(node.log), STANDING, node.least_term - 1)
        claim = Claim(node.epoch, len(node.log), state.last_term)
        if self.rules.may_claim(name, fitness, view) and claim != state.claims[i]:
            promised = node._replace(least_term=max(node.least_term, state.last_term + 1))
            mark = max(state.marks[i], (node.epoch, len(node.log))) if self.bounds.wipes else (0, 0)
            told = with_node(state, i, promised)._replace(
                claims=replaced(state.claims, i, claim), marks=(*state.marks[:i], mark, *state.marks[i + 1 :])
            )
            yield f"{name} claims {claim}", told
        if node.judged is None and self.rules.may_lead(own, view):
            yield (
                f"{name} tries to lead",
                with_node(state, i, node._replace(judged=(state.version, state.last_term, True))),
            )


def explore(model: Model, states_max: int) -> int:
    """Visit every reachable state, breadth first. Return how many there are. Raises Violation with the story."""
    first = first_state(model.bounds)
    parents: dict[State, tuple[State, str] | None] = {first: None}
    waiting = deque([first])
    while waiting:
        state = waiting.popleft()
        try:
            for sentence, found in model.steps(state):
                after = model.tidy(found)
                if after not in parents:
                    parents[after] = (state, sentence)
                    waiting.append(after)
        except Violation as violation:
            raise Violation("\n".join([*story(parents, state), str(violation)])) from None
        if len(parents) > states_max:
            raise AssertionError(f"more than {states_max} states: the bounds are too wide for a complete look")
    return len(parents)


def story(parents: dict[State, tuple[State, str] | None], state: State) -> list[str]:
    told: list[str] = []
    at = parents[state]
    while at is not None:
        told.append(at[1])
        at = parents[at[0]]
    return told[::-1]


def wander(model: Model, seed: int, steps: int) -> int:
    """Walk at random through a world too wide to see whole. Return how much was acknowledged."""
    chance = random.Random(seed)
    state = first_state(model.bounds)
    told: list[str] = []
    for _ in range(steps):
        try:
            ways = list(model.steps(state))
        except Violation as violation:
            raise Violation("\n".join([*told, str(violation)])) from None
        if not ways:
            break
        sentence, found = ways[chance.randrange(len(ways))]
        told.append(sentence)
        state = model.tidy(found)
    return len(state.acknowledged)
