"""Message selectors: the SQL-92 conditions of MQOPEN and MQSUB, compiled once and asked for every message."""

from __future__ import annotations

from typing import Final, final

from ostler.engine.jms_fields import DESCRIPTOR_ONLY
from ostler.engine.property_names import DESCRIPTOR_PREFIX
from ostler.engine.property_values import PropertySource, Value
from ostler.engine.selector_nodes import TRUE, Literal, Node
from ostler.engine.selector_parser import Parser
from ostler.model.constants import MQ_SELECTOR_LENGTH, MQRC_SELECTION_STRING_ERROR
from ostler.model.errors import MQError

__all__ = ["PropertySource", "Selector", "Value", "compile_selector"]


@final
class Selector:
    """A compiled selection string.

    `names` are the properties it asks for. `descriptor_only` says that the message descriptor alone can answer, so
    that neither the message data nor the property block need be looked at.
    """

    def __init__(self, text: str, root: Node, names: list[str]) -> None:
        self.text = text
        self.names = names
        self.descriptor_only = all(name.startswith(DESCRIPTOR_PREFIX) or name in DESCRIPTOR_ONLY for name in names)
        self._root: Final = root

    def matches(self, source: PropertySource) -> bool:
        """Whether the condition is TRUE; UNKNOWN does not select."""
        return self._root.test(source) == TRUE


def compile_selector(text: str) -> Selector:
    """Compile a selection string; a blank one selects everything.

    Raises MQRC_SELECTION_STRING_ERROR when it is too long and MQRC_SELECTOR_SYNTAX_ERROR, with the column and the
    word, when it is not a condition.
    """
    # The limit counts bytes of the string as it is passed on the MQI; characters are never more than that.
    if len(text) > MQ_SELECTOR_LENGTH or len(text.encode("utf-8", "replace")) > MQ_SELECTOR_LENGTH:
        raise MQError(
            MQRC_SELECTION_STRING_ERROR, f"The selection string is longer than {MQ_SELECTOR_LENGTH} bytes; shorten it."
        )
    if not text.strip():
        return Selector(text, Literal(True), [])
    parser = Parser(text)
    return Selector(text, parser.parse(), parser.names)
