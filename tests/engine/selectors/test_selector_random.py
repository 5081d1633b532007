"""Random selectors against a naive evaluator, and random text that must never do worse than a syntax error."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.searching import examples

from ostler.engine.selectors.selector import PropertySource, Selector, Value, compile_selector
from ostler.model import constants as mq
from ostler.model.errors import MQError

# A tree is a tuple: its kind, then its parts. The evaluator below follows SQL alone and uses nothing of the engine.
Tree = tuple[Any, ...]


def compiled(text: str) -> Selector | MQError:
    try:
        return compile_selector(text)
    except MQError as error:
        return error


NAMES = ["a", "b", "c.d", "usr_e", "$f"]
TEXTS = ["", "a", "b", "ab", "a%b", "it's", "a_b", "aab"]
NUMBERS = [0, 1, 2, 3, 7, 10, 0.5, 2.0, 1.5e3, 9223372036854775807]
VALUES: list[Value] = [None, True, False, 0, 1, 2, 7, -3, 0.5, 2.0, "", "a", "ab", "a%b", "it's", "aab", b"\x01"]
LEVELS = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5, "*": 6, "/": 6, "negative": 7}


class Given(PropertySource):
    def __init__(self, values: dict[str, Value]) -> None:
        self.values = values

    def value(self, name: str) -> Value:
        return self.values.get(name)


names = st.sampled_from(NAMES).map(lambda name: ("name", name))
numbers = st.sampled_from(NUMBERS).map(lambda number: ("number", number))
texts = st.sampled_from(TEXTS).map(lambda text: ("text", text))
booleans = st.booleans().map(lambda truth: ("boolean", truth))
byte_strings = st.just(("bytes", b"\x01"))
arithmetic = st.recursive(
    names | numbers,
    lambda inner: st.tuples(st.sampled_from("+-*/"), inner, inner) | st.tuples(st.just("negative"), inner),
    max_leaves=6,
)
anything = arithmetic | texts | booleans | byte_strings
negated = st.booleans()
predicates = (
    st.tuples(st.just("compare"), st.sampled_from(["=", "<>"]), anything, anything)
    | st.tuples(st.just("compare"), st.sampled_from(["<", "<=", ">", ">="]), arithmetic, arithmetic)
    | st.tuples(st.just("between"), negated, arithmetic, arithmetic, arithmetic)
    | st.tuples(st.just("in"), negated, names, st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3))
    | st.tuples(st.just("like"), negated, names, st.text("ab%_!'", max_size=6), st.sampled_from(["", "!", "a"]))
    | st.tuples(st.just("null"), negated, names)
    | names
    | booleans
)
conditions = st.recursive(
    predicates,
    lambda inner: (
        st.tuples(st.just("not"), inner)
        | st.tuples(st.just("and"), inner, inner)
        | st.tuples(st.just("or"), inner, inner)
        | st.tuples(st.just("compare"), st.sampled_from(["=", "<>"]), inner, inner | booleans)
    ),
    max_leaves=8,
)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def render(tree: Tree, level: int) -> str:
    """Return the text of a tree, with only the parentheses that precedence requires."""
    text, own = _rendered(tree)
    return f"({text})" if own < level else text


def _rendered(tree: Tree) -> tuple[str, int]:
    kind = tree[0]
    if kind == "name":
        return tree[1], 9
    if kind == "number":
        return repr(tree[1]), 9
    if kind == "text":
        return quoted(tree[1]), 9
    if kind == "boolean":
        return str(tree[1]).lower(), 9
    if kind == "bytes":
        return f'"0x{tree[1].hex()}"', 9
    if kind in ("or", "and"):
        return f"{render(tree[1], LEVELS[kind])} {kind} {render(tree[2], LEVELS[kind] + 1)}", LEVELS[kind]
    if kind == "not":
        return f"NOT {render(tree[1], 3)}", 3
    if kind == "negative":
        return f"-{render(tree[1], 7)}", 7
    if kind in "+-*/":
        return f"{render(tree[1], LEVELS[kind])}{kind}{render(tree[2], LEVELS[kind] + 1)}", LEVELS[kind]
    if kind == "compare":
        return f"{render(tree[2], 5)} {tree[1]} {render(tree[3], 5)}", 4
    if kind == "null":
        return f"{render(tree[2], 5)} IS {'NOT ' if tree[1] else ''}NULL", 4
    word = "NOT " if tree[1] else ""
    if kind == "between":
        return f"{render(tree[2], 5)} {word}BETWEEN {render(tree[3], 5)} AND {render(tree[4], 5)}", 4
    if kind == "in":
        return f"{render(tree[2], 5)} {word}IN ({', '.join(map(quoted, tree[3]))})", 4
    escape = f" ESCAPE {quoted(tree[4])}" if tree[4] else ""
    return f"{render(tree[2], 5)} {word}LIKE {quoted(tree[3])}{escape}", 4


def is_number(value: Value) -> bool:
    return type(value) in (int, float)


def naive(tree: Tree, values: dict[str, Value]) -> Any:
    """Return the value of a tree; as a condition None is UNKNOWN."""
    kind = tree[0]
    if kind == "name":
        return values.get(tree[1])
    if kind in ("number", "text", "boolean", "bytes"):
        return tree[1]
    if kind in ("and", "or"):
        decisive = kind == "or"
        sides = [naive_truth(tree[1], values), naive_truth(tree[2], values)]
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    if kind == "not":
        truth = naive_truth(tree[1], values)
        return None if truth is None else not truth
    if kind in ("negative", "+", "-", "*", "/"):
        return naive_number(tree, values)
    if kind == "compare":
        return naive_compare(tree[1], naive(tree[2], values), naive(tree[3], values))
    if kind == "null":
        return (naive(tree[2], values) is None) != tree[1]
    value = naive(tree[2], values)
    if kind == "between":
        low = naive(tree[3], values)
        high = naive(tree[4], values)
        signs, decisive = (("<", ">"), True) if tree[1] else ((">=", "<="), False)
        sides = [naive_compare(signs[0], value, low), naive_compare(signs[1], value, high)]
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    if value is None:
        return None
    if kind == "in":
        return (value in tree[3]) != tree[1]
    return (isinstance(value, str) and like(tree[3], tree[4], value)) != tree[1]


def naive_truth(tree: Tree, values: dict[str, Value]) -> bool | None:
    value = naive(tree, values)
    return value if value is None or value is True else False


def naive_number(tree: Tree, values: dict[str, Value]) -> Any:
    left: Any = 0 if tree[0] == "negative" else naive(tree[1], values)
    right: Any = naive(tree[-1], values)
    if not is_number(left) or not is_number(right):
        return None
    sign = "-" if tree[0] == "negative" else tree[0]
    if sign == "/":
        if right == 0:
            return None
        whole = isinstance(left, int) and isinstance(right, int)
        # Integers are cut towards zero; divmod on magnitudes keeps 64-bit precision.
        result = (abs(left) // abs(right)) * (1 if (left < 0) == (right < 0) else -1) if whole else left / right
    else:
        result = {"+": left.__add__, "-": left.__sub__, "*": left.__mul__}[sign](right)
        if result is NotImplemented:
            result = {"+": right.__radd__, "-": right.__rsub__, "*": right.__rmul__}[sign](left)
    return None if isinstance(result, int) and not -(2**63) <= result < 2**63 else result


def naive_compare(sign: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if is_number(left) != is_number(right) or (not is_number(left) and type(left) is not type(right)):
        return False
    if sign in ("=", "<>"):
        return bool((left == right) == (sign == "="))
    if not is_number(left):
        return False
    return bool({"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[sign])


def like(pattern: str, escape: str, text: str) -> bool:
    expression = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            expression += re.escape(next(characters))
        else:
            expression += {"%": ".*", "_": "."}.get(character, re.escape(character))
    return re.fullmatch(expression, text, re.DOTALL) is not None


def ends_in_escape(tree: Any) -> bool:
    """Return whether a LIKE of the tree has a pattern that ends in its escape character, which is an error."""
    if isinstance(tree, tuple) and tree and tree[0] == "like" and tree[4]:
        rest = tree[3]
        while tree[4] in rest:
            rest = rest[rest.index(tree[4]) + 1 :]
            if not rest:
                return True
            rest = rest[1:]
        return False
    return isinstance(tree, tuple) and any(ends_in_escape(part) for part in tree)


@settings(max_examples=examples(400), deadline=None)
@given(conditions, st.fixed_dictionaries({name: st.sampled_from(VALUES) for name in NAMES}))
def test_random_conditions_agree_with_the_naive_evaluator(tree: Tree, values: dict[str, Value]) -> None:
    text = render(tree, 1)
    selector = compiled(text)
    assert isinstance(selector, MQError) == ends_in_escape(tree), text
    if isinstance(selector, MQError):
        return
    expected = naive_truth(tree, values)
    assert selector.matches(Given(values)) is (expected is True), text
    opposite = compile_selector(f"NOT ({text})").matches(Given(values))
    assert opposite is (expected is False), text


@settings(max_examples=examples(400), deadline=None)
@given(st.text("ab%_", max_size=10), st.text("ab", max_size=12))
def test_like_agrees_with_a_regular_expression(pattern: str, text: str) -> None:
    assert compile_selector(f"a LIKE '{pattern}'").matches(Given({"a": text})) is like(pattern, "", text)


WORDS = ["a", "NOT", "AND", "OR", "IN", "LIKE", "ESCAPE", "BETWEEN", "IS", "NULL", "(", ")", ",", "'x'", "1", "=", "<"]


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(st.sampled_from([*WORDS, "+", "-", "*", "/", "TRUE", '"0x00"', "b.c"]), max_size=14).map(" ".join))
def test_any_words_compile_or_are_a_syntax_error(text: str) -> None:
    selector = compiled(text)
    if isinstance(selector, MQError):
        assert selector.reason == mq.MQRC_SELECTOR_SYNTAX_ERROR
        assert re.match(r"Column \d+, at ", selector.detail)
    else:
        assert selector.matches(Given({})) in (True, False)


@settings(max_examples=examples(400), deadline=None)
@given(st.text(max_size=40))
def test_any_text_compiles_or_is_a_syntax_error(text: str) -> None:
    selector = compiled(text)
    if isinstance(selector, MQError):
        assert selector.reason == mq.MQRC_SELECTOR_SYNTAX_ERROR
    else:
        assert selector.matches(Given({})) in (True, False)
