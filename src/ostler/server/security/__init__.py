"""Admission of clients: users, passwords, look-ups, the authority guard."""
