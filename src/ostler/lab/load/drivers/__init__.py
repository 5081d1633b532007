"""Load drivers: the epoll loop, threads, processes, probes."""
