"""MQSC: tokens, grammar, statements, and the verbs of commands."""
