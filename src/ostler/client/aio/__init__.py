"""The Python API for asyncio."""
