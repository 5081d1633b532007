"""Commands on queue-sharing groups: ostler qsg create, add, remove, show, delete, demo."""
