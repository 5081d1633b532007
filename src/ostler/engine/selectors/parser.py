"""The grammar of selection strings, from the loosest binding to the tightest.

    or          and { OR and }
    and         not { AND not }
    not         { NOT } predicate
    predicate   sum [ = | <> | < | <= | > | >= sum ]
                sum [ NOT ] BETWEEN sum AND sum
                name [ NOT ] IN ( string { , string } )
                name [ NOT ] LIKE string [ ESCAPE string ]
                name IS [ NOT ] NULL
    sum         product { + | - product }
    product     unary { * | / unary }
    unary       { + | - } literal | name | ( or )

Types known from the text alone are checked here: strings cannot be added, TRUE has no order.
"""

from __future__ import annotations

from typing import Final

from ostler.engine.message.descriptor_fields import FIELDS
from ostler.engine.properties.property_names import DESCRIPTOR_PREFIX, name_fault, stored_name
from ostler.engine.selectors.like import Like, LikePattern, pattern_codes
from ostler.engine.selectors.nodes import (
    ADD,
    ANYTHING,
    BOOLEAN,
    DIVIDE,
    EQUAL,
    GREATER,
    INTEGER_MIN,
    LESS,
    MULTIPLY,
    NOT_EQUAL,
    NOT_GREATER,
    NOT_LESS,
    NUMBER,
    SUBTRACT,
    And,
    Arithmetic,
    Between,
    Comparison,
    DeliveryModeNode,
    Identifier,
    In,
    IsNull,
    Literal,
    Negative,
    Node,
    Not,
    Or,
    fold_constants,
    fold_junction,
)
from ostler.engine.selectors.tokens import (
    END,
    KEYWORD,
    LITERAL,
    MAGNITUDE_MAX,
    NAME,
    SIGN,
    TOKENS_MAX,
    SelectorToken,
    syntax_error,
    tokenize,
)
from ostler.model.errors import MQError

# Limit of nested parentheses: parser and evaluation recurse once per level.
DEPTH_MAX: Final = 64

_COMPARISONS: Final[dict[str, int]] = {
    "=": EQUAL,
    "<>": NOT_EQUAL,
    "<": LESS,
    "<=": NOT_GREATER,
    ">": GREATER,
    ">=": NOT_LESS,
}
_SUMS: Final[dict[str, int]] = {"+": ADD, "-": SUBTRACT}
_PRODUCTS: Final[dict[str, int]] = {"*": MULTIPLY, "/": DIVIDE}
_VALUE_WORDS: Final[dict[str, bool]] = {"TRUE": True, "FALSE": False}


class Parser:
    """Parses one selection string; `names` collects the properties it refers to, each once."""

    def __init__(self, text: str, tokens_max: int = TOKENS_MAX) -> None:
        self.tokens = tokenize(text, tokens_max)
        self.at = 0
        self.depth = 0
        self.names: list[str] = []
        # Repeated names and literals share one node.
        self._identifiers: dict[str, Node] = {}
        self._literals: dict[str, Literal] = {}

    def parse(self) -> Node:
        root = self._condition(self._or(), self.tokens[0])
        if self._token().kind != END:
            raise self._error("an operator or the end is expected here")
        return root

    # Reading tokens.

    def _token(self) -> SelectorToken:
        return self.tokens[self.at]

    def _take(self) -> SelectorToken:
        token = self.tokens[self.at]
        if token.kind != END:
            self.at += 1
        return token

    def _is(self, kind: int, text: str) -> bool:
        token = self.tokens[self.at]
        return token.kind == kind and token.text == text

    def _accept(self, kind: int, text: str) -> bool:
        if not self._is(kind, text):
            return False
        self.at += 1
        return True

    def _expect(self, kind: int, text: str) -> None:
        if not self._accept(kind, text):
            raise self._error(f"{text} is expected here")

    def _error(self, problem: str) -> MQError:
        return self._error_at(self._token(), problem)

    def _error_at(self, token: SelectorToken, problem: str) -> MQError:
        return syntax_error(token.column, token.text, problem)

    def _condition(self, node: Node, start: SelectorToken) -> Node:
        if node.kind not in (BOOLEAN, ANYTHING):
            raise self._error_at(start, "a condition is expected here, not a value")
        return node

    def _number(self, node: Node, start: SelectorToken) -> Node:
        if node.kind not in (NUMBER, ANYTHING):
            raise self._error_at(start, "a number is expected here")
        return node

    # The grammar.

    def _or(self) -> Node:
        start = self._token()
        first = self._and()
        if not self._is(KEYWORD, "OR"):
            return first
        operands = [self._condition(first, start)]
        while self._accept(KEYWORD, "OR"):
            start = self._token()
            operands.append(self._condition(self._and(), start))
        return fold_junction(Or(operands), operands, True)

    def _and(self) -> Node:
        start = self._token()
        first = self._not()
        if not self._is(KEYWORD, "AND"):
            return first
        operands = [self._condition(first, start)]
        while self._accept(KEYWORD, "AND"):
            start = self._token()
            operands.append(self._condition(self._not(), start))
        return fold_junction(And(operands), operands, False)

    def _not(self) -> Node:
        count = 0
        while self._accept(KEYWORD, "NOT"):
            count += 1
        if count == 0:
            return self._predicate()
        start = self._token()
        operand = self._condition(self._predicate(), start)
        # Two NOTs cancel out, for UNKNOWN too; a remaining one makes a property a condition.
        negation = Not(operand)
        return fold_constants(negation if count % 2 else Not(negation), [operand])

    def _predicate(self) -> Node:
        start = self._token()
        left = self._sum()
        token = self._token()
        if token.kind == SIGN and token.text in _COMPARISONS:
            return self._comparison(left, start)
        if token.kind != KEYWORD:
            return left
        if token.text == "IS":
            return self._is_null(left, start)
        negated = self._accept(KEYWORD, "NOT")
        if self._accept(KEYWORD, "BETWEEN"):
            return self._between(left, start, negated)
        if self._accept(KEYWORD, "IN"):
            return In(self._property(left, start), self._strings(), negated)
        if self._accept(KEYWORD, "LIKE"):
            return Like(self._property(left, start), self._pattern(), negated)
        if negated:
            raise self._error("BETWEEN, IN or LIKE is expected here")
        return left

    def _comparison(self, left: Node, start: SelectorToken) -> Node:
        operator = _COMPARISONS[self._take().text]
        right_start = self._token()
        right = self._sum()
        if operator not in (EQUAL, NOT_EQUAL):
            self._number(left, start)
            self._number(right, right_start)
        if isinstance(left, DeliveryModeNode) and right.kind == NUMBER:
            left = Identifier("JMSDeliveryMode")
        if isinstance(right, DeliveryModeNode) and left.kind == NUMBER:
            right = Identifier("JMSDeliveryMode")
        return fold_constants(Comparison(operator, left, right), [left, right])

    def _is_null(self, left: Node, start: SelectorToken) -> Node:
        self._expect(KEYWORD, "IS")
        negated = self._accept(KEYWORD, "NOT")
        self._expect(KEYWORD, "NULL")
        return IsNull(self._property(left, start), negated)

    def _between(self, left: Node, start: SelectorToken, negated: bool) -> Node:
        operand = self._number(left, start)
        start = self._token()
        low = self._number(self._sum(), start)
        self._expect(KEYWORD, "AND")
        start = self._token()
        high = self._number(self._sum(), start)
        return fold_constants(Between(operand, low, high, negated), [operand, low, high])

    def _property(self, node: Node, start: SelectorToken) -> Node:
        if not isinstance(node, (Identifier, DeliveryModeNode)):
            raise self._error_at(start, "IN, LIKE and IS need the name of a property before them")
        return node

    def _text(self) -> str:
        token = self._token()
        literal = token.literal
        if not isinstance(literal, str):
            raise self._error("a string in single quotation marks is expected here")
        self.at += 1
        return literal

    def _strings(self) -> frozenset[str]:
        self._expect(SIGN, "(")
        texts = {self._text()}
        while self._accept(SIGN, ","):
            texts.add(self._text())
        self._expect(SIGN, ")")
        return frozenset(texts)

    def _pattern(self) -> LikePattern:
        start = self._token()
        pattern = self._text()
        escape = ""
        if self._accept(KEYWORD, "ESCAPE"):
            escape_token = self._token()
            escape = self._text()
            if len(escape) != 1:
                raise self._error_at(escape_token, "the escape is one character")
        codes = pattern_codes(pattern, escape)
        if codes is None:
            raise self._error_at(start, "the pattern ends in its escape character")
        return LikePattern(codes)

    def _sum(self) -> Node:
        return self._chain(_SUMS)

    def _chain(self, table: dict[str, int]) -> Node:
        """Parse operators of one precedence: `table` is _SUMS or _PRODUCTS."""
        start = self._token()
        sums = table is _SUMS
        first = self._chain(_PRODUCTS) if sums else self._unary()
        token = self._token()
        if token.kind != SIGN or token.text not in table:
            return first
        self._number(first, start)
        operators: list[int] = []
        operands: list[Node] = []
        while token.kind == SIGN and token.text in table:
            operators.append(table[token.text])
            self.at += 1
            start = self._token()
            operands.append(self._number(self._chain(_PRODUCTS) if sums else self._unary(), start))
            token = self._token()
        return fold_constants(Arithmetic(first, operators, operands), [first, *operands])

    def _unary(self) -> Node:
        minus = False
        signed = False
        while self._is(SIGN, "-") or self._is(SIGN, "+"):
            signed = True
            if self._take().text == "-":
                minus = not minus
        start = self._token()
        if start.literal == MAGNITUDE_MAX and isinstance(start.literal, int):
            if not minus:
                raise self._error("the number is too large for 64 bits")
            self.at += 1
            return Literal(INTEGER_MIN)
        operand = self._primary()
        if not signed:
            return operand
        self._number(operand, start)
        return fold_constants(Negative(operand) if minus else Arithmetic(Literal(0), [ADD], [operand]), [operand])

    def _primary(self) -> Node:
        token = self._token()
        if token.kind == LITERAL:
            self.at += 1
            return self._literal(token)
        if token.kind == NAME:
            self.at += 1
            return self._identifier(token)
        if token.kind == KEYWORD and token.text in _VALUE_WORDS:
            self.at += 1
            return Literal(_VALUE_WORDS[token.text])
        if not self._is(SIGN, "("):
            raise self._error("the name of a property, a value or a parenthesis is expected here")
        if self.depth == DEPTH_MAX:
            raise self._error(f"parentheses are nested deeper than {DEPTH_MAX}")
        self.at += 1
        self.depth += 1
        node = self._or()
        self.depth -= 1
        self._expect(SIGN, ")")
        return node

    def _identifier(self, token: SelectorToken) -> Node:
        fault = name_fault(token.text)
        if (
            not fault
            and token.text.startswith(DESCRIPTOR_PREFIX)
            and token.text[len(DESCRIPTOR_PREFIX) :] not in FIELDS
        ):
            fault = "the message descriptor has no such field"
        if fault:
            raise self._error_at(token, fault)
        name = stored_name(token.text)
        node = self._identifiers.get(name)
        if node is None:
            node = DeliveryModeNode() if name == "JMSDeliveryMode" else Identifier(name)
            self._identifiers[name] = node
            self.names.append(name)
        return node

    def _literal(self, token: SelectorToken) -> Node:
        node = self._literals.get(token.text)
        if node is None:
            node = Literal(token.literal)
            self._literals[token.text] = node
        return node
