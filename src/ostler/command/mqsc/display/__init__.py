"""DISPLAY: which attributes, in which order, filtered and laid out."""
