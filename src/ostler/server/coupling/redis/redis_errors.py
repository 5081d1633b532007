"""Failures of a Redis server as coupling facility."""

from __future__ import annotations


class RedisFailed(Exception):
    """The server cannot be used, or has answered what it must not. The text gives the reason."""


class RedisUnsuitable(RedisFailed):
    """The server is set up so that messages could be lost. The text gives the remedy."""
