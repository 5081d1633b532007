"""Disaster recovery: the role of a site, the other site, and the data of one that was given up."""
