"""The version of this distribution, apart from the package so that its parts can read it."""

__version__ = "0.1.0"
