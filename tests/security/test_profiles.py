"""Generic profiles against a naive matcher, and the precedence of MQ."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.model.constants import MQRCCF_PROFILE_NAME_ERROR
from ostler.model.errors import MQError
from ostler.security.profiles import check_profile, first_qualifier, is_generic, matches, specificity

QUALIFIERS = st.text("AB", max_size=3)
NAMES = st.lists(QUALIFIERS, min_size=1, max_size=4).map(".".join)
PATTERN_QUALIFIERS = st.text("AB*?", max_size=4).filter(lambda text: "**" not in text)


@st.composite
def profiles(draw: st.DrawFn) -> str:
    qualifiers = draw(st.lists(PATTERN_QUALIFIERS, min_size=1, max_size=4))
    if draw(st.booleans()):
        qualifiers.insert(draw(st.integers(0, len(qualifiers))), "**")
    return ".".join(qualifiers)


def naive_matches(profile: str, name: str) -> bool:
    """Match by trying every number of qualifiers for `**`, each with a regular expression."""
    qualifiers = profile.split(".")
    if "**" not in qualifiers:
        expression = ".".join(qualifiers)
        expression = re.escape(expression).replace(r"\*", "[^.]*").replace(r"\?", "[^.]")
        return re.fullmatch(expression, name) is not None
    at = qualifiers.index("**")
    for count in range(name.count(".") + 2):
        tried = qualifiers[:at] + ["*"] * count + qualifiers[at + 1 :]
        if tried and naive_matches(".".join(tried), name):
            return True
    return False


@given(profiles(), NAMES)
def test_matching_is_that_of_the_plain_matcher(profile: str, name: str) -> None:
    assert matches(profile, name) == naive_matches(profile, name)


@pytest.mark.parametrize(
    ("profile", "matched", "unmatched"),
    [
        ("AB.?D", ("AB.CD", "AB.ED", "AB.FD"), ("AB.D", "AB.CCD", "AB..D")),
        ("ABC.*.JKL", ("ABC.DEF.JKL", "ABC.GHI.JKL"), ("ABC.JKL", "ABC.D.E.JKL")),
        ("ABC.DE*.JKL", ("ABC.DE.JKL", "ABC.DEF.JKL", "ABC.DEGH.JKL"), ("ABC.D.JKL", "ABC.DE.F.JKL")),
        ("**", ("A", "A.B.C", ""), ()),
        ("**.ABC", ("ABC", "X.ABC", "X.Y.ABC"), ("XABC", "ABC.X")),
        ("DEV.**", ("DEV", "DEV.QUEUE.1"), ("DEVIL", "DEVIL.X")),
        ("A.**.Z", ("A.Z", "A.B.Z", "A.B.C.Z"), ("A", "Z", "A.B")),
        ("*", ("A",), ("A.B",)),
        ("*AB.A*B*C", ("AAB.ABC", "AAAB.AXBYC", "AB.ABBC"), ("AA.ABC", "AAB.AC", "AAB.ABCD")),
        ("Q1", ("Q1",), ("q1", "Q1.X")),
    ],
)
def test_the_examples_of_the_books(profile: str, matched: tuple[str, ...], unmatched: tuple[str, ...]) -> None:
    check_profile(profile)
    assert [name for name in matched if not matches(profile, name)] == []
    assert [name for name in unmatched if matches(profile, name)] == []


@pytest.mark.parametrize(
    ("specific", "general"),
    [
        ("AB.C*", "AB.*"),
        ("AB.C?", "AB.C*"),
        ("AB.*", "AB.**"),
        ("AB.**", "A*.**"),
        ("APP.**", "APP*.B"),
        ("?B.C", "*B.C"),
        ("*.C", "**.C"),
        ("A.*.C", "A.**.C"),
        ("*.B", "*.B.**"),
        ("A*B", "A*"),
        ("A*?", "A*"),
        ("A?", "A?*"),
    ],
)
def test_the_more_specific_one_comes_first(specific: str, general: str) -> None:
    assert specificity(specific) < specificity(general)


@given(profiles(), profiles(), NAMES)
def test_a_plain_first_qualifier_beats_a_generic_one(one: str, other: str, name: str) -> None:
    """The index by first qualifiers relies on this."""
    if matches(one, name) and matches(other, name) and is_generic(one) and first_qualifier(one):
        assert first_qualifier(one) == name.split(".")[0]
        assert first_qualifier(other) or specificity(one) < specificity(other)


@pytest.mark.parametrize("profile", ["", "A" * 49, "A B", "A**", "**A", "**.**", "A.***", "Größe", "A@B", "A\n"])
def test_what_is_no_profile(profile: str) -> None:
    with pytest.raises(MQError) as refusal:
        check_profile(profile)
    assert refusal.value.reason == MQRCCF_PROFILE_NAME_ERROR


@pytest.mark.parametrize("profile", ["@class", "self", "A.?*", "**", "*.*", "A/B_C%D.1"])
def test_what_is_one(profile: str) -> None:
    check_profile(profile)
