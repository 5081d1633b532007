"""Automatic reconnection: a connection whose link broke is made anew, with the same handles."""

from __future__ import annotations

from ostler.client.remote_connect import RemoteState


class Reconnector:
    @staticmethod
    def attach(state: RemoteState) -> None:
        """Have a connection made anew when its link breaks, if it is to be."""
