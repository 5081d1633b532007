"""Finding a queue manager: bindings, endpoints, CCDT, embedded queue managers."""
