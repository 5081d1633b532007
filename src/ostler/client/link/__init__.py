"""Links to a queue manager: dialling, TLS, blocking and asyncio sockets."""
