"""The names of instances, nodes, groups and sites."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}", re.ASCII)


def is_instance_name(name: str) -> bool:
    """Return True for 1 to 48 letters, digits, '.', '_' and '-', the first of them a letter or digit."""
    return _NAME.fullmatch(name) is not None
