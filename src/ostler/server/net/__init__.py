"""Sockets: the reactor, links, conversations, listeners, timers."""
