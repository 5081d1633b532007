"""TLS: contexts, CipherSpecs, key repositories, certificates."""
