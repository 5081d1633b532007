"""The tables of attributes and of reasons, as text that is read when the module is imported."""
