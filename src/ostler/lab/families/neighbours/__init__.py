"""The scenario `hostile-neighbour`."""
