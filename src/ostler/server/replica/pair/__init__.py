"""A pair of instances without an arbiter: its agent, its notes, its link, and the data of the side that is given up."""
