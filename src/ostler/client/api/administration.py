"""Objects by their MQSC names and words, for programs: what commands do, under the same names."""

from __future__ import annotations

from ostler.command.admin.objects import Given, alter, attribute_value, define, display, object_type

__all__ = ["Given", "alter", "attribute_value", "define", "display", "object_type"]
