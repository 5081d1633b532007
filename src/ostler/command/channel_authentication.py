"""SET CHLAUTH and DISPLAY CHLAUTH."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ostler.command.changes import Action
from ostler.command.statements import Statement

# The commands of this module by verb and noun, each with what understands it.
COMMANDS: Final[dict[tuple[str, str], Callable[[Statement], Action]]] = {}
