"""Message selectors: tokens, parser, evaluation."""
