"""Scenarios on the design of applications and queue managers: units of work, getters, triggers, disks, creation."""
