"""The set-up of queue managers as the reports have it, and its description for the manifest of a run."""
