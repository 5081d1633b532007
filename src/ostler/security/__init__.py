"""May somebody do something, and why (not): channel authentication, connection authentication, authorities."""
