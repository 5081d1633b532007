"""Access decisions: channel authentication (CHLAUTH), connection authentication (CONNAUTH) and authority records."""
