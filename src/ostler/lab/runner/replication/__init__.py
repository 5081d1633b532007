"""Queue managers with copies on this machine, as experiments use them."""
