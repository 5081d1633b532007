"""Queue-sharing groups on this machine, as experiments use them."""
