"""The parts all commands share: parser, exit statuses, messages, and requests to a running queue manager."""
