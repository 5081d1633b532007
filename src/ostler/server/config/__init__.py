"""Configuration: qm.ini, directories, the environment of processes."""
