"""The simulator: whole queue managers and programs on a simulated disk, network and clock, from one seed."""
