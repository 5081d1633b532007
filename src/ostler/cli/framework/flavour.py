"""The flavour of the hot packages: compiled or interpreted."""

from __future__ import annotations

from ostler.engine.queue import slots


def is_compiled() -> bool:
    return not slots.__file__.endswith(".py")


def flavour() -> str:
    if is_compiled():
        return "compiled"
    return "interpreted: OSTLER_PURE was set or there was no C compiler when it was installed"
