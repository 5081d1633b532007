"""Sizing: calculations of the reports, needs of a load from measured runs, and tuning advice as checks."""
