"""Message selectors: the SQL-92 conditions of MQOPEN and MQSUB, compiled once and evaluated for every message.

Compiled selectors are cached and shared by their text. The cost of an evaluation is limited and known in advance, so
that evaluations can be charged to a budget.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from ostler.engine.properties.jms_fields import DESCRIPTOR_ONLY
from ostler.engine.properties.property_names import DESCRIPTOR_PREFIX
from ostler.engine.properties.property_values import PropertySource, Value
from ostler.engine.selectors.nodes import EQUAL, TRUE, And, Comparison, Identifier, Literal, Node
from ostler.engine.selectors.parser import Parser
from ostler.model import constants as mq
from ostler.model.errors import MQError

__all__ = ["COMPILING_COST", "COST_MAX", "PropertySource", "Selector", "Value", "compile_selector", "compile_stored"]

# Limit of the cost of one evaluation, in units of about a tenth of a microsecond: about 800 comparisons of a property
# with a value.
COST_MAX: Final = 4096
# Fixed cost of access to a message and its properties.
_SOURCE_COST: Final = 16
# Cost of compiling a selector, per character.
COMPILING_COST: Final = 4
_NODE_BYTES: Final = 48
_SELECTOR_BYTES: Final = 256
# Size limit of each of the two generations of the cache.
_GENERATION_BYTES: Final = 2 * 1024 * 1024


@final
class Selector:
    """A compiled selection string.

    `names` are the properties it refers to. With `descriptor_only` the message descriptor suffices, and neither message
    data nor property block need be read. Unless `equal_name` is empty, a message can match only if that property has
    the value `equal_value`. `cost` is the cost of an evaluation, `size_bytes` an estimate of the memory used.
    """

    def __init__(self, text: str, root: Node, names: list[str]) -> None:
        self.text = text
        self.names = names
        self.descriptor_only = all(name.startswith(DESCRIPTOR_PREFIX) or name in DESCRIPTOR_ONLY for name in names)
        self.cost: i64 = _SOURCE_COST + root.cost
        self.size_bytes: i64 = _SELECTOR_BYTES + len(text) + root.cost * _NODE_BYTES
        self.evaluations: i64 = 0
        self.equal_name: str = ""
        self.equal_value: Value = None
        self._root: Final = root
        self._find_equality(root)

    def matches(self, source: PropertySource) -> bool:
        """Return whether the condition is TRUE; UNKNOWN does not select."""
        self.evaluations += 1
        return self._root.test(source) == TRUE

    def _find_equality(self, root: Node) -> None:
        """Find the first `property = value` that must hold, alone or joined to the rest by AND."""
        conditions = root.operands if isinstance(root, And) else [root]
        for node in conditions:
            if isinstance(node, Comparison) and node.operator == EQUAL:
                left = node.left
                right = node.right
                if isinstance(left, Literal):
                    left, right = right, left
                if isinstance(left, Identifier) and isinstance(right, Literal) and right.literal is not None:
                    self.equal_name = left.name
                    self.equal_value = right.literal
                    return


@final
class SelectorUse:
    """Bytes of the selectors of one application's waiting gets."""

    def __init__(self) -> None:
        self.bytes: i64 = 0


@final
class SelectorCache:
    """Recently used selectors by text, in two generations: the current one and the one before."""

    def __init__(self) -> None:
        self.compiled: i64 = 0
        self._young: dict[str, Selector] = {}
        self._old: dict[str, Selector] = {}
        self._young_bytes: i64 = 0

    def find(self, text: str) -> Selector | None:
        selector = self._young.get(text)
        if selector is None:
            selector = self._old.get(text)
            if selector is not None:
                self._keep(selector)
        return selector

    def add(self, selector: Selector) -> None:
        self.compiled += 1
        self._keep(selector)

    def _keep(self, selector: Selector) -> None:
        if self._young_bytes + selector.size_bytes > _GENERATION_BYTES:
            self._old = self._young
            self._young = {}
            self._young_bytes = 0
        self._young_bytes += selector.size_bytes
        self._young[selector.text] = selector


cache: Final = SelectorCache()


def compile_selector(text: str) -> Selector:
    """Compile a selection string; a blank one selects everything.

    Raises MQRC_SELECTION_STRING_ERROR if it is too long, and MQRC_SELECTOR_SYNTAX_ERROR if it is no condition, with the
    column and the word, or if an evaluation would cost too much, with the limit.
    """
    known = cache.find(text)
    if known is not None:
        return known
    # The limit counts bytes of the string as passed on the MQI; characters are never more than that.
    if len(text) > mq.MQ_SELECTOR_LENGTH or len(text.encode("utf-8", "replace")) > mq.MQ_SELECTOR_LENGTH:
        raise MQError(
            mq.MQRC_SELECTION_STRING_ERROR,
            f"The selection string is longer than {mq.MQ_SELECTOR_LENGTH} bytes; shorten it.",
        )
    if not text.strip():
        selector = Selector(text, Literal(True), [])
    else:
        parser = Parser(text)
        root = parser.parse()
        if root.cost > COST_MAX:
            raise MQError(
                mq.MQRC_SELECTOR_SYNTAX_ERROR,
                f"The selector costs {root.cost} for each message; the limit is {COST_MAX}. Use fewer comparisons, IN "
                "instead of many ORs, or fewer LIKEs with text between two %.",
            )
        selector = Selector(text, root, parser.names)
    cache.add(selector)
    return selector


def compile_stored(text: str) -> Selector:
    """Compile the selector of a subscription without the limits: it may have been defined before they existed."""
    try:
        return compile_selector(text)
    except MQError as error:
        if error.reason != mq.MQRC_SELECTOR_SYNTAX_ERROR:
            raise
        parser = Parser(text, mq.MQ_SELECTOR_LENGTH + 1)
        return Selector(text, parser.parse(), parser.names)
