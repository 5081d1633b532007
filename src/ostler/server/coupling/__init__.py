"""Queue-sharing groups: the process of the coupling facility, and how commands reach it."""
