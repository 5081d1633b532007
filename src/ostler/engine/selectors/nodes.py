"""The expression tree of a selection string, with SQL's three-valued logic.

A node evaluates to TRUE, FALSE or UNKNOWN as a condition (`test`), and to a value as an operand (`value`). A missing or
null property makes a comparison UNKNOWN; operands of different types make it FALSE. Chains of AND, OR, +, -, * and /
are lists and not nested nodes, so that the depth of the tree is the depth of the parentheses.
"""

from __future__ import annotations

from typing import Final, final

from ostler.engine.properties.property_values import PropertySource, Value

FALSE: Final = 0
TRUE: Final = 1
UNKNOWN: Final = 2

# Type of a node as known at compile time. A property can be anything.
ANYTHING: Final = 0
NUMBER: Final = 1
TEXT: Final = 2
BOOLEAN: Final = 3
BYTES: Final = 4

EQUAL: Final = 0
NOT_EQUAL: Final = 1
LESS: Final = 2
NOT_GREATER: Final = 3
GREATER: Final = 4
NOT_LESS: Final = 5

ADD: Final = 0
SUBTRACT: Final = 1
MULTIPLY: Final = 2
DIVIDE: Final = 3

INTEGER_MAX: Final = (1 << 63) - 1
INTEGER_MIN: Final = -(1 << 63)

# Looking up a property costs more than using its value.
_LOOK_UP_COST: Final = 2

PERSISTENT: Final = "PERSISTENT"
NON_PERSISTENT: Final = "NON_PERSISTENT"


def cost_of(nodes: list[Node]) -> int:
    """Return the cost of a chain: its operands and operators."""
    cost = 1
    for node in nodes:
        cost += 1 + node.cost
    return cost


def kind_of(value: Value) -> int:
    # bool is a subclass of int, so it is tested first.
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, (int, float)):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    return BYTES if isinstance(value, bytes) else ANYTHING


class Node:
    """One node; `kind` is the type of its value as far as known.

    `cost` estimates an evaluation of the node and its children, in units of about a tenth of a microsecond.
    """

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.cost = 1

    def value(self, source: PropertySource) -> Value:
        """Return the value as an operand: a condition gives True, False or None for UNKNOWN."""
        truth = self.test(source)
        return None if truth == UNKNOWN else truth == TRUE

    def test(self, source: PropertySource) -> int:
        """Return the value as a condition: only a boolean can be TRUE."""
        value = self.value(source)
        if isinstance(value, bool):
            return TRUE if value else FALSE
        return UNKNOWN if value is None else FALSE


class Literal(Node):
    def __init__(self, literal: Value) -> None:
        super().__init__(kind_of(literal))
        self.literal = literal

    def value(self, source: PropertySource) -> Value:
        return self.literal


class Identifier(Node):
    def __init__(self, name: str) -> None:
        super().__init__(ANYTHING)
        self.name = name
        self.cost = _LOOK_UP_COST

    def value(self, source: PropertySource) -> Value:
        return source.value(self.name)


class DeliveryModeNode(Node):
    """JMSDeliveryMode, compared with 'PERSISTENT' and 'NON_PERSISTENT' as in JMS, though messages carry a number."""

    def __init__(self) -> None:
        super().__init__(ANYTHING)
        self.cost = _LOOK_UP_COST

    def value(self, source: PropertySource) -> Value:
        mode = source.value("JMSDeliveryMode")
        if isinstance(mode, int):
            return PERSISTENT if mode == 2 else NON_PERSISTENT
        return mode


class Negative(Node):
    """Unary minus."""

    def __init__(self, operand: Node) -> None:
        super().__init__(NUMBER)
        self.operand = operand
        self.cost += operand.cost

    def value(self, source: PropertySource) -> Value:
        return arithmetic(SUBTRACT, 0, self.operand.value(source))


class Arithmetic(Node):
    """A chain of operators of one precedence, evaluated from left to right."""

    def __init__(self, first: Node, operators: list[int], operands: list[Node]) -> None:
        super().__init__(NUMBER)
        self.first = first
        self.operators = operators
        self.operands = operands
        self.cost = first.cost + cost_of(operands)

    def value(self, source: PropertySource) -> Value:
        result = self.first.value(source)
        for index, operand in enumerate(self.operands):
            if result is None:
                return None
            result = arithmetic(self.operators[index], result, operand.value(source))
        return result


def arithmetic(operator: int, left: Value, right: Value) -> Value:
    """Apply one operator. Null, a non-number, a division by zero and an integer beyond 64 bits give null."""
    if kind_of(left) != NUMBER or kind_of(right) != NUMBER:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return _integer_arithmetic(operator, left, right)
    assert isinstance(left, (int, float))
    assert isinstance(right, (int, float))
    first = float(left)
    second = float(right)
    if operator == ADD:
        return first + second
    if operator == SUBTRACT:
        return first - second
    if operator == MULTIPLY:
        return first * second
    return None if second == 0.0 else first / second


def _integer_arithmetic(operator: int, left: int, right: int) -> Value:
    """Integer arithmetic; a quotient is truncated towards zero, as in Java."""
    if operator == ADD:
        result = left + right
    elif operator == SUBTRACT:
        result = left - right
    elif operator == MULTIPLY:
        result = left * right
    elif right == 0:
        return None
    else:
        result = abs(left) // abs(right)
        if (left < 0) != (right < 0):
            result = -result
    return result if INTEGER_MIN <= result <= INTEGER_MAX else None


class Comparison(Node):
    def __init__(self, operator: int, left: Node, right: Node) -> None:
        super().__init__(BOOLEAN)
        self.operator = operator
        self.left = left
        self.right = right
        self.cost += left.cost + right.cost

    def test(self, source: PropertySource) -> int:
        return compare(self.operator, self.left.value(source), self.right.value(source))


def compare(operator: int, left: Value, right: Value) -> int:
    """Compare two values. Null gives UNKNOWN, different types give FALSE; only numbers are ordered."""
    if left is None or right is None:
        return UNKNOWN
    kind = kind_of(left)
    if kind != kind_of(right):
        return FALSE
    if operator == EQUAL:
        return TRUE if left == right else FALSE
    if operator == NOT_EQUAL:
        return TRUE if left != right else FALSE
    if kind != NUMBER:
        return FALSE
    assert isinstance(left, (int, float))
    assert isinstance(right, (int, float))
    if operator == LESS:
        holds = left < right
    elif operator == NOT_GREATER:
        holds = left <= right
    elif operator == GREATER:
        holds = left > right
    else:
        holds = left >= right
    return TRUE if holds else FALSE


class Between(Node):
    """`x BETWEEN a AND b` is `x >= a AND x <= b`; with NOT it is `x < a OR x > b`."""

    def __init__(self, operand: Node, low: Node, high: Node, negated: bool) -> None:
        super().__init__(BOOLEAN)
        self.operand = operand
        self.low = low
        self.high = high
        self.negated = negated
        self.cost += 1 + operand.cost + low.cost + high.cost

    def test(self, source: PropertySource) -> int:
        value = self.operand.value(source)
        low = self.low.value(source)
        high = self.high.value(source)
        if self.negated:
            return logical_or(compare(LESS, value, low), compare(GREATER, value, high))
        return logical_and(compare(NOT_LESS, value, low), compare(NOT_GREATER, value, high))


class In(Node):
    """Membership of a property in a list of strings."""

    def __init__(self, operand: Node, texts: frozenset[str], negated: bool) -> None:
        super().__init__(BOOLEAN)
        self.operand = operand
        self.texts = texts
        self.negated = negated
        self.cost += operand.cost

    def test(self, source: PropertySource) -> int:
        value = self.operand.value(source)
        if value is None:
            return UNKNOWN
        found = isinstance(value, str) and value in self.texts
        return TRUE if found != self.negated else FALSE


class IsNull(Node):
    def __init__(self, operand: Node, negated: bool) -> None:
        super().__init__(BOOLEAN)
        self.operand = operand
        self.negated = negated
        self.cost += operand.cost

    def test(self, source: PropertySource) -> int:
        missing = self.operand.value(source) is None
        return TRUE if missing != self.negated else FALSE


class Not(Node):
    def __init__(self, operand: Node) -> None:
        super().__init__(BOOLEAN)
        self.operand = operand
        self.cost += operand.cost

    def test(self, source: PropertySource) -> int:
        truth = self.operand.test(source)
        if truth == UNKNOWN:
            return UNKNOWN
        return FALSE if truth == TRUE else TRUE


class And(Node):
    def __init__(self, operands: list[Node]) -> None:
        super().__init__(BOOLEAN)
        self.operands = operands
        self.cost = cost_of(operands)

    def test(self, source: PropertySource) -> int:
        result = TRUE
        for operand in self.operands:
            truth = operand.test(source)
            if truth == FALSE:
                return FALSE
            if truth == UNKNOWN:
                result = UNKNOWN
        return result


class Or(Node):
    def __init__(self, operands: list[Node]) -> None:
        super().__init__(BOOLEAN)
        self.operands = operands
        self.cost = cost_of(operands)

    def test(self, source: PropertySource) -> int:
        result = FALSE
        for operand in self.operands:
            truth = operand.test(source)
            if truth == TRUE:
                return TRUE
            if truth == UNKNOWN:
                result = UNKNOWN
        return result


@final
class _NoProperties(PropertySource):
    def value(self, name: str) -> Value:
        return None


_NO_PROPERTIES: Final = _NoProperties()


def fold_constants(node: Node, operands: list[Node]) -> Node:
    """Return the node, or a literal if all its operands are literals."""
    for operand in operands:
        if not isinstance(operand, Literal):
            return node
    constant = Literal(node.value(_NO_PROPERTIES))
    constant.kind = node.kind  # the type is known from the text, even if the value is null
    return constant


def fold_junction(node: Node, operands: list[Node], decisive: bool) -> Node:
    """Return an AND or OR node, or a literal if one operand decides alone (False for AND, True for OR)."""
    for operand in operands:
        if isinstance(operand, Literal) and operand.literal is decisive:
            return Literal(decisive)
    return fold_constants(node, operands)


def logical_and(left: int, right: int) -> int:
    if left == FALSE or right == FALSE:
        return FALSE
    return UNKNOWN if left == UNKNOWN or right == UNKNOWN else TRUE


def logical_or(left: int, right: int) -> int:
    if left == TRUE or right == TRUE:
        return TRUE
    return UNKNOWN if left == UNKNOWN or right == UNKNOWN else FALSE
