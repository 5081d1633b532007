"""Ostler: an open queue manager of the IBM MQ class."""

__version__ = "0.1.0"
