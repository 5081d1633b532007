"""Queue managers of the laboratory: their processes, pairs joined by message channels, and the relay between those."""
